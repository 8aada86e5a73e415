//! What the processes of one host say to each other: a node, its coroner, an `electd exec`, the guard of a job.
//!
//! All that they say is words in JSON: enums with serde. There are two ways to say one:
//!
//! | file | a word is | who speaks so |
//! |---|---|---|
//! | [`pair`] | a message of a socket pair | a node with its coroner, a runner of jobs with its guard |
//! | [`lines`] | a line of a stream | a node with an `electd exec`, a guard with what becomes the command |
//!
//! Descriptors go along with a word in both ([`passing`]). Those who speak by a pair run one program: the one has started
//! the other from its own file. A node and an `electd exec` may be of two versions: what one of them does not know, it
//! ignores. [`unix`] makes sockets that are files.
//!
//! Two kinds of bytes are no words, as older versions understand nothing else: the two words of a guard to a coroner
//! (`coroner/guards.rs`), and what a coroner leaves to the next node (`coroner/estate.rs`).

pub mod lines;
pub mod pair;
pub mod passing;
pub mod unix;

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::time::Timespec;

/// Whether the system tells one of these of a descriptor, or that its other side has ended, within this time; without a
/// time it waits for that.
pub fn tells(of: impl AsFd, what: PollFlags, limit: Option<Duration>) -> bool {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let polled = || poll(&mut [PollFd::new(&of, what)], limit.as_ref());
    retry_on_intr(polled).is_ok_and(|count| count > 0)
}

/// Whether the other side of a socket or a pipe ends within this time, whatever it has said before.
pub fn has_ended(line: impl AsFd, limit: Duration) -> bool {
    tells(line, PollFlags::empty(), Some(limit))
}

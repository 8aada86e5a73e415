//! What a guard says: on the stderr that it shares with electd and the command.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::limits::printable;

/// Writes a line to stderr, unless that would have to wait for its reader: no word is worth a late KILL.
pub(super) fn say(words: &str) {
    let stderr = io::stderr();
    let takes_more = {
        let mut fds = [PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::OUT)
    };
    if takes_more {
        let _ = stderr.lock().write_all(format!("electd: {}\n", printable(words)).as_bytes());
    }
}

//! The coroner: a small process beside a node that certifies the node's death ([`crate::core::death`]).
//!
//! It holds one end of a socket pair whose other end only the node has, and a copy of the node's listening socket. While
//! the node lives it waits, and accepts nobody. The pair ends when the node has ended, by whatever cause: all threads of it
//! are gone then. Once each guard of a job has said that nothing of the job is left, the coroner answers every dial with the
//! death certificate. What it cannot know it does not say: after a guard that vanished without a word it ends in silence.
//!
//! | file | who uses it | does |
//! |---|---|---|
//! | [`attending`] | the node | starts the coroner, tells it of another listening socket, dismisses it |
//! | [`guards`] | a guard, the coroner | the line between the two, which the node makes: when a job begins, and the last word |
//! | [`estate`] | the next node of this member, the coroner | hands over the listening socket, and the certificate |
//! | `still` | the next node | kills a coroner that stands still |
//! | `work`, `answers` | the coroner | waits, and answers dials |
//!
//! The node starts it as `electd coroner NODE`, in the folder of its state, with the pair as its stdin.

mod answers;
pub mod attending;
pub mod estate;
pub mod guards;
mod socket;
mod still;
mod words;
mod work;

use std::process::ExitCode;

/// Runs this process as a coroner, if it was started as one.
#[must_use]
pub fn if_asked() -> Option<ExitCode> {
    let is_asked = std::env::args_os().nth(1).is_some_and(|word| word == words::CORONER);
    // Nobody reads an error: the node finds that this process has ended.
    is_asked.then(|| if work::attend().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! A job that runs on exactly one host: the command that runs while this node leads.
//!
//! Three processes carry it. *electd* starts a guard when it comes to lead, and tells it over a pipe until when
//! the leadership holds ([`runner`]). The *guard* ([`guard`]) is the same binary in a process group of its own: it
//! starts the command, passes TERM and KILL on, and ends everything that the command left behind. The *command*
//! is killed by the kernel when its guard dies.

pub mod deadlines;
pub mod guard;
pub mod lock;
pub mod runner;
mod tree;

//! A disk for tests: it loses what was not synced when its power fails, fails to sync, refuses to write, hangs.
//!
//! `body` and `files` are the disk as a state machine in memory: what processes see, what of it is durable, and what the
//! disk may or may not have of the difference. `faults` is what is wrong with it. `served` answers the kernel for it, by
//! FUSE, and `disk` mounts it at a folder, for as long as a test needs it.

mod body;
mod disk;
mod faults;
mod files;
mod served;
mod share;

pub use disk::Disk;
pub use faults::{Hang, Refusal};

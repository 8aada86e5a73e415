//! The tie of a process to its parent: the kernel ends it when the parent ends, however that happens.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// From now on the kernel kills this process when the thread of its parent that started it ends.
///
/// # Errors
/// If the system refuses, or that parent has ended already.
pub fn end_with(parent: Option<Pid>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that was so.
    if parent.is_none() || getppid() != parent {
        return Err(io::Error::other("the process that started this one has ended"));
    }
    Ok(())
}

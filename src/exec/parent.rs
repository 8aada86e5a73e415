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

#[cfg(test)]
mod tests {
    use rustix::process::{getpid, parent_process_death_signal};

    use super::*;
    use crate::testing::alone::alone;

    #[test]
    fn a_process_is_tied_to_the_one_that_started_it_and_to_no_other() {
        if alone(
            "exec::parent::tests::a_process_is_tied_to_the_one_that_started_it_and_to_no_other",
        )
        .is_some()
        {
            return;
        }
        assert_eq!(parent_process_death_signal().unwrap(), None);
        for other in [None, Some(getpid())] {
            let refused = end_with(other).unwrap_err().to_string();
            assert_eq!(refused, "the process that started this one has ended");
        }
        end_with(getppid()).unwrap();
        assert_eq!(parent_process_death_signal().unwrap(), Some(Signal::KILL));
    }
}

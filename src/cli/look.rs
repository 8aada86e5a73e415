//! Whether the processes of a job would be found in time on this host.

use std::io;

use crate::config::Config;
use crate::exec::deadlines::Deadlines;
use crate::exec::tree;
use crate::trace::length;

const LOOKS: usize = 3;

/// Why they would not be, if so: a kernel that does not list the children of a process has all processes of the host
/// read.
pub fn problem(config: &Config) -> Option<String> {
    let kill = Deadlines::of(config).kill;
    // The quickest of some: others may need the processor just now.
    let least = (0..LOOKS).map(|_| tree::cost_of_a_walk()).collect::<io::Result<Vec<_>>>();
    match least.map(|all| all.into_iter().min().unwrap_or_default()) {
        Err(error) => Some(format!("WARNING: a job could not be ended: {error}")),
        Ok(time) if time < kill / 4 => None,
        Ok(time) => Some(format!(
            "WARNING: to find the processes of a job takes {} here, and KILL comes {kill:?} before the lease \
             ends: use a kernel with CONFIG_PROC_CHILDREN, or give a longer timing.failure",
            length(time)
        )),
    }
}

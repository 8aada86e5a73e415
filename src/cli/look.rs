//! Whether the processes of a job would be found in time on this host.

use std::io;
use std::time::Duration;

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
    words(least.map(|all| all.into_iter().min().unwrap_or_default()), kill)
}

/// What there is to say of a search that takes so long, if KILL comes so long before the lease ends.
fn words(search: io::Result<Duration>, kill: Duration) -> Option<String> {
    match search {
        Err(error) => Some(format!("WARNING: a job could not be ended: {error}")),
        Ok(time) if time < kill / 4 => None,
        Ok(time) => Some(format!(
            "WARNING: to find the processes of a job takes {} here, and KILL comes {kill:?} before the lease \
             ends: use a kernel with CONFIG_PROC_CHILDREN, or give a longer timing.failure",
            length(time)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_takes_a_quarter_of_the_time_for_it_is_warned_of() {
        let kill = Duration::from_millis(100);
        let said = |micros| words(Ok(Duration::from_micros(micros)), kill);
        assert_eq!(said(24_999), None);
        let warning = "WARNING: to find the processes of a job takes 25 ms here, and KILL comes 100ms before the \
                       lease ends: use a kernel with CONFIG_PROC_CHILDREN, or give a longer timing.failure";
        assert_eq!(said(25_000).as_deref(), Some(warning));
        let error = words(Err(io::Error::other("no /proc")), kill);
        assert_eq!(error.as_deref(), Some("WARNING: a job could not be ended: no /proc"));
    }
}

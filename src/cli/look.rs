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
    words(config, tree::cost_of_a_walk)
}

/// What there is to say of a host where each such search takes so long.
fn words(config: &Config, search: impl Fn() -> io::Result<Duration>) -> Option<String> {
    let kill = Deadlines::of(config).kill;
    // The quickest of some: others may need the processor just now.
    let all = (0..LOOKS).map(|_| search()).collect::<io::Result<Vec<_>>>();
    match all.map(|all| all.into_iter().min().unwrap_or_default()) {
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
    use std::cell::Cell;
    use std::path::Path;

    use super::*;

    /// TERM comes 200 ms before the lease ends, and KILL 100 ms.
    fn config() -> Config {
        let text = include_str!("../../conf/cluster.json");
        let mut config = crate::config::parse(text, Path::new("c.json")).unwrap();
        config.timing.message = Duration::from_millis(50);
        config.timing.failure = Duration::from_millis(900);
        let deadlines = Deadlines::of(&config);
        let ms = Duration::from_millis;
        assert_eq!((deadlines.term, deadlines.kill), (ms(200), ms(100)));
        config
    }

    #[test]
    fn a_search_that_takes_a_quarter_of_the_time_for_it_is_warned_of() {
        let said = |micros| words(&config(), || Ok(Duration::from_micros(micros)));
        assert_eq!(said(24_999), None);
        let warning = "WARNING: to find the processes of a job takes 25 ms here, and KILL comes 100ms before the \
                       lease ends: use a kernel with CONFIG_PROC_CHILDREN, or give a longer timing.failure";
        assert_eq!(said(25_000).as_deref(), Some(warning));
        let error = words(&config(), || Err(io::Error::other("no /proc")));
        assert_eq!(error.as_deref(), Some("WARNING: a job could not be ended: no /proc"));
    }

    #[test]
    fn the_quickest_of_three_searches_counts() {
        for quickest in 0..4 {
            let looks = Cell::new(0);
            let said = words(&config(), || {
                let at = looks.replace(looks.get() + 1);
                Ok(Duration::from_millis(if at == quickest { 24 } else { 25 }))
            });
            assert_eq!((said.is_none(), looks.get()), (quickest < 3, 3), "{quickest}");
        }
    }
}

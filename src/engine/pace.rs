//! When is what done with a lock of an engine, and in whose name.

use std::process;
use std::time::Duration;

use rustix::system::uname;

use electd_election::core::bounds;

/// Between two looks at a lock that another has, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// When is what done with a lock that is taken for so long.
#[derive(Clone, Copy, Debug)]
pub struct EnginePace {
    /// For how long the engine is asked.
    pub ttl: Duration,
}

impl EnginePace {
    /// Of a lock that is taken for so long.
    #[must_use]
    pub fn new(ttl: Duration) -> EnginePace {
        EnginePace { ttl }
    }

    /// How long a renewal is good.
    #[must_use]
    pub fn renewal(self) -> Duration {
        bounds::certain(self.ttl)
    }

    /// How long the engine may take for an answer. If the place that answered last gives none, a renewal has as long again
    /// at the others before TERM.
    #[must_use]
    pub fn patience(self) -> Duration {
        self.ttl / 5
    }

    /// When the next renewal is due, from the sending of the last.
    #[must_use]
    pub fn between_renewals(self) -> Duration {
        self.ttl / 5
    }

    /// When to ask again, where another has the lock, or no answer came.
    #[must_use]
    pub fn between_looks(self) -> Duration {
        (self.ttl / 10).clamp(LOOK.0, LOOK.1)
    }
}

/// What this process calls itself before an engine; `wish` tells its wishes apart.
#[must_use]
pub fn holder(wish: &str) -> String {
    let host = uname();
    format!("{} pid {} {wish}", plain(&host.nodename().to_string_lossy()), process::id())
}

/// The name of this host.
#[must_use]
pub fn host() -> String {
    plain(&uname().nodename().to_string_lossy())
}

fn plain(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    name.chars().filter(is_plain).take(63).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_holder_begins_with_its_host() {
        let own = holder("x");
        assert!(own.starts_with(&format!("{} pid ", host())) && own.ends_with(" x"), "{own}");
        assert_eq!(plain("a'b\\c\n;d.e-f_g"), "abcd.e-f_g");
    }
}

//! When is what done with a lock of an engine, and in whose name.

use std::process;
use std::time::Duration;

use rustix::system::uname;

use crate::core::bounds;

/// Between two looks at a lock that another has, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// When is what done with a lock that is taken for so long.
#[derive(Clone, Copy, Debug)]
pub struct EnginePace {
    pub(super) ttl: Duration,
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

    pub(super) fn between_renewals(self) -> Duration {
        self.ttl / 5
    }

    pub(super) fn between_looks(self) -> Duration {
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

pub(super) fn plain(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    name.chars().filter(is_plain).take(63).collect()
}

//! The node's clock: CLOCK_BOOTTIME, which keeps running while the machine is suspended, so that a
//! member notices that it slept through its leadership.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use crate::core::types::Time;
use crate::limits::GREATEST;

/// Now, since the boot of the machine.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Time(seconds * 1_000_000_000 + nanos)
}

/// Now, in milliseconds since the Unix epoch.
pub fn wall_clock_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The moment this long after the given one, both in milliseconds since the Unix epoch.
pub fn after(at_ms: u64, length: Duration) -> u64 {
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    at_ms.saturating_add(length).min(GREATEST)
}

/// The moment at which the node's clock shows so many nanoseconds, in UTC by the wall clock of this host.
#[cfg(feature = "http")]
pub fn moment_of(at_ns: i128) -> String {
    let ago_ms = u64::try_from((i128::from(now().0) - at_ns) / 1_000_000).unwrap_or_default();
    moment(wall_clock_ms().saturating_sub(ago_ms))
}

/// A moment, given in milliseconds since the Unix epoch, in UTC.
pub fn moment(at_ms: u64) -> String {
    i64::try_from(at_ms)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

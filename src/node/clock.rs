//! The node's clock: CLOCK_BOOTTIME, which keeps running while the machine is suspended, so that a
//! member notices that it slept through its leadership.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use electd_facts::words::moment;
use rustix::time::{ClockId, clock_gettime};

use crate::core::types::Time;
use crate::limits::GREATEST;

/// What the node's clock shows at the boot of the machine. The unit tests look back for hours from now, on machines that
/// booted a minute ago, and there is no time below 0: for them it is a day.
const AT_BOOT: Time = Time(if cfg!(test) { 86_400_000_000_000 } else { 0 });

/// Now by the clock that a [`leadership::Leadership`](super::leadership::Leadership) is measured with: CLOCK_BOOTTIME.
///
/// ```
/// let earlier = electd::node::now();
/// assert!(electd::node::now() >= earlier);
/// ```
#[must_use]
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Time(AT_BOOT.0 + seconds * 1_000_000_000 + nanos)
}

/// What CLOCK_BOOTTIME shows at this time, in nanoseconds.
pub fn since_boot(at: Time) -> u64 {
    at.0.saturating_sub(AT_BOOT.0)
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
pub fn moment_of(at_ns: i128) -> String {
    let ago_ms = u64::try_from((i128::from(now().0) - at_ns) / 1_000_000).unwrap_or_default();
    moment(wall_clock_ms().saturating_sub(ago_ms))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_clock_of_a_node_counts_nanoseconds_since_the_boot() {
        let read = || {
            let time = clock_gettime(ClockId::Boottime);
            u64::try_from(time.tv_sec).unwrap() * 1_000_000_000
                + u64::try_from(time.tv_nsec).unwrap()
        };
        let (before, told, after) = (read(), now().0 - AT_BOOT.0, read());
        assert!(before <= told && told <= after, "{before} {told} {after}");
    }

    #[test]
    fn moments_are_told_in_utc() {
        assert_eq!(moment(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(moment(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(moment(u64::MAX), u64::MAX.to_string(), "no calendar has it");
    }

    #[test]
    fn a_time_that_ends_is_one_that_can_be_stored() {
        assert_eq!(after(1000, Duration::from_millis(500)), 1500);
        for length in [Duration::from_secs(1), Duration::MAX] {
            assert_eq!(after(GREATEST, length), GREATEST);
        }
    }

    #[test]
    fn a_reading_of_the_nodes_clock_is_a_moment_of_the_wall_clock() {
        for seconds in [0, 3600] {
            let before = wall_clock_ms();
            let told = moment_of(i128::from(now().0) - seconds * 1_000_000_000);
            let told = told.parse::<Timestamp>().unwrap().as_millisecond();
            let ago = i64::try_from(seconds).unwrap() * 1000;
            let [before, now] =
                [before, wall_clock_ms()].map(|ms| i64::try_from(ms).unwrap() - ago);
            assert!((before - 2..=now + 2).contains(&told), "{told}: {before} to {now}");
        }
        let told = moment_of(i128::from(now().0) + 3_600_000_000_000);
        let told = told.parse::<Timestamp>().unwrap().as_millisecond();
        let now = i64::try_from(wall_clock_ms()).unwrap();
        assert!((0..1_800_000).contains(&(now - told)), "what is to come is told as now: {told}");
    }
}

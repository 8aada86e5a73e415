//! A node's own clock: it need not run at the rate of true time, nor show the same instant.

use std::time::Duration;

use crate::core::types::Time;

/// How a node's clock shows true time: an offset, and a rate in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    offset: u64,
    rate: u64,
}

/// A clock that runs true.
const TRUE: u64 = 1000;

impl Default for Clock {
    /// Shows true time.
    fn default() -> Clock {
        Clock { offset: 0, rate: TRUE }
    }
}

impl Clock {
    /// As slow as a clock may be.
    pub const SLOWEST: Clock = Clock { offset: 0, rate: 900 };

    /// A clock that showed `offset` at the start and runs at this many thousandths of true time.
    pub fn new(offset: Duration, rate: u64) -> Clock {
        Clock { offset: (Time(0) + offset).0, rate }
    }

    /// Its reading at this true time.
    pub fn local(self, at: Time) -> Time {
        Time(self.offset.saturating_add(scale(at.0, self.rate, TRUE)))
    }

    /// The first true time at which it shows this, or 0 if that was before the start.
    pub fn truly(self, local: Time) -> Time {
        let passed = local.0.saturating_sub(self.offset);
        Time(scale(passed, TRUE, self.rate).saturating_add(u64::from(self.falls_short(passed))))
    }

    /// Whether it does not show this yet when the whole nanoseconds until then have passed.
    fn falls_short(self, passed: u64) -> bool {
        scale(scale(passed, TRUE, self.rate), self.rate, TRUE) < passed
    }

    /// How far it advances while this much true time passes.
    pub fn passes(self, time: Duration) -> Duration {
        self.local(Time(0) + time).since(Time(self.offset))
    }

    /// The longest that may truly pass until it has gone on by so much.
    pub fn truly_takes(self, time: Duration) -> Duration {
        self.truly(Time(self.offset) + time).since(Time(0))
    }

    /// Whether it runs at another rate than true time.
    pub fn drifts(self) -> bool {
        self.rate != TRUE
    }

    /// Steps forward. It never goes back.
    pub fn step(&mut self, by: Duration) {
        self.offset = (Time(self.offset) + by).0;
    }
}

fn scale(time: u64, by: u64, of: u64) -> u64 {
    // The times of a run fit; the wide division is slow.
    let wide = || u64::try_from(u128::from(time) * u128::from(by) / u128::from(of));
    time.checked_mul(by).map_or_else(|| wide().unwrap_or(u64::MAX), |product| product / of)
}

/// A time for people.
pub(super) fn millis(time: Time) -> f64 {
    time.0 as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_time_of_a_reading_is_the_first_that_shows_it() {
        for rate in [900, 901, 1000, 1063, 1100] {
            let clock = Clock::new(Duration::from_nanos(77), rate);
            for local in (0..4000).map(Time) {
                let at = clock.truly(local);
                assert!(clock.local(at) >= local, "{rate} {local:?}");
                assert!(at.0 == 0 || clock.local(Time(at.0 - 1)) < local, "{rate} {local:?}");
            }
        }
        let hour = Duration::from_secs(3600);
        assert_eq!(Clock::new(hour, 900).passes(Duration::from_secs(10)), Duration::from_secs(9));
        assert_eq!(
            Clock::new(hour, 900).truly_takes(Duration::from_secs(9)),
            Duration::from_secs(10)
        );
        assert_eq!(Clock::default().truly(Time(u64::MAX)), Time(u64::MAX));
    }

    #[test]
    fn a_step_is_seen_at_once() {
        let mut clock = Clock::default();
        clock.step(Duration::from_nanos(5));
        assert_eq!(clock.local(Time(10)), Time(15));
        assert_eq!(clock.truly(Time(15)), Time(10));
        assert_eq!(clock.truly(Time(3)), Time(0));
    }
}

//! The back-off of the protocol: a member waits longer each time before it repeats a step that failed, twice as long up
//! to a cap, until there was no failure for a long time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::streak::Streak;
use super::types::Time;

/// How often a step failed, and until when it is not tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BackOff {
    times: u32,
    until: Time,
}

impl BackOff {
    /// The step failed once more. The first wait is as long as `unit`, the longest [`Streak::LONGEST`] times that;
    /// after as long without a wait it counts anew.
    pub fn again(&mut self, unit: Duration, now: Time) {
        let longest = unit.saturating_mul(Streak::LONGEST);
        if now > self.until + longest {
            self.times = 0;
        }
        let wait = unit.saturating_mul(1_u32.checked_shl(self.times).unwrap_or(u32::MAX));
        self.times = self.times.saturating_add(1);
        self.until = now + wait.min(longest);
    }

    pub fn times(&self) -> u32 {
        self.times
    }

    /// Whether the wait lasts.
    pub fn holds(&self, now: Time) -> bool {
        now < self.until
    }

    pub fn until(&self) -> Time {
        self.until
    }

    /// A time that is halved for each failure.
    pub fn sooner(&self, time: Duration) -> Duration {
        halved(time, self.times)
    }
}

/// A time that is halved so many times.
pub fn halved(time: Duration, times: u32) -> Duration {
    time / 1_u32.checked_shl(times).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_nanos(100);

    #[test]
    fn each_wait_is_twice_as_long_up_to_a_cap() {
        let (mut back_off, mut now, mut waits) = (BackOff::default(), Time(0), Vec::new());
        assert!(!back_off.holds(now));
        for _ in 0..8 {
            back_off.again(UNIT, now);
            waits.push(back_off.until().since(now).as_nanos());
            assert!(back_off.holds(now) && !back_off.holds(back_off.until()));
            now = back_off.until();
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 3200, 3200]);
    }

    #[test]
    fn after_a_quiet_time_it_counts_anew() {
        let mut back_off = BackOff::default();
        back_off.again(UNIT, Time(0));
        back_off.again(UNIT, Time(100 + 3200));
        assert_eq!(back_off.until(), Time(3300 + 200), "it was not quiet for long enough");
        back_off.again(UNIT, Time(3500 + 3201));
        assert_eq!(back_off.until(), Time(6701 + 100));
    }
}

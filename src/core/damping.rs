//! Waiting longer each time before a step is repeated that failed: twice as long, up to a cap, until there was no
//! failure for a long time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::streak::Streak;
use super::types::Time;

/// How often a step failed, and until when it is not tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Damping {
    times: u32,
    until: Time,
}

impl Damping {
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
        time / 1_u32.checked_shl(self.times).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_nanos(100);

    #[test]
    fn each_wait_is_twice_as_long_up_to_a_cap() {
        let (mut damping, mut now, mut waits) = (Damping::default(), Time(0), Vec::new());
        assert!(!damping.holds(now));
        for _ in 0..8 {
            damping.again(UNIT, now);
            waits.push(damping.until().since(now).as_nanos());
            assert!(damping.holds(now) && !damping.holds(damping.until()));
            now = damping.until();
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 3200, 3200]);
    }

    #[test]
    fn after_a_quiet_time_it_counts_anew() {
        let mut damping = Damping::default();
        damping.again(UNIT, Time(0));
        damping.again(UNIT, Time(100 + 3200));
        assert_eq!(damping.until(), Time(3300 + 200), "it was not quiet for long enough");
        damping.again(UNIT, Time(3500 + 3201));
        assert_eq!(damping.until(), Time(6701 + 100));
    }
}

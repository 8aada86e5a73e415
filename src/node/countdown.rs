//! The end of an order that lasts for a time, such as that of `electd drain --for`: by the clock of the machine's run time, which
//! nobody sets. The wall clock only says what is left at a restart, and never more than the whole time.

use std::time::Duration;

use super::clock;
use crate::core::types::Time;

/// What is left of one order.
#[derive(Debug, Default)]
pub(super) struct Countdown {
    /// The begin and the end of the order as it was given, by the wall clock in milliseconds, and when it ends.
    of: Option<((u64, u64), Time)>,
}

impl Countdown {
    /// Whether the order that began and ends then is over, both in milliseconds since 1970.
    pub fn is_over(&mut self, since_ms: u64, until_ms: u64) -> bool {
        self.is_over_at((since_ms, until_ms), clock::now(), clock::wall_clock_ms())
    }

    fn is_over_at(&mut self, order: (u64, u64), now: Time, wall_ms: u64) -> bool {
        let (since, until) = order;
        let left = until.saturating_sub(wall_ms).min(until.saturating_sub(since));
        let (_, ends) = match self.of {
            Some(known) if known.0 == order => known,
            _ => *self.of.insert((order, now + Duration::from_millis(left))),
        };
        ends <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_wall_clock_that_is_set_changes_no_end() {
        let (mut left, order) = (Countdown::default(), (5000, 8000));
        assert!(!left.is_over_at(order, at(10), 5000));
        assert!(!left.is_over_at(order, at(11), 99_000), "set forward");
        assert!(!left.is_over_at(order, at(3009), 100), "set back");
        assert!(left.is_over_at(order, at(3010), 100));
        assert!(!left.is_over_at((100, 5100), at(3010), 100), "another order");
    }

    #[test]
    fn a_restart_finds_what_is_left_and_never_more_than_the_whole() {
        let order = (5000, 8000);
        let first = |wall, now| Countdown::default().is_over_at(order, at(now), wall);
        assert!(first(8000, 1) && !first(7999, 1));
        let mut set_back = Countdown::default();
        assert!(!set_back.is_over_at(order, at(0), 0));
        assert!(set_back.is_over_at(order, at(3000), 0));
    }

    #[test]
    fn an_order_is_over_by_the_clocks_of_this_host() {
        let (now, hour) = (clock::wall_clock_ms(), 3_600_000);
        let is_over = |since, until| Countdown::default().is_over(since, until);
        assert!(!is_over(now, now + hour) && is_over(now - hour, now));
        let mut left = Countdown::default();
        assert!(!left.is_over(now, now + hour) && left.is_over(now - hour, now));
    }
}

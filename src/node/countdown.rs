//! The end of an order that lasts for a time, such as that of `electd drain --for`: by the clock of the machine's run time, which
//! nobody sets. The wall clock only says what is left at a restart, and never more than the whole time: of an order from before
//! the clock of the host was set, nobody knows what is left, so all of it.

use std::time::Duration;

use super::clock;
use crate::core::types::Time;

/// No clock that was set shows an earlier time: the begin of 2020, in milliseconds.
const EARLIEST: u64 = 1_577_836_800_000;

/// By how much the wall clock is set at least before the times of an order are told anew, in milliseconds.
const JUMP: u64 = 60_000;

/// What is left of one order.
#[derive(Debug, Default)]
pub(super) struct Countdown {
    /// The begin and the end of the order as it was given, by the wall clock in milliseconds, and when it ends.
    of: Option<((u64, u64), Time)>,
}

impl Countdown {
    /// Whether the order that began and ends then is over, both in milliseconds since 1970.
    pub fn count_down(&mut self, since_ms: u64, until_ms: u64) -> bool {
        self.count_down_at((since_ms, until_ms), clock::now(), clock::wall_clock_ms())
    }

    fn count_down_at(&mut self, order: (u64, u64), now: Time, wall_ms: u64) -> bool {
        let (since, until) = order;
        let whole = until.saturating_sub(since);
        let was_unset = until < EARLIEST && wall_ms >= EARLIEST;
        let left = if was_unset { whole } else { until.saturating_sub(wall_ms).min(whole) };
        let (_, ends) = match self.of {
            Some(known) if known.0 == order => known,
            _ => *self.of.insert((order, now + Duration::from_millis(left))),
        };
        ends <= now
    }

    /// The begin and the end of the order by the wall clock of now, if that was set since they were told: what is stored
    /// with them says at a restart how much is left.
    pub fn moved(&self) -> Option<(u64, u64)> {
        self.moved_at(clock::now(), clock::wall_clock_ms())
    }

    fn moved_at(&self, now: Time, wall_ms: u64) -> Option<(u64, u64)> {
        let ((since, until), ends) = self.of?;
        let ends_ms = wall_ms + ends.0.saturating_sub(now.0) / 1_000_000;
        let whole = until.saturating_sub(since);
        (ends_ms.abs_diff(until) >= JUMP).then(|| (ends_ms.saturating_sub(whole), ends_ms))
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
        assert!(!left.count_down_at(order, at(10), 5000));
        assert!(!left.count_down_at(order, at(11), 99_000), "set forward");
        assert!(!left.count_down_at(order, at(3009), 100), "set back");
        assert!(left.count_down_at(order, at(3010), 100));
        assert!(!left.count_down_at((100, 5100), at(3010), 100), "another order");
    }

    #[test]
    fn a_restart_finds_what_is_left_and_never_more_than_the_whole() {
        let order = (5000, 8000);
        let first = |wall, now| Countdown::default().count_down_at(order, at(now), wall);
        assert!(first(8000, 1) && !first(7999, 1));
        let mut set_back = Countdown::default();
        assert!(!set_back.count_down_at(order, at(0), 0));
        assert!(set_back.count_down_at(order, at(3000), 0));
    }

    /// A host without a battery for its clock starts in 1970, or where it stopped, until the network tells it the time.
    #[test]
    fn an_order_that_was_given_before_the_clock_was_set_lasts_as_long_as_it_says() {
        let (hour, set) = (3_600_000, 1_800_000_000_000);
        let order = (20_000, 20_000 + 2 * hour);
        let mut left = Countdown::default();
        assert!(
            !left.count_down_at(order, at(1), 20_000) && left.moved_at(at(1), 20_000).is_none()
        );
        assert!(!left.count_down_at(order, at(hour), set));
        let anew = left.moved_at(at(1 + hour), set).unwrap();
        assert_eq!(anew, (set - hour, set + hour), "half of it is left");
        // A restart after these were stored knows what is left; one before begins anew.
        let mut restarted = Countdown::default();
        assert!(!restarted.count_down_at(anew, at(5), set));
        assert!(!restarted.count_down_at(anew, at(4 + hour), set));
        assert!(restarted.count_down_at(anew, at(5 + hour), set));
        let mut restarted = Countdown::default();
        assert!(!restarted.count_down_at(order, at(5), set));
        assert!(!restarted.count_down_at(order, at(4 + 2 * hour), set));
        assert!(restarted.count_down_at(order, at(5 + 2 * hour), set));
    }

    #[test]
    fn the_times_of_an_order_are_told_anew_once_the_clock_is_a_minute_off() {
        let order = (EARLIEST + 5000, EARLIEST + 905_000);
        let mut left = Countdown::default();
        assert_eq!(left.moved_at(at(1), 0), None, "there is no order");
        assert!(!left.count_down_at(order, at(1000), order.0));
        for (off, moved) in
            [(0, false), (59_999, false), (60_000, true), (-59_999, false), (-60_000, true)]
        {
            let wall = (order.0 + 100_000).checked_add_signed(off).unwrap();
            let by = |ms: u64| ms.checked_add_signed(off).unwrap();
            let expected = moved.then(|| (by(order.0), by(order.1)));
            assert_eq!(left.moved_at(at(101_000), wall), expected, "{off}");
        }
    }

    #[test]
    fn an_order_is_over_by_the_clocks_of_this_host() {
        let (now, hour) = (clock::wall_clock_ms(), 3_600_000);
        let is_over = |since, until| Countdown::default().count_down(since, until);
        assert!(!is_over(now, now + hour) && is_over(now - hour, now));
        let mut left = Countdown::default();
        assert!(!left.count_down(now, now + hour) && left.count_down(now - hour, now));
    }
}

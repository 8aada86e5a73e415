//! Names that are held once in each period, for a job that runs once a day on one of several hosts.
//!
//! The coordinator gives such a name to a candidate only if no run of this period is in the table, and notes the run in
//! the very version in which the candidate takes the name: so the run is in the table of a majority before it begins, and
//! what a crash leaves of it counts as the run. (G13)
//!
//! What time it is, no single clock decides: it is T once the clocks of a majority of the voters have passed T. (G14)

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

use crate::core::bounds;
use crate::core::planted::Fault;
use crate::core::types::{NodeId, Time};

/// A time by a wall clock: milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub u64);

impl WallTime {
    /// No clock is beyond that: the year 9999.
    pub const LATEST: WallTime = WallTime(253_402_300_799_999);

    /// The same clock, after this time has passed.
    #[must_use]
    pub fn after(self, passed: Duration) -> WallTime {
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        WallTime(self.0.saturating_add(passed)).min(WallTime::LATEST)
    }

    /// How long it is from now until this time by the same clock.
    #[must_use]
    pub fn since(self, now: WallTime) -> Duration {
        Duration::from_millis(self.0.saturating_sub(now.0))
    }
}

/// Why periods cannot be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadPeriod {
    #[error("a period is 1s to 366d")]
    Length,
    #[error("a period is a whole number of milliseconds")]
    Fraction,
}

/// How often a name is held: once in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OncePer {
    /// In milliseconds.
    length: u64,
    /// When a period begins, after a multiple of the length since 1970; less than the length.
    offset: u64,
    /// A period has runs until one of them ended with 0; else it has one.
    pub retry: bool,
}

impl OncePer {
    pub const SHORTEST: Duration = Duration::from_secs(1);
    pub const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

    /// The days of UTC, each with one run.
    pub const DAILY: OncePer = OncePer { length: 24 * 3600 * 1000, offset: 0, retry: false };

    /// Periods of this length, one of which begins so long after 1970-01-01 00:00 UTC.
    ///
    /// # Errors
    /// If a period is too short or too long.
    pub fn new(length: Duration, begin: Duration, retry: bool) -> Result<OncePer, BadPeriod> {
        if length < OncePer::SHORTEST || length > OncePer::LONGEST {
            return Err(BadPeriod::Length);
        }
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if Duration::from_millis(millis(length)) != length {
            return Err(BadPeriod::Fraction);
        }
        Ok(OncePer { length: millis(length), offset: millis(begin) % millis(length), retry })
    }

    pub fn length(self) -> Duration {
        Duration::from_millis(self.length)
    }

    /// When its periods begin, after a multiple of their length since 1970.
    pub fn offset(self) -> Duration {
        Duration::from_millis(self.offset)
    }

    /// When the period ends that it is in at this time: the next one begins then.
    pub fn end(self, at: WallTime) -> WallTime {
        let periods = (at.0 + self.length - self.offset) / self.length;
        WallTime(periods * self.length + self.offset)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunEnd {
    /// It never began, and never will: another one may.
    Unused,
    /// The command ended by itself, with this exit code.
    Code(u8),
}

/// The last run under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeriodRun {
    pub once: OncePer,
    /// When its period ends.
    pub until: WallTime,
    /// The token under which the name was taken for it.
    pub token: u64,
    pub by: NodeId,
    /// When the name was taken for it.
    pub begun: WallTime,
    /// Nothing is known as long as it runs, or if it was ended or died.
    pub end: Option<RunEnd>,
}

impl PeriodRun {
    /// Whether its period takes another run, by those that retry or not.
    pub fn leaves_room(&self, retry: bool) -> bool {
        match self.end {
            Some(RunEnd::Unused) => true,
            Some(RunEnd::Code(0)) => Fault::RunRepeated.is_planted(),
            _ => retry,
        }
    }

    /// When its period began.
    pub fn from(&self) -> WallTime {
        WallTime(self.until.0.saturating_sub(self.once.length))
    }
}

/// Whether a run may begin now, after this one. (G13)
pub fn is_due(last: Option<&PeriodRun>, once: OncePer, now: WallTime) -> bool {
    last.is_none_or(|run| {
        now >= run.until || run.leaves_room(once.retry) || Fault::RunForgotten.is_planted()
    })
}

/// When the period ends of a run that begins now: it never goes back. (G13)
pub fn until(last: Option<&PeriodRun>, once: OncePer, now: WallTime) -> WallTime {
    let before = last.map(|run| run.until).filter(|until| *until > now);
    before.unwrap_or_else(|| once.end(now))
}

/// The clocks of the voters, as a coordinator knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VoterClocks(BTreeMap<NodeId, (WallTime, Time)>);

impl VoterClocks {
    /// A voter said what its clock shows. It did so before the word came, so its clock shows no less by now.
    pub fn hear(&mut self, voter: NodeId, wall: WallTime, now: Time) {
        self.0.insert(voter, (wall.min(WallTime::LATEST), now));
    }

    /// The time that the clocks of a majority have passed, by what these voters said of late: no minority, ahead or behind,
    /// moves it. (G14)
    pub fn time(
        &self,
        voters: impl Iterator<Item = NodeId>,
        majority: usize,
        (now, limit): (Time, Duration),
    ) -> Option<WallTime> {
        let told = voters.filter_map(|voter| self.0.get(&voter));
        let fresh = told.filter(|(_, at)| now.since(*at) < limit);
        let shown: Vec<Time> = fresh.map(|(wall, at)| Time(wall.after(now.since(*at)).0)).collect();
        (shown.len() >= majority).then(|| WallTime(bounds::bound_by(shown.into_iter(), majority).0))
    }
}

/// What a coordinator said of the time, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreedTime {
    pub time: WallTime,
    pub at: Time,
}

impl AgreedTime {
    /// What it is by now, at least.
    pub fn by(&self, now: Time) -> WallTime {
        self.time.after(now.since(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::locks::tests::id;

    const HOUR: Duration = Duration::from_secs(3600);

    fn once(length: Duration, begin: Duration) -> OncePer {
        OncePer::new(length, begin, false).expect("they are periods")
    }

    #[test]
    fn a_period_ends_where_the_next_one_begins() {
        for (length, begin, at, ends) in [
            (24, 0, 0, 24),
            (24, 3, 0, 3),
            (24, 3, 2, 3),
            (24, 3, 3, 27),
            (24, 27, 26, 27),
            (2, 3, 5, 7),
        ] {
            let millis = |hours: u64| hours * 3_600_000;
            let periods = once(HOUR * length, HOUR * begin);
            assert_eq!(periods.end(WallTime(millis(at))), WallTime(millis(ends)));
            assert_eq!(periods.end(WallTime(millis(ends) - 1)), WallTime(millis(ends)));
        }
        for wrong in [Duration::ZERO, Duration::from_millis(999), HOUR * 24 * 367] {
            assert_eq!(OncePer::new(wrong, HOUR, false), Err(BadPeriod::Length));
        }
        let odd = Duration::from_nanos(1_000_000_001);
        assert_eq!(OncePer::new(odd, HOUR, false), Err(BadPeriod::Fraction));
    }

    /// Rule G14.
    #[test]
    fn the_time_is_what_a_majority_of_the_clocks_has_passed() {
        let (second, year) = (1000, 1000 * 3600 * 24 * 365);
        let time = |clocks: &[u64], voters: u128, majority| {
            let mut known = VoterClocks::default();
            for (voter, clock) in (1..).zip(clocks) {
                known.hear(id(voter), WallTime(*clock), Time(0));
            }
            let late = Time(0) + Duration::from_secs(1);
            known.time((1..=voters).map(id), majority, (late, Duration::from_secs(2)))
        };
        let now = 50 * year;
        for (clocks, voters, majority, shown) in [
            (vec![now], 1, 1, Some(now + second)),
            (vec![now], 3, 2, None),
            (vec![now, now + year], 3, 2, Some(now + second)),
            (vec![now + 3, now + year, now], 3, 2, Some(now + 3 + second)),
            (vec![now + 3, 0, now], 3, 2, Some(now + second)),
            (vec![now, now + year, now + year, 5, 0], 5, 3, Some(now + second)),
            (vec![now, now + year, now + year], 5, 3, Some(now + second)),
        ] {
            assert_eq!(time(&clocks, voters, majority), shown.map(WallTime), "{clocks:?}");
        }
        let mut old = VoterClocks::default();
        old.hear(id(1), WallTime(now), Time(0));
        let late = Time(0) + Duration::from_secs(2);
        assert_eq!(old.time([id(1)].into_iter(), 1, (late, Duration::from_secs(2))), None);
    }

    /// Rule G13.
    #[test]
    fn a_period_has_one_run_or_runs_until_one_ended_with_0() {
        let periods = once(HOUR, Duration::ZERO);
        let run = |end| PeriodRun {
            once: periods,
            until: WallTime(3_600_000),
            token: 4,
            by: id(1),
            begun: WallTime(7),
            end,
        };
        let retry = OncePer { retry: true, ..periods };
        let at = |end: Option<RunEnd>, once: OncePer, now: u64| {
            is_due(Some(&run(end)), once, WallTime(now))
        };
        assert!(is_due(None, periods, WallTime(0)));
        for end in [None, Some(RunEnd::Code(0)), Some(RunEnd::Code(3)), Some(RunEnd::Unused)] {
            let unused = end == Some(RunEnd::Unused);
            assert_eq!(at(end, periods, 3_599_999), unused, "{end:?}");
            assert_eq!(at(end, retry, 3_599_999), end != Some(RunEnd::Code(0)), "{end:?}");
            assert!(at(end, periods, 3_600_000) && at(end, retry, 3_600_000));
        }
        let goes_on = until(Some(&run(None)), retry, WallTime(5));
        assert_eq!(goes_on, WallTime(3_600_000), "the clocks went back");
        assert_eq!(until(Some(&run(None)), retry, WallTime(3_600_000)), WallTime(7_200_000));
        assert_eq!(until(None, once(HOUR / 2, Duration::ZERO), WallTime(5)), WallTime(1_800_000));
    }
}

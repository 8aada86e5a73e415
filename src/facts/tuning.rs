//! Which `failure` a cluster bears, by what its nodes measured.

use std::time::Duration;

use electd_election::core::bounds;
use electd_election::core::settings::{Quorum, Timing};
use electd_record::delays::{DelaySlot, MeasuredDelays};

use super::forecast::{DelayForecast, FEWEST, slots_a_month};

/// What a cluster measured of itself, and what that lets one expect.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Each node that was asked.
    pub hosts: Vec<HostDelays>,
    /// Over how many slots.
    pub slots: usize,
    slot_ms: u64,
}

/// The delays of a node and its host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDelays {
    /// The name of the node.
    pub node: String,
    /// How late its election thread was at most.
    pub late: Duration,
    /// The longest round trip from a leader to it; none if it led all the time.
    pub round_trip: Option<Duration>,
    /// The worst of any slot: lateness and round trip together.
    worst: Duration,
    forecast: DelayForecast,
}

/// Why nothing can be said yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLittle {
    /// Not every node has measured for long enough.
    #[error("the nodes have measured for too short a time: ask again in two minutes")]
    Slots,
    /// No node that was asked led meanwhile, so that there were no round trips.
    #[error(
        "no node that was asked led meanwhile, so that no round trip was measured: ask all of them"
    )]
    NoLeader,
}

impl Tuning {
    /// From what these nodes measured in the last slots, so many as all of them have.
    ///
    /// A leader depends on its own timers and on the round trips to the slowest member. A node that did not lead is judged
    /// by its own timers, and the round trips that the leader had in the middle of its slots.
    ///
    /// # Errors
    /// If there are fewer than [`FEWEST`] slots, or if nobody led.
    pub fn of(measured: &[MeasuredDelays], time: Duration) -> Result<Tuning, TooLittle> {
        let latest: Vec<_> = measured.iter().map(|one| one.latest(time)).collect();
        let slots = latest.iter().map(|slots| slots.len()).min().unwrap_or_default();
        if slots < FEWEST {
            return Err(TooLittle::Slots);
        }
        let trips = latest.iter().flat_map(|slots| slots.iter());
        let mut typical: Vec<_> = trips.filter_map(|slot| slot.longest_trip()).collect();
        typical.sort_unstable();
        let typical = *typical.get(typical.len() / 2).ok_or(TooLittle::NoLeader)?;
        let host = |(one, slots): (&MeasuredDelays, &&[DelaySlot])| {
            let worst: Vec<_> = slots
                .iter()
                .map(|slot| slot.late() + slot.longest_trip().unwrap_or(typical))
                .collect();
            let to_it = latest.iter().flat_map(|slots| slots.iter());
            let to_it = to_it.filter_map(|slot| slot.round_trips_us.get(&one.node)).max();
            Some(HostDelays {
                node: one.node.clone(),
                late: slots.iter().map(|slot| slot.late()).max()?,
                round_trip: to_it.copied().map(Duration::from_micros),
                worst: worst.iter().copied().max()?,
                forecast: DelayForecast::of(&worst)?,
            })
        };
        let hosts = measured.iter().zip(&latest).filter_map(host).collect();
        Ok(Tuning { hosts, slots, slot_ms: measured.first().map_or(1, |one| one.slot_ms) })
    }

    /// How often a month a leader that lives is expected to lose its leadership, on the worst of the hosts.
    #[must_use]
    pub fn false_changes(&self, quorum: Quorum, timing: &Timing) -> f64 {
        let bearable = bounds::bearable(quorum, timing);
        let a_slot = self.hosts.iter().map(|host| host.forecast.beyond(bearable));
        a_slot.fold(0.0, f64::max) * slots_a_month(self.slot_ms)
    }

    /// Whether these timings hold: they bear twice the worst that was seen, and less than one false change a month is
    /// expected.
    #[must_use]
    pub fn holds(&self, quorum: Quorum, timing: &Timing) -> bool {
        let worst = self.hosts.iter().map(|host| host.worst).max().unwrap_or_default();
        bounds::bearable(quorum, timing) >= worst * 2 && self.false_changes(quorum, timing) < 1.0
    }

    /// For how long it was measured.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.slot_ms) * u32::try_from(self.slots).unwrap_or(u32::MAX)
    }
}

/// These timings with this `failure`, and all others in proportion.
#[must_use]
pub fn scaled(timing: &Timing, failure: Duration) -> Timing {
    let times = failure.as_secs_f64() / timing.failure.as_secs_f64();
    Timing {
        heartbeat: timing.heartbeat.mul_f64(times),
        failure,
        message: timing.message.mul_f64(times),
        lease: timing.lease.mul_f64(times),
    }
}

#[cfg(test)]
mod tests {
    use super::super::forecast::least_round;
    use super::*;

    const fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn timing(failure: u64) -> Timing {
        let default = Timing {
            heartbeat: millis(100),
            failure: millis(500),
            message: millis(50),
            lease: millis(400),
        };
        scaled(&default, millis(failure))
    }

    /// A leader and a follower: so late in each slot, in microseconds, and so long a round trip.
    fn measured(late: [u64; 2], trip: u64) -> Vec<MeasuredDelays> {
        let delays = |node: &str, late_us: u64, trips: &[(&str, u64)]| {
            let round_trips_us = trips.iter().map(|(name, it)| ((*name).to_owned(), *it)).collect();
            let slot = DelaySlot { late_us, round_trips_us };
            MeasuredDelays { node: node.to_owned(), slot_ms: 10_000, slots: vec![slot; 60] }
        };
        vec![delays("a", late[0], &[("b", trip)]), delays("b", late[1], &[])]
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn the_worst_host_decides_and_the_proposal_bears_it() {
        for (late, quorum, least) in [
            ([300, 300], Quorum::Majority, 10),
            ([3000, 300], Quorum::Majority, 15),
            ([300, 3000], Quorum::Majority, 15),
            ([300, 3000], Quorum::None, 12),
            ([300, 90_000], Quorum::Majority, 400),
        ] {
            let tuning = Tuning::of(&measured(late, 400), LONG).unwrap();
            let holds = |failure: Duration| {
                tuning.holds(quorum, &timing(u64::try_from(failure.as_millis()).unwrap()))
            };
            assert_eq!(least_round(holds), Some(millis(least)), "{late:?}");
            assert!(tuning.false_changes(quorum, &timing(least)) < 1.0);
            assert_eq!((tuning.slots, tuning.time()), (60, LONG));
        }
        let tuning = Tuning::of(&measured([300, 90_000], 400), LONG).unwrap();
        assert!(tuning.false_changes(Quorum::Majority, &timing(100)) > 1000.0);
        let seen = tuning.hosts.iter().map(|host| (host.late, host.round_trip));
        let micros = Duration::from_micros;
        assert!(seen.eq([(micros(300), None), (millis(90), Some(micros(400)))]));
    }

    #[test]
    fn nothing_is_said_by_too_little() {
        let short = Duration::from_secs(110);
        assert_eq!(Tuning::of(&measured([300, 300], 400), short), Err(TooLittle::Slots));
        assert_eq!(Tuning::of(&[], LONG), Err(TooLittle::Slots));
        let follower = &measured([300, 300], 400)[1..];
        assert_eq!(Tuning::of(follower, LONG), Err(TooLittle::NoLeader));
    }
}

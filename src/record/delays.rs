//! The worst delays of each ten seconds of the last hour: how late the election thread was for its timers, and how long
//! members took to acknowledge heartbeats. `electd tune` judges by them which `failure` this cluster bears.

pub mod round_trips;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::core::types::{NodeId, Time};

/// The answer of `GET /delays`: what a node measured of late, in slots of equal length, the latest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredDelays {
    /// The name of the node.
    pub node: String,
    /// How long a slot is, in milliseconds.
    pub slot_ms: u64,
    /// The slots that are over, at most an hour of them.
    pub slots: Vec<DelaySlot>,
}

/// The worst of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelaySlot {
    /// How late the election thread looked at a timer that was due, in microseconds.
    pub late_us: u64,
    /// How long each member took to acknowledge a heartbeat of this node, in microseconds; empty unless this node led.
    pub round_trips_us: BTreeMap<String, u64>,
}

impl MeasuredDelays {
    /// The latest slots of this length of time.
    #[must_use]
    pub fn latest(&self, time: Duration) -> &[DelaySlot] {
        let slots = time.as_millis().div_ceil(u128::from(self.slot_ms.max(1)));
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        &self.slots[self.slots.len().saturating_sub(slots)..]
    }

    /// For how long it has measured, an hour at most.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.slot_ms) * u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }
}

impl DelaySlot {
    /// How late it was.
    #[must_use]
    pub fn late(&self) -> Duration {
        Duration::from_micros(self.late_us)
    }

    /// The longest round trip, if one was measured.
    #[must_use]
    pub fn longest_trip(&self) -> Option<Duration> {
        self.round_trips_us.values().max().copied().map(Duration::from_micros)
    }
}

const SLOT: Duration = Duration::from_secs(10);

/// How many slots are kept: those of an hour, and the one that is not over.
const SLOTS: usize = 361;

/// Only the election thread notes anything here.
#[derive(Debug, Default)]
pub struct DelayLog(Mutex<VecDeque<DelaysOfSlot>>);

#[derive(Debug, Default)]
struct DelaysOfSlot {
    number: u64,
    late: Duration,
    trips: BTreeMap<NodeId, Duration>,
}

impl DelayLog {
    /// The election thread looked at a timer so late.
    pub fn late(&self, by: Duration, now: Time) {
        self.note(now, |slot| slot.late = slot.late.max(by));
    }

    /// A member took so long to acknowledge a heartbeat.
    pub fn round_trip(&self, member: NodeId, took: Duration, now: Time) {
        self.note(now, |slot| {
            let longest = slot.trips.entry(member).or_default();
            *longest = took.max(*longest);
        });
    }

    fn note(&self, now: Time, what: impl Fn(&mut DelaysOfSlot)) {
        let (number, mut slots) = (number(now), self.0.lock());
        if slots.back().is_none_or(|slot| slot.number < number) {
            if slots.len() == SLOTS {
                slots.pop_front();
            }
            slots.push_back(DelaysOfSlot { number, ..DelaysOfSlot::default() });
        }
        slots.back_mut().into_iter().for_each(&what);
    }

    /// What the node of this name measured, with the names of the others as this tells them. A slot counts once it is over.
    pub fn told(&self, node: String, now: Time, name: impl Fn(NodeId) -> String) -> MeasuredDelays {
        let slots = self.0.lock();
        let over = slots.iter().filter(|slot| slot.number < number(now));
        let told = |slot: &DelaysOfSlot| DelaySlot {
            late_us: micros(slot.late),
            round_trips_us: slot.trips.iter().map(|(id, it)| (name(*id), micros(*it))).collect(),
        };
        let slot_ms = u64::try_from(SLOT.as_millis()).unwrap_or(u64::MAX);
        MeasuredDelays { node, slot_ms, slots: over.map(told).collect() }
    }
}

fn number(now: Time) -> u64 {
    now.0 / u64::try_from(SLOT.as_nanos()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use uuid::Uuid;

    use super::*;

    const fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn the_latest_slots_are_those_of_the_time_that_was_asked_for() {
        let slots = (1..=5).map(|late_us| DelaySlot { late_us, ..DelaySlot::default() }).collect();
        let delays = MeasuredDelays { node: "a".to_owned(), slot_ms: 10_000, slots };
        let late = |time| delays.latest(time).iter().map(|slot| slot.late_us).collect::<Vec<_>>();
        assert_eq!(late(millis(20_000)), [4, 5]);
        assert_eq!(late(millis(10_001)), [4, 5]);
        assert_eq!(late(Duration::from_secs(600)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn each_slot_has_its_worst_and_the_oldest_make_room() {
        let (log, peer) = (DelayLog::default(), NodeId(Uuid::from_u128(2)));
        let at = |seconds| Time(0) + Duration::from_secs(seconds);
        log.late(Duration::from_micros(300), at(1));
        log.late(Duration::from_micros(200), at(9));
        log.round_trip(peer, Duration::from_micros(40), at(9));
        log.round_trip(peer, Duration::from_micros(30), at(9));
        log.late(Duration::from_micros(70), at(10));
        let told = |now| log.told("a".to_owned(), now, |_| "b".to_owned());
        let first = DelaySlot { late_us: 300, round_trips_us: [("b".to_owned(), 40)].into() };
        assert_eq!(told(at(9)).slots, [], "it is not over");
        assert_eq!(told(at(19)).slots, slice::from_ref(&first));
        let second = DelaySlot { late_us: 70, ..DelaySlot::default() };
        assert_eq!(
            told(at(20)),
            MeasuredDelays { node: "a".to_owned(), slot_ms: 10_000, slots: vec![first, second] }
        );
        (2..1000).for_each(|slot| log.late(Duration::from_micros(slot), at(slot * 10)));
        let kept = told(at(9_999)).slots;
        assert_eq!((kept.len(), kept[0].late_us, kept[359].late_us), (360, 639, 998));
    }
}

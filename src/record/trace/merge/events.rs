//! The entries of an election as events that can be shown.

use std::collections::{BTreeMap, BTreeSet};

use super::election::Merged;
use super::pairs::At;
use super::select::{KnownRecords, causes};
use crate::core::Phase;
use crate::core::message::Kind;
use crate::core::types::Time;
use crate::trace::event::{DrawnEvent, DrawnWhat, Unseen};
use crate::trace::record::{Entry, MessageKind, Record};

/// How long a message of which one end is unknown is shown to travel.
const UNKNOWN: u64 = 1000;

/// How long the record of a receiver has to go on for a message that is not in it to be lost: it may have waited in a
/// queue, and clocks are compared as well as the messages allow.
const LATE: i128 = 1_000_000_000;

/// Only those are recorded of which something came.
const SIGNS_OF_LIFE: [Kind; 4] = [Kind::Heartbeat, Kind::Acknowledge, Kind::Probe, Kind::Alive];

const PHASES: [Phase; 8] = [
    Phase::Starting,
    Phase::Electing,
    Phase::Waiting,
    Phase::Halted,
    Phase::Reorganizing,
    Phase::Following,
    Phase::Leading,
    Phase::Stopping,
];

/// The events of an election.
pub struct DrawnEvents<'a> {
    known: &'a KnownRecords<'a>,
    ahead: &'a [i128],
    names: Vec<String>,
    began: i128,
    events: Vec<DrawnEvent>,
    messages: BTreeMap<MessageKind, u64>,
    /// Where each entry is among the events; a message that was taken is where it was sent.
    places: BTreeMap<At, usize>,
    /// The members that got this leader, or that others took messages of.
    took_part: BTreeSet<usize>,
    led: BTreeMap<u64, BTreeSet<String>>,
    /// The leader before.
    old: Option<String>,
    /// The members whose processes are gone, and where their ends are among the events.
    dead: BTreeMap<usize, usize>,
}

impl<'a> DrawnEvents<'a> {
    /// These entries, in their order; a message that nobody saw depart, from a while before it was taken.
    /// All led by the leader of this epoch before.
    pub fn of(
        known: &'a KnownRecords<'a>,
        ahead: &'a [i128],
        (entries, common): (&[At], Option<u64>),
    ) -> DrawnEvents<'a> {
        let mut entries: Vec<(i128, At)> =
            entries.iter().map(|at| (shown_from(known, *at), *at)).collect();
        entries.sort_by_key(|(time, _)| *time);
        let began = entries.first().map_or(0, |first| first.0);
        let mut drawn = DrawnEvents {
            known,
            ahead,
            names: names(known.records),
            began,
            events: Vec::new(),
            messages: BTreeMap::new(),
            places: BTreeMap::new(),
            took_part: BTreeSet::new(),
            led: BTreeMap::new(),
            old: common.and_then(|epoch| leader_of(known.records, epoch)),
            dead: BTreeMap::new(),
        };
        entries.into_iter().for_each(|(time, at)| drawn.add(time, at));
        drawn
    }

    /// The election, which this epoch came of.
    pub fn finish(self, epoch: Option<u64>) -> Merged {
        let has_record =
            |name: &String| self.known.records.iter().any(|record| record.node == *name);
        let algorithm = self.known.records.first().map(|record| record.algorithm.clone());
        Merged {
            silent: self.names.iter().filter(|name| !has_record(name)).cloned().collect(),
            algorithm: algorithm.unwrap_or_default(),
            leaders: epoch
                .and_then(|epoch| self.led.get(&epoch))
                .map(|leaders| leaders.iter().cloned().collect())
                .unwrap_or_default(),
            members: self.took_part.len(),
            began_ns: self.began,
            names: self.names,
            events: self.events,
            messages: self.messages,
            ..Merged::default()
        }
    }

    fn add(&mut self, time: i128, at: At) {
        let record = self.known.records[at.0];
        let (entry, node) = (&record.entries[at.1], self.place(&record.node));
        let peer = entry.peer.as_ref().map(|peer| self.place(peer));
        let (mut lane, time) = (node, self.time(time));
        let what = match (entry.what.as_str(), peer) {
            ("sent", Some(to)) => self.sent(at, entry, to),
            ("got", Some(from)) => {
                self.took_part.insert(from);
                if let Some(sent) = self.known.pairs.sent(at) {
                    if let Some(place) = self.places.get(&sent) {
                        self.places.insert(at, *place);
                    }
                    return;
                }
                self.count(entry);
                lane = from;
                let (message, arrives) = (entry.caption(), Time(time.0 + UNKNOWN));
                let unseen = Some(Unseen::Departure);
                DrawnWhat::Sends { to: node, message, arrives, lost: false, unseen }
            }
            _ => self.happened(at, entry, node),
        };
        let death = peer.filter(|_| entry.gone).map(|peer| self.buries(time, peer));
        let record_at = at.0;
        let causes = causes(record, at.1).filter_map(|cause| self.places.get(&(record_at, cause)));
        let causes = causes.copied().chain(death);
        let causes = if lane == node { causes.collect() } else { Vec::new() };
        self.places.insert(at, self.events.len());
        self.events.push(DrawnEvent { time, node: lane, what, causes });
    }

    /// A member sees that the process of another is gone: it is dead from here on. Where its end is among the events.
    fn buries(&mut self, time: Time, dead: usize) -> usize {
        if let Some(place) = self.dead.get(&dead) {
            return *place;
        }
        let mut add =
            |what| self.events.push(DrawnEvent { time, node: dead, what, causes: Vec::new() });
        if self.places.is_empty() && self.old.as_ref() == Some(&self.names[dead]) {
            add(DrawnWhat::Led);
        }
        add(DrawnWhat::Dies);
        let place = self.events.len() - 1;
        self.dead.insert(dead, place);
        place
    }

    /// A message that was sent here.
    fn sent(&mut self, at: At, entry: &Entry, to: usize) -> DrawnWhat {
        let (message, sent) = (entry.caption(), self.known.order.time(at));
        let soon = Time(self.time(sent).0 + UNKNOWN);
        let (arrives, lost, unseen) = match self.known.pairs.taken(at) {
            Some(taken) => {
                let taken = self.time(self.known.order.time(taken));
                (taken.max(Time(self.time(sent).0 + 1)), false, None)
            }
            None if self.is_covered(&self.names[to], sent) => (soon, true, None),
            None => (soon, false, Some(Unseen::Arrival)),
        };
        if !lost || message.kind != Some(Kind::Coordinator) {
            self.count(entry);
        }
        DrawnWhat::Sends { to, message, arrives, lost, unseen }
    }

    /// Whether the record of this member has all that it took from this time on, for so long that the message is lost.
    fn is_covered(&self, name: &str, time: i128) -> bool {
        let records = self.known.records.iter().zip(self.ahead);
        let mut own = records.filter(|(record, _)| record.node == name);
        own.any(|(record, ahead)| {
            let [since, now] = [record.since_ns, record.now_ns].map(|at| i128::from(at) + ahead);
            since <= time && time + LATE <= now
        })
    }

    /// Something else than a message.
    fn happened(&mut self, at: At, entry: &Entry, node: usize) -> DrawnWhat {
        let label = entry.label.clone();
        let phase = entry.phase.as_deref();
        let phase = phase.and_then(|name| PHASES.into_iter().find(|phase| phase.name() == name));
        match (entry.what.as_str(), phase) {
            ("became", Some(phase)) => {
                if let (true, Some(epoch), Some(leader)) =
                    (phase.has_leader(), entry.number, &entry.leader)
                {
                    self.led.entry(epoch).or_default().insert(leader.clone());
                    self.took_part.insert(node);
                }
                DrawnWhat::Becomes {
                    phase,
                    label,
                    reason: entry.reason.clone().unwrap_or_default(),
                }
            }
            ("waited", _) => {
                let since = i128::from(entry.since_ns.unwrap_or(entry.at_ns)) + self.ahead[at.0];
                DrawnWhat::Waited { since: self.time(since), label }
            }
            ("started", _) => {
                self.dead.remove(&node);
                DrawnWhat::Starts
            }
            _ => DrawnWhat::Suffers(label),
        }
    }

    fn count(&mut self, entry: &Entry) {
        if entry.known().is_some_and(|kind| SIGNS_OF_LIFE.contains(&kind)) {
            return;
        }
        let kind = entry.kind.clone().unwrap_or_else(|| MessageKind::Other(String::new()));
        *self.messages.entry(kind).or_default() += 1;
    }

    fn time(&self, time: i128) -> Time {
        Time(u64::try_from(time - self.began).unwrap_or_default())
    }

    fn place(&mut self, name: &str) -> usize {
        let found = self.names.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            self.names.push(name.to_owned()); // removed since
            self.names.len() - 1
        })
    }
}

/// When this is shown to begin.
fn shown_from(known: &KnownRecords, at: At) -> i128 {
    let arrives = known.records[at.0].entries[at.1].what == "got" && known.pairs.sent(at).is_none();
    known.order.time(at) - if arrives { i128::from(UNKNOWN) } else { 0 }
}

/// The leader of this epoch, as far as any member recorded it.
fn leader_of(records: &[&Record], epoch: u64) -> Option<String> {
    let of_epoch = |entry: &&Entry| entry.settles() && entry.number == Some(epoch);
    let mut named = records.iter().flat_map(|record| &record.entries).filter(of_epoch);
    named.find_map(|entry| entry.leader.clone())
}

/// The members, as the record tells them that was told last.
fn names(records: &[&Record]) -> Vec<String> {
    let longest = records.iter().max_by_key(|record| record.members.len());
    longest.map(|record| record.members.clone()).unwrap_or_default()
}

//! Durability: the record that a member writes, and its next steps once the disk has written it.
//!
//! A member says nothing that a crash could make it forget. Each step that relies on a record therefore waits in one
//! queue, `Records`, until the disk has written that record. Epochs are reserved ahead of their use, so that neither
//! a candidate nor a follower waits for the disk. (I2)

use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::membership::{ListVersion, MemberList};
use super::message::{Done, Message};
use super::planted::Fault;
use super::types::{CommandId, Drain, Epoch, Incarnation, NodeId, Pause, Task, Time};
use super::waiting::MOST_WAITING;

/// How far ahead a member reserves epochs, and how few are left when it reserves again.
const AHEAD: u64 = 16;
const LOW: u64 = 8;

/// A member's record: the content of its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    pub epoch: Epoch,
    /// The next incarnation of this member calls only rounds above this.
    pub reserved: Epoch,
    pub leader: Option<NodeId>,
    pub members: Arc<MemberList>,
    pub task: Task,
    /// With a majority: what a voter must not forget.
    pub vote: Option<VoterRecord>,
    /// With a majority: this member was removed from the cluster, and nothing can undo that.
    pub removed: bool,
    /// With a majority: the greatest incarnation that each peer proved to have, in id order.
    pub met: Arc<[(NodeId, Incarnation)]>,
    /// The operator's order that this member not lead.
    pub drain: Option<Drain>,
    /// Whether the cluster is paused, as far as this member knows.
    pub pause: Pause,
}

impl Durable {
    /// Whether a voter's store shows that its cluster has begun: the voter was informed of the state of the cluster,
    /// or has a list that a leader changed.
    pub fn knows_its_cluster(&self) -> bool {
        let changed = self.members.version() > ListVersion::default();
        self.vote.is_some_and(|vote| vote.has_voted() || changed)
    }
}

/// A voter's vote in the greatest epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vote {
    pub epoch: Epoch,
    /// The candidate that may lead in it.
    pub candidate: NodeId,
}

/// What a voter must not forget, whatever happens to its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VoterRecord {
    /// The vote in the greatest epoch.
    pub voted: Option<Vote>,
    /// The longest promise that the voter made, or may have made.
    pub promised: Duration,
    /// Whether it knows the state of the cluster.
    pub informed: bool,
    /// The round when it was informed: up to that round it does not know what its lost store held.
    pub floor: Epoch,
    /// Up to this epoch it may have voted before a crash, and not know that.
    pub forgot: Epoch,
    /// Whether the voter answers before its disk, so that it may have voted or promised in any epoch up to the reserve
    /// of this record.
    pub behind: bool,
}

impl VoterRecord {
    /// The record that has to be durable before a voter starts that will make promises of this length.
    pub fn first(restored: Option<VoterRecord>, lease: Duration) -> VoterRecord {
        let vote = restored.unwrap_or_default();
        VoterRecord { promised: vote.promised.max(lease), behind: true, ..vote }
    }

    /// What a start finds, with the reserve of the record: after a crash the voter may have voted in each epoch of
    /// that. (Q13)
    pub fn found(self, reserved: Epoch) -> VoterRecord {
        let forgot = if self.behind { self.forgot.max(reserved) } else { self.forgot };
        VoterRecord { forgot, ..self }
    }

    /// The same, beside a record of this epoch: who knows a greater epoch votes in no lower one, forgotten or not.
    pub fn known_to(self, epoch: Epoch) -> VoterRecord {
        let forgot = if epoch > self.forgot { Epoch(0) } else { self.forgot };
        VoterRecord { forgot, ..self }
    }

    /// Whether it may have voted or promised: a voter does neither before it is informed.
    pub fn has_voted(&self) -> bool {
        self.informed || self.voted.is_some()
    }
}

/// The first reserve of epochs of a member that starts and knows `epoch`.
pub fn first_reserve(epoch: Epoch) -> Epoch {
    Epoch(epoch.0.saturating_add(AHEAD))
}

/// A step that a member takes once a record is durable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Deferred {
    /// It may name leaders of the epochs up to this one.
    Reserve(Epoch),
    /// It may send promises of this length.
    Promise(Duration),
    /// It may vote before its disk has the vote, as a restart knows that it was informed.
    Informed,
    /// It may repeat its last vote without another record.
    Vote,
    /// It counts itself among those that have stored the present member list.
    List,
    /// It is not drained any more.
    Undrain,
    /// It sends this message to a member; its own vote it counts itself.
    Tell(NodeId, Message),
    /// It answers this command, which is done.
    Answer(CommandId, Done),
}

impl Deferred {
    /// Whether this replaces an older step that waits. However long the disk takes, only the last message of each
    /// kind to a member remains, and only commands add up.
    fn replaces(&self, older: &Deferred) -> bool {
        match (self, older) {
            (Deferred::Tell(_, Message::Outcome { .. }), _) => false, // each is the answer to another command
            (Deferred::Tell(to, new), Deferred::Tell(peer, old)) => {
                to == peer && new.kind() == old.kind()
            }
            (Deferred::Answer(..), _) => false,
            _ => discriminant(self) == discriminant(older),
        }
    }
}

/// What a start read and made durable, for whoever judges a recording of this life: nothing in the core reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Started {
    pub at: Time,
    /// The voter's record that the start found; none in an empty store.
    pub found: Option<VoterRecord>,
    /// The reserve of that record.
    pub floor: Epoch,
    /// The epoch of that record, and its leader.
    pub epoch: Epoch,
    pub leader: Option<NodeId>,
    /// What the start made durable.
    pub wrote: Option<VoterRecord>,
    pub reserved: Epoch,
}

/// The records handed to the disk, and the steps that wait for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Records {
    started: Started,
    /// The incarnation of this member that writes them.
    incarnation: Incarnation,
    /// The last task that a coordinator of the halting algorithm handed out; it is kept nowhere else in the core.
    task: Task,
    /// The number of the last record.
    last: u64,
    /// Epochs up to this one are durable.
    durable: Epoch,
    /// The greatest reserve asked for.
    asked: Epoch,
    /// The steps that wait for the record of this number, in order.
    waiting: Vec<(u64, Deferred)>,
    /// Since when the disk has reported no record, if it has one to write.
    silent: Option<Time>,
    /// How many more records the disk has to write in time, since one was late.
    proofs_left: u8,
}

/// After a late record the disk counts as quick again once it wrote this many in time: one may be luck.
const PROOFS: u8 = 8;

/// Whether the disk keeps up, by its last records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskPace {
    /// The records came in time.
    Quick,
    /// The last one did, but an earlier one was late.
    Proving,
    /// The last one was late, or the next one is by now.
    Late,
}

impl Records {
    /// No record yet; epochs up to `reserved` are durable.
    pub fn new(incarnation: Incarnation, reserved: Epoch, task: Task) -> Records {
        let (durable, asked) = (reserved, reserved);
        Records { incarnation, task, durable, asked, ..Records::default() }
    }

    /// The same, of a life that started so.
    pub fn after(self, started: Started) -> Records {
        Records { started, ..self }
    }

    /// What the start of this life found and wrote.
    pub fn started(&self) -> &Started {
        &self.started
    }

    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Stores this task with the next record.
    pub fn hold(&mut self, task: Task) {
        self.task = task;
    }

    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Whether a leader of this epoch may be named, or a vote given in it: a restart counts on that. (W1, Q2)
    pub fn is_durable(&self, epoch: Epoch) -> bool {
        epoch <= self.durable || Fault::NotDurable.is_planted()
    }

    /// Whether the reserve above `epoch` runs low, and no greater one has been asked for.
    pub fn run_low(&self, epoch: Epoch) -> bool {
        self.asked.0 < epoch.0.saturating_add(LOW)
    }

    /// The number and the reserve of the next record of a member that knows `epoch`.
    pub fn next_record(&mut self, epoch: Epoch) -> (u64, Epoch) {
        self.last += 1;
        if self.run_low(epoch) {
            self.asked = first_reserve(epoch);
            self.defer(self.last, Deferred::Reserve(self.asked));
        }
        (self.last, self.asked)
    }

    /// The number and the reserve of the last record of this incarnation. It gives back the unused reserve above
    /// `round`: this incarnation names no leader any more.
    pub fn last_record(&mut self, round: Epoch) -> (u64, Epoch) {
        self.last += 1;
        self.asked = round;
        self.waiting.retain(|(_, step)| !matches!(step, Deferred::Reserve(_)));
        (self.last, round)
    }

    /// Takes this step once the record of this number is durable.
    pub fn defer(&mut self, record: u64, step: Deferred) {
        let tells = matches!(step, Deferred::Tell(..));
        if tells && self.waiting.iter().any(|(_, waiting)| *waiting == step) {
            return; // it waits for an earlier record
        }
        // The first reserve that waits stays: each restart of a peer may ask for a greater one, and none would ever be
        // durable. (W2)
        let is_reserve = |step: &Deferred| matches!(step, Deferred::Reserve(_));
        let first = self.awaited_by(is_reserve);
        let stays = |record: u64, older: &Deferred| is_reserve(older) && Some(record) == first;
        self.waiting.retain(|(record, older)| !step.replaces(older) || stays(*record, older));
        self.waiting.push((record, step));
    }

    /// The record that such a step waits for, if there is one.
    pub fn awaited_by(&self, what: impl Fn(&Deferred) -> bool) -> Option<u64> {
        self.waiting.iter().find(|(_, step)| what(step)).map(|(record, _)| *record)
    }

    /// Whether one more command may wait for a record.
    pub fn have_room(&self) -> bool {
        self.commands() < MOST_WAITING
    }

    fn commands(&self) -> usize {
        let answers = |step: &Deferred| {
            matches!(step, Deferred::Answer(..) | Deferred::Tell(_, Message::Outcome { .. }))
        };
        self.waiting.iter().filter(|(_, step)| answers(step)).count()
    }

    /// The disk has something to write from now on.
    pub fn order_write(&mut self, now: Time) {
        self.silent.get_or_insert(now);
    }

    /// Whether the disk has something to write and has reported no record for this long: it may hang.
    pub fn stand_still(&self, limit: Duration, now: Time) -> bool {
        self.silent.is_some_and(|since| now.since(since) >= limit)
    }

    /// Whether the disk has something to write.
    pub fn are_under_way(&self) -> bool {
        self.silent.is_some()
    }

    /// Whether the disk keeps up, if a record has to be durable within this time.
    pub fn pace(&self, limit: Duration, now: Time) -> DiskPace {
        match self.proofs_left {
            _ if self.stand_still(limit, now) => DiskPace::Late,
            PROOFS => DiskPace::Late,
            0 => DiskPace::Quick,
            _ => DiskPace::Proving,
        }
    }

    /// All records up to this number are durable: returns the steps to take now. A record is in time within `limit`.
    pub fn written(&mut self, number: u64, limit: Duration, now: Time) -> Vec<Deferred> {
        self.proofs_left =
            if self.stand_still(limit, now) { PROOFS } else { self.proofs_left.saturating_sub(1) };
        self.silent = (number < self.last).then_some(now);
        let due: Vec<_> = self.waiting.extract_if(.., |(record, _)| *record <= number).collect();
        for (_, step) in &due {
            if let Deferred::Reserve(epoch) = step {
                self.durable = self.durable.max(*epoch);
            }
        }
        due.into_iter().map(|(_, step)| step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule W1.
    #[test]
    fn an_epoch_is_durable_only_after_its_record_is() {
        let mut records = Records::new(Incarnation(1), Epoch(AHEAD), Task::default());
        assert!(records.is_durable(Epoch(AHEAD)) && !records.is_durable(Epoch(AHEAD + 1)));
        assert!(!records.run_low(Epoch(LOW)) && records.run_low(Epoch(LOW + 1)));

        let next = Epoch(LOW + 1 + AHEAD);
        assert_eq!(records.next_record(Epoch(LOW + 1)), (1, next));
        assert!(!records.is_durable(next), "asked for is not written");
        assert_eq!(records.next_record(Epoch(LOW + 2)), (2, next));
        records.written(1, Duration::MAX, Time(0));
        assert!(records.is_durable(next));
    }

    /// Each reserve is asked for before the disk has written the one before. (W2)
    #[test]
    fn a_reserve_is_durable_however_often_a_greater_one_is_asked_for() {
        let mut records = Records::new(Incarnation(1), Epoch(AHEAD), Task::default());
        let rounds = [1, 2, 3].map(|time| Epoch(AHEAD * time));
        let asked = rounds.map(|round| records.next_record(round));
        assert_eq!(records.waiting.len(), 2, "the first and the last");
        records.written(asked[0].0, Duration::MAX, Time(0));
        assert!(records.is_durable(asked[0].1) && !records.is_durable(asked[1].1));
        records.written(asked[2].0, Duration::MAX, Time(0));
        assert!(records.is_durable(asked[2].1));
    }

    #[test]
    fn the_last_record_gives_back_what_was_not_used() {
        let mut records = Records::new(Incarnation(1), Epoch(AHEAD), Task::default());
        records.next_record(Epoch(AHEAD));
        assert_eq!(records.last_record(Epoch(3)), (2, Epoch(3)));
        records.written(2, Duration::MAX, Time(0));
        assert!(records.is_durable(Epoch(AHEAD)), "of this run");
        assert!(!records.is_durable(Epoch(AHEAD + 1)), "asked for, and given back");
    }

    #[test]
    fn what_builds_on_a_record_waits_for_it_and_only_the_last_of_a_kind() {
        let (peer, probe) = (NodeId::default(), |number| Message::Probe { number });
        let mut records = Records::new(Incarnation(1), Epoch(0), Task::default());
        records.defer(1, Deferred::List);
        records.defer(1, Deferred::Tell(peer, probe(1)));
        records.defer(2, Deferred::Tell(peer, probe(1)));
        records.defer(2, Deferred::Answer(CommandId(1), Done::TaskTaken));
        records.defer(3, Deferred::Answer(CommandId(2), Done::TaskTaken));
        assert_eq!(records.commands(), 2);
        assert_eq!(
            records.written(1, Duration::MAX, Time(0)),
            [Deferred::List, Deferred::Tell(peer, probe(1))]
        );
        records.defer(3, Deferred::Tell(peer, probe(2)));
        records.defer(4, Deferred::Tell(peer, probe(3)));
        assert_eq!(
            records.written(3, Duration::MAX, Time(0)),
            [1, 2].map(|id| Deferred::Answer(CommandId(id), Done::TaskTaken))
        );
        assert_eq!(records.awaited_by(|step| matches!(step, Deferred::Tell(..))), Some(4));
        assert_eq!(records.written(4, Duration::MAX, Time(0)), [Deferred::Tell(peer, probe(3))]);
    }
}

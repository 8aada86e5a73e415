//! What is durable: the record that a member writes, and what the member does once its disk has written it.
//!
//! A member says nothing that a crash could make it forget. Whatever builds on a record therefore waits in
//! one queue, `Records`, until the disk has written that record. Epochs are reserved ahead of their use,
//! so that neither a candidate nor a follower waits for the disk.

use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use super::membership::{ListVersion, MemberList};
use super::message::{Done, Message};
use super::planted::Fault;
use super::types::{CommandId, Drain, Epoch, Incarnation, NodeId, Pause, Task, Time};

/// How far ahead epochs are reserved, and when it is time to reserve again.
const AHEAD: u64 = 16;
const LOW: u64 = 8;

/// A member's record: all that its disk holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Durable {
    /// The greatest epoch known.
    pub epoch: Epoch,
    /// The rounds that the next run of this member calls start above this.
    pub reserved: Epoch,
    /// The last leader known.
    pub leader: Option<NodeId>,
    /// The member list.
    pub members: Arc<MemberList>,
    /// The last task known.
    pub task: Task,
    /// With a majority: what a voter must not forget.
    pub vote: Option<VoterRecord>,
    /// With a majority: this member was removed from the cluster, and nothing can undo that.
    pub removed: bool,
    /// With a majority: the greatest incarnation that each peer proved to have, in id order.
    pub met: Arc<[(NodeId, Incarnation)]>,
    /// An operator keeps this member from leading.
    pub drain: Option<Drain>,
    /// Whether the cluster is paused, as far as this member knows.
    pub pause: Pause,
}

impl Durable {
    /// Whether a voter's store shows that its cluster has begun: the voter was told where the cluster
    /// stands, or has a list that a leader changed.
    #[must_use]
    pub fn knows_its_cluster(&self) -> bool {
        let changed = self.members.version() > ListVersion::default();
        self.vote.is_some_and(|vote| vote.has_voted() || changed)
    }
}

/// The vote that a voter gave in the greatest epoch. It is durable before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vote {
    /// The epoch.
    pub epoch: Epoch,
    /// The candidate that may lead in it.
    pub candidate: NodeId,
}

/// What a voter must not forget, whatever happens to its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VoterRecord {
    /// The vote given in the greatest epoch.
    pub voted: Option<Vote>,
    /// The longest time for which a promise was made, or may have been.
    pub promised: Duration,
    /// Whether it knows where the cluster stands.
    pub informed: bool,
    /// The round that it was told then: below it it knows nothing of what its lost store held.
    pub floor: Epoch,
}

impl VoterRecord {
    /// What is to be durable before a voter starts that will promise for `lease` at a time.
    #[must_use]
    pub fn first(restored: Option<VoterRecord>, lease: Duration) -> VoterRecord {
        let vote = restored.unwrap_or_default();
        VoterRecord { promised: vote.promised.max(lease), ..vote }
    }

    /// Whether it may have voted or promised anything: before it is informed, a voter does neither.
    #[must_use]
    pub fn has_voted(&self) -> bool {
        self.informed || self.voted.is_some()
    }
}

/// The reserve of epochs of a member that starts and knows of `epoch`.
#[must_use]
pub fn first_reserve(epoch: Epoch) -> Epoch {
    Epoch(epoch.0.saturating_add(AHEAD))
}

/// What a member does once a record is durable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    /// It names leaders of the epochs up to this one.
    Reserve(Epoch),
    /// It tells promises of this length.
    Promise(Duration),
    /// It repeats its last vote without another record.
    Vote,
    /// It counts itself among those that have stored the present member list.
    List,
    /// It tells a member this; its own vote it counts itself.
    Tell(NodeId, Message),
    /// It answers this command, which is done.
    Answer(CommandId, Done),
}

impl Then {
    /// Whether this makes void what waits already. However long the disk takes, a member is told only the
    /// last message of each kind, and only commands add up.
    fn replaces(&self, older: &Then) -> bool {
        match (self, older) {
            (Then::Tell(to, new), Then::Tell(peer, old)) => to == peer && new.kind() == old.kind(),
            (Then::Answer(..), _) => false,
            _ => discriminant(self) == discriminant(older),
        }
    }
}

/// The records handed to the disk, and what waits for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Records {
    /// The run of this member that writes them.
    incarnation: Incarnation,
    /// The task that a coordinator of the halting algorithm handed out last: no other machine keeps it.
    task: Task,
    /// The number of the last one.
    last: u64,
    /// Epochs up to this one are durable.
    durable: Epoch,
    /// The greatest reserve asked for.
    asked: Epoch,
    /// What is done when the record of this number is durable, in the order in which it is done.
    waiting: Vec<(u64, Then)>,
    /// Since when the disk has not told of a record, if it has one to write.
    silent: Option<Time>,
    /// So many more records it has to write in time, since one was late.
    owed: u8,
}

/// After a late record the disk is quick again once it wrote so many in time: one may be luck.
const PROOFS: u8 = 8;

/// Whether the disk keeps up, as far as its last records tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Its records came in time.
    Quick,
    /// The last one did, but not all of those before it.
    Proving,
    /// The last one was late, or the next one is by now.
    Late,
}

impl Records {
    /// No record yet; epochs up to `reserved` are durable.
    pub fn new(incarnation: Incarnation, reserved: Epoch, task: Task) -> Records {
        let (last, durable, asked, waiting) = (0, reserved, reserved, Vec::new());
        let (silent, owed) = Default::default();
        Records { incarnation, task, last, durable, asked, waiting, silent, owed }
    }

    /// The task that was handed out last.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// This task is to be stored from now on.
    pub fn hold(&mut self, task: Task) {
        self.task = task;
    }

    /// The run of this member that writes them.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Whether a leader of this epoch may be named: a restart cannot forget the epoch.
    pub fn cover(&self, epoch: Epoch) -> bool {
        epoch <= self.durable || Fault::NotDurable.is_planted()
    }

    /// Whether the reserve above `epoch` runs low, and no greater one has been asked for.
    pub fn run_low(&self, epoch: Epoch) -> bool {
        self.asked.0 < epoch.0.saturating_add(LOW)
    }

    /// The number and the reserve of the next record of a member that knows of `epoch`.
    pub fn next_record(&mut self, epoch: Epoch) -> (u64, Epoch) {
        self.last += 1;
        if self.run_low(epoch) {
            self.asked = first_reserve(epoch);
            self.then(self.last, Then::Reserve(self.asked));
        }
        (self.last, self.asked)
    }

    /// The number and the reserve of this run's last record. It gives back what was reserved above `round`
    /// and never used: this run names no leader after it.
    pub fn last_record(&mut self, round: Epoch) -> (u64, Epoch) {
        self.last += 1;
        self.asked = round;
        self.waiting.retain(|(_, then)| !matches!(then, Then::Reserve(_)));
        (self.last, round)
    }

    /// Has this done once the record of this number is durable.
    pub fn then(&mut self, record: u64, then: Then) {
        let tells = matches!(then, Then::Tell(..));
        if tells && self.waiting.iter().any(|(_, waiting)| *waiting == then) {
            return; // and sooner than with this record
        }
        self.waiting.retain(|(_, older)| !then.replaces(older));
        self.waiting.push((record, then));
    }

    /// The record that such a thing waits for, if one does.
    pub fn awaited_by(&self, what: impl Fn(&Then) -> bool) -> Option<u64> {
        self.waiting.iter().find(|(_, then)| what(then)).map(|(record, _)| *record)
    }

    /// How many commands wait for a record.
    pub fn commands(&self) -> usize {
        self.waiting.iter().filter(|(_, then)| matches!(then, Then::Answer(..))).count()
    }

    /// The disk has something to write from now on, if it had not.
    pub fn hand_over(&mut self, now: Time) {
        self.silent.get_or_insert(now);
    }

    /// Whether the disk has something to write and told of no record for so long: it may stand still.
    pub fn stand_still(&self, limit: Duration, now: Time) -> bool {
        self.are_silent_for(limit, now) && !Fault::StuckVotes.is_planted()
    }

    fn are_silent_for(&self, limit: Duration, now: Time) -> bool {
        self.silent.is_some_and(|since| now.since(since) >= limit)
    }

    /// Whether the disk has something to write.
    pub fn are_under_way(&self) -> bool {
        self.silent.is_some()
    }

    /// Whether the disk keeps up, where a record has to be durable within this time.
    pub fn pace(&self, limit: Duration, now: Time) -> Pace {
        match self.owed {
            _ if self.are_silent_for(limit, now) => Pace::Late,
            PROOFS => Pace::Late,
            0 => Pace::Quick,
            _ => Pace::Proving,
        }
    }

    /// All records up to this number are durable: gives what is to be done now. A record is in time within `limit`.
    pub fn written(&mut self, number: u64, limit: Duration, now: Time) -> Vec<Then> {
        self.owed =
            if self.are_silent_for(limit, now) { PROOFS } else { self.owed.saturating_sub(1) };
        self.silent = (number < self.last).then_some(now);
        let due: Vec<_> = self.waiting.extract_if(.., |(record, _)| *record <= number).collect();
        for (_, then) in &due {
            if let Then::Reserve(epoch) = then {
                self.durable = self.durable.max(*epoch);
            }
        }
        due.into_iter().map(|(_, then)| then).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_covered_only_after_its_record_is_durable() {
        let mut records = Records::new(Incarnation(1), Epoch(AHEAD), Task::default());
        assert!(records.cover(Epoch(AHEAD)) && !records.cover(Epoch(AHEAD + 1)));
        assert!(!records.run_low(Epoch(LOW)) && records.run_low(Epoch(LOW + 1)));

        let next = Epoch(LOW + 1 + AHEAD);
        assert_eq!(records.next_record(Epoch(LOW + 1)), (1, next));
        assert!(!records.cover(next), "asked for is not written");
        assert_eq!(records.next_record(Epoch(LOW + 2)), (2, next));
        records.written(1, Duration::MAX, Time(0));
        assert!(records.cover(next));
    }

    #[test]
    fn the_last_record_gives_back_what_was_not_used() {
        let mut records = Records::new(Incarnation(1), Epoch(AHEAD), Task::default());
        records.next_record(Epoch(AHEAD));
        assert_eq!(records.last_record(Epoch(3)), (2, Epoch(3)));
        records.written(2, Duration::MAX, Time(0));
        assert!(records.cover(Epoch(AHEAD)), "of this run");
        assert!(!records.cover(Epoch(AHEAD + 1)), "asked for, and given back");
    }

    #[test]
    fn what_builds_on_a_record_waits_for_it_and_only_the_last_of_a_kind() {
        let (peer, probe) = (NodeId::default(), |number| Message::Probe { number });
        let mut records = Records::new(Incarnation(1), Epoch(0), Task::default());
        records.then(1, Then::List);
        records.then(1, Then::Tell(peer, probe(1)));
        records.then(2, Then::Tell(peer, probe(1)));
        records.then(2, Then::Answer(CommandId(1), Done::TaskTaken));
        records.then(3, Then::Answer(CommandId(2), Done::TaskTaken));
        assert_eq!(records.commands(), 2);
        assert_eq!(
            records.written(1, Duration::MAX, Time(0)),
            [Then::List, Then::Tell(peer, probe(1))]
        );
        records.then(3, Then::Tell(peer, probe(2)));
        records.then(4, Then::Tell(peer, probe(3)));
        assert_eq!(
            records.written(3, Duration::MAX, Time(0)),
            [1, 2].map(|id| Then::Answer(CommandId(id), Done::TaskTaken))
        );
        assert_eq!(records.awaited_by(|then| matches!(then, Then::Tell(..))), Some(4));
        assert_eq!(records.written(4, Duration::MAX, Time(0)), [Then::Tell(peer, probe(3))]);
    }
}

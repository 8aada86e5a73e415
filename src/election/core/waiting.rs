//! The commands of this member that wait for the leader to carry them out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command::{Done, Forwarded, Refusal};
use super::membership::MembershipChange;
use super::planted::Fault;
use super::types::{CommandId, Drain, Epoch, Incarnation, NodeId, Time};

/// How many commands may wait for the leader at the same time.
pub(super) const MOST_WAITING: usize = 64;

/// The commands that wait for the leader's outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Commands {
    last: u64,
    waiting: BTreeMap<u64, Forwarding>,
}

/// How many bits of a command's number count the commands of one incarnation; the bits above name the incarnation.
const COUNTED: u32 = 20;

impl Commands {
    /// The commands of this incarnation. Their numbers name it, so that the outcome of an earlier incarnation's
    /// command answers none of this one. (X3)
    pub fn new(run: Incarnation) -> Commands {
        let run = if Fault::OutcomeOfEarlier.is_planted() { Incarnation(0) } else { run };
        let last = (run.0 & (u64::MAX >> (COUNTED + 2))) << COUNTED;
        Commands { last, waiting: BTreeMap::new() }
    }

    /// Adds a command for that leader, of this epoch. Returns whether it may wait.
    pub(super) fn add(
        &mut self,
        id: CommandId,
        leader: NodeId,
        command: Forwarded,
        asked: Epoch,
        due: Time,
    ) -> bool {
        let stage = CommandStage::Unsent(leader);
        self.keep(Forwarding { id, due, command, stage, asked, handed_over: false })
    }

    /// Adds a command for the next leader. Returns whether it may wait.
    pub(super) fn postpone(&mut self, id: CommandId, command: Forwarded, due: Time) -> bool {
        let (stage, asked) = (CommandStage::Postponed, Epoch::default());
        self.keep(Forwarding { id, due, command, stage, asked, handed_over: false })
    }

    fn keep(&mut self, forwarding: Forwarding) -> bool {
        let room = self.waiting.len() < MOST_WAITING;
        if room {
            let counted = (1 << COUNTED) - 1;
            self.last = (self.last & !counted) | (self.last.wrapping_add(1) & counted);
            self.waiting.insert(self.last, forwarding);
        }
        room
    }

    /// When this member gives up on the next command.
    pub fn next_due(&self) -> Option<Time> {
        self.waiting.values().map(|command| command.due).min()
    }

    /// The commands that this member gives up on now, and why. A drain that no leader answered was not carried out.
    pub fn expired(&self, now: Time) -> Vec<(u64, Refusal)> {
        let late = self.waiting.iter().filter(|(_, command)| command.due <= now);
        let why = |command: &Forwarding| match command.command {
            Forwarded::Drain(_) => Refusal::Undecided,
            _ => Refusal::NoReply,
        };
        late.map(|(number, command)| (*number, why(command))).collect()
    }

    /// Gives up on a command. Returns the id that its caller gave it.
    pub fn give_up(&mut self, number: u64) -> Option<CommandId> {
        self.waiting.remove(&number).map(|forwarding| forwarding.id)
    }

    /// Whether a command was sent in this epoch.
    pub fn was_asked_in(&self, number: u64, epoch: Epoch) -> bool {
        self.waiting.get(&number).is_some_and(|forwarding| forwarding.asked == epoch)
    }

    /// The drain that the leader agreed to, for the caller that gave it this id.
    pub fn take_drain(&mut self, number: u64) -> Option<(CommandId, Drain)> {
        match self.waiting.remove(&number)? {
            Forwarding { id, command: Forwarded::Drain(drain), .. } => Some((id, drain)),
            _ => None,
        }
    }

    /// The commands that ask for the removal of this member.
    pub fn removals(&self, of: NodeId) -> Vec<u64> {
        self.numbers(|forwarding| {
            matches!(forwarding.command, Forwarded::Change(MembershipChange::Remove { id, .. }) if id == of)
        })
    }

    fn numbers(&self, which: impl Fn(&Forwarding) -> bool) -> Vec<u64> {
        let some = self.waiting.iter().filter(|(_, forwarding)| which(forwarding));
        some.map(|(number, _)| *number).collect()
    }

    /// The commands to send to this leader now. From then on only that leader can say how they end.
    pub fn send(&mut self, leader: NodeId, epoch: Epoch) -> Vec<(u64, Forwarded)> {
        let mut unsent = Vec::new();
        for (number, forwarding) in &mut self.waiting {
            if forwarding.stage == CommandStage::Unsent(leader) {
                (forwarding.stage, forwarding.asked) = (CommandStage::Sent(leader), epoch);
                unsent.push((*number, forwarding.command.clone()));
            }
        }
        unsent
    }

    /// Gives this leader of a later epoch the commands that an earlier leader left, and the drains that it did not answer:
    /// its answer would not count any more. Returns whether there are any.
    pub fn leave_to(&mut self, leader: NodeId, epoch: Epoch) -> bool {
        let mut any = false;
        for forwarding in self.waiting.values_mut() {
            let drains = matches!(forwarding.command, Forwarded::Drain(_));
            let left = drains || forwarding.stage == CommandStage::Postponed;
            if left && epoch > forwarding.asked {
                forwarding.stage = CommandStage::Unsent(leader);
                any = true;
            }
        }
        any
    }

    /// The followed leader leads: it carries out now what it refused before.
    pub fn retry(&mut self) {
        for forwarding in self.waiting.values_mut() {
            if forwarding.stage == CommandStage::Postponed {
                forwarding.asked = Epoch::default();
            }
        }
    }

    /// Whether this member was sent this command, and this is a possible result of it. (X3)
    pub fn may_end(&self, number: u64, by: NodeId, result: &Result<Done, Refusal>) -> bool {
        self.waiting.get(&number).is_some_and(|forwarding| {
            let fits = result.as_ref().map_or(true, |done| forwarding.command.may_end(done));
            forwarding.stage == CommandStage::Sent(by) && fits
                || Fault::OutcomeUnjudged.is_planted()
        })
    }

    /// A command has ended: returns the answer for its caller. A change of the members or a drain instead waits for the
    /// next leader, if this one has handed over or does not lead any more.
    pub fn end(&mut self, number: u64, result: Result<Done, Refusal>) -> Option<CommandAnswer> {
        if let Some(forwarding) = self.waiting.get_mut(&number)
            && matches!(forwarding.command, Forwarded::Change(_) | Forwarded::Drain(_))
            && matches!(result, Err(Refusal::HandedOver | Refusal::NotLeader))
        {
            forwarding.stage = CommandStage::Postponed;
            forwarding.handed_over |= result == Err(Refusal::HandedOver);
            return None;
        }
        let Forwarding { id, handed_over, .. } = self.waiting.remove(&number)?;
        let result = result.map(|done| match done {
            Done::Removed { id, stored, .. } => Done::Removed { id, stored, handed_over },
            done => done,
        });
        Some((id, result))
    }
}

/// The result of a command, for the caller that gave it this id.
pub type CommandAnswer = (CommandId, Result<Done, Refusal>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Forwarding {
    id: CommandId,
    /// When this member gives up on it.
    due: Time,
    command: Forwarded,
    stage: CommandStage,
    /// The epoch in which it was sent.
    asked: Epoch,
    /// Whether a leader has handed over, so that the next one can carry it out.
    handed_over: bool,
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum CommandStage {
    /// It goes to this leader as soon as the connection to it is up: a leader may be followed before that.
    Unsent(NodeId),
    /// This leader has it, and no other member can say how it ended.
    Sent(NodeId),
    /// It waits for the leader of a later epoch.
    Postponed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_change_that_a_leader_left_to_the_next_one_is_told_to_that() {
        let [first, second] = [1, 2].map(|number| NodeId(Uuid::from_u128(number)));
        let remove = Forwarded::Change(MembershipChange::Remove { id: first, force: false });
        let mut commands = Commands::new(Incarnation(1));
        assert!(commands.add(CommandId(7), first, remove, Epoch(1), Time(9)));
        let (number, _) = commands.send(first, Epoch(1))[0];
        assert!(commands.send(first, Epoch(1)).is_empty(), "once");

        assert!(!commands.may_end(number, second, &Err(Refusal::HandedOver)), "it was not asked");
        assert_eq!(commands.end(number, Err(Refusal::HandedOver)), None);
        assert!(!commands.leave_to(second, Epoch(1)) && commands.leave_to(second, Epoch(2)));
        assert_eq!(commands.send(second, Epoch(2)).len(), 1);
        let done = |handed_over| Done::Removed { id: first, stored: true, handed_over };
        assert!(commands.may_end(number, second, &Ok(done(false))));
        assert_eq!(commands.end(number, Ok(done(false))), Some((CommandId(7), Ok(done(true)))));
        assert_eq!(
            (commands.end(number, Err(Refusal::NoReply)), commands.next_due()),
            (None, None)
        );
    }

    #[test]
    fn no_more_than_so_many_wait_and_none_for_longer_than_it_may() {
        let leader = NodeId::default();
        let mut commands = Commands::new(Incarnation(1));
        let resign = || Forwarded::Resign { to: None };
        for id in 0..MOST_WAITING as u64 {
            assert!(commands.add(CommandId(id), leader, resign(), Epoch(1), Time(id + 5)));
        }
        assert!(!commands.add(CommandId(99), leader, resign(), Epoch(1), Time(5)));
        assert_eq!(commands.next_due(), Some(Time(5)));
        assert_eq!(commands.expired(Time(6)).len(), 2);
    }
}

//! Checks what voters say against what they said before and against their disks: no vote is broken,
//! forgotten or given twice, no promise ends early, and no candidate counts a vote that was not given.
//! The checker reads all of this from messages that were sent or arrived, and from records on disks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::setup::TIMING;
use crate::core::message::{Heartbeat, Message};
use crate::core::types::{Epoch, Incarnation, NodeId, Time};

/// An epoch and whose it is.
pub(super) type VotedFor = (Epoch, NodeId);

/// So many heartbeats of a leader may be acknowledged in another order than they were taken in.
const LATEST: u64 = 64;

/// So often a leader may be asked to hand over, and once more in each T2.
const PREEMPTS: u32 = 8;

/// What a voter last said that it promised.
#[derive(Clone, Copy, Debug)]
struct Bound {
    to: VotedFor,
    incarnation: Incarnation,
    /// By the voter's own clock.
    until: Time,
}

/// The messages of one voter, in all its incarnations.
#[derive(Clone, Debug, Default)]
struct VoterMessages {
    /// The greatest epoch that it ever voted in, and its candidate.
    voted: Option<VotedFor>,
    /// All votes that were ever on its disk.
    stored: BTreeSet<VotedFor>,
    /// The votes that it told a candidate.
    told: BTreeSet<VotedFor>,
    /// In the epochs up to this one it may vote before its disk has the vote, as its disk says now.
    covered: Epoch,
    /// The last vote before its present process that was on no disk: it may contradict the vote by an acknowledgement
    /// from then on, when nobody counts on it any more.
    forgot: Option<(VotedFor, Time)>,
    /// For how long its next process waits for what it promised, as its disk says now.
    remembered: Duration,
    /// The member to which it last said that it is bound.
    bound: Option<Bound>,
    /// The incarnations whose death was proved to its present process, and when.
    buried: BTreeMap<(NodeId, Incarnation), Time>,
    /// The greatest epoch that each member released, as far as it heard.
    released: BTreeMap<NodeId, Epoch>,
    /// The requests to its present process: the sender, the question, the epoch, the time, and the
    /// length of the promise. A late question of an earlier process may have the number of a later one.
    requests: BTreeMap<(NodeId, u64, Epoch), (Time, Duration)>,
    /// When it took each of the latest heartbeats of a leader in an epoch, and for how long that asked it to be bound.
    asked: BTreeMap<(NodeId, Epoch, u64), (Time, Duration)>,
    /// Which leader its present process asked to hand over, in which epoch, since when and how often.
    preempts: Option<(VotedFor, Time, u32)>,
    /// The votes that its present process has received: the voters and their epochs.
    heard: BTreeSet<(Epoch, usize)>,
}

/// All voters, by their places.
#[derive(Clone, Debug)]
pub(super) struct Votes {
    voters: Vec<VoterMessages>,
}

/// A message between two members, by their places and ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub from: (usize, NodeId),
    pub to: (usize, NodeId),
    pub message: &'a Message,
    /// When the process that sends or takes it turned, by its own clock.
    pub turned: Time,
}

impl Votes {
    pub fn new(nodes: usize) -> Votes {
        Votes { voters: vec![VoterMessages::default(); nodes] }
    }

    /// A new process has heard nothing, and may not know of its last vote.
    pub fn started(&mut self, at: usize, now: Time) {
        let voter = &mut self.voters[at];
        let lost = voter.voted.filter(|vote| !voter.stored.contains(vote));
        let over = voter.forgot.filter(|(of, until)| Some(*of) == lost && *until <= now);
        voter.forgot = over.or(lost.map(|vote| (vote, now + voter.remembered)));
        voter.requests.clear();
        voter.asked.clear();
        voter.preempts = None;
        voter.buried.clear();
        voter.heard.clear();
    }

    /// The present content of a voter's disk: its last vote, and up to which epoch it may vote before it writes.
    pub fn stored(&mut self, at: usize, voted: Option<VotedFor>, covered: Epoch) {
        self.voters[at].stored.extend(voted);
        self.voters[at].covered = covered;
    }

    /// For how long the next process of a voter would wait for the promises of this one.
    pub fn remembers(&mut self, at: usize, promised: Duration) {
        self.voters[at].remembered = promised;
    }

    /// Whether this voter gave its vote to a candidate, and the candidate has heard of it; or whether the vote is the
    /// candidate's own, and would not be forgotten, or all of its epoch is.
    pub fn gave(&self, at: usize, (epoch, candidate): VotedFor, candidate_at: usize) -> bool {
        let voter = &self.voters[at];
        if at == candidate_at {
            return voter.stored.contains(&(epoch, candidate)) || epoch <= voter.covered;
        }
        voter.told.contains(&(epoch, candidate))
            && self.voters[candidate_at].heard.contains(&(epoch, at))
    }

    /// Whether what this voter told binds it to a leader from now until then, by the voter's clock. A leader
    /// binds itself, for no longer than its disk remembers, unless it told another later that it votes for it in an epoch.
    pub fn is_bound(
        &self,
        at: usize,
        (epoch, leader): VotedFor,
        leads: usize,
        (now, until): (Time, Time),
    ) -> bool {
        let voter = &self.voters[at];
        if at == leads && until.since(now) > voter.remembered {
            return false;
        }
        if at == leads {
            return voter.voted.is_none_or(|(voted, to)| voted <= epoch || to == leader);
        }
        voter.bound.is_some_and(|bound| bound.to.1 == leader && bound.until >= until)
    }

    /// A process takes a message. A second copy of a request binds nobody for longer: it may come by a connection that
    /// the process does not listen to any more, and the sender counts from when it sent the request.
    pub fn hears(&mut self, Word { from: (from, by), to: (to, _), message, turned }: Word) {
        let voter = &mut self.voters[to];
        match *message {
            Message::VoteRequest { number, epoch, lease, .. } => {
                voter.requests.entry((by, number, epoch)).or_insert((turned, lease));
            }
            Message::Heartbeat(Heartbeat { epoch, number, lease, .. }) => {
                voter.asked.entry((by, epoch, number)).or_insert((turned, lease));
            }
            Message::Vote { epoch, .. } => {
                voter.heard.insert((epoch, from));
            }
            Message::Release { epoch, .. } => voter.frees(epoch, by),
            Message::Freed { leader, epoch } => voter.frees(epoch, leader),
            _ => {}
        }
    }

    /// A process tells another something. Tells what is wrong.
    pub fn tells(
        &mut self,
        Word { from: (at, _), to: (_, to), message, turned }: Word,
    ) -> Result<(), String> {
        match *message {
            Message::Vote { number, epoch, incarnation } => {
                self.votes(at, (epoch, to), (number, incarnation), turned)
            }
            Message::Acknowledge { epoch, number, incarnation, .. } => {
                self.acknowledges(at, (epoch, to), (number, incarnation), turned)
            }
            Message::Preempt { epoch, .. } => self.preempts(at, (epoch, to), turned),
            _ => Ok(()),
        }
    }

    /// A member asks a leader to hand over. One that does not is asked less and less often.
    fn preempts(&mut self, at: usize, leader: VotedFor, now: Time) -> Result<(), String> {
        let last = &mut self.voters[at].preempts;
        let (since, times) = match *last {
            Some((asked, since, times)) if asked == leader => (since, times + 1),
            _ => (now, 1),
        };
        *last = Some((leader, since, times));
        let most = u128::from(PREEMPTS) + now.since(since).as_nanos() / TIMING.t2().as_nanos();
        if u128::from(times) > most {
            Err(format!("asks the leader of epoch {} to hand over all the time", leader.0))
        } else {
            Ok(())
        }
    }

    /// A voter tells a candidate that it votes for it in an epoch: once, only what it was asked for, not
    /// what a crash would forget, and not while it is bound to another.
    fn votes(
        &mut self,
        at: usize,
        vote: VotedFor,
        (number, incarnation): (u64, Incarnation),
        now: Time,
    ) -> Result<(), String> {
        let (epoch, candidate) = vote;
        let voter = &mut self.voters[at];
        let before = voter.voted.replace(vote);
        let against = |(known, to): VotedFor| known > epoch || (known == epoch && to != candidate);
        if let Some((known, _)) = before.filter(|before| against(*before)) {
            return Err(format!("votes in epoch {epoch} after {known}"));
        }
        voter.told.insert(vote);
        if !voter.stored.contains(&vote) && epoch > voter.covered {
            return Err(format!("tells its vote of {epoch} too early"));
        }
        let Some((asked, length)) = voter.requests.get(&(candidate, number, epoch)) else {
            return Err(format!("votes in epoch {epoch}, for which nobody asked"));
        };
        if *length > voter.remembered {
            return Err(format!("promises epoch {epoch} for longer than its disk remembers"));
        }
        let until = *asked + *length;
        match voter.bound {
            Some(Bound { to: (bound, to), until: end, .. }) if to != candidate && now < end => {
                Err(format!("votes in epoch {epoch} while it is bound in epoch {bound}"))
            }
            _ => {
                voter.binds(vote, incarnation, until);
                Ok(())
            }
        }
    }

    /// A voter acknowledges the heartbeat of a leader, and is bound from when it took it; not that
    /// of one that its vote is against.
    fn acknowledges(
        &mut self,
        at: usize,
        leader: VotedFor,
        (number, incarnation): (u64, Incarnation),
        now: Time,
    ) -> Result<(), String> {
        let voter = &mut self.voters[at];
        let heartbeat = (leader.1, leader.0, number);
        let oldest = (leader.1, leader.0, number.saturating_sub(LATEST)); // one may wait for the disk longer than the next
        voter.asked.retain(|asked, _| asked.0 != leader.1 || *asked >= oldest);
        let Some((taken, length)) = voter.asked.get(&heartbeat).copied() else {
            return Err(format!("acknowledges epoch {}, of which it heard nothing", leader.0));
        };
        if length > voter.remembered {
            let epoch = leader.0;
            return Err(format!("acknowledges epoch {epoch} for longer than its disk remembers"));
        }
        if voter.buried.get(&(leader.1, incarnation)).is_some_and(|known| *known < taken) {
            return Err(format!("takes a heartbeat of a dead leader of epoch {}", leader.0));
        }
        voter.binds(leader, incarnation, taken + length);
        let over = |vote| voter.forgot.is_some_and(|(of, until)| of == vote && until <= now);
        let later = voter.voted.filter(|vote| vote.0 > leader.0 && !over(*vote));
        later.map_or(Ok(()), |(voted, _)| {
            Err(format!("acknowledges epoch {} after it voted in {voted}", leader.0))
        })
    }

    /// A voter leads itself. A majority was free of older leaders when it elected this one, so the promise
    /// of the voter to itself holds nothing up.
    pub fn leads(&mut self, at: usize, epoch: Epoch) {
        self.voters[at].bound.take_if(|bound| bound.to.0 < epoch);
    }

    /// The death of this life of a member is proved to a voter: its promise to that is over.
    pub fn buries(&mut self, at: usize, life: (NodeId, Incarnation), now: Time) {
        let voter = &mut self.voters[at];
        voter.buried.entry(life).or_insert(now);
        voter.bound.take_if(|bound| (bound.to.1, bound.incarnation) == life);
    }

    /// Whether the death of this life of a member is proved to a voter.
    pub fn has_buried(&self, at: usize, life: (NodeId, Incarnation)) -> bool {
        self.voters[at].buried.contains_key(&life)
    }
}

impl VoterMessages {
    fn binds(&mut self, to: VotedFor, incarnation: Incarnation, until: Time) {
        let released = self.released.get(&to.1) >= Some(&to.0);
        if released || self.buried.contains_key(&(to.1, incarnation)) {
            return; // it was freed before it could tell
        }
        let same = self.bound.filter(|bound| bound.to.1 == to.1);
        let until = same.map_or(until, |bound| bound.until.max(until));
        self.bound = Some(Bound { to, incarnation, until });
    }

    /// It hears that a leader, or a candidate that led before, released its epoch.
    fn frees(&mut self, epoch: Epoch, by: NodeId) {
        let released = self.released.entry(by).or_default();
        *released = epoch.max(*released);
        self.bound.take_if(|bound| bound.to.1 == by && bound.to.0 <= epoch);
    }
}

#[cfg(test)]
mod tests;

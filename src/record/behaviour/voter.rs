//! What a voter says: its votes, its promises to leaders, and which lists it has stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::disk::VoterDisk;
use super::life::LifeStart;
use super::promises::{Promises, ToldPromise};
use super::{Breach, SpecAction};
use crate::core::durable::Vote;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::{Heartbeat, Hello};
use crate::core::settings::LONGEST_PROMISE;
use crate::core::types::{Epoch, Incarnation, NodeId, Time};

/// A request for a vote, as the voter took it.
#[derive(Clone, Copy, Debug)]
struct TakenRequest {
    taken: Time,
    lease: Duration,
    /// The version of the candidate's list, and that of the voter's.
    list: ListVersion,
    own: ListVersion,
}

/// A member in one of its lives.
type MemberLife = (NodeId, Incarnation);

/// One life of a voter.
#[derive(Debug)]
pub struct VoterJudge<'a> {
    start: &'a LifeStart,
    pub disk: VoterDisk,
    pub promises: Promises,
    /// It votes for nobody before then.
    waits_until: Time,
    /// Up to this epoch it may have voted and not know it.
    floor: Epoch,
    /// Up to this epoch it may have promised what it does not know, as long as it waits.
    unsure: Epoch,
    /// Whether it may know the state of the cluster, and the members that it met.
    informed: bool,
    met: BTreeSet<NodeId>,
    /// The greatest epoch in which it voted, and for whom; and the greatest in which it promised.
    voted: Option<Vote>,
    promised_in: Epoch,
    /// Whose heartbeats it took in an epoch.
    leaders: BTreeMap<Epoch, NodeId>,
    requests: BTreeMap<(MemberLife, u64, Epoch), TakenRequest>,
    heartbeats: BTreeMap<(MemberLife, u64, Epoch), (Time, Duration)>,
    /// The lists of leaders that it may count for.
    lists: BTreeSet<(NodeId, ListVersion)>,
    /// Its present list.
    pub list: ListVersion,
    /// The longest promise that it made.
    pub made: Duration,
    /// For how long it promises at present.
    lease: Duration,
}

impl<'a> VoterJudge<'a> {
    pub fn new(start: &'a LifeStart) -> VoterJudge<'a> {
        let started = start.started;
        let found = started.found.unwrap_or_default();
        let begins = start.bootstrap || start.list.voters().count() == 1;
        let wait = match started.found {
            Some(found) => found.promised,
            None if begins => Duration::ZERO,
            None => start.lease, // an empty store may be a lost one
        };
        let waits_until = started.at + wait;
        let forgot = if found.behind { found.forgot.max(started.floor) } else { found.forgot };
        let crashed = if found.behind { forgot } else { Epoch(0) };
        let known = started.leader.map(|leader| (started.epoch, leader));
        VoterJudge {
            start,
            disk: VoterDisk::new(start, forgot, waits_until),
            promises: Promises::default(),
            waits_until,
            floor: found.floor.max(forgot),
            unsure: if found.informed { crashed } else { Epoch(u64::MAX) },
            informed: found.informed || begins || !start.is_whole,
            met: BTreeSet::new(),
            voted: found.voted,
            promised_in: started.epoch,
            leaders: known.into_iter().collect(),
            requests: BTreeMap::new(),
            heartbeats: BTreeMap::new(),
            lists: BTreeSet::new(),
            list: start.list.version(),
            made: Duration::ZERO,
            lease: start.lease,
        }
    }

    pub fn retime(&mut self, lease: Duration) {
        self.lease = lease;
    }

    /// A member said hello. Once it has met all others of its list, the voter knows the state of the cluster. (Q5)
    pub fn meet(&mut self, hello: &Hello, list: &MemberList) {
        self.promises.meet((hello.id, hello.incarnation), hello.death);
        self.met.insert(hello.id);
        let own = self.start.id;
        self.informed |= list.voters().all(|id| id == own || self.met.contains(&id));
    }

    /// A candidate asks. A copy that comes again asks for nothing more.
    pub fn takes_request(
        &mut self,
        by: MemberLife,
        (number, epoch): (u64, Epoch),
        now: Time,
        lease: Duration,
        list: ListVersion,
    ) {
        let request = TakenRequest { taken: now, lease, list, own: self.list };
        self.requests.entry((by, number, epoch)).or_insert(request);
    }

    /// A leader sends its heartbeat. Whatever it answers, the voter may know from it the state of the cluster.
    pub fn takes(&mut self, by: MemberLife, heartbeat: &Heartbeat, now: Time) {
        let Heartbeat { number, epoch, lease, .. } = *heartbeat;
        self.heartbeats.entry((by, number, epoch)).or_insert((now, lease));
        self.informed |= !self.is_unsure_of(epoch, now);
    }

    /// A leader sends its list. `Heeds` says whether the voter may count for it.
    pub fn takes_list(&mut self, by: NodeId, epoch: Epoch, list: ListVersion, now: Time) {
        if epoch >= self.newest() && !self.is_unsure_of(epoch, now) {
            self.lists.insert((by, list));
        }
    }

    fn is_unsure_of(&self, epoch: Epoch, now: Time) -> bool {
        now < self.waits_until && epoch <= self.unsure && self.unsure > Epoch(0)
    }

    /// The greatest epoch in which it voted or promised.
    pub fn newest(&self) -> Epoch {
        self.voted.map_or(self.promised_in, |vote| vote.epoch.max(self.promised_in))
    }

    /// Whether it may vote so: `MayVote` in Votes.tla, `IsFree` in Promises.tla.
    pub fn judge_vote(&self, vote: Vote, now: Time) -> Result<(), String> {
        let Vote { epoch, candidate } = vote;
        if now < self.waits_until {
            return Err(format!("it votes in epoch {epoch} before its wait is over (Q4)"));
        }
        if !self.informed {
            return Err(format!(
                "it votes in epoch {epoch}, and knows nothing of the cluster (Q5)"
            ));
        }
        if epoch <= self.floor {
            return Err(format!("it may have voted in epoch {epoch} before its start (Q5, Q13)"));
        }
        let other = self.voted.filter(|voted| voted.epoch == epoch && *voted != vote);
        if epoch < self.newest() || other.is_some() {
            return Err(format!("it votes in epoch {epoch} after epoch {} (Q1)", self.newest()));
        }
        if self.leaders.get(&epoch).is_some_and(|leader| *leader != candidate) {
            return Err(format!("it votes in epoch {epoch} against the leader of that (Q1)"));
        }
        if let Some(ToldPromise { epoch: bound, .. }) = self.promises.against(candidate, now) {
            return Err(format!(
                "it votes in epoch {epoch} while it is bound in epoch {bound} (L1)"
            ));
        }
        Ok(())
    }

    /// It sends its vote.
    pub fn votes(
        &mut self,
        to: MemberLife,
        (number, epoch): (u64, Epoch),
        now: Time,
    ) -> Result<(), Breach> {
        let no = |why: String| Breach::of(SpecAction::GiveVote, why);
        let vote = Vote { epoch, candidate: to.0 };
        if let Err(why) = self.judge_vote(vote, now) {
            return no(why);
        }
        let asked = self.requests.get(&(to, number, epoch)).copied();
        let Some(TakenRequest { taken, lease, list, own }) = asked else {
            self.voted = Some(vote);
            return if self.start.is_whole {
                no(format!("nobody asked for the vote of epoch {epoch} (E3)"))
            } else {
                Ok(())
            };
        };
        if list < own || epoch <= own.epoch {
            return no(format!("the vote of epoch {epoch} is for a list of before (Q6)"));
        }
        if lease > self.lease.saturating_mul(LONGEST_PROMISE) {
            return no(format!("the vote of epoch {epoch} is too long a promise (L2)"));
        }
        if !self.disk.covers(vote, lease) {
            return no(format!("a crash would forget the vote of epoch {epoch} (Q2)"));
        }
        self.voted = Some(vote);
        self.binds(to, epoch, taken, lease);
        Ok(())
    }

    /// It acknowledges a heartbeat.
    pub fn acknowledges(
        &mut self,
        to: MemberLife,
        (number, epoch): (u64, Epoch),
        now: Time,
    ) -> Result<(), Breach> {
        let no = |why: String| Breach::of(SpecAction::Acknowledge, why);
        if epoch < self.newest() {
            return no(format!("it promises in epoch {epoch} after epoch {} (L5)", self.newest()));
        }
        if *self.leaders.entry(epoch).or_insert(to.0) != to.0 {
            return no(format!("it takes a second leader of epoch {epoch} (Q8)"));
        }
        if self.is_unsure_of(epoch, now) {
            return no(format!("it may have contradicted this before its start, in {epoch} (Q13)"));
        }
        let Some((taken, lease)) = self.heartbeats.get(&(to, number, epoch)).copied() else {
            let known = !self.start.is_whole;
            return if known { Ok(()) } else { no("no such heartbeat came (E3)".to_owned()) };
        };
        if lease > self.lease.saturating_mul(LONGEST_PROMISE) {
            return no(format!("in epoch {epoch} it promises for too long (L2)"));
        }
        if !self.disk.remembers(lease) {
            return no(format!("a crash would forget how long the promise of {epoch} is (L2)"));
        }
        if self.promises.knew_dead(to, taken) {
            return no(format!("the leader of epoch {epoch} was proved to be dead (Z3)"));
        }
        if !self.informed {
            self.informed = true;
            self.floor = self.floor.max(epoch);
        }
        self.promised_in = epoch;
        self.binds(to, epoch, taken, lease);
        self.heartbeats.retain(|(by, _, of), (at, _)| {
            (by, *of) != (&to, epoch) || now.since(*at) < OLDEST // a few may wait for the disk
        });
        Ok(())
    }

    fn binds(&mut self, (to, incarnation): MemberLife, epoch: Epoch, taken: Time, lease: Duration) {
        self.made = self.made.max(lease);
        let promise = ToldPromise { to, incarnation, epoch, until: taken + lease };
        self.promises.make(promise, taken);
    }

    /// As a leader it renews its promise to itself. Returns whether it may: it may have voted in a later epoch.
    pub fn binds_itself(&mut self, epoch: Epoch, now: Time, lease: Duration) -> bool {
        let may = epoch >= self.newest();
        if may {
            self.promised_in = epoch;
            let (to, incarnation) = (self.start.id, self.start.incarnation);
            self.promises.make(ToldPromise { to, incarnation, epoch, until: now + lease }, now);
        }
        may
    }

    /// It has something written. Its vote for itself shows in the record alone.
    pub fn wrote(&mut self, vote: Option<Vote>) {
        self.voted = self.voted.max(vote);
    }

    /// It says that it has stored a list.
    pub fn judge_stored(&self, to: NodeId, list: ListVersion) -> Result<(), Breach> {
        if !self.disk.has_list(list) {
            return Breach::of(
                SpecAction::Take,
                "it says that a list is durable, and it is not (M2)",
            );
        }
        if self.start.is_whole && !self.lists.contains(&(to, list)) {
            return Breach::of(
                SpecAction::Take,
                "it counts for the list of an outdated leader (Q13)",
            );
        }
        Ok(())
    }
}

/// A heartbeat of before is acknowledged no more.
const OLDEST: Duration = Duration::from_secs(600);

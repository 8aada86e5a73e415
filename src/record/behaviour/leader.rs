//! What a candidate and leader does: it begins to lead with the votes of a majority, leads as long as the promises of one
//! last, and stops before it says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::life::LifeStart;
use super::term::{LedTerm, relied_on, until};
use super::voter::VoterJudge;
use super::{Breach, SpecAction};
use crate::core::durable::Vote;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::types::{Epoch, NodeId, Time};

/// A request for votes, as the candidate sent it.
#[derive(Clone, Debug)]
struct AskedVotes {
    epoch: Epoch,
    sent: Time,
    lease: Duration,
    /// Why it may not vote for itself then.
    own: Result<(), String>,
}

/// One life of a member that may lead.
#[derive(Debug)]
pub struct LeaderJudge<'a> {
    start: &'a LifeStart,
    asked: BTreeMap<u64, AskedVotes>,
    /// The votes that came, by their epochs: until when each binds the voter.
    votes: BTreeMap<Epoch, BTreeMap<NodeId, Time>>,
    pub term: Option<LedTerm>,
    /// All epochs that it led in.
    pub led: Vec<Epoch>,
    /// All that it said it does not lead in any more.
    released: BTreeSet<Epoch>,
    /// Its own heartbeats that wait for its disk.
    own_waits: BTreeMap<u64, Duration>,
    /// Which lists the others have stored.
    stored: BTreeMap<NodeId, ListVersion>,
    pub job_runs: bool,
    pub list: Arc<MemberList>,
}

impl<'a> LeaderJudge<'a> {
    pub fn new(start: &'a LifeStart) -> LeaderJudge<'a> {
        LeaderJudge {
            start,
            asked: BTreeMap::new(),
            votes: BTreeMap::new(),
            term: start.leads.map(|epoch| LedTerm::new(epoch, None)),
            led: start.leads.into_iter().collect(),
            released: BTreeSet::new(),
            own_waits: BTreeMap::new(),
            stored: BTreeMap::new(),
            job_runs: false,
            list: start.list.clone(),
        }
    }

    /// Whether it leads in this epoch.
    pub fn leads_in(&self, epoch: Epoch) -> bool {
        self.term.as_ref().is_some_and(|term| term.epoch == epoch)
    }

    /// It asks the others for their votes, and itself. (Q3)
    pub fn asks(
        &mut self,
        voter: &VoterJudge<'_>,
        (number, epoch): (u64, Epoch),
        sent: Time,
        lease: Duration,
    ) {
        let own = voter.judge_vote(Vote { epoch, candidate: self.start.id }, sent);
        self.asked.entry(number).or_insert(AskedVotes { epoch, sent, lease, own });
    }

    /// A vote comes: it counts for the request that it answers, from when that was sent. (E3, L4)
    pub fn gets_vote(&mut self, by: NodeId, number: u64, epoch: Epoch) -> bool {
        let Some(asked) = self.asked.get(&number).filter(|asked| asked.epoch == epoch) else {
            return false;
        };
        let until = asked.sent + relied_on(asked.lease);
        let bound = self.votes.entry(epoch).or_default().entry(by).or_default();
        *bound = (*bound).max(until);
        true
    }

    /// It begins to lead. Its list may have changed in this turn.
    pub fn becomes(
        &mut self,
        voter: &VoterJudge<'_>,
        epoch: Epoch,
        now: Time,
        lists: &[&Arc<MemberList>],
    ) -> Result<(), Breach> {
        let no = |why: String| Breach::of(SpecAction::Become, why);
        if self.released.contains(&epoch) {
            return no(format!("it leads in epoch {epoch}, which it released (H13)"));
        }
        let mut votes = self.votes.get(&epoch).cloned().unwrap_or_default();
        let own = self.own_vote(voter, epoch, now);
        if let Ok(until) = own {
            votes.insert(self.start.id, until);
        }
        let elects = |list: &Arc<MemberList>| now < until(&votes, list);
        let alone = |list: &Arc<MemberList>| list.majority() == 1 && own.is_ok();
        let unknown =
            !self.start.is_whole && !self.asked.values().any(|asked| asked.epoch == epoch);
        let elected = lists.iter().any(|list| elects(list) || alone(list));
        if !elected && !unknown {
            let why = own.err().map_or(String::new(), |why| format!("; of itself: {why}"));
            return no(format!("it leads in epoch {epoch} without the votes of a majority{why}"));
        }
        let lone = lists.iter().any(|list| list.majority() == 1);
        let bound = Some(votes).filter(|_| !unknown && !lone);
        self.term = Some(LedTerm::new(epoch, bound));
        self.led.push(epoch);
        self.own_waits.clear();
        self.asked.retain(|_, asked| asked.epoch >= epoch);
        self.votes.retain(|of, _| *of >= epoch);
        Ok(())
    }

    /// Until when its vote for itself binds it: by the last request for which it could vote, once a crash would not forget
    /// that. (Q3)
    fn own_vote(&self, voter: &VoterJudge<'_>, epoch: Epoch, now: Time) -> Result<Time, String> {
        let vote = Vote { epoch, candidate: self.start.id };
        let mut last = voter.judge_vote(vote, now).map(|()| now + self.start.lease);
        for asked in self.asked.values().rev().filter(|asked| asked.epoch == epoch) {
            let until = asked.sent + relied_on(asked.lease);
            last = match &asked.own {
                Ok(()) if voter.disk.covers(vote, asked.lease) => return Ok(until),
                Ok(()) => Err("a crash would forget that vote (Q2)".to_owned()),
                Err(why) => Err(why.clone()),
            };
        }
        last
    }

    /// It says that it leads. With a heartbeat it renews its promise to itself, once that is durable.
    pub fn beats(
        &mut self,
        voter: &mut VoterJudge<'_>,
        (number, epoch): (u64, Epoch),
        now: Time,
        lease: Duration,
    ) -> Result<(), Breach> {
        let Some(term) = self.term.as_mut().filter(|term| term.epoch == epoch) else {
            return Breach::of(SpecAction::Beat, format!("it says that it leads in epoch {epoch}"));
        };
        if term.beats(number, now, lease) && voter.binds_itself(epoch, now, lease) {
            self.own_waits.insert(number, lease);
        }
        self.counts_itself(voter);
        Ok(())
    }

    /// Its own promises count as far as its disk remembers them. (L2)
    pub fn counts_itself(&mut self, voter: &VoterJudge<'_>) {
        let Some(term) = &mut self.term else { return };
        let id = self.start.id;
        self.own_waits.retain(|number, lease| {
            let remembered = voter.disk.remembers(*lease);
            if remembered {
                term.counts(id, *number);
            }
            !remembered
        });
    }

    /// A voter acknowledges a heartbeat. Returns whether that counts.
    pub fn gets_acknowledged(&mut self, by: NodeId, number: u64, epoch: Epoch) -> bool {
        let term = self.term.as_mut().filter(|term| term.epoch == epoch);
        term.map(|term| term.counts(by, number)).is_some()
    }

    /// Whether its lease is over: then it must not lead after this turn. A lone voter says nothing by which to know that.
    pub fn is_over(&self, now: Time) -> bool {
        let others_count = self.list.majority() > 1;
        others_count && self.term.as_ref().is_some_and(|term| now >= term.until(&self.list))
    }

    /// It says that it leads no more.
    pub fn releases(&mut self, epoch: Epoch) -> Result<(), Breach> {
        if self.leads_in(epoch) {
            return Breach::of(SpecAction::Release, format!("it leads on in epoch {epoch} (H8)"));
        }
        if self.job_runs && self.led.contains(&epoch) {
            return Breach::of(
                SpecAction::Release,
                format!("its job of epoch {epoch} runs (H11, H12)"),
            );
        }
        self.released.insert(epoch);
        Ok(())
    }

    /// Its list changes.
    pub fn changes_list(&mut self, list: &Arc<MemberList>) {
        let before = std::mem::replace(&mut self.list, list.clone());
        self.term.iter_mut().for_each(|term| term.changes_list(&before, list));
    }

    /// A member has stored a list.
    pub fn hears_stored(&mut self, by: NodeId, version: ListVersion) {
        let stored = self.stored.entry(by).or_default();
        *stored = (*stored).max(version);
    }

    /// It says that a change of the list is done. (M2)
    pub fn judge_done(&self, voter: &VoterJudge<'_>) -> Result<(), Breach> {
        let version = self.list.version();
        let has = |id: &NodeId| match *id == self.start.id {
            true => voter.disk.has_list(version),
            false => self.stored.get(id) >= Some(&version),
        };
        let stored = self.list.voters().filter(has).count();
        if self.start.is_whole && self.term.is_some() && stored < self.list.majority() {
            return Breach::of(SpecAction::Done, "no majority has stored the list (M2)");
        }
        Ok(())
    }
}

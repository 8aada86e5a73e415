//! Leading with a majority: what a nominee asks the voters, what a voter answers, and the lease.
//!
//! The algorithm nominates; with a majority it goes on only when the voters agree. Their answers
//! are weighed once at the end of every turn.

use std::time::Duration;

use super::context::Context;
use super::membership::{ListVersion, Member};
use super::message::{Message, Opinion};
use super::phase::{Phase, Reason};
use super::settings::{Preempt, Quorum};
use super::state::{Held, State};
use super::tenure::{Denied, Lease, Nominee, Objection, Purpose, Stage};
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Time};

impl State {
    /// Whether a leader needs a majority.
    pub(super) fn needs_majority(&self) -> bool {
        self.settings.quorum == Quorum::Majority
    }

    pub(super) fn voters(&self) -> usize {
        self.members.voters()
    }

    /// How many voters are more than half of them.
    pub(super) fn majority(&self) -> usize {
        self.members.majority()
    }

    pub(super) fn is_voter(&self, id: NodeId) -> bool {
        self.members.get(id).is_some_and(Member::votes)
    }

    /// Whether a higher member takes over without following first. With a majority it follows, and
    /// asks the voters whether they would grant its claim.
    pub(super) fn preempts_at_once(&self) -> bool {
        self.settings.preempt == Preempt::Always && !self.needs_majority()
    }

    /// Whether this member promised its vote to the leader that it follows.
    pub(super) fn is_promised(&self, now: Time) -> bool {
        let bound = self.voter.bound_to(now);
        self.needs_majority() && bound.is_some_and(|leader| self.follows(leader))
    }

    /// Until when a leader may lead, if a majority must agree.
    pub(super) fn lease_until(&self) -> Option<Time> {
        if !self.needs_majority() || !self.leads() {
            return None;
        }
        // Without a lease it would be over at once: better no leader than a second one.
        let lease = self.lease.as_ref();
        Some(
            lease.map(|l| l.until(self.majority(), self.settings.timing.lease)).unwrap_or_default(),
        )
    }

    /// The nominee of this round, if enough voters agreed with what it asked last.
    fn agreed(&self, round: Epoch) -> Option<&Nominee> {
        let nominee = self.nominee.as_ref()?;
        let fits = nominee.epoch == round && nominee.purpose == Purpose::Win && nominee.done;
        Some(nominee).filter(|_| fits)
    }
}

impl Context<'_> {
    /// Whether this member may call all others to this round: with a majority only once enough
    /// voters would grant its claim. Nobody is disturbed in vain.
    pub fn may_call(&self, round: Epoch) -> bool {
        !self.state.needs_majority() || self.may_stand_for(round)
    }

    /// Whether this member may go on to win this round: its epoch is durable and, with a
    /// majority, a claim would be granted.
    pub fn may_stand_for(&self, round: Epoch) -> bool {
        let agreed = !self.state.needs_majority() || self.state.agreed(round).is_some();
        self.state.reserve.covers(round) && agreed
    }

    /// Whether this member may lead in the epoch of this round: it is durable and, with a
    /// majority, granted.
    pub fn may_lead(&self, round: Epoch) -> bool {
        self.may_stand_for(round) && (!self.state.needs_majority() || self.granted(round).is_some())
    }

    /// The lease of a nominee whose claim was granted and which has not run out.
    fn granted(&self, round: Epoch) -> Option<Lease> {
        let claim = self.state.agreed(round).filter(|nominee| nominee.stage == Stage::Claim)?;
        let lease = Lease::new(claim.sent, claim.agreed());
        let until = lease.until(self.state.majority(), self.state.settings.timing.lease);
        (self.now < until).then_some(lease)
    }

    /// The lease of a leader that begins to lead.
    pub fn take_lease(&mut self, epoch: Epoch) {
        if !self.state.needs_majority() {
            return;
        }
        let granted = |nominee: &mut Nominee| {
            nominee.epoch == epoch && nominee.stage == Stage::Claim && nominee.done
        };
        let nominee = self.state.nominee.take_if(granted);
        self.state.timers.cancel(Timer::Voters);
        debug_assert!(nominee.is_some(), "leads in an epoch that was not granted");
        if let Some(nominee) = nominee {
            let (own, length) = (self.state.id(), self.state.settings.timing.lease);
            self.state.voter.promise(self.now, own, epoch, length);
            self.state.lease = Some(Lease::new(nominee.sent, nominee.agreed()));
            self.arm_lease();
        }
    }

    fn arm_lease(&mut self) {
        if let Some(until) = self.state.lease_until() {
            self.state.timers.arm(Timer::Lease, until);
        }
    }

    /// Asks the voters what a nominee has to ask next: whether it may claim the epoch, then for it.
    pub fn ask_next_question(&mut self, round: Epoch) {
        if self.state.needs_majority() {
            let open = |nominee: &Nominee| {
                nominee.epoch == round && nominee.purpose == Purpose::Win && !nominee.done
            };
            if self.state.nominee.as_ref().is_some_and(open) {
                return; // it is being asked
            }
            let tried = self.state.agreed(round).is_some();
            let stage = if tried { Stage::Claim } else { Stage::Trial };
            self.ask_voters(Purpose::Win, stage, round);
        }
    }

    pub(super) fn ask_voters(&mut self, purpose: Purpose, stage: Stage, epoch: Epoch) {
        if self.state.nominee.as_ref().is_some_and(|nominee| nominee.epoch != epoch) {
            self.drop_nominee();
        }
        self.state.questions += 1;
        let number = self.state.questions;
        self.state.nominee = Some(Nominee::new(purpose, stage, epoch, number, self.now));
        let lease = self.state.settings.timing.lease;
        self.ask_self(stage, epoch, lease);
        let list = self.state.members.version();
        let mut voters = self.all_others();
        voters.retain(|id| self.state.is_voter(*id));
        self.send_all(
            voters,
            match stage {
                Stage::Trial => Message::Trial { number, epoch, list },
                Stage::Claim => Message::Claim { number, epoch, lease, list },
            },
        );
        // A grant waits for a disk; later than this it would come too late.
        let patience = match stage {
            Stage::Trial => self.state.settings.timing.t1(),
            Stage::Claim => Lease::certain(lease),
        };
        self.arm(Timer::Voters, patience);
    }

    /// A nominee's own vote obeys the same rules as those of others.
    fn ask_self(&mut self, stage: Stage, epoch: Epoch, lease: Duration) {
        let (own, now) = (self.state.id(), self.now);
        if !self.state.is_voter(own) {
            return;
        }
        let list = self.state.members.version();
        let objection = self.objection(own, epoch, list);
        let Some(nominee) = &mut self.state.nominee else { return };
        let number = nominee.number;
        match (objection, stage) {
            (None, Stage::Trial) => nominee.agree(own),
            (None, Stage::Claim) => self.grant(own, self.state.incarnation, number, epoch, lease),
            (Some(objection), _) => {
                let patience = self.state.settings.timing.failure;
                let target = nominee.purpose;
                weigh_in(nominee, target, own, objection.opinion(now, patience), now);
            }
        }
    }

    fn objection(&self, nominee: NodeId, epoch: Epoch, list: ListVersion) -> Option<Objection> {
        let state = &*self.state;
        let stale = (list < state.members.version()).then_some(Objection::StaleList);
        stale.or_else(|| state.voter.objection(self.now, nominee, epoch, state.view))
    }

    /// Grants a claim; said as soon as it is durable.
    fn grant(
        &mut self,
        nominee: NodeId,
        incarnation: Incarnation,
        number: u64,
        epoch: Epoch,
        lease: Duration,
    ) {
        self.state.voter.grant(self.now, nominee, epoch, lease);
        let record = self.persist();
        self.state.unsaid.push((record, nominee, Message::Grant { incarnation, number, epoch }));
    }

    /// Asks for nothing any more. Voters that granted something are freed of their promise; not
    /// those of a leader that only wanted a greater epoch: they still hold by its lease.
    pub fn drop_nominee(&mut self) {
        let Some(nominee) = self.state.nominee.take() else { return };
        self.state.timers.cancel(Timer::Voters);
        if self.state.denied.is_some() {
            self.arm(Timer::Voters, self.state.settings.timing.t2()); // they are asked again
        }
        if nominee.stage == Stage::Claim && nominee.purpose == Purpose::Win {
            let (own, stands) = (self.state.id(), self.state.stands());
            self.state.voter.release(own, nominee.epoch);
            let others = self.all_others();
            let (epoch, successor) = (nominee.epoch, None);
            self.send_all(others, Message::Release { epoch, successor, stands });
        }
    }

    /// The greatest epoch that this member knows of or has granted.
    fn greatest_epoch(&self) -> Epoch {
        self.state.view.epoch.max(self.state.voter.newest())
    }

    /// Notes that a heartbeat round was sent: this member itself holds by it.
    pub fn hold_by_own_heartbeat(&mut self, number: u64) {
        let (own, now, epoch) = (self.state.id(), self.now, self.state.view.epoch);
        let length = self.state.settings.timing.lease;
        if let Some(lease) = &mut self.state.lease {
            lease.sent(number, now);
            // Its own vote may be granted to another, if it had none when it came to lead.
            if self.state.voter.promise(now, own, epoch, length) {
                lease.acknowledge(own, number);
            }
        }
    }

    /// A voter takes a leader's heartbeat: promises its vote, or refuses one that a later grant
    /// stands against. Tells whether it may be acknowledged.
    pub fn promise(&mut self, leader: NodeId, epoch: Epoch, number: u64, lease: Duration) -> bool {
        if !self.state.needs_majority() {
            return true; // with one, who is no voter promises as well: it may know an older list
        }
        self.state.voter.inform(self.state.round);
        if !self.state.voter.promise(self.now, leader, epoch, lease) {
            let (epoch, opinion) = (self.greatest_epoch(), Opinion::No { wait: Duration::ZERO });
            self.send(leader, Message::Refuse { number, opinion, epoch });
            return false;
        }
        let durable = self.state.voter.remembers(lease);
        if !durable {
            self.persist();
        }
        durable
    }
}

/// Counts what a voter says.
fn weigh_in(nominee: &mut Nominee, purpose: Purpose, voter: NodeId, says: Opinion, now: Time) {
    let wanted = match purpose {
        Purpose::Preempt(view) => Some(view.epoch),
        _ => None,
    };
    match says {
        Opinion::Yes => nominee.agree(voter),
        Opinion::YesIf { released, wait } if Some(released) == wanted => {
            nominee.agree_if_released(voter, now + wait);
        }
        Opinion::YesIf { wait, .. } | Opinion::No { wait } => nominee.disagree(voter, now + wait),
    }
}

impl Turn<'_> {
    /// A nominee asks what this voter would say to a claim.
    pub fn trial(&mut self, from: NodeId, number: u64, epoch: Epoch, list: ListVersion) {
        self.cx.tell_newer_list(from, list);
        let patience = self.cx.state.settings.timing.failure;
        let objection = self.cx.objection(from, epoch, list);
        let opinion = objection.map_or(Opinion::Yes, |o| o.opinion(self.cx.now, patience));
        let epoch = self.cx.greatest_epoch();
        self.cx.send(from, Message::Opinion { number, opinion, epoch });
    }

    /// A nominee asks for this voter's grant.
    pub fn claim(
        &mut self,
        (from, incarnation): (NodeId, Incarnation),
        number: u64,
        epoch: Epoch,
        lease: Duration,
        list: ListVersion,
    ) {
        self.cx.note_round(epoch);
        self.cx.tell_newer_list(from, list);
        match self.cx.objection(from, epoch, list) {
            None => self.cx.grant(from, incarnation, number, epoch, lease),
            Some(objection) => {
                let patience = self.cx.state.settings.timing.failure;
                let opinion = objection.opinion(self.cx.now, patience);
                let epoch = self.cx.greatest_epoch();
                self.cx.send(from, Message::Refuse { number, opinion, epoch });
            }
        }
    }

    /// A voter's answer to a trial or, if it refuses, to a claim.
    pub fn opinion(
        &mut self,
        from: NodeId,
        stage: Stage,
        number: u64,
        opinion: Opinion,
        epoch: Epoch,
    ) {
        self.cx.note_round(epoch);
        let now = self.cx.now;
        let counts = self.cx.state.is_voter(from);
        // The word that its leader released the epoch is on its way to this voter, too.
        let opinion = match opinion {
            Opinion::YesIf { released, .. } if released == self.cx.state.freed => {
                Opinion::YesIf { released, wait: Duration::ZERO }
            }
            other => other,
        };
        if let Some(nominee) = &mut self.cx.state.nominee
            && (nominee.number, nominee.stage) == (number, stage)
            && counts
        {
            weigh_in(nominee, nominee.purpose, from, opinion, now);
        }
        let leads = self.cx.state.leads() && self.cx.state.nominee.is_none();
        if leads && epoch > self.cx.state.view.epoch {
            let next = self.cx.next_round();
            self.cx.note_round(next);
            self.cx.ask_voters(Purpose::Reclaim, Stage::Claim, next);
        }
    }

    /// A voter grants a claim; or this member itself does, now that it is durable.
    pub fn granted(&mut self, from: NodeId, life: Incarnation, number: u64, epoch: Epoch) {
        let own = life == self.cx.state.incarnation && self.cx.state.is_voter(from);
        if let Some(nominee) = &mut self.cx.state.nominee
            && (nominee.number, nominee.epoch, nominee.stage) == (number, epoch, Stage::Claim)
            && own
        {
            nominee.agree(from);
        }
    }

    /// Says what waited until it was durable.
    pub fn say_what_is_durable(&mut self, number: u64) {
        let unsaid = std::mem::take(&mut self.cx.state.unsaid);
        let (durable, rest) = unsaid.into_iter().partition(|(record, ..)| *record <= number);
        self.cx.state.unsaid = rest;
        let durable: Vec<_> = durable;
        for (_, to, message) in durable {
            match message {
                // A later leader was acknowledged meanwhile.
                Message::Grant { epoch, .. } if epoch < self.cx.state.voter.newest() => {}
                Message::Grant { incarnation, number, epoch } if to == self.cx.state.id() => {
                    self.granted(to, incarnation, number, epoch);
                }
                message => self.cx.send(to, message),
            }
        }
    }

    /// At the end of a turn: goes on if enough voters agree, gives up if they cannot any more.
    pub fn weigh(&mut self) {
        let (majority, voters) = (self.cx.state.majority(), self.cx.state.voters());
        while let Some(nominee) = self.cx.state.nominee.as_ref().filter(|nominee| !nominee.done) {
            match (nominee.purpose, nominee.supporters(majority)) {
                (Purpose::Preempt(view), Some(votes)) => {
                    let rank = self.cx.state.rank();
                    self.cx.drop_nominee();
                    let leader = view.leader.filter(|leader| self.cx.state.follows(leader.id));
                    self.cx.state.content_until = self.cx.now + self.cx.state.settings.timing.t2();
                    if let Some(leader) = leader {
                        let epoch = view.epoch;
                        self.cx.send(leader.id, Message::Preempt { epoch, rank, votes });
                    }
                }
                _ if nominee.is_agreed(majority) => self.agreed(),
                _ if nominee.is_hopeless(majority, voters) => self.failed(),
                _ => return,
            }
        }
    }

    fn agreed(&mut self) {
        let Some(nominee) = &mut self.cx.state.nominee else { return };
        nominee.done = true;
        let (purpose, epoch) = (nominee.purpose, nominee.epoch);
        self.cx.state.timers.cancel(Timer::Voters);
        self.cx.state.denied = None;
        let state = &self.cx.state;
        match purpose {
            Purpose::Win => self.resume(),
            Purpose::Reclaim if self.may_reclaim(epoch) => {
                self.cx.become_leading(epoch, Reason::Reclaimed);
                self.algorithm.get().reclaimed(&mut self.cx);
            }
            Purpose::Retry if state.phase == Phase::Waiting && !state.is_bound() => {
                self.cx.drop_nominee();
                self.call(Reason::MajorityAgrees);
            }
            _ => self.cx.drop_nominee(),
        }
    }

    /// Whether a leader may lead on in this epoch, which was granted: in time, and not in vain.
    fn may_reclaim(&self, epoch: Epoch) -> bool {
        let state = &self.cx.state;
        let Some(nominee) = &state.nominee else { return false };
        let until = Lease::new(nominee.sent, nominee.agreed());
        let until = until.until(state.majority(), state.settings.timing.lease);
        let greater = state.leads() && epoch > state.view.epoch;
        greater && state.reserve.covers(epoch) && self.cx.now < until
    }

    /// The voters' time is over: to answer, or until they are asked again.
    pub fn voters_expired(&mut self) {
        let state = &self.cx.state;
        if state.nominee.is_some() {
            self.failed();
        } else if state.denied.is_some() && state.phase.elects() {
            let next = state.round.next();
            self.cx.ask_voters(Purpose::Retry, Stage::Trial, next);
        }
    }

    /// Not enough voters agree, or answered in time. Who would win asks again later, and only then
    /// calls another election: a member that cannot lead disturbs nobody, and its log stays quiet.
    pub fn failed(&mut self) {
        let Some(nominee) = &self.cx.state.nominee else { return };
        let (majority, now, purpose) = (self.cx.state.majority(), self.cx.now, nominee.purpose);
        let (wait, heard) = (nominee.wait(majority, now), nominee.is_heard(majority));
        let wins = [Held::Call, Held::Win].map(|held| Some(held(nominee.epoch)));
        let held = wins.contains(&self.cx.state.held);
        self.cx.drop_nominee();
        match purpose {
            Purpose::Preempt(_) => {
                self.cx.state.content_until = now + self.cx.state.settings.timing.failure;
            }
            Purpose::Retry => self.deny(heard, wait),
            Purpose::Win if held => {
                let reason = match heard {
                    _ if !self.cx.state.voter.is_informed() => Reason::Uninformed,
                    true => Reason::NoMajority(wait),
                    false => Reason::Isolated,
                };
                self.cx.become_waiting(now, reason);
                self.deny(heard, wait);
            }
            Purpose::Win | Purpose::Reclaim => {}
        }
    }

    /// No outcome came in time; this member does not call another election before the voters agree.
    pub fn await_voters(&mut self) {
        if self.cx.state.phase == Phase::Waiting {
            self.cx.arm(Timer::Coordinator, self.cx.state.settings.timing.t2());
        } else {
            self.cx.become_waiting(self.cx.now, Reason::NoCoordinator);
        }
    }

    fn deny(&mut self, heard: bool, wait: Duration) {
        let timing = self.cx.state.settings.timing;
        let refused = heard && self.cx.state.voter.is_informed();
        self.cx.state.denied = Some(if refused { Denied::Refused } else { Denied::Unheard });
        let wait = if refused { wait } else { timing.t2() };
        let jitter = self.cx.state.random.up_to(timing.message / 8);
        self.cx.arm(Timer::Voters, wait + jitter);
    }

    /// A leader whose lease is over leads no more: enough voters may be free to grant another.
    pub fn end_lease(&mut self) {
        let over = self.cx.state.lease_until().is_some_and(|until| until <= self.cx.now);
        if self.cx.state.leads() && over {
            let (epoch, own) = (self.cx.state.view.epoch, self.cx.state.id());
            self.cx.give_up(None);
            self.cx.state.voter.release(own, epoch);
            self.call(Reason::LeaseEnded);
            let stands = self.cx.state.stands();
            let others = self.cx.all_others();
            self.cx.send_all(others, Message::Release { epoch, successor: None, stands });
        }
    }

    /// A voter acknowledged a heartbeat round.
    pub fn prolong(&mut self, voter: NodeId, number: u64) {
        let counts = self.cx.state.is_voter(voter);
        if let Some(lease) = self.cx.state.lease.as_mut().filter(|_| counts) {
            lease.acknowledge(voter, number);
            self.cx.arm_lease();
        }
    }

    /// A voter whose store was empty knows where the cluster stands, once it met all others.
    pub fn inform_voter(&mut self) {
        let state = &mut *self.cx.state;
        let met = |id| state.detector.get(id).is_none_or(|peer| peer.incarnation.0 > 0);
        let all = state.members.iter().filter(|member| member.votes()).all(|m| met(m.id));
        // By an older list than another's it does not know who votes.
        if all && state.roster.newest <= state.members.version() {
            let round = state.round;
            state.voter.inform(round);
        }
    }

    /// Whether so many different voters are named.
    pub fn is_majority(&self, votes: &[NodeId]) -> bool {
        let votes: std::collections::BTreeSet<_> = votes.iter().collect();
        let voters = votes.iter().filter(|id| self.cx.state.is_voter(***id)).count();
        !self.cx.state.needs_majority() || voters >= self.cx.state.majority()
    }

    /// Whether a member votes, and is not about to end.
    pub fn votes(&self) -> bool {
        let state = &self.cx.state;
        state.needs_majority() && state.is_voter(state.id()) && state.phase != Phase::Stopping
    }
}

//! A nominee: what it asks the voters, and what it does when they have answered.

use std::time::Duration;

use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::message::{Message, Opinion};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::{Held, State};
use crate::core::tenure::{Denied, Lease, Nominee, Purpose, Stage};
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, Incarnation, NodeId};

/// How often a claim is repeated. Two writes in a row, the one under way and that of the grant, may then take
/// four times what a leader counts on of its lease.
const MOST_REPEATS: u32 = 3;

impl State {
    /// Whether enough voters agreed with what the nominee of this round asked last; none if it has
    /// asked nothing.
    fn outcome(&self, round: Epoch) -> Option<bool> {
        let wins = |nominee: &&Nominee| nominee.epoch == round && nominee.purpose == Purpose::Win;
        self.nominee.as_ref().filter(wins).map(|nominee| nominee.done)
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
        let agreed = !self.state.needs_majority() || self.state.outcome(round) == Some(true);
        let durable = self.state.records.cover(round) || Fault::LeadsBeforeDurable.is_planted();
        durable && agreed
    }

    /// Whether this member may lead in the epoch of this round: it is durable and, with a
    /// majority, granted.
    pub fn may_lead(&self, round: Epoch) -> bool {
        let granted = !self.state.needs_majority() || self.state.is_granted(round, self.now);
        self.may_stand_for(round) && granted
    }

    /// Asks the voters what a nominee has to ask next: whether it may claim the epoch, then for it.
    /// Whom the last leader named, when it gave up its epoch, asks for its own at once: the voters
    /// are free, and nobody else is expected to be nominated.
    pub fn ask_next_question(&mut self, round: Epoch) {
        if !self.state.needs_majority() {
            return;
        }
        let wins = self.state.held == Some(Held::Win(round));
        let stage = match self.state.outcome(round) {
            None if wins && self.takes_inheritance() => Stage::Claim,
            None => Stage::Trial,
            Some(false) => return, // it is being asked
            Some(true) => Stage::Claim,
        };
        self.ask_voters(Purpose::Win, stage, round);
    }

    /// Whether the last leader gave up its epoch for this member. Only the first claim counts on
    /// that: who was refused asks first, like any other.
    fn takes_inheritance(&mut self) -> bool {
        let epoch = self.state.view.epoch;
        self.state.inherits.take().is_some_and(|inherited| inherited == epoch)
    }

    pub(in crate::core) fn ask_voters(&mut self, purpose: Purpose, stage: Stage, epoch: Epoch) {
        if self.state.nominee.as_ref().is_some_and(|nominee| nominee.epoch != epoch) {
            self.drop_nominee();
        }
        self.state.questions += 1;
        let number = self.state.questions;
        let again = self.state.nominee.as_ref().map_or(0, |nominee| match nominee.stage == stage {
            true => nominee.again + 1,
            false => 0,
        });
        let mut nominee = Nominee::new(purpose, stage, epoch, number, self.now);
        nominee.again = again;
        self.state.nominee = Some(nominee);
        let lease = self.state.settings.timing.lease;
        self.ask_self(stage, epoch, lease);
        let list = self.state.members.version();
        let mut voters = self.all_others();
        voters.retain(|id| self.state.is_voter(*id));
        if let Some((leader, epoch)) =
            self.state.freed.filter(|freed| freed.1 == self.state.view.epoch)
        {
            self.send_all(voters.clone(), Message::Freed { leader, epoch });
        }
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
        let own = self.state.id();
        if !self.state.is_voter(own) {
            return;
        }
        let opinion = match Fault::OwnVoteFree.is_planted() {
            true => Opinion::Yes,
            false => self.judge(own, epoch, self.state.members.version()),
        };
        let Some(nominee) = &mut self.state.nominee else { return };
        let number = nominee.number;
        match (opinion, stage) {
            (Opinion::Yes, Stage::Claim) => {
                if Fault::OwnVoteUnstored.is_planted() {
                    nominee.hear(own, Opinion::Yes, self.now);
                }
                self.grant(own, self.state.incarnation, number, epoch, lease);
            }
            _ => nominee.hear(own, opinion, self.now),
        }
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
            self.state.voter.release(self.state.id(), nominee.epoch);
            self.state.floor = self.state.floor.max(nominee.epoch);
            self.say_released(nominee.epoch, None);
        }
    }
}

impl Turn<'_> {
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
        // No promise is longer than `failure` by more than a restart's wait, which may be asked for again.
        let opinion = opinion.at_most(self.cx.state.settings.timing.failure);
        let counts = self.cx.state.is_voter(from);
        if let Some(nominee) = &mut self.cx.state.nominee
            && (nominee.number, nominee.stage) == (number, stage)
            && counts
        {
            nominee.hear(from, opinion, now);
        }
        if self.cx.state.leads() {
            self.outgrow(epoch);
        }
    }

    /// This leader was told of a later epoch: it asks for a greater one yet, without stepping down. A voter
    /// that needs that says so after every heartbeat, so the leader asks at most once between two of them,
    /// however often it is told.
    pub fn outgrow(&mut self, epoch: Epoch) {
        let state = &self.cx.state;
        let asked = state.nominee.is_some();
        let lately = self.cx.now < state.since + state.settings.timing.heartbeat;
        if epoch > state.view.epoch && !asked && !lately {
            let next = self.cx.next_round();
            self.cx.note_round(next);
            self.cx.ask_voters(Purpose::Reclaim, Stage::Claim, next);
        }
    }

    /// A voter grants a claim; or this member itself does, now that it is durable.
    pub fn granted(&mut self, from: NodeId, life: Incarnation, number: u64, epoch: Epoch) {
        let own = life == self.cx.state.incarnation && self.cx.state.is_voter(from);
        if let Some(nominee) = &mut self.cx.state.nominee
            && ((nominee.number, nominee.epoch) == (number, epoch)
                || Fault::StaleGrant.is_planted())
            && nominee.stage == Stage::Claim
            && own
        {
            nominee.hear(from, Opinion::Yes, self.cx.now);
        }
    }

    /// At the end of a turn: goes on if enough voters agree, gives up if they cannot any more.
    pub fn weigh(&mut self) {
        while let Some(nominee) = self.cx.state.nominee.as_ref().filter(|nominee| !nominee.done) {
            let (majority, voters) = (self.cx.state.majority(), self.cx.state.can_say(nominee));
            match (nominee.purpose, nominee.supporters(majority)) {
                (Purpose::Preempt(view), Some(votes)) => {
                    let rank = self.cx.state.rank();
                    self.cx.drop_nominee();
                    let leader = view.leader.filter(|leader| self.cx.state.follows(leader.id));
                    let unit = self.cx.state.settings.timing.t2();
                    self.cx.state.preempts.again(unit, self.cx.now);
                    let longest = self.cx.now + unit * 4; // or a better one would come too late
                    self.cx.state.content_until = self.cx.state.preempts.until().min(longest);
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

    /// Whether a leader may lead on in this epoch: granted in time, and not in vain.
    fn may_reclaim(&self, epoch: Epoch) -> bool {
        let state = &self.cx.state;
        let greater = state.leads() && epoch > state.view.epoch;
        greater && state.records.cover(epoch) && state.is_granted(epoch, self.cx.now)
    }

    /// The voters' time is over: to answer, or until they are asked again.
    pub fn voters_expired(&mut self) {
        let state = &self.cx.state;
        if let Some(Nominee { purpose, stage, epoch, .. }) = state.nominee
            && self.may_claim_again()
            && !Fault::LateHeartbeat.is_planted()
        {
            self.cx.ask_voters(purpose, stage, epoch);
        } else if state.nominee.is_some() {
            self.failed();
        } else if state.denied.is_some() && state.phase.elects() {
            let next = state.round.next();
            self.cx.ask_voters(Purpose::Retry, Stage::Trial, next);
        }
    }

    /// Whether a claim that was not answered in time is repeated in the same epoch: a voter whose disk is
    /// slow has stored its grant by then, or is about to, and grants the same again without another write.
    /// Whoever is connected with too few voters, or asked often enough, lets the voters go.
    fn may_claim_again(&self) -> bool {
        let state = &self.cx.state;
        let claims = |nominee: &Nominee| {
            nominee.stage == Stage::Claim && !nominee.done && nominee.again < MOST_REPEATS
        };
        let connected = |id| state.detector.get(id).is_none_or(Peer::connected);
        let voters = state.members.iter().filter(|member| member.votes());
        state.nominee.as_ref().is_some_and(claims)
            && voters.filter(|voter| connected(voter.id)).count() >= state.majority()
    }

    /// Not enough voters agree, or answered in time. Who would win asks again later, and only then
    /// calls another election: a member that cannot lead disturbs nobody, and its log stays quiet.
    pub fn failed(&mut self) {
        let Some(nominee) = &self.cx.state.nominee else { return };
        let (majority, now, purpose) = (self.cx.state.majority(), self.cx.now, nominee.purpose);
        let (wait, heard) = (nominee.wait(majority, now), nominee.is_heard(majority));
        let uninformed = nominee.uninformed(majority, self.cx.state.voters());
        let wins = [Held::Call, Held::Win].map(|held| Some(held(nominee.epoch)));
        let held = wins.contains(&self.cx.state.held);
        self.cx.drop_nominee();
        match purpose {
            Purpose::Preempt(_) => {
                self.cx.state.content_until = now + self.cx.state.settings.timing.failure;
            }
            Purpose::Retry => self.deny(heard, wait),
            Purpose::Win if held => {
                let reason = match uninformed {
                    _ if !self.cx.state.voter.is_informed() => {
                        Reason::Uninformed(self.cx.state.unmet_voters())
                    }
                    Some(voters) => Reason::VotersUninformed(voters),
                    None if heard => Reason::NoMajority(wait),
                    None => Reason::Isolated,
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
        let wait = match refused {
            // The others find the same proof, if they have not yet, and are bound no more.
            true if self.cx.state.has_proof_of_death(self.cx.now) => wait.min(timing.message / 8),
            true => wait,
            false => timing.t2(),
        };
        let jitter = self.cx.state.random.up_to(timing.message / 8);
        self.cx.arm(Timer::Voters, wait + jitter);
    }
}

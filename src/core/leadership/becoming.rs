//! The only way from phase to phase.

use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::course::{Awaited, Stage};
use crate::core::detector::Peer;
use crate::core::message::{Message, View};
use crate::core::phase::{Phase, Reason, Transition};
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Time};

impl Context<'_> {
    /// Whether this member is still discovering the others, so that an election has to wait: then it keeps
    /// discovering.
    pub fn keeps_discovering(&mut self, reason: &Reason) -> bool {
        let looks = self.state.is_discovering(self.now);
        if looks && self.state.phase() != Phase::Starting {
            self.become_starting(reason.clone());
        }
        looks
    }

    /// Keeps discovering the others for at least this long before it calls an election.
    pub fn discover(&mut self, time: Duration) {
        self.state.course.discover_until(self.now + time);
        if self.state.phase() == Phase::Starting {
            self.state.timers.arm(Timer::PowerOn, self.state.course.discovery_ends());
        }
    }

    /// Recovers "just as if from a failure" (seed 002): forgets leader and election, and discovers the others anew.
    pub fn become_starting(&mut self, reason: Reason) {
        self.enter(Stage::Starting, reason);
        self.state.timers.arm(Timer::PowerOn, self.state.course.discovery_ends());
    }

    /// Enters the phase in which it has asked the higher members.
    pub fn become_electing(&mut self, reason: Reason) {
        self.enter(Stage::Electing, reason);
        self.arm(Timer::Answer, self.state.settings.timing.t1());
    }

    /// Awaits another member's COORDINATOR for at most T2, counted from `start`.
    pub fn become_waiting(&mut self, start: Time, reason: Reason) {
        self.enter(Stage::Waiting(None), reason);
        let timing = self.state.settings.timing;
        let jitter = self.state.timers.jitter(timing.message);
        let due = (start + timing.t2() + jitter).max(self.now);
        if !Fault::NoT2.is_planted() {
            self.state.timers.arm(Timer::Coordinator, due);
        }
    }

    /// Takes part in a run of the ring, or awaits the outcome of one that has not come here yet, for at most this time.
    pub fn join_run(&mut self, stage: Stage, patience: Duration, reason: Reason) {
        self.enter(stage, reason);
        let jitter = self.state.timers.jitter(self.state.settings.timing.message);
        if !Fault::NoRunTimer.is_planted() {
            self.arm(Timer::Coordinator, patience + jitter);
        }
    }

    /// Awaits the RELEASE of a lower leader, until that leader has sent no announcement for `failure`.
    pub fn become_taking_over(&mut self, view: View, leader: NodeId, reason: Reason) {
        self.give_up(None);
        self.state.epochs.learn(view);
        self.enter(Stage::Waiting(Some(Awaited::Release(view))), reason);
        self.ask_for_release(view.epoch, leader);
    }

    /// Asks again at each announcement of the leader, as the earlier request may be lost.
    pub fn ask_for_release(&mut self, epoch: Epoch, leader: NodeId) {
        // An unreachable leader does not hear the request, however often it announces itself.
        let hears = self.state.detector.counts(leader);
        if hears || self.state.timers.due(Timer::Coordinator).is_none() {
            self.arm(Timer::Coordinator, self.state.settings.timing.failure);
        }
        self.send(leader, Message::Preempt { epoch, rank: self.state.rank(), votes: Vec::new() });
    }

    /// Stopped its work for an organizer, which it watches from now on.
    pub fn become_halted(&mut self, halter: NodeId) {
        self.give_up(None);
        self.enter(Stage::Halted, Reason::HaltedBy(halter));
        self.watch(Some(halter));
    }

    /// Has a coordinator, or is a coordinator that all others accepted.
    pub fn become_reorganizing(&mut self, reason: Reason) {
        self.enter(Stage::Reorganizing, reason);
        if self.state.course.watched().is_some() {
            self.listen(); // to the halter
        }
    }

    pub fn become_following(&mut self, view: View, leader: NodeId) {
        debug_assert!(self.state.records.cover(view.epoch), "named before it was durable");
        self.state.epochs.learn(view);
        self.state.detector.change(leader, Peer::came_to_lead);
        self.state.eligibility.end_choice(); // this leader says so if the choice is still in force
        self.freeze_rank(); // samples taken during the election count from now on
        self.enter(Stage::following(), Reason::Announced(leader));
        self.listen();
        self.persist();
    }

    pub fn become_leading(&mut self, epoch: Epoch, reason: Reason) {
        debug_assert!(self.state.records.cover(epoch), "led in before it was durable");
        debug_assert!(epoch > self.state.view().epoch, "an epoch has one leader");
        self.note_who_leads_instead(self.state.id());
        self.state.epochs.learn(View { epoch, leader: Some(self.state.rank()) });
        self.state.eligibility.leads();
        self.state.candidacy.succeed();
        let switchover = self.state.course.switchover(); // of a leader that takes a greater epoch
        self.enter(Stage::Leading { beaten: self.now, lease: None, switchover }, reason);
        self.take_lease(epoch);
        // With a majority the lease runs since the vote request was sent, and the voters' disks may have used most of
        // it.
        let first = match self.state.needs_majority() {
            true => Duration::ZERO,
            false => self.state.settings.timing.heartbeat,
        };
        self.arm(Timer::Heartbeat, first);
        self.listen();
        self.persist();
        self.overrule_lists();
    }

    /// Notes that a leader gives up its epoch, so that members that ask for the epoch learn that.
    pub fn give_up(&mut self, successor: Option<NodeId>) {
        if self.state.leads() {
            let epoch = self.state.view().epoch;
            if self.state.endings.job.resigns() && self.state.best_other().is_some() {
                self.state.eligibility.resign(); // the operator that asked for that has the answer
            }
            self.state.endings.give_up(epoch, successor);
            self.state.free_own_vote();
        }
    }

    pub fn become_stopping(&mut self, reason: Reason) {
        self.enter(Stage::Stopping, reason);
        self.persist();
    }

    /// The only way from phase to phase: ends the timers and promises of the old phase, and reports the reason.
    pub fn enter(&mut self, stage: Stage, reason: Reason) {
        let (from, to) = (self.state.phase(), stage.phase());
        debug_assert!(from != Phase::Stopping, "a stopping member stays so");
        let silence = self.state.timers.due(Timer::Silence);
        self.state.timers.cancel_phase();
        let course = &self.state.course;
        let listens = course.goes_on_expecting(to) || course.watched().is_some();
        if let Some(due) = silence.filter(|_| listens) {
            self.state.timers.arm(Timer::Silence, due);
        }
        if matches!(to, Phase::Following | Phase::Stopping) {
            self.drop_change();
        }
        if !matches!(to, Phase::Electing | Phase::Reorganizing | Phase::Leading) {
            self.state.eligibility.end_choice_if_led();
        }
        self.keep_candidacy_in(to);
        self.state.course.enter(stage, self.now);
        let leader = self.state.leader().map(|leader| leader.id);
        let epoch = self.state.view().epoch;
        self.out.push(Output::Changed(Transition { from, to, leader, epoch, reason }));
    }

    /// Whether this member may take over from a lower leader. While it waits after it was overruled, the same members
    /// would overrule it again.
    pub fn may_take_over(&self) -> bool {
        !self.state.candidacy.rests(self.now)
    }
}

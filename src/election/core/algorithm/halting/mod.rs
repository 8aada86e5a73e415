//! Garcia-Molina's bully with halt and reorganization (seed 002; IEEE ToC C-31, 1982).
//!
//! An organizer first makes sure that no higher member is up, then halts all others, then tells them that it is
//! elected, and at last hands out the task. This file has the state and calls the parts; `organizer.rs` has the four
//! steps, `member.rs` the part of the others, `watch.rs` the periodic procedures Check and Timeout.

mod member;
mod organizer;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::algorithm::election::ElectionAlgorithm;
use crate::core::context::Context;
use crate::core::leadership::becoming;
use crate::core::leadership::candidacy::NominationAim;
use crate::core::message::{Message, View};
use crate::core::phase::{Phase, Reason};
use crate::core::reach;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Rank, Task, Time};

/// The steps of an organizer, as the paper numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum HaltingStep {
    /// Organizes nothing.
    #[default]
    Idle,
    /// (1) ARE-YOU-THERE to all members that rank higher, one after the other.
    Asking,
    /// (2) HALT to all others.
    Halting,
    /// (3) ELECTED to those that halted.
    Electing,
    /// (4) READY, with the task, to the same.
    Readying,
}

/// A call that this member answers: the caller, and the number of the call there.
type AnsweredCall = (NodeId, u64);

/// The election that this member organizes, if it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Organized {
    step: HaltingStep,
    round: Epoch,
    started: Time,
    /// Whether it led when it began, and no higher member may take over: it halts those like others.
    incumbent: bool,
    /// The number of the present step's call, and the members whose replies are awaited.
    call: u64,
    awaited: BTreeSet<NodeId>,
    /// The members that were asked in step (1).
    asked: BTreeSet<NodeId>,
    /// Of these, the members that said that they rank lower.
    lower: BTreeSet<NodeId>,
    /// The members that acknowledged HALT: the set Up of the paper.
    up: BTreeSet<NodeId>,
}

/// The state of an election, as far as this member takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Halting {
    /// Counts the calls of this process, so that no late reply is taken for another.
    calls: u64,
    organized: Organized,
    /// The members that this one halted, and has not handed the task since it last had a coordinator: they watch this
    /// member, even after it gave up.
    halted_by_us: BTreeSet<NodeId>,
    /// The HALT that this member obeys: its organizer and round.
    halted: Option<(Rank, Epoch)>,
    /// The last round whose READY it took.
    ready: Epoch,
    /// The members that refused this organizer, or did not answer when it told them that it is elected, and since
    /// when. It remembers them until some member leads.
    refused: BTreeMap<NodeId, Time>,
    /// The member whose outcome this one awaits, having given up in step (1) or for another reason.
    awaits: Option<NodeId>,
    /// The number of its call to a coordinator that may be gone (Timeout).
    timeout: Option<u64>,
    /// The number of its last call before it came to lead: its later calls are ARE-YOU-NORMAL (Check).
    election: u64,
}

impl ElectionAlgorithm for Halting {
    fn start(&mut self, cx: &mut Context, reason: Reason) {
        self.begin(cx, reason);
    }

    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View> {
        if cx.state.phase() == Phase::Stopping {
            return None;
        }
        match *message {
            Message::AreYouThere { number, under: Some(epoch), .. } => {
                self.are_you_coordinator(cx, (from, number), epoch);
            }
            Message::AreYouThere { number, under: None, rank, eligible } => {
                self.are_you_there(cx, (from, number), rank, eligible);
            }
            Message::AreYouNormal { number, epoch } => {
                self.are_you_normal(cx, (from, number), epoch);
            }
            Message::Halt { number, round, rank, incumbent } => {
                self.halt(cx, (from, number), round, rank, incumbent);
            }
            Message::Elected { number, round, task } => {
                self.elected(cx, (from, number), round, task);
            }
            Message::Task(ref task) => self.hear_task(cx, from, task),
            Message::Ready { number, round, ref task } => {
                return self.ready(cx, (from, number), round, task);
            }
            Message::Alive { number } => self.goes_on(cx, from, Epoch(number)),
            Message::Reply { number, accepted } => self.reply(cx, from, number, accepted),
            _ => {}
        }
        None
    }

    fn expire(&mut self, cx: &mut Context, timer: Timer) {
        match timer {
            Timer::Answer if self.organizes(cx.state) => self.unanswered(cx),
            Timer::Answer => self.coordinator_unanswered(cx),
            Timer::Coordinator => {
                self.pass_over(cx);
                self.begin(cx, Reason::NoCoordinator);
            }
            Timer::Check => self.check_all(cx),
            Timer::Pulse => self.pulse(cx),
            _ => {}
        }
    }

    fn go_on(&mut self, cx: &mut Context, _: NominationAim, _: Epoch) {
        if self.organizes(cx.state) {
            match self.organized.step {
                HaltingStep::Halting => self.tell_elected(cx),
                HaltingStep::Readying => self.go_on(cx),
                _ => self.halt_others(cx),
            }
        }
    }

    fn lost(&mut self, cx: &mut Context, peer: NodeId) {
        if self.organizes(cx.state) {
            self.lost_other(cx, peer);
        } else if cx.state.course.watched().is_some_and(|(halter, _)| halter == peer) {
            self.begin(cx, Reason::HalterLost(peer));
        } else if cx.state.phase() == Phase::Waiting
            && self.awaits == Some(peer)
            && !cx.state.is_bound()
        {
            self.begin(cx, Reason::AnswererLost);
        }
    }

    fn joined(&mut self, cx: &mut Context, peer: NodeId) {
        if !cx.state.detector.is_within_reach(peer) {
            cx.state.outbox.take(peer); // each incarnation of a member counts its own calls
            return;
        }
        if !cx.state.detector.get(peer).is_some_and(|peer| peer.connected()) {
            return;
        }
        if cx.state.leads() {
            self.check(cx, vec![peer]);
        } else if self.organizes(cx.state) {
            self.joined_late(cx, peer);
        }
    }

    fn accepted(&self, state: &State) -> Option<View> {
        if state.phase() != Phase::Reorganizing {
            return None;
        }
        let own = (state.rank(), self.organized.round);
        let (leader, epoch) =
            if self.organized.step == HaltingStep::Idle { self.halted? } else { own };
        Some(View { epoch, leader: Some(leader) })
    }

    fn finds_nobody(&self, state: &State) -> bool {
        state.phase() == Phase::Waiting && self.awaits.is_none() && !state.is_bound()
    }

    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason) {
        self.wait_for(cx, Some(leader), cx.now, reason);
    }

    /// Only READY makes a follower. A member that finds a leader otherwise waits to be taken in.
    fn try_follow(&mut self, cx: &mut Context, view: View, leader: NodeId) -> bool {
        let obeys = cx.state.phase() == Phase::Reorganizing && self.obeys(leader, view.epoch);
        let ready = obeys && self.ready == view.epoch;
        if !ready {
            self.found_leader(cx, view, leader);
        }
        ready
    }

    fn reclaimed(&mut self, cx: &mut Context) {
        cx.arm(Timer::Check, Duration::ZERO); // no member is Normal in this epoch yet
    }

    fn hand_out(&mut self, cx: &mut Context) {
        self.begin(cx, Reason::NewTask);
    }
}

impl Halting {
    fn organizes(&self, state: &State) -> bool {
        self.organized.step != HaltingStep::Idle
            && matches!(state.phase(), Phase::Electing | Phase::Reorganizing)
    }

    /// The member that was to lead, or to continue its election, did not in time.
    fn pass_over(&self, cx: &mut Context) {
        let halter = cx.state.phase().is_halted().then_some(self.halted).flatten();
        let awaited = halter.map(|(halter, _)| halter.id).or(self.awaits);
        if let Some(id) = awaited.filter(|id| cx.state.detector.counts(*id)) {
            reach::pass_over(cx, id, cx.state.settings.timing.t2());
        }
    }

    fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// Forgets the election that it organized, and the organizer that it obeyed.
    fn clear(&mut self) {
        *self = Halting {
            calls: self.calls,
            halted_by_us: std::mem::take(&mut self.halted_by_us),
            refused: std::mem::take(&mut self.refused),
            ..Halting::default()
        };
    }

    /// Gives up, and awaits the outcome of another member's election for T2.
    fn wait_for(&mut self, cx: &mut Context, other: Option<NodeId>, since: Time, reason: Reason) {
        self.clear();
        self.awaits = other;
        becoming::become_waiting(cx, since, reason);
    }

    /// Takes a reply, unless it is to a call that is over.
    fn reply(&mut self, cx: &mut Context, from: NodeId, number: u64, accepted: bool) {
        if self.timeout == Some(number) {
            cx.state.timers.cancel(Timer::Answer);
            self.coordinator_replied(cx, from, accepted);
        } else if cx.state.leads() && number > self.election {
            self.checked(cx, from, accepted);
        } else if number == self.organized.call
            && self.organized.awaited.contains(&from)
            && self.organizes(cx.state)
        {
            self.replied(cx, from, accepted);
        }
    }

    /// Replies to a call, as soon as the connection is up: a caller without a reply takes this member for dead.
    fn answer(&mut self, cx: &mut Context, call: AnsweredCall, accepted: bool) {
        self.answer_with(cx, call, None, accepted);
    }

    /// The same, with a task before the reply.
    fn answer_with(
        &mut self,
        cx: &mut Context,
        by: AnsweredCall,
        task: Option<Task>,
        accepted: bool,
    ) {
        let (to, number) = by;
        let messages = task.map(Message::Task).into_iter();
        let messages = messages.chain([Message::Reply { number, accepted }]);
        cx.answer_when_connected(to, messages.collect());
    }
}

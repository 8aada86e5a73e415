//! The election as a pure state machine: no socket, thread, clock, file, random source or log.
//!
//! The caller owns a [`Core`], hands it one [`Input`] at a time with the present time, carries
//! out the [`Output`]s in their order, and calls again with [`Input::Tick`] when
//! [`Core::deadline`] has come. A spurious call changes nothing. All of it is deterministic:
//! the simulator runs the same code as the node.

pub mod address;
mod admission;
mod agreed;
mod algorithm;
mod answers;
mod api;
mod back_off;
pub mod bounds;
mod command;
mod content;
mod context;
mod course;
pub mod death;
pub mod departures;
pub mod detector;
pub mod durable;
mod eligibility;
mod epochs;
mod forwarding;
mod heartbeat;
mod hello;
mod inputs;
mod job;
mod kinds;
mod leadership;
pub mod locks;
pub mod membership;
pub mod message;
mod names;
mod note;
mod objection;
mod outbox;
mod pause;
mod phase;
pub mod planted;
pub mod protocol;
pub mod random;
mod ranking;
pub mod reach;
pub mod restart;
mod retiming;
pub mod settings;
mod stand_in;
mod state;
pub mod streak;
mod switchover;
mod timer;
mod turn;
pub mod types;
mod waiting;

pub use api::{Input, Output, Redial};
pub use command::OperatorCommand;
pub use note::{Note, Split};
pub use phase::{Cause, NodeStatus, Phase, Reason, Transition};
pub use types::CommandId;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use algorithm::Algorithm;
use context::Context;
use departures::Departures;
use detector::{Detector, Peer};
use durable::Started;
use leadership::{ending, tally, voting};
use membership::{MemberList, change, replication};
use message::View;
use planted::Fault;
use restart::Restored;
use settings::{PowerOn, Preempt, Settings};
use state::State;
use timer::Timer;
use turn::Turn;
use types::{Drain, Incarnation, NodeId, Pause, Rank, Task, Time};

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Core {
    state: State,
    algorithm: Algorithm,
}

impl Core {
    /// A member that starts now, with what its store gave back. The seed is for jitter alone.
    pub fn new(now: Time, settings: Settings, restored: Restored, seed: u64) -> Core {
        let algorithm = Algorithm::new(settings.algorithm);
        let mut state = State::new(now, settings, restored, seed);
        if state.settings.power_on == PowerOn::Elect {
            state.timers.arm(Timer::PowerOn, state.course.discovery_ends());
        }
        Core { state, algorithm }
    }

    /// Takes one input and appends the outputs in the order in which the caller carries them out: those that other
    /// members wait for come first. No message relies on another output of the same turn.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        let Core { state, algorithm } = self;
        let before = out.len();
        let mut turn = Turn { cx: Context { state, now, out }, algorithm: algorithm.get_mut() };
        reach::settle_peers(&mut turn.cx);
        inputs::recover_if_stalled(&mut turn.cx);
        heartbeat::end_lease(&mut turn);
        inputs::take(&mut turn, input);
        tally::tally(&mut turn);
        reach::look_for_unreachable(&mut turn);
        forwarding::forward_postponed(&mut turn);
        replication::mark_list_committed(&mut turn.cx);
        change::advance_change(&mut turn);
        voting::forget_old_promises(&mut turn.cx);
        let eligible = state.is_eligible();
        state.eligibility.record_eligible(eligible);
        out[before..].sort_by_key(|output| !output.is_awaited());
    }

    /// When the caller has to call the core again, if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        self.state.timers.next()
    }

    /// When its waits end for an ANSWER (T1) and for a leader that was to come (T2), if they are under way.
    pub fn waits(&self) -> [Option<Time>; 2] {
        [Timer::Answer, Timer::Coordinator].map(|timer| self.state.timers.due(timer))
    }

    pub fn phase(&self) -> Phase {
        self.state.phase()
    }

    /// The leader that this member names, itself included; none until an election has ended.
    pub fn leader(&self) -> Option<Rank> {
        self.state.leader()
    }

    /// The greatest epoch known and its leader, which may be gone.
    pub fn view(&self) -> View {
        self.state.view()
    }

    /// Until when a reader may believe this member's status without another turn: a leader's until it counts itself
    /// as stalled, any other member's until `failure` from now. (L6)
    pub fn believable_until(&self, now: Time) -> Time {
        let timing = self.state.settings.timing;
        match self.state.course.beaten() {
            Some(beaten) => {
                let turn = beaten + timing.stall();
                let lease = heartbeat::lease_until(&self.state)
                    .filter(|_| !Fault::SnapshotForEver.is_planted());
                lease.map_or(turn, |lease| lease.min(turn))
            }
            None => now + timing.failure,
        }
    }

    /// The last other leader that this member met while it led; none since its start.
    pub fn split(&self) -> Option<Split> {
        self.state.endings.split()
    }

    /// The other members, as this member knows them.
    pub fn detector(&self) -> &Detector {
        &self.state.detector
    }

    /// Whether this peer comes after all others, as it comes and goes beside a steady majority.
    pub fn comes_and_goes(&self, peer: &Peer) -> bool {
        self.state.comes_and_goes(peer.id())
    }

    /// The members that went away lately.
    pub fn departures(&self) -> &Departures {
        &self.state.departures
    }

    /// When this leader's lease ends; none without a majority, and for a member that does not lead.
    pub fn lease_until(&self) -> Option<Time> {
        heartbeat::lease_until(&self.state)
    }

    /// The member that halted this one, or that it accepted as coordinator, in an election of the halting algorithm.
    pub fn halter(&self) -> Option<NodeId> {
        let halted = self.state.phase().is_halted();
        self.state.course.watched().filter(|_| halted).map(|(halter, _)| halter)
    }

    /// The coordinator that this member has accepted: its leader, or in the halting algorithm the member whose task
    /// it awaits.
    pub fn coordinator(&self) -> Option<View> {
        let settled = self.state.leader().map(|_| self.state.view());
        settled.or_else(|| self.algorithm.get().accepted(&self.state))
    }

    /// The last task that this member was handed.
    pub fn task(&self) -> &Task {
        self.state.records.task()
    }

    /// The settings that this member started with, with the present timings.
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// What the start of this life found and wrote.
    pub fn started(&self) -> &Started {
        self.state.records.started()
    }

    pub fn members(&self) -> &Arc<MemberList> {
        self.state.membership.list()
    }

    /// This start's number.
    pub fn incarnation(&self) -> Incarnation {
        self.state.records.incarnation()
    }

    /// Whether this member may be nominated.
    pub fn is_eligible(&self) -> bool {
        self.state.is_eligible()
    }

    /// Whether this member is not eligible because its disk or its voters do not respond.
    pub fn is_out_of_reach(&self) -> bool {
        self.state.candidacy.is_out_of_reach()
    }

    /// The number of the last question that this member asked the voters.
    pub fn last_question(&self) -> u64 {
        self.state.candidacy.last_question()
    }

    /// Why an operator keeps this member from leading, if one does.
    pub fn drain(&self) -> Option<&Drain> {
        self.state.eligibility.drain()
    }

    /// Whether the cluster is paused, as far as this member knows.
    pub fn pause(&self) -> &Pause {
        self.state.membership.pause()
    }

    /// Whether the leader that this member names, itself included, leads on, as far as this member knows: nothing is about
    /// to end its leadership.
    pub fn leads_on(&self) -> bool {
        if self.state.leads() {
            !ending::is_ending(&self.state)
        } else {
            self.state.course.leads_on()
        }
    }

    /// The member that an operator chose to lead, whatever its rank, as far as this member knows.
    pub fn chosen(&self) -> Option<NodeId> {
        switchover::chosen(&self.state)
    }

    /// The leader that this member is to take over from, and when it may ask that leader to hand over; none if it does not
    /// rank above the leader, or may not preempt it.
    pub fn takeover(&self, now: Time) -> Option<(NodeId, Option<Time>)> {
        let due = match self.state.preempt() {
            Preempt::Never => return None,
            Preempt::Always => None,
            Preempt::After(after) => Some(self.state.eligibility.earliest(after, now)),
        };
        let leader = self.state.leader_to_preempt().filter(|_| self.phase() == Phase::Following)?;
        Some((leader.id, due))
    }

    /// The members that are to take over from this leader, and when it lets each: it has seen each break of theirs, and
    /// a member that was restarted has not seen its own.
    pub fn takeovers(&self) -> impl Iterator<Item = (NodeId, Time)> {
        let after = match self.state.preempt() {
            Preempt::After(after) if self.state.leads() => Some(after),
            _ => None,
        };
        let peers = after.into_iter().flat_map(|after| {
            let peers = self.detector().iter().filter(|peer| peer.counts());
            peers.map(move |peer| (peer, peer.eligible_by(after)))
        });
        let above = peers.filter(|(peer, _)| self.state.is_peer_above(peer));
        above.filter_map(|(peer, due)| Some((peer.id(), due?)))
    }

    /// The value of this member's own rank, even while it reports the greatest rank as the chosen member.
    pub fn own_value(&self) -> Option<i64> {
        self.state.eligibility.own_value()
    }

    /// Whether an operator chose this member to lead, whatever its rank, and it leads or is about to.
    pub fn is_chosen(&self) -> bool {
        self.state.eligibility.is_chosen()
    }

    /// Whether this member resigned: it is not eligible until it is needed or restarted.
    pub fn has_resigned(&self) -> bool {
        self.state.eligibility.has_resigned()
    }

    pub fn id(&self) -> NodeId {
        self.state.id()
    }

    pub fn rank(&self) -> Rank {
        self.state.rank()
    }
}

//! The bully election (Garcia-Molina 1982, in the form of seeds 000, 001, 003 and 004).
//!
//! A member that misses the leader sends ELECTION to all who rank higher. An ANSWER shuts its
//! attempt down, and it waits for a COORDINATOR. Without an ANSWER within T1 it leads, in an
//! epoch that is the round it started with.

use std::collections::BTreeSet;

use super::Election;
use crate::core::message::Message;
use crate::core::phase::{Phase, Reason};
use crate::core::settings::Preempt;
use crate::core::state::{Context, Held};
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Rank, Time};

/// The state of an election, as far as this member takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bully {
    /// The round of this member's ELECTION.
    round: Epoch,
    /// When it began.
    started: Time,
    /// Who was asked, dead or alive.
    asked: BTreeSet<NodeId>,
    /// Who answered, or is expected to lead for another reason.
    awaited: BTreeSet<NodeId>,
}

impl Election for Bully {
    fn start(&mut self, cx: &mut Context, reason: Reason) {
        self.begin(cx, cx.state.round.next(), reason);
    }

    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) {
        match *message {
            Message::Election { round, rank, stands } => {
                self.election(cx, from, round, rank, stands);
            }
            Message::Answer { round } => self.answer(cx, from, round),
            _ => {}
        }
    }

    fn expire(&mut self, cx: &mut Context, timer: Timer) {
        match timer {
            Timer::Answer => self.win_unless_unasked(cx, Reason::NoAnswer),
            Timer::Coordinator => {
                self.begin(cx, cx.state.round.next(), Reason::NoCoordinator);
            }
            _ => {}
        }
    }

    fn resume(&mut self, cx: &mut Context) {
        self.win_unless_unasked(cx, Reason::Highest);
    }

    fn succeed(&mut self, cx: &mut Context, reason: Reason) {
        if cx.state.settings.preempt == Preempt::Never && cx.state.stands() {
            self.round = cx.state.round.next();
            cx.note_round(self.round);
            self.win(cx, Reason::Named);
        } else {
            self.begin(cx, cx.state.round.next(), reason);
        }
    }

    fn lost(&mut self, cx: &mut Context, _peer: NodeId) {
        let gone =
            |members: &BTreeSet<NodeId>| !members.iter().any(|id| cx.state.detector.is_alive(*id));
        match cx.state.phase {
            Phase::Electing if cx.state.held.is_none() && gone(&self.asked) => {
                self.win_unless_unasked(cx, Reason::NoAnswer);
            }
            Phase::Waiting if cx.state.takeover.is_none() && gone(&self.awaited) => {
                self.begin(cx, cx.state.round.next(), Reason::AnswererLost);
            }
            _ => {}
        }
    }

    fn joined(&mut self, cx: &mut Context, peer: NodeId) {
        let higher = cx.state.higher().any(|other| other.rank.id == peer);
        if cx.state.phase == Phase::Electing && higher {
            self.ask(cx, vec![peer]);
        }
    }

    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason) {
        self.awaited = BTreeSet::from([leader]);
        cx.become_waiting(cx.now, reason);
    }
}

impl Bully {
    /// "Broadcasts an Election message to all other processes with higher process IDs than
    /// itself", or wins at once if there are none.
    fn begin(&mut self, cx: &mut Context, round: Epoch, reason: Reason) {
        *self = Bully { round, started: cx.now, ..Bully::default() };
        cx.note_round(round);
        let higher = cx.state.higher().map(|peer| peer.rank.id).collect::<Vec<_>>();
        if !higher.is_empty() {
            cx.become_electing(reason);
            self.ask(cx, higher);
        } else if cx.state.stands() {
            self.win(cx, reason);
        } else {
            cx.become_waiting(cx.now, Reason::MayNotLead);
        }
    }

    /// Sends ELECTION; T1 runs from the latest one.
    fn ask(&mut self, cx: &mut Context, to: Vec<NodeId>) {
        self.asked.extend(&to);
        let (rank, stands) = (cx.state.rank(), cx.state.stands());
        cx.send_all(to, Message::Election { round: self.round, rank, stands });
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
    }

    /// T1 has passed: asks those higher members that appeared meanwhile, or wins.
    fn win_unless_unasked(&mut self, cx: &mut Context, reason: Reason) {
        let higher = cx.state.higher().map(|peer| peer.rank.id);
        let unasked = higher.filter(|id| !self.asked.contains(id)).collect::<Vec<_>>();
        if !unasked.is_empty() {
            self.ask(cx, unasked);
        } else if cx.state.stands() && self.round > cx.state.view.epoch {
            self.win(cx, reason);
        } else {
            self.begin(cx, cx.state.round.next(), reason);
        }
    }

    /// The round becomes the epoch, as soon as it is durable.
    fn win(&mut self, cx: &mut Context, reason: Reason) {
        if cx.state.tenure.covers(self.round) {
            self.lead(cx, reason);
        } else {
            cx.hold(Held::Win(self.round), reason);
        }
    }

    /// "It sends a Victory message to all other processes and becomes the new Coordinator."
    fn lead(&mut self, cx: &mut Context, reason: Reason) {
        let (epoch, rank) = (self.round, cx.state.rank());
        cx.become_leading(epoch, reason);
        let others = cx.all_but_dead();
        cx.mark_told(&others);
        cx.send_all(others, Message::Coordinator { epoch, rank });
    }

    /// "If P receives an Election message from another process with a lower ID it sends an
    /// Answer message back and starts the election process at the beginning."
    fn election(&mut self, cx: &mut Context, from: NodeId, round: Epoch, rank: Rank, stands: bool) {
        let known = cx.state.view.epoch;
        cx.note_round(round);
        if cx.state.is_above(rank, stands) || !cx.state.stands() {
            // Answering would shut down the better candidate. If it knows less, it is told.
            if cx.state.leader().is_some() {
                cx.send_view(from);
            }
            return;
        }
        cx.send(from, Message::Answer { round });
        if cx.state.phase == Phase::Leading {
            self.remind(cx, from, round);
        } else if round <= known {
            cx.send_view(from);
        } else {
            self.join(cx, from, round);
        }
    }

    /// A leader repeats its COORDINATOR, in its unchanged epoch, to one who may have missed it.
    fn remind(&mut self, cx: &mut Context, to: NodeId, round: Epoch) {
        let epoch = cx.state.view.epoch;
        let told = cx.state.detector.get(to).is_some_and(|peer| peer.told == Some(epoch));
        if round > epoch || !told {
            cx.mark_told(&[to]);
            cx.send(to, Message::Coordinator { epoch, rank: cx.state.rank() });
        }
    }

    fn join(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        // A leader that was asked to hand over and now elects has done so, whatever got lost.
        let leader = cx.state.takeover.and_then(|view| view.leader);
        let released = leader.is_some_and(|leader| leader.id == from);
        let busy = matches!(cx.state.phase, Phase::Electing | Phase::Waiting | Phase::Stopping);
        if released || !busy {
            self.begin(cx, round, Reason::Joined(from));
        }
    }

    /// "It sends no further messages for this election and waits for a Victory message."
    fn answer(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if round != self.round || !self.asked.contains(&from) {
            return; // of an election that is over
        }
        match cx.state.phase {
            Phase::Electing => {
                self.awaited = BTreeSet::from([from]);
                cx.become_waiting(self.started, Reason::Answered(from));
            }
            Phase::Waiting => {
                self.awaited.insert(from);
            }
            _ => {}
        }
    }
}

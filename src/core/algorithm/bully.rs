//! The bully election (Garcia-Molina 1982, in the form of seeds 000, 001, 003 and 004).
//!
//! A member that misses the leader sends ELECTION to all who rank higher. An ANSWER shuts its
//! attempt down, and it waits for a COORDINATOR. Without an ANSWER within T1 it leads, in an
//! epoch that is the round it started with.

use std::collections::BTreeSet;

use super::election::Election;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::candidacy::Aim;
use crate::core::membership::Member;
use crate::core::message::{Message, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
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
    /// Who ranks lower by its own word.
    lower: BTreeSet<NodeId>,
    /// They were asked by an eligible member.
    eligible: bool,
    /// The leader handed over to this member, which need not ask anybody.
    succeeds: bool,
    /// Who answered, or is expected to lead for another reason.
    awaited: BTreeSet<NodeId>,
}

impl Election for Bully {
    fn start(&mut self, cx: &mut Context, reason: Reason) {
        self.begin(cx, None, reason);
    }

    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View> {
        match *message {
            Message::Election { round, rank, eligible } => {
                self.election(cx, from, round, rank, eligible);
            }
            Message::Answer { round } => self.answer(cx, from, round),
            Message::Lower { round } => self.lower(cx, from, round),
            _ => {}
        }
        None
    }

    fn expire(&mut self, cx: &mut Context, timer: Timer) {
        match timer {
            Timer::Answer => {
                cx.suspect_unheard(&self.asked, self.started);
                self.win_unless_unasked(cx, Reason::NoAnswer);
            }
            Timer::Coordinator => {
                self.pass_over_best(cx);
                self.begin(cx, None, Reason::NoCoordinator);
            }
            _ => {}
        }
    }

    fn go_on(&mut self, cx: &mut Context, _: Aim, _: Epoch) {
        // A higher member that appeared meanwhile has been asked: its T1 runs.
        if cx.state.timers.due(Timer::Answer).is_none() {
            self.win_unless_unasked(cx, Reason::Highest);
        }
    }

    fn lost(&mut self, cx: &mut Context, peer: NodeId) {
        match cx.state.phase() {
            // One who was to be asked as soon as it is connected counts like one who was asked.
            Phase::Electing if self.lower.contains(&peer) => {}
            Phase::Electing if self.asked.contains(&peer) || is_known_rival(cx, peer) => {
                self.asked.insert(peer);
                self.lost_asked(cx);
            }
            Phase::Waiting if self.waits_for_the_last(cx, peer) => {
                self.begin(cx, None, Reason::AnswererLost);
            }
            _ => {}
        }
    }

    fn joined(&mut self, cx: &mut Context, peer: NodeId) {
        if !cx.state.detector.is_within_reach(peer) {
            // It can be told nothing yet, and may have lost what it was asked before.
            self.asked.remove(&peer);
            return;
        }
        let asks = cx.state.phase() == Phase::Electing && !self.is_eligible_by_now(cx);
        if asks && is_known_rival(cx, peer) {
            self.ask(cx, vec![peer]);
        }
    }

    fn finds_nobody(&self, state: &State) -> bool {
        state.phase() == Phase::Waiting && self.awaited.is_empty() && !state.is_bound()
    }

    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason) {
        self.asked.clear();
        self.awaited = BTreeSet::from([leader]);
        cx.become_waiting(cx.now, reason);
    }
}

/// Whether a member may rank higher than this one; or may win beside it, as it has not heard that this
/// one is eligible again. (With a majority nobody wins beside another.)
fn is_rival(cx: &Context, peer: &Peer) -> bool {
    let doubted = cx.state.eligibility_unannounced() && !cx.state.needs_majority();
    let may_lead = || cx.state.membership.list().get(peer.id()).is_some_and(Member::may_lead);
    cx.state.may_be_above(peer) || doubted && may_lead()
}

/// Whether the member of this id is one.
fn is_known_rival(cx: &Context, id: NodeId) -> bool {
    cx.state.detector.get(id).is_some_and(|peer| is_rival(cx, peer))
}

/// Those among the unsuspected members.
fn rivals(cx: &Context) -> impl Iterator<Item = NodeId> {
    let counts = |peer: &&Peer| peer.counts() || Fault::DeadStayHigher.is_planted();
    let alive = cx.state.detector.iter().map(|(_, peer)| peer).filter(counts);
    alive.filter(|peer| is_rival(cx, peer)).map(|peer| peer.id())
}

impl Bully {
    /// "Broadcasts an Election message to all other processes with higher process IDs than
    /// itself", or wins at once if there are none.
    fn begin(&mut self, cx: &mut Context, joined: Option<Epoch>, reason: Reason) {
        let round = joined.unwrap_or_else(|| cx.next_round());
        *self = Bully { round, started: cx.now, succeeds: cx.succeeds(), ..Bully::default() };
        cx.note_round(round);
        cx.freeze_rank();
        let rivals = self.unasked(cx);
        if !rivals.is_empty() {
            cx.become_electing(reason);
            self.ask(cx, rivals.into_iter().collect());
        } else if cx.state.is_eligible() {
            self.win(cx, reason);
        } else {
            cx.become_waiting(cx.now, Reason::MayNotLead);
        }
    }

    /// Sends ELECTION; T1 runs from the latest one.
    fn ask(&mut self, cx: &mut Context, to: Vec<NodeId>) {
        // Without both connections the question or the answer is lost: they are asked again.
        let connected = |id: &&NodeId| cx.state.detector.get(**id).is_some_and(Peer::connected);
        self.asked.extend(to.iter().filter(connected));
        let (rank, eligible) = (cx.state.rank(), cx.state.is_eligible());
        self.eligible |= eligible;
        cx.send_all(to, Message::Election { round: self.round, rank, eligible });
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
    }

    /// Whether this member waits for the outcome of an election, and nobody else is left who
    /// could bring it.
    fn waits_for_the_last(&mut self, cx: &Context, peer: NodeId) -> bool {
        !cx.state.is_bound() && self.awaited.remove(&peer) && self.awaited.is_empty()
    }

    /// The best of those that answered was to lead, or to fail for a better one, and did neither.
    fn pass_over_best(&self, cx: &mut Context) {
        let awaited = self.awaited.iter().filter_map(|id| cx.state.detector.get(*id));
        let best = awaited.filter(|peer| peer.counts()).map(|peer| peer.rank()).max();
        if let Some(best) = best.filter(|_| cx.state.phase() == Phase::Waiting) {
            cx.pass_over(best.id, cx.state.settings.timing.t2());
        }
    }

    /// Whether all who were asked are suspected or dead, or rank lower by their own word, and this
    /// member has not won meanwhile.
    fn has_heard_all(&self, cx: &Context) -> bool {
        let mut awaited = self.asked.difference(&self.lower);
        !cx.state.candidacy.is_parked() && !awaited.any(|id| cx.state.detector.counts(*id))
    }

    /// T1 ends early when all who were asked are suspected or dead.
    fn lost_asked(&mut self, cx: &mut Context) {
        let last_leader = cx.state.view().leader.map(|leader| leader.id);
        if !self.has_heard_all(cx) {
            return;
        }
        if self.asked.iter().all(|id| Some(*id) == last_leader) {
            self.win_unless_unasked(cx, Reason::NoAnswer);
        } else {
            self.begin(cx, None, Reason::NoAnswer); // who died may have won this round
        }
    }

    /// T1 has passed: asks those higher members that appeared or could not be asked meanwhile,
    /// as long as one may take to connect; or wins.
    fn win_unless_unasked(&mut self, cx: &mut Context, reason: Reason) {
        let unasked = self.unasked(cx);
        let timing = cx.state.settings.timing;
        // With a majority nobody wins beside a higher one that is not connected yet: that takes over later.
        let patience = if cx.state.needs_majority() { timing.t1() } else { timing.failure };
        let patient = cx.now < self.started + patience;
        if !unasked.is_empty() && !patient {
            cx.suspect_unheard(&unasked, self.started);
        }
        if self.is_eligible_by_now(cx) {
            self.begin(cx, None, reason);
        } else if !unasked.is_empty() && patient {
            self.ask(cx, unasked.into_iter().collect());
        } else if cx.state.is_eligible()
            && self.round > cx.state.view().epoch
            && self.unasked(cx).is_empty()
        {
            self.win(cx, reason);
        } else if !cx.state.is_eligible() && self.unasked(cx).is_empty() {
            // All were asked, and are not eligible either or are gone: until one of them is eligible again.
            cx.become_waiting(cx.now, Reason::MayNotLead);
        } else {
            self.begin(cx, None, reason);
        }
    }

    /// Whether this member is eligible, and was not when it asked: what the others said then says nothing of
    /// who is to lead. Some of them may be eligible by now as well, as they found the same.
    fn is_eligible_by_now(&self, cx: &Context) -> bool {
        cx.state.is_eligible() && !self.eligible && !self.asked.is_empty()
    }

    /// Those that may come before this member and were not asked yet.
    fn unasked(&self, cx: &Context) -> BTreeSet<NodeId> {
        if self.succeeds && cx.state.is_eligible() {
            return BTreeSet::new();
        }
        rivals(cx).filter(|id| !self.asked.contains(id)).collect()
    }

    /// The round becomes the epoch, as soon as it is durable and the voters agree.
    fn win(&mut self, cx: &mut Context, reason: Reason) {
        if cx.nominate(self.round, Aim::Lead, &reason) {
            self.lead(cx, reason);
        }
    }

    /// "It sends a Victory message to all other processes and becomes the new Coordinator."
    fn lead(&mut self, cx: &mut Context, reason: Reason) {
        let (epoch, rank) = (self.round, cx.state.rank());
        cx.become_leading(epoch, reason);
        let others = cx.all_others();
        cx.mark_told(&others);
        cx.send_all(others, Message::Coordinator { epoch, rank });
    }

    /// "If P receives an Election message from another process with a lower ID it sends an
    /// Answer message back and starts the election process at the beginning."
    fn election(
        &mut self,
        cx: &mut Context,
        from: NodeId,
        round: Epoch,
        rank: Rank,
        eligible: bool,
    ) {
        let rank = Rank { id: from, ..rank };
        let known = cx.state.view().epoch;
        cx.note_round(round);
        if cx.state.is_promised(cx.now) {
            cx.send_view(from); // its vote is its leader's, for a while
            return;
        }
        cx.state.detector.change(from, |peer| peer.calls(round, eligible));
        let above = cx.state.is_above(rank, eligible);
        if above || !cx.state.is_eligible() {
            if cx.state.follows(from) && round > known {
                self.await_leader(cx, from, Reason::LeaderGaveUp(from)); // a leader does not elect
            }
            // Answering would shut down the better candidate. If it knows less, it is told.
            if cx.state.leader().is_some() || round <= known {
                cx.send_view(from);
            }
            if round > known && !cx.state.leads() {
                cx.send(from, Message::Lower { round });
                if cx.state.phase() == Phase::Electing && above && !cx.is_passed_over(from) {
                    self.await_leader(cx, from, Reason::Joined(from)); // or both would win
                }
            }
            return;
        }
        cx.answer_when_connected(from, vec![Message::Answer { round }]);
        if cx.state.phase() == Phase::Leading {
            self.remind(cx, from, round);
        } else if round <= known {
            cx.send_view(from);
        } else {
            self.join(cx, from, round);
        }
    }

    /// A leader repeats its COORDINATOR, in its unchanged epoch, to one who may have missed it.
    fn remind(&mut self, cx: &mut Context, to: NodeId, round: Epoch) {
        let epoch = cx.state.view().epoch;
        let told = cx.state.detector.get(to).is_some_and(|peer| peer.lines.is_told(epoch));
        if round > epoch || !told {
            cx.mark_told(&[to]);
            cx.send(to, Message::Coordinator { epoch, rank: cx.state.rank() });
        }
    }

    fn join(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if let Some(leader) = cx.state.lower_leader() {
            cx.take_over(leader.id, Reason::TakingOver(leader.id));
        } else if cx.state.elects() && !cx.state.rests(cx.now) && !cx.state.is_bound_to(from) {
            // One election at a time. But a leader whose epoch this member is about to store leads no more, if it elects.
        } else if cx.state.is_discovering(cx.now) {
            cx.state.epochs.invite(round);
        } else {
            // Below a round seen or reserved this member may have led already.
            let joined = Some(round)
                .filter(|r| *r >= cx.state.epochs.round() && *r > cx.state.epochs.floor());
            self.begin(cx, joined, Reason::Joined(from));
        }
    }

    /// Where all are asked, those that rank lower say so, and are not waited for. A member that says so to one that
    /// is not eligible, is not either.
    fn lower(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if round != self.round || !self.asked.contains(&from) || cx.state.phase() != Phase::Electing
        {
            return;
        }
        self.lower.insert(from);
        if !self.eligible {
            cx.state.detector.change(from, |peer| peer.set_eligible(false));
            cx.be_eligible_if_alone();
        }
        if self.has_heard_all(cx) {
            self.win_unless_unasked(cx, Reason::Highest);
        }
    }

    /// "It sends no further messages for this election and waits for a Victory message."
    fn answer(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if round != self.round || !self.asked.contains(&from) {
            return; // of an election that is over
        }
        if cx.is_passed_over(from) && cx.state.phase() == Phase::Electing {
            return; // it said so before, and did not lead: until T1 it may show that it does
        }
        match cx.state.phase() {
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

//! The bully election (Garcia-Molina 1982, in the form of seeds 000, 001, 003 and 004).
//!
//! A member that misses the leader sends ELECTION to all members that rank higher. An ANSWER ends its attempt, and it
//! waits for a COORDINATOR. Without an ANSWER within T1 it leads; its epoch is the round of that ELECTION.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::election::ElectionAlgorithm;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::candidacy::NominationAim;
use crate::core::leadership::{becoming, handover, nomination};
use crate::core::membership::Member;
use crate::core::message::{Message, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Rank, Time};

/// The state of an election, as far as this member takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bully {
    /// The round of this member's ELECTION.
    round: Epoch,
    /// When it began.
    started: Time,
    /// The members that were asked, dead or alive.
    asked: BTreeSet<NodeId>,
    /// Of these, the members that said that they rank lower.
    lower: BTreeSet<NodeId>,
    /// Whether this member was eligible when it asked them.
    eligible: bool,
    /// The leader handed over to this member, which need not ask anybody.
    succeeds: bool,
    /// The members that answered, or that are expected to lead for another reason.
    awaited: BTreeSet<NodeId>,
}

impl ElectionAlgorithm for Bully {
    fn start(&mut self, cx: &mut Context, reason: Reason) {
        self.begin(cx, None, reason);
    }

    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View> {
        match *message {
            Message::Election { round, rank, eligible } => {
                self.called(cx, from, round, rank, eligible);
            }
            Message::Answer { round } => self.answer(cx, from, round),
            Message::Lower { round } => self.lower(cx, from, round),
            _ => {}
        }
        None
    }

    fn expire(&mut self, cx: &mut Context, timer: Timer) {
        match timer {
            Timer::Answer if cx.dials_anew(timer, &self.unheard(), self.started) => {}
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

    fn go_on(&mut self, cx: &mut Context, _: NominationAim, _: Epoch) {
        // It has asked the higher members that appeared meanwhile: its T1 runs.
        if cx.state.timers.due(Timer::Answer).is_none() {
            self.win_unless_unasked(cx, Reason::Highest);
        }
    }

    fn lost(&mut self, cx: &mut Context, peer: NodeId) {
        match cx.state.phase() {
            // A rival that this member would have asked once connected counts as asked.
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
            // The question to it may be lost; it is asked again once it can be reached.
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
        becoming::become_waiting(cx, cx.now, reason);
    }
}

/// Whether a peer may rank higher than this member, or may be elected concurrently, not knowing that this member is
/// eligible again. (With a majority two members cannot both win.) (A3)
fn is_rival(cx: &Context, peer: &Peer) -> bool {
    let doubted = cx.state.eligibility_unannounced() && !cx.state.needs_majority();
    let may_lead = || cx.state.membership.list().get(peer.id()).is_some_and(Member::may_lead);
    cx.state.may_be_above(peer) || doubted && may_lead()
}

fn is_known_rival(cx: &Context, id: NodeId) -> bool {
    cx.state.detector.get(id).is_some_and(|peer| is_rival(cx, peer))
}

/// The rivals among the unsuspected members. (B1)
fn rivals(cx: &Context) -> impl Iterator<Item = NodeId> {
    let counts = |peer: &&Peer| peer.counts() || Fault::DeadStayHigher.is_planted();
    cx.state.detector.iter().filter(counts).filter(|peer| is_rival(cx, peer)).map(Peer::id)
}

impl Bully {
    /// "Broadcasts an Election message to all other processes with higher process IDs than itself", or wins
    /// immediately if there are none.
    fn begin(&mut self, cx: &mut Context, joined: Option<Epoch>, reason: Reason) {
        let round = joined.unwrap_or_else(|| cx.next_round());
        *self = Bully {
            round,
            started: cx.now,
            succeeds: nomination::succeeds(cx.state),
            ..Bully::default()
        };
        cx.raise_round(round);
        cx.freeze_rank();
        let rivals = self.unasked(cx);
        if !rivals.is_empty() {
            becoming::become_electing(cx, reason);
            self.ask(cx, rivals.into_iter().collect());
        } else if cx.state.is_eligible() {
            self.win(cx, reason);
        } else {
            becoming::become_waiting(cx, cx.now, Reason::MayNotLead);
        }
    }

    /// Sends ELECTION; T1 runs from the latest one.
    fn ask(&mut self, cx: &mut Context, to: Vec<NodeId>) {
        // Without both connections the question or the answer is lost: then it asks again.
        let connected = |id: &&NodeId| cx.state.detector.get(**id).is_some_and(Peer::connected);
        self.asked.extend(to.iter().filter(connected));
        let (rank, eligible) = (cx.state.rank(), cx.state.is_eligible());
        self.eligible |= eligible;
        cx.send_all(to, Message::Election { round: self.round, rank, eligible });
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
    }

    /// Whether this member awaits the outcome of an election, and the lost peer was the last that could bring it.
    fn waits_for_the_last(&mut self, cx: &Context, peer: NodeId) -> bool {
        !cx.state.is_bound() && self.awaited.remove(&peer) && self.awaited.is_empty()
    }

    /// The best of those that answered was to lead, or to let a better member win, and neither happened.
    fn pass_over_best(&self, cx: &mut Context) {
        let awaited = self.awaited.iter().filter_map(|id| cx.state.detector.get(*id));
        let best = awaited.filter(|peer| peer.counts()).map(|peer| peer.rank()).max();
        if let Some(best) = best.filter(|_| cx.state.phase() == Phase::Waiting) {
            reach::pass_over(cx, best.id, cx.state.settings.timing.t2());
        }
    }

    /// The members that were asked, and have not said that they rank lower.
    fn unheard(&self) -> BTreeSet<NodeId> {
        self.asked.difference(&self.lower).copied().collect()
    }

    /// Whether all members that were asked are suspected or dead, or said that they rank lower, and this member has
    /// not won meanwhile.
    fn has_heard_all(&self, cx: &Context) -> bool {
        let mut awaited = self.asked.difference(&self.lower);
        !cx.state.candidacy.is_parked() && !awaited.any(|id| cx.state.detector.counts(*id))
    }

    /// T1 ends early when all members that were asked are suspected or dead.
    fn lost_asked(&mut self, cx: &mut Context) {
        let last_leader = cx.state.view().leader.map(|leader| leader.id);
        if !self.has_heard_all(cx) {
            return;
        }
        if self.asked.iter().all(|id| Some(*id) == last_leader) {
            self.win_unless_unasked(cx, Reason::NoAnswer);
        } else {
            self.begin(cx, None, Reason::NoAnswer); // the lost member may have won this round
        }
    }

    /// T1 has passed: asks the higher members that appeared or could not be asked meanwhile, for as long as a
    /// connection may take; or wins.
    fn win_unless_unasked(&mut self, cx: &mut Context, reason: Reason) {
        let timing = cx.state.settings.timing;
        // With a majority a higher member that is not connected yet cannot win too: it takes over later.
        let limit = if cx.state.needs_majority() { timing.t1() } else { timing.failure };
        let may_wait = cx.now < self.started + limit;
        let mut unasked = self.unasked(cx);
        if !may_wait && !unasked.is_empty() {
            cx.suspect_unheard(&unasked, self.started);
            unasked = self.unasked(cx);
        }
        let (all_asked, eligible) = (unasked.is_empty(), cx.state.is_eligible());
        if self.is_eligible_by_now(cx) {
            self.begin(cx, None, reason);
        } else if may_wait && !all_asked {
            self.ask(cx, unasked.into_iter().collect());
        } else if all_asked && !eligible {
            // All were asked, and are gone or not eligible either: this member waits until one of them is eligible
            // again.
            becoming::become_waiting(cx, cx.now, Reason::MayNotLead);
        } else if all_asked && self.round > cx.state.view().epoch {
            self.win(cx, reason);
        } else {
            self.begin(cx, None, reason);
        }
    }

    /// Whether this member is eligible, and was not when it asked: the replies then do not say who is to lead. Some
    /// of the others may be eligible by now as well, as they found the same. (A3)
    fn is_eligible_by_now(&self, cx: &Context) -> bool {
        cx.state.is_eligible() && !self.eligible && !self.asked.is_empty()
    }

    /// The rivals that were not asked yet.
    fn unasked(&self, cx: &Context) -> BTreeSet<NodeId> {
        if self.succeeds && cx.state.is_eligible() {
            return BTreeSet::new();
        }
        rivals(cx).filter(|id| !self.asked.contains(id)).collect()
    }

    /// Leads as soon as the round, which becomes the epoch, is durable and the voters agree.
    fn win(&mut self, cx: &mut Context, reason: Reason) {
        if nomination::nominate(cx, self.round, NominationAim::Lead, &reason) {
            self.lead(cx, reason);
        }
    }

    /// "It sends a Victory message to all other processes and becomes the new Coordinator."
    fn lead(&mut self, cx: &mut Context, reason: Reason) {
        let (epoch, rank) = (self.round, cx.state.rank());
        becoming::become_leading(cx, epoch, reason);
        let others = cx.all_others();
        cx.mark_announced(&others);
        cx.send_all(others, Message::Coordinator { epoch, rank });
    }

    /// "If P receives an Election message from another process with a lower ID it sends an
    /// Answer message back and starts the election process at the beginning."
    fn called(&mut self, cx: &mut Context, from: NodeId, round: Epoch, rank: Rank, eligible: bool) {
        let rank = Rank { id: from, ..rank };
        let known = cx.state.view().epoch;
        cx.raise_round(round);
        if cx.state.is_promised(cx.now) {
            cx.send_view(from); // this voter has promised its vote to its leader
            return;
        }
        cx.state.detector.change(from, |peer| peer.calls(round, eligible));
        let above = cx.state.is_above(rank, eligible);
        if above || !cx.state.is_eligible() {
            if cx.state.follows(from) && round > known {
                self.await_leader(cx, from, Reason::LeaderGaveUp(from)); // a leader does not elect
            }
            // An ANSWER would end the better candidate's attempt. A candidate that knows less gets the view.
            if cx.state.leader().is_some() || round <= known {
                cx.send_view(from);
            }
            if round > known && !cx.state.leads() {
                cx.send(from, Message::Lower { round });
                // With a majority, each of two that ask each other goes by the other's reply: where they differ in who
                // comes and goes, neither answers, and neither waits for the other. (S5)
                let replies = cx.state.needs_majority() && self.asked.contains(&from);
                if cx.state.phase() == Phase::Electing
                    && above
                    && !replies
                    && !reach::is_passed_over(cx.state, from)
                {
                    self.await_leader(cx, from, Reason::Joined(from)); // or both would win
                }
            }
            return;
        }
        cx.answer_when_connected(from, vec![Message::Answer { round }]);
        if cx.state.leads() {
            self.remind(cx, from, round);
        } else if round <= known {
            cx.send_view(from);
        } else {
            self.join(cx, from, round);
        }
    }

    /// A leader repeats its COORDINATOR, in its unchanged epoch, to a member that may have missed it.
    fn remind(&mut self, cx: &mut Context, to: NodeId, round: Epoch) {
        let epoch = cx.state.view().epoch;
        let announced =
            cx.state.detector.get(to).is_some_and(|peer| peer.lines.is_announced(epoch));
        if round > epoch || !announced {
            cx.mark_announced(&[to]);
            cx.send(to, Message::Coordinator { epoch, rank: cx.state.rank() });
        }
    }

    fn join(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if let Some(leader) = cx.state.lower_leader() {
            handover::take_over(cx, leader.id, Reason::TakingOver(leader.id));
        } else if cx.state.elects()
            && !cx.state.has_backed_off(cx.now)
            && !cx.state.is_bound_to(from)
        {
            // One election at a time; unless a leader elects whose epoch this member is about to store: it does not
            // lead any more. (W5)
        } else if cx.state.is_discovering(cx.now) {
            cx.state.epochs.invite(round);
        } else {
            // In a round below the greatest seen or reserved this member may have led already.
            let joined = Some(round)
                .filter(|r| *r >= cx.state.epochs.round() && *r > cx.state.epochs.floor());
            self.begin(cx, joined, Reason::Joined(from));
        }
    }

    /// If all members are asked, those that rank lower say so, and this member does not wait for them. A LOWER sent
    /// to an ineligible asker means that the sender is ineligible too.
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

    /// "It sends no further messages for this election and waits for a Victory message." (E3)
    fn answer(&mut self, cx: &mut Context, from: NodeId, round: Epoch) {
        if round != self.round || !self.asked.contains(&from) {
            return; // of an election that is over
        }
        if reach::is_passed_over(cx.state, from) && cx.state.phase() == Phase::Electing {
            return; // it answered before, and did not lead: until T1 it may show that it does
        }
        match cx.state.phase() {
            Phase::Electing => {
                self.awaited = BTreeSet::from([from]);
                becoming::become_waiting(cx, self.started, Reason::Answered(from));
            }
            Phase::Waiting => {
                self.awaited.insert(from);
            }
            _ => {}
        }
    }
}

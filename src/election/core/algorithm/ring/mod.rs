//! The ring election of Chang and Roberts, with the hierarchy of initiators and the repair of
//! seed 004.
//!
//! The members form a ring in id order, and each sends to the next live one. A member that misses the leader sends a
//! ballot around. A member that outranks the ballot's candidate puts itself there. The candidate whose ballot comes
//! back leads, in the epoch of the run, and its announcement goes once around. `repair.rs` keeps the ring whole.

mod doubt;
mod repair;
mod view;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use doubt::Doubts;
use view::{
    as_known, asks_without_lap, decided, is_before, is_gone, is_of_lower_class, left_out_leader,
    most_hops, own, run_timeout,
};

use crate::core::algorithm::election::ElectionAlgorithm;
use crate::core::context::Context;
use crate::core::course::PhaseState;
use crate::core::detector::Peer;
use crate::core::leadership::candidacy::NominationAim;
use crate::core::leadership::{becoming, handover, nomination};
use crate::core::message::{Ballot, Candidate, Lap, Message, Run, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Time};

/// The state of an election, as far as this member takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ring {
    /// The greatest run that this member has taken part in.
    run: Run,
    /// The candidate of the last ballot that this member sent in this run; none if it has not participated: this is
    /// the flag of the seed.
    candidate: Option<Candidate>,
    /// How often that ballot had been sent: one that comes again with more hops has made a lap.
    hops: u32,
    /// In how many consecutive runs a member kept the ballot, so that this one sent it past that member.
    swallowed: u32,
    /// Whether that happened in this run.
    sent_past: bool,
    /// The greatest run whose announcement has passed here.
    announced: Run,
    /// The last message that this member sent, and its receiver.
    last: Option<(Message, NodeId)>,
    /// The ballot of the greatest run that came while this member was discovering the others, and since when it does
    /// that.
    kept: Option<(Ballot, Time)>,
    /// The last ballot that was sent past a live leader. If the leader is gone after all, this member takes the
    /// ballot up.
    left_out: Option<Ballot>,
    /// The member whose announcement is awaited.
    awaited: Option<NodeId>,
    probes: u64,
    /// The candidates whose ballot or announcement this member stopped because it took them for dead.
    doubts: Doubts,
}

impl ElectionAlgorithm for Ring {
    /// Takes up the run that this member was drawn into while it was discovering the others, or still heard the
    /// leader; otherwise begins a run.
    fn start(&mut self, cx: &mut Context, reason: Reason) {
        let looked = (cx.state.phase() == Phase::Starting).then_some(cx.state.course.since());
        let kept = self.kept.take().filter(|(_, since)| Some(*since) == looked);
        let left_out =
            self.left_out.take().filter(|ballot| ballot.run.epoch == cx.state.epochs.round());
        match kept.map(|(ballot, _)| ballot).or(left_out) {
            Some(ballot)
                if self.is_open(cx, ballot.run)
                    && !self.doubts.is_lost(cx, ballot.candidate, ballot.run) =>
            {
                self.vote(cx, ballot, reason);
            }
            _ => self.begin(cx, reason),
        }
    }

    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View> {
        match *message {
            _ if cx.state.phase() == Phase::Stopping => None,
            Message::Ballot(ballot) => {
                self.ballot(cx, from, ballot);
                None
            }
            Message::Lap(lap) => self.lap(cx, from, lap),
            _ => None,
        }
    }

    fn expire(&mut self, cx: &mut Context, timer: Timer) {
        match timer {
            Timer::Answer => self.send_past(cx),
            Timer::Coordinator => {
                let votes = cx.state.phase() == Phase::Electing;
                self.pass_over_candidate(cx);
                self.begin(cx, if votes { Reason::BallotLost } else { Reason::NoCoordinator });
            }
            Timer::Pulse => self.pulse(cx),
            _ => {}
        }
    }

    fn go_on(&mut self, cx: &mut Context, aim: NominationAim, round: Epoch) {
        if aim == NominationAim::Call {
            self.initiate(cx, round, Reason::MajorityAgrees);
        } else if cx.state.is_eligible() && self.run.epoch > cx.state.view().epoch {
            self.returned(cx, None, Reason::BallotBack); // it may still have to ask for votes
        } else {
            self.begin(cx, Reason::BallotLost);
        }
    }

    fn lost(&mut self, cx: &mut Context, peer: NodeId) {
        self.repair(cx, peer);
    }

    fn joined(&mut self, cx: &mut Context, peer: NodeId) {
        if cx.state.timers.due(Timer::Pulse).is_none() {
            cx.arm(Timer::Pulse, cx.state.settings.timing.heartbeat);
        }
        self.mend(cx, peer);
    }

    fn answered(&mut self, cx: &mut Context, from: NodeId, view: View) {
        self.stop_sending_past(cx, from, view);
    }

    fn finds_nobody(&self, state: &State) -> bool {
        let returned = state.phase() == Phase::Waiting && self.awaited.is_none();
        let laps = state.phase() == Phase::Electing && self.candidate.is_some_and(|n| !n.eligible);
        (returned || laps) && !state.is_bound()
    }

    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason) {
        self.awaited = Some(leader);
        becoming::join_run(cx, PhaseState::Waiting(None), run_timeout(cx), reason);
    }
}

impl Ring {
    /// Whether a run may still elect a leader, as far as this member knows.
    fn is_open(&self, cx: &Context, run: Run) -> bool {
        run.epoch > decided(cx) && run >= self.run
    }

    /// Begins a run. A member that is still discovering the others finishes that first.
    fn call(&mut self, cx: &mut Context, reason: Reason) {
        if !becoming::keeps_discovering(cx, &reason) {
            self.begin(cx, reason);
        }
    }

    /// "Starts election by sending an ELECTION msg to its clockwise neighbor", with "it's own ID,
    /// and attr value".
    fn begin(&mut self, cx: &mut Context, reason: Reason) {
        let round = cx.next_round();
        cx.raise_round(round);
        if nomination::succeeds(cx.state) && cx.state.is_eligible() {
            self.initiate(cx, round, reason); // the leader that handed over has freed the voters
        } else if nomination::nominate(cx, round, NominationAim::Call, &reason) {
            self.initiate(cx, round, reason);
        }
    }

    /// Sends a ballot around, unless this member asks the voters without a lap.
    fn initiate(&mut self, cx: &mut Context, epoch: Epoch, reason: Reason) {
        let hierarchy = cx.state.settings.hierarchy;
        let initiator = if hierarchy { cx.state.id() } else { NodeId::default() };
        let run = Run { epoch, initiator };
        self.take_part(cx, run, reason.clone());
        if nomination::succeeds(cx.state) && cx.state.is_eligible() || asks_without_lap(cx) {
            return self.returned(cx, None, reason);
        }
        self.nominate(cx, Ballot { run, candidate: own(cx), hops: 0 });
    }

    /// Joins a run, and leaves any lesser one. In the new run this member has not participated yet. (R1)
    fn take_part(&mut self, cx: &mut Context, run: Run, reason: Reason) {
        if run > self.run {
            self.run = run;
            self.candidate = self.candidate.filter(|_| Fault::FlagKept.is_planted());
            self.swallowed = if self.sent_past { self.swallowed + 1 } else { 0 };
            self.sent_past = false;
        }
        cx.freeze_rank();
        let called_by_leader = cx.state.view().leader.is_some_and(|last| last.id == run.initiator);
        if called_by_leader {
            cx.state.course.expect_no_heartbeat(); // it is alive, but sends no heartbeats
        }
        becoming::join_run(cx, PhaseState::Electing, run_timeout(cx), reason);
    }

    fn ballot(&mut self, cx: &mut Context, from: NodeId, ballot: Ballot) {
        cx.raise_round(ballot.run.epoch);
        let Candidate { rank, eligible, incarnation } = ballot.candidate;
        cx.state.detector.change(rank.id, |peer| {
            if peer.incarnation() == incarnation {
                peer.set_eligible(eligible);
            }
        });
        if self.stays_out(cx, from, ballot.run) {
            return;
        }
        if let Some(leader) = cx.state.lower_leader() {
            handover::take_over(cx, leader.id, Reason::TakingOver(leader.id));
        } else if left_out_leader(cx, from) {
            cx.send_view(from);
            self.left_out = Some(ballot);
        } else if cx.state.is_discovering(cx.now)
            && (ballot.hops == 0 || !Fault::EarlyBallot.is_planted())
        {
            self.keep(cx, ballot, from);
        } else if ballot.hops > most_hops(cx)
            || self.doubts.is_lost(cx, ballot.candidate, ballot.run)
        {
            self.ask(cx, vec![ballot.candidate.rank.id]); // others think that it lives
            self.begin(cx, Reason::BallotLost);
            self.doubts.add(cx, ballot.candidate, ballot.run);
        } else {
            self.vote(cx, ballot, Reason::Joined(from));
        }
    }

    /// Whether this member takes no part in a run that a ballot belongs to. Then it tells the sender why, or does what
    /// ends that run.
    fn stays_out(&mut self, cx: &mut Context, from: NodeId, run: Run) -> bool {
        // This voter has promised its vote to its leader or to itself. (R7)
        let promised = cx.state.is_promised(cx.now) || cx.state.candidacy.awaits_votes();
        if run.epoch <= decided(cx) || self.is_back_from(cx, run) {
            cx.send_view(from);
        } else if cx.state.leads() {
            // The epoch does not change while a leader leads: it reminds all.
            cx.arm(Timer::Heartbeat, Duration::ZERO);
        } else if promised {
            cx.send_view(from);
        } else if cx.state.course.takeover().is_some() {
            // After its release the lower leader begins a greater run.
        } else if asks_without_lap(cx) && !cx.state.candidacy.is_denied() {
            // It joins no run meanwhile: the sender of this ballot may spoil each lap.
            if !cx.state.candidacy.is_parked() {
                self.call(cx, Reason::BallotLost);
            }
        } else if run < self.run && cx.state.phase() == Phase::Waiting {
            self.call(cx, Reason::Joined(from)); // both runs may have been stopped in favour of this member's
        } else if run < self.run && run.epoch < self.run.epoch {
            self.draw_in(cx, from);
        } else {
            return run < self.run;
        }
        true
    }

    /// A member that is still discovering the others does not know its next neighbour yet.
    fn keep(&mut self, cx: &mut Context, ballot: Ballot, from: NodeId) {
        if cx.state.phase() != Phase::Starting {
            becoming::become_starting(cx, Reason::Joined(from));
        }
        let since = cx.state.course.since();
        let greater = self.kept.is_some_and(|(kept, at)| at == since && kept.run > ballot.run);
        if !greater {
            self.kept = Some((ballot, since));
        }
    }

    /// Sends a ballot on, or stops it. In an epoch that it reserved before, this member may have led already: if no
    /// other member may lead, it calls a greater run. (W2)
    fn vote(&mut self, cx: &mut Context, ballot: Ballot, reason: Reason) {
        let below = ballot.run.epoch <= cx.state.epochs.floor();
        if below && is_of_lower_class(cx, ballot.candidate) {
            return self.begin(cx, reason);
        }
        let by = if let Reason::Joined(from) = reason { Some(from) } else { None };
        if ballot.run > self.run || cx.state.phase() != Phase::Electing {
            self.take_part(cx, ballot.run, reason);
        }
        let (mut own, candidate) = (own(cx), as_known(cx, ballot.candidate));
        let open = ballot.run.epoch > cx.state.epochs.floor();
        own.eligible &= open;
        let better = self.candidate.is_some_and(|sent| sent > candidate);
        if better {
            // A better candidate has gone on. After a repair both ballots might come back. (R1)
        } else if candidate.rank.id == own.rank.id {
            if candidate.incarnation == own.incarnation && open {
                self.returned(cx, by, Reason::BallotBack);
            }
        } else if self.candidate == Some(candidate) {
            // The ballot came again: from a member that repairs the ring, or after a lap without its candidate.
            if ballot.hops > self.hops && !Fault::LapOn.is_planted() {
                self.send_straight(cx, ballot);
            }
        } else if !own.eligible || !is_before(cx, own, ballot.candidate) {
            self.nominate(cx, ballot);
        } else if self.candidate.is_none() {
            self.nominate(cx, Ballot { candidate: own, ..ballot });
        }
    }

    fn nominate(&mut self, cx: &mut Context, ballot: Ballot) {
        self.candidate = Some(as_known(cx, ballot.candidate));
        let ballot = Ballot { hops: ballot.hops.saturating_add(1), ..ballot };
        self.hops = ballot.hops;
        self.pass_on(cx, Message::Ballot(ballot));
        self.expect_lap(cx);
    }

    /// "If msg comes back to you: i.e. id matches your id, you are the leader, and you have the highest attr." If
    /// this member may not lead, none of the members that passed the ballot on may.
    fn returned(&mut self, cx: &mut Context, by: Option<NodeId>, reason: Reason) {
        if !cx.state.is_eligible() {
            self.awaited = self.send_to_left_out(cx, by);
            becoming::join_run(cx, PhaseState::Waiting(None), run_timeout(cx), Reason::MayNotLead);
        } else if nomination::nominate(cx, self.run.epoch, NominationAim::Lead, &reason) {
            self.lead(cx, reason);
        }
    }

    /// "Leader sends an ELECTED msg around the ring, announcing itself as leader."
    fn lead(&mut self, cx: &mut Context, reason: Reason) {
        becoming::become_leading(cx, self.run.epoch, reason);
        self.announced = self.run;
        let lap = Lap { run: self.run, leader: own(cx), hops: 1 };
        self.pass_on(cx, Message::Lap(lap));
    }

    /// Passes an announcement on, once. Returns the leader to follow.
    fn lap(&mut self, cx: &mut Context, from: NodeId, lap: Lap) -> Option<View> {
        let Lap { run, leader, hops } = lap;
        let view = View { epoch: run.epoch, leader: Some(leader.rank) };
        cx.raise_round(run.epoch);
        if leader.rank.id == cx.state.id() || run <= self.announced || hops > most_hops(cx) {
            return None; // it has passed here before
        }
        if cx.state.compare(view).is_lt() {
            cx.send_view(from);
            return None;
        }
        if run < self.run && cx.state.phase() == Phase::Electing {
            return None;
        }
        if self.doubts.is_lost(cx, leader, run) {
            self.ask(cx, vec![leader.rank.id]);
            self.call(cx, Reason::BallotLost);
            self.doubts.add(cx, leader, run);
            return None;
        }
        self.announced = run;
        self.pass_on(cx, Message::Lap(Lap { hops: hops + 1, ..lap }));
        // This member cannot watch a leader that it has not met: that leader will say hello. (R6)
        let met = cx.state.detector.get(leader.rank.id);
        let same = |peer: &Peer| peer.incarnation() == leader.incarnation && !is_gone(cx, leader);
        met.is_some_and(|peer| same(peer) || Fault::UnmetLeader.is_planted()).then_some(view)
    }
}

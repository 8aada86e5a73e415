//! One call of the core, with the algorithm at hand: it handles an input, and the loss and return of members.

use std::time::Duration;

use super::algorithm::Algorithm;
use super::api::{Input, Output, Redial};
use super::context::Context;
use super::detector::{ConnectionId, Peer};
use super::durable::Then;
use super::leadership::question::Stage;
use super::message::{Envelope, Liveness, Message};
use super::note::Note;
use super::phase::{Phase, Reason};
use super::timer::Timer;
use super::types::NodeId;

pub(super) struct Turn<'a> {
    pub cx: Context<'a>,
    pub algorithm: &'a mut Algorithm,
}

impl Turn<'_> {
    pub fn take(&mut self, input: Input) {
        match input {
            Input::Tick => self.tick(),
            Input::Stalled { time } => self.recover_from(time),
            Input::Dialed { peer, attempt } => self.dialed(peer, attempt),
            Input::Hello { connection, address, hello } => self.hello(connection, address, hello),
            Input::Welcomed { peer, welcome } => self.welcomed(peer, welcome),
            Input::Rejected { peer, reason } => self.rejected(peer, reason),
            Input::Refused { peer } => self.redialed(peer, Redial::Refused),
            Input::Lost { peer } => {
                self.cx.state.detector.change(peer, |peer| peer.lines.set_up(false))
            }
            Input::Ended { connection, peer, redial } => self.ended(connection, peer, redial),
            Input::Message { connection, from, envelope } => {
                self.message(connection, from, envelope);
            }
            Input::Sampled { value } => self.sampled(value),
            Input::Checked { healthy } => self.checked(healthy),
            Input::StandBack => self.stand_back(),
            Input::Timed { timing } => self.retime(timing),
            Input::Persisted { number } => self.persisted(number),
            Input::JobStarted { stops_within } => self.cx.state.endings.job.start(stops_within),
            Input::JobEnded => self.job_ended(),
            Input::Command { id, command } => self.command(id, command),
        }
    }

    fn tick(&mut self) {
        while let Some(timer) = self.cx.state.timers.take_due(self.cx.now) {
            match timer {
                Timer::PowerOn => {
                    self.say_who_is_unmet();
                    self.call(Reason::NobodyLeads);
                }
                Timer::Heartbeat => self.beat(),
                Timer::Silence => self.look_for_silence(),
                Timer::Forward => self.forwards_expired(),
                Timer::Change => self.change_expired(),
                Timer::Voters => self.voters_expired(),
                Timer::Lease => self.end_lease(),
                Timer::Coordinator => self.nobody_came(),
                Timer::Job => self.job_overdue(),
                Timer::Reach => {} // handled at the end of the turn
                Timer::Answer | Timer::Check | Timer::Pulse => {
                    self.algorithm.get().expire(&mut self.cx, timer);
                }
            }
        }
    }

    fn message(&mut self, connection: ConnectionId, from: NodeId, envelope: Envelope) {
        let closed = self.inbound(from) != Some(connection); // or replaced
        if closed || self.is_beyond_belief(from, &envelope) {
            return;
        }
        self.cx.note_round(envelope.epoch);
        if self.cx.state.detector.hear(from, self.cx.now) {
            self.joined(from);
        }
        match envelope.message {
            Message::Coordinator { epoch, rank } => {
                self.announced(from, epoch, rank);
            }
            Message::Heartbeat { epoch, number, rank, lease, settled, members, pause, chosen } => {
                let leader = (from, envelope.incarnation);
                self.heartbeat(leader, epoch, number, rank, lease, (&members, pause, chosen));
                if self.cx.state.follows(from) {
                    self.cx.state.membership.hear_committed(settled);
                }
            }
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause } => {
                self.cx.hear_pause(pause);
                self.acknowledged(from, (incarnation, epoch, number), rank, eligible);
            }
            Message::View(view) => self.replied(from, view),
            Message::Preempt { epoch, rank, votes } => {
                self.preempted(from, epoch, rank, &votes);
            }
            Message::PreVote { number, epoch, list } if self.votes() => {
                self.asked_pre_vote(from, number, epoch, list);
            }
            Message::VoteRequest { number, epoch, lease, list } if self.votes() => {
                let candidate = (from, envelope.incarnation);
                self.asked_for_vote(candidate, number, epoch, lease, list);
            }
            Message::PreVote { .. } | Message::VoteRequest { .. } => {} // heard
            alive @ Message::Alive { .. } => self.told_algorithm(from, &alive),
            Message::PreVoteReply { number, opinion, epoch } => {
                self.opinion(from, Stage::PreVote, number, opinion, epoch);
            }
            Message::Denial { number, opinion, epoch } => {
                self.opinion(from, Stage::Vote, number, opinion, epoch);
            }
            Message::Vote { incarnation, number, epoch } => {
                self.cx.hear_vote(from, incarnation, number, epoch);
            }
            Message::Probe { number } => {
                self.cx.tell_if_behind(from);
                self.cx.send(from, Message::Alive { number });
            }
            Message::Release { epoch, successor, eligible } => {
                self.released(from, epoch, successor, eligible);
            }
            Message::Freed { leader, epoch } => self.freed(from, leader, epoch),
            Message::Timing { timing } => self.told_timing(from, timing),
            Message::Forward { number, command } => self.forwarded(from, number, command),
            Message::Outcome { number, result } => self.cx.hear_outcome(from, number, result),
            Message::List { list } => self.list(from, envelope.epoch, &list),
            Message::Listed { version } => self.listed(from, version),
            message => {
                self.cx.tell_if_behind(from);
                if self.cx.state.eligibility.has_resigned() && self.cx.state.elects() {
                    self.cx.suspect_unreachable(); // it may be asked too often to notice that its elections fail
                }
                self.told_algorithm(from, &message);
            }
        }
    }

    /// Hands the algorithm one of its own messages, and follows the leader that the message announces.
    fn told_algorithm(&mut self, from: NodeId, message: &Message) {
        let announced = self.algorithm.get().receive(&mut self.cx, from, message);
        // A greater epoch may have become known since the election began.
        let present = announced.filter(|view| self.cx.state.compare(*view).is_ge());
        if let Some(view) = present {
            self.passed_on(from, view);
        }
    }

    /// All records up to this number are durable: continues what waited for them.
    pub fn persisted(&mut self, number: u64) {
        self.cx.state.candidacy.disk_writes();
        let in_time = self.cx.state.longest_vote();
        for then in self.cx.state.records.written(number, in_time, self.cx.now) {
            let (own, state) = (self.cx.state.id(), &mut *self.cx.state);
            match then {
                Then::Reserve(_) | Then::Vote => {} // the queue itself knows
                Then::Promise(longest) => state.voter.stored_promise(longest),
                Then::List => state.membership.store(own),
                Then::Tell(to, message) => self.tell_durable(to, message),
                Then::Answer(id, done) => self.cx.answer(id, Ok(done)),
            }
        }
        match self.cx.state.course.take_stored() {
            Some(view) => self.follow_stored(view),
            None => self.unpark(),
        }
    }

    /// Whether a message has impossible numbers, or is one that its sender never sends: then its connection is
    /// closed.
    fn is_beyond_belief(&mut self, from: NodeId, envelope: &Envelope) -> bool {
        let Some(reason) = self.cx.state.objection_to(from, envelope) else { return false };
        self.close_inbound(from);
        self.cx.out.push(Output::Note(Note::Refused { peer: from, reason }));
        true
    }

    /// An inbound connection ended: the peer is gone if it refused a redial, suspected if the redial failed
    /// otherwise, and neither if the redial was accepted.
    fn ended(&mut self, connection: ConnectionId, id: NodeId, redial: Redial) {
        if self.inbound(id) != Some(connection) {
            return; // replaced by a newer one
        }
        self.cx.state.detector.change(id, |peer| peer.lines.end());
        self.cx.out.push(Output::Disconnect { peer: id });
        if redial == Redial::Refused && self.cx.state.settings.trust_refused {
            // The process that spoke there is gone, and no later one has said hello since.
            self.cx.state.voter.release_all(id);
        }
        self.redialed(id, redial);
    }

    /// The connection on which a peer speaks at present.
    fn inbound(&self, id: NodeId) -> Option<ConnectionId> {
        self.cx.state.detector.get(id)?.lines.inbound()
    }

    /// The outcome of a dial to a peer.
    fn redialed(&mut self, id: NodeId, redial: Redial) {
        let (now, failure) = (self.cx.now, self.cx.state.settings.timing.failure);
        // A connection that was silent for `failure` may be dead: then the outcome of the dial counts.
        let doubted = |peer: &Peer| !peer.heard_within(failure, now);
        let peer = self.cx.state.detector.get(id);
        let connected = peer.is_none_or(|peer| peer.lines.inbound().is_some() && !doubted(peer));
        // A process that this member never met may run elsewhere: perhaps the address is wrong.
        let met = peer.is_some_and(|peer| peer.incarnation().0 > 0);
        match redial {
            _ if connected => {}
            Redial::Accepted => {}
            Redial::Refused if self.cx.state.settings.trust_refused && met => {
                self.lose(id, Liveness::Dead, Reason::LeaderDead(id));
            }
            Redial::Refused | Redial::Failed => {
                self.lose(id, Liveness::Suspected, Reason::LeaderDisconnected(id));
            }
        }
    }

    /// A member that missed its turn counts itself as failed, before it handles anything else (seed 000: processes
    /// obey fail-stop): it closes its connections and discovers the others anew.
    pub fn recover_if_stalled(&mut self) {
        let state = &self.cx.state;
        let stalled = match state.course.beaten() {
            Some(beaten) => self.cx.now.since(beaten),
            None => state.timers.lateness(self.cx.now),
        };
        self.recover_from(stalled);
    }

    /// A short pause, or one while this member does not take part, is no failure.
    fn recover_from(&mut self, stalled: Duration) {
        let state = &self.cx.state;
        let takes_part = !matches!(state.phase(), Phase::Stopping | Phase::Starting);
        if !takes_part || stalled <= state.settings.timing.stall() {
            return;
        }
        self.cx.give_up(None);
        let failure = self.cx.state.settings.timing.failure;
        self.cx.state.course.stalled(failure, self.cx.now);
        for id in self.cx.state.detector.ids() {
            self.cx.state.detector.change(id, |peer| {
                peer.lines.end();
                peer.lines.is_looked_for();
                peer.suspect();
            });
            self.cx.out.push(Output::Disconnect { peer: id });
        }
        self.cx.become_starting(Reason::Stalled(stalled));
    }
}

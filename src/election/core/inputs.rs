//! The inputs of the core: which room handles each, and what ends a connection or this member's part in a turn.

use std::time::Duration;

use super::admission;
use super::answers;
use super::api::{Input, Output, Redial};
use super::context::Context;
use super::detector::{ConnectionId, Peer};
use super::durable::Deferred;
use super::forwarding;
use super::heartbeat;
use super::leadership::question::QuestionStage;
use super::leadership::{
    announcement, becoming, call, certified, ending, handover, judging, nomination, tally, voting,
};
use super::membership::{change, own, replication};
use super::message::{Envelope, Liveness, Message};
use super::note::Note;
use super::objection;
use super::pause;
use super::phase::{Phase, Reason};
use super::ranking;
use super::retiming;
use super::state::State;
use super::timer::Timer;
use super::turn::Turn;
use super::types::NodeId;

pub fn take(turn: &mut Turn<'_>, input: Input) {
    match input {
        Input::Tick => tick(turn),
        Input::Stalled { time } => recover_from(&mut turn.cx, time),
        Input::Dialed { peer, attempt } => admission::dialed(&mut turn.cx, peer, attempt),
        Input::Hello { connection, address, hello } => {
            admission::hello(turn, connection, address, hello)
        }
        Input::Welcomed { peer, welcome } => admission::welcomed(turn, peer, welcome),
        Input::Rejected { peer, reason } => admission::rejected(turn, peer, reason),
        Input::Refused { peer } => redialed(turn, peer, Redial::Refused),
        Input::Dead(certificate) => certified::hear(turn, None, certificate),
        Input::Lost { peer } => {
            turn.cx.state.detector.change(peer, |peer| peer.lines.set_up(false))
        }
        Input::Ended { connection, peer, redial } => ended(turn, connection, peer, redial),
        Input::Message { connection, from, envelope } => {
            message(turn, connection, from, envelope);
        }
        Input::Sampled { value } => ranking::sampled(turn, value),
        Input::Checked { healthy } => ranking::checked(turn, healthy),
        Input::StandBack => ranking::stand_back(turn),
        Input::Timed { timing } => retiming::retime(turn, timing),
        Input::Persisted { number } => persisted(turn, number),
        Input::JobStarted { stops_within } => turn.cx.state.endings.job.start(stops_within),
        Input::JobEnded => ending::job_ended(turn),
        Input::Command { id, command } => forwarding::command(turn, id, command),
        Input::Untrusted { peer: _ } => admission::untrusted(&mut turn.cx),
    }
}

fn tick(turn: &mut Turn<'_>) {
    while let Some(timer) = turn.cx.state.timers.take_due(turn.cx.now) {
        match timer {
            Timer::PowerOn => {
                voting::say_who_is_unmet(&mut turn.cx);
                call::call(turn, Reason::NobodyLeads);
            }
            Timer::Heartbeat => heartbeat::beat(turn),
            Timer::Silence => heartbeat::look_for_silence(turn),
            Timer::Forward => forwarding::forwards_expired(&mut turn.cx),
            Timer::Change => change::change_expired(&mut turn.cx),
            Timer::Voters => tally::voters_expired(&mut turn.cx),
            Timer::Lease => heartbeat::end_lease(turn),
            Timer::Coordinator => nomination::nobody_came(turn),
            Timer::Job => ending::job_overdue(turn),
            Timer::Reach => {} // handled at the end of the turn
            Timer::Answer | Timer::Check | Timer::Pulse => {
                turn.algorithm.expire(&mut turn.cx, timer);
            }
        }
    }
}

fn message(turn: &mut Turn<'_>, connection: ConnectionId, from: NodeId, envelope: Envelope) {
    let closed = inbound(turn.cx.state, from) != Some(connection); // or replaced
    if closed || rejects(&mut turn.cx, from, &envelope) {
        return;
    }
    turn.cx.raise_round(envelope.epoch);
    if turn.cx.state.detector.hear(from, turn.cx.now) {
        call::joined(turn, from);
    }
    route(turn, from, envelope);
}

/// Hands a message to the room that it is for.
fn route(turn: &mut Turn<'_>, from: NodeId, envelope: Envelope) {
    match envelope.message {
        Message::Coordinator { epoch, rank } => {
            announcement::announced(turn, from, epoch, rank);
        }
        Message::Heartbeat(heartbeat) => {
            heartbeat::heard(turn, (from, envelope.incarnation), &heartbeat);
        }
        Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause } => {
            pause::hear_pause(&mut turn.cx, pause);
            heartbeat::acknowledged(turn, from, (incarnation, epoch, number), rank, eligible);
        }
        Message::View(view) => announcement::replied(turn, from, view),
        Message::Preempt { epoch, rank, votes } => {
            ending::preempted(turn, from, epoch, rank, &votes);
        }
        Message::PreVote { number, epoch, list } => {
            voting::asked_pre_vote(&mut turn.cx, from, number, epoch, list);
        }
        Message::VoteRequest { number, epoch, lease, list } => {
            let candidate = (from, envelope.incarnation);
            voting::asked_for_vote(&mut turn.cx, candidate, number, epoch, lease, list);
        }
        alive @ Message::Alive { .. } => hand_to_algorithm(turn, from, &alive),
        Message::PreVoteReply { number, opinion, epoch } => {
            tally::opinion(&mut turn.cx, from, QuestionStage::PreVote, number, opinion, epoch);
        }
        Message::Denial { number, opinion, epoch } => {
            tally::opinion(&mut turn.cx, from, QuestionStage::Vote, number, opinion, epoch);
        }
        Message::Vote { incarnation, number, epoch } => {
            judging::hear_vote(&mut turn.cx, from, incarnation, number, epoch);
        }
        Message::Probe { number } => {
            own::tell_if_behind(&mut turn.cx, from);
            turn.cx.send(from, Message::Alive { number });
        }
        Message::Release { epoch, successor, eligible } => {
            handover::released(turn, from, epoch, successor, eligible);
        }
        Message::Freed { leader, epoch } => voting::freed(turn.cx.state, from, leader, epoch),
        Message::Dead(certificate) => certified::hear(turn, Some(from), certificate),
        Message::Timing { timing } => retiming::timing_changed(&mut turn.cx, from, timing),
        Message::Forward { number, command } => forwarding::forwarded(turn, from, number, command),
        Message::Outcome { number, result } => forwarding::hear_outcome(turn, from, number, result),
        Message::List { list } => replication::list(turn, from, envelope.epoch, &list),
        Message::Lock(_) => {} // the caller takes it
        Message::Listed { version } => replication::listed(&mut turn.cx, from, version),
        message => {
            own::tell_if_behind(&mut turn.cx, from);
            if turn.cx.state.eligibility.has_resigned() && turn.cx.state.elects() {
                turn.cx.suspect_unreachable(); // it may be asked too often to notice that its elections fail
            }
            hand_to_algorithm(turn, from, &message);
        }
    }
}

/// Hands the algorithm one of its own messages, and follows the leader that the message announces.
fn hand_to_algorithm(turn: &mut Turn<'_>, from: NodeId, message: &Message) {
    let announced = turn.algorithm.receive(&mut turn.cx, from, message);
    // A greater epoch may have become known since the election began.
    let present = announced.filter(|view| turn.cx.state.compare(*view).is_ge());
    if let Some(view) = present {
        announcement::passed_on(turn, from, view);
    }
}

/// All records up to this number are durable: continues what waited for them.
pub fn persisted(turn: &mut Turn<'_>, number: u64) {
    turn.cx.state.candidacy.disk_writes();
    let in_time = turn.cx.state.longest_vote();
    for step in turn.cx.state.records.written(number, in_time, turn.cx.now) {
        let (own, state) = (turn.cx.state.id(), &mut *turn.cx.state);
        match step {
            Deferred::Reserve(_) | Deferred::Vote => {} // the queue itself knows
            Deferred::Informed => state.voter.stored_informed(),
            Deferred::Promise(longest) => state.voter.stored_promise(longest),
            Deferred::List => state.membership.store(own),
            Deferred::Undrain => ranking::undrained(turn),
            Deferred::Tell(to, message) => voting::tell_durable(&mut turn.cx, to, message),
            Deferred::Answer(id, done) => answers::answer(&mut turn.cx, id, Ok(done)),
        }
    }
    match turn.cx.state.course.take_stored() {
        Some(view) => announcement::follow_stored(turn, view),
        None => nomination::unpark(turn),
    }
}

/// Whether a message has impossible numbers, or is one that its sender never sends: then its connection is
/// closed.
fn rejects(cx: &mut Context<'_>, from: NodeId, envelope: &Envelope) -> bool {
    let Some(reason) = objection::objection_to(cx.state, from, envelope) else {
        return false;
    };
    admission::close_inbound(cx, from);
    cx.out.push(Output::Note(Note::Refused { peer: from, reason }));
    true
}

/// An inbound connection ended: the peer is gone if it refused a redial and that is trusted, suspected if the redial failed
/// otherwise, and neither if the redial was accepted. (D4)
fn ended(turn: &mut Turn<'_>, connection: ConnectionId, id: NodeId, redial: Redial) {
    if inbound(turn.cx.state, id) != Some(connection) {
        return; // replaced by a newer one
    }
    turn.cx.state.detector.change(id, |peer| peer.lines.end());
    turn.cx.out.push(Output::Disconnect { peer: id });
    redialed(turn, id, redial);
}

/// The connection on which a peer speaks at present.
fn inbound(state: &State, id: NodeId) -> Option<ConnectionId> {
    state.detector.get(id)?.lines.inbound()
}

/// The outcome of a dial to a peer.
fn redialed(turn: &mut Turn<'_>, id: NodeId, redial: Redial) {
    let (now, failure) = (turn.cx.now, turn.cx.state.settings.timing.failure);
    // A connection that was silent for `failure` may be dead: then the outcome of the dial counts.
    let doubted = |peer: &Peer| !peer.heard_within(failure, now);
    let peer = turn.cx.state.detector.get(id);
    let connected = peer.is_none_or(|peer| peer.lines.inbound().is_some() && !doubted(peer));
    // A process that this member never met may run elsewhere: perhaps the address is wrong.
    let met = peer.is_some_and(|peer| peer.incarnation().0 > 0);
    match redial {
        _ if connected => {}
        Redial::Accepted => {}
        Redial::Refused if turn.cx.state.settings.trusts_refusals() && met => {
            call::lose(turn, id, Liveness::Dead, Reason::LeaderDead(id));
        }
        Redial::Refused | Redial::Failed => {
            call::lose(turn, id, Liveness::Suspected, Reason::LeaderDisconnected(id));
        }
    }
}

/// A member that missed its turn counts itself as failed, before it handles anything else (seed 000: processes
/// obey fail-stop): it closes its connections and discovers the others anew. (D6)
pub fn recover_if_stalled(cx: &mut Context<'_>) {
    let state = &cx.state;
    let stalled = match state.course.beaten() {
        Some(beaten) => cx.now.since(beaten),
        None => state.timers.lateness(cx.now),
    };
    recover_from(cx, stalled);
}

/// A short pause, or one while this member does not take part, is no failure.
fn recover_from(cx: &mut Context<'_>, stalled: Duration) {
    let state = &cx.state;
    let takes_part = !matches!(state.phase(), Phase::Stopping | Phase::Starting);
    if !takes_part || stalled <= state.settings.timing.stall() {
        return;
    }
    becoming::give_up(cx.state, None);
    let failure = cx.state.settings.timing.failure;
    cx.state.course.stalled(failure, cx.now);
    cx.state.timers.catch_up(cx.now); // or the same pause would count again, as soon as a leader says hello
    for id in cx.state.detector.ids() {
        cx.state.detector.change(id, |peer| {
            peer.lines.end();
            peer.lines.end_look();
            peer.suspect();
        });
        cx.out.push(Output::Disconnect { peer: id });
    }
    becoming::become_starting(cx, Reason::Stalled(stalled));
}

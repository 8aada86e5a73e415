//! The hello: which members may connect, and what their hellos say.
//!
//! The dialer says HELLO, the accepter WELCOME or REJECT. A member counts a peer as alive before its WELCOME leaves,
//! so that no candidate wins without having asked a member that knows of it. (C2)

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::api::Output;
use super::context::Context;
use super::detector::{ConnectionId, Met, Peer};
use super::forwarding;
use super::heartbeat;
use super::leadership::{announcement, becoming, call, certified, handover, voting};
use super::membership::{ListVersion, change, replication};
use super::message::{Agreement, Hello, Rejection, View};
use super::note::Note;
use super::objection;
use super::phase::Reason;
use super::planted::Fault;
use super::protocol::VERSION;
use super::reach;
use super::retiming;
use super::state::State;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Rank, Time};

/// This member's own hello.
fn own_hello(state: &State, now: Time, to: NodeId) -> Hello {
    let failure = state.settings.timing.failure;
    let heard = |leader: &Rank| match state.detector.get(leader.id) {
        Some(peer) => peer.heard_within(failure, now),
        None => leader.id == state.id(),
    };
    Hello {
        protocols: state.settings.protocols,
        version: Some(VERSION.into()),
        id: state.id(),
        to,
        incarnation: state.records.incarnation(),
        instance: instance_for(state, to),
        agreement: Arc::new(Agreement::of(&state.settings)),
        death: state.settings.death,
        timing: state.settings.timing.nanos(),
        rank: state.present_rank(),
        eligible: state.is_eligible(),
        view: View { epoch: state.view().epoch, leader: state.leader().filter(heard) },
        round: state.epochs.round(),
        list: state.membership.list().clone(),
        departures: state.departures.to_tell(now),
    }
}

/// Whether a peer has a connection to this member on which it was silent for `failure`. If it dials again without
/// having ended that one, the network has lost that connection, and perhaps that of this member to it as well. (D1)
fn is_idle(state: &State, peer: NodeId, now: Time) -> bool {
    let failure = state.settings.timing.failure;
    let is_idle = |peer: &Peer| peer.lines.inbound().is_some() && !peer.heard_within(failure, now);
    state.detector.get(peer).is_some_and(is_idle)
}

/// The number that distinguishes this process from another with its id, for one peer. Each peer gets another
/// number, and cannot find that of any other: so a process that was greeted under a false name cannot pretend to
/// be the member that greeted it. (C6)
fn instance_for(state: &State, peer: NodeId) -> u64 {
    let mut hash = Sha256::new();
    hash.update(state.settings.instance.to_be_bytes());
    hash.update(peer.0.as_bytes());
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A connection to a peer is open: says hello.
pub fn dialed(cx: &mut Context<'_>, peer: NodeId, attempt: u64) {
    let hello = own_hello(cx.state, cx.now, peer);
    cx.state.detector.change(peer, |peer| peer.lines.take_older_timing());
    cx.out.push(Output::Hello { to: peer, attempt, hello });
}

/// A dialer says hello.
pub fn hello(turn: &mut Turn<'_>, connection: ConnectionId, address: String, hello: Hello) {
    let state = &turn.cx.state;
    let in_use = || {
        let peer = state.detector.get(hello.id)?;
        objection::in_use(state, peer, &hello, turn.cx.now)
    };
    let lost = || objection::state_lost(state, &hello);
    if let Some(reason) = objection::objection(state, &hello).or_else(in_use).or_else(lost) {
        if Fault::RefusedCounts.is_planted() {
            turn.cx.raise_round(hello.round);
        }
        return refuse(&mut turn.cx, connection, hello.id, reason);
    }
    let peer = hello.id;
    if state.detector.get(peer).is_some_and(|peer| peer.is_buried(&hello)) {
        // Nobody reads the answer. (Z3)
        let (id, known) = (hello.id, hello.incarnation);
        let reason = Rejection::StateLost { id, known, told: known };
        return turn.cx.out.push(Output::Reject { connection, reason });
    }
    if state.detector.get(peer).is_none() {
        replication::learn(turn, peer, hello.view.epoch, &hello.list);
        if turn.cx.state.detector.get(peer).is_none() {
            // A leader need not heed the later list of a stranger: it stays one, and dials again.
            return refuse(&mut turn.cx, connection, peer, Rejection::UnknownId(peer));
        }
    }
    let replaces_idle = is_idle(turn.cx.state, peer, turn.cx.now);
    close_inbound(&mut turn.cx, peer);
    let met_before = meet(&mut turn.cx, &hello);
    turn.cx.state.detector.change(peer, |peer| peer.lines.accept(connection, address));
    let outbound = turn.cx.state.detector.is_within_reach(peer);
    let doubted = met_before != Met::Known || replaces_idle;
    if outbound && doubted {
        turn.cx.state.detector.change(peer, |peer| peer.lines.set_up(false));
        turn.cx.out.push(Output::Disconnect { peer });
    }
    if !outbound || doubted {
        turn.cx.out.push(Output::Dial { peer });
    }
    let welcome = own_hello(turn.cx.state, turn.cx.now, peer);
    turn.cx.out.push(Output::Welcome { connection, peer, welcome });
    greeted(turn, &hello, met_before);
}

fn refuse(cx: &mut Context<'_>, connection: ConnectionId, peer: NodeId, reason: Rejection) {
    if reason == Rejection::UnknownId(peer) {
        // The only trace of a refused hello: a change that adds its sender relies on it.
        cx.state.membership.record_stranger(peer, cx.now);
    }
    let note = Note::Refused { peer, reason: reason.clone() };
    cx.out.extend([Output::Reject { connection, reason }, Output::Note(note)]);
}

/// The peer that was dialed answered: the connection to it is up.
pub fn welcomed(turn: &mut Turn<'_>, peer: NodeId, welcome: Hello) {
    if turn.cx.state.detector.get(peer).is_none() {
        return; // removed meanwhile
    }
    let objection = if welcome.id == peer {
        let state = &turn.cx.state;
        objection::objection(state, &welcome).or_else(|| objection::state_lost(state, &welcome))
    } else {
        Some(Rejection::WrongAddress { expected: peer, found: welcome.id })
    };
    if let Some(reason) = objection {
        // Its next starts count on from what it still has, until they pass those that it lost.
        if matches!(reason, Rejection::StateLost { known, .. } if known != Incarnation::LOST) {
            turn.cx.state.detector.change(peer, Peer::lost_its_state);
            turn.cx.persist();
        }
        turn.cx.out.push(Output::Disconnect { peer });
        turn.cx.out.push(Output::Note(Note::Refused { peer, reason }));
        return;
    }
    if turn.cx.state.detector.get(peer).is_some_and(|peer| peer.is_buried(&welcome)) {
        return turn.cx.out.push(Output::Disconnect { peer }); // it was on its way when its sender died (Z3)
    }
    let met_before = meet(&mut turn.cx, &welcome);
    if met_before != Met::Known {
        close_inbound(&mut turn.cx, peer); // of an earlier incarnation
    }
    turn.cx.state.membership.record_refusal(peer, false);
    let (reached, newer) = turn.cx.state.detector.change(peer, |peer| {
        let reached = peer.lines.is_unreachable();
        peer.lines.set_up(true);
        (reached, peer.answers_as(welcome.incarnation, welcome.instance))
    });
    if newer && turn.cx.state.needs_majority() {
        turn.cx.persist(); // this member may be restarted before the other one comes back
    }
    if reached {
        turn.cx.out.push(Output::Note(Note::Reached { peer }));
    }
    turn.cx.out.push(Output::Note(Note::Connected { peer }));
    say_what_was_lost(turn, peer);
    greeted(turn, &welcome, met_before);
}

/// Sends a peer that is reachable from now on what was lost before.
fn say_what_was_lost(turn: &mut Turn<'_>, peer: NodeId) {
    certified::repeat(&mut turn.cx, peer);
    retiming::repeat_timing(&mut turn.cx, peer);
    forwarding::forward_unsent(turn, peer);
    match turn.cx.state.course.takeover() {
        Some(View { epoch, leader: Some(leader) }) if leader.id == peer => {
            becoming::ask_for_release(&mut turn.cx, epoch, peer);
        }
        _ if turn.cx.state.leads() => heartbeat::beat_to(&mut turn.cx, vec![peer]),
        _ => handover::repeat_release(&mut turn.cx, peer),
    }
}

/// Whether this member, which needs no majority, has neither led nor followed since its start.
fn is_first_election(state: &State) -> bool {
    state.view().leader.is_none() && !state.needs_majority()
}

/// Whether this member reaches nobody, and its list was never changed.
fn is_newcomer_alone(state: &State) -> bool {
    let alone = !state.detector.iter().any(|other| other.lines.is_up());
    alone && state.membership.version() <= ListVersion::default()
}

/// Whoever refuses this member lives, and may lead: this member looks for the others longer. (M8)
fn look_longer(cx: &mut Context<'_>) {
    let failure = cx.state.settings.timing.failure;
    becoming::discover(cx, failure * 2);
}

/// The peer that was dialed and this member do not trust each other: one of the two refuses the other, before any hello.
/// As with other refusals, one survivor is enough once this member has had a leader. (M8)
pub fn untrusted(cx: &mut Context<'_>) {
    if is_first_election(cx.state) && is_newcomer_alone(cx.state) {
        look_longer(cx);
    }
}

/// The peer that was dialed refused this member.
pub fn rejected(turn: &mut Turn<'_>, peer: NodeId, reason: Rejection) {
    let own = turn.cx.state.id();
    let is_newcomer = is_newcomer_alone(turn.cx.state);
    let waits = match reason {
        // Another process has the id; or it is gone, and the refusals will end soon.
        Rejection::IdInUse { id, .. } => id == own,
        // This member may be about to be added to an existing cluster: it starts none of its own meanwhile. Once
        // it was added, the peer that refuses it has missed that. (M8)
        Rejection::UnknownId(id) => id == own && is_newcomer,
        // The peer lives and may lead, whatever keeps the two apart. Once this member has had a leader, one survivor is
        // enough. (M8)
        _ => is_first_election(turn.cx.state) && is_newcomer,
    };
    if waits {
        look_longer(&mut turn.cx);
    }
    let removed = reason == Rejection::Removed(own);
    turn.cx.out.push(Output::Note(Note::Rejected { peer, reason }));
    turn.cx.state.membership.record_refusal(peer, removed);
    if removed && replication::believes_removal(turn.cx.state, peer) {
        change::leave(turn);
    }
}

/// Ends the connection on which a peer spoke so far.
pub fn close_inbound(cx: &mut Context<'_>, peer: NodeId) {
    let older = cx.state.detector.change(peer, |peer| peer.lines.end_inbound());
    if let Some(connection) = older {
        cx.out.push(Output::Close { connection });
    }
}

/// Takes over the content of a hello or a welcome.
fn meet(cx: &mut Context<'_>, hello: &Hello) -> Met {
    let protocol = cx.state.settings.protocols.shared(hello.protocols).ok();
    let (now, failure) = (cx.now, cx.state.settings.timing.failure);
    let met_before = cx.state.detector.change(hello.id, |peer| {
        if !peer.heard_within(failure, now) {
            peer.lines.forget_age();
        }
        peer.meet(hello, protocol)
    });
    cx.state.detector.hear(hello.id, cx.now);
    reach::hear_departures(cx, &hello.departures);
    cx.raise_round(hello.round);
    if met_before != Met::Known {
        retiming::check_timing(cx, hello.id, hello.timing);
        cx.state.endings.forget_successor(hello.id);
    }
    met_before
}

/// Acts on the content of a hello or a welcome.
fn greeted(turn: &mut Turn<'_>, hello: &Hello, met_before: Met) {
    // If the leader of that epoch is gone, nobody ends this member's leadership.
    let known_epoch = hello.view.leader.map_or(Epoch(0), |_| hello.view.epoch);
    if !Fault::StaleList.is_planted() {
        replication::learn(turn, hello.id, known_epoch, &hello.list);
    }
    if turn.cx.state.detector.get(hello.id).is_none() {
        return; // by this list it is no member any more
    }
    let behind = turn.cx.state.is_behind();
    if !behind && turn.cx.state.detector.all_connected() {
        turn.cx.state.course.discover_until(turn.cx.now); // it has met all: it notices the loss of each
    }
    voting::inform_voter(turn.cx.state);
    if met_before == Met::Restarted {
        let before = hello.incarnation.0.checked_sub(1).map(Incarnation); // its last run, at the latest
        call::lost(turn, (hello.id, before), Reason::LeaderRestarted(hello.id));
    }
    announcement::leader_named(turn, hello.id, hello.view);
    call::joined(turn, hello.id);
    handover::begin_if_all_connected(turn);
}

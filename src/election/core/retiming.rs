//! Changing the timings of a running member, and its knowledge of those of the others.
//!
//! Each promise of a voter lasts for the time in the message that asked for it, and a leader counts each answer for
//! the time in its own question ([`super::leadership::lease`]). So neither side relies on the present timings of the
//! other, and no lease depends on a file. A promise longer than any record says is durable before anybody counts on
//! it, as a promise to another member with a longer lease always was.
//!
//! The timings of members may differ while an operator reloads one node after the other. No member is suspected for
//! the silence between two of its own heartbeats ([`super::detector::Peer`]), so each member tells the others its new
//! timings before it acts on them.

use std::sync::Arc;

use super::api::Output;
use super::bounds;
use super::context::Context;
use super::heartbeat;
use super::message::Message;
use super::note::Note;
use super::planted::Fault;
use super::settings::Timing;
use super::timer::Timer;
use super::turn::Turn;
use super::types::NodeId;

/// Other timings are in force from now on. A timer that has already expired by these starts anew. (L3)
pub fn retime(turn: &mut Turn<'_>, timing: Timing) {
    let state = &mut *turn.cx.state;
    if state.settings.timing == timing {
        return;
    }
    if Fault::AnswerStretched.is_planted()
        && let Some(lease) = state.course.lease_mut()
    {
        let older = bounds::certain(state.settings.timing.lease);
        lease.stretch(bounds::certain(timing.lease).saturating_sub(older));
    }
    Arc::make_mut(&mut state.settings).timing = timing;
    state.course.retime(turn.cx.now);
    let waits = [
        (Timer::Silence, timing.failure),
        (Timer::Check, timing.failure),
        (Timer::Pulse, timing.heartbeat),
    ];
    for (timer, time) in waits {
        if let Some(due) = state.timers.due(timer) {
            state.timers.arm(timer, due.min(turn.cx.now + time));
        }
    }
    let others = turn.cx.all_others();
    for id in turn.cx.state.detector.ids().iter().filter(|id| !others.contains(id)) {
        // The hello of a connection that is not up yet may have carried the older timings.
        turn.cx.state.detector.change(*id, |peer| peer.lines.mark_older_timing());
    }
    turn.cx.send_all(others, Message::Timing { timing: timing.nanos() });
    if turn.cx.state.leads() {
        heartbeat::beat(turn); // the next round may be due already, and the stall is counted from the last one
    }
}

/// The connection to a peer is up: sends the timings if the hello carried older ones.
pub fn repeat_timing(cx: &mut Context<'_>, peer: NodeId) {
    if cx.state.detector.change(peer, |peer| peer.lines.take_older_timing()) {
        let timing = cx.state.settings.timing.nanos();
        cx.send(peer, Message::Timing { timing });
    }
}

/// A peer has other timings than its hello said.
pub fn timing_changed(cx: &mut Context<'_>, peer: NodeId, theirs: [u64; 4]) {
    cx.state.detector.change(peer, |peer| peer.says_timing(theirs));
    check_timing(cx, peer, theirs);
}

/// A peer sent its timings: reports a difference to the operator.
pub fn check_timing(cx: &mut Context<'_>, peer: NodeId, theirs: [u64; 4]) {
    if cx.state.settings.timing.nanos() != theirs {
        cx.out.push(Output::Note(Note::TimingDiffers { peer, theirs }));
    }
}

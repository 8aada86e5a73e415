//! Other timings for a member that runs, and what it knows of those of the others.
//!
//! Each promise of a voter runs for as long as the message said that asked for it, and a leader counts each
//! answer for what its own question said ([`super::leadership::lease`]). So neither side relies on the timings
//! that the other has at present, and no lease is bound by a file. A longer promise than any record says is
//! made durable before anybody counts on it, as a promise to another member with a longer lease always was.
//!
//! The timings of members may differ while an operator reloads one node after the other. Nobody is suspected
//! for the silence between two of its own heartbeats ([`super::detector::Peer`]), so each member tells the others
//! what counts for it now, before it acts on that.

use std::sync::Arc;

use super::api::Output;
use super::bounds;
use super::message::Message;
use super::note::Note;
use super::planted::Fault;
use super::settings::Timing;
use super::timer::Timer;
use super::turn::Turn;
use super::types::NodeId;

impl Turn<'_> {
    /// Other timings count from now on. A timer whose time has passed by these gets a whole one anew.
    pub fn retime(&mut self, timing: Timing) {
        let state = &mut *self.cx.state;
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
        state.course.retime(self.cx.now);
        let waits = [
            (Timer::Silence, timing.failure),
            (Timer::Check, timing.failure),
            (Timer::Pulse, timing.heartbeat),
        ];
        for (timer, time) in waits {
            if let Some(due) = state.timers.due(timer) {
                state.timers.arm(timer, due.min(self.cx.now + time));
            }
        }
        let others = self.cx.all_others();
        self.note_who_was_not_told(&others);
        self.cx.send_all(others, Message::Timing { timing: timing.nanos() });
        if self.cx.state.leads() {
            self.beat(); // the next round may be due already, and the stall is counted from the last
        }
    }

    /// The hello of a connection that is not up yet may have said the older timings.
    fn note_who_was_not_told(&mut self, told: &[NodeId]) {
        let peers = self.cx.state.detector.iter().map(|(id, _)| id);
        for id in peers.filter(|id| !told.contains(id)).collect::<Vec<_>>() {
            self.cx.state.detector.change(id, |peer| peer.lines.note_older_timing());
        }
    }

    /// The connection to a peer is up: it is told the timings if the hello said older ones.
    pub(super) fn repeat_timing(&mut self, peer: NodeId) {
        let mut older = false;
        self.cx.state.detector.change(peer, |peer| older = peer.lines.take_older_timing());
        if older {
            let timing = self.cx.state.settings.timing.nanos();
            self.cx.send(peer, Message::Timing { timing });
        }
    }

    /// A peer has other timings than its hello said.
    pub(super) fn told_timing(&mut self, peer: NodeId, theirs: [u64; 4]) {
        self.cx.state.detector.change(peer, |peer| peer.says_timing(theirs));
        self.note_timing(peer, theirs);
    }

    /// A peer told its timings: an operator wants to know if they differ.
    pub(super) fn note_timing(&mut self, peer: NodeId, theirs: [u64; 4]) {
        if self.cx.state.settings.timing.nanos() != theirs {
            self.cx.out.push(Output::Note(Note::TimingDiffers { peer, theirs }));
        }
    }
}

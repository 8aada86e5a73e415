//! The hello: which members may connect, and what their hellos say.
//!
//! The dialer says HELLO, the accepter WELCOME or REJECT. A member counts a peer as alive before its WELCOME leaves,
//! so that no candidate wins without having asked a member that knows of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::api::Output;
use super::detector::{ConnectionId, Met, Peer};
use super::membership::ListVersion;
use super::message::{Agreement, Hello, Rejection, View};
use super::note::Note;
use super::phase::Reason;
use super::planted::Fault;
use super::protocol::VERSION;
use super::state::State;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Rank, Time};

impl State {
    /// This member's own hello.
    fn own_hello(&self, now: Time, to: NodeId) -> Hello {
        let failure = self.settings.timing.failure;
        let heard = |leader: &Rank| match self.detector.get(leader.id) {
            Some(peer) => peer.heard_within(failure, now),
            None => leader.id == self.id(),
        };
        Hello {
            protocols: self.settings.protocols,
            version: Some(VERSION.into()),
            id: self.id(),
            to,
            incarnation: self.records.incarnation(),
            instance: self.instance_for(to),
            agreement: Arc::new(Agreement::of(&self.settings)),
            timing: self.settings.timing.nanos(),
            rank: self.present_rank(),
            eligible: self.is_eligible(),
            view: View { epoch: self.view().epoch, leader: self.leader().filter(heard) },
            round: self.epochs.round(),
            list: self.membership.list().clone(),
        }
    }

    /// Whether a peer has a connection to this member on which it was silent for `failure`. If it dials again without
    /// having ended that one, the network has lost that connection, and perhaps that of this member to it as well.
    fn is_idle(&self, peer: NodeId, now: Time) -> bool {
        let failure = self.settings.timing.failure;
        let is_idle =
            |peer: &Peer| peer.lines.inbound().is_some() && !peer.heard_within(failure, now);
        self.detector.get(peer).is_some_and(is_idle)
    }

    /// The number that distinguishes this process from another with its id, for one peer. Each peer gets another
    /// number, and cannot find that of any other: so a process that was greeted under a false name cannot pretend to
    /// be the member that greeted it.
    fn instance_for(&self, peer: NodeId) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.settings.instance, peer).hash(&mut hasher);
        hasher.finish()
    }
}

impl Turn<'_> {
    /// A connection to a peer is open: says hello.
    pub fn dialed(&mut self, peer: NodeId, attempt: u64) {
        let hello = self.cx.state.own_hello(self.cx.now, peer);
        self.cx.state.detector.change(peer, |peer| peer.lines.take_older_timing());
        self.cx.out.push(Output::Hello { to: peer, attempt, hello });
    }

    /// A dialer says hello.
    pub fn hello(&mut self, connection: ConnectionId, address: String, hello: Hello) {
        let state = &self.cx.state;
        let in_use = || {
            let peer = state.detector.get(hello.id)?;
            state.in_use(peer, &hello, self.cx.now)
        };
        let lost = || state.state_lost(&hello);
        if let Some(reason) = state.objection(&hello).or_else(in_use).or_else(lost) {
            if reason == Rejection::UnknownId(hello.id) {
                // The only trace of a refused hello: a change that adds its sender relies on it.
                self.cx.state.membership.knocked(hello.id, self.cx.now);
            }
            let note = Note::Refused { peer: hello.id, reason: reason.clone() };
            self.cx.out.extend([Output::Reject { connection, reason }, Output::Note(note)]);
            if Fault::RefusedCounts.is_planted() {
                self.cx.note_round(hello.round);
            }
            return;
        }
        let peer = hello.id;
        if state.detector.get(peer).is_none() {
            self.learn(peer, hello.view.epoch, &hello.list);
        }
        let replaces_idle = self.cx.state.is_idle(peer, self.cx.now);
        self.close_inbound(peer);
        let met_before = self.meet(&hello);
        self.cx.state.detector.change(peer, |peer| peer.lines.accept(connection, address));
        let outbound = self.cx.state.detector.is_within_reach(peer);
        let doubted = met_before != Met::Known || replaces_idle;
        if outbound && doubted {
            self.cx.state.detector.change(peer, |peer| peer.lines.set_up(false));
            self.cx.out.push(Output::Disconnect { peer });
        }
        if !outbound || doubted {
            self.cx.out.push(Output::Dial { peer });
        }
        let welcome = self.cx.state.own_hello(self.cx.now, peer);
        self.cx.out.push(Output::Welcome { connection, peer, welcome });
        self.greeted(&hello, met_before);
    }

    /// The peer that was dialed answered: the connection to it is up.
    pub fn welcomed(&mut self, peer: NodeId, welcome: Hello) {
        if self.cx.state.detector.get(peer).is_none() {
            return; // removed meanwhile
        }
        let objection = if welcome.id == peer {
            let state = &self.cx.state;
            state.objection(&welcome).or_else(|| state.state_lost(&welcome))
        } else {
            Some(Rejection::WrongAddress { expected: peer, found: welcome.id })
        };
        if let Some(reason) = objection {
            // Its next starts count on from what it still has, until they pass those that it lost.
            if matches!(reason, Rejection::StateLost { known, .. } if known != Incarnation::LOST) {
                self.cx.state.detector.change(peer, Peer::lost_its_state);
                self.cx.persist();
            }
            self.cx.out.push(Output::Disconnect { peer });
            self.cx.out.push(Output::Note(Note::Refused { peer, reason }));
            return;
        }
        let met_before = self.meet(&welcome);
        if met_before != Met::Known {
            self.close_inbound(peer); // of an earlier incarnation
        }
        self.cx.state.membership.note_refusal(peer, false);
        let (reached, newer) = self.cx.state.detector.change(peer, |peer| {
            let reached = peer.lines.is_unreachable();
            peer.lines.set_up(true);
            (reached, peer.answers_as(welcome.incarnation, welcome.instance))
        });
        if newer && self.cx.state.needs_majority() {
            self.cx.persist(); // this member may be restarted before the other one comes back
        }
        if reached {
            self.cx.out.push(Output::Note(Note::Reached { peer }));
        }
        self.cx.out.push(Output::Note(Note::Connected { peer }));
        self.say_what_was_lost(peer);
        self.greeted(&welcome, met_before);
    }

    /// Sends a peer that is reachable from now on what was lost before.
    fn say_what_was_lost(&mut self, peer: NodeId) {
        self.repeat_timing(peer);
        self.forward_unsent(peer);
        match self.cx.state.course.takeover() {
            Some(View { epoch, leader: Some(leader) }) if leader.id == peer => {
                self.cx.ask_for_release(epoch, peer);
            }
            _ if self.cx.state.leads() => self.beat_to(vec![peer]),
            _ => {
                self.repeat_release(peer);
            }
        }
    }

    /// The peer that was dialed refused this member.
    pub fn rejected(&mut self, peer: NodeId, reason: Rejection) {
        let own = self.cx.state.id();
        let alone = !self.cx.state.detector.iter().any(|other| other.lines.is_up());
        let added = self.cx.state.membership.version() > ListVersion::default();
        let waits = match reason {
            // Another process has the id; or it is gone, and the refusals will end soon.
            Rejection::IdInUse { id, .. } => id == own,
            // This member may be about to be added to an existing cluster: it starts none of its own meanwhile. Once
            // it was added, the peer that refuses it has missed that.
            Rejection::UnknownId(id) => id == own && alone && !added,
            _ => false,
        };
        if waits {
            self.cx.discover(self.cx.state.settings.timing.failure * 2);
        }
        let removed = reason == Rejection::Removed(own);
        self.cx.out.push(Output::Note(Note::Rejected { peer, reason }));
        self.cx.state.membership.note_refusal(peer, removed);
        if removed && self.cx.state.believes_removal(peer) {
            self.cx.state.membership.store(peer); // in case this member removed itself
            self.leave();
        }
    }

    /// Ends the connection on which a peer spoke so far.
    pub fn close_inbound(&mut self, peer: NodeId) {
        let older = self.cx.state.detector.change(peer, |peer| peer.lines.end_inbound());
        if let Some(connection) = older {
            self.cx.out.push(Output::Close { connection });
        }
    }

    /// Notes the content of a hello or a welcome.
    fn meet(&mut self, hello: &Hello) -> Met {
        let protocol = self.cx.state.settings.protocols.shared(hello.protocols).ok();
        let (now, failure) = (self.cx.now, self.cx.state.settings.timing.failure);
        let met_before = self.cx.state.detector.change(hello.id, |peer| {
            if !peer.heard_within(failure, now) {
                peer.lines.was_silent();
            }
            peer.meet(hello, protocol)
        });
        self.cx.state.detector.hear(hello.id, self.cx.now);
        self.cx.note_round(hello.round);
        if met_before != Met::Known {
            self.note_timing(hello.id, hello.timing);
            self.cx.state.endings.forget_successor(hello.id);
        }
        met_before
    }

    /// Acts on the content of a hello or a welcome.
    fn greeted(&mut self, hello: &Hello, met_before: Met) {
        // If the leader of that epoch is gone, nobody ends this member's leadership.
        let known_epoch = hello.view.leader.map_or(Epoch(0), |_| hello.view.epoch);
        if !Fault::StaleList.is_planted() {
            self.learn(hello.id, known_epoch, &hello.list);
        }
        if self.cx.state.detector.get(hello.id).is_none() {
            return; // by this list it is no member any more
        }
        let behind = self.cx.state.is_behind();
        if !behind && self.cx.state.detector.all_connected() {
            self.cx.state.course.discover_until(self.cx.now); // it has met all: it notices the loss of each
        }
        self.inform_voter();
        if met_before == Met::Restarted {
            self.lost(hello.id, Reason::LeaderRestarted(hello.id));
        }
        self.told(hello.id, hello.view);
        self.joined(hello.id);
        self.begin_if_all_connected();
    }
}

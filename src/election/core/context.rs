//! The steps that every algorithm takes with what a member knows: sending, arming timers, and the
//! changes of phase.

use std::collections::BTreeSet;
use std::time::Duration;

use super::api::Output;
use super::detector::Peer;
use super::durable::Deferred;
use super::message::{Envelope, Liveness, Message, View};
use super::phase::Phase;
use super::planted::Fault;
use super::protocol::Protocols;
use super::state::State;
use super::timer::Timer;
use super::types::{Epoch, NodeId, Time};

/// A member that resigned may lead again if nobody has led for so many times `failure`.
const LONG_LEADERLESS: u32 = 4;

/// One call of the core: the state, the time, and where the outputs go.
pub(super) struct Context<'a> {
    pub state: &'a mut State,
    pub now: Time,
    pub out: &'a mut Vec<Output>,
}

impl Context<'_> {
    pub fn send(&mut self, to: NodeId, message: Message) {
        self.send_all(vec![to], message);
    }

    /// Sends one message to several members, except those whose version does not know it.
    pub fn send_all(&mut self, mut to: Vec<NodeId>, message: Message) {
        to.retain(|member| self.is_understood(*member, &message));
        if to.is_empty() {
            return;
        }
        let (epoch, incarnation) = (self.state.view().epoch, self.state.records.incarnation());
        let envelope = Envelope { epoch, incarnation, message };
        self.out.push(Output::Send { to, envelope });
    }

    /// Whether the version of a member knows this message: a process of an earlier version would close the
    /// connection. (C4)
    pub fn is_understood(&self, by: NodeId, message: &Message) -> bool {
        let since = message.since();
        if since <= Protocols::OURS.lowest || Fault::UnknownSaid.is_planted() {
            return true; // nearly all messages: we look up no peer for a heartbeat
        }
        self.state.detector.get(by).is_none_or(|peer| since <= peer.protocol())
    }

    /// Answers a peer now, or once the connection to it is up: then with the last answer of each kind. (K6)
    pub fn answer_when_connected(&mut self, to: NodeId, answer: Vec<Message>) {
        if self.state.detector.is_within_reach(to) || Fault::ReplyLost.is_planted() {
            answer.into_iter().for_each(|message| self.send(to, message));
        } else {
            self.state.outbox.keep(to, answer);
        }
    }

    /// Tells a member the greatest epoch known, and its leader unless this member led and does not any more: the
    /// reply to any older message.
    pub fn send_view(&mut self, to: NodeId) {
        let View { epoch, leader } = self.state.view();
        let leader = leader.filter(|leader| self.state.leads() || leader.id != self.state.id());
        self.send(to, Message::View(View { epoch, leader }));
    }

    /// This leader announces itself to these members, on their present connections.
    pub fn mark_announced(&mut self, members: &[NodeId]) {
        let epoch = self.state.view().epoch;
        for id in members {
            self.state.detector.change(*id, |peer| peer.lines.set_announced(Some(epoch)));
        }
    }

    /// All other members that are not proved dead, and to which the connection is up. A member that connects later
    /// learns then what it missed.
    pub fn all_others(&self) -> Vec<NodeId> {
        let within_reach = |peer: &&Peer| peer.lines.is_up() && peer.status() != Liveness::Dead;
        self.state.detector.iter().filter(within_reach).map(Peer::id).collect()
    }

    /// Arms a timer to expire after this time.
    pub fn arm(&mut self, timer: Timer, after: Duration) {
        self.state.timers.arm(timer, self.now + after);
    }

    /// A round or epoch was seen: own rounds start above it.
    pub fn raise_round(&mut self, round: Epoch) {
        self.state.epochs.raise_round(round);
        let stopping = self.state.phase() == Phase::Stopping;
        if !stopping && self.state.records.run_low(self.state.epochs.round()) {
            self.persist();
        }
    }

    /// The number of an election that this member calls: above every round seen or tried, or the round that it was
    /// drawn into and could not join immediately.
    pub fn next_round(&mut self) -> Epoch {
        let stamped = self.state.membership.version().epoch;
        self.state.epochs.next_round(stamped)
    }

    /// Has the present state written in the background. Returns the number of the record.
    pub fn persist(&mut self) -> u64 {
        let round = self.state.epochs.round().max(self.state.view().epoch);
        let (number, reserved) = match self.state.phase() {
            Phase::Stopping => self.state.records.last_record(round),
            _ => self.state.records.next_record(round),
        };
        self.state.records.order_write(self.now);
        if let Some(longest) = self.state.voter.promise_to_store()
            && self.state.records.awaited_by(|step| matches!(step, Deferred::Promise(_))).is_none()
        {
            self.state.records.defer(number, Deferred::Promise(longest));
        }
        if self.is_informed_unwritten() {
            self.state.records.defer(number, Deferred::Informed);
        }
        self.out.push(Output::Persist { number, record: self.state.record(reserved, self.now) });
        number
    }

    /// Whether this voter was informed, and no record says so that is durable or being written.
    pub fn is_informed_unwritten(&self) -> bool {
        let awaited = self.state.records.awaited_by(|step| *step == Deferred::Informed);
        self.state.voter.is_informed_since() && awaited.is_none()
    }

    /// Without a majority: dials those of these members anew that were not heard for `failure` before this member began
    /// to wait for them. Whatever is between the two hosts, such as a firewall, may have forgotten a connection on which
    /// nothing was sent, so that silence proves nothing yet: both members would win in one epoch. Returns whether it waits
    /// for them T1 more; for each once. (D1)
    pub fn dials_anew(&mut self, timer: Timer, members: &BTreeSet<NodeId>, began: Time) -> bool {
        let failure = self.state.settings.timing.failure;
        let was_idle =
            |peer: &Peer| peer.counts() && peer.lines.is_up() && !peer.heard_within(failure, began);
        let idle = members.iter().filter(|id| self.state.detector.get(**id).is_some_and(was_idle));
        let idle: Vec<NodeId> = idle.copied().collect();
        if self.state.needs_majority() || idle.is_empty() {
            return false;
        }
        idle.into_iter().for_each(|peer| self.redial(peer));
        let due = self.now + self.state.settings.timing.t1();
        let earlier = self.state.timers.due(timer).filter(|armed| *armed > self.now);
        self.state.timers.arm(timer, earlier.map_or(due, |armed| armed.min(due)));
        true
    }

    /// Ends both connections with a peer, and dials it anew.
    pub fn redial(&mut self, peer: NodeId) {
        self.state.detector.change(peer, |peer| peer.lines.end());
        self.out.push(Output::Disconnect { peer });
        self.out.push(Output::Dial { peer });
    }

    /// Suspects members that did not answer within T1, or could not be asked for even longer.
    pub fn suspect_unheard(&mut self, members: &BTreeSet<NodeId>, since: Time) {
        for id in members {
            let heard = self.state.detector.get(*id).and_then(|peer| peer.heard());
            if heard.is_none_or(|heard| heard < since) {
                self.state.detector.lose(*id, Liveness::Suspected);
            }
        }
        self.be_eligible_if_alone();
    }

    /// An election failed: suspects members that are not connected and were silent for `failure`, as perhaps no other
    /// member watched them.
    pub fn suspect_unreachable(&mut self) {
        let (now, failure) = (self.now, self.state.settings.timing.failure);
        let silent = |up: bool| {
            let silent =
                |peer: &&Peer| peer.lines.is_up() == up && !peer.heard_within(failure, now);
            self.state.detector.iter().filter(silent).map(Peer::id).collect::<Vec<_>>()
        };
        let (up, gone) = (silent(true), silent(false));
        for id in gone {
            self.state.detector.lose(id, Liveness::Suspected);
        }
        self.be_eligible_if_alone();
        // Only a member that sends on a dead connection notices that it is dead.
        self.send_all(up, Message::Probe { number: 0 });
    }

    /// A member that resigned is eligible again when no other member is left to lead, or none comes to lead. Other
    /// resigned members find the same, so it asks them. (A2)
    pub fn be_eligible_if_alone(&mut self) {
        let state = &mut *self.state;
        // An unreachable member that is heard may lead all the same. But with a majority, a member that gets none asks
        // for pre-votes only, and so does not say that it cannot lead.
        let may_lead = |peer: &Peer| peer.alive() && peer.is_eligible();
        let limit = state.settings.timing.failure * LONG_LEADERLESS;
        let is_long = |since: Time| state.needs_majority() && self.now.since(since) >= limit;
        let leaderless = state.course.leaderless().is_some_and(is_long);
        if !state.eligibility.has_resigned() || !leaderless && state.detector.iter().any(may_lead) {
            return;
        }
        state.eligibility.forget_resignation();
        for member in state.membership.list().iter() {
            state.detector.change(member.id, |peer| peer.set_eligible(member.may_lead()));
        }
    }

    /// Watches a peer besides the leader from now on.
    pub fn watch(&mut self, member: Option<NodeId>) {
        self.state.course.watch(member, self.now);
        if member.is_some() {
            self.listen();
        }
    }

    /// Looks for silence after `failure`, unless it does so sooner.
    pub fn listen(&mut self) {
        self.listen_until(self.now + self.state.settings.timing.failure);
    }

    /// Looks for silence at this time, unless it does so sooner.
    pub fn listen_until(&mut self, due: Time) {
        if self.state.timers.due(Timer::Silence).is_none_or(|sooner| sooner > due) {
            self.state.timers.arm(Timer::Silence, due);
        }
    }

    /// Takes the latest sample as this member's rank, at the start of an election and after its end: the rank is
    /// frozen in between.
    pub fn freeze_rank(&mut self) {
        self.state.eligibility.freeze(self.now);
    }
}

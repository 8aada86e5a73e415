//! The hello: who may connect, and what the first words tell.
//!
//! The dialer says HELLO, the accepter WELCOME or REJECT. A member is counted alive before its
//! WELCOME leaves, so that nobody wins without having asked a member that knows of it.

use super::detector::{ConnectionId, Peer};
use super::membership::{ListVersion, MemberList};
use super::message::{Hello, MemberReport, PROTOCOL_VERSION, Rejection, View};
use super::phase::{Phase, Reason};
use super::settings::{PowerOn, Timing};
use super::state::State;
use super::turn::Turn;
use super::types::{Epoch, NodeId, Time};
use super::{Note, Output};

/// What a hello tells of its sender's life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// It was met before.
    Known,
    /// It was not, and no earlier life of the sender was thought alive.
    New,
    /// An earlier life of the sender was thought alive until now.
    Restarted,
}

impl State {
    /// This member's own first words.
    fn own_hello(&self, now: Time, to: NodeId) -> Hello {
        let heard = |id| {
            id == self.id()
                || self
                    .detector
                    .get(id)
                    .is_some_and(|peer| peer.heard_within(self.settings.timing.failure, now))
        };
        Hello {
            protocol: PROTOCOL_VERSION,
            id: self.id(),
            to,
            incarnation: self.incarnation,
            instance: self.settings.instance,
            agreement: self.agreement.clone(),
            timing: self.own_timing(),
            rank: self.rank(),
            stands: self.stands(),
            view: View {
                epoch: self.view.epoch,
                leader: self.leader().filter(|leader| heard(leader.id)),
            },
            round: self.round,
            list: self.members.clone(),
        }
    }

    /// This member's timings, in nanoseconds.
    fn own_timing(&self) -> [u64; 4] {
        let Timing { heartbeat, failure, message, lease } = self.settings.timing;
        [heartbeat, failure, message, lease]
            .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Why a hello must be refused, if it must.
    fn objection(&self, hello: &Hello) -> Option<Rejection> {
        let stranger = || {
            self.detector.get(hello.id).is_none().then(|| {
                let older = !hello.list.supersedes(&self.members) && self.is_list_settled();
                // Without a majority a later leader stamps its own list anew, and with it this member.
                let later = !self.needs_majority()
                    && hello.view.epoch > self.view.epoch
                    && hello.view.leader.is_some_and(|leader| leader.id != hello.id);
                let removed = older && !later && self.members.removed().contains(&hello.id);
                let removed = removed || self.has_removed_itself(hello);
                let reason = if removed { Rejection::Removed } else { Rejection::UnknownId };
                reason(hello.id)
            })
        };
        self.disagreement(hello).or_else(stranger).or_else(|| self.lists_differ(hello))
    }

    /// Whether it is a leader that has removed itself, by the very list that this member has stored: it
    /// waits for no more than that.
    fn has_removed_itself(&self, hello: &Hello) -> bool {
        let same = hello.list.version() == self.members.version();
        same && hello.list.get(hello.id).is_none() && self.roster.record.is_none()
    }

    /// What keeps two members from talking, whoever they are.
    fn disagreement(&self, hello: &Hello) -> Option<Rejection> {
        if hello.protocol != PROTOCOL_VERSION {
            return Some(Rejection::Protocol { ours: PROTOCOL_VERSION, theirs: hello.protocol });
        }
        let (ours, theirs) = (&self.agreement, &hello.agreement);
        if ours.cluster != theirs.cluster {
            let (ours, theirs) = (ours.cluster.clone(), theirs.cluster.clone());
            return Some(Rejection::Cluster { ours, theirs });
        }
        if hello.to != self.id() {
            return Some(Rejection::WrongAddress { expected: hello.to, found: self.id() });
        }
        if hello.id == self.id() {
            return Some(Rejection::OwnId(hello.id));
        }
        let settings = [
            ("algorithm", ours.algorithm.name(), theirs.algorithm.name()),
            ("quorum", ours.quorum.name(), theirs.quorum.name()),
            ("preempt", &ours.preempt, &theirs.preempt),
            ("rank", &ours.rank, &theirs.rank),
        ];
        settings.into_iter().find(|(_, a, b)| a != b).map(|(key, ours, theirs)| {
            let [key, ours, theirs] = [key, ours, theirs].map(str::to_owned);
            Rejection::Disagreement { key, ours, theirs }
        })
    }

    /// With a majority: two files that never changed, and do not name the same voters.
    fn lists_differ(&self, hello: &Hello) -> Option<Rejection> {
        if !self.needs_majority() || hello.list.version() != self.members.version() {
            return None;
        }
        let (ours, theirs) = (self.members.digest(), hello.list.digest());
        (ours != theirs).then(|| Rejection::Disagreement {
            key: "members".to_owned(),
            ours: format!("the list {ours:016x}"),
            theirs: format!("the list {theirs:016x}"),
        })
    }

    /// With a majority: whether a member came back without its state, and so without what it
    /// granted. A start that kept it counts one more than the one before.
    fn state_lost(&self, hello: &Hello) -> Option<Rejection> {
        let peer = self.detector.get(hello.id)?;
        let (known, told) = (peer.incarnation, hello.incarnation);
        let again = told == known && peer.instance != hello.instance;
        let lost = self.needs_majority() && (told < known || again);
        lost.then_some(Rejection::StateLost { id: hello.id, known, told })
    }

    /// Whether another process with this id is connected and alive: heard within `failure`, or
    /// not suspected by the leader that this member follows, who hears all while it leads.
    fn in_use(&self, peer: &Peer, hello: &Hello, now: Time) -> Option<Rejection> {
        let (_, address) = peer.inbound.as_ref()?;
        let same = (peer.incarnation, peer.instance) == (hello.incarnation, hello.instance);
        let failure = self.settings.timing.failure;
        let leader = self.leader().filter(|leader| leader.id != hello.id);
        let vouched = leader
            .and_then(|leader| self.detector.get(leader.id)?.declared)
            .is_some_and(|declared| peer.alive() && now.since(declared) < failure);
        let heard = peer.heard_within(failure, now) || vouched;
        (heard && !same).then(|| Rejection::IdInUse { id: hello.id, address: address.clone() })
    }
}

impl Turn<'_> {
    /// A connection to a peer is open: says hello.
    pub fn dialed(&mut self, peer: NodeId, attempt: u64) {
        let hello = self.cx.state.own_hello(self.cx.now, peer);
        self.cx.out.push(Output::Hello { to: peer, attempt, hello });
    }

    /// A dialer says hello.
    pub fn hello(&mut self, connection: ConnectionId, address: String, hello: Hello) {
        self.learn_of_stranger(&hello);
        let state = &self.cx.state;
        let in_use = || {
            let peer = state.detector.get(hello.id)?;
            state.in_use(peer, &hello, self.cx.now)
        };
        let lost = || state.state_lost(&hello);
        if let Some(reason) = state.objection(&hello).or_else(in_use).or_else(lost) {
            if reason == Rejection::UnknownId(hello.id) {
                self.cx.state.roster.knocked(hello.id, self.cx.now);
            }
            let note = Note::Refused { peer: hello.id, reason: reason.clone() };
            self.cx.out.extend([Output::Reject { connection, reason }, Output::Note(note)]);
            return;
        }
        let peer = hello.id;
        self.close_inbound(peer);
        let life = self.meet(&hello);
        let inbound = Some((connection, address));
        self.cx.state.detector.change(peer, |peer| peer.inbound = inbound);
        let outbound = self.cx.state.detector.get(peer).is_some_and(|peer| peer.outbound);
        if outbound && life != Life::Known {
            self.cx.state.detector.change(peer, |peer| peer.outbound = false);
            self.cx.out.push(Output::Disconnect { peer });
        }
        if !outbound || life != Life::Known {
            self.cx.out.push(Output::Dial { peer });
        }
        let welcome = self.cx.state.own_hello(self.cx.now, peer);
        self.cx.out.push(Output::Welcome { connection, peer, welcome });
        self.greeted(&hello, life);
    }

    /// Who says hello may have been added while this member was away, and be the only one left that
    /// can tell it so. What is known of this member itself never changes, once it was added; but that
    /// it was removed may be known by an older list only.
    fn learn_of_stranger(&mut self, hello: &Hello) {
        let (state, list) = (&self.cx.state, &hello.list);
        let named = state.detector.get(hello.id).is_none() && list.get(hello.id).is_some();
        let added = state.members.version() > ListVersion::default();
        let own = |list: &MemberList| list.get(state.id()).cloned();
        let removed = own(&state.members).is_none();
        let same = !added || removed || own(list) == own(&state.members);
        if named && same && state.disagreement(hello).is_none() {
            self.learn(hello.id, hello.view.epoch, &hello.list);
        }
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
            self.cx.out.push(Output::Disconnect { peer });
            self.cx.out.push(Output::Note(Note::Refused { peer, reason }));
            return;
        }
        let life = self.meet(&welcome);
        if life != Life::Known {
            self.close_inbound(peer); // of an earlier life
        }
        self.cx.state.detector.change(peer, |peer| peer.outbound = true);
        self.cx.out.push(Output::Note(Note::Connected { peer }));
        self.say_what_was_lost(peer);
        self.greeted(&welcome, life);
    }

    /// A peer can be told from now on what would not have reached it before.
    fn say_what_was_lost(&mut self, peer: NodeId) {
        self.forward_unsent(peer);
        match self.cx.state.takeover {
            Some(View { epoch, leader: Some(leader) }) if leader.id == peer => {
                self.cx.ask_for_release(epoch, peer);
            }
            _ if self.cx.state.phase == Phase::Leading => self.beat_to(vec![peer]),
            _ => {
                self.repeat_release(peer);
            }
        }
    }

    /// The peer that was dialed refused this member.
    pub fn rejected(&mut self, peer: NodeId, reason: Rejection) {
        let own = self.cx.state.id();
        let alone = !self.cx.state.detector.iter().any(|(_, other)| other.outbound);
        let waits = match reason {
            // The other process holds the id; or it is gone, and the refusals will end soon.
            Rejection::IdInUse { id, .. } => id == own,
            // To be added to a cluster that is there: it starts none of its own meanwhile.
            Rejection::UnknownId(id) => id == own && alone,
            _ => false,
        };
        if waits {
            self.cx.look_around(self.cx.state.settings.timing.failure * 2);
        }
        let removed = reason == Rejection::Removed(own);
        self.cx.out.push(Output::Note(Note::Rejected { peer, reason }));
        if removed {
            self.cx.state.roster.stored.insert(peer); // if it was this member that removed itself
            self.leave();
        }
    }

    /// Ends the connection on which a peer spoke so far.
    fn close_inbound(&mut self, peer: NodeId) {
        let mut older = None;
        self.cx.state.detector.change(peer, |peer| older = peer.inbound.take());
        if let Some((connection, _)) = older {
            self.cx.out.push(Output::Close { connection });
        }
    }

    /// The leader has met a newer life of a peer: what is still open leads to the older one, and
    /// the word that the peer is alive must not keep the newer one out.
    pub fn forget_earlier_life(&mut self, report: &MemberReport) {
        let peer = report.id;
        let older = self.cx.state.detector.get(peer).is_some_and(|known| {
            known.incarnation < report.incarnation && (known.inbound.is_some() || known.outbound)
        });
        if !older {
            return;
        }
        self.cx.state.detector.change(peer, |peer| {
            peer.inbound = None;
            peer.outbound = false;
            peer.told = None;
            peer.heard = None;
        });
        self.cx.out.push(Output::Disconnect { peer });
        self.cx.out.push(Output::Dial { peer });
    }

    /// Notes what a hello or a welcome says of its sender.
    fn meet(&mut self, hello: &Hello) -> Life {
        let mut life = Life::Known;
        self.cx.state.detector.change(hello.id, |peer| {
            if (peer.incarnation, peer.instance) != (hello.incarnation, hello.instance) {
                let met = peer.incarnation.0 > 0;
                life = if met && peer.alive() { Life::Restarted } else { Life::New };
            }
            peer.incarnation = hello.incarnation;
            peer.instance = hello.instance;
            peer.rank = hello.rank;
            peer.stands = hello.stands;
            peer.told = None;
        });
        self.cx.state.detector.hear(hello.id, self.cx.now);
        self.cx.note_round(hello.round);
        if life != Life::Known && self.cx.state.own_timing() != hello.timing {
            let peer = hello.id;
            self.cx.out.push(Output::Note(Note::TimingDiffers { peer, theirs: hello.timing }));
        }
        life
    }

    /// Acts on what was learned from a hello or a welcome.
    fn greeted(&mut self, hello: &Hello, life: Life) {
        // Where that epoch's leader is gone, nobody ends this one's reign.
        let stands_in = hello.view.leader.map_or(Epoch(0), |_| hello.view.epoch);
        self.learn(hello.id, stands_in, &hello.list);
        if self.cx.state.detector.get(hello.id).is_none() {
            return; // by this list it is no member any more
        }
        let behind = self.cx.state.is_behind();
        if !behind && self.cx.state.detector.all_connected() {
            self.cx.state.look_until = self.cx.now; // all have been met: who goes now is missed
        }
        self.inform_voter();
        if life == Life::Restarted {
            self.lost(hello.id, Reason::LeaderRestarted(hello.id));
        }
        self.told(hello.id, hello.view);
        self.algorithm.get().joined(&mut self.cx, hello.id);
        self.begin_if_all_connected();
    }

    /// The wait at power-on ends when all of the newest list are connected. Who has found a lower leader
    /// meanwhile takes over now.
    pub fn begin_if_all_connected(&mut self) {
        let state = &self.cx.state;
        if !state.detector.all_connected() || state.is_behind() {
            return;
        }
        let elects = state.settings.power_on == PowerOn::Elect;
        if state.phase == Phase::Starting && elects {
            self.call(Reason::AllConnected);
        } else if let Some(leader) = state.lower_leader().filter(|_| state.preempts_at_once()) {
            self.cx.take_over(leader.id, Reason::TakingOver(leader.id));
        }
    }
}

//! One state of a node, as its readers see it: what the election thread keeps up to date, and copies for them.

use std::sync::Arc;
use std::time::Duration;

use super::changes::Changes;
use crate::core::detector::Peer;
use crate::core::membership::MemberList;
use crate::core::message::Liveness;
use crate::core::protocol::VERSION;
use crate::core::settings::Timing;
use crate::core::types::{Drain, Epoch, Incarnation, NodeId, Pause, Rank, Task, Time};
use crate::core::{Core, Phase, Reason, Split, Transition};
use crate::net::rejections::Rejections;
use crate::node::clock;
use crate::node::status::Status;
use crate::node::words;
use crate::rank;

/// One state of the node.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) phase: Phase,
    pub(super) leader: Option<NodeId>,
    pub(super) epoch: Epoch,
    /// Not to be believed after this.
    pub(super) until: Time,
    /// When a leader's lease ends.
    pub(super) lease: Option<Time>,
    pub(super) members: Vec<KnownMember>,
    /// Those that do not dial this member although it reaches them; all, if nobody dials it.
    pub(super) silent: Vec<NodeId>,
    pub(super) list: Arc<MemberList>,
    /// Where the latest sample of the own rank came from, or why there is none.
    pub(super) rank_source: Arc<str>,
    /// The member that halted this member.
    pub(super) halter: Option<NodeId>,
    /// The task handed out last.
    pub(super) task: Task,
    /// The last other leader that was met.
    pub(super) split: Option<Split>,
    /// Why an operator keeps this node from leading.
    pub drain: Option<Drain>,
    /// Whether the cluster is paused.
    pub pause: Pause,
    /// The member that an operator chose to lead, whatever its rank.
    pub switchover: Option<NodeId>,
    /// Whether nothing is about to end the leadership of the leader, as far as this member knows.
    pub leads_on: bool,
    /// The leader that this member is to take over from, and when it may, in milliseconds since the Unix epoch.
    pub(super) takeover: Option<(NodeId, Option<u64>)>,
    /// When this leader lets each member take over that is to, in milliseconds since the Unix epoch.
    pub(super) takeovers: Vec<(NodeId, u64)>,
    pub(super) changes: Changes,
    pub rejections: Rejections,
    /// The timings that count.
    pub(super) timing: Timing,
    /// Whether an operator had this node hand over, or it stands back, and it is not eligible since.
    pub(super) has_resigned: bool,
    /// This node's version of electd.
    version: Arc<str>,
}

/// One member as this node knows it.
#[derive(Clone, Debug)]
pub(super) struct KnownMember {
    pub(super) id: NodeId,
    pub(super) eligible: bool,
    pub(super) status: Liveness,
    /// Why elections pass it over.
    pub(super) passed_over: Option<&'static str>,
    /// The attribute that it is compared by; none while it has none, or has not been met.
    pub(super) value: Option<i64>,
    /// Its timings, as it told them last; none of this node, and of one that has not been met.
    pub(super) timing: Option<[u64; 4]>,
    /// Its version of electd, as it told it last.
    pub(super) version: Option<Arc<str>>,
}

impl Snapshot {
    /// The state of a node before its first turn, with the first sample of its rank.
    pub(super) fn new(core: &Core, sample: &rank::SampleResult, now: Time) -> Snapshot {
        let mut snapshot = Snapshot {
            phase: core.phase(),
            leader: None,
            epoch: core.view().epoch,
            until: now,
            lease: None,
            members: Vec::new(),
            silent: Vec::new(),
            list: core.members().clone(),
            rank_source: "".into(),
            halter: None,
            task: Task::default(),
            split: None,
            drain: None,
            pause: Pause::default(),
            switchover: None,
            leads_on: false,
            takeover: None,
            takeovers: Vec::new(),
            changes: Changes::default(),
            rejections: Rejections::default(),
            timing: core.settings().timing,
            has_resigned: false,
            version: VERSION.into(),
        };
        snapshot.sampled(sample);
        snapshot.update(core, now);
        snapshot
    }

    /// Whether a member comes and goes.
    pub fn is_unsteady(&self) -> bool {
        self.members.iter().any(|known| known.passed_over == Some(words::UNSTEADY))
    }

    /// The epoch that a leader leads in, and whether nothing is about to end that, as far as this member sees.
    pub(super) fn led(&self) -> (Option<u64>, bool) {
        (self.leader.map(|_| self.epoch.0), self.leads_on)
    }

    /// Takes over the present state of the core. Returns whether a member began or ceased to answer.
    pub fn update(&mut self, core: &Core, now: Time) -> bool {
        self.phase = core.phase();
        self.leader = core.leader().map(|leader| leader.id);
        self.epoch = core.view().epoch;
        self.until = core.believable_until(now);
        self.lease = core.lease_until();
        self.halter = core.halter();
        self.split = core.split();
        self.drain = core.drain().cloned();
        self.has_resigned = core.has_resigned();
        self.timing = core.settings().timing;
        self.pause = *core.pause();
        self.switchover = core.chosen();
        self.leads_on = core.leads_on();
        let known = self.takeover.and_then(|(_, known)| known);
        self.takeover = core.takeover(now).map(|(from, due)| (from, moment(due, known, now)));
        let takeovers = core.takeovers().filter_map(|(id, due)| {
            let known = self.takeovers.iter().find(|(known, _)| *known == id);
            Some((id, moment(Some(due), known.map(|(_, at)| *at), now)?))
        });
        self.takeovers = takeovers.collect();
        self.task.clone_from(core.task());
        // A chosen member shows the greatest there is, and not its own.
        let value = |rank: Rank| Some(rank.value).filter(|value| Rank::VALUES.contains(value));
        let (id, eligible, status) = (core.id(), core.is_eligible(), Liveness::Alive);
        let passed_over = None;
        let timing = None;
        let (own_value, version) = (core.own_value(), Some(self.version.clone()));
        let own =
            KnownMember { id, eligible, status, passed_over, value: own_value, timing, version };
        let others = core.detector().iter().map(|peer| {
            let met = peer.incarnation() > Incarnation(0);
            let value = value(peer.rank()).filter(|_| met);
            let passed_over = words::passed_over(core, peer);
            let (eligible, status, timing) = (peer.is_eligible(), peer.status(), peer.timing());
            let version = peer.version().cloned();
            KnownMember { id: peer.id(), eligible, status, passed_over, value, timing, version }
        });
        if !Arc::ptr_eq(&self.list, core.members()) {
            self.list.clone_from(core.members());
        }
        let answer = self.members.iter().map(|known| (known.id, known.status));
        let now_answer = core.detector().iter().map(|peer| (peer.id(), peer.status()));
        let same = answer.eq(now_answer.chain([(id, status)]));
        self.members.clear();
        self.members.extend(others.chain([own]));
        let dials = |peer: &Peer| peer.lines.inbound().is_some();
        let is_dialed = core.detector().iter().any(dials);
        let is_silent = |peer: &&Peer| !dials(peer) && (peer.lines.is_up() || !is_dialed);
        self.silent.clear();
        self.silent.extend(core.detector().iter().filter(is_silent).map(Peer::id));
        !same
    }

    /// Notes where a sample of the own rank came from.
    pub fn sampled(&mut self, outcome: &rank::SampleResult) {
        self.rank_source = match outcome {
            Ok(sample) => sample.from.as_str().into(),
            Err(why) => Status::no_rank(why).into(),
        };
    }

    /// Adds a change of state, after which the core is as given, to the latest ones.
    pub fn changed(&mut self, change: &Transition, core: &Core, now: Time) {
        let silent = self.silent(change, core, now);
        // The list as it was before this turn: who was just removed is known by name.
        self.changes.add(change.clone(), self.list.clone(), clock::wall_clock_ms(), silent);
    }

    /// For how long this node had not heard the leader that it named before this change, if that is longer than the
    /// leader is silent between two heartbeats; or for how long this node itself had stood still. Of a leader whose
    /// connection has ended, and that another follows before this node knows why, nothing but that time is known.
    fn silent(&self, change: &Transition, core: &Core, now: Time) -> Duration {
        if let Reason::Stalled(time) = change.reason {
            return time;
        }
        let before = self.changes.leader().and_then(|leader| core.detector().get(leader));
        let follows = change.leader.filter(|next| Some(*next) != self.changes.leader());
        let is_gone = |leader: &Peer| leader.lines.inbound().is_none() || !leader.alive();
        if follows.is_some() && before.is_some_and(is_gone) {
            return before.and_then(Peer::heard).map(|heard| now.since(heard)).unwrap_or_default();
        }
        let silent = before.and_then(|leader| Some(now.since(leader.heard()?))).unwrap_or_default();
        if silent > core.settings().timing.heartbeat * 2 { silent } else { Duration::ZERO }
    }
}

/// When the wall clock shows a time that is due; what was computed before stays, as long as the clock agrees with it.
fn moment(due: Option<Time>, known: Option<u64>, now: Time) -> Option<u64> {
    let due = due.filter(|due| *due > now)?;
    Some(steady(clock::after(clock::wall_clock_ms(), due.since(now)), known))
}

/// The known moment if this is the same, by clocks that are read one after the other.
fn steady(moment: u64, known: Option<u64>) -> u64 {
    known.filter(|known| known.abs_diff(moment) < 100).unwrap_or(moment)
}

#[cfg(test)]
mod tests;

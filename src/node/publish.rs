//! The published snapshot: what the election thread shows the rest of the process.
//!
//! The election thread replaces it as a whole after each turn that changed something; readers
//! take it as a whole. It carries its own expiry, so that a stalled node does not answer "I
//! lead" for ever.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use serde_json::Value;

use super::clock;
use super::members::against_file;
use super::rejections::Rejections;
use super::status::{
    ChangeStatus, HaltingStatus, LeaderStatus, MemberStatus, MessageCount, NodeRef, OtherLeader,
    PartitionStatus, RankStatus, Status,
};
use super::words;
use crate::config::guarantee::Guarantee;
use crate::core::membership::{Member, MemberList};
use crate::core::message::Liveness;
use crate::core::settings::{AlgorithmKind, RankKind, Settings};
use crate::core::split::Split;
use crate::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Task, Time};
use crate::core::{Core, NodeStatus, Phase, Transition};
use crate::net::Counters;
use crate::rank;
use crate::store::Pace;

/// How many of the latest changes of state are shown.
const CHANGES: usize = 32;

/// What is called when this member was removed.
type Call = Box<dyn Fn() + Send + Sync>;

/// What election thread and readers share.
pub struct Board {
    settings: Settings,
    /// The members that the file lists.
    file: Arc<MemberList>,
    removed: AtomicBool,
    on_removal: OnceLock<Call>,
    incarnation: Incarnation,
    started: Time,
    counters: Arc<Counters>,
    /// How long the latest durable writes took.
    pace: Arc<Pace>,
    snapshot: RwLock<Arc<Snapshot>>,
    /// When the election thread turned last.
    turned: AtomicU64,
}

/// One state of the node.
#[derive(Clone, Debug)]
pub struct Snapshot {
    phase: Phase,
    leader: Option<NodeId>,
    epoch: Epoch,
    /// Not to be believed after this.
    until: Time,
    /// When a leader's lease ends.
    lease: Option<Time>,
    members: Vec<Known>,
    list: Arc<MemberList>,
    /// Where the latest sample of the own rank came from, or why there is none.
    rank_source: Arc<str>,
    /// The member that halted this one.
    halter: Option<NodeId>,
    /// The task handed out last.
    task: Task,
    /// The last other leader that was met.
    split: Option<Split>,
    changes: VecDeque<Arc<ChangeStatus>>,
    pub rejections: Rejections,
}

/// What is known of one member.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: NodeId,
    stands: bool,
    status: Liveness,
    /// Why elections pass it over.
    passed_over: Option<&'static str>,
    /// The attribute that it is compared by; none while it has none, or has not been met.
    value: Option<i64>,
}

impl Snapshot {
    /// The state of a node before its first turn, with the first sample of its rank.
    fn new(core: &Core, sample: &rank::Outcome, now: Time) -> Snapshot {
        let mut snapshot = Snapshot {
            phase: core.phase(),
            leader: None,
            epoch: core.view().epoch,
            until: now,
            lease: None,
            members: Vec::new(),
            list: core.members().clone(),
            rank_source: "".into(),
            halter: None,
            task: Task::default(),
            split: None,
            changes: VecDeque::new(),
            rejections: Rejections::default(),
        };
        snapshot.sampled(sample);
        snapshot.update(core, now);
        snapshot
    }

    /// Takes over where the core stands now.
    pub fn update(&mut self, core: &Core, now: Time) {
        self.phase = core.phase();
        self.leader = core.leader().map(|leader| leader.id);
        self.epoch = core.view().epoch;
        self.until = core.believable_until(now);
        self.lease = core.lease_until();
        self.halter = core.halter();
        self.split = core.split();
        self.task.clone_from(core.task());
        let value = |rank: Rank| Some(rank.value).filter(|value| *value != i64::MIN);
        let (id, stands, status) = (core.id(), core.stands(), Liveness::Alive);
        let passed_over = None;
        let own = Known { id, stands, status, passed_over, value: value(core.rank()) };
        let others = core.detector().iter().map(|(id, peer)| {
            let met = peer.incarnation > Incarnation(0);
            let value = value(peer.rank).filter(|_| met);
            let passed_over = words::passed_over(peer);
            Known { id, stands: peer.stands, status: peer.status, passed_over, value }
        });
        if !Arc::ptr_eq(&self.list, core.members()) {
            self.list.clone_from(core.members());
        }
        self.members.clear();
        self.members.extend(others.chain([own]));
    }

    /// Notes where a sample of the own rank came from.
    pub fn sampled(&mut self, outcome: &rank::Outcome) {
        self.rank_source = match outcome {
            Ok(sample) => sample.from.as_str().into(),
            Err(why) => format!("none: {why}").into(),
        };
    }

    /// Adds a change of state to the latest ones.
    pub fn changed(&mut self, change: &Transition, core: &Core) {
        // As it was before this turn: who was just removed is known by name.
        let (members, settings) = (self.list.clone(), core.settings());
        let last = self.changes.back().map_or(0, |change| change.number);
        if self.changes.len() == CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(Arc::new(ChangeStatus {
            number: last + 1,
            at_ms: wall_clock_ms(),
            from: change.from.name().to_owned(),
            to: change.to.name().to_owned(),
            halting: halting_word(settings, change.to),
            leader: change.leader.map(|id| members.name(id)),
            epoch: change.epoch.0,
            reason: change.reason.sentence(&members),
        }));
    }
}

impl Board {
    pub fn new(
        core: &Core,
        file: Arc<MemberList>,
        sample: &rank::Outcome,
        pace: Arc<Pace>,
    ) -> Board {
        let now = clock::now();
        Board {
            settings: core.settings().clone(),
            file,
            removed: AtomicBool::new(false),
            on_removal: OnceLock::new(),
            incarnation: core.incarnation(),
            started: now,
            counters: Arc::new(Counters::default()),
            pace,
            snapshot: RwLock::new(Arc::new(Snapshot::new(core, sample, now))),
            turned: AtomicU64::new(now.0),
        }
    }

    /// What the network counts into.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// The present snapshot, to be carried on.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::clone(&self.snapshot.read())
    }

    /// The task handed out last; none where none was.
    pub fn task(&self) -> Option<Task> {
        let task = self.snapshot.read().task.clone();
        Some(task).filter(|task| !task.content.is_empty())
    }

    /// Replaces the snapshot.
    pub fn publish(&self, snapshot: &Snapshot) {
        let snapshot = Arc::new(snapshot.clone());
        *self.snapshot.write() = snapshot;
    }

    /// Notes that the election thread turned.
    pub fn turned(&self, now: Time) {
        self.turned.store(now.0, Ordering::Relaxed);
    }

    /// How long ago the election thread turned.
    pub fn since_turn(&self, now: Time) -> Duration {
        now.since(Time(self.turned.load(Ordering::Relaxed)))
    }

    /// Whether the election thread turned within `failure`.
    pub fn is_live(&self) -> bool {
        self.since_turn(clock::now()) < self.settings.timing.failure
    }

    /// The members of the cluster.
    pub fn members(&self) -> Arc<MemberList> {
        self.snapshot.read().list.clone()
    }

    /// The leader that this member names.
    pub fn leader(&self) -> Option<NodeId> {
        self.snapshot.read().leader
    }

    /// Whether this member was removed.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    /// Notes that this member was removed, and tells whoever waits for that.
    pub fn removed(&self) {
        self.removed.store(true, Ordering::SeqCst);
        if let Some(call) = self.on_removal.get() {
            call();
        }
    }

    /// Calls this when this member was removed, once or twice.
    pub fn on_removal(&self, call: Call) {
        let call = self.on_removal.get_or_init(|| call);
        if self.is_removed() {
            call();
        }
    }

    fn guarantee(&self, list: &MemberList) -> Guarantee {
        let Settings { algorithm, quorum, ref timing, trust_refused, .. } = self.settings;
        let roles: Vec<Role> = list.iter().map(|member| member.role).collect();
        Guarantee::of(algorithm, quorum, timing, &roles, trust_refused)
    }

    /// The status for people and programs.
    pub fn status(&self) -> Status {
        let snapshot = self.snapshot.read().clone();
        let now = clock::now();
        let (settings, list) = (&self.settings, &snapshot.list);
        let guarantee = self.guarantee(list);
        // A stalled member counts itself as failed; until it can say so itself, this does.
        let stalled = snapshot.phase != Phase::Stopping && !self.is_believable(&snapshot, now);
        let phase = if stalled { Phase::Starting } else { snapshot.phase };
        let leader = snapshot.leader.filter(|_| !stalled).and_then(|id| list.get(id));
        let lease = snapshot.lease.filter(|_| !stalled).map(|lease| lease.since(now));
        Status {
            cluster: settings.cluster.clone(),
            node: NodeRef { id: settings.id.to_string(), name: self.own_name(list) },
            state: phase.name().to_owned(),
            leader: leader.map(|member| LeaderStatus {
                id: member.id.to_string(),
                name: member.name.clone(),
                address: member.address.clone(),
                epoch: snapshot.epoch.0,
            }),
            epoch: snapshot.epoch.0,
            quorum: settings.quorum.name().to_owned(),
            algorithm: settings.algorithm.name().to_owned(),
            preempt: settings.preempt.to_string(),
            rank_source: snapshot.rank_source.to_string(),
            halting: halting_word(settings, phase).map(|status| HaltingStatus {
                status,
                halter: snapshot.halter.map(|id| list.name(id)),
                task_bytes: snapshot.task.content.len(),
            }),
            lease_remaining_ms: lease.map(millis),
            durable_write_ms: self.pace.slowest().map(|time| time.as_secs_f64() * 1000.0),
            guarantee: guarantee.text(),
            worst_failover_ms: guarantee.worst_failover.map(millis),
            differs_from_file: against_file(list, &self.file),
            members: list
                .iter()
                .map(|member| member_status(member, &snapshot, settings.rank))
                .collect(),
            incarnation: self.incarnation.0,
            uptime_ms: millis(now.since(self.started)),
            age_ms: millis(self.since_turn(now)),
            stalled,
            partition: snapshot.split.map(|split| Board::partition(list, &split, now)),
            messages: self.messages(),
            dropped: self.counters.drops().map(|(name, count)| (name.to_owned(), count)).collect(),
            rejections: snapshot.rejections.status(list),
            changes: snapshot.changes.iter().map(|change| ChangeStatus::clone(change)).collect(),
        }
    }

    /// The name of this node; who was removed keeps it until it ends.
    fn own_name(&self, list: &MemberList) -> String {
        let id = self.settings.id;
        list.get(id).map_or_else(|| self.settings.members.name(id), |own| own.name.clone())
    }

    fn is_believable(&self, snapshot: &Snapshot, now: Time) -> bool {
        match snapshot.phase {
            Phase::Leading => now < snapshot.until,
            _ => self.is_live(),
        }
    }

    fn partition(list: &MemberList, split: &Split, now: Time) -> PartitionStatus {
        let other = list.name(split.other);
        PartitionStatus {
            own_epoch: split.own.0,
            other: OtherLeader { name: other, epoch: split.theirs.0 },
            lasted_at_most_ms: millis(split.lasted),
            healed_ms_ago: millis(now.since(split.met)),
        }
    }

    fn messages(&self) -> BTreeMap<String, MessageCount> {
        let counts = self.counters.messages();
        counts
            .map(|(kind, sent, received)| (kind.name().to_owned(), MessageCount { sent, received }))
            .collect()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Garcia-Molina's word for a phase; none with another algorithm than his.
fn halting_word(settings: &Settings, phase: Phase) -> Option<String> {
    let halting = settings.algorithm == AlgorithmKind::Halting;
    halting.then(|| NodeStatus::from(phase).name().to_owned())
}

fn member_status(member: &Member, snapshot: &Snapshot, rank: RankKind) -> MemberStatus {
    let known = snapshot.members.iter().find(|known| known.id == member.id);
    let (stands, status) =
        known.map_or((false, Liveness::Suspected), |known| (known.stands, known.status));
    let id = member.id.to_string();
    let value = match rank {
        RankKind::Id => Value::String(id.clone()),
        _ => known.and_then(|known| known.value).into(),
    };
    MemberStatus {
        name: member.name.clone(),
        address: member.address.clone(),
        admin: member.admin.clone(),
        role: member.role.name().to_owned(),
        stands,
        status: status.name().to_owned(),
        passed_over: known.and_then(|known| known.passed_over).map(str::to_owned),
        rank: RankStatus { by: rank.name().to_owned(), value },
        id,
    }
}

fn wall_clock_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

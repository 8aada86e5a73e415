//! What must hold after every event of every simulated run.

use std::collections::{BTreeMap, BTreeSet};

use super::life::millis;
use super::lists::Lists;
use super::node::Node;
use super::votes::Votes;
use super::world::{FaultSet, Setup};
use crate::core::membership::Member;
use crate::core::message::View;
use crate::core::settings::{AlgorithmKind, Preempt, Quorum, Restored};
use crate::core::types::{Epoch, NodeId, TaskVersion, Time};
use crate::core::{Core, NodeStatus, Phase, Transition};

/// What was seen of one node.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The epoch in which its process leads now.
    leads: Option<Epoch>,
    /// The view of its process.
    view: View,
    /// The greatest epoch that it ever led in, in any life.
    led: Option<Epoch>,
    /// The greatest epoch whose leader it ever named, in any life.
    named: Epoch,
    /// Until when its process says that it leads, by its own clock.
    claims: Option<Time>,
    /// The version of the task that its process has.
    task: TaskVersion,
}

/// What is promised of leaders and their epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// Without a quorum, while the model holds: never two live leaders for one epoch.
    WithinModel,
    /// Without a quorum, beyond it: each side of a partition has its leader, and its epochs.
    BestEffort,
    /// Never two leaders at one instant, nor for one epoch, ever.
    Always,
}

/// Watches all nodes and keeps the first breach of an invariant.
#[derive(Debug)]
pub(super) struct Checker {
    preempt: Preempt,
    promise: Promise,
    seen: Vec<Seen>,
    /// Who led in which epoch.
    reigns: BTreeMap<Epoch, BTreeSet<NodeId>>,
    pub votes: Votes,
    pub lists: Lists,
    pub breach: Option<String>,
    /// How often one came to lead in an epoch of another who is dead: whoever knew it was not
    /// heard. Without a quorum this is not promised.
    pub repeated: u64,
    /// How often one came to lead while another did.
    pub rivals: u64,
    /// How often a member came to lead.
    pub elected: u64,
}

impl Checker {
    pub fn new(setup: &Setup) -> Checker {
        let Setup { preempt, quorum, faults, trust_refused: trusts_refused, .. } = *setup;
        let nodes = setup.values.len();
        let promise = match (quorum != Quorum::None, faults) {
            (true, _) => Promise::Always,
            (false, FaultSet::Model) => Promise::WithinModel,
            (false, FaultSet::All) => Promise::BestEffort,
        };
        Checker {
            preempt,
            promise,
            seen: vec![Seen::default(); nodes],
            reigns: BTreeMap::new(),
            votes: Votes::new(nodes, trusts_refused),
            lists: Lists::new(nodes, quorum == Quorum::Majority),
            breach: None,
            repeated: 0,
            rivals: 0,
            elected: 0,
        }
    }

    /// Notes a leader that reigned before the run.
    pub fn reigned(&mut self, epoch: Epoch, leader: NodeId) {
        self.reigns.entry(epoch).or_default().insert(leader);
    }

    pub fn fail(&mut self, now: Time, what: impl std::fmt::Display) {
        self.breach.get_or_insert_with(|| format!("at {:.3} ms: {what}", millis(now)));
    }

    /// "What a member claims never goes backwards, across restarts."
    pub fn started(&mut self, now: Time, node: usize, restored: Restored) {
        let seen = &mut self.seen[node];
        seen.view = View { epoch: restored.epoch, leader: None };
        seen.task = TaskVersion::default(); // what the disk holds is seen at the first look
        let named = seen.named;
        if restored.floor.max(restored.epoch) < named {
            self.fail(
                now,
                format_args!("node-{} forgot the epoch {named} that it named", node + 1),
            );
        }
    }

    pub fn died(&mut self, node: usize) {
        self.seen[node].leads = None;
        self.seen[node].claims = None;
    }

    /// The greatest epoch whose leader a member ever named.
    pub fn named(&self, node: usize) -> Epoch {
        self.seen[node].named
    }

    /// What a voter told, or a list that a member has, is right, or not.
    pub fn judged(&mut self, now: Time, node: usize, judged: Result<(), String>) {
        if let Err(what) = judged {
            self.fail(now, format_args!("node-{} {what}", node + 1));
        }
    }

    /// What a process tells everybody who asks whether it leads, from now on. It is believed until
    /// it says something else, dies, or runs out; so nothing else can make two of them.
    pub fn published(&mut self, now: Time, node: usize, core: &Core, all: &[Node]) {
        let local = |at: usize| all[at].local(now);
        let until = core.believable_until(local(node));
        let leads = core.phase() == Phase::Leading && local(node) < until;
        self.seen[node].claims = leads.then_some(until);
        let claims =
            |(at, seen): (usize, &Seen)| seen.claims.is_some_and(|until| local(at) < until);
        let rival =
            self.seen.iter().enumerate().position(|(at, seen)| at != node && claims((at, seen)));
        if let Some(rival) = rival.filter(|_| leads) {
            let what = format_args!("node-{} and node-{} both lead", node + 1, rival + 1);
            self.fail(now, what);
        }
    }

    /// A transition that the world has come to see.
    pub fn changed(&mut self, now: Time, node: usize, core: &Core, to: &Transition, all: &[Node]) {
        self.seen[node].leads = None;
        if to.to == Phase::Reorganizing
            && let Some(View { epoch, leader: Some(leader) }) = core.coordinator()
            && leader.id == core.id()
        {
            self.reigned(epoch, leader.id); // those that have its task may name it before it leads
        }
        if to.to == Phase::Leading {
            self.elected += 1;
            self.comes_to_lead(now, node, core, to.epoch, all);
        }
    }

    fn comes_to_lead(&mut self, now: Time, node: usize, core: &Core, epoch: Epoch, all: &[Node]) {
        let name = format!("node-{}", node + 1);
        self.rivals += u64::from(self.seen.iter().any(|other| other.leads.is_some()));
        let strict = self.promise != Promise::BestEffort;
        if let Some(other) = self.seen.iter().position(|other| other.leads == Some(epoch) && strict)
        {
            let what = format_args!("{name} and node-{} both lead in epoch {epoch}", other + 1);
            self.fail(now, what);
        }
        if self.seen[node].led >= Some(epoch) {
            self.fail(now, format_args!("{name} leads in epoch {epoch} or a later one again"));
        }
        let by_another = |led: &BTreeSet<NodeId>| led.iter().any(|id| *id != core.id());
        let repeats = self.reigns.get(&epoch).is_some_and(by_another);
        self.repeated += u64::from(repeats);
        if repeats && self.promise == Promise::Always {
            self.fail(now, format_args!("{name} leads in epoch {epoch} of another"));
        }
        // The voters of its own list are those that count.
        let list = core.members();
        let votes = |at: usize| list.get(all[at].settings.id).is_some_and(Member::votes);
        let granted = self.votes.count((epoch, core.id()), votes);
        if self.promise == Promise::Always && granted < core.members().majority() {
            self.fail(now, format_args!("{name} leads with {granted} grants of epoch {epoch}"));
        }
        self.votes.leads(node, epoch);
        let before = self.seen[node].view;
        if self.promise == Promise::WithinModel && self.overrides(core, before, all) {
            let what =
                format_args!("{name} did not wait for the RELEASE of epoch {}", before.epoch);
            self.fail(now, what);
        }
        let seen = &mut self.seen[node];
        seen.leads = Some(epoch);
        seen.led = Some(epoch);
        self.reigned(epoch, core.id());
    }

    /// Garcia-Molina's assertion 1: any two nodes in Reorganization or Normal, in one epoch, have
    /// the same coordinator; any two in Normal the same task, in the same version.
    fn assertion_1(&mut self, now: Time, core: &Core, all: &[Node]) {
        let Some(own) = core.coordinator() else { return };
        let normal = |core: &Core| NodeStatus::from(core.phase()) == NodeStatus::Normal;
        for other in all.iter().filter_map(|node| node.core.as_ref()) {
            let Some(theirs) = other.coordinator().filter(|view| view.epoch == own.epoch) else {
                continue;
            };
            if theirs.leader.map(|rank| rank.id) != own.leader.map(|rank| rank.id) {
                self.fail(now, format_args!("two coordinators in epoch {}", own.epoch));
            }
            if normal(core) && normal(other) && core.task() != other.task() {
                self.fail(now, format_args!("two tasks in epoch {}", own.epoch));
            }
        }
    }

    /// The newest task wins: no coordinator hands out an older one than a member of Up has, so that
    /// no process ever goes back to one.
    fn newest_task(&mut self, now: Time, node: usize, core: &Core) {
        let version = core.task().version;
        let before = std::mem::replace(&mut self.seen[node].task, version);
        if version < before {
            self.fail(now, format_args!("node-{} went back to task {version}", node + 1));
        }
    }

    /// Whether a member knew a lower leader, thinks it alive and did not let it hand over.
    fn overrides(&self, core: &Core, before: View, all: &[Node]) -> bool {
        let Some(leader) = before.leader.filter(|leader| *leader < core.rank()) else {
            return false;
        };
        let host = all.iter().find(|node| node.settings.id == leader.id);
        let Some(other) = host.and_then(|node| node.core.as_ref()) else { return false };
        let reigns = other.phase() == Phase::Leading && other.view() == before;
        let thought_alive = core.detector().is_alive(leader.id);
        self.preempt == Preempt::Always && reigns && thought_alive
    }

    /// What must hold of a process after anything it was told.
    pub fn look(&mut self, now: Time, node: usize, core: &Core, all: &[Node]) {
        let name = || format!("node-{}", node + 1);
        let (view, leader) = (core.view(), core.leader());
        if view.epoch < self.seen[node].view.epoch {
            self.fail(now, format_args!("the epoch of {} went back to {}", name(), view.epoch));
        }
        self.seen[node].view = view;
        if core.phase() == Phase::Leading {
            let judged = self.lists.lead(core.members());
            self.judged(now, node, judged);
        }
        let own = leader.is_some_and(|leader| leader.id == core.id());
        let fits = match core.phase() {
            Phase::Leading => own && self.seen[node].leads == Some(view.epoch),
            Phase::Following => leader.is_some() && !own,
            _ => leader.is_none(),
        };
        if !fits {
            let phase = core.phase().name();
            self.fail(now, format_args!("{} is {phase} and names {leader:?}", name()));
        }
        self.newest_task(now, node, core);
        let halting = core.settings().algorithm == AlgorithmKind::Halting;
        if halting && self.promise != Promise::BestEffort {
            self.assertion_1(now, core, all);
        }
        let Some(leader) = leader else { return };
        if !self.reigns.get(&view.epoch).is_some_and(|led| led.contains(&leader.id)) {
            let what = format!("{} follows one who never led in epoch {}", name(), view.epoch);
            self.fail(now, what);
        }
        if all[node].disk.kept() < view.epoch {
            let what = format_args!("{} names epoch {} before it is durable", name(), view.epoch);
            self.fail(now, what);
        }
        if self.promise == Promise::Always && view.epoch < self.seen[node].named {
            let what = format!("{} names epoch {} after a later one", name(), view.epoch);
            self.fail(now, what);
        }
        let seen = &mut self.seen[node];
        seen.named = seen.named.max(view.epoch);
    }
}

//! The invariants that must hold after every event of every simulated run.
//!
//! The checker reads the leaders from what processes publish (`page.rs`), the voters from ids and roles
//! (`content.rs`), and the votes from messages and disks (`votes.rs`): so a rule that is broken in the
//! core is not broken here as well.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::clock::millis;
use super::content::{self, Content};
use super::lists::MemberLists;
use super::node::{Disk, Node};
use super::page::Page;
use super::setup::{FaultSet, Setup};
use super::votes::{Votes, Word};
use crate::core::message::View;
use crate::core::settings::{AlgorithmKind, Preempt, Quorum};
use crate::core::types::{Epoch, NodeId, TaskVersion, Time};
use crate::core::{Core, NodeStatus, Phase, Transition};

/// The checker's observations of one node.
#[derive(Clone, Debug, Default)]
struct ObservedNode {
    /// The epoch in which its process leads now.
    leads: Option<Epoch>,
    /// The view of its process.
    view: View,
    /// The greatest epoch that it ever led in, in any incarnation.
    led: Option<Epoch>,
    /// The greatest epoch whose leader it ever named, in any incarnation.
    named: Epoch,
    /// The page that its process shows.
    page: Option<Page>,
    /// Its list before the last change.
    former: Option<Rc<Content>>,
    /// Until when a client believes that it leads.
    believed: Option<Time>,
    /// The version of the task that its process has.
    task: TaskVersion,
}

/// So many nanoseconds may be lost where a time goes from one clock to true time, and from there to another clock.
const ROUNDED: u64 = 2;

/// The promises about leaders and their epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    /// Without a quorum, while the model holds: never two live leaders for one epoch.
    WithinModel,
    /// Without a quorum, beyond it: each side of a partition has its leader, and its epochs.
    BestEffort,
    /// Never two leaders at one instant, nor for one epoch, ever.
    Always,
}

/// Watches all nodes and keeps the first breach of an invariant.
#[derive(Debug)]
pub(super) struct InvariantChecker {
    preempt: Preempt,
    promise: Strictness,
    /// A proof of death ends what a dead leader was promised.
    proofs: bool,
    seen: Vec<ObservedNode>,
    /// The leader of each epoch.
    led_in: BTreeMap<Epoch, BTreeSet<NodeId>>,
    pub votes: Votes,
    pub lists: MemberLists,
    pub breach: Option<String>,
    /// How often a member came to lead in an epoch of a dead leader, since no member that knew of that
    /// epoch was heard. Without a quorum electd does not rule this out.
    pub repeated: u64,
    /// How often one came to lead while another did.
    pub rivals: u64,
    /// How often a member came to lead.
    pub elected: u64,
}

impl InvariantChecker {
    pub fn new(setup: &Setup) -> InvariantChecker {
        let Setup { preempt, quorum, faults, trust_refused, .. } = *setup;
        let proofs = trust_refused && quorum == Quorum::None;
        let nodes = setup.values.len();
        let promise = match (quorum != Quorum::None, faults) {
            (true, _) => Strictness::Always,
            (false, FaultSet::Model) => Strictness::WithinModel,
            (false, _) => Strictness::BestEffort,
        };
        InvariantChecker {
            preempt,
            promise,
            proofs,
            seen: vec![ObservedNode::default(); nodes],
            led_in: BTreeMap::new(),
            votes: Votes::new(nodes),
            lists: MemberLists::new(nodes, quorum == Quorum::Majority),
            breach: None,
            repeated: 0,
            rivals: 0,
            elected: 0,
        }
    }

    /// Records a leader of before the run.
    pub fn record_leader(&mut self, epoch: Epoch, leader: NodeId) {
        self.led_in.entry(epoch).or_default().insert(leader);
    }

    pub fn fail(&mut self, now: Time, what: impl std::fmt::Display) {
        self.breach.get_or_insert_with(|| format!("at {:.3} ms: {what}", millis(now)));
    }

    /// "What a member claims never goes backwards, across restarts": a process starts with the epoch on
    /// its disk, and its own rounds are above the reserve there. The disk also says then how long its
    /// promise may be, and in which epochs it may vote at once. (I2)
    pub fn starts(&mut self, now: [Time; 2], node: usize, kept: [Epoch; 2], disk: &Disk) {
        let ([now, local], [epoch, kept]) = (now, kept);
        let seen = &mut self.seen[node];
        seen.view = View { epoch, leader: None };
        seen.task = TaskVersion::default(); // what the disk holds is seen at the first look
        let named = seen.named;
        self.votes.started(node, local);
        self.votes.stored(node, disk.voted(), disk.covers());
        self.votes.remembers(node, disk.promised());
        if kept < named {
            let what = format_args!("node-{} forgot the epoch {named} that it named", node + 1);
            self.fail(now, what);
        }
    }

    /// The disk of a member forgot something. Where it is refused, with a majority, it can lead in no epoch again.
    pub fn forgot(&mut self, node: usize) {
        self.seen[node].named = Epoch(0);
        if self.promise != Strictness::Always {
            self.seen[node].led = None;
        }
        self.lists.forgot(node);
    }

    /// A process is gone, and its page with it. A lease that a client has read still counts, if only
    /// time ends a promise.
    pub fn died(&mut self, node: usize, certified: bool) {
        let proofs = self.proofs || certified;
        let seen = &mut self.seen[node];
        (seen.leads, seen.page, seen.former) = (None, None, None);
        seen.believed.take_if(|_| proofs);
    }

    /// The greatest epoch whose leader a member ever named.
    pub fn named(&self, node: usize) -> Epoch {
        self.seen[node].named
    }

    /// Checks what a voter said, or a list that a member has.
    pub fn judged(&mut self, now: Time, node: usize, judged: Result<(), String>) {
        if let Err(what) = judged {
            self.fail(now, format_args!("node-{} {what}", node + 1));
        }
    }

    /// With a majority: a process tells another something.
    pub fn tells(&mut self, now: Time, word: Word) {
        if self.promise == Strictness::Always {
            let judged = self.votes.tells(word);
            self.judged(now, word.from.0, judged);
        }
    }

    /// With a majority: a process takes what another told it.
    pub fn hears(&mut self, word: Word) {
        if self.promise == Strictness::Always {
            self.votes.hears(word);
        }
    }

    /// A disk holds something else now.
    pub fn stored(&mut self, now: Time, node: usize, disk: &Disk) {
        self.votes.stored(node, disk.voted(), disk.covers());
        self.votes.remembers(node, disk.promised());
        let judged = self.lists.stored(node, content::number(disk.members()));
        self.judged(now, node, judged);
    }

    /// Checks the page that a process shows to all clients from now on. With a majority no other client
    /// believes another leader meanwhile, and a majority backs the leader for as long as the page says.
    pub fn published(&mut self, now: Time, node: usize, core: &Core, all: &[Node]) {
        let seen = &mut self.seen[node];
        let page = Page::of(core, all[node].turned, seen.page.as_ref());
        if let Some(last) = &seen.page
            && !Rc::ptr_eq(&last.content, &page.content)
        {
            seen.former = Some(last.content.clone());
        }
        let judged = self.lists.taken(&page.content);
        let leads = page.leads(all[node].local(now));
        if self.promise == Strictness::Always {
            self.believe(now, node, &page, all);
        }
        self.seen[node].page = Some(page);
        self.judged(now, node, judged);
        if leads && self.promise == Strictness::Always && !self.is_backed(now, node, all) {
            self.fail(
                now,
                format_args!(
                    "node-{} says that it leads for longer than a majority is bound to it",
                    node + 1
                ),
            );
        }
    }

    /// A page that says that its process leads makes clients believe so; any other ends that, for
    /// all who ask from then on.
    fn believe(&mut self, now: Time, node: usize, page: &Page, all: &[Node]) {
        if page.phase != Phase::Leading {
            self.seen[node].believed = None;
        }
        if !page.leads(all[node].local(now)) {
            return;
        }
        let believed = page.believed(now, all[node].clock);
        let before = self.seen[node].believed;
        self.seen[node].believed = before.max(Some(believed));
        let others = self.seen.iter().enumerate().filter(|(at, _)| *at != node);
        let rival = others.filter(|(_, other)| other.believed > Some(now)).map(|(at, _)| at).next();
        if let Some(rival) = rival {
            let what = format_args!("node-{} and node-{} both lead", node + 1, rival + 1);
            self.fail(now, what);
        }
    }

    /// Whether what voters told binds a majority of them to this leader for as long as its page says:
    /// of those on its list or, right after a change, of those on the list before, which differs by
    /// one of them.
    fn is_backed(&self, now: Time, node: usize, all: &[Node]) -> bool {
        let seen = &self.seen[node];
        let Some(page) = &seen.page else { return true };
        let vote = (page.epoch, all[node].settings.id);
        let end = all[node].clock.truly(page.end());
        let bound = |id| {
            place(all, id).is_some_and(|at| {
                let end = Time(all[at].clock.local(end).0.saturating_sub(ROUNDED));
                self.votes.is_bound(at, vote, node, (all[at].clock.local(now), end))
            })
        };
        page.content.is_majority(bound)
            || seen.former.as_ref().is_some_and(|list| list.is_majority(bound))
    }

    /// Whether a majority of the voters of its list gave a process their votes, its own included.
    fn is_elected(&self, node: usize, epoch: Epoch, all: &[Node]) -> bool {
        let seen = &self.seen[node];
        let vote = (epoch, all[node].settings.id);
        let gave = |id| place(all, id).is_some_and(|at| self.votes.gave(at, vote, node));
        let lists = seen.page.iter().map(|page| &page.content).chain(&seen.former);
        lists.into_iter().any(|list| list.is_majority(gave))
    }

    /// A transition that the world has come to see.
    pub fn changed(&mut self, now: Time, node: usize, core: &Core, to: &Transition, all: &[Node]) {
        self.seen[node].leads = None;
        if to.to == Phase::Reorganizing
            && let Some(View { epoch, leader: Some(leader) }) = core.coordinator()
            && leader.id == core.id()
        {
            self.record_leader(epoch, leader.id); // those that have its task may name it before it leads
        }
        if to.to == Phase::Leading {
            self.elected += 1;
            self.comes_to_lead(now, node, core, to.epoch, all);
        }
    }

    /// Rule I4.
    fn comes_to_lead(&mut self, now: Time, node: usize, core: &Core, epoch: Epoch, all: &[Node]) {
        let name = format!("node-{}", node + 1);
        self.rivals += u64::from(self.seen.iter().any(|other| other.leads.is_some()));
        let strict = self.promise != Strictness::BestEffort;
        if let Some(other) = self.seen.iter().position(|other| other.leads == Some(epoch) && strict)
        {
            let what = format_args!("{name} and node-{} both lead in epoch {epoch}", other + 1);
            self.fail(now, what);
        }
        if self.seen[node].led >= Some(epoch) {
            self.fail(now, format_args!("{name} leads in epoch {epoch} or a later one again"));
        }
        let by_another = |led: &BTreeSet<NodeId>| led.iter().any(|id| *id != core.id());
        let repeats = self.led_in.get(&epoch).is_some_and(by_another);
        self.repeated += u64::from(repeats);
        if repeats && self.promise == Strictness::Always {
            self.fail(now, format_args!("{name} leads in epoch {epoch} of another"));
        }
        if self.promise == Strictness::Always && !self.is_elected(node, epoch, all) {
            self.fail(
                now,
                format_args!("{name} leads in epoch {epoch} without a majority of votes"),
            );
        }
        self.votes.leads(node, epoch);
        let before = self.seen[node].view;
        if self.promise == Strictness::WithinModel && self.overrides(core, before, all) {
            let what =
                format_args!("{name} did not wait for the RELEASE of epoch {}", before.epoch);
            self.fail(now, what);
        }
        let seen = &mut self.seen[node];
        seen.leads = Some(epoch);
        seen.led = Some(epoch);
        self.record_leader(epoch, core.id());
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
        let leads = other.phase() == Phase::Leading && other.view() == before;
        let thought_alive = core.detector().is_alive(leader.id);
        self.preempt == Preempt::Always && leads && thought_alive
    }

    /// What must hold of the page of a process, after any input.
    pub fn look(&mut self, now: Time, node: usize, core: &Core, all: &[Node]) {
        let Some(page) = &self.seen[node].page else { return };
        let (phase, leader, epoch, list) =
            (page.phase, page.leader, page.epoch, page.content.clone());
        // A paused leader shows until its next turn that it leads; a client that reads this does not
        // believe it.
        let leads = page.leads(all[node].local(now));
        let name = || format!("node-{}", node + 1);
        if epoch < self.seen[node].view.epoch {
            self.fail(now, format_args!("the epoch of {} went back to {epoch}", name()));
        }
        self.seen[node].view = core.view();
        if leads {
            let judged = self.lists.lead(&list);
            self.judged(now, node, judged);
        }
        let own = leader == Some(all[node].settings.id);
        let fits = match phase {
            Phase::Leading => own && self.seen[node].leads == Some(epoch),
            Phase::Following => leader.is_some() && !own,
            _ => leader.is_none(),
        };
        if !fits {
            self.fail(now, format_args!("{} is {} and names {leader:?}", name(), phase.name()));
        }
        self.newest_task(now, node, core);
        let halting = core.settings().algorithm == AlgorithmKind::Halting;
        if halting && self.promise != Strictness::BestEffort {
            self.assertion_1(now, core, all);
        }
        let Some(leader) = leader else { return };
        if !self.led_in.get(&epoch).is_some_and(|led| led.contains(&leader)) {
            self.fail(now, format!("{} follows one who never led in epoch {epoch}", name()));
        }
        if all[node].disk.kept() < epoch {
            self.fail(now, format!("{} names epoch {epoch} before it is durable", name()));
        }
        if self.promise == Strictness::Always && epoch < self.seen[node].named {
            self.fail(now, format!("{} names epoch {epoch} after a later one", name()));
        }
        let seen = &mut self.seen[node];
        seen.named = seen.named.max(epoch);
    }
}

fn place(all: &[Node], id: NodeId) -> Option<usize> {
    all.iter().position(|node| node.settings.id == id)
}

//! Kill, restart, resign and switch over, again and again: each election is what the run knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::deeds::{self, Cuts, Deed};
use super::super::members;
use super::super::network;
use super::super::node::Death;
use super::super::orders;
use super::super::plan::InjectedFault;
use super::super::settle::{agreed, step};
use super::super::setup::{Delays, FaultSet, Setup, TIMING};
use super::super::world::World;
use super::*;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, Preempt, Quorum};
use crate::trace::election::Election;
use crate::trace::merge::{TimedRecord, Which, merge};
use crate::trace::record::Record;

const NODES: usize = 5;

/// A cluster to which something is done, again and again.
struct Trial {
    world: World,
    random: Random,
    /// When the leader of each epoch led last.
    led: BTreeMap<u64, Time>,
    problems: Vec<String>,
}

impl Trial {
    fn new(algorithm: AlgorithmKind, quorum: Quorum, seed: u64) -> Trial {
        let mut world = World::new(Setup {
            quorum,
            bootstrap: quorum == Quorum::Majority,
            trust_refused: quorum == Quorum::None,
            faults: FaultSet::All,
            delays: Delays::Random,
            preempt: Preempt::Never,
            seed,
            ..Setup::plain(algorithm, vec![Some(0); NODES])
        });
        world.records = Some(OwnRecords::default());
        let (random, led, problems) = (Random::new(seed), BTreeMap::new(), Vec::new());
        let mut trial = Trial { world, random, led, problems };
        (0..NODES).for_each(|node| trial.start(node));
        trial
    }

    fn start(&mut self, node: usize) {
        orders::start(&mut self.world, node);
        network::dial_all(&mut self.world, node);
    }

    /// Goes on until this holds, for at most a minute. Returns whether it does.
    fn until(&mut self, holds: impl Fn(&World) -> bool) -> bool {
        let end = self.world.now + Duration::from_secs(60);
        while !holds(&self.world) {
            if !step(&mut self.world, end).unwrap() {
                return false;
            }
            for (_, core) in self.world.live() {
                if core.phase() == crate::core::Phase::Leading {
                    self.led.insert(core.view().epoch.0, self.world.now);
                }
            }
        }
        true
    }

    fn pass(&mut self, time: Duration) {
        let end = self.world.now + time;
        // The agenda of a cluster that has a leader is never empty.
        self.until(|world| world.now >= end);
    }

    /// All follow a leader in a later epoch than this: the leader and its epoch.
    fn agree(&mut self, before: u64) -> Option<(usize, u64)> {
        let is_later = |world: &World| leader(world).is_some_and(|(_, epoch)| epoch > before);
        self.until(is_later).then(|| leader(&self.world).expect("they agree"))
    }

    /// Does something to this leader, or beside it.
    fn disturb(&mut self, leader: usize) {
        let other = (leader + 1 + self.random.below(NODES as u64 - 1) as usize) % NODES;
        match self.random.below(7) {
            0 => self.world.die(leader, Death::Vanished),
            1 => orders::give(&mut self.world, leader, InjectedFault::Resign(None)),
            2 => orders::give(&mut self.world, leader, InjectedFault::SwitchOver(Some(other))),
            3 => {
                self.world.die(other, Death::Killed);
                self.pass(TIMING.failure * 3);
                self.world.die(leader, Death::Killed);
            }
            4 if self.world.setup.quorum == Quorum::Majority => {
                self.cut_off(other);
                self.world.die(leader, Death::Killed);
            }
            _ => self.world.die(leader, Death::Killed),
        }
    }

    /// Cuts a member off for a while: it looks for a leader in vain.
    fn cut_off(&mut self, node: usize) {
        let (one, mut all) = (BTreeSet::from([node + 1]), (1..=NODES).collect::<BTreeSet<_>>());
        all.remove(&(node + 1));
        let mut cuts = Cuts::default();
        deeds::perform(&mut self.world, &mut cuts, &Deed::Cut(one, all)).unwrap();
        self.pass(TIMING.failure * 20);
        deeds::perform(&mut self.world, &mut cuts, &Deed::HealAll).unwrap();
    }

    /// Holds what the records show of the election of this epoch against what happened.
    fn judge(&mut self, (before, epoch): (u64, u64), which: Which) {
        let records = shown(&self.world);
        let Some(merged) = merge(&records, which) else {
            return self.problems.push(format!("epoch {epoch}: nobody recorded it"));
        };
        let led = self.led.range(before..epoch).map(|(_, time)| i128::from(time.0));
        let off = led.map(|led| (merged.began_ns - led).abs()).min().unwrap_or_default();
        let (found, leaders) = (merged.epoch, merged.leaders.len());
        let text = Election::new(merged, "simulated", String::new()).text();
        if found != Some(epoch) || leaders != 1 {
            self.problems.push(format!("epoch {epoch} is told as {found:?}:\n{text}"));
        }
        if off > (TIMING.failure * 2).as_nanos() as i128 {
            self.problems.push(format!("epoch {epoch} is off by {} ms:\n{text}", off / 1_000_000));
        }
        if text.contains("do not show why") {
            self.problems.push(format!("epoch {epoch} has other messages:\n{text}"));
        }
    }
}

/// What all nodes that run would show to somebody who estimates their clocks wrong by up to 30 ms.
fn shown(world: &World) -> Vec<TimedRecord> {
    let Some(OwnRecords(records)) = &world.records else { return Vec::new() };
    let live = world.live().filter_map(|(node, core)| {
        let recorded = &records.get(&(node, world.nodes[node].incarnation))?.1;
        let (since_ns, entries) = recorded.entries(&world.members);
        let record = Record {
            cluster: "simulated".to_owned(),
            node: world.members.name(core.id()),
            incarnation: world.nodes[node].disk.incarnation().0,
            algorithm: world.setup.algorithm.name().to_owned(),
            quorum: world.setup.quorum.name().to_owned(),
            now_ns: by_own_clock(node, world.nodes[node].local(world.now)).0,
            since_ns,
            members: world.members.iter().map(|member| member.name.clone()).collect(),
            entries,
            ..Record::default()
        };
        let wrong = (node as i128 * 17 % 7 - 3) * 10_000_000;
        Some(TimedRecord { record, ahead_ns: wrong - i128::from(ahead(node)) })
    });
    live.collect()
}

/// The leader that all follow, and its epoch.
fn leader(world: &World) -> Option<(usize, u64)> {
    let alive = members::members_alive(world);
    agreed(world, &alive).map(|(leader, epoch)| (leader, epoch.0))
}

fn problems(algorithm: AlgorithmKind, quorum: Quorum, seed: u64) -> Vec<String> {
    let mut trial = Trial::new(algorithm, quorum, seed);
    let mut elections = 0;
    for _ in 0..40 {
        let (present, before) = trial.agree(0).expect("a leader of all");
        trial.disturb(present);
        // A member that is to lead and cannot does not, and the leader stays.
        if let Some(after) = trial.agree(before) {
            trial.pass(TIMING.failure * 4);
            if leader(&trial.world) == Some(after) {
                trial.judge((before, after.1), Which::Last);
                trial.judge((before, after.1), Which::Epoch(after.1));
                elections += 1;
            }
        }
        for node in 0..NODES {
            if trial.world.nodes[node].core.is_none() {
                trial.start(node);
            }
        }
        trial.agree(0);
        trial.pass(TIMING.failure * 4); // the halting algorithm takes a member in by an election
    }
    assert!(elections > 30, "{algorithm:?} {quorum:?} {seed}: {elections}");
    trial.problems
}

#[test]
fn each_election_is_dated_and_counted_as_it_was() {
    for algorithm in AlgorithmKind::ALL {
        for quorum in Quorum::ALL {
            let problems = problems(algorithm, quorum, 1);
            let shown = problems.iter().take(3).map(String::as_str).collect::<Vec<_>>();
            let count = problems.len();
            assert_eq!(count, 0, "{algorithm:?} {quorum:?}\n{}", shown.join("\n\n"));
        }
    }
}

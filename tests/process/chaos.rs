//! Fifty random deaths, restarts and freezes of five processes. The test checks that what must never happen does not,
//! on every status that is read meanwhile, and after every step that what must happen does.
//!
//! A failing run prints its seed: ELECTD_TEST_SEED=... cargo test --test process chaos replays the steps.

use electd::core::settings::AlgorithmKind;
use std::env;

use crate::support::{Cluster, Condition, ensure, eventually, for_each_algorithm, watchful};
use uuid::Uuid;

for_each_algorithm! {
    #[ignore = "long"]
    whatever_happens_the_highest_that_lives_leads_alone_in_a_new_epoch,
}

const NODES: usize = 5;
const STEPS: u32 = 50;

fn whatever_happens_the_highest_that_lives_leads_alone_in_a_new_epoch(algorithm: AlgorithmKind) {
    let mut chance = Chance::new();
    let cluster = Cluster::of_with(algorithm, NODES, watchful);
    let mut leader = NODES;
    let mut epoch = cluster.agree_on(leader);
    for step in 1..=STEPS {
        let number = chance.up_to(NODES as u64) + 1;
        let deed = disturb(&cluster, number, &mut chance);
        let highest = (1..=NODES).rev().find(|n| cluster.node(*n).runs()).unwrap();
        println!("step {step}: {deed} node-{number}, so node-{highest} is to lead");
        let next = cluster.agree_on(highest);
        if cluster.node(number).condition() == Condition::Frozen {
            // A shorter pause is a slow message, and those the model excludes.
            eventually("the frozen one is missed", || {
                let shown = cluster.status(highest)?.members[number - 1].status.clone();
                ensure(shown != "alive", || shown)
            });
        }
        let new_reign = highest != leader || number == leader;
        assert!(!new_reign || next > epoch, "epoch {next} after {epoch}");
        (leader, epoch) = (highest, next);
    }
}

/// Does something to a node, but never leaves fewer than two running: one of those that agreed
/// before must be left to know the epoch. Says what was done.
fn disturb(cluster: &Cluster, number: usize, chance: &mut Chance) -> &'static str {
    let node = cluster.node(number);
    match node.condition() {
        Condition::Down => {
            node.start();
            "started"
        }
        Condition::Frozen => {
            node.thaw();
            "thawed"
        }
        Condition::Runs if cluster.running().count() < 3 || chance.up_to(3) == 0 => {
            node.restart();
            "restarted"
        }
        Condition::Runs if chance.up_to(2) == 0 => {
            node.freeze();
            "froze"
        }
        Condition::Runs => {
            node.kill_9();
            "killed"
        }
    }
}

/// Numbers drawn from a seed: xorshift, which never comes to zero.
struct Chance(u64);

impl Chance {
    fn new() -> Chance {
        let seed = match env::var("ELECTD_TEST_SEED") {
            Ok(seed) => seed.parse().expect("ELECTD_TEST_SEED is a number"),
            Err(_) => Uuid::new_v4().as_u64_pair().0 >> 32,
        };
        println!("ELECTD_TEST_SEED={seed}");
        Chance(seed.max(1))
    }

    /// One of `0..limit`.
    fn up_to(&mut self, limit: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit).unwrap()
    }
}

//! The power of hosts fails while members elect: in the middle of a write, and whatever the disk has of what was not synced.
//!
//! A failing run prints its seed: `ELECTD_TEST_SEED=... cargo test --test process disks::power` draws the same again.

use std::cell::Cell;
use std::env;
use std::thread;

use electd::core::random::Random;
use electd::core::settings::AlgorithmKind;
use rustix::process::Pid;
use uuid::Uuid;

use super::{Scene, kill};
use crate::jobs::coroner_of;
use crate::support::recorder::Recorder;
use crate::support::{Node, ensure, eventually, for_each_algorithm, http};

for_each_algorithm! {
    whatever_loses_its_power_no_two_lead_and_each_starts_again,
    #[ignore = "long"]
    however_often_power_fails_no_two_lead_and_each_starts_again,
}

/// How many calls of a node its disk carries out at most before the power fails: those of two records.
const CALLS: u64 = 14;

/// How often we look whether the power has failed at a write, before it fails at no write.
const LOOKS: u32 = 200;

/// A failure of the leader's host, of two and of all, and the same again.
/// Claim: one-leader.
fn whatever_loses_its_power_no_two_lead_and_each_starts_again(algorithm: AlgorithmKind) {
    fail_power(algorithm, 3, 6);
}

fn however_often_power_fails_no_two_lead_and_each_starts_again(algorithm: AlgorithmKind) {
    fail_power(algorithm, 5, 30);
}

/// What makes members elect.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    Resigns,
    Restarts,
}

/// Rules Q1, Q2, Q4, Q13.
fn fail_power(algorithm: AlgorithmKind, nodes: usize, rounds: usize) {
    let seed = env::var("ELECTD_TEST_SEED").map_or_else(
        |_| Uuid::new_v4().as_u64_pair().0 >> 32,
        |seed| seed.parse().expect("ELECTD_TEST_SEED is a number"),
    );
    println!("ELECTD_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let config = |config: &mut serde_json::Value| config["algorithm"] = algorithm.name().into();
    let Some(scene) = Scene::prepare(nodes, config) else { return };
    let recorder = Recorder::of(scene.nodes());
    scene.nodes().iter().for_each(Node::start);
    let (mut leader, mut epoch) = scene.agree();
    for round in 0..rounds {
        let victims = drawn(nodes, leader, round, &mut random);
        let how = [Disturbance::Resigns, Disturbance::Restarts][random.below(2) as usize];
        println!(
            "round {round}: node-{leader} {how:?} in epoch {epoch}, power fails at {victims:?}"
        );
        fail_during(&scene, leader, how, &victims, &mut random);
        until_started(&scene, &victims);
        let (next, later) = scene.agree();
        assert!(later >= epoch, "epoch {later} after {epoch}");
        let is_new = next != leader || victims.contains(&leader);
        assert!(!is_new || later > epoch, "node-{next} leads in epoch {later} again");
        (leader, epoch) = (next, later);
        recorder.never_two();
    }
}

/// The nodes whose power fails: the leader's, two, or all.
fn drawn(nodes: usize, leader: usize, round: usize, random: &mut Random) -> Vec<usize> {
    match round % 3 {
        0 => vec![leader],
        1 => {
            let first = random.below(nodes as u64) as usize;
            let second = first + 1 + random.below(nodes as u64 - 1) as usize;
            vec![first % nodes + 1, second % nodes + 1]
        }
        _ => (1..=nodes).collect(),
    }
}

/// Makes members elect, and cuts the power of the victims when the disk of one of them has come to a call that was drawn. The
/// power is back at once.
fn fail_during(
    scene: &Scene,
    leader: usize,
    how: Disturbance,
    victims: &[usize],
    random: &mut Random,
) {
    let node = scene.node(leader);
    let mut coroner: Option<Pid> = None;
    if let Disturbance::Restarts = how {
        coroner = coroner_of(node.pid());
        node.kill_9();
    }
    for victim in victims {
        scene.disk(*victim).stop_after(random.below(CALLS));
    }
    thread::scope(|scope| {
        let state = node.state();
        match how {
            // On a thread, as its answer may not come.
            Disturbance::Resigns => {
                scope.spawn(move || http::tell(&state, "POST", "/resign", ""));
            }
            Disturbance::Restarts => node.start(),
        }
        let looks = Cell::new(0);
        eventually("the power fails at a write, or at none", || {
            looks.set(looks.get() + 1);
            let stopped = victims.iter().any(|victim| scene.disk(*victim).has_stopped());
            ensure(stopped || looks.get() > LOOKS, || "no disk came to that call".to_owned())
        });
        if victims.contains(&leader) {
            coroner.into_iter().for_each(kill); // of the process before
        }
        scene.cut_power(victims, random);
        victims.iter().for_each(|victim| scene.node(*victim).start());
    });
}

/// Waits until these nodes answer. None may refuse what its disk has of its state.
#[track_caller]
fn until_started(scene: &Scene, numbers: &[usize]) {
    for number in numbers {
        let node = scene.node(*number);
        eventually(&format!("{} answers after its power failed", node.name), || {
            if let Some(code) = node.ended() {
                panic!("{} ended with {code}: {}", node.name, node.log_tail(3));
            }
            scene.status(*number)
        });
    }
}

//! What `electd simulate --config F --down` foretells is what real nodes then do.

use std::time::{Duration, Instant};

use electd::core::random::Random;
use electd::core::settings::{AlgorithmKind, Quorum};
use serde_json::Value;

use crate::support::{Cluster, done, electd, ensure, eventually, for_each_algorithm, within};

for_each_algorithm! { what_is_foretold_of_members_that_go_down_comes_true }

fn what_is_foretold_of_members_that_go_down_comes_true(algorithm: AlgorithmKind) {
    for quorum in Quorum::ALL {
        for seed in 0..2 {
            comes_true(algorithm, quorum, seed);
        }
    }
}

fn comes_true(algorithm: AlgorithmKind, quorum: Quorum, seed: u64) {
    let mut random = Random::new(seed);
    random.draw(); // the first ones of small seeds are alike
    let members = 3 + random.below(4) as usize;
    let cluster = Cluster::start_with(members, |config| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = quorum.name().into();
        config["timing"] = serde_json::json!({"failure": "2s", "message": "100ms"});
    });
    cluster.agree_on(members);
    // Of a greater number than the others, the leader goes more often.
    let goes = |number: &usize| random.below(5) < if *number == members { 4 } else { 2 };
    let mut down: Vec<usize> = (1..=members).rev().filter(goes).collect();
    down.truncate(members - 1);
    if down.is_empty() {
        down.push(1);
    }
    let names: Vec<String> = down.iter().map(|number| format!("node-{number}")).collect();
    let told = foretold(&cluster, &names.join(","));
    let side = &told["sides"][0];
    let (begin, silent) = (Instant::now(), random.below(2) == 0);
    for number in &down {
        let node = cluster.node(*number);
        if silent { node.freeze() } else { node.kill_9() }
    }
    let what = format!("{algorithm:?}, {quorum:?}, {members} members, {names:?} go down: {told:#}");
    let leaders = side["leaders"].as_array().expect("a list");
    assert!(leaders.len() < 2, "the ids tell who leads: {what}");
    let leader = leaders.first().and_then(Value::as_str);
    let look = || named_by_all(&cluster, leader);
    match side["within_ms"].as_u64() {
        Some(bound) if bound > 0 => {
            let bound = Duration::from_millis(bound);
            within(bound * 10, &what, look);
            println!("{what}\nbound {bound:?}, took {:?}", begin.elapsed());
        }
        _ => eventually(&what, look),
    }
}

/// All running nodes name this leader, or none.
fn named_by_all(cluster: &Cluster, leader: Option<&str>) -> Result<(), String> {
    for node in cluster.running() {
        let named = node.status()?.leader.map(|leader| leader.name);
        ensure(named.as_deref() == leader, || format!("{} names {named:?}", node.name))?;
    }
    Ok(())
}

fn foretold(cluster: &Cluster, down: &str) -> Value {
    let args = ["simulate", "--down", down, "--output", "json"];
    serde_json::from_str(&done(&electd(cluster, &args))).expect("JSON")
}

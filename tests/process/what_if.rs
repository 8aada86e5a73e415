//! What `electd simulate --config F --down` foretells is what real nodes then do.

use std::time::{Duration, Instant};

use electd::core::random::Random;
use electd::core::settings::{AlgorithmKind, Quorum};
use serde_json::Value;

use crate::support::{
    Cluster, Network, Node, done, electd, ensure, eventually, for_each_algorithm, watchful, within,
};

for_each_algorithm! {
    what_is_foretold_of_members_that_go_down_comes_true,
    what_is_foretold_of_a_cut_comes_true,
}

/// `WHAT_IF_SEEDS=5 cargo test --test process what_if::` tries 30 cases.
fn what_is_foretold_of_members_that_go_down_comes_true(algorithm: AlgorithmKind) {
    let seeds = std::env::var("WHAT_IF_SEEDS").map_or(2, |seeds| seeds.parse().unwrap());
    for quorum in Quorum::ALL {
        for seed in 0..seeds {
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
    let told = foretold(&cluster, "--down", &names.join(","));
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
    let look = || named_by_all(cluster.running(), leader);
    match side["within_ms"].as_u64() {
        Some(bound) if bound > 0 => {
            let bound = Duration::from_millis(bound);
            within(bound * 10, &what, look);
            println!("{what}\nbound {bound:?}, took {:?}", begin.elapsed());
        }
        _ => eventually(&what, look),
    }
}

/// A real cut, for which this process has to be root.
fn what_is_foretold_of_a_cut_comes_true(algorithm: AlgorithmKind) {
    for (quorum, apart) in
        [(Quorum::None, [2, 5]), (Quorum::Majority, [4, 5]), (Quorum::Majority, [1, 3])]
    {
        let Some(network) = Network::of(5) else { return };
        let cluster = Cluster::on(network, |config| {
            config["algorithm"] = algorithm.name().into();
            config["quorum"] = quorum.name().into();
            watchful(config);
        });
        cluster.agree_on(5);
        let told =
            foretold(&cluster, "--cut", &apart.map(|number| format!("node-{number}")).join(","));
        cluster.network().part(&apart);
        let begin = Instant::now();
        for side in told["sides"].as_array().expect("a list") {
            let text = |field: &str| side[field].as_array().expect("a list").clone();
            let (names, leaders) = (text("members"), text("leaders"));
            let nodes =
                || cluster.nodes().iter().filter(|node| names.contains(&node.name.as_str().into()));
            let leader = leaders.first().and_then(Value::as_str);
            eventually(&format!("{side:#}"), || named_by_all(nodes(), leader));
            println!("{algorithm:?}, {quorum:?}: {side:#}\nafter {:?}", begin.elapsed());
        }
    }
}

/// These nodes all name this leader, or none.
fn named_by_all<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    leader: Option<&str>,
) -> Result<(), String> {
    for node in nodes {
        let named = node.status()?.leader.map(|leader| leader.name);
        ensure(named.as_deref() == leader, || format!("{} names {named:?}", node.name))?;
    }
    Ok(())
}

fn foretold(cluster: &Cluster, what: &str, names: &str) -> Value {
    let args = ["simulate", what, names, "--output", "json"];
    serde_json::from_str(&done(&electd(cluster, &args))).expect("JSON")
}

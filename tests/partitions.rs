//! Real partitions, in mode none: five processes in network namespaces, on a switch whose links are
//! cut and restored. On each side of a cut one leads; after the heal one remains, in a greater
//! epoch. Needs root and `ip`; elsewhere every test says so and passes.

mod support;

use std::time::{Duration, Instant};

use electd::core::bounds;
use electd::core::settings::{AlgorithmKind, Timing};
use support::recorder::{Pair, Recorder};
use support::{Cluster, Network, ensure, eventually, for_each_algorithm};

for_each_algorithm! {
    a_leader_that_is_cut_off_leads_on_and_so_does_another,
    each_half_has_a_leader,
    what_is_lost_one_way_leaves_no_mark,
    a_flapping_link_leaves_no_mark,
    connections_that_hang_half_open_are_let_go,
}

const NODES: usize = 5;

const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(1000),
    message: Duration::from_millis(50),
};

/// Five nodes on a network; none where no network can be made.
fn scene(algorithm: AlgorithmKind) -> Option<Cluster> {
    Some(Cluster::on(Network::of(NODES)?, |config| {
        config["algorithm"] = algorithm.name().into();
        support::watchful(config);
    }))
}

/// Restores the network, and holds what follows against the computed bounds: one leader, for all,
/// in a greater epoch than any before.
#[track_caller]
fn heals(algorithm: AlgorithmKind, cluster: &Cluster, recorder: &Recorder) {
    let before = cluster.greatest_epoch();
    let healed = cluster.network().heal();
    let epoch = cluster.agree_on(NODES);
    let took = healed.elapsed();
    let claims = recorder.claims();
    let others =
        claims.reigns().filter(|reign| (&reign.node[..], reign.epoch) != ("node-5", epoch));
    let last = others.map(|reign| reign.last.0).max().unwrap_or(healed);
    let two = last.saturating_duration_since(healed);
    let bound = bounds::convergence(algorithm, &TIMING, NODES);
    println!(
        "healed: one leader after {took:?} (bound {bound:?}), the others' last claim at {two:?}"
    );
    assert!(epoch > before, "epoch {epoch} after {before}");
    assert!(took <= bound, "one leader only after {took:?}: the bound is {bound:?}");
}

fn a_leader_that_is_cut_off_leads_on_and_so_does_another(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    let network = cluster.network();
    let first = cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    network.plug(5, false);
    let second = cluster.agree_among(&[1, 2, 3, 4], 4);
    cluster.agree_among(&[5], 5);
    assert!(second > first, "epoch {second} after {first}");
    heals(algorithm, &cluster, &recorder);
    let pairs = recorder.claims().pairs();
    pairs.iter().for_each(|pair| println!("two leaders: {pair}"));
    let Pair(.., least) = pairs.last().expect("two led at once, and nobody saw it");
    // Both tell of it; node-4 began later, and so knows it best.
    for (teller, other, epoch) in [(5, "node-4", second), (4, "node-5", first)] {
        let met = cluster.status(teller).unwrap().partition.expect("it met another leader");
        println!("node-{teller}: {met:?}");
        assert_eq!((met.other.name.as_str(), met.other.epoch), (other, epoch), "{met:?}");
        assert!(u128::from(met.lasted_at_most_ms) >= least.as_millis(), "{met:?}, {least:?}");
    }
    assert!(cluster.status(1).unwrap().partition.is_none(), "node-1 never led");
}

fn each_half_has_a_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    let network = cluster.network();
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    network.part(&[4, 5]);
    cluster.agree_among(&[1, 2, 3], 3);
    cluster.agree_among(&[4, 5], 5);
    heals(algorithm, &cluster, &recorder);
}

fn what_is_lost_one_way_leaves_no_mark(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    for (from, to) in [(5, 1), (2, 5), (5, 4)] {
        let before = cluster.greatest_epoch();
        cluster.network().carry(from, to, false);
        eventually(&format!("the silence from {from} to {to} is noticed"), || {
            let ends = [(from, to), (to, from)];
            let shown =
                ends.map(|(one, other)| Ok(cluster.status(one)?.members[other - 1].status.clone()));
            let [one, other] = shown.map(|shown: Result<String, String>| shown);
            let (one, other) = (one?, other?);
            ensure([&one, &other].contains(&&"suspected".to_owned()), || format!("{one}, {other}"))
        });
        let healed = cluster.network().heal();
        let epoch = cluster.agree_on(5);
        println!(
            "{from} to {to}: one leader after {:?}, epoch {before} to {epoch}",
            healed.elapsed()
        );
        assert!(epoch >= before, "epoch {epoch} after {before}");
    }
    recorder.claims().pairs().iter().for_each(|pair| println!("two leaders: {pair}"));
}

fn a_flapping_link_leaves_no_mark(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    let network = cluster.network();
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    let times = [50, 50, 900, 300, 1500, 100, 400, 700, 1200, 20, 20, 20, 1100];
    network.flap(5, times.map(Duration::from_millis));
    heals(algorithm, &cluster, &recorder);
}

fn connections_that_hang_half_open_are_let_go(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    cluster.agree_on(5);
    let threads = || cluster.running().map(|node| node.figure("Threads")).collect::<Vec<_>>();
    let before = threads();
    println!("threads before: {before:?}");
    cluster.network().plug(2, false);
    cluster.until_seen(5, 2, "suspected");
    cluster.network().vanish(&cluster, 2);
    cluster.network().heal();
    let start = Instant::now();
    eventually("threads", || {
        let now = threads();
        let seen: Vec<_> = [1, 3, 4, 5]
            .iter()
            .map(|n| cluster.status(*n).unwrap().members[1].status.clone())
            .collect();
        println!("threads after {:?}: {now:?} seen {seen:?}", start.elapsed());
        ensure(start.elapsed() > Duration::from_secs(20), || String::new())
    });
}

//! Mode none: on each side of a cut one leads; after the heal one remains, in a greater epoch.

use std::time::Duration;

use electd::core::bounds;
use electd::core::settings::AlgorithmKind;

use super::{LONG, NODES, flaps, scene};
use crate::support::claims::Pair;
use crate::support::recorder::Recorder;
use crate::support::{Cluster, ensure, eventually, for_each_algorithm};

for_each_algorithm! {
    a_leader_that_is_cut_off_leads_on_beside_another,
    each_half_has_a_leader,
    #[ignore = "long"]
    loss_one_way_leaves_one_leader,
    #[ignore = "long"]
    a_flapping_link_leaves_one_leader,
}

/// Restores the network, and expects one leader, for all, in an epoch as great as any before. It prints
/// the time beside the computed bound, which only a machine without other work can keep.
#[track_caller]
fn heals(algorithm: AlgorithmKind, cluster: &Cluster) -> u64 {
    let healed = cluster.network().heal();
    let epoch = cluster.agree_on(NODES);
    let took = healed.elapsed();
    let bound = bounds::convergence(algorithm, &cluster.timing(), NODES);
    println!("healed: one leader after {took:?}, the bound is {bound:?}");
    assert!(epoch >= cluster.greatest_epoch(), "epochs go back to {epoch}");
    epoch
}

fn a_leader_that_is_cut_off_leads_on_beside_another(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "none") else { return };
    let first = cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    cluster.network().plug(5, false);
    let second = cluster.agree_among(&[1, 2, 3, 4], 4);
    assert!(second > first, "epoch {second} after {first}");
    let alone = cluster.agree_among(&[5], 5);
    eventually("the two are seen at once", || {
        let pairs = recorder.claims().pairs();
        let long = |Pair(.., least): &&Pair| *least > Duration::from_millis(500);
        let found = pairs.iter().find(long);
        ensure(found.is_some(), || format!("{pairs:?}"))
    });
    // On a busy machine node-5 may have a greater epoch than the others already.
    let healed = heals(algorithm, &cluster);
    assert!(healed > second || alone > second, "epoch {healed} after {second}: it leads anew");
    until_reported(&cluster, &recorder);
}

/// The leader that stepped down first reports the other, and the other may report it: with a name, and
/// for no less time than the test saw.
#[track_caller]
fn until_reported(cluster: &Cluster, recorder: &Recorder) {
    let pairs = recorder.claims().pairs();
    let Pair(.., least) = pairs.iter().max_by_key(|Pair(.., least)| *least).expect("two led");
    eventually("one of them tells of the other", || {
        let mut met = Vec::new();
        for (teller, other) in [(4, "node-5"), (5, "node-4")] {
            let status = cluster.status(teller)?;
            met.extend(status.partition.filter(|met| met.other.name == other));
            let is_right = met.last().is_none_or(|met| {
                let epochs = [met.own_epoch, met.other.epoch];
                met.healed_ms_ago < status.uptime_ms
                    && epochs.iter().all(|epoch| *epoch <= status.epoch)
            });
            ensure(is_right, || format!("{met:?} in {}", status.epoch))?;
        }
        let long = met.iter().any(|met| u128::from(met.lasted_at_most_ms) >= least.as_millis());
        ensure(long, || format!("{met:?}; seen for {least:?}"))
    });
}

/// Rule E4.
/// Claim: survivor.
fn each_half_has_a_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "none") else { return };
    cluster.agree_on(5);
    cluster.network().part(&[4, 5]);
    let low = cluster.agree_among(&[1, 2, 3], 3);
    let high = cluster.agree_among(&[4, 5], 5);
    let healed = heals(algorithm, &cluster);
    assert!(healed > low || high > low, "epoch {healed} after {low}: the remaining one leads anew");
}

/// Rule C1.
fn loss_one_way_leaves_one_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "none") else { return };
    cluster.agree_on(5);
    for loss in [(5, 1), (2, 5), (5, 4)] {
        cluster.network().lose(&[loss], LONG);
        heals(algorithm, &cluster);
    }
}

/// Claim: survivor.
fn a_flapping_link_leaves_one_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "none") else { return };
    cluster.agree_on(5);
    cluster.network().flap(5, flaps());
    heals(algorithm, &cluster);
}

//! Mode majority: only the side with more than half of the voters has a leader, and there are never two
//! at one instant, whatever is cut.

use std::env;

use electd::core::settings::AlgorithmKind;

use super::{LONG, flaps, scene};
use crate::support::recorder::Recorder;
use crate::support::{Cluster, ensure, eventually, for_each_algorithm};

for_each_algorithm! {
    a_leader_that_is_cut_off_stops_before_another_begins,
    only_the_greater_half_has_a_leader,
    #[ignore = "long"]
    loss_one_way_never_makes_two_leaders,
    #[ignore = "long"]
    a_flapping_link_never_makes_two_leaders,
}

/// How often a leader is cut off in a row: once in a usual run, as one that stays too long shows that each time, and
/// ELECTD_TEST_CUTS in a thorough one.
fn cuts() -> u32 {
    env::var("ELECTD_TEST_CUTS").map_or(1, |cuts| cuts.parse().expect("it is a number"))
}

/// Claim: one-leader.
fn a_leader_that_is_cut_off_stops_before_another_begins(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "majority") else { return };
    let recorder = Recorder::of(cluster.nodes());
    for cut in 1..=cuts() {
        let first = cluster.agree_on(5);
        let off = cluster.network().cut_off(5);
        let second = cluster.agree_among(&[1, 2, 3, 4], 4);
        assert!(second > first, "epoch {second} after {first}");
        let new = eventually("node-4 was seen to lead", || {
            recorder.claims().leadership("node-4", second).cloned().ok_or_else(String::new)
        });
        // It may have taken in its members again before the cut, in an epoch of their own.
        let claims = recorder.claims();
        let leaderships = claims.leaderships().filter(|leadership| leadership.node == "node-5");
        let old =
            leaderships.max_by_key(|leadership| leadership.epoch).expect("it was seen to lead");
        assert!(old.last.0 < new.first.1, "certainly both: {old:?} {new:?}");
        println!(
            "cut {cut}: node-5 claimed last {:?} after it, node-4 first {:?} after it",
            old.last.1.saturating_duration_since(off),
            new.first.0.saturating_duration_since(off)
        );
        leads_nothing(&cluster, 5);
        cluster.network().heal();
    }
    cluster.agree_on(5);
    recorder.never_two();
}

/// It shows no leader, and does not claim to be one.
#[track_caller]
fn leads_nothing(cluster: &Cluster, number: usize) {
    eventually(&format!("node-{number} names nobody"), || {
        let status = cluster.status(number)?;
        ensure(status.leader.is_none(), || format!("{:?}", status.leader))
    });
    assert_eq!(cluster.node(number).get("/leader").unwrap().code, 503);
}

/// Claim: majority-only.
fn only_the_greater_half_has_a_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "majority") else { return };
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    cluster.network().part(&[4, 5]);
    cluster.agree_among(&[1, 2, 3], 3);
    leads_nothing(&cluster, 4);
    leads_nothing(&cluster, 5);
    cluster.network().heal();
    cluster.agree_on(5);
    recorder.never_two();
}

/// Rule C1.
/// Claim: one-leader.
fn loss_one_way_never_makes_two_leaders(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "majority") else { return };
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    for losses in [&[(5, 1)][..], &[(2, 5)], &[(5, 4), (5, 3), (5, 2)], &[(1, 5), (2, 5), (3, 5)]] {
        cluster.network().lose(losses, LONG);
        cluster.network().heal();
        cluster.agree_on(5);
    }
    recorder.never_two();
}

/// Claim: one-leader.
fn a_flapping_link_never_makes_two_leaders(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm, "majority") else { return };
    cluster.agree_on(5);
    let recorder = Recorder::of(cluster.nodes());
    cluster.network().flap(5, flaps());
    cluster.network().heal();
    cluster.agree_on(5);
    recorder.never_two();
}

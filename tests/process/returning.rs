//! A member that crashes again and again: it leads once more, and then the others keep their leader.

use std::time::Instant;

use crate::support::{Cluster, ensure, eventually};
use electd::core::settings::AlgorithmKind;
use serde_json::json;
use story::story;

#[story]
fn bully_the_others_keep_their_leader() {
    the_others_keep_their_leader_beside_a_member_that_crashes_again_and_again(AlgorithmKind::Bully);
}

#[story]
fn ring_the_others_keep_their_leader() {
    the_others_keep_their_leader_beside_a_member_that_crashes_again_and_again(AlgorithmKind::Ring);
}

fn the_others_keep_their_leader_beside_a_member_that_crashes_again_and_again(
    algorithm: AlgorithmKind,
) {
    let cluster = Cluster::start_with(3, |config| {
        // On a busy machine the others stay steady, and count both departures before they forget the first.
        config["timing"] = json!({"failure": "3s", "heartbeat": "300ms", "message": "150ms"});
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
    });
    cluster.agree_among(&[1, 2, 3], 3);
    cluster.node(3).restart();
    cluster.agree_among(&[1, 2, 3], 3);
    // What the others notice within `failure` counts as one departure.
    let (agreed, failure) = (Instant::now(), cluster.timing().failure);
    eventually("`failure` has passed", || {
        let left = failure.saturating_sub(agreed.elapsed());
        ensure(left.is_zero(), || format!("{left:?} are left"))
    });
    cluster.node(3).restart();
    cluster.agree_among(&[1, 2], 2);
    let before = cluster.status(1).unwrap().epoch;
    for _ in 0..5 {
        cluster.node(3).restart();
        eventually("it is back", || {
            let member = &cluster.status(1)?.members[2];
            ensure(member.status == "alive", || format!("{member:?}"))
        });
        cluster.agree_among(&[1, 2], 2);
    }
    eventually("its status says why", || {
        let why = &cluster.status(1)?.members[2];
        ensure(why.passed_over.as_deref() == Some("comes and goes"), || format!("{why:?}"))
    });
    assert_eq!(cluster.status(1).unwrap().epoch, before, "node-2 leads on");
}

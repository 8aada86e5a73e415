//! A member that crashes again and again: it leads once more, and then the others keep their leader.

use std::time::Instant;

use crate::support::{Cluster, ensure, eventually, watchful};
use electd::core::settings::AlgorithmKind;
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
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
    });
    cluster.agree_among(&[1, 2, 3], 3);
    cluster.node(3).restart();
    let restarted = Instant::now();
    cluster.agree_among(&[1, 2, 3], 3);
    // What happens within `failure` counts as one departure.
    let failure = cluster.timing().failure;
    eventually("`failure` has passed", || {
        let left = failure.saturating_sub(restarted.elapsed());
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

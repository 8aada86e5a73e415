//! A firewall resets the connections of a leader that lives, and refuses all dials in its place. Unlike a certificate that
//! proves nothing: its voters stay bound, and nobody takes it for dead.

use serde_json::Value;
use story::story;

use super::{SOON, end_of_lease, nobody_is_free, others, quick, slow, until_replaced};
use crate::support::recorder::Recorder;
use crate::support::{Cluster, Network, ensure, eventually, within};

/// What a node says of a peer that it takes for dead, in its log, its problems or its changes.
const WORDS_OF_DEATH: [&str; 4] = ["is dead", "process ended", "has died", "certifies it"];

/// Three members on a network.
fn scene(change: impl FnOnce(&mut Value)) -> Option<Cluster> {
    Some(Cluster::on(Network::of(3)?, change))
}

/// Puts the firewall between the leader and the others, and waits until both sides know the resets: long before they could
/// miss each other. False where no firewall can be made.
#[track_caller]
fn reset(cluster: &Cluster, leader: usize) -> bool {
    if let Err(error) = cluster.network().firewall(leader, true) {
        println!("skipped: a firewall needs root and nft: {error}");
        return false;
    }
    for observer in others(leader) {
        within(SOON, "a dial to the leader is refused, after its connection was reset", || {
            let leader = &cluster.status(observer)?.members[leader - 1];
            let dial = leader.failed_dial.clone().unwrap_or_default();
            let is_refused = leader.status == "suspected" && dial.contains("refuses connections");
            ensure(is_refused, || format!("{}: {dial}", leader.status))
        });
        within(SOON, "a dial of the leader is refused", || {
            let member = &cluster.status(leader)?.members[observer - 1];
            let dial = member.failed_dial.clone().unwrap_or_default();
            ensure(dial.contains("refuses connections"), || dial)
        });
    }
    true
}

/// Neither a status nor a log takes the leader for dead.
#[track_caller]
fn nobody_says_that_it_died(cluster: &Cluster, leader: usize) {
    for observer in others(leader) {
        let (status, log) = (cluster.status(observer).unwrap(), cluster.node(observer).log());
        assert_ne!(status.members[leader - 1].status, "dead");
        let problems = status.problems.into_iter().map(|problem| problem.text);
        let reasons = status.changes.into_iter().map(|change| change.reason);
        for text in problems.chain(reasons).chain([log]) {
            let says = WORDS_OF_DEATH.iter().find(|words| text.contains(*words));
            assert_eq!(says, None, "{text}");
        }
    }
}

/// Claim: no-forgery.
#[story]
fn a_firewall_that_resets_frees_no_voter() {
    let Some(cluster) = scene(slow) else { return };
    let (leader, epoch) = cluster.agree();
    if !reset(&cluster, leader) {
        return;
    }
    assert_eq!(cluster.status(leader).unwrap().state, "leading");
    nobody_is_free(&cluster, others(leader), epoch);
    nobody_says_that_it_died(&cluster, leader);
}

#[story]
fn beyond_a_firewall_that_resets_nobody_leads_before_the_lease_has_ended() {
    let Some(cluster) = scene(quick) else { return };
    let (leader, _) = cluster.agree();
    let recorder = Recorder::of(cluster.nodes());
    let end = end_of_lease(&cluster, leader);
    if !reset(&cluster, leader) {
        return;
    }
    let next = until_replaced(&cluster, leader);
    let epoch = cluster.agree_among(&others(leader), next);
    eventually("the old one names nobody", || {
        let status = cluster.status(leader)?;
        ensure(status.leader.is_none(), || format!("{:?}", status.leader))
    });
    nobody_says_that_it_died(&cluster, leader);
    cluster.network().firewall(leader, false).unwrap();
    cluster.agree_on(next);
    let new = recorder.claims().leadership(&cluster.node(next).name, epoch).cloned();
    let new = new.expect("it was seen to lead");
    assert!(new.first.1 >= end, "{:?} before the end of the lease", end - new.first.1);
    recorder.never_two();
}

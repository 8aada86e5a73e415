//! Leading with a majority, in real processes: who may fail, who may never lead, and what a voter
//! that comes without its state may not do.

use crate::support::{
    Cluster, Finished, ensure, eventually, for_each_algorithm, the_highest_comes_back, watchful,
};
use electd::core::settings::AlgorithmKind;
use serde_json::Value;
use story::story;

for_each_algorithm! {
    a_leader_has_a_lease_and_nobody_else_has,
    two_hosts_and_a_witness_survive_any_one_failure,
    without_a_majority_nobody_leads_until_it_is_back,
    a_frozen_leader_is_replaced_and_does_not_lead_when_it_thaws,
    a_leader_that_stops_hands_over,
    the_highest_takes_over_when_it_is_back,
}

fn majority(config: &mut Value) {
    config["quorum"] = "majority".into();
}

/// A silent peer is noticed soon.
fn watchful_majority(config: &mut Value) {
    majority(config);
    watchful(config);
}

/// node-3, which ranks highest, is a witness.
fn with_witness(config: &mut Value) {
    watchful_majority(config);
    config["members"][2]["role"] = "witness".into();
}

fn a_leader_has_a_lease_and_nobody_else_has(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, majority);
    cluster.agree_on(3);
    let lease = |number| cluster.status(number).unwrap().lease_remaining_ms;
    assert!(lease(3).is_some_and(|left| left > 0 && left <= 4000), "{:?}", lease(3));
    assert_eq!((lease(1), lease(2)), (None, None));
    let guarantee = cluster.status(1).unwrap().guarantee;
    assert!(guarantee.contains("2 of the 3 voters: any one may fail"), "{guarantee}");
}

fn two_hosts_and_a_witness_survive_any_one_failure(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, with_witness);
    let mut epoch = cluster.agree_on(2);
    for (failed, leader) in [(3, 2), (2, 1), (1, 2)] {
        cluster.node(failed).kill_9();
        let next = cluster.agree_on(leader);
        assert!(next >= epoch, "epoch {next} after {epoch}");
        cluster.node(failed).start();
        epoch = cluster.agree_on(2);
    }
    let eligible = cluster.status(1).unwrap().members[2].eligible;
    assert!(!eligible, "the witness never leads");
}

/// Claim: majority-only.
fn without_a_majority_nobody_leads_until_it_is_back(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, watchful_majority);
    let before = cluster.agree_on(3);
    cluster.node(1).kill_9();
    cluster.node(2).kill_9();
    eventually("the last one stops leading", || {
        let (code, status) = (cluster.node(3).get("/leader")?.code, cluster.status(3)?);
        ensure(code == 503 && status.leader.is_none(), || status.state)
    });
    let why = |status: electd::node::status::Status| {
        status.changes.into_iter().map(|change| change.reason).collect::<Vec<_>>()
    };
    eventually("it says why", || {
        let reasons = why(cluster.status(3)?);
        let told = |what: &str| reasons.iter().any(|reason| reason == what);
        let all = told("no majority acknowledged it in time")
            && told("no majority of the voters answers");
        ensure(all, || format!("{reasons:?}"))
    });
    cluster.node(1).start();
    assert!(cluster.agree_on(3) > before);
}

/// Claim: one-leader.
fn a_frozen_leader_is_replaced_and_does_not_lead_when_it_thaws(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, |config| {
        watchful_majority(config);
        config["preempt"] = "never".into();
    });
    // A busy machine may have let a lower one lead first, which nobody preempts.
    let (leader, before) = cluster.agree();
    cluster.node(leader).freeze();
    let (_, after) = cluster.agree();
    assert!(after > before);
    cluster.node(leader).thaw();
    let (_, epoch) = cluster.agree();
    assert!(epoch >= after, "epoch {epoch} after {after}");
    // A busy machine may have given it a later epoch, but never its own one again.
    let changes = cluster.status(leader).unwrap().changes;
    let led = changes.iter().filter(|change| change.to == "leading" && change.epoch <= after);
    assert_eq!(led.count(), 1, "it led again: {changes:?}");
}

fn a_leader_that_stops_hands_over(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, majority);
    let epoch = cluster.agree_on(3);
    cluster.node(3).stop_term();
    assert_eq!(cluster.node(3).exit_code(), 0);
    // With a failure time of 5 s no member would have noticed yet.
    assert!(cluster.agree_on(2) > epoch);
    let reasons = cluster.status(2).unwrap().changes.into_iter().map(|change| change.reason);
    assert!(reasons.into_iter().any(|reason| reason == "leader node-3 handed over"));
}

fn the_highest_takes_over_when_it_is_back(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, watchful_majority);
    the_highest_comes_back(&cluster);
}

/// Claim: majority-only.
#[story]
fn an_observer_follows_and_has_no_vote() {
    let cluster = Cluster::start_with(3, |config| {
        watchful_majority(config);
        config["members"][0]["role"] = "observer".into();
    });
    cluster.agree_on(3);
    assert_eq!(cluster.status(1).unwrap().state, "following");
    cluster.node(2).kill_9(); // one of two voters is no majority, whatever the observer says
    eventually("nobody leads", || {
        let states = [cluster.status(1)?.leader, cluster.status(3)?.leader];
        ensure(states.iter().all(Option::is_none), || format!("{states:?}"))
    });
    cluster.node(2).start();
    cluster.agree_on(3);
}

/// Claim: lost-voter.
#[story]
fn the_first_start_needs_all_voters_or_a_bootstrap() {
    let cluster = Cluster::prepare(3, watchful_majority);
    for number in [1, 2] {
        cluster.node(number).start();
    }
    eventually("node-2 says what is missing", || {
        let changes = cluster.status(2)?.changes;
        let missing = "it has not met node-3: a first start needs every voter";
        let told = changes.iter().any(|change| change.reason.contains(missing));
        ensure(told, || format!("{changes:?}"))
    });
    cluster.node(3).start();
    cluster.agree_on(3);

    let hasty = Cluster::prepare(3, watchful_majority);
    for number in [1, 2] {
        hasty.node(number).start_with(&["--bootstrap"]);
    }
    hasty.agree_on(2);
    hasty.node(3).start(); // the leader tells it where the cluster stands
    hasty.agree_on(3);
}

/// Claim: lost-voter.
#[story]
fn a_voter_that_lost_its_state_is_refused() {
    let cluster = Cluster::start_with(3, watchful_majority);
    cluster.agree_on(3);
    cluster.lose_state_of_first();
    eventually("node-3 refuses it", || {
        let rejections = cluster.status(3)?.rejections;
        let told =
            rejections.iter().any(|rejection| rejection.reason.contains("its state was lost"));
        ensure(told, || format!("{rejections:?}"))
    });
}

#[story]
fn a_bootstrap_is_for_a_majority_only() {
    let cluster = Cluster::prepare(1, |_| {});
    cluster.node(1).start_with(&["--bootstrap"]);
    assert_eq!(cluster.node(1).exit_code(), 2);
    assert!(cluster.node(1).log().contains("this cluster has \"none\""));
}

/// Claim: majority-only.
#[story]
fn files_that_name_different_voters_do_not_mix() {
    let cluster = Cluster::prepare(3, watchful_majority);
    for number in [2, 3] {
        cluster.node(number).start();
    }
    let mut config = cluster.config().clone();
    config["members"].as_array_mut().unwrap().remove(2);
    let place = (cluster.node(1).address, cluster.node(1).admin);
    let odd = cluster.process(1, place, "odd", &config);
    odd.start_with(&["--bootstrap"]);
    eventually("node-2 refuses it", || {
        let rejections = cluster.status(2)?.rejections;
        let told = rejections.iter().any(|r| r.reason.contains("members differs"));
        ensure(told, || format!("{rejections:?}"))
    });
    assert_eq!(odd.status().unwrap().leader.map(|leader| leader.name), None);
    odd.kill_9();
    cluster.node(1).start();
    cluster.agree_on(3);
}

/// Five voters on a file of five. Two of them are restarted with a file of three: they keep the list by
/// which they voted, and say so. Otherwise node-2 would lead node-1, and node-5 the other three. (M10)
/// Claim: majority-only.
#[story]
fn an_edited_file_makes_no_second_majority() {
    let cluster = Cluster::start_with(5, watchful_majority);
    cluster.agree_on(5);
    let three = cluster.config()["members"].as_array().unwrap()[..3].to_vec();
    for number in [1, 2] {
        // Before that it has promised nothing, and its file may still be corrected.
        eventually("it has stored that it takes part", || {
            let stored = std::fs::read_to_string(cluster.state_file(number)).unwrap_or_default();
            ensure(stored.contains("\"informed\": true"), || stored.clone())
        });
        cluster.node(number).kill_9();
        cluster.start_listing(number, &three);
    }
    let leaders = || {
        let leads = |number: &usize| cluster.status(*number).is_ok_and(|s| s.state == "leading");
        (1..=5).filter(leads).collect::<Vec<_>>()
    };
    // In whatever order the two start and ask: no other member ever leads.
    let leading = |allowed: &[usize]| {
        let leading = leaders();
        assert!(leading.iter().all(|leader| allowed.contains(leader)), "{leading:?} lead");
    };
    eventually("all follow node-5", || {
        leading(&[5]);
        for number in 1..=5 {
            let leader = cluster.status(number)?.leader.map(|leader| leader.name);
            ensure(leader.as_deref() == Some("node-5"), || format!("node-{number}: {leader:?}"))?;
        }
        Ok(())
    });
    for number in [1, 2] {
        let status = cluster.status(number).unwrap();
        assert_eq!(status.members.len(), 5);
        let words = status.differs_from_file.unwrap();
        assert!(words.contains("with node-4, node-5"), "{words}");
        assert!(words.contains("`member add`"), "{words}");
        cluster.node(number).until_logged(&[&words]);
    }
    let check = std::process::Command::new(env!("CARGO_BIN_EXE_electd"))
        .args(["check", "--node", "node-1", "--config"])
        .arg(cluster.file())
        .finished();
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(text.contains("with node-4, node-5"), "{text}");
    // The two are no majority, whatever their file says.
    [3, 4, 5].iter().for_each(|number| cluster.node(*number).kill_9());
    eventually("node-1 and node-2 have no leader", || {
        leading(&[]);
        let states = [1, 2].map(|number| cluster.status(number));
        let none = states.iter().flatten().all(|status| status.leader.is_none());
        ensure(none, || {
            format!("{:?}", states.iter().flatten().map(|s| &s.leader).collect::<Vec<_>>())
        })
    });
}

//! An operator chooses the leader: the present leader hands over to that member, whatever its rank, and
//! nobody preempts it.

use std::path::Path;
use std::process::Output;
use std::thread;

use electd::core::settings::{AlgorithmKind, Quorum};
use serde_json::Value;
use story::story;

use crate::support::{
    Cluster, Finished, command, done, electd, ensure, eventually, for_each_algorithm,
};

for_each_algorithm! {
    the_member_that_an_operator_chose_leads_until_that_is_cleared,
    a_restart_ends_a_switchover,
}

fn cluster(algorithm: AlgorithmKind, quorum: Quorum) -> Cluster {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = quorum.name().into();
    });
    cluster.agree_on(3);
    cluster
}

/// Waits until all nodes know who was chosen to lead.
#[track_caller]
fn await_choice(cluster: &Cluster, chosen: Option<&str>) {
    for node in 1..=3 {
        eventually("the node knows who was chosen to lead", || {
            let status = cluster.status(node)?;
            ensure(status.switchover.as_deref() == chosen, || format!("{status:?}"))
        });
    }
}

fn the_member_that_an_operator_chose_leads_until_that_is_cleared(algorithm: AlgorithmKind) {
    for quorum in Quorum::ALL {
        let cluster = cluster(algorithm, quorum);
        let said = done(&electd(&cluster, &["switchover", "--to", "node-1", "--node", "node-2"]));
        assert!(said.contains("handed over to node-1\nnode-1 leads in epoch"), "{said}");
        cluster.agree_on(1);
        await_choice(&cluster, Some("node-1"));
        let shown = done(&electd(&cluster, &["status", "--node", "node-2"]));
        assert!(shown.contains("node-1 leads by it, whatever its rank"), "{shown}");
        let all = done(&electd(&cluster, &["status"]));
        assert!(all.contains("\nswitchover: node-1 leads by it, whatever its rank"), "{all}");

        cluster.node(3).restart(); // and ranks higher
        await_choice(&cluster, Some("node-1"));
        cluster.agree_on(1);
        let again = done(&electd(&cluster, &["switchover", "--to", "node-1"]));
        assert!(again.contains("node-1 leads already, by a switchover; nothing"), "{again}");

        let said = done(&electd(&cluster, &["switchover", "--clear", "--node", "node-2"]));
        assert_eq!(said, "no switchover keeps the leader from being preempted\n");
        cluster.agree_on(3);
        await_choice(&cluster, None);
    }
}

fn a_restart_ends_a_switchover(algorithm: AlgorithmKind) {
    let cluster = cluster(algorithm, Quorum::Majority);
    done(&electd(&cluster, &["switchover", "--to", "node-1"]));
    cluster.agree_on(1);
    cluster.node(1).restart();
    cluster.agree_on(3);
    await_choice(&cluster, None);
}

#[story]
fn a_switchover_that_cannot_be_is_refused_and_the_leader_leads_on() {
    let cluster = cluster(AlgorithmKind::Bully, Quorum::Majority);
    done(&electd(&cluster, &["drain", "--node", "node-1"]));
    cluster.node(2).kill_9();
    for (to, code, said) in [
        ("node-1", 1, "says why; node-1 itself says: it is drained since 20"),
        ("node-2", 1, "node-2 cannot lead: node-3 does not hear it; the last dial: "),
        ("node-9", 1, "no member is named \"node-9\"; there are node-1, node-2, node-3"),
    ] {
        eventually("the switchover is refused, and why", || {
            let refused = electd(&cluster, &["switchover", "--to", to]);
            let why = String::from_utf8_lossy(&refused.stderr).into_owned();
            let fits = refused.status.code() == Some(code) && why.contains(said);
            ensure(fits, || format!("{refused:?}"))
        });
    }
    assert_eq!(electd(&cluster, &["switchover"]).status.code(), Some(2));
    let both = electd(&cluster, &["switchover", "--to", "node-1", "--clear"]);
    assert_eq!(both.status.code(), Some(2));
    assert_eq!(cluster.node(3).post("/switchover", "{}").unwrap().code, 400);
    cluster.node(2).start();
    cluster.agree_on(3);
}

/// The leader's job does not end, so that the leader waits for it while the member that is to succeed it dies.
fn a_successor_that_dies_during_a_handover(order: &[&str]) {
    for by in ["node-1", "node-3"] {
        let cluster = Cluster::prepare(3, |config: &mut Value| {
            config["quorum"] = "majority".into();
        });
        let [begun, asked_to_end] =
            ["begun", "asked"].map(|name| cluster.file().with_file_name(name));
        let work = format!(
            "trap 'touch {}' TERM; touch {}; while :; do sleep 0.1; done",
            asked_to_end.display(),
            begun.display()
        );
        cluster.node(3).start_with(&["--stop-after", "1000s", "--", "sh", "-c", &work]);
        [1, 2].iter().for_each(|number| cluster.node(*number).start());
        cluster.agree_on(3);
        let is_there = |file: &Path| ensure(file.exists(), || cluster.node(3).log_tail(5));
        eventually("the job runs", || is_there(&begun));
        done(&electd(&cluster, &["drain", "--node", "node-1"]));
        let mut asking = command(&cluster, &[order, &["--node", by]].concat());
        let asked = thread::spawn(move || asking.finished());
        eventually("the job is asked to end", || is_there(&asked_to_end));
        cluster.node(2).kill_9();
        let Output { status, stderr, .. } = asked.join().unwrap(); // within a minute
        let why = String::from_utf8_lossy(&stderr).into_owned();
        assert_eq!(status.code(), Some(1), "{by}: {why}");
        assert!(why.contains("cannot lead") || why.contains("no other live member"), "{why}");
        assert_eq!(cluster.status(3).unwrap().state, "leading");
    }
}

#[story]
fn a_switchover_whose_target_dies_ends_at_whichever_node_it_was_asked() {
    a_successor_that_dies_during_a_handover(&["switchover", "--to", "node-2"]);
}

#[story]
fn a_resignation_that_nobody_can_succeed_any_more_ends_at_whichever_node_it_was_asked() {
    a_successor_that_dies_during_a_handover(&["resign"]);
}

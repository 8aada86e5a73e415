//! A member that an operator drained does not lead, and everybody can see why.

use std::process::Output;
use std::thread;

use electd::core::settings::{AlgorithmKind, Quorum};
use serde_json::Value;
use story::story;

use crate::support::{
    Cluster, Finished, command, done, electd, ensure, eventually, for_each_algorithm, watchful,
};

for_each_algorithm! {
    of_all_that_are_drained_at_once_one_is_left_in_whichever_order_they_ask,
    a_drained_leader_hands_over_and_does_not_lead_after_a_restart_until_it_is_undrained,
}

/// Runs this command for one node of the cluster.
fn at_node(cluster: &Cluster, args: &[&str], node: &str) -> Output {
    electd(cluster, &[args, &["--node", node]].concat())
}

/// Claim: in-order.
fn a_drained_leader_hands_over_and_does_not_lead_after_a_restart_until_it_is_undrained(
    algorithm: AlgorithmKind,
) {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    let said = done(&at_node(&cluster, &["drain", "--reason", "new disk"], "node-3"));
    assert_eq!(said, "node-3 does not lead from now on, and hands over to node-2\n");
    assert_ne!(cluster.status(3).unwrap().state, "leading", "the answer waits for that");
    cluster.agree_on(2);

    cluster.node(3).restart();
    cluster.agree_on(2);
    let drain = cluster.status(3).unwrap().drain.expect("it is stored");
    assert_eq!((&*drain.reason, drain.until), ("new disk", None));
    let shown = eventually("all is well", || {
        let output = at_node(&cluster, &["status"], "node-3");
        ensure(output.status.success(), || format!("{output:?}")).map(|()| done(&output))
    });
    assert!(shown.contains("drained") && shown.contains("new disk"), "{shown}");
    let all = done(&electd(&cluster, &["status"]));
    assert!(
        all.contains("\ndrained: node-3, since ") && all.contains(": new disk; `electd undrain "),
        "{all}"
    );

    let said = done(&at_node(&cluster, &["undrain"], "node-3"));
    assert_eq!(said, "node-3 may lead again\n");
    cluster.agree_on(3);
}

/// In each turn the operators of all three hosts ask at once, as in `electd drain && reboot`. (A6)
/// Claim: in-order.
fn of_all_that_are_drained_at_once_one_is_left_in_whichever_order_they_ask(
    algorithm: AlgorithmKind,
) {
    for quorum in Quorum::ALL {
        let cluster = Cluster::start_with(3, |config: &mut Value| {
            config["algorithm"] = algorithm.name().into();
            config["quorum"] = quorum.name().into();
        });
        for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            cluster.agree_on(3);
            let commands: Vec<_> = order
                .into_iter()
                .map(|node| {
                    let mut drain =
                        command(&cluster, &["drain", "--node", &format!("node-{node}")]);
                    thread::spawn(move || drain.finished())
                })
                .collect();
            let ended: Vec<Output> =
                commands.into_iter().map(|command| command.join().unwrap()).collect();
            let refused: Vec<&Output> = ended.iter().filter(|one| !one.status.success()).collect();
            assert!(!refused.is_empty(), "nobody is left: {ended:?}");
            for one in refused {
                assert_eq!(one.status.code(), Some(1), "{ended:?}");
                let why = String::from_utf8_lossy(&one.stderr).into_owned();
                assert!(why.contains("or use --force"), "{why}");
            }
            let drained = |node| cluster.status(node).map(|status| status.drain.is_some());
            let left: Vec<usize> = (1..=3).filter(|node| !drained(*node).unwrap()).collect();
            assert_eq!(left.len(), 3 - ended.iter().filter(|one| one.status.success()).count());
            assert!(left.contains(&cluster.agree().0), "who leads is not drained: {left:?}");
            for node in 1..=3 {
                done(&at_node(&cluster, &["undrain"], &format!("node-{node}")));
            }
        }
    }
}

/// Here the leader is gone, and with it the majority.
#[story]
fn without_a_leader_only_a_forced_drain_is_done() {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["quorum"] = "majority".into();
        watchful(config);
    });
    cluster.agree_on(3);
    [2, 3].iter().for_each(|node| cluster.node(*node).kill_9());
    eventually("node-1 has no leader", || {
        let leader = cluster.status(1)?.leader;
        ensure(leader.is_none(), || format!("{leader:?}"))
    });
    let refused = at_node(&cluster, &["drain"], "node-1");
    assert_eq!(refused.status.code(), Some(75), "{refused:?}");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("no leader said in time whether another member"), "{why}");
    assert_eq!(cluster.status(1).unwrap().drain, None);
    done(&at_node(&cluster, &["drain", "--force"], "node-1"));
    assert!(cluster.status(1).unwrap().drain.is_some());
}

#[story]
fn a_drain_ends_by_itself_and_the_last_that_may_lead_is_not_drained() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    done(&at_node(&cluster, &["drain", "--for", "1ms"], "node-2"));
    cluster.agree_on(2);
    assert_eq!(cluster.status(2).unwrap().drain, None);

    done(&at_node(&cluster, &["drain", "--for", "1h", "--reason", "new disk"], "node-1"));
    let first = cluster.status(1).unwrap().drain.unwrap();
    let said = done(&at_node(&cluster, &["drain"], "node-1"));
    assert!(
        said.contains("it was drained already, since ") && said.contains(": new disk"),
        "{said}"
    );
    assert_eq!(cluster.status(1).unwrap().drain.as_ref(), Some(&first), "nothing is dropped");
    done(&at_node(&cluster, &["drain", "--reason", "new fan"], "node-1"));
    let last = cluster.status(1).unwrap().drain.unwrap();
    assert_eq!((&*last.reason, last.until), ("new fan", first.until));
    eventually("the leader hears that node-1 is not eligible", || {
        ensure(!cluster.status(2)?.members[0].eligible, || "not yet".to_owned())
    });
    let refused = at_node(&cluster, &["drain"], "node-2");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("no other live member may lead"), "{why}");
    assert!(why.contains("draining it would be an outage"), "{why}");
    cluster.agree_on(2);
    done(&at_node(&cluster, &["drain", "--force"], "node-2"));
    cluster.agree_on(2);
}

#[story]
fn a_drain_that_makes_no_sense_is_refused_and_changes_nothing() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    for (args, expected) in [
        (vec!["drain", "--for", "12"], "\"12\" is no time: give a number and a unit"),
        (vec!["drain", "--for=-1h"], "is no time"),
        (vec!["drain", "--for", "0s"], "\"0s\" is out of range: give 1ms to 87600h"),
        (vec!["drain", "--reason", "a\nb"], "no line breaks"),
        (
            vec!["drain", "--reason", &"x".repeat(201)],
            "the reason has 201 bytes: give it at most 200",
        ),
    ] {
        let refused = at_node(&cluster, &args, "node-1");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(why.contains(expected), "{why}");
    }
    eventually("nothing has changed", || {
        let status = cluster.status(1)?;
        ensure(status.drain.is_none() && status.state == "leading", || format!("{status:?}"))
    });
}

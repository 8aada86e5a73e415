//! Elections of real processes: who leads, and in which epoch, when members come and go.

mod support;

use support::{Cluster, Node, ensure, eventually};

#[test]
fn a_cluster_that_starts_together_holds_one_election() {
    let cluster = Cluster::start(5);
    cluster.agree_on(5);
    for (number, node) in (1..).zip(cluster.nodes()) {
        let changes = cluster.status(number).unwrap().changes;
        let named: Vec<_> = changes.iter().filter_map(|change| change.leader.as_ref()).collect();
        assert_eq!(named, ["node-5"], "{} named nobody else, and once", node.name);
        let (leads, follows) = if number == 5 { (200, 503) } else { (503, 200) };
        let code = |path| node.get(path).unwrap().code;
        assert_eq!((code("/leader"), code("/follower")), (leads, follows), "{}", node.name);
        assert_eq!((code("/livez"), code("/readyz")), (200, 200), "{}", node.name);
    }
}

#[test]
fn killed_one_by_one_the_next_highest_leads_down_to_the_last_survivor() {
    let cluster = Cluster::start(5);
    let mut epoch = cluster.agree_on(5);
    for survivor in (1..5).rev() {
        cluster.node(survivor + 1).kill_9();
        let next = cluster.agree_on(survivor);
        assert!(next > epoch, "node-{survivor} leads in {next}, after {epoch}");
        epoch = next;
    }
}

#[test]
fn a_lone_node_leads() {
    let cluster = Cluster::start_watchful(1);
    assert_eq!(cluster.agree_on(1), 1);
}

#[test]
fn the_highest_takes_over_when_it_is_back() {
    let cluster = Cluster::start(3);
    let first = cluster.agree_on(3);
    cluster.node(3).kill_9();
    let second = cluster.agree_on(2);
    cluster.node(3).start();
    let third = cluster.agree_on(3);
    assert!(first < second && second < third, "{first}, {second}, {third}");
    let incarnation = cluster.status(3).unwrap().incarnation;
    assert_eq!(incarnation, 2, "its second life");
}

#[test]
fn a_lower_member_joins_without_changing_the_epoch() {
    let cluster = Cluster::start(3);
    let epoch = cluster.agree_on(3);
    cluster.node(1).kill_9();
    eventually("the leader knows that node-1 is dead", || {
        let shown = cluster.status(3)?.members[0].status.clone();
        ensure(shown == "dead", || shown)
    });
    cluster.node(1).start();
    assert_eq!(cluster.agree_on(3), epoch);
}

#[test]
fn without_preemption_the_highest_follows_when_it_is_back() {
    let cluster = Cluster::start_with(3, |config| config["preempt"] = "never".into());
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    let epoch = cluster.agree_on(2);
    cluster.node(3).start();
    assert_eq!(cluster.agree_on(2), epoch, "nobody is deposed");
    cluster.node(2).kill_9();
    assert!(cluster.agree_on(3) > epoch, "an election still takes the highest");
}

#[test]
fn the_epoch_outlives_the_death_of_all_nodes() {
    let cluster = Cluster::start(3);
    for _ in 0..3 {
        cluster.agree_on(3);
        let before = cluster.greatest_epoch();
        cluster.nodes().iter().for_each(Node::kill_9);
        cluster.nodes().iter().for_each(Node::start);
        let after = cluster.agree_on(3);
        assert!(after > before, "epoch {after} after {before}");
    }
}

//! Hosts that each have a file of their own, as if `electd init` had run on each: their members refuse each other.

use std::time::Duration;

use electd::tls::make::Authority;
use serde_json::{Value, json};
use story::story;

use crate::support::credentials::secure;
use crate::support::{Cluster, Node, ensure, eventually, watchful};

/// Many times the time after which a silent peer counts as gone.
const LONG: Duration = Duration::from_secs(8);

/// A node in the place of this one, with a file that differs so.
fn foreign(cluster: &Cluster, number: usize, change: impl FnOnce(&mut Value)) -> Node {
    let mut config = cluster.config().clone();
    change(&mut config);
    let node = cluster.node(number);
    cluster.process(number, (node.address, node.admin), &format!("own-{number}"), &config)
}

/// Other ids for all.
fn drawn_anew(config: &mut Value) {
    for member in config["members"].as_array_mut().unwrap() {
        member["id"] = json!(uuid::Uuid::new_v4());
    }
}

/// Waits until these have run for long, and have said why they are refused; none of them has ever led.
#[track_caller]
fn none_leads(nodes: &[Node], why: &str) {
    for node in nodes {
        eventually(
            &format!("{} has run for long, and says why it does not lead", node.name),
            || {
                let status = node.status()?;
                assert!(
                    status.changes.iter().all(|change| change.to != "leading"),
                    "{}",
                    node.log()
                );
                let long = u128::from(status.uptime_ms) > LONG.as_millis();
                let told = |problem: &electd::node::status::Problem| {
                    problem.kind == "rejected" && problem.text.contains(why)
                };
                let is_told = status.problems.iter().any(told) && node.log().contains(why);
                ensure(long && is_told, || format!("{:?}", status.problems))
            },
        );
    }
}

#[story]
fn three_hosts_with_ids_of_their_own_do_not_lead_one_each() {
    let cluster = Cluster::prepare(3, watchful);
    let nodes: Vec<Node> = (1..=3).map(|number| foreign(&cluster, number, drawn_anew)).collect();
    nodes.iter().for_each(Node::start);
    let why = "its host has a file of its own, with other ids";
    none_leads(&nodes, why);
}

/// With ids of one file, and an authority of its own for each.
#[story]
fn three_hosts_with_authorities_of_their_own_do_not_lead_one_each() {
    let cluster = Cluster::prepare(3, |config| {
        watchful(config);
        secure(config);
        config["timing"]["failure"] = "4s".into(); // handshakes keep a machine busy
    });
    for number in 1..=3 {
        let (name, authority) = (format!("node-{number}"), Authority::new("test").unwrap());
        let pair = authority.sign(&name).unwrap();
        cluster.certificates().put(&name, &[authority.certificate()], &pair);
    }
    cluster.nodes().iter().for_each(|node| node.start());
    none_leads(cluster.nodes(), "is signed by no authority that this node trusts");
}

#[story]
fn two_hosts_of_clusters_of_other_names_do_not_lead_one_each() {
    if crate::support::credentials::wanted() {
        println!("skipped: over TLS a certificate is of one cluster");
        return;
    }
    let cluster = Cluster::prepare(2, watchful);
    let nodes: Vec<Node> = (1..=2)
        .map(|number| {
            foreign(&cluster, number, |config| config["cluster"] = format!("of-{number}").into())
        })
        .collect();
    nodes.iter().for_each(Node::start);
    none_leads(&nodes, "clusters differ");
}

/// And a member that once led goes on, whoever refuses it later.
#[story]
fn members_that_reach_each_other_lead_beside_one_that_refuses_them() {
    let cluster = Cluster::prepare(3, watchful);
    let odd = foreign(&cluster, 3, drawn_anew);
    odd.start();
    cluster.node(1).start();
    cluster.node(2).start();
    cluster.agree_on(2);
    none_leads(std::slice::from_ref(&odd), "");
    cluster.node(2).kill_9();
    cluster.agree_on(1);
    none_leads(std::slice::from_ref(&odd), "");
}

//! Hosts with two families of addresses, on two networks: a member listens where the others dial it, or says that it
//! does not.

use std::fs;
use std::path::Path;

use serde_json::Value;
use story::story;

use crate::names::{check, hosts, scene, true_addresses};
use crate::support::{Cluster, Network, ensure, eventually};

const QUORUMS: [&str; 2] = ["none", "majority"];

/// Three hosts on the networks of both families, with the names of their hosts; each has these lines in its /etc/hosts.
fn wide_scene(quorum: &str, lines: impl Fn(usize) -> String) -> Option<Cluster> {
    if !has_ipv6() {
        return None;
    }
    let cluster = scene(quorum, lines)?;
    cluster.network().widen();
    Some(cluster)
}

fn has_ipv6() -> bool {
    let has = Path::new("/proc/net/if_inet6").exists();
    if !has {
        println!("skipped: this host has no IPv6");
    }
    has
}

/// The others by their addresses of one family on the network of the cables.
fn others(own: usize, family: &str) -> String {
    let others = (1..=3).filter(|number| *number != own);
    others.map(|number| format!("{family}{number} host-{number}\n")).collect()
}

/// As of a resolver that knows all interfaces of its host. The others know one address each.
#[story]
fn a_member_listens_on_all_that_its_name_means() {
    for quorum in QUORUMS {
        let all = |own: usize| {
            let lines =
                ["192.168.5.", "fd00::", "10.0.0."].map(|net| format!("{net}{own} host-{own}\n"));
            lines.concat() + &others(own, if own == 1 { "fd00::" } else { "10.0.0." })
        };
        let Some(cluster) = wide_scene(quorum, all) else { return };
        assert_eq!(
            check(&cluster, 1).matches("probably dials").count(),
            0,
            "{}",
            check(&cluster, 1)
        );
        cluster.nodes().iter().for_each(|node| node.start());
        let epoch = cluster.agree_on(3);
        // The coroner has all of the sockets, and so has the next process.
        cluster.node(3).kill_9();
        let next = cluster.agree_on(2);
        assert!(next > epoch);
        cluster.node(3).start();
        cluster.agree_on(3);
        for number in 1..=3 {
            let problems = cluster.status(number).unwrap().problems;
            assert!(problems.iter().all(|found| found.kind != "address"), "{problems:?}");
        }
    }
}

/// Whatever the host says of sockets for IPv6.
#[story]
fn a_member_that_listens_everywhere_is_reached_by_both_families() {
    if !has_ipv6() {
        return;
    }
    for quorum in QUORUMS {
        let Some(network) = Network::of(3) else { return };
        network.widen();
        let cluster = Cluster::prepare_on(network, |config: &mut Value| {
            config["quorum"] = quorum.into();
            for member in config["members"].as_array_mut().unwrap() {
                member["listen"] = "[::]:7100".into();
            }
        });
        for node in cluster.nodes() {
            node.at_home(|| fs::write("/proc/sys/net/ipv6/bindv6only", "1")).unwrap();
            node.start();
        }
        cluster.agree_on(3);
    }
}

/// Each reaches the others, and hears nobody: without a majority all lead, with one nobody does.
#[story]
fn a_member_that_does_not_listen_where_the_others_dial_it_says_so() {
    for (quorum, own_network) in [("none", "fd00::"), ("majority", "192.168.5.")] {
        let astray =
            |own: usize| format!("{own_network}{own} host-{own}\n") + &others(own, "10.0.0.");
        let Some(cluster) = wide_scene(quorum, astray) else { return };
        let said = |number: usize| {
            let other = if number == 1 { 2 } else { 1 };
            format!(
                "host-{number}:7100 is {own_network}{number} on this host, and node-{other}, at"
            )
        };
        for number in 1..=3 {
            let told = check(&cluster, number);
            assert!(told.contains(&format!("WARNING: {}", said(number))), "{told}");
            assert!(told.contains(&format!("probably dials 10.0.0.{number}, where")), "{told}");
        }
        cluster.nodes().iter().for_each(|node| node.start());
        for number in 1..=3 {
            eventually("it is a problem", || {
                let problems = cluster.node(number).status()?.problems;
                let is_told = |found: &electd::node::status::Problem| {
                    found.kind == "address" && found.text.contains(&said(number))
                };
                ensure(problems.iter().any(is_told), || format!("{problems:?}"))
            });
        }
        for number in 1..=3 {
            fs::write(hosts(&cluster, number), true_addresses(&[])).unwrap();
        }
        cluster.agree_on(3);
        eventually("it is no problem any more", || {
            let problems = cluster.status(1)?.problems;
            ensure(problems.iter().all(|found| found.kind != "address"), || format!("{problems:?}"))
        });
    }
}

/// It is the own host alone that is wrong: the others reach each other, and it reaches them.
#[story]
fn one_member_of_a_sound_cluster_that_listens_on_another_network_says_so() {
    let lines = |own: usize| {
        let network = if own == 1 { "192.168.5." } else { "10.0.0." };
        format!("{network}{own} host-{own}\n") + &others(own, "10.0.0.")
    };
    let Some(cluster) = wide_scene("majority", lines) else { return };
    cluster.nodes().iter().for_each(|node| node.start());
    eventually("it is a problem of node-1 alone", || {
        for number in 1..=3 {
            let problems = cluster.status(number)?.problems;
            let told = problems.iter().any(|found| found.kind == "address");
            ensure(told == (number == 1), || format!("node-{number}: {problems:?}"))?;
        }
        Ok(())
    });
}

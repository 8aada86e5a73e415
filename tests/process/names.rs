//! Members named by the names of their hosts, in networks and with an /etc/hosts of their own: a name that means
//! loopback on its own host, one that does not resolve yet, and one that means another address later.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use story::story;

use crate::support::network::inside;
use crate::support::script::ELECTD;
use crate::support::{Cluster, Network, credentials, ensure, eventually};

/// A host's own file for a node, which a test may change while the node runs.
pub fn hosts(cluster: &Cluster, number: usize) -> PathBuf {
    cluster.file().with_file_name(format!("hosts-{number}"))
}

/// Three hosts whose members have the names of their hosts, in this quorum; each has these lines in its /etc/hosts.
pub fn scene(quorum: &str, lines: impl Fn(usize) -> String) -> Option<Cluster> {
    if credentials::wanted() {
        println!("skipped: a name is looked up before any handshake");
        return None;
    }
    let cluster = Cluster::prepare_on(Network::of(3)?, |config: &mut Value| {
        config["quorum"] = quorum.into();
        if quorum == "none" {
            config["timing"]["failure"] = "4s".into(); // each may lead alone, until its name is right
        }
        for (at, member) in config["members"].as_array_mut().unwrap().iter_mut().enumerate() {
            member["address"] = json!(format!("host-{}:7100", at + 1));
        }
    });
    for (number, node) in (1..).zip(cluster.nodes()) {
        let file = hosts(&cluster, number);
        fs::write(&file, lines(number)).unwrap();
        let bind = format!("mount --bind {} /etc/hosts && exec {ELECTD} \"$@\"", file.display());
        node.runs_by(&format!("exec unshare -m sh -c '{bind}' sh \"$@\""));
    }
    Some(cluster)
}

/// All hosts by their true addresses, but for those that are left out.
pub fn true_addresses(but: &[usize]) -> String {
    let line = |number| format!("10.0.0.{number} host-{number}\n");
    (1..=3).filter(|number| !but.contains(number)).map(line).collect()
}

/// As Debian's installer writes it.
fn debian(number: usize) -> String {
    format!("127.0.1.1 host-{number}\n{}", true_addresses(&[number]))
}

#[story]
fn a_name_that_means_loopback_on_its_own_host_is_refused() {
    for quorum in ["none", "majority"] {
        let Some(cluster) = scene(quorum, debian) else { return };
        for (number, node) in (1..).zip(cluster.nodes()) {
            node.start();
            assert_eq!(node.exit_code(), 71, "{}", node.log());
            let log = node.log();
            let said = format!(
                "host-{number}:7100 is 127.0.1.1 on this host, which no other host can dial"
            );
            assert!(log.contains(&said) && log.contains("\"listen\": \"0.0.0.0:7100\""), "{log}");
            assert!(!node.state().join("state.json").exists(), "the node has started");
        }
    }
}

/// What `electd check` says on the host of this node.
pub fn check(cluster: &Cluster, number: usize) -> String {
    let node = cluster.node(number);
    let mut command = Command::new(node.build.borrow().as_ref().unwrap());
    command.args(["check", "--node", &node.name, "--config"]).arg(cluster.file());
    let output = inside(node.home.as_ref().unwrap(), || command.output().unwrap());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[story]
fn check_warns_of_a_name_that_means_loopback() {
    let Some(cluster) = scene("none", debian) else { return };
    let check = |number: usize| check(&cluster, number);
    let said = "WARNING: host-1:7100 is 127.0.1.1 on this host, which no other host can dial";
    assert!(check(1).contains(said), "{}", check(1));
    fs::write(hosts(&cluster, 1), true_addresses(&[])).unwrap();
    assert!(!check(1).contains("can dial"), "{}", check(1));
}

#[story]
fn a_host_that_has_both_addresses_by_its_name_listens_on_the_one_that_others_dial() {
    let both = |number: usize| format!("127.0.1.1 host-{number}\n{}", true_addresses(&[]));
    let Some(cluster) = scene("majority", both) else { return };
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
}

#[story]
fn a_name_that_does_not_resolve_yet_is_waited_for() {
    let Some(cluster) = scene("majority", |number| true_addresses(&[number])) else { return };
    let node = cluster.node(1);
    let waits = |node: &crate::support::Node| {
        node.start();
        eventually("it says that it waits", || {
            let log = node.log();
            ensure(log.contains("does not resolve here"), || log)
        });
    };
    waits(node);
    node.stop_term();
    assert_eq!(node.exit_code(), 0, "{}", node.log());
    cluster.nodes().iter().for_each(waits);
    (1..=3).for_each(|number| fs::write(hosts(&cluster, number), true_addresses(&[])).unwrap());
    cluster.agree_on(3);
}

#[story]
fn a_node_listens_where_its_host_has_moved() {
    let Some(cluster) = scene("majority", |_| true_addresses(&[])) else { return };
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
    let network = cluster.network();
    let is_told = |said: &str| {
        eventually(said, || {
            let problems = cluster.status(1)?.problems;
            let told =
                problems.iter().any(|found| found.kind == "address" && found.text.contains(said));
            ensure(told, || format!("{problems:?}"))
        });
    };
    fs::write(hosts(&cluster, 1), format!("10.0.0.99 host-1\n{}", true_addresses(&[1]))).unwrap();
    is_told("host-1:7100 means 10.0.0.99 now, which this host does not have");
    network.remove_address(1, "10.0.0.1/24");
    network.add_address(1, "10.0.0.51/24");
    is_told("this node listens on 10.0.0.1, which this host does not have any more");
    let moved = format!("10.0.0.51 host-1\n{}", true_addresses(&[1]));
    (1..=3).for_each(|number| fs::write(hosts(&cluster, number), &moved).unwrap());
    eventually("the node listens there", || {
        let log = cluster.node(1).log();
        ensure(log.contains("host-1:7100 means 10.0.0.51 now"), || log)
    });
    cluster.agree_on(3);
    // That it came and went is told for a while longer.
    eventually("its address is no problem any more", || {
        let problems = cluster.status(1)?.problems;
        ensure(problems.iter().all(|found| found.kind != "address"), || format!("{problems:?}"))
    });
    // The coroner has come along.
    cluster.node(1).kill_9();
    let told = inside(&network.home(2), || {
        let mut stream = TcpStream::connect("10.0.0.51:7100").unwrap();
        let mut told = Vec::new();
        stream.read_to_end(&mut told).map(|_| String::from_utf8_lossy(&told).into_owned())
    });
    let told = told.unwrap();
    assert!(told.contains("{\"dead\":{"), "{told}");
}

/// What this host sends to its second address of a network leaves from the first. A socket of it may have any address, or
/// those of this host alone.
#[story]
fn a_node_follows_its_name_to_a_second_address_of_its_host() {
    for any in ["0", "1"] {
        let Some(cluster) = scene("majority", |_| true_addresses(&[])) else { return };
        let node = cluster.node(1);
        node.at_home(|| fs::write("/proc/sys/net/ipv4/ip_nonlocal_bind", any)).unwrap();
        cluster.nodes().iter().for_each(|node| node.start());
        cluster.agree_on(3);
        cluster.network().add_address(1, "10.0.0.51/24");
        let moved = format!("10.0.0.51 host-1\n{}", true_addresses(&[1]));
        (1..=3).for_each(|number| fs::write(hosts(&cluster, number), &moved).unwrap());
        eventually("the node listens there", || {
            let log = node.log();
            ensure(log.contains("host-1:7100 means 10.0.0.51 now: this node listens there"), || log)
        });
        cluster.agree_on(3);
        let told = check(&cluster, 1);
        assert!(!told.contains("probably dials"), "{told}");
        let problems = cluster.status(1).unwrap().problems;
        assert!(problems.iter().all(|found| found.kind != "address"), "{problems:?}");
    }
}

/// As in containers, whose published addresses no socket of theirs can have.
#[story]
fn http_listens_where_the_file_says_and_the_others_are_told_another_address() {
    let cluster = Cluster::prepare(2, |config: &mut Value| {
        for (number, member) in config["members"].as_array_mut().unwrap().iter_mut().enumerate() {
            member["admin_listen"] = member["admin"].take();
            member["admin"] = format!("192.0.2.{}:7201", number + 1).into(); // of no host
        }
    });
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(2);
    let told = cluster.status(1).unwrap().members;
    let told: Vec<_> = told.iter().map(|member| member.admin.as_deref()).collect();
    assert_eq!(told, [Some("192.0.2.1:7201"), Some("192.0.2.2:7201")]);
    cluster.node(2).until_logged(&["admin 192.0.2.2:7201 by way of 127."]);
}

//! What a held address leaves alone when it goes: other addresses of its network, whoever added them, and the way to
//! that network.

use std::fs;
use std::process::Command;

use rustix::process::{Signal, kill_process};
use story::story;

use crate::jobs::only_child;
use crate::support::{Cluster, Finished, Network, Node, done, ensure, eventually};

/// Addresses of one network of each family, which the host has no other address of.
const HELD: [&str; 3] = ["10.9.9.9", "10.9.9.8", "fd00:9::9"];

const OPTIONS: [&str; 8] = [
    "--address",
    "10.9.9.9/24%cable",
    "--address",
    "10.9.9.8/24%cable",
    "--address",
    "fd00:9::9/64%cable",
    "--stop-after",
    "1000s",
];

/// One host, which always leads.
fn scene() -> Option<Cluster> {
    Some(Cluster::prepare_on(Network::of(1)?, |_| {}))
}

/// What `ip` says in the network of this node.
fn ip(node: &Node, arguments: &str) -> String {
    done(&node.at_home(|| Command::new("ip").args(arguments.split(' ')).finished()))
}

fn has(node: &Node, address: &str) -> bool {
    ip(node, "-o address show dev cable").contains(&format!(" {address}/"))
}

fn until_held(node: &Node, is_held: bool) {
    eventually(&format!("the addresses are held: {is_held}"), || {
        let held = HELD.map(|address| has(node, address));
        ensure(held == [is_held; 3], || format!("{held:?}"))
    });
}

/// Another address of each network that is held, as an operator or a DHCP client adds it.
fn add_neighbours(node: &Node) {
    ip(node, "address add 10.9.9.1/24 dev cable");
    ip(node, "address add fd00:9::1/64 dev cable nodad valid_lft 1000 preferred_lft 1000");
}

/// The host has its own addresses, and by them the way to their networks, for as long as they live.
#[track_caller]
fn assert_neighbours_stay(node: &Node, after: &str) {
    let addresses = ip(node, "-o address show dev cable");
    let (v4, v6) = ("10.9.9.1/24", "fd00:9::1/64");
    assert!(addresses.contains(v4) && addresses.contains(v6), "after {after}: {addresses}");
    for (to, from) in [("10.9.9.5", "src 10.9.9.1"), ("fd00:9::5", "src fd00:9::1")] {
        let way = ip(node, &format!("route get {to}"));
        assert!(way.contains(from), "after {after}: {way}");
    }
    let ways = ip(node, "-6 route show fd00:9::/64 metric 256");
    let is_short = |word: &str| word.strip_suffix("sec").and_then(|left| left.parse::<i64>().ok());
    let left = ways.split_whitespace().find_map(is_short);
    assert!(left.is_none_or(|left| left > 100), "after {after}: {ways}");
}

/// The host's own addresses came after those that are held, which so are the first of their network.
#[story]
fn the_host_keeps_its_own_addresses_of_a_network_whoever_removes_those_that_were_held() {
    for promotes in ["0", "1"] {
        let Some(cluster) = scene() else { return };
        let node = cluster.node(1);
        let set = |which: &str| {
            let file = format!("/proc/sys/net/ipv4/conf/{which}/promote_secondaries");
            node.at_home(|| fs::write(file, promotes)).unwrap();
        };
        ["all", "cable"].into_iter().for_each(set);
        node.start_with(&OPTIONS);
        until_held(node, true);
        add_neighbours(node);
        until_held(node, true);
        node.stop_term();
        assert_eq!(node.exit_code(), 0, "{}", node.log_tail(9));
        until_held(node, false);
        assert_neighbours_stay(node, "the guard removed them");

        node.start_with(&OPTIONS);
        until_held(node, true);
        kill_process(only_child(node.pid()).unwrap(), Signal::KILL).unwrap();
        until_held(node, false);
        assert_neighbours_stay(node, "electd removed what its guard left");
        node.kill_9();

        node.start_with(&OPTIONS);
        until_held(node, true);
        node.freeze(); // so that it does not act for its guard
        kill_process(only_child(node.pid()).unwrap(), Signal::KILL).unwrap();
        node.kill_9();
        until_held(node, false);
        assert_neighbours_stay(node, "the kernel removed what nobody renewed");
        node.start_with(&OPTIONS);
        until_held(node, true);
        node.stop_term();
        assert_eq!(node.exit_code(), 0, "{}", node.log_tail(9));
        assert_neighbours_stay(node, "the next node was stopped");
    }
}

/// And the other way round: what the host had first goes.
#[story]
fn what_is_held_stays_when_the_host_loses_its_own_address_of_that_network() {
    let Some(cluster) = scene() else { return };
    let node = cluster.node(1);
    add_neighbours(node);
    node.start_with(&OPTIONS);
    until_held(node, true);
    ip(node, "address delete 10.9.9.1/24 dev cable");
    assert!(has(node, "10.9.9.9") && has(node, "10.9.9.8"), "{}", node.log_tail(9));
    ip(node, "address delete fd00:9::1/64 dev cable");
    assert!(has(node, "fd00:9::9"));
    assert!(!node.log().contains("somebody removed"), "{}", node.log_tail(9));
}

/// Clients of that network are answered, also where the host has no other address of it.
#[story]
fn the_network_of_a_held_address_is_reached_while_it_is_held() {
    let Some(cluster) = scene() else { return };
    let node = cluster.node(1);
    let way = |to: &str| {
        let command = || Command::new("ip").args(["route", "get", to]).finished();
        String::from_utf8_lossy(&node.at_home(command).stdout).into_owned()
    };
    assert!(!way("10.9.9.5").contains("cable") && !way("fd00:9::5").contains("cable"));
    node.start_with(&OPTIONS);
    until_held(node, true);
    eventually("there is a way", || {
        let ways = [way("10.9.9.5"), way("fd00:9::5")];
        ensure(ways.iter().all(|way| way.contains("dev cable")), || format!("{ways:?}"))
    });
    node.stop_term();
    assert_eq!(node.exit_code(), 0, "{}", node.log_tail(9));
    assert_eq!(ip(node, "-4 route show 10.9.9.0/24"), "", "it is gone with the addresses");
    eventually("it is gone for IPv6 too", || {
        let way = way("fd00:9::5");
        ensure(!way.contains("cable"), || way)
    });
}

/// The kernel takes the same address for another where the prefix differs.
#[story]
fn an_address_that_another_process_added_as_well_is_told_when_the_held_one_goes() {
    let Some(cluster) = scene() else { return };
    let node = cluster.node(1);
    node.start_with(&OPTIONS);
    until_held(node, true);
    ip(node, "address add 10.9.9.9/24 dev cable");
    node.stop_term();
    node.exit_code();
    let said = "cannot remove the address 10.9.9.9/24%cable: another process has added it as well: remove that";
    assert!(node.log().contains(said), "{}", node.log_tail(9));
}

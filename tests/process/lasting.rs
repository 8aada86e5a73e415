//! Clusters in which something stays broken have a leader all the same, and say what is broken.

use std::fs;
use std::time::Duration;

use crate::support::traced::Traced;
use crate::support::{Cluster, Network, Node, ensure, eventually, for_each_algorithm, watchful};
use electd::core::settings::AlgorithmKind;
use electd::node::status::Status;
use serde_json::{Value, json};
use story::story;

/// A durable write of a disk that is nearly too slow for a failure time of one second.
const SLOW: Duration = Duration::from_millis(560);

for_each_algorithm! {
    #[ignore = "long"]
    the_highest_cannot_be_dialed,
    the_second_highest_cannot_be_dialed_and_the_leader_dies,
    without_a_majority_the_highest_cannot_be_dialed,
    #[ignore = "long"]
    without_a_majority_two_that_do_not_hear_each_other_take_turns_more_and_more_rarely,
}

/// Its address in the file is wrong: it dials all others, and no member can dial it.
fn cannot_be_dialed(config: &mut Value, number: usize) {
    let member = &mut config["members"][number - 1];
    let true_address = member["address"].clone();
    let host = true_address.as_str().unwrap().split(':').next().unwrap().to_owned();
    member["listen"] = true_address;
    member["address"] = format!("{host}:1").into(); // no process listens there
}

/// Rule D7.
fn the_highest_cannot_be_dialed(algorithm: AlgorithmKind) {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
        cannot_be_dialed(config, 3);
    });
    cluster.agree_among(&[1, 2], 2);
    leads_on(&cluster, &[1, 2], 2);
    all_say_that_it_cannot_be_dialed(&cluster, &[1, 2], 3);
}

#[track_caller]
fn all_say_that_it_cannot_be_dialed(cluster: &Cluster, observers: &[usize], number: usize) {
    for observer in observers {
        eventually("its status says why", || {
            let status = cluster.status(*observer)?;
            let why = &status.members[number - 1];
            let said = why.passed_over.as_deref() == Some("heard, but cannot be dialed");
            ensure(said, || format!("{why:?}"))
        });
    }
}

/// Nobody notices it before the leader dies.
fn the_second_highest_cannot_be_dialed_and_the_leader_dies(algorithm: AlgorithmKind) {
    let cluster = Cluster::start_with(5, |config| {
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
        cannot_be_dialed(config, 4);
    });
    cluster.agree_among(&[1, 2, 3, 5], 5);
    cluster.node(5).kill_9();
    cluster.agree_among(&[1, 2, 3], 3);
    leads_on(&cluster, &[1, 2, 3], 3);
    all_say_that_it_cannot_be_dialed(&cluster, &[1, 2, 3], 4);
}

/// Everything that others send to the port of the highest member is lost on its way, while its own
/// messages arrive: a firewall silently drops traffic to its port.
#[story]
#[ignore = "long"]
fn the_port_of_the_highest_is_closed() {
    for algorithm in AlgorithmKind::ALL {
        let Some(network) = Network::of(3) else { return };
        let cluster = Cluster::on(network, |config| {
            watchful(config);
            config["algorithm"] = algorithm.name().into();
            config["quorum"] = "majority".into();
            config["members"][2]["listen"] = config["members"][2]["address"].clone();
            config["members"][2]["address"] = "10.0.0.99:7100".into(); // no host answers there
        });
        cluster.agree_among(&[1, 2], 2);
        leads_on(&cluster, &[1, 2], 2);
        all_say_that_it_cannot_be_dialed(&cluster, &[1, 2], 3);
    }
}

/// Without a majority that member hears no answer and leads, and the others hear that: there is one
/// leader all the same. With the halting algorithm the leader elects anew for each member that is not
/// Normal, so it lasts for less.
fn without_a_majority_the_highest_cannot_be_dialed(algorithm: AlgorithmKind) {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        cannot_be_dialed(config, 3);
    });
    let rounds = if algorithm == AlgorithmKind::Halting { 3 } else { 20 };
    let (mut begun, mut last) = (0, None);
    eventually("node-1 and node-2 name one leader for long", || {
        let [one, other] = [cluster.status(1)?, cluster.status(2)?];
        let name = |status: &Status| status.leader.as_ref().map(|leader| leader.name.clone());
        let (named, same) = (name(&one), name(&one) == name(&other) && one.epoch == other.epoch);
        ensure(same && named.is_some(), || format!("{named:?} and {:?}", name(&other)))?;
        let number = (1..=3).find(|number| named.as_ref() == Some(&cluster.node(*number).name));
        let sent = cluster.node(number.unwrap()).status()?.messages["heartbeat"].sent;
        if last != Some((number, one.epoch)) {
            (begun, last) = (sent, Some((number, one.epoch)));
        }
        ensure(sent >= begun + rounds, || format!("{last:?} since {begun} of {sent}"))
    });
    all_say_that_it_cannot_be_dialed(&cluster, &[1, 2], 3);
}

/// Waits until one of these nodes has led in one epoch for this many rounds of heartbeats to all
/// others. Returns its number and the epoch.
#[track_caller]
fn one_leads_on(cluster: &Cluster, numbers: &[usize], rounds: u64) -> (usize, u64) {
    let others = cluster.running().count() as u64 - 1;
    let (mut begun, mut last) = (0, None);
    eventually("one of them leads on in one epoch", || {
        let leads = numbers.iter().find_map(|number| {
            let status = cluster.node(*number).status().ok()?;
            let sent = status.messages["heartbeat"].sent;
            (status.state == "leading").then_some(((*number, status.epoch), sent))
        });
        let (leader, sent) = leads.ok_or("nobody leads")?;
        if last != Some(leader) {
            (begun, last) = (sent, Some(leader));
        }
        let (number, epoch) = leader;
        ensure(sent >= begun + rounds * others, || format!("node-{number} begins {epoch}"))?;
        Ok(leader)
    })
}

/// Waits until this node has led these for a while in one epoch. Gives the epoch.
#[track_caller]
fn leads_on(cluster: &Cluster, members: &[usize], leader: usize) -> u64 {
    let (number, epoch) = one_leads_on(cluster, members, 20);
    assert_eq!((number, cluster.agree_among(members, leader)), (leader, epoch));
    epoch
}

/// So many nodes on a network in which nothing passes between these two, from before their start. None where
/// no network can be made.
fn parted(
    nodes: usize,
    (one, other): (usize, usize),
    change: impl FnOnce(&mut Value),
) -> Option<Cluster> {
    let network = Network::of(nodes)?;
    network.carry(one, other, false);
    network.carry(other, one, false);
    Some(Cluster::on(network, |config| {
        watchful(config);
        change(config);
    }))
}

/// The ballot of the best never comes back to it by the way that ballots go, whether it is the only one that
/// may lead, one of two hosts beside a witness, or one of five. Nobody leads for long where a ballot makes one lap after
/// another.
#[story]
#[ignore = "long"]
fn a_ring_whose_best_member_is_not_reached_by_the_one_before_it_has_a_leader() {
    let rings: [(_, &[usize], _); 7] = [
        (3, &[1, 2], "majority"),
        (3, &[1], "majority"),
        (3, &[2], "majority"),
        (5, &[], "majority"),
        (5, &[4], "majority"),
        (3, &[1, 2], "none"),
        (3, &[2], "none"),
    ];
    for (nodes, witnesses, quorum) in rings {
        let Some(network) = Network::of(nodes) else { return };
        let cluster = Cluster::on(network, |config| {
            watchful(config);
            config["algorithm"] = "ring".into();
            config["quorum"] = quorum.into();
            for number in witnesses {
                config["members"][number - 1]["role"] = "witness".into();
            }
        });
        cluster.agree_on(nodes);
        cluster.nodes().iter().for_each(Node::kill_9);
        [(nodes - 1, nodes), (nodes, nodes - 1)]
            .iter()
            .for_each(|(from, to)| cluster.network().carry(*from, *to, false));
        cluster.nodes().iter().for_each(Node::start);
        let all: Vec<usize> = (1..=nodes).collect();
        one_leads_on(&cluster, &all, 20);
    }
}

/// Each of the two takes the other for dead, and the third hears both: they take turns, and wait longer each time. (S2)
fn without_a_majority_two_that_do_not_hear_each_other_take_turns_more_and_more_rarely(
    algorithm: AlgorithmKind,
) {
    let change = |config: &mut Value| config["algorithm"] = algorithm.name().into();
    let Some(cluster) = parted(3, (2, 3), change) else { return };
    one_leads_on(&cluster, &[1, 2, 3], 12); // five or six if no leader waits longer
}

/// The link between the leader of a ring and the second best dies. The ballot of that one goes past the leader, and would come
/// back to it from the third member, which hears both.
#[story]
fn in_a_ring_a_leader_that_the_second_best_does_not_hear_any_more_leads_on() {
    let Some(network) = Network::of(3) else { return };
    let cluster = Cluster::on(network, |config| {
        watchful(config);
        config["algorithm"] = "ring".into();
    });
    let epoch = cluster.agree_on(3);
    [(2, 3), (3, 2)].iter().for_each(|(from, to)| cluster.network().carry(*from, *to, false));
    eventually("node-2 misses its leader", || {
        let state = cluster.status(2)?.state;
        ensure(state != "following", || state)
    });
    assert_eq!(one_leads_on(&cluster, &[1, 2, 3], 20), (3, epoch));
}

/// Nobody may lead, and each node says what it is that is missing.
#[story]
fn a_first_start_with_a_dead_link_between_two_voters_names_them() {
    let majority = |config: &mut Value| config["quorum"] = "majority".into();
    let Some(cluster) = parted(3, (2, 3), majority) else { return };
    for (number, unmet) in [(2, "node-3"), (3, "node-2")] {
        eventually("it names whom it has not met", || {
            let words = format!("its store is empty and it has not met {unmet}:");
            let log = cluster.node(number).log();
            ensure(log.contains(&words), || log)
        });
    }
    eventually("node-1, which has met both, names those that vote for nobody", || {
        let log = cluster.node(1).log();
        let named = log.lines().find(|line| line.contains("node-2, node-3"));
        ensure(named.is_some(), || log.clone())
    });
    [(2, 3), (3, 2)].iter().for_each(|(from, to)| cluster.network().carry(*from, *to, true));
    cluster.agree_on(3);
}

/// Makes each durable write of a process take this much longer: strace holds up both of its syncs, that of the file and
/// that of its folder.
fn slow_disk(node: &Node, longer: Duration) -> Option<Traced> {
    Traced::node(node, &format!("fsync:delay_enter={}", longer.as_micros() / 2))
}

/// With such disks a durable write takes longer than a lease is valid.
#[story]
fn voters_with_slow_disks_have_a_leader_that_leads_on() {
    let cluster = Cluster::start_with(3, |config| {
        config["quorum"] = "majority".into();
        config["timing"] = json!({"failure": "1s"}); // a lease of 800 ms: a leader counts on 654 of them
    });
    let before = cluster.agree_on(3);
    let slow = cluster.nodes()[..2].iter().map(|node| slow_disk(node, SLOW));
    let Some(_disks) = slow.collect::<Option<Vec<_>>>() else {
        return eprintln!("not tested: strace is missing, or may not attach to a process");
    };
    cluster.node(3).kill_9();
    let (_, epoch) = one_leads_on(&cluster, &[1, 2], 60); // one that asks too late may last for 20
    assert!(epoch < before + 20, "it leads in epoch {epoch}, and the last one did in {before}");
}

/// Its writes fail from some moment on: it waits to follow in an epoch that is not durable. (W5)
#[story]
fn halting_a_member_whose_disk_writes_nothing_does_not_make_the_others_elect() {
    let cluster = Cluster::of_with(AlgorithmKind::Halting, 3, watchful);
    cluster.agree_on(3);
    let folder = cluster.state_file(1).parent().unwrap().to_owned();
    fs::rename(&folder, folder.with_extension("away")).unwrap();
    let beyond = cluster.agree_on(3) + 40; // more than any member reserves
    eventually("nothing of this is durable at node-1", || {
        cluster.node(3).post("/elections", "{}")?;
        let (told, followed) = (cluster.status(3)?, cluster.status(1)?);
        let waits = followed.state == "waiting" && told.state == "leading";
        ensure(told.epoch > beyond && waits, || format!("{} in {}", followed.state, told.epoch))
    });
    leads_on(&cluster, &[2, 3], 3);
    fs::rename(folder.with_extension("away"), &folder).unwrap();
    cluster.agree_on(3);
}

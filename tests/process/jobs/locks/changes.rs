//! Locks while the cluster changes below them: its voters, and the links between its members.

use std::env;
use std::path::PathBuf;

use electd::core::settings::AlgorithmKind;
use story::story;

use super::super::with_majority;
use super::{Locks, NAMES, electd};
use crate::members::{add, remove, three_of, until_listed};
use crate::support::{Cluster, Network, ensure, eventually};

/// None of the first voters is left in the end, and no command was ended but those on hosts that left.
///
/// Claim: one-holder.
#[story]
fn all_voters_are_replaced_one_by_one_while_locks_are_held() {
    let (cluster, entries) = three_of(6, AlgorithmKind::Bully, "majority");
    let locks = Locks::of(cluster);
    let cluster = &locks.cluster;
    (1..=3).for_each(|number| locks.attach(number));
    let mut runs = locks.run(None);
    let mut members = vec![1, 2, 3];
    for (old, new) in [(1, 4), (2, 5), (3, 6)] {
        // The leader changes the voters once the promises by the last list are over.
        add(cluster.node(old), &entries[new - 1]);
        cluster.start_listing(new, &[entries[old - 1].clone(), entries[new - 1].clone()]);
        members.push(new);
        until_listed(cluster, &members);
        locks.attach(new);
        eventually("the old one is removed", || {
            let (code, told) = remove(cluster.node(new), &cluster.node(old).name, "");
            ensure(code == 200, || told)
        });
        members.retain(|number| *number != old);
        assert_eq!(cluster.node(old).exit_code(), 77, "it was removed");
        let next = locks.run(Some(old));
        locks.assert_moved_from(old, &runs, &next);
        locks.execs[old - 1].take();
        runs = next;
    }
    locks.lines.iter().for_each(|lines| _ = lines.assert_never_two());
}

/// The holder acts by the promises of the voters that it reaches, and what others hold moves as ever.
///
/// Claim: one-holder.
#[story]
fn a_holder_that_the_coordinator_cannot_reach_keeps_its_lock_and_the_others_move() {
    let Some(network) = Network::of(3) else { return };
    let locks = Locks::of(Cluster::on(network, with_majority));
    let cluster = &locks.cluster;
    (1..=3).for_each(|number| locks.attach(number));
    locks.run(None);
    let (leader, _) = cluster.agree();
    let [holder, other] = [1, 2, 3].into_iter().filter(|it| *it != leader).collect::<Vec<_>>()[..]
    else {
        unreachable!("three members")
    };
    let to = |name: &str, number: usize| {
        let host = cluster.node(number).name.clone();
        eventually("it moves", || {
            let (code, printed, told) = electd(cluster, &["lock", "move", name, "--to", &host]);
            ensure(code == 0, || format!("{printed}{told}"))
        });
        let at = NAMES.iter().position(|known| *known == name).unwrap();
        eventually("its command runs there", || {
            let run = locks.lines[at].is_next(None)?;
            ensure(run.node == host, || format!("still {run:?}")).map(|()| run)
        })
    };
    let kept = to(NAMES[0], holder);
    to(NAMES[1], other);
    for _ in 0..2 {
        cluster.network().carry(leader, holder, false);
        cluster.network().carry(holder, leader, false);
        to(NAMES[1], leader);
        to(NAMES[1], other);
        assert_eq!(locks.run(None)[0], kept, "it lost its lock");
        cluster.network().heal();
    }
    assert_eq!(locks.run(None)[0], kept);
    locks.lines.iter().for_each(|lines| _ = lines.assert_never_two());
}

/// `ELECTD_OLD=PATH` upgrades from that build of electd, as in `upgrade`.
///
/// Claim: upgrade.
#[story]
#[ignore = "long"]
fn an_upgrade_host_by_host_and_the_way_back_move_the_locks_of_that_host_alone() {
    let old = env::var_os("ELECTD_OLD").map(PathBuf::from);
    let locks = Locks::of(Cluster::prepare(3, with_majority));
    let cluster = &locks.cluster;
    for node in cluster.nodes() {
        node.build.replace(old.clone());
        node.start();
    }
    cluster.agree();
    (1..=3).for_each(|number| locks.attach(number));
    let mut runs = locks.run(None);
    for build in [None, old] {
        for (number, node) in (1..).zip(cluster.nodes()) {
            node.stop_term();
            assert_eq!(node.exit_code(), 0, "{}", node.log_tail(10));
            let next = locks.run(Some(number));
            locks.assert_moved_from(number, &runs, &next);
            node.build.replace(build.clone());
            node.start();
            locks.attach(number);
            cluster.agree();
            runs = next;
        }
    }
    locks.lines.iter().for_each(|lines| _ = lines.assert_never_two());
}

//! The next process of a member takes over what the coroner of the last one holds.

use std::fs;
use std::net::{TcpListener, TcpStream};

use story::story;

use super::process::sockets;
use super::{Job, Manner, coroner, quick, slow, until_gone, until_gone_soon, until_replaced};
use crate::jobs::coroner_of;
use crate::support::{Cluster, DEADLINE, eventually};

#[story]
fn restarts_in_quick_succession_find_the_port_free() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    let listening = |coroner| &sockets(node.pid()) & &sockets(coroner);
    let first = listening(coroner(node));
    let coroners = [(); 3].map(|()| {
        let last = coroner(node);
        node.restart();
        eventually("it is up", || cluster.status(leader).map(drop));
        assert_eq!(listening(coroner(node)), first, "a dial is refused in between");
        last
    });
    coroners.into_iter().for_each(until_gone);
    cluster.agree();
    assert!(!node.log().contains("cannot listen"), "{}", node.log_tail(20));
}

/// It is killed before anybody knows how far it came.
#[story]
fn a_start_that_is_killed_at_any_moment_leaves_the_port_to_the_next() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    for _ in 0..10 {
        node.kill_9();
        node.start();
    }
    node.restart();
    cluster.agree_on(1);
}

#[story]
fn a_restarted_leader_is_replaced_or_leads_before_its_lease_ends() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    cluster.node(leader).restart();
    until_replaced(&cluster, 0);
    cluster.agree();
}

#[story]
fn a_member_that_listens_elsewhere_after_a_crash_is_not_held_up() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let (node, mut config) = (cluster.node(1), cluster.config().clone());
    let last = coroner(node);
    let port = node.address.port();
    config["members"][0]["listen"] = format!("0.0.0.0:{port}").into();
    fs::write(cluster.file(), config.to_string()).unwrap();
    node.restart();
    cluster.agree_on(1);
    until_gone(last);
    assert!(TcpStream::connect(("127.200.0.1", port)).is_ok(), "it listens where it did before");
}

/// The lock of the job keeps the next process waiting, and its guard says its last word before.
#[story]
fn a_restart_waits_for_the_job_and_gets_the_certificate() {
    let cluster = Cluster::prepare(3, slow);
    let job = Job::of(&cluster);
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    cluster.nodes().iter().for_each(|node| node.start_with(&more));
    let first = job.until_begun(1, DEADLINE);
    let leader = super::number(&cluster, &first);
    cluster.agree_on(leader);
    let node = cluster.node(leader);
    node.kill_9();
    node.start_with(&more);
    job.until_begun(2, super::SOON);
}

/// As an operator does who wants to begin anew: nobody can take the port over any more.
#[story]
fn a_coroner_whose_folder_is_removed_frees_the_port() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let last = coroner(node);
    node.kill_9();
    assert!(super::is_certificate(&super::said(node).unwrap()));
    fs::remove_dir_all(node.state()).unwrap();
    until_gone_soon(last);
    TcpListener::bind(node.address).unwrap();
}

/// The coroner waits to be asked in the folder that it works in, and at its address by all others.
#[story]
fn a_start_with_other_data_or_of_another_member_gets_the_address_of_a_dead_one() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let (node, mut config) = (cluster.node(1), cluster.config().clone());
    let port = node.address.port();
    let listens = node.address.to_string();
    for (data, name, listen) in [
        ("elsewhere", "test", listens.clone()),
        ("of-another", "another", listens),
        ("everywhere", "another", format!("0.0.0.0:{port}")),
    ] {
        let last = coroner(node);
        node.kill_9();
        (config["data_dir"], config["cluster"]) = (data.into(), name.into());
        config["members"][0]["listen"] = listen.into();
        fs::write(cluster.file(), config.to_string()).unwrap();
        node.start();
        until_gone_soon(last);
        node.until_logged(&["the coroner of a member that died here had"]);
        eventually("it has a coroner of its own", || {
            coroner_of(node.pid()).ok_or("none".to_owned())
        });
    }
    node.stop_term(); // or its coroner would wait
    assert_eq!(node.exit_code(), 0);
}

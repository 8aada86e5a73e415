//! Whatever ends the process of a leader, its coroner proves that, and the others need not wait for its lease.

use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;
use story::story;

use super::{ANSWER, crash, is_certificate, quick, said, slow, until_replaced};
use crate::support::{Cluster, ensure, eventually};

fn a_crash_is_certified(signal: Signal) {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    crash(cluster.node(leader), signal);
    until_replaced(&cluster, leader);
    cluster.agree();
}

/// Claim: crash.
#[story]
fn a_killed_leader_is_replaced_before_its_lease_ends() {
    a_crash_is_certified(Signal::KILL);
}

#[story]
fn a_leader_that_broke_its_memory_is_replaced_before_its_lease_ends() {
    a_crash_is_certified(Signal::SEGV);
}

#[story]
fn a_leader_that_aborted_is_replaced_before_its_lease_ends() {
    a_crash_is_certified(Signal::ABORT);
}

/// Without a majority the same word proves the death.
#[story]
fn a_leader_without_a_majority_is_replaced_before_its_silence_counts() {
    let cluster = Cluster::start_with(3, |config| {
        slow(config);
        config["quorum"] = "none".into();
    });
    let (leader, _) = cluster.agree();
    cluster.node(leader).kill_9();
    until_replaced(&cluster, leader);
    cluster.agree();
}

#[story]
fn every_dial_gets_the_certificate_whatever_the_dialer_says() {
    let cluster = Cluster::start_with(1, quick);
    let node = cluster.node(1);
    cluster.agree_on(1);
    node.kill_9();
    let first = said(node).unwrap();
    assert!(is_certificate(&first), "{}", String::from_utf8_lossy(&first));
    // What the coroner does not read must not take the answer away.
    let mut rude = TcpStream::connect_timeout(&node.address, ANSWER).unwrap();
    rude.set_read_timeout(Some(ANSWER)).unwrap();
    rude.write_all(&[0x16; 30_000]).unwrap();
    let mut heard = vec![0; first.len()];
    std::io::Read::read_exact(&mut rude, &mut heard).unwrap();
    assert_eq!(heard, first);
}

/// Many more than it keeps open, and none of them ends its connection.
#[story]
fn a_crowd_gets_the_certificate() {
    let cluster = Cluster::start_with(1, quick);
    let node = cluster.node(1);
    cluster.agree_on(1);
    node.kill_9();
    let crowd: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect_timeout(&node.address, ANSWER).unwrap()).collect();
    assert!(is_certificate(&said(node).unwrap()));
    drop(crowd);
}

/// A coroner speaks no TLS, and that is nobody's fault.
#[story]
fn a_follower_that_died_is_no_fault_of_tls() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    let follower = leader % 3 + 1;
    cluster.node(follower).kill_9();
    eventually("its coroner answers the leader's dial", || {
        let status = cluster.status(leader)?;
        let dial = status.members[follower - 1].failed_dial.clone().unwrap_or_default();
        ensure(dial.contains("its host certifies its death"), || dial)
    });
    let log = cluster.node(leader).log();
    // Over TLS a node says so at its start.
    let blames = |line: &str| line.contains(" WARN ") && line.contains("TLS");
    assert!(!log.lines().any(blames), "{log}");
}

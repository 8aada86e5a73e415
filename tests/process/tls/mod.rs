//! Clusters that speak TLS: they do what others do, and accept only members.
//!
//! ELECTD_TEST_TLS=1 runs the other tests of processes over TLS too.

mod admin;
mod hostile;
mod refusals;
mod rotation;
mod stranger;

use std::process::Command;

use crate::support::credentials::secure;
use crate::support::{Cluster, Finished, done, electd, watchful};
use serde_json::Value;
use story::story;

/// A majority that speaks TLS. Handshakes keep a machine busy, and a busy machine costs no leader its lead.
fn secured(config: &mut Value) {
    config["quorum"] = "majority".into();
    secure(config);
}

#[story]
fn a_cluster_elects_fails_over_and_takes_back_who_was_gone() {
    let cluster = Cluster::start_with(3, |config| {
        secured(config);
        watchful(config);
    });
    let first = cluster.agree_on(3);
    cluster.node(3).kill_9();
    let second = cluster.agree_on(2);
    assert!(second > first);
    cluster.node(3).start();
    assert!(cluster.agree_on(3) > second);
    cluster.node(3).stop_term();
    cluster.agree_on(2);
    assert_eq!(cluster.node(3).exit_code(), 0);
    done(&electd(&cluster, &["resign"]));
    for node in cluster.running() {
        assert!(!node.log().contains("refused:"), "{}", node.log());
    }
}

#[story]
fn a_node_whose_certificate_cannot_be_used_does_not_start_and_says_why() {
    let cluster = Cluster::prepare(1, secured);
    let certificates = cluster.certificates();
    let other = certificates.authority.sign("node-2").unwrap();
    let good = certificates.authority.sign("node-1").unwrap();
    for (cert, key, words) in [
        (&other.cert, &other.key, "is for electd://test/node-2, and not electd://test/node-1"),
        (&good.cert, &other.key, "is not the key of the certificate"),
    ] {
        certificates.replace("node-1", "cert", cert);
        certificates.replace("node-1", "key", key);
        let mut run = Command::new(env!("CARGO_BIN_EXE_electd"));
        let run = run.args(["run", "--node", "node-1", "--config"]).arg(cluster.file()).finished();
        assert_eq!(run.status.code(), Some(78), "{run:?}");
        assert!(String::from_utf8_lossy(&run.stderr).contains(words), "{run:?}");
    }
    assert!(!cluster.state_file(1).exists(), "nothing was written");
}

//! New certificates and a new authority while the cluster runs: no leadership ends because of it.

use std::fs;

use electd::node::status::Problem;
use electd::tls::make::Authority;
use rcgen::date_time_ymd;
use story::story;

use super::refusals::trusting;
use super::secured;
use super::stranger::Forge;
use crate::support::{Cluster, Node, ensure, eventually};

/// Waits until this node has taken new files this many times since its start.
#[track_caller]
fn has_taken(node: &Node, times: usize) {
    eventually(&format!("{} takes its new files", node.name), || {
        let taken = node.log().matches("new connections use certificate").count();
        ensure(taken == times, || node.log_tail(10))
    });
}

/// All files of one kind are rewritten, and taken.
#[track_caller]
fn rotate(cluster: &Cluster, write: impl Fn(&Node)) {
    let taken = |node: &Node| node.log().matches("new connections use certificate").count();
    let before: Vec<usize> = cluster.nodes().iter().map(taken).collect();
    cluster.nodes().iter().for_each(&write);
    for (node, before) in cluster.nodes().iter().zip(before) {
        has_taken(node, before + 1);
    }
}

#[story]
fn a_new_authority_and_new_certificates_cost_no_leader_and_nobody_is_refused() {
    let cluster = Cluster::start_with(5, secured);
    let epoch = cluster.agree_on(5);
    let (old, new) = (&cluster.certificates().authority, Authority::new("test").unwrap());
    let goes_on = || {
        assert_eq!(cluster.agree_on(5), epoch, "the leader stays");
        for node in cluster.nodes() {
            let refused = node.status().unwrap().refused;
            assert!(refused.values().all(|count| *count == 0), "{}: {refused:?}", node.name);
        }
    };
    let reconnects = |number: usize| {
        cluster.node(number).restart();
        goes_on();
    };
    let both = [old.certificate(), new.certificate()];
    rotate(&cluster, |node| cluster.certificates().replace(&node.name, "ca", &both.concat()));
    reconnects(1);
    let first = cluster.node(1);
    cluster.certificates().put("node-1", &both, &new.sign("node-1").unwrap());
    eventually("node-1 takes its new files", || {
        let taken = first.log().matches("new connections use certificate").count();
        ensure(taken > 1, || first.log_tail(10))
    });
    reconnects(2); // old ones meet a new one
    reconnects(1);
    rotate(&cluster, |node| {
        cluster.certificates().put(&node.name, &both, &new.sign(&node.name).unwrap());
    });
    reconnects(3);
    rotate(&cluster, |node| cluster.certificates().replace(&node.name, "ca", new.certificate()));
    reconnects(4);
    goes_on();
}

/// And a reload that is refused for it changes nothing else, such as the token.
#[story]
fn a_broken_new_file_is_refused_and_the_old_one_stays_in_use() {
    let cluster = Cluster::prepare(3, |config| {
        secured(config);
        config["admin_token_file"] = "token".into();
    });
    let token = cluster.file().with_file_name("token");
    fs::write(&token, "first").unwrap();
    cluster.nodes().iter().for_each(Node::start);
    let epoch = cluster.agree_on(3);
    let (certificates, node) = (cluster.certificates(), cluster.node(2));
    let pair = certificates.authority.sign("node-3").unwrap();
    certificates.replace("node-2", "cert", &pair.cert);
    let words = "is for electd://test/node-3, and not electd://test/node-2";
    let problem = || -> Result<Option<Problem>, String> {
        let problems = node.status()?.problems;
        Ok(problems.into_iter().find(|found| found.kind == "certificate"))
    };
    eventually("the problem is shown", || {
        let found = problem()?;
        let told = found.as_ref().is_some_and(|found| found.text.contains(words));
        ensure(told, || format!("{found:?}"))
    });
    fs::write(&token, "second").unwrap();
    let answer = node.post("/reload", "").unwrap();
    assert!(answer.code == 400 && answer.body.contains(words), "{answer:?}");
    cluster.node(1).restart();
    assert_eq!(cluster.agree_on(3), epoch, "node-2 goes on with what it has");
    let pair = certificates.authority.sign("node-2").unwrap();
    certificates.put("node-2", &[certificates.authority.certificate()], &pair);
    let answer = node.post("/reload", "").unwrap();
    assert!(answer.body.contains("changed immediately: token, certificates"), "{answer:?}");
    let is_over = || {
        eventually("the problem is over", || {
            let found = problem()?;
            ensure(found.is_none(), || format!("{found:?}"))
        });
    };
    is_over();
    certificates.replace("node-2", "key", "no key");
    eventually("the next problem is shown", || {
        let found = problem()?;
        ensure(found.is_some(), || node.log_tail(5))
    });
    certificates.replace("node-2", "key", &pair.key);
    is_over(); // the node looks by itself, too
    assert!(node.metrics().unwrap().contains("electd_certificate_expiry_timestamp_seconds 1"));
    assert_eq!(cluster.agree_on(3), epoch);
}

/// A host whose clock is not set yet, as at its boot: to it the certificate begins in the future.
#[story]
fn a_certificate_that_is_not_valid_yet_is_a_problem_and_no_reason_to_stay_down() {
    let forge = Forge::new("forge");
    let cluster = trusting(&forge);
    let early = |number: usize| {
        let name = format!("node-{number}");
        forge.sign("test", &name, |cert| cert.not_before = date_time_ymd(2999, 1, 1))
    };
    let authority = cluster.certificates().authority.certificate();
    cluster.agree_on(3);
    let node = cluster.node(1);
    node.kill_9();
    cluster.certificates().put("node-1", &[authority, &forge.certificate], &early(1));
    node.start();
    let begins = "begins on 2999-01-01T00:00:00Z: correct the clock of this host";
    eventually("node-1 runs, and tells what is wrong", || {
        let problems = cluster.status(1)?.problems;
        let is_it = |found: &Problem| found.kind == "certificate" && found.text.contains(begins);
        ensure(problems.iter().any(is_it), || format!("{problems:?}"))?;
        ensure(node.log().contains(begins), || node.log_tail(10))
    });
    cluster.agree_among(&[2, 3], 3);
    cluster.certificates().issue("node-1");
    cluster.agree_on(3);
    // While a node runs, such a certificate does not take the place of one that is valid.
    let taken = node.log().matches("new connections use certificate").count();
    cluster.certificates().put("node-1", &[authority, &forge.certificate], &early(1));
    eventually("node-1 keeps the one that it has", || {
        let problems = cluster.status(1)?.problems;
        let kept = |found: &Problem| found.text.contains("goes on with those that it read before");
        ensure(problems.iter().any(kept), || format!("{problems:?}"))
    });
    assert_eq!(node.log().matches("new connections use certificate").count(), taken);
    cluster.agree_on(3);
}

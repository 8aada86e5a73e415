//! The peers that are refused, and that both ends say why.

use rcgen::{ExtendedKeyUsagePurpose, SanType, date_time_ymd};
use serde_json::Value;
use story::story;

use super::stranger::{Forge, Stranger};
use super::{secure, secured};
use crate::support::impostor::Impostor;
use crate::support::{Cluster, Node, ensure, eventually};

/// How often a node refused a connection for this cause.
fn refused(node: &Node, cause: &str) -> u64 {
    node.status().unwrap().refused[cause]
}

/// Waits until the status and the log of this node show a refusal with this message.
#[track_caller]
fn tells(node: &Node, words: &str) {
    eventually(&format!("{} tells {words:?}", node.name), || {
        let rejections = node.status()?.rejections;
        let told = rejections.iter().any(|rejection| rejection.reason.contains(words));
        ensure(told, || format!("{rejections:?}"))?;
        ensure(node.log().contains(words), || node.log_tail(10))
    });
}

/// A cluster that trusts a forge too, so that what it signs is refused for what it says alone.
pub fn trusting(forge: &Forge) -> Cluster {
    let cluster = Cluster::prepare(3, secured);
    for node in cluster.nodes() {
        let trusted = [cluster.certificates().authority.certificate(), &forge.certificate].concat();
        cluster.certificates().replace(&node.name, "ca", &trusted);
        node.start();
    }
    cluster
}

/// Claim: strangers.
#[story]
fn whoever_shows_no_certificate_of_this_cluster_is_refused() {
    let (forge, stranger) = (Forge::new("forge"), Stranger::new());
    let cluster = trusting(&forge);
    let epoch = cluster.agree_on(3);
    let node = cluster.node(2);
    let good = |change: fn(&mut rcgen::CertificateParams)| forge.sign("test", "node-1", change);
    let table = [
        ("no_certificate", None, "shows no certificate", "certificate required"),
        (
            "unknown_ca",
            Some(Forge::new("stranger").sign("test", "node-1", |_| {})),
            "is signed by no authority that this node trusts",
            "unknown ca",
        ),
        (
            "expired",
            Some(good(|cert| cert.not_after = date_time_ymd(2020, 2, 29))),
            "its certificate ended on 2020-02-29T00:00:00Z",
            "certificate expired",
        ),
        (
            "not_yet_valid",
            Some(good(|cert| cert.not_before = date_time_ymd(2999, 1, 1))),
            "its certificate begins on 2999-01-01T00:00:00Z",
            "certificate",
        ),
        (
            "other_cluster",
            Some(forge.sign("other", "node-1", |_| {})),
            "its certificate is for electd://other/node-1, and the cluster is electd://test/",
            "certificate unknown",
        ),
        (
            "other_member",
            Some(good(|cert| {
                cert.subject_alt_names.retain(|name| !matches!(name, SanType::URI(_)))
            })),
            "its certificate is for no member",
            "certificate unknown",
        ),
        (
            "other_use",
            Some(good(|cert| cert.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth])),
            "it needs the extended key usages clientAuth",
            "unsupported certificate",
        ),
    ];
    for (cause, pair, words, alert) in table {
        let before = refused(node, cause);
        let told = stranger.dial(node, pair.as_ref(), &["-tls1_3"], b"");
        assert!(told.contains(alert), "{cause}: the stranger is told {told}");
        tells(node, words);
        assert_eq!(refused(node, cause), before + 1, "{cause}");
    }
    let told = stranger.dial(node, Some(&good(|_| {})), &["-tls1_2"], b"");
    assert!(told.contains("protocol version"), "{told}");
    tells(node, "it does not speak TLS 1.3");
    assert_eq!(refused(node, "version"), 1);
    assert_eq!(cluster.agree_on(3), epoch, "the cluster goes on undisturbed");
}

/// Claim: strangers.
#[story]
fn the_certificate_of_one_member_is_of_no_use_to_pass_as_another() {
    let cluster = Cluster::start_with(3, secured);
    let epoch = cluster.agree_on(3);
    let (stranger, node) = (Stranger::new(), cluster.node(2));
    let pair = cluster.certificates().authority.sign("node-3").unwrap();
    let says = |number| {
        let hello = Impostor::of(&cluster, number).hello(2).to_string();
        let length = u32::try_from(hello.len()).unwrap().to_be_bytes();
        stranger.dial(node, Some(&pair), &["-tls1_3"], &[&length, hello.as_bytes()].concat())
    };
    let told = says(1);
    assert!(told.contains("certificate") && told.contains("electd://test/node-3"), "{told}");
    tells(node, "it says that it is node-1: its certificate is for electd://test/node-3");
    assert_eq!(refused(node, "other_member"), 1);
    assert_eq!(cluster.agree_on(3), epoch);
}

#[story]
fn members_of_two_authorities_refuse_each_other_and_both_say_so() {
    let cluster = Cluster::start_with(3, secured);
    let epoch = cluster.agree_on(3);
    let stranger = cluster.stranger(1, |config| {
        let path = |file: &str| Value::from(format!("tls/strange/{file}.pem"));
        config["members"][0]["tls"] =
            serde_json::json!({"ca": path("ca"), "cert": path("cert"), "key": path("key")});
    });
    let forge = Forge::new("forge");
    let pair = forge.sign("test", "node-1", |_| {});
    cluster.certificates().put("strange", &[&forge.certificate], &pair);
    stranger.start();
    tells(&stranger, "is signed by no authority that this node trusts");
    // It does not take theirs, so they hear of it first.
    tells(cluster.node(3), "it trusts no authority that signed this node's certificate");
    assert_eq!(cluster.agree_on(3), epoch);
    // Now it trusts theirs, and they do not trust its own.
    stranger.kill_9();
    let trusted = [cluster.certificates().authority.certificate(), &forge.certificate];
    cluster.certificates().put("strange", &trusted, &pair);
    stranger.start();
    tells(
        &stranger,
        "rejects this node: it trusts no authority that signed this node's certificate",
    );
    tells(cluster.node(3), "is refused: its certificate is signed by no authority");
    assert_eq!(cluster.agree_on(3), epoch);
}

/// Members without TLS, whatever other tests do.
fn plain(config: &mut Value) {
    let members = config["members"].as_array_mut().unwrap();
    members.iter_mut().for_each(|member| _ = member.as_object_mut().unwrap().remove("tls"));
}

#[story]
fn plain_and_secured_members_refuse_each_other_and_both_say_so() {
    let cluster = Cluster::start_with(3, secured);
    let epoch = cluster.agree_on(3);
    let unprotected = cluster.stranger(1, plain);
    unprotected.start();
    tells(
        &unprotected,
        "rejects this node: tls differs: the side that refuses has \"on\", the other \"off\"",
    );
    tells(cluster.node(3), "is refused: it speaks no TLS (it says that it is node-1)");
    assert!(refused(cluster.node(3), "plain") > 0);
    assert_eq!(cluster.agree_on(3), epoch);

    let cluster = Cluster::start_with(3, plain);
    let epoch = cluster.agree_on(3);
    let secured = cluster.stranger(1, secure);
    crate::support::credentials::Certificates::of(secured.folder(), cluster.config(), 3);
    secured.start();
    tells(&secured, "does not answer in TLS");
    tells(cluster.node(3), "is refused: it speaks TLS, and this node has none");
    assert!(refused(cluster.node(3), "tls") > 0);
    assert_eq!(cluster.agree_on(3), epoch);
}

/// Claim: strangers.
#[story]
fn a_member_that_was_removed_is_refused_with_its_valid_certificate() {
    let cluster = Cluster::start_with(3, secured);
    cluster.agree_on(3);
    cluster.node(3).delete("/members/node-1").unwrap();
    assert_eq!(cluster.node(1).exit_code(), 77);
    let (stranger, node) = (Stranger::new(), cluster.node(3));
    let pair = cluster.certificates().authority.sign("node-1").unwrap();
    let hello = Impostor::of(&cluster, 1).hello(3).to_string();
    let length = u32::try_from(hello.len()).unwrap().to_be_bytes();
    let told =
        stranger.dial(node, Some(&pair), &["-tls1_3"], &[&length, hello.as_bytes()].concat());
    assert!(told.contains("removed"), "{told}");
    tells(node, "was removed from the cluster");
}

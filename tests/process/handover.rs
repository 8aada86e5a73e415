//! Leaders that hand over cleanly, and elections that an operator calls.

use electd::core::settings::AlgorithmKind;

use crate::support::{
    Cluster, Node, done, electd, ensure, eventually, for_each_algorithm, has_joined, watchful,
};
use serde_json::{Value, json};
use story::story;

for_each_algorithm! {
    a_leader_that_is_told_to_stop_hands_over_and_ends,
    a_leader_whose_successor_is_silent_ends_all_the_same,
    a_follower_that_is_told_to_stop_ends_and_disturbs_nobody,
    the_leader_resigns_wherever_it_is_asked_until_nobody_is_left_to_lead,
    a_member_that_cannot_lead_is_refused_by_name,
    without_preemption_too_the_highest_succeeds,
    an_election_that_is_asked_for_ends_with_the_same_leader,
}

/// The commanded node's answer: its code, and its sentence or successor.
fn resign(node: &Node, body: &Value) -> (u16, String) {
    let answer = node.post("/resign", &body.to_string()).unwrap();
    let document = answer.json();
    let word = document["successor"].as_str().or(document["error"].as_str());
    (answer.code, word.unwrap_or_default().to_owned())
}

/// Whether this node has gone through a change for this reason.
fn changed_because(cluster: &Cluster, number: usize, reason: &str) -> bool {
    let changes = cluster.status(number).unwrap().changes;
    changes.iter().any(|change| change.reason == reason)
}

/// Claim: in-order.
fn a_leader_that_is_told_to_stop_hands_over_and_ends(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let epoch = cluster.agree_on(3);
    cluster.node(3).stop_term();
    assert_eq!(cluster.node(3).exit_code(), 0);
    assert!(cluster.agree_on(2) > epoch);
    assert!(changed_because(&cluster, 2, "leader node-3 handed over"));
    for follower in [1, 2] {
        let releases = cluster.status(follower).unwrap().messages["release"].received;
        assert_eq!(releases, 1, "node-{follower} was told");
    }
}

fn a_leader_whose_successor_is_silent_ends_all_the_same(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, watchful);
    cluster.agree_on(3);
    for other in [1, 2] {
        cluster.node(other).freeze();
    }
    cluster.node(3).stop_term();
    assert_eq!(cluster.node(3).exit_code(), 0);
    for other in [1, 2] {
        cluster.node(other).thaw();
    }
    cluster.agree_on(2);
}

fn a_follower_that_is_told_to_stop_ends_and_disturbs_nobody(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let epoch = cluster.agree_on(3);
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    assert_eq!(cluster.agree_on(3), epoch);
}

/// Claim: in-order.
fn the_leader_resigns_wherever_it_is_asked_until_nobody_is_left_to_lead(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let first = cluster.agree_on(3);

    assert_eq!(resign(cluster.node(1), &json!({})), (200, "node-2".into()), "by a follower");
    let second = cluster.agree_on(2);
    assert!(second > first);
    assert!(!cluster.status(3).unwrap().members[2].eligible, "who resigned is not eligible");
    let all = done(&electd(&cluster, &["status"]));
    let file = cluster.file();
    let resigned = format!(
        "\nresigned: node-3 leads only if no other can; `electd undrain --config {} --node node-3` lets it lead again\n",
        file.display()
    );
    assert!(all.contains(&resigned), "{all}");

    assert_eq!(resign(cluster.node(2), &json!({"to": "node-1"})), (200, "node-1".into()));
    let third = cluster.agree_on(1);
    assert!(third > second);

    let (code, sentence) = resign(cluster.node(1), &json!({}));
    assert_eq!(code, 409);
    assert_eq!(
        sentence,
        "no other live member may lead (see who is eligible in `status`): resigning would be an outage"
    );
    assert_eq!(cluster.agree_on(1), third);

    cluster.node(3).restart();
    assert!(cluster.agree_on(3) > third, "a restart makes it eligible again");
}

fn a_member_that_cannot_lead_is_refused_by_name(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let epoch = cluster.agree_on(3);
    for asked in [1, 3] {
        let asked = cluster.node(asked);
        let (code, sentence) = resign(asked, &json!({"to": "node-1"}));
        assert_eq!(code, 409, "{sentence}");
        assert!(sentence.starts_with("node-2 comes before node-1"), "{sentence}");
        let (code, sentence) = resign(asked, &json!({"to": "node-3"}));
        assert_eq!(code, 409, "{sentence}");
        assert!(sentence.starts_with("node-3 leads already"), "{sentence}");
        let (code, sentence) = resign(asked, &json!({"to": "nobody"}));
        assert_eq!(code, 400, "{sentence}");
        assert!(sentence.contains("\"nobody\"; there are node-1, node-2, node-3"), "{sentence}");
        assert_eq!(resign(asked, &json!({"too": "node-2"})).0, 400);
    }
    cluster.node(2).kill_9();
    cluster.until_seen(3, 2, "dead");
    let (code, sentence) = resign(cluster.node(1), &json!({"to": "node-2"}));
    assert_eq!(code, 409);
    assert!(sentence.starts_with("node-2 cannot lead: node-1 does not hear it"), "{sentence}");
    assert_eq!(cluster.agree_on(3), epoch, "nothing of this changed who leads");
}

fn without_preemption_too_the_highest_succeeds(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, |config| config["preempt"] = "never".into());
    cluster.agree_on(3);
    let (code, sentence) = resign(cluster.node(2), &json!({"to": "node-1"}));
    assert_eq!(code, 409, "{sentence}");
    assert_eq!(resign(cluster.node(2), &json!({"to": "node-2"})), (200, "node-2".into()));
    cluster.agree_on(2);
}

fn an_election_that_is_asked_for_ends_with_the_same_leader(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let first = cluster.agree_on(3);

    assert_eq!(cluster.node(1).post("/elections", "").unwrap().code, 200);
    assert!(changed_because(&cluster, 1, "asked for an election"));
    // A leader that lives keeps its epoch, unless its algorithm takes the caller in again.
    let second = cluster.agree_on(3);
    has_joined(algorithm, first, second);

    assert_eq!(cluster.node(3).post("/elections", "{}").unwrap().code, 200);
    assert!(cluster.agree_on(3) > second, "the leader itself runs a new round");
}

#[story]
fn a_takeover_that_is_due_later_is_shown_with_its_time() {
    let cluster = Cluster::prepare(2, |config: &mut Value| {
        config["preempt"] = json!({"after": "1h"});
    });
    cluster.node(1).start();
    cluster.agree_on(1);
    cluster.node(2).start();
    cluster.agree_on(1);
    let takeover = eventually("node-2 waits", || {
        cluster.status(2)?.takeover.filter(|it| it.at.is_some()).ok_or("not yet".to_owned())
    });
    assert!(takeover.from == "node-1" && takeover.why.contains("preempt after"), "{takeover:?}");
    let shown = done(&electd(&cluster, &["status"]));
    assert!(shown.contains("\ntakeover: node-2 is to take over from node-1 at 20"), "{shown}");

    // The leader counts the break, of which the new process knows nothing.
    cluster.node(2).restart();
    eventually("the leader lets it take over later", || {
        let own = cluster.status(2)?.takeover.and_then(|it| it.at).ok_or("no takeover")?;
        let due = cluster.status(1)?.takeovers.get("node-2").cloned().ok_or("not yet")?;
        ensure(due > own, || format!("{own} and {due}"))?;
        let shown = done(&electd(&cluster, &["status"]));
        ensure(shown.contains(&format!("from node-1 at {due}: preempt after")), || shown)
    });
}

#[story]
#[ignore = "long"]
fn without_preemption_a_resignation_ends_by_itself_when_the_next_leader_is_steady() {
    let cluster = Cluster::start_with(2, |config: &mut Value| {
        watchful(config);
        config["preempt"] = "never".into();
    });
    cluster.agree_on(2);
    done(&electd(&cluster, &["resign"]));
    cluster.agree_on(1);
    assert!(cluster.status(2).unwrap().resigned);
    eventually("node-2 may lead again", || {
        let status = cluster.status(2)?;
        let own = status.members[1].eligible;
        ensure(!status.resigned && own, || format!("{}, {own}", status.resigned))
    });
}

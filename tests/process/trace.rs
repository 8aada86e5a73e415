//! `electd trace`: the last election, as all nodes together recorded it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use electd::core::settings::{AlgorithmKind, Quorum};
use electd::trace::record::Record;
use serde_json::Value;
use story::story;

use crate::support::{
    Cluster, Finished, done, electd, ensure, eventually, for_each_algorithm, within,
};

for_each_algorithm! { the_election_after_a_kill_is_told_with_every_message }

/// What `electd trace` tells programs.
fn trace(cluster: &Cluster, args: &[&str]) -> Result<Value, String> {
    let output = electd(cluster, &[&["trace", "--output", "json"], args].concat());
    ensure(output.status.code() == Some(0), || format!("{output:?}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {output:?}"))
}

/// The election after this epoch, by which this member came to lead.
fn election(cluster: &Cluster, before: u64, leader: &str, longest: Duration) -> Value {
    within(longest, &format!("the election of {leader} is told"), || {
        let shown = trace(cluster, &["--last"])?;
        let follow =
            events(&shown, "becomes").filter(|event| event["phase"] == "following").count();
        let all = cluster.running().count() - 1;
        let is_later = shown["epoch"].as_u64() > Some(before);
        // What was sent last may be on its way.
        let runs = |name: &Value| cluster.running().any(|node| *name == *node.name);
        let is_open = |event: &Value| event["unseen"] == "arrival" && runs(&event["to"]);
        let is_over = !events(&shown, "sends").any(is_open);
        let is_told = is_later && shown["leader"] == leader && follow >= all && is_over;
        ensure(is_told, || format!("{shown:#}"))?;
        Ok(shown)
    })
}

fn events<'a>(shown: &'a Value, what: &'a str) -> impl Iterator<Item = &'a Value> {
    shown["events"].as_array().expect("a list").iter().filter(move |event| event["what"] == what)
}

fn messages<'a>(shown: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let is_one =
        move |event: &&Value| event["label"].as_str().unwrap().split(' ').next() == Some(kind);
    events(shown, "sends").filter(is_one)
}

/// All of these that are for live members.
fn to_the_living(shown: &Value, kind: &str) -> u64 {
    messages(shown, kind).filter(|event| event["to"] != "node-5").count() as u64
}

/// No event comes before one that brought it about.
fn contradicts_no_cause(shown: &Value) {
    let events = shown["events"].as_array().expect("a list");
    let time = |event: &Value, field: &str| event[field].as_f64().expect("a time");
    for (at, event) in events.iter().enumerate() {
        for cause in event["causes"].as_array().expect("a list") {
            let place = cause.as_u64().expect("a place") as usize;
            assert!(place < at, "{event}");
            let cause = &events[place];
            assert!(time(cause, "at_ms") <= time(event, "at_ms"), "{cause} {event}");
            if cause["what"] == "sends" {
                assert_eq!((&cause["to"], &cause["lost"]), (&event["member"], &false.into()));
                assert!(time(cause, "arrives_ms") <= time(event, "at_ms"), "{cause} {event}");
            }
        }
        if event["what"] == "sends" && event["lost"] == false {
            assert!(time(event, "at_ms") < time(event, "arrives_ms"), "{event}");
        }
    }
    let caused = events.iter().filter(|event| event["causes"] != Value::Array(Vec::new())).count();
    assert!(caused * 2 > events.len(), "most are caused by others: {shown:#}");
}

/// Every message that a node recorded as one about this epoch is told, with its receipt where that was recorded.
fn leaves_nothing_out(cluster: &Cluster, shown: &Value) {
    let epoch = shown["epoch"].as_u64().expect("a number");
    let mut recorded = BTreeMap::new();
    for node in cluster.running() {
        let answer = node.get(&format!("/trace?epoch={epoch}")).unwrap();
        let record: Record = serde_json::from_str(&answer.body).unwrap();
        for entry in record.entries.into_iter().filter(|entry| entry.what == "sent") {
            let kind = entry.kind.unwrap();
            // These are for whoever comes back later, too.
            if entry.number == Some(epoch) && !["view", "coordinator"].contains(&kind.name()) {
                *recorded
                    .entry((node.name.clone(), entry.peer.unwrap(), entry.label))
                    .or_insert(0) += 1;
            }
        }
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for event in events(shown, "sends") {
        let message = (text(&event["member"]), text(&event["to"]), text(&event["label"]));
        if let Some(count) = recorded.get_mut(&message) {
            *count -= 1;
        }
        // A heartbeat is recorded only where something came of it; and a dead member tells nothing.
        let between = [&event["member"], &event["to"]];
        if !between.iter().any(|end| *end == "node-5") && event["label"] != "HEARTBEAT" {
            assert_eq!(
                (&event["unseen"], &event["lost"]),
                (&Value::Null, &false.into()),
                "{event}"
            );
        }
    }
    // A PRE-VOTE names no epoch, and an earlier one may be told as well.
    assert!(recorded.values().all(|count| *count <= 0), "{recorded:?}\n{shown:#}");
}

/// The records of all nodes, written to files, show the same election.
fn can_be_kept(cluster: &Cluster, shown: &Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["trace", "--output", "json", "--file"]);
    for node in cluster.running() {
        let file = folder.path().join(&node.name);
        let out = file.to_str().unwrap();
        done(&electd(cluster, &["record", "--node", &node.name, "--out", out]));
        let again = electd(cluster, &["record", "--node", &node.name, "--out", out]);
        assert_eq!(again.status.code(), Some(1), "it is there: {again:?}");
        command.arg(file);
    }
    let kept: Value = serde_json::from_str(&done(&command.finished())).unwrap();
    contradicts_no_cause(&kept);
    for field in ["epoch", "leader", "messages", "other_messages", "silent", "members"] {
        assert_eq!(kept[field], shown[field], "{field}");
    }
}

/// The formulas, for four members that notice the death of a fifth, each when it does.
fn counts_are_right(algorithm: AlgorithmKind, shown: &Value) {
    let callers = |kind: &'static str| {
        let mut callers: Vec<_> =
            messages(shown, kind).map(|event| event["member"].as_str().unwrap()).collect();
        callers.sort_unstable();
        callers.dedup();
        callers
    };
    let sent = |kind: &str| messages(shown, kind).count() as u64;
    let living = |kind: &str| to_the_living(shown, kind);
    match algorithm {
        AlgorithmKind::Bully => {
            let rank = |name: &str| name[5..].parse::<u64>().unwrap();
            let asked: u64 = callers("ELECTION").into_iter().map(|caller| 4 - rank(caller)).sum();
            assert_eq!(living("ELECTION"), asked, "each caller asks all above it: {shown:#}");
            assert_eq!(sent("ANSWER"), asked, "each of them answers: {shown:#}");
            assert_eq!(sent("COORDINATOR"), 3, "{shown:#}");
        }
        AlgorithmKind::Halting => {
            for kind in ["HALT", "ELECTED", "READY"] {
                assert_eq!(living(kind), 3, "{kind}: {shown:#}");
            }
            assert_eq!(sent("REPLY"), 9 + living("ARE-YOU-THERE"), "{shown:#}");
        }
        AlgorithmKind::Ring => {
            assert_eq!(sent("ELECTED"), 4, "once around: {shown:#}");
            assert!((4..=4 * 5 / 2).contains(&living("ELECTION")), "{shown:#}");
        }
    }
}

/// Claim: history.
fn the_election_after_a_kill_is_told_with_every_message(algorithm: AlgorithmKind) {
    for quorum in Quorum::ALL {
        let cluster = Cluster::start_with(5, |config| {
            config["algorithm"] = algorithm.name().into();
            config["quorum"] = quorum.name().into();
        });
        let before = cluster.agree_on(5);
        cluster.node(5).kill_9();
        let after = cluster.agree_on(4);
        let shown = election(&cluster, before, "node-4", Duration::from_secs(10));
        assert!(after > before && shown["epoch"] == after, "{shown:#}");
        assert_eq!(shown["silent"], serde_json::json!(["node-5"]));
        assert_eq!(
            (&shown["algorithm"], &shown["left_out"]),
            (&algorithm.name().into(), &0.into())
        );
        contradicts_no_cause(&shown);
        leaves_nothing_out(&cluster, &shown);
        if quorum == Quorum::None {
            counts_are_right(algorithm, &shown);
        }
        can_be_kept(&cluster, &shown);
        for form in ["text", "svg", "html"] {
            let shown = done(&electd(&cluster, &["trace", "--output", form]));
            assert!(shown.contains(&format!("epoch {after}")), "{shown}");
        }
    }
}

/// Now, in milliseconds since the Unix epoch.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// When this election began, in the same.
fn began(shown: &Value) -> i64 {
    let began: jiff::Timestamp = shown["began"].as_str().unwrap().parse().unwrap();
    began.as_millisecond()
}

/// The leader is killed and comes back, so many times: each election begins with a death or with the return, and not with
/// what members did before.
fn elections_begin_when_they_did(times: usize) {
    let cluster = Cluster::start_watchful(3);
    let tolerance = 2 * i64::try_from(cluster.timing().failure.as_millis()).unwrap();
    let mut before = cluster.agree_on(3);
    for _ in 0..times {
        let killed = now();
        cluster.node(3).kill_9();
        let after = cluster.agree_on(2);
        let shown = election(&cluster, before, "node-2", Duration::from_secs(10));
        assert_eq!(shown["epoch"], after, "{shown:#}");
        let off = (began(&shown) - killed).abs();
        assert!(off <= tolerance, "it is off by {off} ms: {shown:#}");
        let dies = events(&shown, "dies").map(|event| event["member"].as_str());
        assert_eq!(dies.collect::<Vec<_>>(), [Some("node-3")], "{shown:#}");
        let history = done(&electd(&cluster, &["history", "--output", "json"]));
        let history: Value = serde_json::from_str(&history).unwrap();
        let entries = history["leaderships"].as_array().expect("a list");
        let own =
            entries.iter().find(|entry| entry["epoch"] == after).expect("it is in the history");
        let led = events(&shown, "becomes").filter(|event| event["phase"] == "leading");
        let led = led.last().unwrap()["at_ms"].as_f64().unwrap() as i64 + began(&shown);
        let since = own["since_ms"].as_i64().unwrap();
        assert!((led - since).abs() <= tolerance, "{led} and {since}: {own:#} {shown:#}");
        cluster.node(3).start();
        before = cluster.agree_on(3);
        assert!(before > after);
        let shown = election(&cluster, after, "node-3", Duration::from_secs(10));
        assert!(began(&shown) >= killed, "a takeover has nothing of before: {shown:#}");
    }
}

/// Claim: history.
#[story]
fn an_election_begins_with_the_death_of_the_leader_however_many_there_were() {
    elections_begin_when_they_did(3);
}

#[story]
#[ignore = "long"]
fn an_election_begins_with_the_death_of_the_leader_after_forty_of_them() {
    elections_begin_when_they_did(40);
}

/// An organizer makes three calls to each of the others, with a reply.
/// Claim: counts.
#[story]
fn an_election_of_one_caller_takes_as_many_messages_as_the_formula_says() {
    let cluster = Cluster::of(AlgorithmKind::Halting, 5);
    let before = cluster.agree_on(5);
    assert_eq!(cluster.node(5).post("/elections", "").unwrap().code, 200);
    let shown = election(&cluster, before, "node-5", Duration::from_secs(10));
    let follow = events(&shown, "becomes").filter(|event| event["phase"] == "following");
    assert_eq!((follow.count(), &shown["leader"]), (4, &"node-5".into()), "{shown:#}");
    assert_eq!(shown["messages"]["total"], 6 * 4, "{shown:#}");
    contradicts_no_cause(&shown);
    leaves_nothing_out(&cluster, &shown);
}

#[story]
fn an_election_that_nobody_recorded_is_not_told() {
    let cluster = Cluster::start(1);
    let epoch = cluster.agree_on(1);
    eventually("its first election is told", || trace(&cluster, &["--epoch", &epoch.to_string()]));
    let output = electd(&cluster, &["trace", "--epoch", "77"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("epoch 77"), "{output:?}");
    cluster.node(1).kill_9();
    assert_eq!(electd(&cluster, &["trace"]).status.code(), Some(69));
}

//! Each state that a cluster may be in, and what each view shows of it: the codes for load balancers, the figures, and
//! the commands.
//!
//! One cluster goes from state to state (`states.rs`). In each of them the views of a node agree with each other, too.

mod states;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};
use std::time::Duration;

use electd::node::status::{MemberStatus, Status};
use serde_json::Value;

use crate::support::{Cluster, Finished, command, electd, ensure, readable, watchful, within};

/// Ten times as long as the nodes take to notice anything: `failure`, and a look each second.
const SOON: Duration = Duration::from_secs(25);

/// What one node shows.
#[derive(Clone, Copy)]
struct One {
    node: usize,
    /// Of `/leader`, `/follower`, `/readyz` and `/livez`.
    codes: [u16; 4],
    /// Lines of its metrics.
    figures: &'static [&'static str],
    /// The first line of a watch.
    state: &'static str,
}

/// What the commands tell of the whole cluster.
#[derive(Clone, Copy)]
struct All {
    /// The exit codes of `health`, `status` and `leader`.
    codes: [i32; 3],
    /// Words of `health`.
    health: &'static [&'static str],
    /// Words of `status`.
    status: &'static [&'static str],
    /// The beginning of what `leader` prints.
    leader: &'static str,
}

const LEADS: [u16; 4] = [200, 503, 200, 200];
const FOLLOWS: [u16; 4] = [503, 200, 200, 200];
const NOBODY: [u16; 4] = [503, 503, 503, 200];

fn leads(node: usize, figures: &'static [&'static str]) -> One {
    One { node, codes: LEADS, figures, state: "leading" }
}

fn follows(node: usize, figures: &'static [&'static str]) -> One {
    One { node, codes: FOLLOWS, figures, state: "following" }
}

/// A cluster of three that has not been started yet.
fn three() -> Cluster {
    Cluster::prepare(3, with_majority)
}

fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

/// The value of one line of the metrics.
fn figure(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// What holds in every state: the figures say what the status says.
fn agrees(cluster: &Cluster, number: usize) -> Result<(), String> {
    let node = cluster.node(number);
    let (before, page) = (node.status()?, node.metrics()?);
    let status = node.status()?;
    // A figure may have changed between the two answers.
    let steady = (before.epoch, &before.state, &before.problems, before.failures_tolerated)
        == (status.epoch, &status.state, &status.problems, status.failures_tolerated)
        && members(&before) == members(&status);
    ensure(steady, || format!("node-{number} is changing"))?;
    let leads = status.state == "leading" && !status.stalled;
    let mut expected = vec![
        ("electd_is_leader".to_owned(), u8::from(leads).into()),
        (
            "electd_has_leader".to_owned(),
            u8::from(status.leader.is_some() && !status.stalled).into(),
        ),
        ("leader_election_master_status{name=\"test\"}".to_owned(), u8::from(leads).into()),
        ("electd_epoch".to_owned(), status.epoch as f64),
        ("electd_failures_tolerated".to_owned(), status.failures_tolerated as f64),
        ("electd_paused".to_owned(), u8::from(status.pause.is_some()).into()),
    ];
    for member in status.members.iter().filter(|member| member.id != status.node.id) {
        let name = format!("electd_peer_up{{peer=\"{}\"}}", member.name);
        expected.push((name, u8::from(member.status == "alive").into()));
    }
    for (kind, count) in kinds(&status) {
        expected.push((format!("electd_problems{{kind=\"{kind}\"}}"), count));
    }
    let healthy = status.health.as_ref().map(|health| u8::from(health.healthy).into());
    expected.extend(healthy.map(|healthy| ("electd_healthy".to_owned(), healthy)));
    for (name, value) in expected {
        let found = figure(&page, &name);
        ensure(found == Some(value), || {
            format!("node-{number}: {name} is {found:?}, not {value}")
        })?;
    }
    counts(&before, &page, &status)?;
    let lease = figure(&page, "electd_lease_remaining_seconds");
    ensure(lease.is_some() == leads, || format!("node-{number}: a lease of {lease:?}"))?;
    let longest = cluster.timing().lease.as_secs_f64();
    let in_time = lease.is_none_or(|lease| (0.0..=longest).contains(&lease));
    ensure(in_time, || format!("node-{number}: a lease of {lease:?}"))?;
    let shown = &status.leader.as_ref().map(|leader| (leader.name.clone(), leader.epoch));
    let told = shown.as_ref().is_none_or(|(_, epoch)| *epoch == status.epoch);
    ensure(told, || format!("node-{number}: {shown:?} in {}", status.epoch))
}

/// The counters of the page lie between those of a status before and of one after it.
fn counts(before: &Status, page: &str, after: &Status) -> Result<(), String> {
    let mut all: Vec<(String, u64, u64)> = Vec::new();
    for (kind, first) in &before.messages {
        let last = &after.messages[kind];
        let name = |way| format!("electd_messages_total{{kind=\"{kind}\",direction=\"{way}\"}}");
        all.push((name("sent"), first.sent, last.sent));
        all.push((name("received"), first.received, last.received));
    }
    let (dropped, refused) = (&after.dropped, &after.refused);
    all.extend(before.dropped.iter().map(|(queue, first)| {
        (format!("electd_dropped_total{{queue=\"{queue}\"}}"), *first, dropped[queue])
    }));
    all.extend(before.refused.iter().map(|(cause, first)| {
        (format!("electd_refused_total{{cause=\"{cause}\"}}"), *first, refused[cause])
    }));
    for (name, first, last) in all {
        let found = figure(page, &name).ok_or_else(|| format!("no {name} in\n{page}"))?;
        let between = (first as f64..=last as f64).contains(&found);
        ensure(between, || format!("{name} is {found}, and {first} before and {last} after"))?;
    }
    let (first, last) = (before.uptime_ms, after.uptime_ms);
    ensure(first <= last, || format!("up for {last} ms after {first} ms"))
}

/// What is shown of the members, but for how fast they answer.
fn members(status: &Status) -> Vec<(&str, &str, bool)> {
    fn shown(it: &MemberStatus) -> (&str, &str, bool) {
        (&it.name, &it.status, it.eligible)
    }
    status.members.iter().map(shown).collect()
}

/// How many problems of each kind there are.
fn kinds(status: &Status) -> BTreeMap<&'static str, f64> {
    let kinds = electd::node::problems::ProblemKind::ALL.iter().map(|kind| kind.name());
    let count = |kind| status.problems.iter().filter(|it| it.kind == kind).count() as f64;
    kinds.map(|kind| (kind, count(kind))).collect()
}

fn shows(cluster: &Cluster, one: &One) -> Result<(), String> {
    let node = cluster.node(one.node);
    let code = |path| Ok::<_, String>(node.get(path)?.code);
    let codes = [code("/leader")?, code("/follower")?, code("/readyz")?, code("/livez")?];
    ensure(codes == one.codes, || format!("{}: {codes:?}, not {:?}", node.name, one.codes))?;
    agrees(cluster, one.node)?;
    let page = node.metrics()?;
    for line in one.figures {
        let found = page.lines().any(|found| found == *line);
        ensure(found, || format!("{}: no {line} in\n{page}", node.name))?;
    }
    let leads = (one.codes[0] != 200).into();
    let check = at_home(cluster, one.node, &["leader", "--check", "--node", &node.name]);
    ensure(check.status.code() == Some(leads), || format!("{}: {check:?}", node.name))?;
    let first = first_line(cluster, one.node);
    ensure(first["kind"] == "now" && first["to"] == one.state, || format!("{first}"))
}

/// A command, given where this node lives.
fn at_home(cluster: &Cluster, number: usize, args: &[&str]) -> Output {
    let mut command = command(cluster, args);
    cluster.node(number).at_home(move || command.finished())
}

/// The first line of a watch of this node.
fn first_line(cluster: &Cluster, number: usize) -> Value {
    let node = cluster.node(number);
    let mut watch = command(cluster, &["watch", "--output", "json", "--node", &node.name]);
    let mut watch = node.at_home(|| watch.stdout(Stdio::piped()).spawn().unwrap());
    let stdout = watch.stdout.take().unwrap();
    readable("the first line of a watch", &stdout);
    let mut line = String::new();
    let read = BufReader::new(stdout).read_line(&mut line);
    let _ = (watch.kill(), watch.wait());
    read.unwrap();
    serde_json::from_str(&line).unwrap_or(Value::Null)
}

fn all_show(cluster: &Cluster, all: &All) -> Result<(), String> {
    let told = [["health"], ["status"], ["leader"]].map(|args| electd(cluster, &args));
    let codes = told.each_ref().map(|output| output.status.code());
    ensure(codes == all.codes.map(Some), || format!("{codes:?}, not {:?}: {told:?}", all.codes))?;
    let text = |output: &Output| {
        // Long lines are wrapped.
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let [health, status, leader] = told.each_ref().map(text);
    for (text, words) in [(&health, all.health), (&status, all.status)] {
        for word in words {
            ensure(text.contains(word), || format!("no {word:?} in {text}"))?;
        }
    }
    ensure(leader.starts_with(all.leader), || leader)
}

/// Waits until all views show this.
#[track_caller]
fn seen(cluster: &Cluster, state: &str, ones: &[One], all: &All) {
    within(SOON, &format!("in the state \"{state}\", all views show it"), || {
        ones.iter().try_for_each(|one| shows(cluster, one))?;
        all_show(cluster, all)
    });
}

const WELL: All = All {
    codes: [0, 0, 0],
    health: &[
        "ELECTD OK: node-3 leads in epoch",
        "; 1 more failure tolerated; 3 of 3 nodes answer",
        "| failures_tolerated=1 answering=3;;;0;3 problems=0 epoch=",
    ],
    status: &["node-1 following node-3", "node-2 following node-3", "node-3 leading node-3"],
    leader: "node-3 ",
};

/// Waits until all is well, as at the beginning.
#[track_caller]
fn all_is_well(cluster: &Cluster, after: &str) {
    cluster.agree_on(3);
    let figures = &["electd_failures_tolerated 1", "electd_paused 0"];
    let ones = [follows(1, figures), follows(2, figures), leads(3, figures)];
    seen(cluster, &format!("well, after {after}"), &ones, &WELL);
    let [follows, led, leads] = [1, 2, 3].map(|number| cluster.status(number).unwrap());
    let ways = |status: &Status, kind: &str| {
        let count = &status.messages[kind];
        (count.sent > 0, count.received > 0)
    };
    assert_eq!((ways(&leads, "heartbeat").0, ways(&follows, "heartbeat").1), (true, true));
    assert_eq!((ways(&leads, "acknowledge").1, ways(&follows, "acknowledge").0), (true, true));
    assert_eq!((leads.members[0].rtt_ms.is_some(), leads.members[2].rtt_ms), (true, None));
    // It has led meanwhile, and what it measured then says nothing of now.
    assert!(led.members.iter().all(|member| member.rtt_ms.is_none()), "{:?}", led.members);
}

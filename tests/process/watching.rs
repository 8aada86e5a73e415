//! An operator's view of a cluster in trouble, with the real cause: in the status, by exit codes, and
//! as events.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Cluster, command, electd, ensure, eventually, watchful};
use serde_json::{Value, json};
use story::story;

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Waits until a node has problems of these kinds and no others.
#[track_caller]
fn until_problems(cluster: &Cluster, number: usize, kinds: &[&str]) {
    eventually(&format!("node-{number} has the problems {kinds:?}"), || {
        let problems = cluster.status(number)?.problems;
        let found: Vec<&str> = problems.iter().map(|problem| problem.kind.as_str()).collect();
        ensure(found == kinds, || format!("{problems:?}"))
    });
}

fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

#[story]
fn a_dead_voter_is_seen_by_everybody_until_it_is_back() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree_on(3);
    until_problems(&cluster, 3, &[]);
    eventually("one failure is tolerated", || {
        let tolerated = cluster.status(3)?.failures_tolerated;
        ensure(tolerated == 1, || tolerated.to_string())
    });
    eventually("all is well", || {
        let health = electd(&cluster, &["health"]);
        ensure(code(&health) == Some(0), || format!("{health:?}"))
    });
    assert_eq!(code(&electd(&cluster, &["status"])), Some(0));

    cluster.node(1).kill_9();
    until_problems(&cluster, 3, &["quorum_margin", "peer_down"]);
    until_problems(&cluster, 2, &["quorum_margin", "peer_down"]);
    assert_eq!(cluster.status(3).unwrap().failures_tolerated, 0);
    let health = electd(&cluster, &["health"]);
    let line = String::from_utf8_lossy(&health.stdout).into_owned();
    assert_eq!(code(&health), Some(1), "{line}");
    assert!(
        line.contains("node-1 is down: no further") && line.contains("| failures_tolerated=0 "),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    assert_eq!(code(&electd(&cluster, &["status"])), Some(1));

    cluster.node(1).start();
    until_problems(&cluster, 3, &[]);
    until_problems(&cluster, 2, &[]);
}

#[story]
fn a_cluster_without_a_leader_is_an_outage_and_one_that_is_silent_is_unknown() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    cluster.node(2).kill_9();
    eventually("nobody leads", || {
        let health = electd(&cluster, &["health"]);
        ensure(code(&health) == Some(2), || format!("{health:?}"))
    });
    cluster.node(1).kill_9();
    assert_eq!(code(&electd(&cluster, &["health"])), Some(3));
    assert_eq!(code(&electd(&cluster, &["health", "--no-such-flag"])), Some(3));
}

#[story]
fn a_state_that_cannot_be_written_is_a_problem_until_it_can() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    until_problems(&cluster, 1, &[]);
    assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 200);
    let folder = cluster.state_file(1).parent().unwrap().to_path_buf();
    let aside = folder.with_extension("aside");
    fs::rename(&folder, &aside).unwrap();
    cluster.node(2).restart(); // a new epoch is to be stored
    eventually("its storage is a problem", || {
        let problems = cluster.status(1)?.problems;
        let found = problems.iter().any(|problem| problem.kind == "storage");
        ensure(found, || format!("{problems:?}"))
    });
    eventually("it is not ready", || {
        let code = cluster.node(1).get("/readyz")?.code;
        ensure(code == 503, || code.to_string())
    });
    fs::rename(&aside, &folder).unwrap();
    until_problems(&cluster, 1, &[]);
    eventually("it is ready", || {
        let code = cluster.node(1).get("/readyz")?.code;
        ensure(code == 200, || code.to_string())
    });
}

#[story]
fn a_member_with_other_timings_is_a_problem_until_it_has_the_same() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let place = (cluster.node(1).address, cluster.node(1).admin);
    cluster.node(1).kill_9();
    let mut config = cluster.config().clone();
    config["timing"]["message"] = "251ms".into();
    let other = cluster.process(1, place, "other", &config);
    other.start();
    until_problems(&cluster, 2, &["config_differs"]);
    assert!(cluster.status(2).unwrap().problems[0].text.contains("message 251ms"));
    other.kill_9();
    cluster.node(1).start();
    until_problems(&cluster, 2, &[]);
}

#[story]
fn a_member_that_is_refused_is_a_problem_until_it_is_gone() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    let stranger = cluster.stranger(1, |config| config["algorithm"] = "ring".into());
    cluster.node(1).kill_9();
    stranger.start();
    eventually("it is refused", || {
        let problems = cluster.status(2)?.problems;
        let found = problems.iter().any(|problem| problem.kind == "rejected");
        ensure(found, || format!("{problems:?}"))
    });
    stranger.kill_9();
    cluster.node(1).start();
    until_problems(&cluster, 2, &[]);
}

#[story]
fn a_member_without_a_rank_says_so() {
    let cluster = Cluster::start_with(2, |config| {
        let program = "/no/such/program";
        config["rank"] =
            json!({"by": "command", "command": [program], "every": "100ms", "timeout": "50ms"});
    });
    until_problems(&cluster, 1, &["rank"]);
}

/// The value of a line of `GET /metrics`.
fn metric(cluster: &Cluster, number: usize, line: &str) -> Result<f64, String> {
    let body = cluster.node(number).metrics()?;
    let value = body.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
    value.ok_or_else(|| format!("no {line} in\n{body}"))
}

#[story]
fn an_election_is_counted_with_its_reason_and_its_time() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    cluster.node(2).kill_9();
    cluster.agree_on(1);
    eventually("the election is counted", || {
        let count = metric(&cluster, 1, "electd_elections_total{reason=\"leader_certified\"}")?;
        ensure(count == 1.0, || count.to_string())
    });
    let figure = |line: &str| metric(&cluster, 1, line).unwrap();
    assert_eq!(figure("electd_leader_changes_total"), 2.0);
    assert_eq!(figure("electd_election_duration_seconds_count"), 2.0);
    assert!(figure("electd_store_write_seconds_count") >= 1.0);
    assert_eq!((figure("electd_is_leader"), figure("electd_peer_up{peer=\"node-2\"}")), (1.0, 0.0));
    let leaderless = figure("electd_leaderless_seconds_total");
    let elections = figure("electd_election_duration_seconds_sum");
    assert!(
        (leaderless - elections).abs() < 0.001,
        "{leaderless} s, and {elections} s of elections"
    );
    assert!(leaderless > 0.0, "nobody led before the first election");
    assert_eq!(figure("electd_leaderless_seconds_total"), leaderless, "somebody leads");
}

#[story]
fn the_histogram_of_elections_agrees_with_what_is_seen_from_outside() {
    const FAILOVERS: usize = 5;
    let cluster = Cluster::start_watchful(3);
    cluster.agree_on(3);
    let mut seen = Vec::new();
    for _ in 0..FAILOVERS {
        let killed = Instant::now();
        cluster.node(3).kill_9();
        cluster.agree_on(2);
        seen.push(killed.elapsed().as_secs_f64());
        cluster.node(3).start();
        cluster.agree_on(3);
    }
    let page = cluster.node(1).metrics().unwrap();
    let buckets = page.lines().filter_map(|line| {
        let (end, count) = line
            .strip_prefix("electd_election_duration_seconds_bucket{le=\"")?
            .split_once("\"} ")?;
        Some((end.parse::<f64>().ok()?, count.parse::<usize>().ok()?))
    });
    let buckets: Vec<_> = buckets.filter(|(end, _)| end.is_finite()).collect();
    assert!(buckets.len() > 5, "{page}");
    // Node-1 knew no leader for a part of what is seen from outside.
    for (end, count) in &buckets {
        let within = seen.iter().filter(|time| *time <= end).count();
        assert!(*count >= within, "{count} within {end} s, and {seen:?} outside\n{page}");
    }
    let all = metric(&cluster, 1, "electd_election_duration_seconds_count").unwrap();
    assert!(all > FAILOVERS as f64, "{all} beside the first election");
}

/// Far longer than anything takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running `electd watch`, ended with the test.
struct Watching(Child, Receiver<String>);

impl Watching {
    fn start(cluster: &Cluster, args: &[&str]) -> Watching {
        let mut command = command(cluster, &[&["watch", "--output", "json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        // Ends with the process.
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        Watching(child, lines)
    }

    /// Reads lines until one is so; gives it.
    #[track_caller]
    fn until(&mut self, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        let mut read = Vec::new();
        while let Ok(line) = self.1.recv_timeout(TIMEOUT) {
            let found = serde_json::from_str(&line).unwrap();
            if is_so(&found) {
                return found;
            }
            read.push(line);
        }
        panic!("no such line; read\n{}", read.join("\n"));
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[story]
fn a_watch_goes_on_over_a_restart_and_misses_nothing() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    let mut watching = Watching::start(&cluster, &["--node", "node-2"]);
    assert_eq!(watching.until(|line| line["kind"] == "now")["to"], "leading");
    cluster.node(2).restart();
    watching.until(|line| line["kind"] == "silent");
    let leads = watching.until(|line| line["kind"] == "change" && line["to"] == "leading");
    assert_eq!(leads["epoch"], cluster.agree_on(2));
    cluster.node(1).kill_9();
    assert_eq!(watching.until(|line| line["kind"] == "member_down")["member"], "node-1");
    let of_node_1 = |line: &Value| line["reason"].as_str().is_some_and(|it| it.contains("node-1"));
    watching.until(|line| line["kind"] == "problem" && of_node_1(line));
    cluster.node(1).start();
    let (mut up, mut over) = (false, false); // in whatever order
    watching.until(|line| {
        up |= line["kind"] == "member_up" && line["member"] == "node-1";
        over |= line["kind"] == "problem_over" && of_node_1(line);
        assert!(line["kind"] != "problem_over" || of_node_1(line), "{line}");
        up && over
    });
}

#[story]
fn a_watch_of_leaders_begins_in_the_past_where_it_is_told_to() {
    let cluster = Cluster::start_watchful(2);
    let epoch = cluster.agree_on(2);
    let mut watching = Watching::start(&cluster, &["--leaders", "--since", "1h"]);
    let leads = watching.until(|line| line["kind"] == "change");
    assert_eq!(
        (&leads["node"], &leads["to"], &leads["epoch"]),
        (&json!("node-2"), &json!("leading"), &json!(epoch))
    );
    let mut late = Watching::start(&cluster, &["--leaders", "--since", "1ms"]);
    let is_past = |line: &Value| line["to"] == "leading" && line["kind"] == "change";
    assert!(!is_past(&late.until(|line| is_past(line) || line["kind"] == "now")));
    cluster.node(2).stop_term();
    let next = late.until(|line| line["kind"] == "change");
    assert!(!is_past(&next) || next["epoch"] != epoch, "{next}");
    // They may happen within one millisecond.
    let mut next = || watching.until(|line| line["kind"] == "change");
    let mut lines = [next(), next()].map(|line| (line["node"].clone(), line["from"] == "leading"));
    lines.sort_by_key(|(node, _)| node.to_string());
    assert_eq!(lines, [(json!("node-1"), false), (json!("node-2"), true)]);
}

#[story]
fn a_watch_of_leaders_says_that_nobody_leads_and_why_and_for_how_long_that_was() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree_on(3);
    let mut watching = Watching::start(&cluster, &["--leaders"]);
    assert_eq!(watching.until(|line| line["kind"] == "now")["node"], "node-3");
    cluster.node(2).kill_9();
    cluster.node(3).kill_9();
    let nobody = watching
        .until(|line| line["kind"] == "nobody_leads" && line["leaderless"]["cause"] == "isolated");
    assert_eq!((&nobody["node"], &nobody["leader"]), (&Value::Null, &Value::Null), "{nobody}");
    assert!(nobody["reason"].as_str().unwrap().starts_with("node-1: no majority"), "{nobody}");
    let told = eventually("the node and the commands say the same", || {
        let told = cluster.status(1)?.leaderless.ok_or("no reason")?;
        ensure(told.cause == "isolated", || format!("{told:?}")).map(|()| told)
    });
    let all = electd(&cluster, &["status"]);
    let all = String::from_utf8_lossy(&all.stdout);
    assert!(all.starts_with("NO LEADER: nobody leads: node-2 and node-3 are down: "), "{all}");
    assert!(all.lines().next().unwrap().contains("; nobody has led for "), "{all}");
    cluster.node(3).start();
    let leads = watching.until(|line| line["to"] == "leading" && line["kind"] == "change");
    assert!(leads["leaderless_ms"].as_u64().is_some(), "{leads}");
    eventually("a leader is known", || {
        let leaderless = cluster.status(1)?.leaderless;
        ensure(leaderless.is_none(), || format!("{leaderless:?}"))
    });
    assert!(told.since.starts_with("20"), "{told:?}");
}

#[story]
fn a_takeover_to_come_is_seen_by_who_watches_the_leaders_before_and_after_it_is_known() {
    let cluster = Cluster::prepare(2, |config: &mut Value| {
        config["preempt"] = json!({"after": "1h"});
    });
    cluster.node(1).start();
    cluster.agree_on(1);
    cluster.node(2).start();
    cluster.agree_on(1);
    // A node that starts drained takes over from nobody, so the first answer to a watch does not tell of it.
    cluster.node(2).post("/drain", "{}").unwrap();
    cluster.node(2).restart();
    cluster.agree_on(1);
    assert_eq!(cluster.status(2).unwrap().takeover, None);
    let mut before = Watching::start(&cluster, &[]);
    before.until(|line| line["kind"] == "now" && line["node"] == "node-2");
    let answer = cluster.node(2).post("/undrain", "{}").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    eventually("node-2 is to take over", || cluster.status(2)?.takeover.ok_or("not yet".into()));
    let is_it = |line: &Value| line["kind"] == "takeover" && line["node"] == "node-2";
    let words = "is to take over from node-1 at 20";
    let told = before.until(is_it);
    assert!(told["reason"].as_str().unwrap().starts_with(words), "{told}");
    let mut after = Watching::start(&cluster, &["--leaders"]);
    assert_eq!(after.until(is_it)["member"], "node-1");
}

#[story]
fn health_is_degraded_when_no_further_failure_is_tolerated_whoever_caused_that() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    let health = |code: i32, words: &str| {
        eventually(words, || {
            let health = electd(&cluster, &["health"]);
            let line = String::from_utf8_lossy(&health.stdout).into_owned();
            ensure(health.status.code() == Some(code) && line.contains(words), || line)
        });
    };
    health(0, "ELECTD OK: node-2 leads");
    let drain = electd(&cluster, &["drain", "--node", "node-1"]);
    assert_eq!(code(&drain), Some(0), "{drain:?}");
    health(1, "node-1 is drained: no further failure tolerated; 2 of 2 nodes answer; drained: ");
    let told = electd(&cluster, &["health", "--output", "json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&told["verdict"], &told["failures_tolerated"]), (&json!("degraded"), &json!(0)));
    assert_eq!(code(&electd(&cluster, &["undrain", "--node", "node-1"])), Some(0));
    health(0, "ELECTD OK: node-2 leads");
}

#[story]
fn a_node_tells_its_version_and_those_of_the_others() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let version = env!("CARGO_PKG_VERSION");
    let status = cluster.status(1).unwrap();
    assert!(status.version.starts_with(version), "{}", status.version);
    let all = status.members.iter().map(|member| member.version.as_deref()).collect::<Vec<_>>();
    assert_eq!(all, [Some(status.version.as_str()); 2]);
    let shown = electd(&cluster, &["status"]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    let row = shown.lines().find(|line| line.starts_with("node-1 ")).unwrap();
    assert!(row.contains(version) && !shown.contains("versions differ: "), "{shown}");
}

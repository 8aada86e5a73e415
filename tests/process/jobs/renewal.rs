//! A leadership that is not renewed, and the job of it.

use std::fs;

use serde_json::json;
use story::story;

use super::attached::lives;
use super::lines::Lines;
use super::worker::{FILE, MANNER, POLITE, command};
use super::{ENDED_WITH_LEADERSHIP, command_of, coroner_of, only_child, with_majority};
use crate::support::{Cluster, ensure, eventually};

#[story]
fn no_job_begins_when_it_would_be_ended_at_once() {
    let cluster = Cluster::prepare(3, |config| {
        with_majority(config);
        config["preempt"] = "always".into();
        config["timing"]["failure"] = "8s".into(); // long enough for many guards in its last quarter
    });
    let lines = Lines::beside(&cluster);
    let (command, file) = (command(), lines.file());
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let log = ("RUST_LOG", "debug"); // all lines, however often they are repeated
    cluster.node(3).start_as(&more, &[(FILE, &file), (MANNER, POLITE), log]);
    (1..=2).for_each(|number| cluster.node(number).start());
    cluster.agree_on(3);
    let run = lines.runs_next(None);
    let node = cluster.node(3);
    let coroner = coroner_of(node.pid());
    (1..=2).for_each(|number| cluster.node(number).freeze());
    eventually("its leadership has ended", || {
        let status = node.status()?;
        ensure(status.state != "leading", || status.state)
    });
    eventually(
        "the late renewal is a problem, a figure, a line of the log and noted in the history",
        || {
            let problems = node.status()?.problems;
            let is_told = problems.iter().any(|problem| problem.kind == "renewal");
            ensure(is_told, || format!("{problems:?}"))?;
            let figures = node.get("/metrics")?.body;
            let is_counted = figures.lines().any(|line| {
                line.starts_with("electd_late_renewals_total") && !line.ends_with(" 0")
            });
            ensure(is_counted, || figures.clone())?;
            let log = node.log();
            let words = "no renewal of the leadership came in time (epoch ";
            ensure(log.lines().any(|line| line.contains(words) && line.contains("TERM)")), || log)?;
            let history = node.get("/history")?.json();
            let all = history["leaderships"].as_array().cloned().unwrap_or_default();
            ensure(all.iter().any(|led| led["job_late_ms"].is_u64()), || format!("{all:?}"))
        },
    );
    let log = node.log();
    let begun = log.matches(&format!(" in epoch {}, guard ", run.epoch)).count();
    // One more if the leadership was renewed late, on a machine that is busy.
    assert!((1..=3).contains(&begun), "{begun} guards in epoch {}", run.epoch);
    assert!(coroner.is_some_and(lives), "it is no part of the job that was ended");
}

/// The last renewal by the shorter timings is not overdue by the longer ones.
#[story]
fn timings_ten_times_longer_at_once_end_no_job() {
    let timing =
        |failure, message| json!({"failure": failure, "heartbeat": message, "message": message});
    let cluster = Cluster::prepare(3, |config| {
        config["quorum"] = "majority".into();
        config["timing"] = timing("2s", "200ms");
    });
    (1..=2).for_each(|number| cluster.node(number).start());
    let node = cluster.node(3);
    node.start_with(&["--", "sleep", "1000"]);
    cluster.agree_on(3);
    let guard = eventually("its command runs", || {
        let guard = only_child(node.pid()).filter(|guard| command_of(*guard).is_some());
        guard.ok_or_else(|| node.log_tail(9))
    });
    let mut config = cluster.config().clone();
    config["timing"] = timing("20s", "2s");
    fs::write(cluster.file(), config.to_string()).unwrap();
    let answer = node.post("/reload", "").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    eventually("the leader leads by the longer promises", || {
        let status = node.status()?;
        let left = status.lease_remaining_ms;
        ensure(left > Some(2_000), || format!("{} for {left:?} ms", status.state))
    });
    let log = node.log();
    assert!(ENDED_WITH_LEADERSHIP.iter().all(|words| !log.contains(words)), "{log}");
    assert_eq!(only_child(node.pid()), Some(guard), "the same command runs: {log}");
}

//! How long something may take at most, wherever the docs say so: about ten times as long here, as the machine may be busy.
//! A command that hangs, a wait that grows without an end or a watchdog that always says that all is well is noticed.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use story::story;

use crate::jobs::attached::{exec, lives};
use crate::jobs::{command_of, only_child};
use crate::support::{Cluster, Held, electd, ensure, eventually, watchful, within};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A child; killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// The exit code of the process, which ends within this time.
    #[track_caller]
    fn code_within(&mut self, bound: Duration, what: &str) -> Option<i32> {
        let ended =
            within(bound, what, || self.0.try_wait().unwrap().ok_or_else(|| "it runs".into()));
        ended.code()
    }
}

/// The lines of a file beside the cluster's, once there are so many.
#[track_caller]
fn lines_within(bound: Duration, cluster: &Cluster, name: &str, least: usize) -> Vec<String> {
    let file = cluster.file().with_file_name(name);
    within(bound, &format!("{name} has {least} lines"), || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= least { Ok(lines) } else { Err(text) }
    })
}

/// A script that appends what this prints to a file beside the cluster's.
fn noting(cluster: &Cluster, name: &str, what: &str, then: &str) -> String {
    format!("{what} >>{}; {then}", cluster.file().with_file_name(name).display())
}

/// "Exit with 75 if the node does not lead within this time."
#[story]
fn exec_waits_for_as_long_as_it_is_told_to() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    for (wait, least) in [("0s", 0), ("700ms", 700)] {
        let begun = Instant::now();
        let mut waits = exec(&cluster, 1, &["--wait", wait, "--", "true"]);
        let mut waits = Running(waits.stderr(Stdio::null()).spawn().unwrap());
        assert_eq!(waits.code_within(seconds(10), "it gives up"), Some(75));
        assert!(begun.elapsed() >= Duration::from_millis(least), "after {:?}", begun.elapsed());
    }
}

/// "`--stop-after`: the time from TERM to KILL", whoever is to end: `exec`, the leadership, or the node.
#[story]
fn a_command_that_ignores_term_is_killed_after_stop_after() {
    let cluster = Cluster::prepare(2, |_| {});
    let script = noting(&cluster, "began", "echo $$", "trap '' TERM; while :; do sleep 0.05; done");
    let options = ["--stop-after", "500ms", "--", "sh", "-c", &script];
    cluster.node(1).start();
    cluster.node(2).start();
    cluster.agree_on(2);
    let begin = |runs: usize| {
        let exec = Running(exec(&cluster, 2, &options).spawn().unwrap());
        lines_within(seconds(20), &cluster, "began", runs);
        exec
    };
    let mut told = begin(1);
    kill_process(Pid::from_child(&told.0), Signal::TERM).unwrap();
    assert_eq!(told.code_within(seconds(8), "TERM ends exec"), Some(137));
    let mut lost = begin(2);
    let asked = Instant::now();
    assert_eq!(cluster.node(2).post("/resign", "").unwrap().code, 200);
    assert!(asked.elapsed() < seconds(8), "the answer came after {:?}", asked.elapsed());
    assert_eq!(lost.code_within(seconds(8), "exec ends with the leadership"), Some(76));
    cluster.node(2).kill_9();

    let node = cluster.node(2);
    node.start_with(&options);
    lines_within(seconds(30), &cluster, "began", 3);
    node.stop_term();
    let code = within(seconds(8), "the node ends", || node.ended().ok_or_else(|| node.log_tail(3)));
    assert_eq!(code, 0, "{}", node.log_tail(3));
    for pid in lines_within(seconds(1), &cluster, "began", 3) {
        assert!(!lives(Pid::from_raw(pid.parse().unwrap()).unwrap()), "{pid} is left");
    }
}

/// "Started again after 1 s at first and 1 min at most", and later each time.
#[story]
fn a_command_is_started_again_after_a_second_at_first_and_later_each_time() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let script = noting(&cluster, "began", "date +%s%3N", "exit 3");
    let mut restarts = exec(&cluster, 1, &["--restart", "on-failure", "--", "sh", "-c", &script]);
    let _restarts = Running(restarts.spawn().unwrap());
    let again = noting(&cluster, "again", "echo", "exit 0");
    let mut always = exec(&cluster, 1, &["--restart", "always", "--", "sh", "-c", &again]);
    let _always = Running(always.spawn().unwrap());
    let began = lines_within(seconds(40), &cluster, "began", 3);
    let began: Vec<u64> = began.iter().map(|line| line.parse().unwrap()).collect();
    let waits = [began[1] - began[0], began[2] - began[1]];
    assert!(waits[0] >= 1000 && waits[1] >= 2000, "{waits:?}");
    lines_within(seconds(20), &cluster, "again", 2);

    let script = noting(&cluster, "once", "echo", "exit 0");
    let mut ends = exec(&cluster, 1, &["--restart", "on-failure", "--", "sh", "-c", &script]);
    let mut ends = Running(ends.spawn().unwrap());
    assert_eq!(ends.code_within(seconds(10), "a success is no failure"), Some(0));
}

/// "electd is killed: the guard kills CMD immediately", and so it is if `exec` is, or the guard.
/// Claim: job-ends.
#[story]
fn nothing_of_a_command_is_left_soon_after_a_kill() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    for (victim, what) in ["exec", "guard", "node"].into_iter().enumerate() {
        let mut attached = exec(&cluster, 1, &["--stop-after", "1000s", "--", "sleep", "1000"]);
        let attached = Running(attached.stderr(Stdio::null()).spawn().unwrap());
        let exec = Pid::from_child(&attached.0);
        let (guard, command) = eventually("the command begins", || {
            let guard = only_child(exec).ok_or("no guard")?;
            Ok((guard, command_of(guard).ok_or("no command")?))
        });
        let victim = [exec, guard, cluster.node(1).pid()][victim];
        kill_process(victim, Signal::KILL).unwrap();
        within(seconds(20), &format!("all are gone after a kill of the {what}"), || {
            let left = [guard, command].map(lives);
            ensure(left == [false, false], || format!("{left:?}"))
        });
    }
}

/// The printed bound of a failover, and the promise that a frozen leader is replaced after `failure`.
/// Claim: bound.
#[story]
fn a_failover_takes_no_longer_than_a_node_says() {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    let worst = cluster.status(1).unwrap().worst_failover_ms.unwrap();
    let bound = Duration::from_millis(worst * 5).max(seconds(10));
    let replaced = |what: &str| {
        within(bound, &format!("a {what} leader is replaced (the bound is {worst} ms)"), || {
            let leader = cluster.status(1)?.leader.map(|leader| leader.name);
            ensure(leader.as_deref() == Some("node-2"), || format!("{leader:?}"))
        });
    };
    cluster.node(3).freeze();
    replaced("frozen");
    cluster.node(3).thaw();
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    replaced("killed");
}

/// "A silent node": a command waits for it for `--timeout`, and says so.
#[story]
fn commands_do_not_wait_for_a_frozen_node_for_longer_than_their_timeout() {
    let cluster = Cluster::start_with(1, watchful);
    cluster.agree_on(1);
    cluster.node(1).freeze();
    for (args, code) in [
        (&["status"][..], 69),
        (&["leader"], 69),
        (&["health"], 3),
        (&["history"], 69),
        (&["reload", "--node", "node-1"], 69),
        (&["resign"], 69),
    ] {
        let begun = Instant::now();
        let output = electd(&cluster, &[args, &["--timeout", "500ms"]].concat());
        let took = begun.elapsed();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(took < seconds(10), "{args:?} took {took:?}");
    }
    let begun = Instant::now();
    let mut waits = exec(&cluster, 1, &["--", "true"]);
    let mut waits = Running(waits.stderr(Stdio::null()).spawn().unwrap());
    assert_eq!(waits.code_within(seconds(50), "exec gives up"), Some(69));
    assert!(begun.elapsed() >= seconds(5), "after {:?}", begun.elapsed());
    cluster.node(1).thaw();
}

/// A drain ends when it was to end: it is looked for every second.
#[story]
fn a_drain_and_a_pause_end_in_time() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    for order in
        [&["drain", "--node", "node-2", "--for", "300ms"][..], &["pause", "--for", "300ms"]]
    {
        let output = electd(&cluster, order);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        within(seconds(15), &format!("{order:?} is over, and node-2 leads"), || {
            let status = cluster.status(2)?;
            let over = status.drain.is_none() && status.pause.is_none();
            ensure(over && status.state == "leading", || format!("{status:?}"))
        });
        cluster.agree_on(2);
    }
}

/// "At most a second": a node that leads nobody and runs nothing ends at once.
#[story]
fn a_node_ends_soon_after_term() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    for number in [2, 1] {
        let node = cluster.node(number);
        node.stop_term();
        let code =
            within(seconds(10), "the node ends", || node.ended().ok_or_else(|| node.log_tail(3)));
        assert_eq!(code, 0);
    }
}

/// `/livez` follows the election thread, and the others take the node for silent after `failure`.
#[story]
fn a_thread_that_stands_still_is_noticed_in_time() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    let held = Held::hold(cluster.node(2), "election");
    let live = |code: u16| {
        within(seconds(10), &format!("/livez says {code}"), || {
            let answer = cluster.node(2).get("/livez")?;
            ensure(answer.code == code, || format!("{answer:?}"))
        });
    };
    live(503);
    within(seconds(10), "node-1 replaces it", || {
        let state = cluster.status(1)?.state;
        ensure(state == "leading", || state)
    });
    drop(held);
    live(200);
}

//! Calls of the system that fail, hang, or would come in another order: of the rooms that write, accept, and start and end
//! programs.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use story::story;

use crate::support::traced::Traced;
use crate::support::{Cluster, ensure, watchful, within};

/// Ten times as long as a node takes to look for problems, and more.
const SOON: Duration = Duration::from_secs(20);

fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

/// Waits until this node has a problem of this kind with these words, or no problem of this kind.
#[track_caller]
fn until_problem(cluster: &Cluster, number: usize, kind: &str, words: Option<&str>) {
    within(SOON, &format!("node-{number}: {kind} is {words:?}"), || {
        let problems = cluster.status(number)?.problems;
        let mut found = problems.iter().filter(|problem| problem.kind == kind);
        let as_expected = match words {
            Some(words) => found.any(|problem| problem.text.contains(words)),
            None => found.next().is_none(),
        };
        ensure(as_expected, || format!("{problems:?}"))
    });
}

/// The places in the trace of a thread where a call with all of these words succeeded.
fn places(trace: &[&str], words: &[&str]) -> Vec<usize> {
    let found = |line: &str| line.ends_with("= 0") && words.iter().all(|word| line.contains(word));
    (0..trace.len()).filter(|at| found(trace[*at])).collect()
}

/// Whether each new state in this folder was synced before it replaced the last one, and the folder after that. Gives how
/// many there were.
fn in_order(trace: &[&str], folder: &Path) -> Result<usize, String> {
    let synced = |path: &Path| places(trace, &["sync(", &format!("<{}>", path.display())]);
    let renamed = places(trace, &["rename", "\"state.json\""]);
    for (at, next) in renamed.iter().zip(renamed.iter().skip(1).chain([&trace.len()])) {
        let new = folder.join(trace[*at].split('"').nth(1).unwrap());
        let (content, name) = (synced(&new), synced(folder));
        let is_whole = content.iter().any(|synced| synced < at);
        ensure(is_whole, || format!("{} was not synced: {trace:#?}", new.display()))?;
        let is_named = name.iter().any(|synced| at < synced && synced < next);
        ensure(is_named, || format!("the folder of {} was not: {trace:#?}", new.display()))?;
    }
    for made in [folder, folder.parent().unwrap()] {
        if let [at] = places(trace, &["mkdir", &format!("{}\"", made.display())])[..] {
            let is_named = synced(made.parent().unwrap()).iter().any(|synced| *synced > at);
            ensure(is_named, || format!("that above {} was not: {trace:#?}", made.display()))?;
        }
    }
    Ok(renamed.len())
}

/// "A power cut takes nothing that was acknowledged": neither a file that was renamed before its content was on the disk,
/// nor a name that was never written to its folder.
#[story]
fn a_state_is_on_the_disk_before_it_replaces_the_last_one_and_its_name_after_that() {
    let cluster = Cluster::prepare(1, with_majority);
    let node = cluster.node(1);
    let calls = "-y -s 500 -e trace=fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat";
    let Some(traces) = node.trace_from_the_start(calls) else { return };
    node.start();
    cluster.agree_on(1);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    within(SOON, "the calls of all threads are in order", || {
        let (mut states, mut all) = (0, String::new());
        for file in fs::read_dir(&traces).unwrap().flatten() {
            let text = fs::read_to_string(file.path()).unwrap();
            states += in_order(&text.lines().collect::<Vec<_>>(), &node.state())?;
            all += &text;
        }
        let made = all.matches("mkdir(").count();
        ensure(states >= 3 && made == 2, || format!("{states} states, {made} folders: {all}"))
    });
}

/// The kernel is to notice a host that is gone, and to hold back no small message: both ends of each connection say so. And
/// a crowd of strangers is to keep no member out.
#[story]
fn connections_between_members_are_set_up_on_both_sides() {
    let cluster = Cluster::prepare(2, watchful);
    let traced = cluster.node(1).trace_from_the_start("-e trace=setsockopt,listen");
    let Some(traces) = traced else { return };
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(2);
    within(SOON, "its sockets are set up", || {
        let mut of_threads = Vec::new();
        for file in fs::read_dir(&traces).unwrap().flatten() {
            of_threads.push(fs::read_to_string(file.path()).unwrap());
        }
        let one_says = |all: &[&str]| {
            of_threads.iter().any(|calls| all.iter().all(|word| calls.contains(word)))
        };
        let dials = one_says(&["TCP_USER_TIMEOUT, [1000]", "TCP_NODELAY, [1]"]);
        let accepts = one_says(&["SO_KEEPALIVE, [1]", "TCP_KEEPIDLE, [10]", "TCP_KEEPINTVL, [5]"]);
        let listens = one_says(&["listen(", ", 4096)"]);
        ensure(dials && accepts && listens, || of_threads.concat())
    });
}

/// Whichever step of a durable write fails, the voter votes, as it has reserved the epoch; and the node says what is wrong.
/// Rule Q2.
#[story]
fn a_voter_whose_writes_fail_votes_all_the_same() {
    for failing in [
        "fsync:error=EIO",          // of the file
        "fsync:error=EIO:when=2+2", // of its folder
        "rename,renameat,renameat2:error=EIO",
    ] {
        let cluster = Cluster::start_with(3, with_majority);
        let epoch = cluster.agree_on(3);
        let Some(traced) = Traced::thread(cluster.node(1), "store", failing) else { return };
        cluster.node(3).kill_9();
        until_problem(&cluster, 1, "storage", Some("Input/output error"));
        assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 503);
        assert!(cluster.agree_on(2) > epoch, "{failing}");
        drop(traced);
        until_problem(&cluster, 1, "storage", None);
        assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 200);
        // Each write was tried again and again.
        let log = cluster.node(1).log();
        let told = log
            .lines()
            .filter(|line| line.contains("ERROR") && line.contains("Input/output error"));
        assert_eq!(told.count(), 1, "{log}");
    }
}

/// Neither the vote of the candidate for itself nor that of the other voter waits for its disk. (Q2, Q3)
#[story]
fn a_leader_is_elected_while_no_disk_writes() {
    let cluster = Cluster::start_with(3, with_majority);
    let epoch = cluster.agree_on(3);
    let hang =
        |number| Traced::thread(cluster.node(number), "store", "fsync:delay_enter=600000000");
    let Some(_disks) = [1, 2].map(hang).into_iter().collect::<Option<Vec<_>>>() else { return };
    cluster.node(3).kill_9();
    assert!(cluster.agree_on(2) > epoch);
    until_problem(&cluster, 1, "storage", Some("a write of the state has been under way for "));
}

#[story]
fn a_write_that_hangs_is_a_problem_and_the_others_go_on() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree_on(3);
    let hangs = "fsync:delay_enter=600000000";
    let Some(traced) = Traced::thread(cluster.node(1), "store", hangs) else { return };
    cluster.node(3).restart(); // a new epoch is to be stored
    until_problem(&cluster, 1, "storage", Some("a write of the state has been under way for "));
    assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 503);
    assert_eq!(cluster.node(1).get("/livez").unwrap().code, 200, "the election goes on");
    let slowest = cluster.status(1).unwrap().durable_write_ms.unwrap();
    assert!(slowest < 600_000.0, "it is not over: {slowest} ms");
    cluster.agree_among(&[2, 3], 3);
    drop(traced);
    until_problem(&cluster, 1, "storage", None);
    assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 200);
    cluster.agree_on(3);
}

/// Neither a member nor a client is lost for good, whatever accepting it fails with at first.
#[story]
fn accepting_fails_at_first_and_everybody_is_served_all_the_same() {
    for error in ["EMFILE", "ECONNABORTED", "EPERM"] {
        let cluster = Cluster::prepare(2, watchful);
        let inject = format!("-e trace=accept,accept4 -e inject=accept,accept4:error={error}");
        if cluster.node(1).trace_from_the_start(&format!("{inject}:when=1..3")).is_none() {
            return;
        }
        cluster.nodes().iter().for_each(|node| node.start());
        cluster.agree_on(2);
        cluster.until_seen(2, 1, "alive");
        within(SOON, "its HTTP and its control socket answer", || {
            let (admin, control) =
                (cluster.node(1).get("/livez")?, cluster.node(1).post("/reload", "")?);
            ensure((admin.code, control.code) == (200, 200), || format!("{admin:?}, {control:?}"))
        });
        cluster.node(1).stop_term();
        assert_eq!(cluster.node(1).exit_code(), 0, "{error}");
    }
}

/// Whoever accepts nobody says so, and why, for as long as that is so.
#[story]
fn a_node_that_cannot_accept_connections_says_so_until_it_can() {
    let cluster = Cluster::start_with(1, watchful);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let fails = "accept,accept4:error=EMFILE";
    let Some(traced) = Traced::thread(node, "listener", fails) else { return };
    let _dials = TcpStream::connect(node.address).unwrap(); // ends the call that is under way
    let words = "cannot accept connections: this node may not open more files";
    until_problem(&cluster, 1, "address", Some(words));
    drop(traced);
    until_problem(&cluster, 1, "address", None);
}

/// The system has no process left for a moment.
#[story]
fn a_check_that_could_not_be_started_is_run_again() {
    let cluster = Cluster::start_with(1, |config| {
        watchful(config);
        config["health"] = json!({"command": ["true"], "every": "100ms", "timeout": "90ms",
            "fall": 1, "rise": 1, "alone": "step-down"});
    });
    cluster.agree_on(1);
    let none = "clone,clone3,vfork:error=EAGAIN:when=1..20";
    let Some(_traced) = Traced::thread(cluster.node(1), "health", none) else { return };
    until_problem(
        &cluster,
        1,
        "health",
        Some("cannot be run: no thread can be started: Resource temporarily unavailable"),
    );
    until_problem(&cluster, 1, "health", None);
    cluster.agree_on(1);
}

/// A script that ends at KILL only, and notes which process it is.
fn stubborn(file: &Path) -> Value {
    let file = file.display();
    let script =
        format!("trap '' TERM HUP INT QUIT; echo $$ >>{file}; while :; do sleep 0.05; done");
    json!(["sh", "-c", script])
}

#[story]
fn programs_that_ignore_term_are_ended_in_time_and_hold_up_neither_a_handover_nor_the_end() {
    let mut names = ["health", "rank", "hook"].map(Path::new).map(Path::to_owned);
    let cluster = Cluster::prepare(1, |config| {
        watchful(config);
        config["data_dir"] = "data".into();
    });
    names.iter_mut().for_each(|name| *name = cluster.file().with_file_name(&*name));
    let [health, rank, hook] = &names;
    let mut config = cluster.config().clone();
    let (command, timeout) = (stubborn(health), "200ms");
    config["health"] = json!({"command": command, "every": "300ms", "timeout": timeout});
    let command = stubborn(rank);
    config["rank"] =
        json!({"by": "command", "command": command, "every": "300ms", "timeout": timeout});
    config["hooks"] = json!({"on_change": stubborn(hook), "timeout": timeout});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let node = cluster.node(1);
    node.start();
    let noted = |file: &Path| fs::read_to_string(file).unwrap_or_default();
    for file in [health, rank] {
        within(SOON, "one run after the other is ended", || {
            let text = noted(file);
            ensure(text.lines().count() >= 3, || format!("{}: {text}", file.display()))
        });
    }
    until_problem(&cluster, 1, "health", Some("took longer than 200ms"));
    until_problem(&cluster, 1, "rank", Some("took longer than 200ms"));
    node.stop_term(); // the last change runs the hook
    within(SOON, "the node ends", || node.ended().ok_or_else(|| node.log_tail(5)));
    assert!(!noted(hook).is_empty(), "the hook ran");
    for file in &names {
        for pid in noted(file).lines() {
            let process = Pid::from_raw(pid.parse().unwrap()).unwrap();
            // Another process may have got the number of one that ended long ago.
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_left = test_kill_process(process).is_ok()
                && String::from_utf8_lossy(&words).contains(&*file.to_string_lossy());
            assert!(!is_left, "{pid} of {} is left", file.display());
        }
    }
}

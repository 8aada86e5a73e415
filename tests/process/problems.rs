//! Each kind of problem, with its real cause: it is seen in the status, by `electd status`, in the metrics, by
//! `electd health` and in the log, and is gone from all of them when it is over.
//!
//! How long that takes is printed (`cargo test --test process -- problems:: --nocapture`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use story::story;

use crate::support::{Cluster, Held, electd, ensure, eventually, steady, watchful};

pub fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

/// A cluster of three in which all is well.
pub fn well(change: impl FnOnce(&mut Value)) -> Cluster {
    let cluster = Cluster::start_with(3, |config| {
        with_majority(config);
        change(config);
    });
    cluster.agree_on(3);
    (1..=3).for_each(|number| no_problem(&cluster, number));
    cluster
}

/// Waits until this node has this problem, with this message, in every view.
#[track_caller]
fn seen(cluster: &Cluster, number: usize, kind: &str, words: &str, log: &str) {
    let start = Instant::now();
    eventually(&format!("node-{number} has the problem {kind}: {words}"), || {
        let problems = cluster.status(number)?.problems;
        let told = problems.iter().any(|found| found.kind == kind && found.text.contains(words));
        ensure(told, || format!("{problems:?}"))?;
        let page = cluster.node(number).metrics()?;
        let line = format!("electd_problems{{kind=\"{kind}\"}} ");
        let counted = page.lines().find_map(|found| found.strip_prefix(&line));
        ensure(counted.is_some_and(|count| count != "0"), || format!("{counted:?} in\n{page}"))?;
        let written = cluster.node(number).log();
        ensure(written.contains(log), || format!("no {log:?} in\n{written}"))
    });
    println!("{kind}: seen after {:?}", start.elapsed());
    eventually("the commands tell it", || {
        let health = electd(cluster, &["health"]);
        let line = String::from_utf8_lossy(&health.stdout).into_owned();
        ensure(health.status.code() == Some(1) && line.contains(words), || format!("{health:?}"))?;
        let status = electd(cluster, &["status"]);
        let rows = String::from_utf8_lossy(&status.stdout).into_owned();
        // Long lines are wrapped.
        let rows = rows.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure(status.status.code() == Some(1) && rows.contains(words), || format!("{status:?}"))
    });
}

fn no_problem(cluster: &Cluster, number: usize) {
    eventually(&format!("node-{number} has no problem"), || {
        let problems = cluster.status(number)?.problems;
        ensure(problems.is_empty(), || format!("{problems:?}"))?;
        let page = cluster.node(number).metrics()?;
        let counts: Vec<_> = page.lines().filter(|it| it.starts_with("electd_problems{")).collect();
        ensure(!counts.is_empty() && counts.iter().all(|it| it.ends_with(" 0")), || page.clone())
    });
}

/// Waits until all is well again, and this node's log says so.
#[track_caller]
fn over(cluster: &Cluster, number: usize, kind: &str, log: &str) {
    let start = Instant::now();
    (1..=3).for_each(|number| no_problem(cluster, number));
    eventually("the log tells that it is over", || {
        let written = cluster.node(number).log();
        ensure(written.contains(log), || format!("no {log:?} in\n{written}"))
    });
    println!("{kind}: over after {:?}", start.elapsed());
    eventually("the commands tell that all is well", || {
        for command in ["health", "status"] {
            let output = electd(cluster, &[command]);
            ensure(output.status.code() == Some(0), || format!("{output:?}"))?;
        }
        Ok(())
    });
}

#[story]
fn a_dead_voter() {
    let cluster = well(|_| {});
    cluster.node(1).kill_9();
    seen(&cluster, 3, "peer_down", "node-1 is down", "WARN  node-3: voter node-1 is down");
    seen(&cluster, 3, "quorum_margin", "no further failure", "no further failure tolerated");
    cluster.node(1).start();
    over(&cluster, 3, "peer_down", "voter node-1 is up");
}

#[story]
fn a_frozen_peer() {
    let cluster = well(|_| {});
    cluster.node(1).freeze();
    // The commands would wait for it as well.
    eventually("it is down", || {
        let problems = cluster.status(3)?.problems;
        let silent = problems.iter().any(|found| found.text == "node-1 is down: silent");
        ensure(silent, || format!("{problems:?}"))
    });
    cluster.node(1).thaw();
    over(&cluster, 3, "peer_down", "voter node-1 is up");
}

#[story]
fn an_election_thread_that_stands_still() {
    let cluster = well(|_| {});
    let epoch = cluster.status(3).unwrap().epoch;
    let held = Held::hold(cluster.node(3), "election");
    let words = "the election thread missed its turn, so this node counts itself as failed";
    seen(&cluster, 3, "stalled", words, "WARN  node-3: stalled: ");
    // The node itself says so immediately; the others find another leader.
    assert_eq!(cluster.node(3).get("/leader").unwrap().code, 503);
    assert_eq!(cluster.node(3).get("/readyz").unwrap().code, 503);
    assert!(cluster.agree_among(&[1, 2], 2) > epoch);
    drop(held);
    over(&cluster, 3, "stalled", "stalled: no problem any more");
    cluster.agree_on(3);
}

/// A cluster of three whose health checks pass until there is a file `ill-NODE` in this folder. No member is silent here.
pub fn with_check(folder: &Path) -> Cluster {
    let ill = folder.join("ill");
    let script = format!("test ! -e {}-$ELECTD_NODE || {{ echo ill; exit 1; }}", ill.display());
    well(|config| {
        steady(config);
        let check = json!({"command": ["sh", "-c", script], "every": "200ms", "timeout": "190ms"});
        config["health"] = check;
    })
}

#[story]
fn a_failing_check() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = with_check(folder.path());
    let file = folder.path().join("ill-node-1");
    fs::write(&file, "").unwrap();
    seen(&cluster, 1, "health", "exited with code 1: ill", "unhealthy: ");
    fs::remove_file(file).unwrap();
    over(&cluster, 1, "health", "healthy: the health check passes");
}

#[story]
fn a_rank_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let counted = folder.path().join("counted");
    fs::create_dir(&counted).unwrap();
    let cluster = well(|config| {
        config["rank"] = json!({"by": "files", "path": counted, "every": "200ms"});
    });
    fs::remove_dir(&counted).unwrap();
    seen(&cluster, 1, "rank", "no rank, so this node is not eligible", "rank: no rank");
    fs::create_dir(&counted).unwrap();
    over(&cluster, 1, "rank", "rank: no problem any more");
}

#[story]
fn a_refused_member() {
    let cluster = well(|_| {});
    let stranger = cluster.stranger(1, |config| config["algorithm"] = "ring".into());
    cluster.node(1).kill_9();
    stranger.start();
    seen(&cluster, 3, "rejected", "node-1 is refused", "node-1 is refused: ");
    stranger.kill_9();
    cluster.node(1).start();
    over(&cluster, 3, "rejected", "rejected: no problem any more with node-1");
}

#[story]
fn an_edited_file() {
    let cluster = well(|_| {});
    let before = fs::read_to_string(cluster.file()).unwrap();
    let mut config = cluster.config().clone();
    config["preempt"] = "never".into();
    fs::write(cluster.file(), config.to_string()).unwrap();
    let words = "a restart of this node takes preempt";
    seen(&cluster, 3, "config_differs", words, "WARN  node-3: config_differs: ");
    fs::write(cluster.file(), before).unwrap();
    over(&cluster, 3, "config_differs", "config_differs: no problem any more");
}

/// A small file system; unmounted when it is dropped.
pub struct Disk(PathBuf);

impl Disk {
    /// None where this user may not mount one.
    fn mount(folder: PathBuf) -> Option<Disk> {
        fs::create_dir_all(&folder).unwrap();
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&folder).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Disk(folder))
    }

    /// Writes until nothing more fits.
    pub fn fill(&self) {
        self.fill_by(1 << 20);
    }

    /// Writes so many bytes, or until nothing more fits.
    pub fn fill_by(&self, bytes: usize) {
        let _ = fs::write(self.0.join("filled"), vec![0; bytes]); // it ends when the disk is full
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filled")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Three nodes, of which this one has a disk of its own, follow node-3. None if this process may mount
/// no file system.
pub fn with_disk(number: usize) -> Option<(Cluster, Disk)> {
    with_disk_and(number, with_majority)
}

/// The same with a changed config.
pub fn with_disk_and(number: usize, change: fn(&mut Value)) -> Option<(Cluster, Disk)> {
    let cluster = Cluster::prepare(3, change);
    let folder = cluster.state_file(number).parent().unwrap().to_path_buf();
    let Some(disk) = Disk::mount(folder) else {
        println!("left out: mounting a file system takes root");
        return None;
    };
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
    Some((cluster, disk))
}

/// The drain counts immediately, but is not reported as done before it is stored.
#[story]
fn a_drain_on_a_full_disk() {
    let Some((cluster, disk)) = with_disk(3) else { return };
    disk.fill();
    seen(&cluster, 3, "storage", "has room for 0 bytes", "WARN  node-3: storage: ");
    let output = electd(&cluster, &["drain", "--node", "node-3"]);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    assert_eq!(output.stderr, b"this node did not answer in time\n", "{output:?}");
    cluster.agree_on(2);
    disk.free();
    over(&cluster, 3, "storage", "storage: no problem any more");
    let output = electd(&cluster, &["drain", "--node", "node-3"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    cluster.node(3).restart();
    cluster.agree_on(2);
    assert!(cluster.status(3).unwrap().drain.is_some());
    cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
}

#[story]
fn a_full_disk() {
    let Some((cluster, disk)) = with_disk(1) else { return };
    (1..=3).for_each(|number| no_problem(&cluster, number));
    disk.fill();
    seen(&cluster, 1, "storage", "has room for 0 bytes", "WARN  node-1: storage: ");
    assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 503);
    disk.free();
    over(&cluster, 1, "storage", "storage: no problem any more");
    assert_eq!(cluster.node(1).get("/readyz").unwrap().code, 200);
    cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
}

/// A member whose address takes connections and says nothing, as with a hole in the MTU; and one that nothing answers.
#[story]
fn a_member_that_does_not_answer_is_told_with_the_step_at_which_it_does_not() {
    let cluster = Cluster::prepare(3, watchful);
    let silent = std::net::TcpListener::bind(cluster.node(1).address).unwrap();
    [2, 3].iter().for_each(|number| cluster.node(*number).start());
    cluster.agree_among(&[2, 3], 3);
    let step = if cluster.config()["members"][0].get("tls").is_some() {
        "the TLS handshake"
    } else {
        "the hello"
    };
    let words = format!(
        "node-1 is down: silent; the last dial: it takes connections, and {step} is not answered"
    );
    let log = format!("it takes connections, and {step} is not answered");
    seen(&cluster, 3, "peer_down", &words, &log);
    let failed = cluster.status(3).unwrap().members[0].failed_dial.clone();
    assert!(failed.is_some_and(|why| why.contains("large packets pass")));
    drop(silent);
    cluster.node(1).start();
    cluster.agree_on(3);
    eventually("node-3 has dialed it", || {
        let failed = cluster.status(3)?.members[0].failed_dial.clone();
        ensure(failed.is_none(), || format!("{failed:?}"))
    });
}

//! The flight recorder: what a node took goes through the same core again, and every output is the same.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use electd::core::settings::AlgorithmKind;
use electd::store::recordings::{FOLDER, KEPT};
use serde_json::Value;
use story::story;

use crate::problems::with_disk;
use crate::support::script::ELECTD;
use crate::support::trouble::Trouble;
use crate::support::{
    Cluster, Finished, done, electd, ensure, eventually, for_each_algorithm, watchful,
};

for_each_algorithm! {
    every_node_of_a_cluster_in_trouble_does_the_same_again,

    #[ignore = "long"]
    every_node_does_the_same_again_after_long_trouble,
}

fn replay(file: &Path, form: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["replay", "--output", form]).arg(file).finished()
}

/// The recording of each node that runs is the same in a replay. Gives how many turns there were.
fn all_replay(cluster: &Cluster) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut turns = 0;
    for node in cluster.running() {
        let file = folder.path().join(&node.name);
        done(&electd(cluster, &["record", "--node", &node.name, "--out", file.to_str().unwrap()]));
        let output = replay(&file, "json");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told:#}");
        assert_eq!((&told["same"], &told["node"]), (&true.into(), &node.name.as_str().into()));
        turns += told["turns"].as_u64().unwrap();
    }
    turns
}

/// Reloads other timings, or the first ones again.
fn retime(cluster: &Cluster, other: bool) {
    let mut config = cluster.config().clone();
    if other {
        config["timing"]["failure"] = "700ms".into();
    }
    fs::write(cluster.file(), config.to_string()).unwrap();
    cluster.running().for_each(|node| node.hang_up());
}

/// Kills, freezes, cuts off and reloads, one node after the other, for this long, and once at least.
fn in_trouble(algorithm: AlgorithmKind, time: Duration) {
    let trouble = Trouble::of(algorithm);
    let (begin, mut round) = (Instant::now(), 0);
    while round == 0 || begin.elapsed() < time {
        trouble.befalls(round % 3 + 1);
        retime(&trouble.cluster, round % 2 == 0);
        trouble.cluster.agree();
        round += 1;
    }
    let turns = all_replay(&trouble.cluster);
    assert!(turns > 30, "{turns}"); // a busy machine leaves time for few
}

/// Claim: replay.
fn every_node_of_a_cluster_in_trouble_does_the_same_again(algorithm: AlgorithmKind) {
    in_trouble(algorithm, Duration::ZERO);
}

/// `TROUBLE_SECONDS=600 cargo test --test process flight:: -- --ignored`
fn every_node_does_the_same_again_after_long_trouble(algorithm: AlgorithmKind) {
    let seconds = std::env::var("TROUBLE_SECONDS").map_or(60, |seconds| seconds.parse().unwrap());
    in_trouble(algorithm, Duration::from_secs(seconds));
}

/// The recordings that a node left by itself, oldest first.
fn left(state: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(state.join(FOLDER));
    let files = folder.map(|folder| folder.map(|entry| entry.unwrap().path()).collect());
    let mut files: Vec<PathBuf> = files.unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// Claim: replay.
#[story]
fn usr1_leaves_a_recording_and_ends_nobody() {
    let cluster = Cluster::start(1);
    let epoch = cluster.agree_on(1);
    let node = cluster.node(1);
    let mut before = Vec::new();
    for time in 1..=KEPT + 1 {
        node.leave_recording();
        before = eventually("there is another recording", || {
            let now = left(&node.state());
            ensure(now.last() > before.last(), || format!("{now:?}"))?;
            Ok(now)
        });
        assert_eq!(before.len(), time.min(KEPT));
    }
    let file = before.last().unwrap();
    let said = done(&replay(file, "text"));
    assert!(said.contains("every output is the same"), "{said}");
    assert!(done(&replay(file, "html")).starts_with("<!doctype html>"));
    let text = fs::read_to_string(file).unwrap();
    for (broken, code) in [(&text[..text.len() / 2], 65), ("", 65)] {
        let damaged = node.state().join("damaged.json");
        fs::write(&damaged, broken).unwrap();
        let output = replay(&damaged, "text");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("damaged.json"), "{output:?}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    let shown = done(&command.args(["trace", "--file"]).arg(file).finished());
    assert!(shown.contains(&format!("epoch {epoch}")), "{shown}");
    assert_eq!(cluster.agree_on(1), epoch, "and it leads on");
}

/// A recording helps whoever looks, and without a vote nobody leads.
#[story]
fn a_recording_leaves_room_for_the_state() {
    let Some((cluster, disk)) = with_disk(1) else { return };
    disk.fill_by(620 * 1024);
    let node = cluster.node(1);
    node.leave_recording();
    eventually("there is no room for a recording", || {
        let log = node.log();
        let words = "a recording cannot be written: it takes ";
        ensure(log.contains(words) && log.contains("left for the state"), || log.clone())
    });
    assert_eq!(left(&node.state()), Vec::<PathBuf>::new());
    assert_eq!(fs::read_dir(node.state().join(FOLDER)).unwrap().count(), 0, "nor a part of one");
    // What this member votes is stored.
    cluster.node(3).kill_9();
    cluster.agree_among(&[1, 2], 2);
    assert!(!node.log().contains("storage"), "{}", node.log());
    cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
}

/// A node that root runs may have its state in a folder of another user.
#[story]
fn no_link_in_the_state_folder_is_followed() {
    let cluster = Cluster::prepare(1, watchful);
    let (node, other) = (cluster.node(1), tempfile::tempdir().unwrap());
    let (file, folder) = (other.path().join("file"), other.path().join("folder"));
    fs::create_dir_all(node.state()).unwrap();
    fs::write(&file, "theirs").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("0.part"), "").unwrap();
    (0..9).for_each(|number| fs::write(folder.join(format!("{number}.json")), "").unwrap());
    node.start();
    cluster.agree_on(1);
    symlink(&folder, node.state().join(FOLDER)).unwrap();
    for name in ["exec-1.lock", "history.json", "failures.json"] {
        let _ = fs::remove_file(node.state().join(name));
        symlink(&file, node.state().join(name)).unwrap();
    }
    symlink(other.path().join("new"), node.state().join("exec-2.lock")).unwrap();
    node.leave_recording();
    eventually("the recording is refused", || {
        let log = node.log();
        ensure(log.contains("a recording cannot be written: "), || log.clone())
    });
    let output = electd(&cluster, &["exec", "--node", "node-1", "--", "electd-no-such-program"]);
    assert_eq!(output.status.code(), Some(127), "it is tried: {output:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 10);
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 2, "nothing new is there");
}

/// All that is in this folder, by name, with its mode.
fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let name = if name.ends_with("-signal.json") { "recording".to_owned() } else { name };
        found.push((name, mode));
        if path.is_dir() {
            modes(&path, found);
        }
    }
}

/// With 0 all others could write there, and with 077 the group could not read what is for it.
#[story]
fn what_a_node_makes_has_its_mode_whatever_the_umask_is() {
    for umask in ["0", "077"] {
        let cluster = Cluster::prepare(1, watchful);
        let node = cluster.node(1);
        node.runs_by(&format!("umask {umask}; exec {ELECTD} \"$@\""));
        node.start();
        cluster.agree_on(1);
        node.leave_recording();
        eventually("there is a recording", || ensure(left(&node.state()).len() == 1, String::new));
        let mut found = Vec::new();
        modes(&node.state(), &mut found);
        found.sort();
        found.dedup();
        for (name, mode) in &found {
            let expected = match name.as_str() {
                "flight" => 0o750,
                "recording" => 0o640,
                _ => 0o600,
            };
            assert_eq!(*mode, expected, "{umask}: {name} of {found:?}");
        }
        assert!(found.len() > 5, "{found:?}");
    }
}

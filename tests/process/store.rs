//! Data directories of real processes: a node does not believe what electd never wrote, does not hang
//! on it, and does not overwrite it.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::{self, Cluster, Finished, Node, ensure, eventually};
use serde_json::Value;
use story::story;

/// A cluster of one that has led and was killed, and this file in its folder, removed.
fn without(file: &str) -> (Cluster, std::path::PathBuf) {
    let cluster = Cluster::start_watchful(1);
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    let path = cluster.state_file(1).with_file_name(file);
    fs::remove_file(&path).unwrap();
    (cluster, path)
}

/// The next start ends with this code and this message.
#[track_caller]
fn is_refused(cluster: &Cluster, code: i32, words: &str) {
    let node = cluster.node(1);
    node.start();
    assert_eq!(node.exit_code(), code, "{}", node.log_tail(3));
    assert!(node.log_tail(1).contains(words), "{}", node.log_tail(3));
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[story]
fn a_pipe_in_place_of_the_state_or_the_lock_does_not_hang_the_start() {
    for file in ["state.json", "lock"] {
        let (cluster, path) = without(file);
        make_pipe(&path);
        is_refused(&cluster, 73, "it is a named pipe, not a regular file");
    }
}

#[story]
fn a_link_to_a_device_is_not_read() {
    let (cluster, path) = without("state.json");
    symlink("/dev/zero", path).unwrap();
    is_refused(&cluster, 73, "it is a link, not a regular file");
}

#[story]
fn a_state_larger_than_any_is_not_read() {
    let (cluster, path) = without("state.json");
    File::create(path).unwrap().set_len(1 << 40).unwrap();
    is_refused(&cluster, 65, "is damaged: it has more than 2097152 bytes");
}

#[story]
fn a_lock_that_is_a_link_overwrites_nothing() {
    let (cluster, path) = without("lock");
    let other = path.with_file_name("other");
    fs::write(&other, "precious").unwrap();
    symlink(&other, &path).unwrap();
    is_refused(&cluster, 73, "it is a link, not a regular file");
    assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
}

#[story]
fn a_changed_digit_is_not_believed() {
    let (cluster, path) = without("lock");
    let path = path.with_file_name("state.json");
    let state = fs::read_to_string(&path).unwrap();
    let changed = state.replacen("\"epoch\": ", "\"epoch\": 1", 1);
    let changed = changed.replacen("\"reserved\": ", "\"reserved\": 1", 1);
    fs::write(&path, &changed).unwrap();
    is_refused(&cluster, 65, "its checksum does not fit its content");
    assert_eq!(fs::read_to_string(&path).unwrap(), changed, "it was left as it was");
}

#[story]
fn members_that_no_file_may_name_do_not_end_the_process_with_a_panic() {
    let (cluster, path) = without("lock");
    let path = path.with_file_name("state.json");
    // As an electd without the checksum might have stored them, when a peer sent them.
    let state = fs::read_to_string(&path).unwrap();
    let mut state: serde_json::Value = serde_json::from_str(&state).unwrap();
    state.as_object_mut().unwrap().remove("checksum");
    state["format"] = 4.into();
    state["version"] = serde_json::json!({"epoch": 1, "counter": 1});
    let mut ghost = state["members"][0].clone();
    ghost["id"] = "5b1d4a36-6a1c-4ac8-9d5c-6a2f2b1f0c11".into();
    ghost["name"] = "gho\0st".into();
    state["members"].as_array_mut().unwrap().push(ghost);
    fs::write(&path, state.to_string()).unwrap();
    is_refused(&cluster, 65, "is not a name: use 1 to 63 of");
}

/// The members of this cluster under new names, as one process each that was not started yet.
fn renamed(cluster: &Cluster) -> Vec<Node> {
    let mut config: Value = cluster.config().clone();
    for (number, member) in (1..).zip(config["members"].as_array_mut().unwrap()) {
        member["name"] = format!("host-{number}").into();
    }
    cluster.certify(&mut config);
    let places = cluster.nodes().iter().map(|node| (node.address, node.admin));
    let process =
        |(number, place)| cluster.process(number, place, &format!("renamed-{number}"), &config);
    (1..).zip(places).map(process).collect()
}

/// Rule W4.
#[story]
fn members_under_new_names_do_not_start_from_nothing() {
    let cluster = Cluster::start_with(3, |config| config["quorum"] = "majority".into());
    let before = cluster.agree_on(3);
    cluster.nodes().iter().for_each(Node::kill_9);
    let nodes = renamed(&cluster);
    for node in &nodes {
        node.start();
        assert_eq!(node.exit_code(), 65, "{}", node.log_tail(3));
        let words = node.log_tail(1);
        assert!(words.contains("rename that folder to") && words.contains(&node.name), "{words}");
    }
    for (number, node) in (1..).zip(&nodes) {
        let folder = cluster.state_file(number).parent().unwrap().to_path_buf();
        fs::rename(&folder, folder.with_file_name(&node.name)).unwrap();
        node.start();
    }
    let epoch = support::eventually("host-3 leads", || {
        let status = nodes[2].status()?;
        support::ensure(status.state == "leading", || status.state).map(|()| status.epoch)
    });
    assert!(epoch > before, "epoch {epoch} after {before}");
}

#[story]
fn a_folder_that_was_copied_is_not_taken_beside_the_first() {
    let cluster = Cluster::start_watchful(1);
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    let folder = cluster.state_file(1).parent().unwrap().to_path_buf();
    let copy = folder.with_file_name("node-1.old");
    fs::create_dir(&copy).unwrap();
    fs::copy(cluster.state_file(1), copy.join("state.json")).unwrap();
    is_refused(&cluster, 65, "hold state of this member");
    fs::remove_dir_all(&copy).unwrap();
    cluster.node(1).start();
    cluster.agree_on(1);
}

fn majority(config: &mut Value) {
    config["quorum"] = "majority".into();
    support::watchful(config);
}

/// Rule Q5.
/// Claim: lost-voter.
#[story]
fn a_bootstrap_over_a_store_that_knows_its_cluster_is_refused() {
    let cluster = Cluster::prepare(1, majority);
    let node = cluster.node(1);
    node.start_with(&["--bootstrap"]);
    let before = cluster.agree_on(1);
    node.kill_9();
    node.start_with(&["--bootstrap"]);
    assert_eq!(node.exit_code(), 2, "{}", node.log_tail(3));
    assert!(node.log_tail(1).contains("start it without --bootstrap"), "{}", node.log_tail(1));
    node.start();
    assert!(cluster.agree_on(1) > before);
}

#[story]
fn how_long_durable_writes_take_is_shown_and_checked() {
    let cluster = Cluster::start_with(1, majority);
    cluster.agree_on(1);
    let shown = cluster.status(1).unwrap().durable_write_ms;
    assert!(shown.is_some_and(|ms| ms > 0.0), "{shown:?}");
    cluster.node(1).kill_9(); // it may write at any moment
    cluster.node(1).bury(); // its coroner removes a file when it certifies
    let folder = cluster.file().parent().unwrap().join("data");
    let files = |dir: &Path| fs::read_dir(dir).unwrap().count();
    let before = (files(&folder), files(&folder.join("node-1")));
    let check = |lease: &str| {
        let mut config = cluster.config().clone();
        config["timing"] = serde_json::json!({"failure": "1s", "message": "50ms", "lease": lease});
        fs::write(cluster.file(), config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["check", "--node", "node-1", "--output", "json", "--config"]);
        let output = command.arg(cluster.file()).finished();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["durable_write_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{answer}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["check", "--node", "node-1", "--config"]).arg(cluster.file());
        let said = String::from_utf8(command.finished().stdout).unwrap();
        (answer["disk_is_slow"] == true, said.contains("WARNING: a durable write takes"))
    };
    assert_eq!(check("1s"), (false, false));
    // 9/11 of it is 1 ns above a heartbeat and two messages: no disk is fast enough.
    assert_eq!(check("366666669ns"), (true, true));
    assert_eq!(
        before,
        (files(&folder), files(&folder.join("node-1"))),
        "something was left behind"
    );
}

/// Rule M7.
#[story]
fn who_was_removed_says_so_at_its_next_start_without_asking_anybody() {
    let cluster = Cluster::start_with(3, majority);
    cluster.agree_on(3);
    eventually("node-1 is removed", || {
        let answer = cluster.node(3).delete("/members/node-1")?;
        ensure(answer.code != 409, || answer.body.clone()) // a busy voter may confirm too late
    });
    assert_eq!(cluster.node(1).exit_code(), 77);
    cluster.nodes().iter().for_each(Node::kill_9);
    cluster.node(1).start();
    assert_eq!(cluster.node(1).exit_code(), 77, "{}", cluster.node(1).log_tail(3));
    assert!(cluster.node(1).log_tail(1).contains("was removed from the cluster"));
}

/// Rule Q4.
#[story]
fn a_long_failure_time_that_was_tried_once_is_forgotten_after_one_wait() {
    let cluster = Cluster::prepare(1, |config| {
        majority(config);
        config["timing"]["failure"] = "4s".into();
    });
    cluster.node(1).start();
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    let mut config = cluster.config().clone();
    config["timing"]["failure"] = "1s".into();
    fs::write(cluster.file(), config.to_string()).unwrap();
    cluster.node(1).start();
    cluster.agree_on(1);
    support::eventually("what was promised is what is promised now", || {
        let state = fs::read_to_string(cluster.state_file(1)).map_err(|error| error.to_string())?;
        let state: Value = serde_json::from_str(&state).map_err(|error| error.to_string())?;
        let promised = state["vote"]["promised_ns"].as_u64();
        support::ensure(promised == Some(800_000_000), || format!("{promised:?}"))
    });
}

/// Node-3 starts again and again, and then from an old copy of its state. The members that met its
/// later starts have restarted meanwhile. (C7)
#[story]
fn who_was_met_at_a_later_start_is_known_after_a_restart() {
    let cluster = Cluster::start_with(3, majority);
    cluster.agree_on(3);
    let (state, old) = (cluster.state_file(3), cluster.file().with_file_name("old.json"));
    cluster.node(3).kill_9();
    fs::copy(&state, &old).unwrap();
    for _ in 0..3 {
        cluster.node(3).start();
        cluster.agree_on(3);
        cluster.node(3).kill_9();
    }
    [1, 2].iter().for_each(|number| cluster.node(*number).restart());
    cluster.agree_on(2);
    fs::copy(&old, &state).unwrap();
    cluster.node(3).start();
    for number in [1, 2] {
        cluster.node(number).until_logged(&["its state was lost"]); // the start is older than one it met
    }
    cluster.agree_among(&[1, 2], 2);
}

/// A command that only looks holds the lock for a moment.
#[story]
fn a_start_beside_a_command_that_looks_at_the_lock_finds_it_free() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    let held = "-e trace=flock -e inject=flock:error=EAGAIN:when=1";
    let Some(_calls) = node.trace_from_the_start(held) else { return };
    node.start();
    cluster.agree_on(1);
}

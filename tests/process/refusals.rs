//! Nodes that must not take part, and starts that must fail, with a reason and without harm.

use electd::core::settings::AlgorithmKind;
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use story::story;

use crate::support::{
    Cluster, Finished, Node, credentials, ensure, eventually, for_each_algorithm, has_joined,
};
use serde_json::{Value, json};

for_each_algorithm! {
    a_second_process_with_the_id_of_the_leader_is_refused_and_never_leads,
    a_second_process_with_the_id_of_a_follower_is_refused_by_all,
    members_whose_configs_disagree_refuse_each_other_and_name_the_key,
}

/// Waits until the status and the log of this node show these words.
#[track_caller]
fn shows(node: &Node, words: &str) {
    eventually(&format!("{} shows {words:?}", node.name), || {
        let status = node.status().map_err(|error| format!("{error}\n{}", node.log_tail(5)))?;
        assert_ne!(status.state, "leading", "who is refused does not lead");
        let told = status.rejections.iter().any(|rejection| rejection.reason.contains(words));
        ensure(told, || format!("{:?}", status.rejections))?;
        ensure(node.log().contains(words), || node.log_tail(10))
    });
}

/// Starts a process that is to be refused by a running cluster, and waits until it says why.
#[track_caller]
fn is_refused(cluster: &Cluster, stranger: &Node, words: &str) {
    let epoch = cluster.agree_on(3);
    stranger.start();
    shows(stranger, words);
    assert_eq!(cluster.agree_on(3), epoch, "the cluster goes on undisturbed");
}

/// Rule I1.
fn a_second_process_with_the_id_of_the_leader_is_refused_and_never_leads(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    is_refused(&cluster, &cluster.stranger(3, |_| {}), "in use by");
}

/// Rule C6.
fn a_second_process_with_the_id_of_a_follower_is_refused_by_all(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let stranger = cluster.stranger(1, |_| {});
    is_refused(&cluster, &stranger, "in use by");
    eventually("both others refuse it", || {
        let rejections = stranger.status()?.rejections;
        ensure(rejections.len() == 2, || format!("{rejections:?}"))
    });
    assert!(!cluster.node(1).log().contains("in use by"), "the first is not taken for the second");
}

#[story]
fn a_member_of_another_cluster_is_refused() {
    if credentials::wanted() {
        println!("skipped: over TLS a certificate is of one cluster, as tls::refusals shows");
        return;
    }
    let cluster = Cluster::start(3);
    let stranger = cluster.stranger(1, |config| config["cluster"] = "other".into());
    is_refused(&cluster, &stranger, "clusters differ");
}

#[story]
fn a_member_that_nobody_knows_is_refused() {
    let cluster = Cluster::start(3);
    let unknown = "11111111-2222-4333-8444-555555555555";
    let stranger = cluster.stranger(1, |config| config["members"][0]["id"] = unknown.into());
    is_refused(&cluster, &stranger, &format!("id {unknown} is not in the member list"));
}

fn members_whose_configs_disagree_refuse_each_other_and_name_the_key(algorithm: AlgorithmKind) {
    let cluster = Cluster::prepare(3, |config| config["algorithm"] = algorithm.name().into());
    cluster.node(2).start();
    cluster.node(3).start();
    let epoch = cluster.agree_on(3);

    let others = AlgorithmKind::ALL.into_iter().filter(|other| *other != algorithm);
    let others = others.map(|other| ("algorithm", json!(other.name())));
    let other_keys = [
        ("preempt", json!("never")),
        ("preempt", json!({"after": "30s"})),
        ("rank", json!({"by": "cpu"})),
    ];
    for (key, value) in other_keys.into_iter().chain(others) {
        // In its own place, so that the others dial it too.
        let mut config = cluster.config().clone();
        config[key] = value;
        let place = (cluster.node(1).address, cluster.node(1).admin);
        let odd = cluster.process(1, place, "odd", &config);
        odd.start();
        let words = format!("{key} differs: the side that refuses has");
        shows(&odd, &words);
        eventually("node-2 says so too", || {
            let rejections = cluster.status(2)?.rejections;
            let told = rejections.iter().any(|r| r.peer == "node-1" && r.reason.contains(&words));
            ensure(told, || format!("{rejections:?}"))?;
            ensure(cluster.node(2).log().contains(&words), || cluster.node(2).log_tail(10))
        });
        assert_eq!(cluster.agree_on(3), epoch);
        odd.kill_9();
    }

    cluster.node(1).start();
    has_joined(algorithm, epoch, cluster.agree_on(3));
    eventually("the refusal is forgotten", || {
        let rejections = cluster.status(2)?.rejections;
        ensure(rejections.is_empty(), || format!("{rejections:?}"))
    });
    cluster.node(2).until_logged(&["INFO", "node-1 accepts this node now"]);
}

/// Runs a node to its end; gives its exit code and the last line that it wrote.
fn failed_start(node: &Node) -> (i32, String) {
    node.start();
    let code = node.exit_code();
    (code, node.log_tail(1))
}

/// Rule C6.
#[story]
fn a_data_directory_in_use_is_refused() {
    let cluster = Cluster::start_watchful(1);
    cluster.agree_on(1);
    let second = cluster.stranger(1, |config| config["data_dir"] = "data".into());
    let (code, words) = failed_start(&second);
    assert_eq!(code, 73, "{words}");
    assert!(words.contains("data/node-1 is in use by process "), "{words}");

    let first = cluster.node(1);
    let same = cluster.process(1, (first.address, first.admin), "same", cluster.config());
    let (code, words) = failed_start(&same);
    assert_eq!(code, 73, "that its ports are in use as well says less: {words}");
    assert!(words.contains("data/node-1 is in use by process "), "{words}");
}

#[story]
fn a_port_in_use_is_refused() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    for taken in [node.address, node.admin] {
        let _listener = TcpListener::bind(taken).unwrap();
        let (code, words) = failed_start(node);
        assert_eq!(code, 71, "{words}");
        assert!(words.contains(&format!("cannot listen on {taken}")), "{words}");
        let call = format!(
            "bind {taken}: Address already in use (os error 98); another process listens there: ss -ltnp"
        );
        assert!(words.contains(&call), "{words}");
    }
    node.start();
    cluster.agree_on(1);
}

/// A mount may come later than a node: the unit starts it again after 66, but not after 78.
#[story]
fn a_file_that_is_not_there_yet_is_no_wrong_configuration() {
    let cluster = Cluster::prepare(1, |config| {
        config["admin_token_file"] = "mount/token".into();
    });
    let (code, words) = failed_start(cluster.node(1));
    assert_eq!(code, 66, "{words}");
    assert!(words.contains("admin_token_file") && words.contains("No such file"), "{words}");
    let moved = cluster.file().with_extension("moved");
    fs::rename(cluster.file(), &moved).unwrap();
    let (code, words) = failed_start(cluster.node(1));
    assert_eq!(code, 66, "{words}");
    assert!(words.contains("cluster.json: cannot be read: No such file"), "{words}");
    fs::rename(&moved, cluster.file()).unwrap();
    fs::create_dir(cluster.file().with_file_name("mount")).unwrap();
    fs::write(cluster.file().with_file_name("mount/token"), "secret\n").unwrap();
    cluster.node(1).start();
    cluster.agree_on(1);
}

/// Starts a node on this state file: it must end with 65, name the file, and not touch it.
#[track_caller]
fn state_is_refused(content: &str, reason: &str) {
    let cluster = Cluster::start_watchful(1);
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    let file = cluster.state_file(1);
    fs::write(&file, content).unwrap();
    let (code, words) = failed_start(cluster.node(1));
    assert_eq!(code, 65, "{words}");
    assert!(words.contains("data/node-1/state.json") && words.contains(reason), "{words}");
    assert_eq!(fs::read_to_string(&file).unwrap(), content, "it was left as it was");
}

/// Claim: bad-file.
#[story]
fn damaged_state_is_refused_and_kept() {
    state_is_refused("", "is damaged: it is empty");
    state_is_refused("{\"format\": 1, \"epoch\"", "is damaged");
}

/// Claim: bad-file.
#[story]
fn state_of_a_newer_format_is_refused_and_kept() {
    state_is_refused("{\"format\": 99, \"news\": true}", "has format 99");
}

/// The exit code and the message of a command with this config.
fn electd(command: &str, config: &Value) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    fs::write(&file, config.to_string()).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_electd"));
    process.args([command, "--node", "node-1", "--config"]).arg(&file).env_remove("RUST_LOG");
    let output = process.finished();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[story]
fn a_level_of_the_log_that_does_not_exist_is_refused() {
    let cluster = Cluster::prepare(1, |_| {});
    let mut process = Command::new(env!("CARGO_BIN_EXE_electd"));
    process.args(["run", "--node", "node-1", "--config"]).arg(cluster.file());
    let output = process.env("RUST_LOG", "debgu").finished();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("\"debgu\" is no level: use error, warn, info"), "{said}");
}

#[story]
fn a_check_warns_of_a_hook_that_is_not_there() {
    for (program, warns) in [("/no/such/hook", true), ("no-such-hook", true), ("true", false)] {
        let cluster = Cluster::prepare(1, |config| {
            config["hooks"] = json!({"on_change": [program]});
        });
        let check = Command::new(env!("CARGO_BIN_EXE_electd"))
            .args(["check", "--node", "node-1", "--config"])
            .arg(cluster.file())
            .finished();
        let said = String::from_utf8(check.stdout).unwrap();
        let warning = format!("WARNING: {program} is not on this host");
        assert_eq!(said.contains(&warning), warns, "{said}");
        assert!(said.contains("its hook"), "{said}");
    }
}

/// Claim: bad-file.
#[story]
fn a_config_that_is_wrong_starts_nothing() {
    let cluster = Cluster::prepare(1, |_| {});
    for (key, value, words) in [
        ("quorum", json!("most"), "quorum cannot be \"most\""),
        ("colour", json!("red"), "unknown key"),
        ("timing", json!({"failure": 500}), "timing.failure"),
        ("control_group", json!("no such group"), "correct control_group"),
    ] {
        let mut config = cluster.config().clone();
        config[key] = value;
        for command in ["check", "run"] {
            let (code, said) = electd(command, &config);
            assert_eq!(code, Some(78), "{command}: {said}");
            assert!(said.contains(words), "{command}: {said}");
        }
    }
}

#[story]
fn a_node_that_may_open_too_few_files_says_so_at_its_start() {
    let cluster = Cluster::prepare(3, |_| {});
    let node = cluster.node(1);
    for few in [12, 24, 43] {
        node.descriptors.set(Some(few));
        node.start();
        assert_eq!(node.exit_code(), 78, "{few}: {}", node.log_tail(5));
        let told = format!("this process may open {few} files, and a node of 3 members needs 44");
        let log = node.log();
        assert!(log.contains(&told) && log.contains("LimitNOFILE="), "{log}");
    }
    node.descriptors.set(Some(44));
    cluster.nodes().iter().for_each(Node::start);
    cluster.agree_on(3);
    assert!(!node.log().contains("Too many open files"), "{}", node.log_tail(20));
}

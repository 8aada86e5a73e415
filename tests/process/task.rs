//! The task of the halting algorithm: handed out, shown, kept, and given to a successor.

use std::fs;
use std::process::Command;

use crate::support::{Cluster, Finished, ensure, eventually};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use story::story;

fn halting(n: usize) -> Cluster {
    Cluster::start_with(n, |config| config["algorithm"] = "halting".into())
}

/// Waits until all running nodes show this task, and have it on disk.
#[track_caller]
fn all_have(cluster: &Cluster, task: &str) {
    for (at, _) in cluster.nodes().iter().enumerate().filter(|(_, node)| node.runs()) {
        let file = cluster.state_file(at + 1);
        let kept = format!("\"task\": \"{}\"", BASE64_STANDARD.encode(task));
        eventually(&format!("{} holds {task:?}", file.display()), || {
            let state = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            ensure(state.contains(&kept), || state)
        });
    }
    for node in cluster.running() {
        eventually(&format!("{} has the task {task:?}", node.name), || {
            let answer = node.get("/task")?;
            ensure(answer.code == 200 && answer.body == task, || format!("{answer:?}"))?;
            let halting = node.status()?.halting.ok_or("no status of the algorithm")?;
            let shown = (halting.status.as_str(), halting.task_bytes);
            ensure(shown == ("normal", task.len()), || format!("{halting:?}"))
        });
    }
}

#[story]
fn a_task_reaches_all_and_outlives_its_coordinator_and_all_processes() {
    let cluster = halting(3);
    cluster.agree_on(3);
    let answer = cluster.node(1).get("/task").unwrap();
    assert_eq!(answer.code, 404);
    assert!(answer.error().starts_with("no task has been handed out"), "{answer:?}");

    let answer = cluster.node(1).post("/task", "count the sheep").unwrap();
    let refusal = "only the leader takes a task: ask node-3";
    assert_eq!((answer.code, answer.error().as_str()), (409, refusal));
    let answer = cluster.node(3).post("/task", "count the sheep").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    all_have(&cluster, "count the sheep");

    cluster.agree_on(3);
    cluster.node(3).kill_9();
    cluster.agree_on(2);
    all_have(&cluster, "count the sheep");

    cluster.nodes().iter().for_each(|node| node.kill_9());
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
    all_have(&cluster, "count the sheep");
}

#[story]
fn the_newest_task_wins_over_that_of_a_leader_that_comes_back() {
    let cluster = halting(3);
    cluster.agree_on(3);
    assert_eq!(cluster.node(3).post("/task", "older").unwrap().code, 200);
    all_have(&cluster, "older");
    cluster.agree_on(3);

    cluster.node(3).kill_9();
    cluster.agree_on(2);
    assert_eq!(cluster.node(2).post("/task", "newer").unwrap().code, 200);
    all_have(&cluster, "newer");

    cluster.node(3).start();
    cluster.agree_on(3);
    all_have(&cluster, "newer");
}

#[story]
fn a_task_given_at_the_start_goes_over_the_stored_one() {
    let cluster = halting(2);
    cluster.agree_on(2);
    assert_eq!(cluster.node(2).post("/task", "old").unwrap().code, 200);
    all_have(&cluster, "old");
    cluster.agree_on(2);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("task");
    fs::write(&file, "new").unwrap();
    cluster.node(2).kill_9();
    cluster.node(2).start_with(&["--task", file.to_str().unwrap()]);
    cluster.agree_on(2);
    all_have(&cluster, "new");
}

#[story]
fn other_algorithms_have_no_task() {
    let cluster = Cluster::start_watchful(1);
    cluster.agree_on(1);
    assert!(cluster.status(1).unwrap().halting.is_none());
    let words = "only the algorithm \"halting\" hands out a task";
    let answer = cluster.node(1).get("/task").unwrap();
    assert_eq!(answer.code, 404);
    assert_eq!(answer.error(), format!("{words}, and this cluster has \"bully\""));
    let answer = cluster.node(1).post("/task", "work").unwrap();
    assert_eq!((answer.code, answer.error().as_str()), (409, words));
}

#[story]
fn a_task_that_cannot_be_handed_out_starts_nothing() {
    let cluster = Cluster::prepare(1, |config| config["algorithm"] = "halting".into());
    let folder = tempfile::tempdir().unwrap();
    let refused = |config: &str, task: &str| {
        let mut electd = Command::new(env!("CARGO_BIN_EXE_electd"));
        electd.args(["run", "--node", "node-1", "--config", config, "--task", task]);
        let output = electd.env_remove("RUST_LOG").finished();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said
    };
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = write("good.json", cluster.config().to_string().as_bytes());
    let said = refused(&good, &write("long", &[b'x'; 65_537]));
    assert!(said.contains("long is longer than 65536 bytes"), "{said}");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = refused(&good, pipe.to_str().unwrap());
    assert!(said.contains("pipe: it is no regular file; write the task to one"), "{said}");
    let said = refused(&good, "/no/such/file");
    assert!(said.contains("cannot read --task /no/such/file: No such file"), "{said}");

    let mut config = cluster.config().clone();
    config["algorithm"] = "bully".into();
    let bully = write("bully.json", config.to_string().as_bytes());
    let said = refused(&bully, &write("short", b"work"));
    assert!(
        said.contains("by the algorithm \"halting\" only, and this cluster has \"bully\""),
        "{said}"
    );
    assert!(!folder.path().join("data").exists(), "nothing was written");
}

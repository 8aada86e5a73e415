//! Hooks: a program that runs at each change, and programs that misbehave.

use std::fs;

use serde_json::{Value, json};
use story::story;

use crate::support::undead::Undead;
use crate::support::{Cluster, Node, done, electd, ensure, eventually};

/// A shell script as a hook.
fn hook(script: &str, timeout: &str) -> Value {
    json!({"on_change": ["sh", "-c", script], "timeout": timeout})
}

/// The lines of this file beside the cluster's own, once they are as many.
fn lines(cluster: &Cluster, name: &str, at_least: usize) -> Vec<String> {
    let file = cluster.file().with_file_name(name);
    eventually(&format!("{name} has {at_least} lines"), || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= at_least { Ok(lines) } else { Err(text) }
    })
}

/// A figure of the hooks in the metrics.
fn count(node: &Node, result: &str) -> u64 {
    let page = node.metrics().unwrap();
    let begin = format!("electd_hooks_total{{result=\"{result}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&begin)?.parse().ok()).unwrap_or(0)
}

#[story]
fn each_change_is_told_in_order_with_the_event_on_stdin() {
    let cluster = Cluster::prepare(2, |config| {
        let script = "echo \"$ELECTD_CLUSTER $ELECTD_EVENT $ELECTD_NODE $ELECTD_LEADER $ELECTD_EPOCH $ELECTD_MEMBER\"; cat";
        config["hooks"] = hook(script, "30s");
    });
    let script =
        "{ echo \"$ELECTD_EVENT $ELECTD_LEADER $ELECTD_EPOCH $ELECTD_MEMBER\"; cat; } >>told";
    let file = cluster.file();
    let script = script.replace("told", &file.with_file_name("told").display().to_string());
    let text = fs::read_to_string(&file).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["members"][0]["hooks"] = hook(&script, "30s"); // its own, not the cluster's
    fs::write(&file, config.to_string()).unwrap();
    (1..=2).for_each(|number| cluster.node(number).start());
    let epoch = cluster.agree_on(2);
    let leader = cluster.node(2);
    leader.until_logged(&[&format!("hook: test leading node-2 node-2 {epoch}")]);

    leader.kill_9();
    cluster.agree_on(1);
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    let told = lines(&cluster, "told", 2);
    let at = |begin: &str| {
        let found = told.iter().position(|line| line.starts_with(begin));
        found.unwrap_or_else(|| panic!("{begin} is missing: {told:?}"))
    };
    let order = [
        at(&format!("following node-2 {epoch}")),
        at(&format!("leading node-1 {}", epoch + 1)),
        at("stopping"),
    ];
    assert!(order.is_sorted(), "{told:?}");
    let log = cluster.node(1).log();
    assert!(!log.contains("coroner"), "a node that ends needs none: {log}");
    assert!(told[at("member_down")].ends_with(" node-2"), "{told:?}");
    let event: Value = serde_json::from_str(&told[order[1] + 1]).unwrap();
    assert_eq!((&event["event"], &event["node"]), (&json!("leading"), &json!("node-1")));
}

/// The hooks of the hosts that have nothing to do with it are not told.
#[story]
fn the_hook_of_a_host_is_told_of_the_lock_that_it_holds_and_gives_back() {
    let script =
        "echo \"$ELECTD_EVENT $ELECTD_NODE $ELECTD_LOCK $ELECTD_HOLDER $ELECTD_TOKEN\" >>told";
    let cluster = Cluster::prepare(3, |config| {
        config["quorum"] = json!("majority");
    });
    let file = cluster.file();
    let script = script.replace("told", &file.with_file_name("told").display().to_string());
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    config["hooks"] = hook(&script, "30s");
    fs::write(&file, config.to_string()).unwrap();
    (1..=3).for_each(|number| cluster.node(number).start());
    cluster.agree();
    let of_locks = || {
        let text = fs::read_to_string(file.with_file_name("told")).unwrap_or_default();
        text.lines().filter(|line| line.contains("lock")).map(str::to_owned).collect::<Vec<_>>()
    };
    done(&electd(&cluster, &["exec", "--lock", "x", "--node", "node-2", "--", "true"]));
    eventually("it was told that the lock came and went", || {
        let told = of_locks();
        let [held, free] = &told[..] else { return Err(format!("{told:?}")) };
        let token = held.strip_prefix("lock_held node-2 x node-2 ").map(str::parse::<u64>);
        let is_told = matches!(token, Some(Ok(_))) && free.trim_end() == "lock_free node-2 x";
        ensure(is_told, || format!("{told:?}"))
    });
}

#[story]
fn hooks_that_do_not_behave_hold_nobody_up() {
    let cluster = Cluster::prepare(4, |config| {
        let members = config["members"].as_array_mut().unwrap();
        members[0]["hooks"] = hook("exec sleep 1000", "200ms");
        members[1]["hooks"] = hook("yes", "300ms");
        members[2]["hooks"] = json!({"on_change": ["/no/such/program"]});
        members[3]["hooks"] = hook("echo $$ >>forked; sleep 1000 & sleep 1000 & exit 3", "30s");
    });
    let forked = cluster.file().with_file_name("forked");
    let text = fs::read_to_string(cluster.file()).unwrap();
    fs::write(cluster.file(), text.replace(">>forked", &format!(">>{}", forked.display())))
        .unwrap();
    (1..=4).for_each(|number| cluster.node(number).start());
    cluster.agree_on(4);
    cluster.node(1).until_logged(&["took longer than 200ms and was killed"]);
    cluster.node(2).until_logged(&["hook: y"]);
    cluster.node(2).until_logged(&["more lines were left out"]);
    cluster.node(3).until_logged(&["the hook /no/such/program for"]);
    cluster.node(3).until_logged(&["cannot be run: No such file"]);
    cluster.node(4).until_logged(&["for leading exited with code 3"]);
    assert!(cluster.node(2).log().matches("hook: y").count() <= 500, "it prints millions");
    for group in lines(&cluster, "forked", 1) {
        let group = rustix::process::Pid::from_raw(group.parse().unwrap()).unwrap();
        eventually("nothing is left of its group", || {
            let left = rustix::process::test_kill_process_group(group);
            ensure(left.is_err(), || format!("{group:?} lives"))
        });
    }
    // More changes come than the slow program can run for.
    for _ in 0..3 {
        let (leader, _) = cluster.agree();
        let _ = cluster.node(leader).post("/resign", "");
    }
    for (number, result) in [(1, "timeout"), (2, "timeout"), (3, "not_run"), (4, "failed")] {
        eventually(&format!("node-{number} counts {result}"), || {
            let count = count(cluster.node(number), result);
            ensure(count > 0, || "it does not".to_owned())
        });
    }
    // A node that is killed leaves a program behind that runs just then; one that ends does not.
    for node in cluster.nodes() {
        node.stop_term();
        assert_eq!(node.exit_code(), 0);
    }
}

/// Claim: bounds.
#[story]
fn a_gigabyte_of_output_costs_neither_memory_nor_the_lead() {
    let cluster = Cluster::prepare(2, |config| {
        let members = config["members"].as_array_mut().unwrap();
        let print = "head -c 1000000000 /dev/zero";
        members[0]["health"] =
            json!({"command": ["sh", "-c", print], "every": "61s", "timeout": "60s"});
        members[1]["hooks"] = hook(print, "5s");
    });
    (1..=2).for_each(|number| cluster.node(number).start());
    let epoch = cluster.agree_on(2);
    eventually("the hook has printed all of it, or as much as it may in its time", || {
        let count = ["ok", "timeout"].map(|result| count(cluster.node(2), result));
        ensure(count != [0, 0], || cluster.node(2).log_tail(5))
    });
    eventually("the check is cut short", || {
        let problems = cluster.status(1)?.problems;
        let told = problems.iter().any(|it| it.text.contains("printed more than 65536 bytes"));
        ensure(told, || format!("{problems:?}"))
    });
    for node in cluster.nodes() {
        let most = node.figure("VmHWM");
        assert!(most < 100_000, "{} had {most} kB", node.name);
        assert!(node.log().len() < 100_000, "{}", node.name);
    }
    assert_eq!(cluster.agree_on(2), epoch);
}

#[story]
fn another_hook_counts_after_a_reload() {
    let cluster = Cluster::start_with(1, |config| config["hooks"] = hook("echo first", "30s"));
    cluster.agree_on(1);
    cluster.node(1).until_logged(&["hook: first"]);
    let text = fs::read_to_string(cluster.file()).unwrap();
    fs::write(cluster.file(), text.replace("echo first", "echo second")).unwrap();
    let answer = cluster.node(1).post("/reload", "").unwrap();
    assert_eq!(answer.json()["result"], "changed immediately: hooks");
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    cluster.node(1).until_logged(&["hook: second"]);
}

/// A node without a hook has no thread for one, which would delay its end.
#[story]
fn a_first_hook_is_told_what_happens_after_the_reload() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let node = cluster.node(1);
    assert_eq!(node.threads("hooks"), Vec::<String>::new());
    eventually("the event that it leads is there", || {
        let last = cluster.status(1)?.last_event;
        ensure(last.as_deref() == Some("1-1"), || format!("{last:?}"))
    });
    let mut config = cluster.config().clone();
    config["hooks"] = hook("echo told of $ELECTD_EVENT", "30s");
    fs::write(cluster.file(), config.to_string()).unwrap();
    let answer = node.post("/reload", "").unwrap();
    assert_eq!(answer.json()["result"], "changed immediately: hooks");
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    node.until_logged(&["hook: told of "]);
    assert!(!node.log().contains("told of leading"), "that was before: {}", node.log_tail(9));
}

/// It is ended long before twice its time is over.
#[story]
fn a_hook_gets_its_time_and_no_more() {
    let cluster = Cluster::start_with(1, |config| {
        config["hooks"] = hook("sleep 3.7; echo its time was doubled", "2s");
    });
    cluster.agree_on(1);
    let node = cluster.node(1);
    node.until_logged(&["for leading took longer than 2s and was killed"]);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    assert!(!node.log().contains("was doubled"), "{}", node.log_tail(9));
}

/// Nobody has seen it answer, so it has not stopped to.
#[story]
fn a_member_that_was_never_up_does_not_go_down() {
    let cluster = Cluster::prepare(2, |config| config["hooks"] = hook("echo $ELECTD_EVENT", "30s"));
    cluster.node(1).start();
    let node = cluster.node(1);
    node.until_logged(&["hook: leading"]); // and all that came before
    assert!(!node.log().contains("hook: member_down"), "{}", node.log_tail(9));
}

/// The log is read by people, at terminals, and kept for long.
#[story]
fn what_a_hook_prints_is_told_in_short_lines_that_disguise_nothing_and_not_too_many() {
    let cluster = Cluster::prepare(2, |config| {
        let members = config["members"].as_array_mut().unwrap();
        members[0]["hooks"] = hook("printf 'a\\033[2Jb\\n%01500d' 7", "30s");
        members[1]["hooks"] = hook("seq 130", "30s");
    });
    (1..=2).for_each(|number| cluster.node(number).start());
    cluster.agree_on(2);
    cluster.node(1).until_logged(&["hook: a\\u{1b}[2Jb"]);
    cluster.node(1).until_logged(&[&format!("hook: {}7", "0".repeat(499))]); // after the first 1000
    cluster.node(2).until_logged(&["hook: 30 more lines were left out"]);
    let log = cluster.node(2).log();
    assert!(log.contains("hook: 100\n") && !log.contains("hook: 101"), "{log}");
}

/// It would keep TERM from ending the node.
#[story]
fn a_hook_that_kill_does_not_end_holds_up_neither_an_election_nor_the_end_of_its_node() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("echo $$ >{}; exec sleep 10000", pid.display());
    let cluster = Cluster::prepare(1, |config| config["hooks"] = hook(&script, "3s"));
    cluster.node(1).start();
    let undead = Undead::of(&pid);
    let node = cluster.node(1);
    node.until_logged(&["took longer than 3s, and KILL does not end it"]);
    assert_eq!(count(node, "timeout"), 1);
    cluster.agree_on(1);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    let log = node.log();
    assert_eq!(log.matches("KILL does not end it").count(), 1, "no other one was begun: {log}");
    drop(undead);
}

//! A node reads its configuration again: what takes effect, what is named, and that a bad file changes
//! nothing.

use std::fs;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use story::story;

use crate::support::enough::Enough;
use crate::support::{Cluster, Finished, ensure, eventually, http, watchful};

fn by_priority(config: &mut Value) {
    config["rank"] = json!({"by": "priority", "priority": 1});
}

/// Rewrites the cluster's file.
fn write(cluster: &Cluster, change: impl FnOnce(&mut Value)) {
    let mut config = cluster.config().clone();
    change(&mut config);
    fs::write(cluster.file(), config.to_string()).unwrap();
}

fn reload(cluster: &Cluster, name: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["reload", "--node", name, "--config"]).arg(cluster.file());
    command.env_remove("ELECTD_ADMIN").finished()
}

fn until_priority(cluster: &Cluster, number: usize, priority: i64) {
    eventually(&format!("node-{number} has priority {priority}"), || {
        let shown = cluster.status(number)?.members[number - 1].rank.value.clone();
        ensure(shown == priority, || shown.to_string())
    });
}

#[story]
fn a_rank_takes_effect_at_once_and_what_needs_a_restart_is_named() {
    let cluster = Cluster::start_with(2, |config| {
        by_priority(config);
        config["preempt"] = "never".into();
    });
    let epoch = cluster.agree_on(2);
    write(&cluster, |config| {
        by_priority(config);
        config["preempt"] = "never".into();
        config["members"][0]["rank"] = json!({"priority": 7});
        config["trust_refused"] = false.into();
    });
    let output = reload(&cluster, "node-1");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(said, "changed immediately: rank; needs a restart of this node: trust_refused\n");
    until_priority(&cluster, 1, 7);
    assert_eq!(cluster.agree_on(2), epoch, "nobody lost its leadership");
}

#[story]
fn hup_reloads_and_ends_nobody() {
    let cluster = Cluster::start_with(1, by_priority);
    let epoch = cluster.agree_on(1);
    write(&cluster, |config| config["rank"] = json!({"by": "priority", "priority": 3}));
    cluster.node(1).hang_up();
    // A leader keeps the rank that it was elected with until the next election.
    cluster.node(1).until_logged(&["was read again: changed immediately: rank"]);
    fs::write(cluster.file(), "{").unwrap();
    cluster.node(1).hang_up();
    cluster.node(1).until_logged(&["was not taken, and nothing changed"]);
    assert_eq!(cluster.agree_on(1), epoch);
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
}

/// Claim: bad-file.
#[story]
fn a_bad_file_changes_nothing_and_each_problem_is_named() {
    let cluster = Cluster::start_with(1, by_priority);
    cluster.agree_on(1);
    write(&cluster, |config| {
        config["rank"] = json!({"by": "priority", "priority": 9});
        config["timing"]["failure"] = "soon".into();
        config["no_such_key"] = 1.into();
    });
    let answer = cluster.node(1).post("/reload", "{}").unwrap();
    assert_eq!(answer.code, 400);
    let error = answer.error();
    assert!(error.contains("soon") && error.contains("no_such_key"), "{error}");
    assert_eq!(cluster.status(1).unwrap().members[0].rank.value, 1);
}

#[story]
fn an_edited_file_is_a_problem_until_all_of_it_counts() {
    let cluster = Cluster::start_with(1, by_priority);
    cluster.agree_on(1);
    let until_told = |words: &[&str]| {
        eventually(&format!("the problem is {words:?}"), || {
            let problems = cluster.status(1)?.problems;
            let told = |word: &&&str| problems.iter().any(|problem| problem.text.contains(**word));
            let found = words.iter().filter(told).count() == words.len();
            ensure(found && problems.is_empty() == words.is_empty(), || format!("{problems:?}"))
        });
    };
    until_told(&[]);
    write(&cluster, |config| {
        config["rank"] = json!({"by": "priority", "priority": 3});
        config["preempt"] = "never".into();
    });
    until_told(&["was edited", "` takes the rank", "a restart of this node takes preempt"]);
    cluster.node(1).hang_up();
    until_told(&["not all of it is taken: a restart of this node takes preempt"]);
    fs::write(cluster.file(), "{").unwrap();
    until_told(&["was edited and cannot be used"]);
    let now = |priority: u8| {
        write(&cluster, |config| config["rank"] = json!({"by": "priority", "priority": priority}));
    };
    now(3);
    until_told(&[]);
    now(4); // as long as before
    until_told(&["` takes the rank"]);
    now(3);
    until_told(&[]);
    // The status tells a moment before the log does.
    eventually("the log tells when it began and when it was over", || {
        let log = cluster.node(1).log();
        let told = ["WARN  node-1: config_differs: ", "no problem any more"];
        ensure(told.iter().all(|told| log.contains(told)), || log)
    });
}

#[story]
fn a_token_is_replaced_without_a_restart() {
    let cluster = Cluster::start_with(1, |config| config["admin_token_file"] = "token".into());
    let token = cluster.file().with_file_name("token");
    assert_eq!(cluster.node(1).exit_code(), 66, "there is none yet");
    fs::write(&token, "first").unwrap();
    cluster.node(1).start();
    cluster.agree_on(1);
    fs::write(&token, "second").unwrap();
    let reloaded = || cluster.node(1).post("/reload", "").unwrap().json()["result"].clone();
    assert_eq!(reloaded(), "changed immediately: token");
    assert_eq!(reloaded(), "nothing to change immediately");
    let admin = cluster.node(1).admin.to_string();
    let opens = |token: &str| {
        let file = cluster.file().with_file_name("given");
        fs::write(&file, token).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["resume", "--admin", &admin, "--token-file"]).arg(file);
        command.env_remove("ELECTD_CONFIG").finished().status.success()
    };
    assert_eq!(["first", "second"].map(opens), [false, true]);
    write(&cluster, |config| _ = config.as_object_mut().unwrap().remove("admin_token_file"));
    assert_eq!(reloaded(), "changed immediately: token");
    assert_eq!(["first", "second"].map(opens), [false; 2], "none opens any more");
}

/// The common part of all files of these tests.
fn steady(config: &mut Value) {
    by_priority(config);
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["admin_token_file"] = "token".into();
}

/// Timings that differ in all that they say, and never leave a busy machine too little time.
const TIMINGS: [[&str; 4]; 4] = [
    ["100ms", "5s", "1s", "4s"],
    // Rarer heartbeats than the `failure` of the next ones lets anybody miss twice.
    ["4s", "16s", "2s", "16s"],
    ["50ms", "6s", "700ms", "3s"],
    ["1s", "30s", "3s", "20s"],
];

fn timing([heartbeat, failure, message, lease]: [&str; 4]) -> Value {
    json!({"heartbeat": heartbeat, "failure": failure, "message": message, "lease": lease})
}

/// Does this while all nodes are asked all the time.
fn under_load(cluster: &Cluster, work: impl FnOnce()) {
    let (enough, asked) = (Enough::default(), AtomicU64::new(0));
    thread::scope(|scope| {
        let _ends = enough.at_end();
        for node in cluster.nodes().iter().chain(cluster.nodes()) {
            let (admin, enough, asked) = (node.admin, &enough, &asked);
            scope.spawn(move || {
                while !enough.is_said() {
                    for path in ["/leader", "/status", "/metrics"] {
                        let answered = http::ask(admin, "GET", path, "").is_ok();
                        asked.fetch_add(u64::from(answered), Ordering::Relaxed);
                    }
                }
            });
        }
        work();
    });
    assert!(asked.load(Ordering::Relaxed) > 100, "the nodes were asked all the time");
}

/// Nodes are reloaded one after the other, so that all timings meet all others.
#[story]
fn a_hundred_reloads_under_load_lose_no_leader() {
    let cluster = Cluster::prepare(3, steady);
    let token = cluster.file().with_file_name("token");
    fs::write(&token, "token-0").unwrap();
    cluster.nodes().iter().for_each(|node| node.start());
    let epoch = cluster.agree_on(3);
    under_load(&cluster, || {
        for round in 1..=100 {
            let number = round % 3 + 1;
            fs::write(&token, format!("token-{round}")).unwrap();
            write(&cluster, |config| {
                steady(config);
                config["timing"] = timing(TIMINGS[round % TIMINGS.len()]);
                config["members"][number - 1]["rank"] = json!({"priority": 1 + round});
            });
            let answer = cluster.node(number).post("/reload", "").unwrap();
            assert_eq!(answer.code, 200, "{answer:?}");
            assert_eq!(answer.json()["result"], "changed immediately: timings, token, rank");
            let leader = cluster.status(3).unwrap();
            assert_eq!((&*leader.state, leader.epoch), ("leading", epoch), "after {round}");
        }
    });
    for number in 1..=3 {
        // They have the same again, and say so to each other.
        cluster.node(number).post("/reload", "").unwrap();
    }
    assert_eq!(cluster.agree_on(3), epoch);
    for number in 1..=3 {
        eventually(&format!("node-{number} sees nothing wrong"), || {
            let problems = cluster.status(number)?.problems;
            ensure(problems.is_empty(), || format!("{problems:?}"))
        });
        let changes = cluster.status(number).unwrap().changes;
        let last = changes.last().unwrap();
        assert_eq!(last.epoch, epoch, "nobody lost its leader: {changes:?}");
        assert!(["leading", "following"].contains(&&*last.to), "{changes:?}");
    }
}

/// The leader's next heartbeat by the longer timings comes after the end of its lease by the shorter ones.
#[story]
fn timings_ten_times_longer_at_once_lose_no_leader() {
    let cluster = Cluster::prepare(3, |config| {
        steady(config);
        config.as_object_mut().unwrap().remove("admin_token_file");
        config["timing"] = timing(["200ms", "2s", "200ms", "1600ms"]);
    });
    cluster.nodes().iter().for_each(|node| node.start());
    let epoch = cluster.agree_on(3);
    write(&cluster, |config| {
        steady(config);
        config.as_object_mut().unwrap().remove("admin_token_file");
        config["timing"] = timing(["2s", "20s", "2s", "16s"]);
    });
    cluster.node(3).post("/reload", "").unwrap();
    eventually("the leader leads by the longer promises", || {
        let status = cluster.status(3)?;
        let left = status.lease_remaining_ms;
        ensure(left > Some(2_000), || format!("{} for {left:?} ms", status.state))
    });
    assert_eq!(cluster.agree_on(3), epoch, "nobody lost its leader");
}

#[story]
fn timings_that_others_do_not_have_are_a_problem_until_they_do() {
    let cluster = Cluster::start_with(3, |config| config["quorum"] = "majority".into());
    let epoch = cluster.agree_on(3);
    let guarantee = cluster.status(2).unwrap().guarantee;
    let until_named = |number: usize, named: &[&str]| {
        eventually(&format!("node-{number} names {named:?}"), || {
            let problems = cluster.status(number)?.problems;
            let all = problems.iter().map(|problem| &*problem.text).collect::<Vec<_>>().join("; ");
            let told = named.iter().all(|named| all.contains(named));
            ensure(told && all.is_empty() == named.is_empty(), || all)
        });
    };
    write(&cluster, |config| {
        config["quorum"] = "majority".into();
        config["timing"]["failure"] = "7s".into();
    });
    until_named(1, &["` takes the timings"]);
    assert_eq!(reload(&cluster, "node-1").status.code(), Some(0));
    until_named(1, &["node-2 has other timings: heartbeat 100ms, failure 5s"]);
    until_named(2, &["node-1 has other timings: heartbeat 100ms, failure 7s", "`electd reload "]);
    for name in ["node-2", "node-3"] {
        assert_eq!(reload(&cluster, name).status.code(), Some(0));
    }
    until_named(1, &[]);
    until_named(2, &[]);
    assert_eq!(reload(&cluster, "node-1").stdout, b"nothing to change immediately\n");
    assert_ne!(cluster.status(2).unwrap().guarantee, guarantee, "it follows from the timings");
    // So long a lease would bind the other for longer than it lets anybody.
    write(&cluster, |config| {
        config["quorum"] = "majority".into();
        config["timing"]["failure"] = "200s".into();
    });
    let refused = cluster.node(1).post("/reload", "").unwrap();
    assert_eq!(refused.code, 400);
    let error = refused.error();
    assert!(error.contains("lease 160s and the 5.6s of node-2 are more than 16 times"), "{error}");
    assert_eq!(cluster.agree_on(3), epoch);
}

/// Whatever they told last: an operator who is left alone may need other timings most.
#[story]
fn members_that_are_gone_keep_nobody_from_other_timings() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    for gone in [1, 2] {
        cluster.node(gone).kill_9();
        eventually("node-3 notices", || {
            let status = cluster.status(3)?.members[gone - 1].status.clone();
            ensure(status != "alive", || status)
        });
    }
    write(&cluster, |config| config["timing"]["failure"] = "200s".into());
    let answer = cluster.node(3).post("/reload", "").unwrap();
    assert_eq!(answer.json()["result"], "changed immediately: timings");
}

type Breaks = fn(&mut Value);

/// Files with a problem, and a part of the message about it.
const BROKEN: [(Breaks, &[&str]); 18] = [
    (|config| config["timing"]["failure"] = "soon".into(), &["timing.failure", "soon", "duration"]),
    (|config| config["timing"]["failure"] = 500.into(), &["timing.failure", "500ms"]),
    (|config| config["timing"]["heartbeat"] = "4s".into(), &["twice the heartbeat"]),
    (|config| config["timing"]["message"] = "2500ms".into(), &["stalled"]),
    (|config| config["timing"]["lease"] = "6s".into(), &["lease 6s is above failure 5s"]),
    (|config| config["timing"]["lease"] = "1s".into(), &["too short to be renewed"]),
    (|config| config["timing"]["failure"] = "25h".into(), &["longer than a day"]),
    (|config| config["timing"]["patience"] = "1s".into(), &["patience"]),
    (|config| config["quorum"] = "most".into(), &["quorum", "most"]),
    (|config| config["algorithm"] = "paxos".into(), &["algorithm", "paxos"]),
    (|config| config["preempt"] = "sometimes".into(), &["preempt", "sometimes"]),
    (|config| config["rank"] = json!({"by": "beauty"}), &["rank.by", "beauty"]),
    (|config| config["no_such_key"] = 1.into(), &["no_such_key"]),
    (|config| config["members"][0]["address"] = "nowhere".into(), &["address", "nowhere"]),
    (|config| config["members"][1]["id"] = "7".into(), &["members[1].id"]),
    (|config| config["members"] = json!([]), &["members"]),
    (|config| config["members"][0]["name"] = "other".into(), &["no member \"node-1\""]),
    (
        |config| {
            config["cluster"] = 5.into();
            config["health"] = json!({"command": [], "fall": 0});
        },
        &["cluster", "health.command", "health.fall"],
    ),
];

/// Claim: bad-file.
#[story]
fn twenty_broken_files_change_nothing_and_each_problem_is_named() {
    let cluster = Cluster::prepare(1, |config| {
        steady(config);
        config["members"][0]["rank"] = json!({"priority": 4});
    });
    let good = fs::read_to_string(cluster.file()).unwrap();
    let token = cluster.file().with_file_name("token");
    fs::write(&token, "token").unwrap();
    cluster.node(1).start();
    let epoch = cluster.agree_on(1);
    let refused = |what: &str, named: &[&str]| {
        let answer = cluster.node(1).post("/reload", "").unwrap();
        assert_eq!(answer.code, 400, "{what}: {answer:?}");
        let error = answer.error();
        named.iter().for_each(|named| assert!(error.contains(named), "{what}: {named} in {error}"));
        let now = cluster.status(1).unwrap();
        assert_eq!((&*now.state, now.epoch), ("leading", epoch), "{what}");
        assert_eq!(now.members[0].rank.value, 4, "{what}");
    };
    for (breaks, named) in BROKEN {
        let mut config: Value = serde_json::from_str(&good).unwrap();
        // Another change that a good file would make.
        config["members"][0]["rank"] = json!({"priority": 9});
        let mut more = config["members"][0].clone(); // with TLS if the first has it
        more["name"] = "node-2".into();
        more["address"] = "127.0.0.1:1".into();
        more["id"] = "00000000-0000-4000-8000-000000000001".into();
        more.as_object_mut().unwrap().remove("admin");
        config["members"].as_array_mut().unwrap().push(more);
        breaks(&mut config);
        fs::write(cluster.file(), config.to_string()).unwrap();
        refused(&config.to_string(), named);
    }
    fs::write(cluster.file(), &good[..good.len() / 2]).unwrap();
    refused("half a file", &["cluster.json:1:"]);
    fs::write(cluster.file(), &good).unwrap();
    fs::remove_file(&token).unwrap();
    refused("no token", &["token"]);
    fs::write(&token, "token").unwrap();
    let answer = cluster.node(1).post("/reload", "").unwrap();
    assert_eq!(answer.json()["result"], "nothing to change immediately");
}

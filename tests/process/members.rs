//! Members that are added and removed while a cluster of real processes runs.

use std::process::Command;
use std::thread;

use electd::admin::control;
use story::story;

use crate::support::{self, Cluster, Finished, Node, ensure, eventually, for_each_algorithm};
use electd::core::settings::AlgorithmKind;
use serde_json::{Value, json};

for_each_algorithm! {
    a_cluster_grows_from_three_to_five_and_shrinks_to_two_while_a_leader_lives,
    a_leader_that_is_removed_hands_over_first,
    who_was_away_when_it_was_removed_is_told_when_it_comes_back,
    #[ignore = "long"]
    a_restart_of_all_with_the_old_file_keeps_the_list,
    a_newcomer_that_ranks_higher_takes_over_once_it_was_added,
    #[ignore = "long"]
    a_change_that_was_done_outlives_the_leader_that_made_it,
}

const REMOVED: i32 = 77;

/// Nodes of which the first three run and are the members of the file; with the entries of all.
pub fn three_of(n: usize, algorithm: AlgorithmKind, quorum: &str) -> (Cluster, Vec<Value>) {
    some_of(n, 3, algorithm, |config| {
        config["quorum"] = quorum.into();
        config["preempt"] = "never".into();
    })
}

/// As many as these run and are the members of the file.
fn some_of(
    n: usize,
    first: usize,
    algorithm: AlgorithmKind,
    change: impl FnOnce(&mut Value),
) -> (Cluster, Vec<Value>) {
    let mut entries = Vec::new();
    let cluster = Cluster::prepare(n, |config| {
        entries = config["members"].as_array().unwrap().clone();
        config["members"] = entries[..first].into();
        config["algorithm"] = algorithm.name().into();
        change(config);
    });
    (1..=first).for_each(|number| cluster.node(number).start());
    lead_by(&cluster, first);
    (cluster, entries)
}

/// Waits until the highest leads. At a first start a lower member may come first, and keeps leading if
/// nobody preempts: an election that an operator calls elects the highest.
#[track_caller]
fn lead_by(cluster: &Cluster, highest: usize) {
    eventually("the highest leads", || {
        let leader = cluster.node(1).status()?.leader.ok_or("nobody leads")?;
        if leader.name != cluster.node(highest).name {
            _ = cluster.node(highest).post("/elections", "");
        }
        ensure(leader.name == cluster.node(highest).name, || format!("{} leads", leader.name))
    });
    cluster.agree_on(highest);
}

/// Has a member added by way of this node.
#[track_caller]
pub fn add(by: &Node, entry: &Value) {
    let answer = by.post("/members", &entry.to_string()).unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(answer.json()["id"], entry["id"]);
}

/// Has a member removed by way of this node. Gives the code and the sentence.
pub fn remove(by: &Node, name: &str, query: &str) -> (u16, String) {
    let answer = by.delete(&format!("/members/{name}{query}")).unwrap();
    let document = answer.json();
    let sentence = document["result"].as_str().or(document["error"].as_str());
    (answer.code, sentence.unwrap_or_default().to_owned())
}

/// Waits until all running nodes list these members.
#[track_caller]
pub fn until_listed(cluster: &Cluster, numbers: &[usize]) {
    let expected: Vec<String> = numbers.iter().map(|number| format!("node-{number}")).collect();
    eventually(&format!("all list {expected:?}"), || {
        for node in cluster.running() {
            let members = node.status()?.members;
            let names: Vec<String> = members.into_iter().map(|member| member.name).collect();
            ensure(names == expected, || format!("{} lists {names:?}", node.name))?;
        }
        Ok(())
    });
}

/// Waits until all running nodes see all members alive.
#[track_caller]
fn until_all_live(cluster: &Cluster) {
    eventually("all see all alive", || {
        for node in cluster.running() {
            let members = node.status()?.members;
            let missed = members.iter().find(|member| member.status != "alive");
            let missed = missed.map(|member| format!("{} misses {}", node.name, member.name));
            missed.map_or(Ok(()), Err)?;
        }
        Ok(())
    });
}

/// Claim: voters.
fn a_cluster_grows_from_three_to_five_and_shrinks_to_two_while_a_leader_lives(
    algorithm: AlgorithmKind,
) {
    for quorum in ["none", "majority"] {
        let (cluster, entries) = three_of(5, algorithm, quorum);
        // The members refuse a newcomer that is not added yet and say why, and it starts no cluster of
        // its own.
        cluster.start_listing(4, &[entries[0].clone(), entries[3].clone()]);
        eventually("node-4 is refused", || {
            let status = cluster.node(4).status()?;
            let unknown = "is not in the member list of the side that refuses";
            let refused = status.rejections.iter().any(|it| it.reason.ends_with(unknown));
            ensure(refused && status.state == "starting", || format!("{status:?}"))
        });
        add(cluster.node(1), &entries[3]);
        until_listed(&cluster, &[1, 2, 3, 4]);
        cluster.agree_on(3);
        add(cluster.node(2), &entries[4]);
        cluster.start_listing(5, &[entries[1].clone(), entries[4].clone()]);
        until_listed(&cluster, &[1, 2, 3, 4, 5]);
        cluster.agree_on(3);
        until_all_live(&cluster);

        for (gone, by) in [(4, 1), (1, 5), (5, 2)] {
            let (code, sentence) = remove(cluster.node(by), &format!("node-{gone}"), "");
            assert_eq!(code, 200, "{sentence}");
            assert_eq!(cluster.node(gone).exit_code(), REMOVED);
            cluster.agree_on(3);
        }
        until_listed(&cluster, &[2, 3]);
    }
}

fn a_leader_that_is_removed_hands_over_first(algorithm: AlgorithmKind) {
    for quorum in ["none", "majority"] {
        let (cluster, _) = three_of(3, algorithm, quorum);
        let (code, sentence) = remove(cluster.node(1), "node-3", "");
        assert_eq!(code, 200, "{sentence}");
        assert!(sentence.starts_with("node-3 handed over first and is removed"), "{sentence}");
        assert_eq!(cluster.node(3).exit_code(), REMOVED);
        cluster.node(3).start();
        assert_eq!(cluster.node(3).exit_code(), REMOVED, "it remembers");
        cluster.agree_on(2);
        let (code, sentence) = remove(cluster.node(2), "node-2", "");
        assert_eq!(code, 200, "by itself: {sentence}");
        assert_eq!(cluster.node(2).exit_code(), REMOVED);
        cluster.agree_on(1);
        let (code, sentence) = remove(cluster.node(1), "node-1", "");
        assert_eq!(code, 409, "{sentence}");
        until_listed(&cluster, &[1]);
    }
}

fn who_was_away_when_it_was_removed_is_told_when_it_comes_back(algorithm: AlgorithmKind) {
    for quorum in ["none", "majority"] {
        let (cluster, _) = three_of(3, algorithm, quorum);
        cluster.node(1).kill_9();
        let (code, sentence) = remove(cluster.node(2), "node-1", "");
        assert_eq!(code, 200, "{sentence}");
        cluster.node(1).start();
        assert_eq!(cluster.node(1).exit_code(), REMOVED);
        cluster.agree_on(3);
    }
}

fn a_restart_of_all_with_the_old_file_keeps_the_list(algorithm: AlgorithmKind) {
    for quorum in ["none", "majority"] {
        let (cluster, entries) = three_of(4, algorithm, quorum);
        let theirs = [entries[0].clone(), entries[3].clone()];
        cluster.start_listing(4, &theirs);
        add(cluster.node(3), &entries[3]);
        until_listed(&cluster, &[1, 2, 3, 4]);
        cluster.agree_on(3);

        cluster.nodes().iter().for_each(Node::kill_9);
        (1..=3).for_each(|number| cluster.start_listing(number, &entries[..3]));
        cluster.start_listing(4, &theirs);
        cluster.agree();
        until_listed(&cluster, &[1, 2, 3, 4]);
        cluster.list(&entries[..3]); // the one file of all, which they look at again and again
        let words = "the members changed since the file was written: version ";
        eventually("node-1 tells how its file differs", || {
            let differs = cluster.status(1)?.differs_from_file.unwrap_or_default();
            ensure(differs.starts_with(words), || differs)
        });
        cluster.list(&theirs);
        // Of the start: the version has changed since.
        cluster.node(1).until_logged(&[words, " is with node-4; make the file match"]);
        let check = Command::new(env!("CARGO_BIN_EXE_electd"))
            .args(["check", "--node", "node-4", "--config"])
            .arg(cluster.file())
            .finished();
        let text = String::from_utf8(check.stdout).unwrap(); // its file lists two
        assert!(text.contains("is with node-2, node-3"), "{text}");
    }
}

fn a_newcomer_that_ranks_higher_takes_over_once_it_was_added(algorithm: AlgorithmKind) {
    for quorum in ["none", "majority"] {
        let (cluster, entries) = some_of(4, 3, algorithm, |config| {
            config["quorum"] = quorum.into(); // and "preempt": "always"
        });
        cluster.start_listing(4, &[entries[1].clone(), entries[3].clone()]);
        add(cluster.node(1), &entries[3]);
        cluster.agree_on(4);
        until_listed(&cluster, &[1, 2, 3, 4]);
    }
}

/// Runs `electd member` by way of a node. Gives the exit code and what it prints.
fn member(by: &Node, arguments: &[&str]) -> (i32, String) {
    let (action, rest) = arguments.split_first().unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_electd"))
        .args(["member", action, "--admin", &control::address(&by.state())])
        .args(rest)
        .finished();
    let text = [command.stdout, command.stderr].concat();
    (command.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[story]
fn the_command_line_adds_lists_and_removes() {
    let (cluster, _) = some_of(2, 2, AlgorithmKind::Bully, |_| {});
    let add = ["add", "--name", "node-9", "--address", "127.0.0.1:1", "--role", "observer"];
    let (code, text) = member(cluster.node(1), &add);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("node-9 belongs to the cluster now\nits id is "), "{text}");
    let (code, text) = member(cluster.node(2), &["list"]);
    assert_eq!(code, 0, "{text}");
    let line = text.lines().find(|line| line.starts_with("node-9")).unwrap();
    assert!(line.contains("observer") && line.contains("127.0.0.1:1"), "{line}");
    let told = ["INFO", "the member list is now version ", ": with node-9"];
    (1..=2).for_each(|number| _ = cluster.node(number).until_logged(&told));
    let (code, text) = member(cluster.node(1), &add);
    assert_eq!(
        (code, text.trim()),
        (1, "node-9 has this name already: give the new member one of its own")
    );
    let (code, text) = member(cluster.node(1), &["remove", "node-9"]);
    assert_eq!((code, text.trim()), (0, "node-9 is removed from the cluster"));
    let (code, text) = member(cluster.node(1), &["remove", "node-9"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("no member is named \"node-9\"; there are node-1, node-2"), "{text}");
    let (code, text) = member(cluster.node(1), &["remove", "node-2?force=true"]);
    assert!(code == 2 && text.contains("nobody's name"), "{code}: {text}");
    cluster.node(2).kill_9();
    assert_eq!(member(cluster.node(2), &["list"]).0, 69);
}

/// The nodes of a file are asked in its order, but not one that is about to end.
#[story]
fn the_command_line_removes_one_after_the_other() {
    let cluster = Cluster::start(4);
    cluster.agree_on(4);
    for name in ["node-1", "node-2"] {
        let args = ["member", "remove", name, "--config"];
        let removed =
            Command::new(env!("CARGO_BIN_EXE_electd")).args(args).arg(cluster.file()).finished();
        let text = String::from_utf8([removed.stdout, removed.stderr].concat()).unwrap();
        assert_eq!(text.trim(), format!("{name} is removed from the cluster"));
    }
}

/// The names that all running nodes list, if they list the same.
fn listed_by_all(cluster: &Cluster) -> Result<Vec<String>, String> {
    let mut lists: Vec<Vec<String>> = Vec::new();
    for node in cluster.running() {
        let members = node.status()?.members;
        lists.push(members.into_iter().map(|member| member.name).collect());
    }
    lists.dedup();
    ensure(lists.len() == 1, || format!("{lists:?}"))?;
    Ok(lists.remove(0))
}

/// Waits until all running nodes name one leader. Gives its number.
#[track_caller]
fn until_led(cluster: &Cluster) -> usize {
    let name = eventually("all name one leader", || {
        let mut names = Vec::new();
        for node in cluster.running() {
            names.push(node.status()?.leader.map(|leader| leader.name));
        }
        names.dedup();
        match &names[..] {
            [Some(name)] => Ok(name.clone()),
            _ => Err(format!("{names:?}")),
        }
    });
    name.trim_start_matches("node-").parse().unwrap()
}

/// The leader is killed as it is asked for a change: that is made or not, everywhere; and made if
/// it was said to be.
/// Claim: voters.
fn a_change_that_was_done_outlives_the_leader_that_made_it(algorithm: AlgorithmKind) {
    let (cluster, _) = some_of(4, 4, algorithm, |config| {
        config["quorum"] = "majority".into();
        support::watchful(config);
    });
    for round in 0..3 {
        let leader = until_led(&cluster);
        let by = cluster.node(leader % 4 + 1).state();
        let name = format!("extra-{round}");
        let entry = json!({"name": &name, "address": format!("127.0.0.1:{}", round + 1)});
        let answered = thread::scope(|scope| {
            let body = entry.to_string();
            let asked = scope.spawn(move || support::http::tell(&by, "POST", "/members", &body));
            if round > 0 {
                cluster.node(leader).kill_9();
            }
            asked.join().unwrap().map(|answer| answer.code)
        });
        if round > 0 {
            cluster.node(leader).start();
        }
        until_led(&cluster);
        let names = eventually("all list the same", || listed_by_all(&cluster));
        if answered.as_ref().is_ok_and(|code| *code == 200) {
            assert!(names.contains(&name), "{names:?} after {answered:?}");
        }
        eventually(&format!("{name} is removed again"), || {
            let leader = until_led(&cluster);
            let (code, sentence) = remove(cluster.node(leader % 4 + 1), &name, "");
            ensure(code == 200 || sentence.contains("no member is named"), || sentence)?;
            let names = listed_by_all(&cluster)?;
            ensure(!names.contains(&name), || format!("{names:?}"))
        });
    }
}

#[story]
fn one_voter_grows_to_two_when_the_second_runs_already() {
    let (cluster, entries) = some_of(2, 1, AlgorithmKind::Bully, |config| {
        config["quorum"] = "majority".into();
        config["preempt"] = "never".into();
    });
    let answer = cluster.node(1).post("/members", &entries[1].to_string()).unwrap();
    assert_eq!(answer.code, 409, "{answer:?}");
    assert!(answer.error().contains("1 of the voters would be alive, and 2"), "{answer:?}");
    cluster.start_listing(2, &entries);
    // Refused until node-1 has met it. It counts for nobody for a lease, in which node-1 may lose its leadership.
    eventually("node-2 is added", || {
        let answer = cluster.node(1).post("/members", &entries[1].to_string())?;
        let added = answer.code == 200 || answer.body.contains("already");
        ensure(added, || format!("{answer:?}"))
    });
    cluster.agree();
    until_listed(&cluster, &[1, 2]);
}

#[story]
fn a_second_change_while_one_is_under_way_is_refused() {
    let (cluster, entries) = three_of(5, AlgorithmKind::Bully, "majority");
    [1, 2].iter().for_each(|number| cluster.node(*number).freeze());
    let state = cluster.node(3).state();
    let ask = |entry: &Value| {
        let body = entry.to_string();
        let answer = support::http::tell(&state, "POST", "/members", &body).unwrap();
        (answer.code, answer.error())
    };
    let mut answers = thread::scope(|scope| {
        let other = scope.spawn(|| ask(&entries[3]));
        [ask(&entries[4]), other.join().unwrap()]
    });
    let is_second = |why: &str| why.contains("one at a time");
    answers.sort_by_key(|(_, why)| !is_second(why));
    let [(code, second), (_, first)] = &answers;
    assert!(*code == 409 && is_second(second) && !is_second(first), "{answers:?}");
}

/// Claim: voters.
#[story]
fn a_removal_that_would_lose_the_quorum_is_refused_unless_forced() {
    let (cluster, _) = three_of(3, AlgorithmKind::Bully, "majority");
    cluster.node(1).kill_9();
    cluster.until_seen(3, 1, "dead");
    let (code, sentence) = remove(cluster.node(2), "node-2", "");
    assert_eq!(code, 409, "{sentence}");
    assert!(sentence.contains("the quorum would be lost: 1"), "{sentence}");
    cluster.agree_on(3);
    let (code, sentence) = remove(cluster.node(3), "node-2", "?force=true");
    assert_eq!(code, 200, "{sentence}");
    cluster.node(1).start(); // so that a majority stores it, and nothing undoes it any more
    assert_eq!(cluster.node(2).exit_code(), REMOVED);
    until_listed(&cluster, &[1, 3]);
}

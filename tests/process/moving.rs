//! Members that move to other addresses, and members that get other names.

use std::fs;
use std::process::{Command, Output};

use electd::core::settings::Quorum;
use electd::node::status::Status;
use serde_json::Value;
use story::story;

use crate::support::{Cluster, Finished, Node, done, ensure, eventually, http};

/// Three nodes whose list a command has changed, so that the addresses of the file do not count any more; and entries of
/// all at other addresses.
fn changed(quorum: Quorum) -> (Cluster, Vec<Value>) {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["quorum"] = quorum.name().into();
        config["preempt"] = "never".into();
    });
    cluster.agree();
    let add =
        ["member", "add", "--name", "extra", "--address", "127.0.0.1:1", "--role", "observer"];
    member(&cluster, &add);
    member(&cluster, &["member", "remove", "extra"]);
    // Places that no other cluster has: those of one that is never started.
    let elsewhere = Cluster::prepare(3, |_| {});
    let place = |number: usize, key: &str| elsewhere.config()["members"][number][key].clone();
    let mut entries = cluster.config()["members"].as_array().unwrap().clone();
    for (number, entry) in entries.iter_mut().enumerate() {
        for key in ["address", "admin"] {
            entry[key] = place(number, key);
        }
    }
    (cluster, entries)
}

/// Runs `electd member` with the file of the cluster.
fn try_member(cluster: &Cluster, args: &[&str]) -> Output {
    let file = cluster.file();
    let args = [&args[..2], &["--config", file.to_str().unwrap()], &args[2..]].concat();
    Command::new(env!("CARGO_BIN_EXE_electd")).args(args).finished()
}

#[track_caller]
fn member(cluster: &Cluster, args: &[&str]) -> String {
    done(&try_member(cluster, args))
}

/// The status of a node by its control socket, as its HTTP may be elsewhere than the cluster knows.
fn status(node: &Node) -> Result<Status, String> {
    let answer = http::tell(&node.state(), "GET", "/status", "").map_err(|it| it.to_string())?;
    serde_json::from_str(&answer.body).map_err(|error| format!("{error}: {answer:?}"))
}

/// Waits until all running nodes list the members with these entries, and each sees all alive.
#[track_caller]
fn until_all_live_at(cluster: &Cluster, entries: &[Value]) {
    eventually("all list the same, and see all alive", || {
        for node in cluster.running() {
            for (member, entry) in status(node)?.members.iter().zip(entries) {
                let as_listed =
                    (entry["name"].as_str(), entry["address"].as_str(), entry["admin"].as_str());
                let is_so = (Some(&*member.name), Some(&*member.address), member.admin.as_deref());
                ensure(is_so == as_listed, || format!("{}: {member:?}", node.name))?;
                ensure(member.status == "alive", || format!("{}: {member:?}", node.name))?;
            }
        }
        Ok(())
    });
}

/// Waits until all running nodes name one leader, in one epoch.
#[track_caller]
fn until_led(cluster: &Cluster) -> (String, u64) {
    eventually("all name one leader", || {
        let mut leaders = Vec::new();
        for node in cluster.running() {
            let leader = status(node)?.leader.ok_or_else(|| format!("{} has none", node.name))?;
            leaders.push((leader.name, leader.epoch));
        }
        leaders.dedup();
        ensure(leaders.len() == 1, || format!("{leaders:?}")).map(|()| leaders.remove(0))
    })
}

/// Waits until no node says that its file differs from the list.
#[track_caller]
fn until_no_file_differs(cluster: &Cluster) {
    eventually("no file differs", || {
        for node in cluster.running() {
            let shown = status(node)?;
            let told = shown.differs_from_file.unwrap_or_default();
            ensure(told.is_empty(), || told)?;
            let kinds: Vec<String> = shown.problems.into_iter().map(|it| it.kind).collect();
            ensure(!kinds.contains(&"config_differs".to_owned()), || format!("{kinds:?}"))?;
        }
        Ok(())
    });
}

#[story]
fn a_cluster_moves_host_by_host_and_then_takes_all_addresses_in_one_step() {
    for quorum in Quorum::ALL {
        let (cluster, entries) = changed(quorum);
        cluster.list(&entries); // on all hosts first
        for number in 1..=3 {
            let too_early = try_member(&cluster, &["member", "set", "--all"]);
            assert_eq!(too_early.status.code(), Some(1), "{too_early:?}");
            let why = String::from_utf8_lossy(&too_early.stderr).into_owned();
            assert!(why.contains("lives and does not answer at"), "{why}");
            cluster.node(number).restart();
            until_led(&cluster);
        }
        eventually("node-1 says what to do", || {
            let told = status(cluster.node(1))?.differs_from_file.unwrap_or_default();
            ensure(told.contains("`member set --all`"), || told)
        });
        let epoch = until_led(&cluster).1;
        let said = member(&cluster, &["member", "set", "--all"]);
        assert_eq!(said, "the members have these names and addresses now\n");
        until_all_live_at(&cluster, &entries);
        assert_eq!(until_led(&cluster).1, epoch, "that costs no leadership");
        until_no_file_differs(&cluster);
        let again = member(&cluster, &["member", "set", "--all"]);
        assert!(again.starts_with("nothing to change"), "{again}");

        cluster.nodes().iter().for_each(Node::kill_9);
        cluster.nodes().iter().for_each(Node::start);
        until_led(&cluster);
        until_all_live_at(&cluster, &entries);
    }
}

/// All hosts go down in one network and come up in another: the stored addresses are all wrong, those of the files right.
#[story]
fn a_cluster_that_was_down_comes_up_at_the_addresses_of_its_files() {
    for quorum in Quorum::ALL {
        let (cluster, entries) = changed(quorum);
        cluster.nodes().iter().for_each(Node::kill_9);
        cluster.list(&entries);
        cluster.nodes().iter().for_each(Node::start);
        until_led(&cluster);
        member(&cluster, &["member", "set", "--all"]);
        until_all_live_at(&cluster, &entries);
        until_no_file_differs(&cluster);
    }
}

#[story]
fn a_member_gets_another_name_and_address_while_it_is_down() {
    let (cluster, mut entries) = changed(Quorum::Majority);
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    let before = cluster.config()["members"].as_array().unwrap().clone();
    (entries[1], entries[2]) = (before[1].clone(), before[2].clone());
    let text = |key: &str| entries[0][key].as_str().unwrap().to_owned();
    let (address, admin) = (text("address"), text("admin"));
    let refused = try_member(&cluster, &["member", "set", "node-1", "--name", "node-2"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(why.trim(), "node-2 has this name: no two members share one");
    let set = ["member", "set", "node-1", "--name", "first", "--address", &address];
    member(&cluster, &[&set[..], &["--member-admin", &admin]].concat());
    entries[0]["name"] = "first".into();
    cluster.list(&entries);

    let data = cluster.file().with_file_name("data");
    fs::rename(data.join("node-1"), data.join("first")).unwrap();
    let mut config = cluster.config().clone();
    config["members"] = entries.clone().into();
    let place = [&address, &admin].map(|at| at.parse().unwrap());
    let first = cluster.process(1, (place[0], place[1]), "first", &config);
    first.start();
    until_all_live_at(&cluster, &entries);
    until_no_file_differs(&cluster);
    eventually("it follows, under its new name", || {
        let shown = status(&first)?;
        ensure(shown.node.name == "first" && shown.leader.is_some(), || format!("{shown:?}"))
    });
}

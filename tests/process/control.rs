//! The control socket: commands on a node's own host need no token, whatever an earlier process left behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use electd::admin::control;
use serde_json::Value;
use story::story;

use crate::support::{Cluster, Finished, electd};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Nodes without an admin address are asked by their control sockets alone.
fn without_admin(config: &mut Value) {
    for member in config["members"].as_array_mut().unwrap() {
        member.as_object_mut().unwrap().remove("admin");
    }
}

#[story]
fn a_killed_nodes_socket_is_replaced_and_commands_go_on() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    let node = cluster.node(3);
    node.kill_9();
    assert!(control::path(&node.state()).exists(), "nobody removed it");
    let output = electd(&cluster, &["leader", "--check", "--node", "node-3"]);
    assert_eq!(output.status.code(), Some(69), "{}", text(&output));
    node.start();
    cluster.agree_on(3);
    let output = electd(&cluster, &["resign", "--to", "node-2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("node-2 leads in epoch"), "{}", text(&output));
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    assert!(!control::path(&node.state()).exists());
}

/// As systemd-tmpfiles and other cleaners do.
#[story]
fn a_socket_that_is_removed_while_its_node_runs_is_made_anew() {
    let cluster = Cluster::start_with(1, without_admin);
    let node = cluster.node(1);
    let leads = || {
        crate::support::eventually("the node says that it leads", || {
            let output = electd(&cluster, &["leader", "--check", "--node", "node-1"]);
            if output.status.success() { Ok(()) } else { Err(text(&output)) }
        });
    };
    leads();
    for _ in 0..2 {
        fs::remove_file(control::path(&node.state())).unwrap();
        leads();
    }
    assert!(node.log().contains("control.sock was removed; it is there again"), "{}", node.log());
}

#[story]
fn a_cluster_without_admin_addresses_is_asked_on_its_host() {
    let cluster = Cluster::prepare(2, without_admin);
    (1..=2).for_each(|number| cluster.node(number).start());
    let told = crate::support::eventually("node-2 leads", || {
        let output = electd(&cluster, &["leader"]);
        if output.status.code() == Some(0) { Ok(text(&output)) } else { Err(text(&output)) }
    });
    assert!(told.starts_with("node-2 "), "{told}");
    let output = electd(&cluster, &["reload", "--node", "node-1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[story]
fn a_file_that_is_no_socket_is_told() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    fs::create_dir_all(node.state()).unwrap();
    fs::write(control::path(&node.state()), "").unwrap();
    node.start();
    assert_eq!(node.exit_code(), 71);
    assert!(
        node.log().contains("control.sock: a file that is no socket is there"),
        "{}",
        node.log()
    );
}

/// Only the folder of node-1 is on this host: to node-2, which leads, a command goes over TCP.
#[story]
fn where_the_leader_wants_a_token_the_node_of_this_host_passes_the_command_on() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let host = cluster.file().with_file_name("host");
    fs::create_dir(&host).unwrap();
    symlink(cluster.node(1).state(), host.join("node-1")).unwrap();
    let mut config = cluster.config().clone();
    config["data_dir"] = host.display().to_string().into();
    let file = cluster.file().with_file_name("host.json");
    fs::write(&file, config.to_string()).unwrap();
    for order in ["pause", "resume"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args([order, "--config"]).arg(&file);
        let output = command.env_remove("ELECTD_ADMIN").finished();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
}

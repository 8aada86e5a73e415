//! What a playbook relies on: a command that changes nothing the second time, and the members as a file.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use story::story;

use crate::support::{Cluster, Finished, done};

const ID: &str = "0f5b1c0e-6c1a-4a53-8d5e-3c1f7a9b2d41";

#[story]
fn a_member_is_added_once_and_the_list_is_written_as_a_file() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let electd = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(args).arg("--config").arg(cluster.file()).finished()
    };
    let add = |address| {
        let what = ["--name", "node-9", "--id", ID, "--address", address, "--role", "observer"];
        electd(&[&["member", "add", "--if-absent"], &what[..]].concat())
    };
    for result in ["belongs to the cluster now", "is a member already"] {
        let text = done(&add("127.0.0.1:1"));
        assert!(text.contains(result) && text.contains(ID), "{text}");
    }
    assert_eq!(add("127.0.0.1:2").status.code(), Some(1), "the name is another member's");
    let text = done(&electd(&["member", "list", "--output", "config"]));
    let written: Value = serde_json::from_str(&text).unwrap();
    let file = fs::read_to_string(cluster.file()).unwrap();
    let mut expected: Value = serde_json::from_str(&file).unwrap();
    let added = json!({"name": "node-9", "id": ID, "address": "127.0.0.1:1", "role": "observer"});
    expected["members"].as_array_mut().unwrap().push(added);
    assert_eq!(written, expected, "the file, with the new member");
}

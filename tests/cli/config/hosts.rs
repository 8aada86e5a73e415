//! What `check` finds on this host: the addresses of the members, and the disk of a node.

use std::fs;

use super::files::*;

#[test]
fn a_member_whose_host_has_no_address_here_is_warned_of() {
    // A name that no name service may ever know (RFC 2606).
    let file = with("127.0.0.1:7102", "host.invalid:7102");
    let text = stdout(&file.check(&["--node", "node-1"]));
    let warning =
        "WARNING: host.invalid:7102, the address of node-2, does not resolve on this host: ";
    assert!(text.contains(warning), "{text}");
    let json = |node| -> serde_json::Value {
        let output = file.check(&["--output", "json", "--node", node]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(json("node-1")["unresolved"][0]["member"], "node-2");
    assert_eq!(json("node-2")["unresolved"], serde_json::json!([]), "a node does not dial itself");
}

#[test]
fn a_member_whose_address_is_loopback_and_a_disk_that_cannot_be_tried_are_told() {
    let file = with("127.0.0.1:7102", "192.0.2.7:7102");
    fs::write(
        &file.path,
        fs::read_to_string(&file.path).unwrap().replace("\"data\"", "\"/proc/none\""),
    )
    .unwrap();
    let text = stdout(&file.check(&["--node", "node-1"]));
    let lines = "\
its disk   how long a durable write takes cannot be told: No such file or directory (os error 2)
its address WARNING: 127.0.0.1:7101 is 127.0.0.1 on this host, which no other host can dial, and node-2 is on another, \
at 192.0.2.7: give ";
    assert!(text.contains(lines), "{text}");
    let told = |node| -> serde_json::Value {
        let output = file.check(&["--output", "json", "--node", node]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (first, second) = (told("node-1"), told("node-2"));
    let why = first["hidden"].as_str().unwrap();
    assert!(why.starts_with("127.0.0.1:7101 is 127.0.0.1 on this host, "), "{why}");
    assert_eq!((&first["durable_write_ms"], &second["hidden"]), (&().into(), &().into()));
}

//! The examples for containers: what is in their files is what the program takes, and what docs/containers.md says.

use std::fs;

use serde_json::Value;

use super::files::*;

fn example(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/containers");
    fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// The members of a configuration, as `check` reads them.
fn members(config: &str) -> Vec<Value> {
    let output = ConfigFile::new(config).check(&["--output", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&read["quorum"], &read["data_dir"]),
        (&"majority".into(), &"/var/lib/electd".into())
    );
    read["members"].as_array().unwrap().clone()
}

/// A container binds what it has, and tells the others where they reach it.
fn bind_all_addresses(members: &[Value]) {
    for member in members {
        assert_eq!(
            (&member["listen"], &member["admin_listen"]),
            (&"0.0.0.0:7101".into(), &"0.0.0.0:7201".into())
        );
        assert_ne!(member["admin"], member["admin_listen"]);
    }
}

/// The lines of a block of YAML below this key, without their indent.
fn block(yaml: &str, key: &str) -> String {
    let (_, rest) = yaml.split_once(&format!("{key}: |\n")).unwrap();
    let indent = rest.len() - rest.trim_start().len();
    let inner = rest.lines().take_while(|line| line.len() - line.trim_start().len() >= indent);
    inner.map(|line| format!("{}\n", &line[indent..])).collect()
}

#[test]
fn the_file_of_compose_publishes_what_its_members_bind() {
    let members = members(&example("cluster.json"));
    bind_all_addresses(&members);
    let compose = example("compose.yaml");
    for words in [
        "\"7101:7101\"",
        "\"7201:7201\"",
        "./cluster.json:/etc/electd/cluster.json:ro",
        ":/var/lib/electd\n",
        "ELECTD_NODE:",
    ] {
        assert!(compose.contains(words), "{words} is missing from\n{compose}");
    }
    assert!(!compose.contains("healthcheck"), "the image has one");
}

#[test]
fn the_image_asks_whether_the_node_lives_and_runs_it_as_its_own_user() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let image = fs::read_to_string(format!("{folder}/Containerfile")).unwrap();
    for words in [
        "CMD [\"electd\", \"health\", \"--live\"]\n",
        "\nUSER electd\n",
        "\nVOLUME /var/lib/electd\n",
        "\nSTOPSIGNAL SIGTERM\n",
        "\nENTRYPOINT [\"/usr/bin/electd\"]\nCMD [\"run\"]\n",
    ] {
        assert!(image.contains(words), "{words} is missing from\n{image}");
    }
}

#[test]
fn the_stateful_set_has_a_member_for_each_pod_and_starts_them_at_once() {
    let yaml = example("statefulset.yaml");
    let members = members(&block(&yaml, "cluster.json"));
    bind_all_addresses(&members);
    assert!(yaml.contains(&format!("replicas: {}\n", members.len())), "{yaml}");
    for (number, member) in members.iter().enumerate() {
        assert_eq!(member["name"], format!("electd-{number}"), "the name of the pod");
        assert_eq!(member["address"], format!("electd-{number}.electd:7101"));
        assert_eq!(member["admin"], format!("electd-{number}.electd:7201"));
    }
    for words in [
        "podManagementPolicy: Parallel\n",
        "minReadySeconds: 5\n",
        "publishNotReadyAddresses: true\n",
        "command: [electd, health, --live]\n",
        "path: /readyz\n",
        "serviceName: electd\n",
    ] {
        assert!(yaml.contains(words), "{words} is missing from\n{yaml}");
    }
    assert!(!yaml.contains("/leader"), "no probe asks who leads");
}

/// All hosts may publish and bind other ports.
#[test]
fn http_may_bind_the_port_at_which_the_peers_of_another_host_are_dialed() {
    let own = "\"admin\": \"127.0.0.1:7202\"";
    let other = format!("{own}, \"admin_listen\": \"0.0.0.0:7101\"");
    assert!(GOOD.contains(own));
    let checked = ConfigFile::new(&GOOD.replace(own, &other)).check(&[]);
    assert!(checked.status.success(), "{}", stderr(&checked));
}

//! `health`: what is taken, what is refused, and what `check` shows of it.

use serde_json::{Value, json};

use super::files::*;

/// The good file with this `health` for all, and this in the second entry where it is not empty.
fn checked(all: &str, second: &str) -> ConfigFile {
    let all = format!("\"quorum\": \"none\", \"health\": {all},");
    let second = format!("{{\"name\": \"node-2\", {second}");
    let text = GOOD.replace("\"quorum\": \"none\",", &all);
    ConfigFile::new(&text.replace("{\"name\": \"node-2\", ", &second))
}

fn shown(file: &ConfigFile, more: &[&str]) -> Value {
    let output = file.check(&[&["--output", "json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_left_out_has_defaults_and_a_members_own_replaces_that_of_all() {
    let own = r#""health": {"command": ["false"], "every": "1s", "timeout": "20ms", "fall": 1, "rise": 5, "alone": "step-down"}, "#;
    let file = checked(r#"{"command": ["echo", "well"]}"#, own);
    let members = shown(&file, &[])["members"].clone();
    let defaults = json!({
        "command": ["echo", "well"], "every_ms": 2000, "timeout_ms": 1000, "fall": 3, "rise": 2, "alone": "lead"
    });
    assert_eq!(members[0]["health"], defaults);
    let own = json!({
        "command": ["false"], "every_ms": 1000, "timeout_ms": 20, "fall": 1, "rise": 5, "alone": "step-down"
    });
    assert_eq!(members[1]["health"], own);
    let short = shown(&checked(r#"{"command": ["true"], "every": "400ms"}"#, ""), &[]);
    assert_eq!(short["members"][0]["health"]["timeout_ms"], 200);
}

#[test]
fn a_member_that_never_leads_is_not_checked_unless_it_says_so() {
    let file = checked(r#"{"command": ["true"]}"#, r#""role": "witness", "#);
    assert!(shown(&file, &[])["members"][1]["health"].is_null());
}

#[test]
fn check_runs_the_check_of_the_node_that_is_named() {
    let file = checked(
        r#"{"command": ["sh", "-c", "echo $ELECTD_NODE"]}"#,
        r#""health": {"command": ["false"]}, "#,
    );
    let passed = json!({"passes": true, "output": "node-1", "failure": null});
    assert_eq!(shown(&file, &["--node", "node-1"])["node_health"], passed);
    let failed = json!({"passes": false, "output": "", "failure": "`false` exited with code 1"});
    assert_eq!(shown(&file, &["--node", "node-2"])["node_health"], failed);
    let text = stdout(&file.check(&["--node", "node-2"]));
    for piece in [
        "health     2 of 2 members have a health check",
        "its check  `false` every 2s, each for at most 1s; unhealthy after 3 failures in a row, healthy after 2",
        "its health WARNING: fails: `false` exited with code 1",
    ] {
        assert!(text.contains(piece), "{piece} is missing from\n{text}");
    }
}

#[test]
fn a_check_that_is_not_there_is_told_to_programs() {
    let file =
        checked(r#"{"command": ["/there/is/none"]}"#, r#""health": {"command": ["false"]}, "#);
    for (node, code, why) in [("node-1", 1, "cannot be run"), ("node-2", 0, "exited with code 1")] {
        let output = file.check(&["--node", node, "--output", "json"]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let warned = told["warnings"].to_string();
        assert!(warned.contains("its health: fails: ") && warned.contains(why), "{told:#}");
    }
}

#[test]
fn problems_have_a_place_and_a_remedy() {
    let with = |health, problem| one_problem_of("health", health, problem);
    with(
        "{}",
        "3:31: health.command: is missing: list a program and its arguments, such as \
         [\"/etc/electd/check\"]",
    );
    with(
        r#"{"command": ["x"], "rize": 2}"#,
        "3:50: health.rize: unknown key (value 2): did you mean `rise`?",
    );
    with(
        r#"{"command": ["x"], "fall": 0}"#,
        "3:58: health.fall: is no number of checks in a row (value 0): give a number from 1 to 1000",
    );
    with(
        r#"{"command": ["x"], "rise": "2"}"#,
        "3:58: health.rise: is a string, not a number (value \"2\"): write it without quotes",
    );
    with(
        r#"{"command": ["x"], "alone": "leed"}"#,
        "3:59: health.alone: alone cannot be \"leed\": did you mean \"lead\"?",
    );
    with(
        r#"{"command": ["x"], "every": "1s", "timeout": "1s"}"#,
        "3:76: health.timeout: timeout 1s is not below every 1s (value \"1s\"): lower timeout, or \
         raise every: a check ends before the next begins",
    );
    with(
        r#"{"command": ["x"], "every": "99ms"}"#,
        "3:59: health.every: is under 100ms (value \"99ms\"): give at least \"100ms\"",
    );
    with(
        r#"{"command": ["x"], "timeout": "9ms"}"#,
        "3:61: health.timeout: is under 10ms (value \"9ms\"): give at least \"10ms\"",
    );
    with(
        r#"{"command": ["x"], "rise": 1001}"#,
        "3:58: health.rise: is no number of checks in a row (value 1001): give a number from 1 to 1000",
    );
}

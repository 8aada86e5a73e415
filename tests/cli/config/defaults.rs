//! The values of what a file leaves out, and those that follow from others: as `check` shows them.

use serde_json::{Value, json};

use super::files::*;

/// What `check` says of a file with little in it.
fn checked(more: &str) -> Value {
    let members = ["a", "b", "c"].map(|name| {
        let id = format!("00000000-0000-4000-8000-00000000000{name}");
        format!(
            "{{\"name\": \"{name}\", \"id\": \"{id}\", \"address\": \"10.0.0.1:710{}\"}}",
            name.len()
        )
    });
    let members = (1..)
        .zip(members)
        .map(|(at, member)| member.replace("10.0.0.1:", &format!("10.0.0.{at}:")));
    let members = members.collect::<Vec<_>>().join(", ");
    let text = format!(
        "{{\"cluster\": \"demo\", \"data_dir\": \"data\", {more} \"members\": [{members}]}}"
    );
    let output = ConfigFile::new(&text).check(&["--output", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn all_timings_follow_from_failure() {
    let timing = |more: &str| checked(more)["timing"].clone();
    assert_eq!(
        timing("\"quorum\": \"none\","),
        json!({"heartbeat_ms": 100, "failure_ms": 500, "message_ms": 50, "lease_ms": 400, "t1_ms": 100, "t2_ms": 400,
            "stall_ms": 400, "job_term_ms": 100, "job_kill_ms": 50})
    );
    let longer = "\"quorum\": \"majority\", \"timing\": {\"failure\": \"2200ms\"},";
    assert_eq!(
        timing(longer),
        json!({"heartbeat_ms": 440, "failure_ms": 2200, "message_ms": 220, "lease_ms": 1760, "t1_ms": 440,
            "t2_ms": 1760, "stall_ms": 1760, "job_term_ms": 360, "job_kill_ms": 180})
    );
}

#[test]
fn with_a_majority_a_key_without_effect_is_warned_of() {
    for given in [true, false] {
        let told = |quorum: &str| {
            checked(&format!("\"quorum\": \"{quorum}\", \"trust_refused\": {given},"))
        };
        let (none, majority) = (told("none"), told("majority"));
        assert_eq!((&none["trust_refused"], &none["warnings"]), (&given.into(), &json!([])));
        assert_eq!(majority["trust_refused"], false);
        let warning = majority["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("trust_refused has no effect with a majority"), "{warning}");
        assert_eq!(
            [&majority["crash_failover_ms"], &majority["worst_failover_ms"]],
            [&json!(400), &json!(900)]
        );
        let apart = ["unsteady_adds_ms", "dual_leader_window_ms"]
            .map(|key| (none[key].clone(), majority[key].clone()));
        assert_eq!(apart, [(Value::Null, json!(2100)), (json!(800), Value::Null)]);
    }
}

#[test]
fn what_is_left_out_of_a_file_has_its_default() {
    for (quorum, trusts) in [("none", true), ("majority", false)] {
        let found = checked(&format!("\"quorum\": \"{quorum}\","));
        let told = |key: &str| found[key].clone();
        assert_eq!(
            ["algorithm", "preempt", "rank", "margin"].map(told),
            ["bully", "always", "id", "0"].map(Value::from)
        );
        assert_eq!((told("trust_refused"), told("tls")), (trusts.into(), false.into()), "{quorum}");
        assert_eq!((told("realtime"), told("realtime_refused")), (false.into(), Value::Null));
        let member = &found["members"][0];
        assert_eq!((&member["role"], &member["listen"]), (&json!("member"), &member["address"]));
        assert_eq!((&member["admin"], &member["health"]), (&Value::Null, &Value::Null));
    }
    let folder =
        &checked("\"quorum\": \"none\", \"rank\": {\"by\": \"files\", \"path\": \"/tmp\"},");
    assert_eq!(folder["members"][2]["rank_every_ms"], 30_000, "{folder}");
}

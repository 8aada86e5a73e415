//! What the fuzzer writes into a configuration, and what must hold of every configuration that is
//! accepted.

use std::path::Path;

use super::{Config, MemberConfig, entry, parse};
use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::settings::Timing;
use electd_election::limits::{is_cluster_name, is_name};

/// Configurations with every key.
pub fn seeds() -> Vec<Vec<u8>> {
    let every = r#"{"cluster": "demo", "quorum": "majority", "data_dir": "data", "algorithm": "ring",
        "preempt": {"after": "30s"}, "trust_refused": true, "realtime": true, "node": "a", "admin_token_file": "token",
        "admin_names": ["electd.example"],
        "control_group": "wheel", "rank": {"by": "command", "command": ["./rank", "-1"],
        "timeout": "1s", "every": "10s", "margin": "10%"},
        "timing": {"heartbeat": "100ms", "failure": "500ms", "message": "50ms", "lease": "0.4s"},
        "hooks": {"on_change": ["./told", "x"], "timeout": "5s"},
        "health": {"command": ["check"], "every": "5s", "timeout": "1s", "fall": 2, "rise": 3,
        "alone": "step-down"},
        "locks": {"names": "declared", "most": 5, "spread": {"rebalance": {"after": "5m", "at_once": 2}},
        "vip": {"prefer": ["b", "a"], "only": ["a", "b"], "weight": 3}, "job": {"with": "vip"}},
        "members": [
        {"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "a.example:7101",
         "listen": "0.0.0.0:7101", "admin": "a.example:7201", "health": {"command": ["other"]}},
        {"name": "b", "id": "00000000-0000-4000-8000-000000000002", "address": "[fe80::1%3]:7101",
         "rank": {"command": ["own"]}, "hooks": {"on_change": ["own"]}},
        {"name": "w", "id": "00000000-0000-4000-8000-000000000003", "address": "10.0.0.3:7101",
         "role": "witness"}]}"#;
    let entry = r#"{"name": "n4", "id": "5b1d4a36-6a1c-4ac8-9d5c-6a2f2b1f0c11", "address": "h:1",
        "listen": "0.0.0.0:1", "admin": "h:2", "role": "observer", "rank": {"priority": 3}}"#;
    // The names of members in it are not judged, as there are none.
    let wrong = r#"{"cluster": "demo", "quorum": "majority", "members": [{}],
        "locks": {"x": {"only": ["a"], "prefer": ["a\u0000"]}}}"#;
    let plain = include_str!("../../conf/cluster.json");
    [plain, every, entry, wrong].map(|text| text.as_bytes().to_vec()).to_vec()
}

/// A file, and one member's entry as it comes by HTTP.
pub fn check(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        match parse(text, Path::new("/etc/electd/cluster.json")) {
            Ok(config) => keeps_to_bounds(&config),
            Err(errors) => {
                assert!(!errors.problems.is_empty(), "it is refused without a reason");
                for problem in errors.problems {
                    let line = problem.to_string();
                    assert!(!line.contains(char::is_control), "{line:?}");
                    assert!(problem.position.is_none_or(|at| at.line > 0 && at.column > 0));
                }
            }
        }
    }
    match entry::parse(bytes) {
        Ok(member) => assert!(member.judge().is_ok()),
        Err(why) => assert!(!why.is_empty()),
    }
}

fn keeps_to_bounds(config: &Config) {
    assert!(is_cluster_name(&config.cluster), "{:?}", config.cluster);
    let members = config.members.iter().map(|member| {
        let MemberConfig { name, id, address, admin, role, .. } = member.clone();
        assert!(is_name(&name), "{name:?}");
        Member { id, name, address, admin, role }
    });
    let members = MemberList::new(ListVersion::default(), members.collect());
    assert_eq!(members.judge(), Ok(()), "the file takes what no list may hold");
    let Timing { heartbeat, failure, message, lease } = config.timing;
    for time in [heartbeat, failure, message, lease] {
        assert!(!time.is_zero() && time <= Timing::LONGEST, "{time:?}");
    }
    assert!(heartbeat < failure, "{:?}", config.timing);
    assert!(config.node.as_deref().is_none_or(|node| config.member(node).is_some()));
}

//! What `electd check` says of a node and of its host.

use std::path::Path;

use super::*;

/// Members that share one host, with a health check and a hook.
fn config(members: usize) -> Config {
    let member = |at: usize| {
        let id = format!("00000000-0000-4000-8000-{at:0>12}");
        json!({ "name": format!("n{at}"), "id": id, "address": format!("10.0.0.1:{}", 7000 + at) })
    };
    let text = json!({
        "cluster": "demo", "quorum": "majority", "data_dir": "/no/such", "trust_refused": true, "realtime": true,
        "timing": {"heartbeat": "100ms", "failure": "500ms", "message": "50ms", "lease": "400ms"},
        "health": {"command": ["/no/check"]}, "hooks": {"on_change": ["/no/hook"]},
        "members": (1..=members).map(member).collect::<Vec<_>>(),
    });
    crate::config::parse(&text.to_string(), Path::new("/c.json")).unwrap()
}

fn found(config: &Config, disk: Result<Duration, String>) -> Found<'_> {
    let node = &config.members[0];
    Found {
        node,
        asker: Asker::of(config, node),
        sample: Err("no file".to_owned()),
        health: Some(Finding { output: String::new(), failure: None }),
        unresolved: Vec::new(),
        hidden: Some("it means loopback".to_owned()),
        urgent: Urgent::of(config),
        disk,
    }
}

#[test]
fn each_finding_about_a_node_has_a_line() {
    let config = config(51);
    let shown = summary(&config, Some(&found(&config, Ok(Duration::from_millis(1)))));
    let keys = shown.lines().map(|line| line.split_at(11).0.trim_end());
    let keys: Vec<&str> = keys.filter(|key| *key != "its jobs").collect(); // of a slow host
    let expected = [
        "cluster",
        "quorum",
        "algorithm",
        "preempt",
        "rank",
        "data_dir",
        "file",
        "health",
        "hosts",
        "node",
        "asked as",
        "its rank",
        "its check",
        "its health",
        "its hook",
        "real time",
        "its disk",
        "its address",
    ];
    assert_eq!(keys, expected, "{shown}");
    for line in [
        "health     51 of 51 members have a health check\n",
        "its rank   none: no file; without one it is not eligible\n",
        "its health passes\n",
        "its hook   WARNING: /no/hook is not on this host, or this user may not run it\n",
        "its disk   a durable write takes 1 ms here\n",
        "its addressWARNING: it means loopback\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    let bare = summary(&config, None);
    assert!(
        bare.contains("hosts      WARNING: 51 members share") && !bare.contains("its "),
        "{bare}"
    );
}

#[test]
fn a_disk_is_slow_from_the_longest_write_on_and_only_where_a_majority_is_needed() {
    let mut config = config(3);
    let limit = bounds::longest_write(&config.timing);
    let judged = |config: &Config, disk| {
        let found = found(config, disk);
        (found.disk_is_slow(config), found.disk_words(config))
    };
    let below = limit - Duration::from_nanos(1);
    assert_eq!(judged(&config, Ok(below)).0, Some(false));
    assert!(judged(&config, Ok(below)).1.starts_with("a durable write takes "));
    let (slow, words) = judged(&config, Ok(limit));
    assert_eq!(slow, Some(true));
    assert!(words.starts_with("WARNING: a durable write takes "), "{words}");
    assert!(
        words.contains("lease 400ms * 9/11 is to be above heartbeat 100ms + 2 * message 50ms"),
        "{words}"
    );
    let unknown = "how long a durable write takes cannot be told: no folder".to_owned();
    assert_eq!(judged(&config, Err("no folder".to_owned())), (None, unknown));
    config.quorum = Quorum::None;
    assert_eq!(judged(&config, Ok(limit)).0, None);
    assert!(judged(&config, Ok(limit)).1.starts_with("a durable write takes "));
}

#[test]
fn what_a_check_found_is_put_in_words() {
    let health = |failure: Option<&str>, output: &str| {
        health_words(&Finding { output: output.to_owned(), failure: failure.map(str::to_owned) })
    };
    assert_eq!(health(None, ""), "passes");
    assert_eq!(health(None, "well"), "passes: well");
    assert_eq!(health(Some("exit 1"), "ill"), "fails: exit 1; unhealthy, a node does not lead");
    let sample = Sample { value: 7, from: "the file x".to_owned() };
    assert_eq!(rank_words(&Ok(sample)), "7 (the file x)");
    let none = "tls        none: use it in a network that you trust, see docs/security.md\n";
    assert_eq!(tls(&config(3), &[]), none);
}

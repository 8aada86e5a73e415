//! The attributes of ranks, and when members take over: what the file may say and what is refused.

use serde_json::Value;

use super::files::*;

/// The good file with this `rank`, and with one in each member's entry where it is not empty.
fn ranked(cluster: &str, members: [&str; 2]) -> ConfigFile {
    let own = |rank: &str| match rank {
        "" => String::new(),
        rank => format!("\"rank\": {rank}, "),
    };
    let cluster = format!("\"quorum\": \"none\", {}", own(cluster));
    let text = GOOD
        .replace("\"quorum\": \"none\",", cluster.trim_end())
        .replace("{\"name\": \"node-1\"", &format!("{{{}\"name\": \"node-1\"", own(members[0])))
        .replace("{\"name\": \"node-2\"", &format!("{{{}\"name\": \"node-2\"", own(members[1])));
    ConfigFile::new(&text)
}

#[track_caller]
fn refused(cluster: &str, members: [&str; 2], expected: &[&str]) {
    assert_eq!(ranked(cluster, members).problems(), expected, "{cluster} {members:?}");
}

/// The output of `check` about a rank: the kind, and each member's own.
#[track_caller]
fn taken(cluster: &str, members: [&str; 2]) -> (Value, Vec<Value>) {
    let output = ranked(cluster, members).check(&["--output", "json"]);
    assert_eq!(stderr(&output), "", "{cluster} {members:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let members = json["members"].as_array().unwrap().iter();
    (json["rank"].clone(), members.map(|member| member["rank"].clone()).collect())
}

#[test]
fn every_kind_is_taken_with_its_figures() {
    for (rank, kind) in [
        (r#"{"by": "id"}"#, "id"),
        (r#"{"by": "priority", "priority": -9223372036854775807}"#, "priority"),
        (r#"{"by": "address"}"#, "address"),
        (r#"{"by": "cpu", "every": "1m"}"#, "cpu"),
        (r#"{"by": "disk", "path": "/var", "every": "100ms"}"#, "disk"),
        (r#"{"by": "files", "path": "jobs"}"#, "files"),
        (r#"{"by": "command", "command": ["nproc"], "timeout": "5s"}"#, "command"),
    ] {
        assert_eq!(taken(rank, ["", ""]).0, kind, "{rank}");
    }
    assert_eq!(taken("", ["", ""]).0, "id");
}

#[test]
fn a_members_own_figures_go_over_the_clusters() {
    let own = [r#"{"priority": 10}"#, r#"{"by": "priority", "priority": 20}"#];
    assert_eq!(taken(r#"{"by": "priority"}"#, own).1, ["priority 10", "priority 20"]);
    let one = [r#"{"priority": 10}"#, ""];
    let both = taken(r#"{"by": "priority", "priority": 5}"#, one).1;
    assert_eq!(both, ["priority 10", "priority 5"]);
    let command = r#"{"by": "command", "command": ["nproc"], "every": "1m"}"#;
    let both = taken(command, [r#"{"command": ["/bin/cat", "a b"]}"#, ""]).1;
    assert_eq!(both, ["command /bin/cat a b", "command nproc"]);
}

#[test]
fn paths_start_at_the_folder_of_the_file() {
    let of = |rank: &str| {
        let file = ranked(rank, ["", ""]);
        let output = file.check(&["--output", "json"]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let folder = file.path.parent().unwrap().display().to_string();
        json["members"][0]["rank"].as_str().unwrap().replace(&folder, "HERE")
    };
    assert_eq!(of(r#"{"by": "files", "path": "jobs"}"#), "files HERE/jobs");
    assert_eq!(of(r#"{"by": "disk", "path": "/"}"#), "disk /");
    assert_eq!(of(r#"{"by": "command", "command": ["./rank", "./x"]}"#), "command HERE/./rank ./x");
    assert_eq!(of(r#"{"by": "command", "command": ["nproc"]}"#), "command nproc");
}

#[test]
fn check_samples_the_rank_of_the_node_that_is_named() {
    let rank = r#"{"by": "command", "command": ["echo", "42"]}"#;
    let file = ranked(rank, ["", r#"{"command": ["false"]}"#]);
    let json = |node: &str| -> Value {
        let output = file.check(&["--node", node, "--output", "json"]);
        assert_eq!(output.status.code(), Some(if node == "node-1" { 0 } else { 1 }), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let sampled = json("node-1")["node_rank"].clone();
    assert_eq!(sampled, serde_json::json!({"value": 42, "from": "42, printed by `echo 42`"}));
    let sampled = json("node-2")["node_rank"].clone();
    let none = "none: `false` exited with code 1";
    assert_eq!(sampled, serde_json::json!({"value": null, "from": none}));
    for (printed, why) in [("0.75", "no whole number"), ("", "no number")] {
        let rank = format!(r#"{{"by": "command", "command": ["echo", "{printed}"]}}"#);
        let output = ranked(&rank, ["", ""]).check(&["--node", "node-1", "--output", "json"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warned = told["warnings"].as_array().unwrap();
        let is_told = |it: &Value| {
            it.as_str().is_some_and(|it| it.starts_with("its rank: ") && it.contains(why))
        };
        assert!(warned.iter().any(is_told), "{told:#}");
    }
    let text = stdout(&file.check(&["--node", "node-1"]));
    for piece in [
        "preempt    always: a higher member takes over",
        "rank       by command, then by id; sampled",
        "its rank   42 (42, printed by `echo 42`)",
    ] {
        assert!(text.contains(piece), "{piece} is missing from\n{text}");
    }
}

#[test]
fn a_kind_is_said_once_for_all() {
    refused(
        r#"{"by": "size"}"#,
        ["", ""],
        &["3:36: rank.by: by cannot be \"size\": use \"id\" or \"priority\" or \"address\" or \
           \"cpu\" or \"disk\" or \"files\" or \"command\""],
    );
    refused(
        r#"{"priority": 3}"#,
        ["", ""],
        &["3:29: rank.by: is missing: say what members are ranked by, such as \"id\""],
    );
    refused(
        r#"{"by": "cpu"}"#,
        ["", r#"{"by": "disk", "path": "/"}"#],
        &[
            "8:21: members[1].rank.by: differs from the cluster's, which is \"cpu\" (value \"disk\"): \
           remove it; all members are ranked by the same",
        ],
    );
    refused(
        "",
        [r#"{"by": "cpu"}"#, ""],
        &[
            "7:21: members[0].rank.by: differs from the cluster's, which is \"id\" (value \"cpu\"): \
           remove it; all members are ranked by the same",
        ],
    );
}

#[test]
fn figures_of_another_kind_are_refused() {
    refused(
        r#"{"by": "disk", "path": "/", "priority": 3}"#,
        ["", r#"{"timeout": "1s"}"#],
        &["3:69: rank.priority: does not belong to a rank by disk (value 3): remove it; the \
           figures of this rank are path, every, margin"],
    );
    refused(
        r#"{"by": "address", "every": "30s"}"#,
        ["", ""],
        &[
            "3:56: rank.every: does not belong to a rank by address (value \"30s\"): remove it; this \
           rank has no figures",
        ],
    );
    refused(
        r#"{"by": "priority", "priority": 1}"#,
        ["", r#"{"priority": 2, "every": "1s"}"#],
        &["8:39: members[1].rank.every: does not belong to a rank by priority (value \"1s\"): \
           remove it; the figures of this rank are priority, margin"],
    );
}

#[test]
fn a_figure_that_is_missing_is_asked_for_where_it_is_missing() {
    refused(
        r#"{"by": "priority"}"#,
        [r#"{"priority": 10}"#, ""],
        &["8:5: members[1].rank.priority: is missing: give a number, or for all members in the \
           rank of the cluster"],
    );
    refused(
        r#"{"by": "command"}"#,
        [r#"{"command": ["nproc"]}"#, r#"{"every": "1m"}"#],
        &["8:14: members[1].rank.command: is missing: list a program and its arguments, or for \
           all members in the rank of the cluster"],
    );
    for (kind, column, what) in [
        ("priority", "priority", "give a number"),
        ("disk", "path", "name a path on the file system"),
        ("files", "path", "name the folder"),
        ("command", "command", "list a program and its arguments"),
    ] {
        let expected = format!("3:29: rank.{column}: is missing: {what}, or in each member's rank");
        refused(&format!("{{\"by\": \"{kind}\"}}"), ["", ""], &[&expected]);
    }
}

#[test]
fn a_priority_is_a_whole_number() {
    for value in ["1.5", "1e3", "9223372036854775807", "-9223372036854775808"] {
        let expected = format!(
            "3:60: rank.priority: is not a whole number that a rank can have (value {value}): give \
             one from -9223372036854775807 to 9223372036854775806"
        );
        refused(
            &format!("{{\"by\": \"priority\", \"priority\": {value}}}"),
            ["", ""],
            &[&expected],
        );
    }
    refused(
        r#"{"by": "priority", "priority": "10"}"#,
        ["", ""],
        &["3:60: rank.priority: is a string, not a number (value \"10\"): write it without quotes"],
    );
}

#[test]
fn a_sample_ends_before_the_next_begins() {
    let remedy = "lower timeout, or raise every: a sample ends before the next begins";
    refused(
        r#"{"by": "command", "command": ["nproc"], "every": "2s", "timeout": "2s"}"#,
        ["", ""],
        &[&format!(
            "3:95: rank.timeout: timeout 2s is not below every 2s (value \"2s\"): {remedy}"
        )],
    );
    refused(
        r#"{"by": "command", "command": ["nproc"], "timeout": "2s"}"#,
        ["", r#"{"every": "1s"}"#],
        &[&format!(
            "8:24: members[1].rank.every: timeout 2s is not below every 1s (value \"1s\"): {remedy}"
        )],
    );
    refused(
        r#"{"by": "cpu", "every": "99ms"}"#,
        ["", ""],
        &["3:52: rank.every: is under 100ms (value \"99ms\"): give at least \"100ms\""],
    );
    refused(
        r#"{"by": "command", "command": ["nproc"], "timeout": 1}"#,
        ["", ""],
        &["3:80: rank.timeout: is a number without a unit (value 1): give it a unit, in quotes, \
           such as \"1ms\""],
    );
}

#[test]
fn a_command_is_a_program_and_its_arguments() {
    let remedy = "put the program first, such as [\"nproc\"]";
    for (value, what, remedy) in [
        ("[]", "is empty", "list a program and its arguments, such as [\"nproc\"]"),
        ("[\"\"]", "names no program", remedy),
        ("\"nproc\"", "is a string, not a list", "write it as [...]"),
    ] {
        let expected = format!("3:58: rank.command: {what} (value {value}): {remedy}");
        refused(&format!("{{\"by\": \"command\", \"command\": {value}}}"), ["", ""], &[&expected]);
    }
    refused(
        r#"{"by": "command", "command": ["echo", 7, "\u0000"]}"#,
        ["", ""],
        &[
            "3:67: rank.command[1]: is a number, not a string (value 7): write it in double quotes",
            "3:70: rank.command[2]: holds a zero character (value \"\\u0000\"): remove it; no \
             program can be given one",
        ],
    );
    refused(
        r#"{"by": "files", "path": ""}"#,
        ["", ""],
        &["3:53: rank.path: is not a path (value \"\"): name a path; relative ones start at this \
           file's folder"],
    );
}

#[test]
fn taking_over_after_a_while() {
    let preempt = |value: &str| {
        let more = format!("\"quorum\": \"none\", \"preempt\": {value}");
        with("\"quorum\": \"none\"", &more)
    };
    let output = preempt("{\"after\": \"30s\"}").check(&["--output", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["preempt"], "after 30s");
    let remedy = "say for how long a member is eligible before it takes over, such as \"30s\"";
    for (value, expected) in [
        (
            "\"sometimes\"",
            "3:32: preempt: preempt cannot be \"sometimes\": use \"always\" or \"never\""
                .to_owned(),
        ),
        (
            "5",
            "3:32: preempt: is a number, not a word (value 5): use \"always\", \"never\" or \
             {\"after\": \"30s\"}"
                .to_owned(),
        ),
        ("{}", format!("3:32: preempt.after: is missing: {remedy}")),
        (
            "{\"after\": \"499ms\"}",
            "3:42: preempt.after: after 499ms is under failure 500ms (value \"499ms\"): give at \
             least \"500ms\""
                .to_owned(),
        ),
        (
            "{\"after\": 30}",
            "3:42: preempt.after: is a number without a unit (value 30): give it a unit, in \
             quotes, such as \"30ms\""
                .to_owned(),
        ),
        (
            "{\"after\": \"25h\"}",
            "3:42: preempt.after: is longer than a day (value \"25h\"): give at most \"24h\""
                .to_owned(),
        ),
    ] {
        assert_eq!(preempt(value).problems(), [expected], "{value}");
    }
}

/// The output of `check` about the margin.
#[track_caller]
fn margin_of(rank: &str) -> Value {
    let output = ranked(rank, ["", ""]).check(&["--output", "json"]);
    assert_eq!(stderr(&output), "", "{rank}");
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["margin"].clone()
}

#[test]
fn a_margin_is_a_share_or_an_amount_and_a_tenth_where_the_value_wavers() {
    for (rank, margin) in [
        (r#"{"by": "disk", "path": "/", "margin": "25%"}"#, "25%"),
        (r#"{"by": "command", "command": ["nproc"], "margin": 3}"#, "3"),
        (r#"{"by": "cpu", "margin": 0}"#, "0"),
        (r#"{"by": "cpu"}"#, "10%"),
        (r#"{"by": "disk", "path": "/"}"#, "10%"),
        (r#"{"by": "files", "path": "/"}"#, "10%"),
        (r#"{"by": "command", "command": ["nproc"]}"#, "0"),
        (r#"{"by": "priority", "priority": 1}"#, "0"),
        (r#"{"by": "id"}"#, "0"),
        ("", "0"),
    ] {
        assert_eq!(margin_of(rank), margin, "{rank}");
    }
    let text = stdout(&ranked(r#"{"by": "cpu"}"#, ["", ""]).check(&[]));
    assert!(text.contains("preempts when it exceeds the leader's by more than 10%"), "{text}");
}

#[test]
fn a_margin_that_makes_no_sense_is_refused() {
    let with = |margin: &str, expected: &str| {
        let rank = format!(r#"{{"by": "priority", "priority": 1, "margin": {margin}}}"#);
        refused(&rank, ["", ""], &[expected]);
    };
    let remedy = "give a share of the leader's value such as \"10%\", or an amount such as 500";
    with("-1", &format!("3:73: rank.margin: is negative (value -1): {remedy}"));
    with(
        r#""ten""#,
        &format!(
            "3:73: rank.margin: is no share: a whole number and % are (value \"ten\"): {remedy}"
        ),
    );
    with(
        r#""1001%""#,
        "3:73: rank.margin: is too great a share (value \"1001%\"): give at most \"1000%\", or an amount such as 500",
    );
    let id = r#"{"by": "id", "margin": "10%"}"#;
    refused(
        id,
        ["", ""],
        &[
            "3:52: rank.margin: does not belong to a rank by id (value \"10%\"): remove it; this rank has no figures",
        ],
    );
}

#[test]
fn a_margin_is_for_all_members_alike() {
    let own = r#"{"priority": 1, "margin": 3}"#;
    let rank = r#"{"by": "priority", "priority": 1}"#;
    let problems = ranked(rank, [own, ""]).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains(
            "rank.margin: is for all members alike (value 3): move it to the rank of the cluster"
        ),
        "{problems:?}"
    );
}

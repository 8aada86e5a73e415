//! What files say, from their text to the configuration or to what is wrong with them.

use super::fuzz;
use super::*;

const FILE: &str = "/etc/electd/c.json";

/// A file of two members, with more in it and in the entry of each.
fn file(more: &str, a: &str, b: &str) -> String {
    let entry = |name: &str, at: u8, more: &str| {
        let id = format!("00000000-0000-4000-8000-00000000000{at}");
        format!(
            "{{\"name\": \"{name}\", \"id\": \"{id}\", \"address\": \"10.0.0.{at}:7101\"{more}}}"
        )
    };
    let (a, b) = (entry("a", 1, a), entry("b", 2, b));
    let head = "\"cluster\": \"demo\", \"quorum\": \"none\", \"data_dir\": \"data\"";
    format!("{{{head}{more},\n\"members\": [\n{a},\n{b}\n]}}")
}

/// What is told of each of these files: its problems, or that it is taken.
fn told(cases: &[(&str, &str, &str)]) -> String {
    let told = cases.iter().map(|(more, a, b)| {
        let found = match parse(&file(more, a, b), Path::new("c")) {
            Ok(_) => "taken".to_owned(),
            Err(errors) => errors.to_string(),
        };
        format!("top {more} a {a} b {b}\n{found}\n")
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_value_of_a_file_has_its_place_and_what_is_left_out_its_default() {
    let path = Path::new(FILE);
    let seeds = fuzz::seeds();
    let full = parse(std::str::from_utf8(&seeds[1]).unwrap(), path).unwrap();
    insta::assert_debug_snapshot!("every_key", full);
    let other = file(
        r#", "preempt": "never", "trust_refused": false, "rank": {"by": "cpu", "margin": 7, "every": "9s"},
           "tls": {"ca": "1", "cert": "2", "key": "3"}, "admin_tls": true"#,
        r#", "tls": {"ca": "4", "cert": "5", "key": "6"}, "admin": "h:1", "admin_listen": "0.0.0.0:2",
           "rank": {"every": "8s"}"#,
        r#", "role": "observer", "listen": "10.0.0.9:9", "admin": "h:3""#,
    );
    insta::assert_debug_snapshot!("other_values", parse(&other, path).unwrap());
    insta::assert_debug_snapshot!("defaults", parse(&file("", "", ""), path).unwrap());
}

/// A problem of a value hides none of another, and is told once.
#[test]
fn all_that_is_wrong_at_the_top_of_a_file_is_told() {
    let cases = [
        (r#", "node": "zzz""#, "", ""),
        (r#", "node": 7"#, "", ""),
        (r#", "node": "zzz""#, r#", "role": "boss""#, ""),
        (r#", "timing": {"failure": 7}, "preempt": {"after": "1ms"}"#, "", ""),
        (r#", "preempt": {"afer": "1s"}"#, "", ""),
        (r#", "preempt": {"after": "499999us"}"#, "", ""),
        (r#", "preempt": true, "realtime": "yes", "admin_tls": 1, "control_group": 7"#, "", ""),
        (r#", "admin_tls": false, "control_group": "1000""#, "", ""),
        (r#", "admin_token_file": "a\u0000b", "algorithm": "ringg""#, "", ""),
        (r#", "\ud800": 1"#, "", ""),
        (r#", "node": "a", "node": "b", "node": "b""#, "", ""),
        (r#", "hooks": []"#, "", ""),
        (r#", "hooks": {"on_change": [""], "timeout": "99us", "every": 1}"#, "", ""),
        (r#", "hooks": {"on_change": ["x"], "timeout": "100us"}"#, "", ""),
        (
            r#", "health": {"command": 1, "every": "x", "timeout": "y", "fall": -1, "rise": 1.5, "alone": 1}"#,
            "",
            "",
        ),
        (r#", "health": {"command": ["x"], "timeout": "2s"}"#, "", ""),
        (r#", "health": {"command": ["x"], "timeout": "1999ms", "rise": 1, "fall": 1}"#, "", ""),
        (r#", "health": {"command": ["x"], "every": "100ms", "timeout": "10ms"}"#, "", ""),
        (r#", "tls": {}"#, "", ""),
        (r#", "tls": {"ca": "", "cert": 1, "key": "\u0000"}"#, "", ""),
        (
            r#", "timing": {"heartbeat": "99us", "failure": "999us", "message": "1", "lease": 0}"#,
            "",
            "",
        ),
        (
            r#", "timing": {"heartbeat": "100us", "failure": "1ms", "message": "100us", "lease": "100us"}"#,
            "",
            "",
        ),
        (r#", "timing": {"heartbeat": "300ms", "failure": "500ms", "lease": "501ms"}"#, "", ""),
        (r#", "timing": {"heartbeat": "24h1ms"}"#, "", ""),
    ];
    insta::assert_snapshot!("problems_of_the_top", told(&cases));
}

#[test]
fn all_that_is_wrong_with_members_is_told() {
    let tls = r#", "tls": {"ca": "c", "cert": "c", "key": "k"}"#;
    let cases = [
        ("", r#", "hooks": 1, "health": [], "tls": "x", "rank": null, "role": 7"#, ""),
        ("", r#", "listen": "x", "admin": "h", "admin_listen": 1"#, ""),
        ("", r#", "admin": "h:0", "admin_listen": "h:1""#, ""),
        ("", r#", "health": {"command": ["x"]}"#, r#", "hooks": {}"#),
        ("", r#", "admin": "10.0.0.2:7101""#, r#", "listen": "0.0.0.0:9""#),
        ("", r#", "admin": "h:9""#, r#", "listen": "h:9""#),
        ("", r#", "admin": "0.0.0.0:7101""#, ""),
        ("", r#", "admin": "0.0.0.0:9", "listen": "10.0.0.1:9""#, ""),
        ("", r#", "admin": "0.0.0.0:9""#, r#", "listen": "10.0.0.1:9""#),
        ("", r#", "admin": "0.0.0.0:9", "admin_listen": "h:8", "listen": "10.0.0.1:9""#, ""),
        ("", r#", "admin": "h:7", "admin_listen": "10.0.0.1:9", "listen": "0.0.0.0:9""#, ""),
        ("", r#", "admin": "h:7", "admin_listen": "10.0.0.2:7101""#, ""),
        (
            "",
            r#", "admin": "h:7", "admin_listen": "h:6""#,
            r#", "admin": "h:8", "admin_listen": "h:6""#,
        ),
        ("", tls, ""),
        ("", "", tls),
        (tls, r#", "role": "witness""#, r#", "role": "member""#),
        (r#", "admin_tls": true"#, r#", "role": "witness""#, r#", "role": "observer""#),
    ];
    insta::assert_snapshot!("problems_of_members", told(&cases));
    let whole = |members: &str| {
        let text = format!(
            r#"{{"cluster": "c", "quorum": "none", "data_dir": "d", "members": {members}}}"#
        );
        parse(&text, Path::new("c")).unwrap_err().to_string()
    };
    let a = r#"{"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "h:1", "admin": "h:2"}"#;
    let whole =
        ["{}", "[7, {}]", r#"[{"name": 1, "id": 2, "address": 3}]"#, &format!("[{a},\n{a},\n{a}]")]
            .map(whole);
    insta::assert_snapshot!("problems_of_the_list", whole.join("\n\n"));
}

#[test]
fn all_that_is_wrong_with_a_rank_is_told() {
    let command = r#", "rank": {"by": "command", "command": ["x"]}"#;
    let cases = [
        (r#", "rank": []"#, "", ""),
        (r#", "rank": {"by": "id"}"#, r#", "rank": {"margin": 3}"#, ""),
        ("", r#", "rank": {"priority": 3, "by": "id"}"#, r#", "rank": []"#),
        (
            r#", "rank": {"by": "priority"}"#,
            r#", "rank": {"priority": 1, "margin": 3, "every": "1s"}"#,
            r#", "rank": {}"#,
        ),
        (r#", "rank": {"by": "priority"}"#, r#", "rank": {"by": "prio", "priority": "x"}"#, ""),
        (r#", "rank": {"by": "x", "path": 1}"#, r#", "rank": {"path": 1}"#, ""),
        (
            r#", "rank": {"by": "command", "command": [], "timeout": "9ms", "every": "y", "margin": "z"}"#,
            "",
            "",
        ),
        (
            r#", "rank": {"by": "disk", "path": 1, "margin": 1.5, "command": 1, "timeout": 1}"#,
            "",
            "",
        ),
        (r#", "rank": {"by": "cpu", "margin": true}"#, "", ""),
        (r#", "rank": {"by": "cpu", "margin": "10"}"#, "", ""),
        (r#", "rank": {"by": "cpu", "margin": "-1%"}"#, "", ""),
        (r#", "rank": {"by": "cpu", "margin": "0%"}"#, "", ""),
        (command, r#", "rank": {"timeout": "29999ms"}"#, r#", "rank": {"timeout": "30s"}"#),
        (
            command,
            r#", "rank": {"every": "100ms", "timeout": "10ms"}"#,
            r#", "rank": {"every": "100ms"}"#,
        ),
        (r#", "rank": {"by": "command"}"#, r#", "rank": {"command": ["x"]}"#, ""),
        (r#", "rank": {"by": "files"}"#, "", ""),
        (r#", "rank": {"by": "files", "pathh": "x"}"#, "", ""),
    ];
    insta::assert_snapshot!("problems_of_ranks", told(&cases));
}

#[test]
fn a_member_completes_its_own_figures_with_those_for_all() {
    let of_command =
        r#", "rank": {"by": "command", "command": ["all", "1"], "timeout": "2s", "every": "9s"}"#;
    let of_disk = r#", "rank": {"by": "disk", "path": "all", "every": "9s"}"#;
    let ranks = [
        (of_command, r#", "rank": {"command": ["./own"]}"#, r#", "rank": {"timeout": "3s"}"#),
        (of_command, r#", "rank": {"every": "8s"}"#, ""),
        (of_disk, r#", "rank": {"path": "own"}"#, r#", "rank": {"every": "8s"}"#),
        (r#", "rank": {"by": "command", "command": ["x"]}"#, r#", "rank": {"every": "1s"}"#, ""),
    ]
    .map(|(more, a, b)| {
        let config = parse(&file(more, a, b), Path::new(FILE)).unwrap();
        config
            .members
            .into_iter()
            .map(|member| format!("{:?}", member.rank))
            .collect::<Vec<_>>()
            .join("\n")
    });
    insta::assert_snapshot!("figures", ranks.join("\n"));
}

#[test]
fn a_configuration_made_in_code_is_that_of_a_file() {
    let (id, other) =
        ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002");
    let entry = serde_json::json!({"name": "b", "id": other, "address": "10.0.0.2:7101", "role": "witness"});
    let made =
        Builder::new("demo", "none", "/d").member("a", id, "10.0.0.1:7101").member_with(entry);
    let config = made.set("realtime", true).build().unwrap();
    let text =
        file(", \"realtime\": true", "", ", \"role\": \"witness\"").replace("\"data\"", "\"/d\"");
    assert_eq!(config, parse(&text, Path::new("(made in code)")).unwrap());
    let refused = Builder::new("demo", "most", "/d").build().unwrap_err().to_string();
    assert_eq!(
        refused,
        "(made in code):1:45: members: has no members (value []): list at least one, or let `electd init` write them\n\
         (made in code):1:57: quorum: quorum cannot be \"most\": use \"none\" or \"majority\""
    );
}

#[test]
fn the_members_in_a_text_are_found_with_their_places() {
    let text = file("", ", \"admin\": \"h:9\" // \"members\"\n", ", \"colour\": 1");
    let found = WrittenMembers::find(&text).unwrap();
    let list = &text[found.list];
    assert!(list.starts_with("[\n{\"name\": \"a\"") && list.ends_with("1}\n]"), "{list}");
    let [(member, place)] = &found.entries[..] else { panic!("{:?}", found.entries) };
    assert_eq!((member.name.as_str(), member.admin.as_deref()), ("a", Some("h:9")));
    let entry = &text[place.clone()];
    assert!(entry.starts_with("{\"name\": \"a\"") && entry.ends_with("\n}"), "{entry}");
    for none in ["{", "7", "{}", "{\"members\": 1}"] {
        assert!(WrittenMembers::find(none).is_none(), "{none}");
    }
}

/// What `--quorum` takes.
#[test]
fn a_quorum_is_named_as_in_the_file() {
    assert_eq!(parse_quorum("none"), Ok(Quorum::None));
    assert_eq!(parse_quorum("majority"), Ok(Quorum::Majority));
    assert_eq!(
        parse_quorum("all"),
        Err("quorum cannot be \"all\": use \"none\" or \"majority\"".to_owned())
    );
}

/// Whatever a slip of the editor leaves is either a configuration or refused with reasons;
/// that a refusal has one is asserted in `parse`.
#[test]
fn no_damage_to_a_file_makes_reading_it_panic() {
    let good = include_str!("../../conf/cluster.json");
    for at in (0..good.len()).filter(|&at| good.is_char_boundary(at)) {
        let _ = parse(&good[..at], Path::new("c.json"));
        for piece in ["", "\"", "{", "]", "0", "-", "\\", "\u{e9}", "null", "\\ud800"] {
            let (before, after) = (&good[..at], &good[at + 1..]);
            let _ = parse(&format!("{before}{piece}{after}"), Path::new("c.json"));
        }
    }
}

#[test]
fn comments_are_read_over_and_a_problem_keeps_its_place() {
    let good = include_str!("../../conf/cluster.json");
    let commented = good.replace(",\n", ", // a comment, \"quorum\"\n");
    let path = Path::new("c.json");
    assert_eq!(parse(&commented, path).unwrap(), parse(good, path).unwrap());
    let wrong = "// one\n{ // two\n  \"cluster\": 7 // three\n}";
    let problems = parse(wrong, path).unwrap_err().problems;
    let found = problems.iter().find(|problem| problem.key == "cluster").unwrap();
    assert_eq!(found.position, Some(Position { line: 3, column: 14 }));
}

#[test]
fn what_check_does_not_show_has_its_default_too() {
    let more = r#"{ "hooks": {"on_change": ["x"]}, "rank": {"by": "command", "command": ["x"]}, "#;
    let text = include_str!("../../conf/cluster.json").replacen('{', more, 1);
    let config = parse(&text, Path::new("c.json")).unwrap();
    let member = &config.members[0];
    let seconds = std::time::Duration::from_secs;
    assert_eq!(member.hooks.as_ref().map(|hooks| hooks.timeout), Some(seconds(10)));
    let Attribute::Command { timeout, .. } = member.rank.attribute else { panic!("{member:?}") };
    assert_eq!((timeout, member.rank.every), (seconds(1), seconds(30)));
}

#[test]
fn a_member_is_ranked_by_what_the_file_says_and_else_by_its_id() {
    let good = include_str!("../../conf/cluster.json");
    let ranked = |rank: &str| {
        let text = good.replacen('{', &format!("{{ {rank}"), 1);
        parse(&text, Path::new("/etc/c.json")).unwrap().members.remove(0).rank.attribute
    };
    for (rank, attribute) in [
        ("", Attribute::Id),
        ("\"rank\": {\"by\": \"id\"},", Attribute::Id),
        ("\"rank\": {\"by\": \"address\"},", Attribute::Address),
        ("\"rank\": {\"by\": \"cpu\"},", Attribute::Cpu),
        ("\"rank\": {\"by\": \"disk\", \"path\": \"x\"},", Attribute::Disk("/etc/x".into())),
        ("\"rank\": {\"by\": \"files\", \"path\": \"/x\"},", Attribute::Files("/x".into())),
    ] {
        assert_eq!(ranked(rank), attribute, "{rank}");
    }
}

#[test]
fn paths_start_at_the_folder_of_the_file() {
    let text = include_str!("../../conf/cluster.json");
    let data_dir = |path| parse(text, Path::new(path)).unwrap().data_dir;
    assert_eq!(data_dir("/etc/electd/cluster.json"), Path::new("/etc/electd/data"));
    assert_eq!(data_dir("cluster.json"), Path::new("data"));
}

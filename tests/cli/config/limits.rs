//! How far the values of a file may go: the last one that is taken, and the first that is not.

use super::files::*;

/// The good file with one piece replaced, and with a majority.
fn with_majority(piece: &str, replacement: &str) -> ConfigFile {
    assert_eq!(GOOD.matches(piece).count(), 1, "{piece} is not unique");
    ConfigFile::new(&GOOD.replace(piece, replacement).replace("\"none\"", "\"majority\""))
}

#[track_caller]
fn is_taken(file: &ConfigFile) {
    let output = file.check(&[]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn a_timing_may_be_as_long_as_the_others_allow() {
    for (piece, replacement) in [
        ("\"100ms\"", "\"250ms\""),
        ("\"50ms\"", "\"199ms\""),
        ("\"400ms\"", "\"500ms\""),
        ("\"500ms\"", "\"24h\""),
    ] {
        is_taken(&with(piece, replacement));
    }
    is_taken(&with("\"none\"", "\"none\", \"preempt\": {\"after\": \"500ms\"}"));
    // Its 9/11 are to be above the heartbeat and two messages, 200 ms.
    is_taken(&with("\"400ms\"", "\"244ms\""));
    is_taken(&with_majority("\"400ms\"", "\"245ms\""));
    let problem = "5:84: timing.lease: lease 244ms is too short to be renewed in time: 9/11 of it, which clocks that \
                   differ leave, is not above heartbeat 100ms and 2 * message 50ms (value \"244ms\"): raise lease \
                   above \"244.444444ms\", or lower heartbeat or message";
    assert_eq!(with_majority("\"400ms\"", "\"244ms\"").problems(), [problem]);
}

#[test]
fn a_count_a_share_and_a_name_have_a_greatest() {
    let health = |fall| format!("{{\"command\": [\"true\"], \"fall\": {fall}}}");
    let rank = |margin| format!("{{\"by\": \"cpu\", \"margin\": \"{margin}\"}}");
    let of = |key: &str, value: String| {
        with("\"quorum\": \"none\"", &format!("\"quorum\": \"none\", \"{key}\": {value}"))
    };
    is_taken(&of("health", health(1000)));
    is_taken(&of("rank", rank("1000%")));
    is_taken(&with("\"demo\"", &format!("\"{}\"", "d".repeat(63))));
    is_taken(&with("\"demo\"", "\"de mo\""));
    let name_rule = "use at most 63 characters on one line, no space at either end";
    for (file, words) in [
        (of("health", health(1001)), "health.fall: is no number of checks in a row (value 1001)"),
        (of("rank", rank("1001%")), "rank.margin: is too great a share"),
        (with("\"demo\"", &format!("\"{}\"", "d".repeat(64))), name_rule),
        (with("\"demo\"", "\" demo\""), name_rule),
        (with("\"demo\"", "\"demo \""), name_rule),
        (with("\"demo\"", "\"de\\nmo\""), name_rule),
    ] {
        let problems = file.problems();
        assert!(problems.len() == 1 && problems[0].contains(words), "{problems:?}");
    }
}

#[test]
fn a_cluster_has_at_most_64_members() {
    let of = |members: usize| {
        let member = |number| {
            let id = format!("665ab310-e093-4084-beaa-df60{number:08x}");
            let port = 7101 + number;
            format!(
                "{{\"name\": \"node-{number}\", \"id\": \"{id}\", \"address\": \"127.0.0.1:{port}\"}}"
            )
        };
        let all: Vec<String> = (0..members).map(member).collect();
        let head = GOOD.split("\"members\"").next().unwrap();
        ConfigFile::new(&format!("{head}\"members\": [{}]}}", all.join(", ")))
    };
    is_taken(&of(64));
    let problems = of(65).problems();
    assert!(problems[0].contains("has 65 members"), "{problems:?}");
    assert!(problems[0].ends_with("list at most 64: each is connected to each"), "{problems:?}");
}

#[test]
fn a_file_is_text_of_at_most_a_mebibyte() {
    let of = |length: usize| ConfigFile::new(&(GOOD.to_owned() + &" ".repeat(length - GOOD.len())));
    is_taken(&of(1 << 20));
    let problem = "cannot be read: it is larger than 1 MiB: name it with --config or ELECTD_CONFIG, or write one with \
                   `electd init`";
    assert_eq!(of((1 << 20) + 1).problems(), [format!(" {problem}")]);
    let marked = ConfigFile::new(&format!("\u{feff}{GOOD}"));
    let problem = "1:1: is not JSON: expected value: save it without a byte order mark";
    assert_eq!(marked.problems(), [problem]);
}

#[test]
fn what_a_value_is_instead_is_named() {
    for (value, what) in [
        ("true", "is a boolean, not a string"),
        ("null", "is null, not a string"),
        ("[1]", "is a list, not a string"),
        ("{}", "is an object, not a string"),
        ("\"\\ud800\"", "holds an escape that is no character"),
    ] {
        let expected = format!("2:14: cluster: {what} (value {value}): write it in double quotes");
        one_problem("\"demo\"", value, &expected);
    }
}

/// A key that is misspelt is not missing as well.
#[test]
fn a_slip_is_one_problem() {
    one_problem(
        "\"cluster\"",
        "\"clutser\"",
        "2:3: clutser: unknown key (value \"demo\"): did you mean `cluster`?",
    );
}

/// What a member says itself counts, and what it does not say is as for all.
#[test]
fn what_is_for_all_counts_where_a_member_says_nothing() {
    let own = "\"hooks\": {\"on_change\": [\"true\"]}, \"rank\": {\"timeout\": \"100ms\"}, \"name\": \"node-2\"";
    let all = "\"quorum\": \"none\", \"hooks\": {\"on_change\": [\"false\"]},
        \"rank\": {\"by\": \"command\", \"command\": [\"sleep\", \"60\"], \"every\": \"1s\"}";
    let text = GOOD.replace("\"name\": \"node-2\"", own).replace("\"quorum\": \"none\"", all);
    let with_timeout =
        text.replace("\"every\": \"1s\"", "\"every\": \"1s\", \"timeout\": \"300ms\"");
    for (text, of_all) in [(text, "500ms"), (with_timeout, "300ms")] {
        let file = ConfigFile::new(&text);
        for (node, hook, timeout) in [("node-1", "false", of_all), ("node-2", "true", "100ms")] {
            let text = stdout(&file.check(&["--node", node]));
            assert!(text.contains(&format!("its hook   {hook}\n")), "{text}");
            assert!(text.contains(&format!("`sleep 60` took longer than {timeout}")), "{text}");
        }
    }
}

#[test]
fn a_members_own_certificates_count_before_those_for_all() {
    let files = |folder: &str| {
        format!(
            "\"tls\": {{\"ca\": \"{folder}/c\", \"cert\": \"{folder}/c\", \"key\": \"{folder}/k\"}}"
        )
    };
    let own = format!("{}, \"name\": \"node-2\"", files("own"));
    let all = format!("\"quorum\": \"none\", {}", files("all"));
    let text = GOOD.replace("\"name\": \"node-2\"", &own).replace("\"quorum\": \"none\"", &all);
    let file = ConfigFile::new(&text);
    for (node, folder) in [("node-1", "all"), ("node-2", "own")] {
        let said = stderr(&file.check(&["--node", node]));
        let path = file.path.with_file_name(folder).join("c");
        assert!(said.contains(path.to_str().unwrap()), "{said}");
    }
}

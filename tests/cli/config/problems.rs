//! Configurations that must be refused, each with the message that says so.

use std::fs;

use super::files::*;

#[test]
fn the_good_file_is_good() {
    let output = ConfigFile::new(GOOD).check(&[]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn keys() {
    one_problem(
        "\"cluster\": \"demo\",",
        "",
        "1:1: cluster: is missing: name the cluster, such as \"demo\"",
    );
    one_problem(
        "\"quorum\": \"none\",",
        "",
        "1:1: quorum: is missing: say what is guaranteed: \"none\" or \"majority\"",
    );
    one_problem(
        "\"id\": \"665ab310-e093-4084-beaa-df6001b3876c\", ",
        "",
        "8:5: members[1].id: is missing: give it a version 4 UUID, as `uuidgen -r` prints",
    );
    one_problem(
        "\"heartbeat\"",
        "\"hearbeat\"",
        "5:14: timing.hearbeat: unknown key (value \"100ms\"): did you mean `heartbeat`?",
    );
    one_problem(
        "\"admin\": \"127.0.0.1:7202\"",
        "\"colour\": [1, 2]",
        "8:99: members[1].colour: unknown key (value [1, 2]): remove it; the keys here are \
         name, id, address, listen, admin, admin_listen, role, rank, hooks, health, tls",
    );
    one_problem(
        "\"quorum\": \"none\",",
        "\"quorum\": \"none\", \"cluster\": \"other\",",
        "3:21: cluster: is given twice, first on line 2 (value \"other\"): keep one of them",
    );
}

#[test]
fn a_file_without_any_key_is_told_which_it_needs() {
    assert_eq!(
        ConfigFile::new("{}").problems(),
        [
            "1:1: cluster: is missing: name the cluster, such as \"demo\"",
            "1:1: quorum: is missing: say what is guaranteed: \"none\" or \"majority\"",
            "1:1: data_dir: is missing: name the folder of the state, such as \"data\"",
            "1:1: members: is missing: list them, or let `electd init` write them",
        ]
    );
}

#[test]
fn when_a_member_takes_over() {
    let with = |preempt, problem| one_problem_of("preempt", preempt, problem);
    with(
        "30",
        "3:32: preempt: is a number, not a word (value 30): use \"always\", \"never\" or {\"after\": \"30s\"}",
    );
    with("\"allways\"", "3:32: preempt: preempt cannot be \"allways\": did you mean \"always\"?");
    with(
        "{}",
        "3:32: preempt.after: is missing: say for how long a member is eligible before it takes over, such as \"30s\"",
    );
    with(
        "{\"after\": \"499ms\"}",
        "3:42: preempt.after: after 499ms is under failure 500ms (value \"499ms\"): give at least \"500ms\"",
    );
    with(
        "{\"after\": \"90us\"}",
        "3:42: preempt.after: is under 100µs (value \"90us\"): give at least \"100µs\"",
    );
}

#[test]
fn hooks() {
    let with = |hooks, problem| one_problem_of("hooks", hooks, problem);
    with(
        "{}",
        "3:30: hooks.on_change: is missing: list a program and its arguments, such as \
         [\"/etc/electd/notify.sh\"]",
    );
    with(
        "{\"on_change\": []}",
        "3:44: hooks.on_change: is empty (value []): list a program and its arguments, such as [\"nproc\"]",
    );
    with(
        "{\"on_change\": [\"x\"], \"timeout\": 10}",
        "3:62: hooks.timeout: is a number without a unit (value 10): give it a unit, in quotes, such as \"10ms\"",
    );
}

#[test]
fn tls() {
    let files = "{\"ca\": \"ca.pem\", \"cert\": \"cert.pem\", \"key\": \"key.pem\"}";
    one_problem_of(
        "tls",
        "{\"ca\": \"ca.pem\", \"cert\": \"cert.pem\"}",
        "3:28: tls.key: is missing: name the file of the certificate's private key",
    );
    for (piece, replacement, what) in [
        (
            "\"admin\": \"127.0.0.1:7202\"",
            format!("\"tls\": {files}"),
            "has node-2 with `tls` and node-1 without",
        ),
        ("\"node-2\"", "\"42\"".to_owned(), "has \"42\", which no certificate can name"),
    ] {
        let secured = GOOD.replace("\"quorum\"", &format!("\"tls\": {files}, \"quorum\""));
        let text = if piece == "\"node-2\"" { secured } else { GOOD.to_owned() };
        let problems = ConfigFile::new(&text.replace(piece, &replacement)).problems();
        assert!(problems.len() == 1 && problems[0].contains(what), "{problems:?}");
    }
}

#[test]
fn https_needs_certificates() {
    one_problem_of(
        "admin_tls",
        "true",
        "3:34: admin_tls: is true, and node-1 has no `tls` (value true): give the members `tls`: HTTPS shows \
         their certificates",
    );
}

#[test]
fn the_names_of_admin_addresses_have_no_port() {
    one_problem_of(
        "admin_names",
        "[\"electd.example.com\", \"x:80\"]",
        "3:59: admin_names[1]: is no name of a host (value \"x:80\"): list names without a port, such as [\"electd.example.com\"]",
    );
}

#[test]
fn types() {
    one_problem(
        "\"demo\"",
        "7",
        "2:14: cluster: is a number, not a string (value 7): write it in double quotes",
    );
    one_problem(
        "{\"heartbeat\": \"100ms\", \"failure\": \"500ms\", \"message\": \"50ms\", \"lease\": \"400ms\"}",
        "\"500ms\"",
        "5:13: timing: is a string, not an object (value \"500ms\"): write it as {...}",
    );
    one_problem(
        "\"quorum\": \"none\",",
        "\"quorum\": \"none\", \"trust_refused\": 1,",
        "3:38: trust_refused: is a number, not a boolean (value 1): write true or false, without quotes",
    );
}

#[test]
fn syntax() {
    let remedy =
        "mind commas, quotes and brackets just before this place; a comment begins with //";
    let cases = [
        (format!("{GOOD}x"), "11:1: is not JSON: trailing characters"),
        (GOOD.replace("\"none\",", "\"none\""), "4:3: is not JSON: expected `,` or `}`"),
        (GOOD.replace("]\n}", "]"), "10:1: is not JSON: EOF while parsing an object"),
        (GOOD.replace("\"none\",", "\"none\", # none"), "3:21: is not JSON: key must be a string"),
        (String::new(), "1:1: is not JSON: EOF while parsing a value"),
    ];
    for (text, expected) in cases {
        let expected = format!("{expected}: {remedy}");
        assert_eq!(ConfigFile::new(&text).problems(), [expected], "{text}");
    }
}

#[test]
fn members() {
    one_problem(
        "\"node-2\"",
        "\"node-1\"",
        "8:14: members[1].name: is taken by members[0].name on line 7 (value \"node-1\"): \
         give every member a name of its own",
    );
    one_problem(
        "\"node-2\"",
        "\"..\"",
        "8:14: members[1].name: is not a name (value \"..\"): use 1 to 63 of the characters \
         A-Z a-z 0-9 . _ - (but neither \".\" nor \"..\")",
    );
    one_problem(
        "665ab310-e093-4084-beaa-df6001b3876c",
        "0DAC99D5-3E7F-40FB-ACE7-F991C011C960",
        "8:30: members[1].id: is taken by members[0].id on line 7 (value \
         \"0DAC99D5-3E7F-40FB-ACE7-F991C011C960\"): give every member a fresh id, as `uuidgen -r` \
         prints",
    );
    one_problem(
        "665ab310-e093-4084-beaa-df6001b3876c",
        "665ab310-e093-1084-beaa-df6001b3876c",
        "8:30: members[1].id: is a UUID, but not of version 4 (value \
         \"665ab310-e093-1084-beaa-df6001b3876c\"): give a fresh one, as `uuidgen -r` or \
         `electd init` prints",
    );
    one_problem(
        "665ab310-e093-4084-beaa-df6001b3876c",
        "node-2",
        "8:30: members[1].id: is not a version 4 UUID (value \"node-2\"): give a fresh one, as \
         `uuidgen -r` or `electd init` prints",
    );
    one_problem(
        "\"data_dir\": \"data\"",
        "\"data_dir\": \"data\", \"node\": \"node-3\"",
        "4:31: node: is the name of no member (value \"node-3\"): did you mean \"node-1\"?",
    );
}

#[test]
fn a_cluster_has_members() {
    let text = r#"{"cluster": " ", "quorum": "none", "data_dir": "", "members": []}"#;
    assert_eq!(
        ConfigFile::new(text).problems(),
        [
            "1:13: cluster: is empty (value \" \"): name the cluster, such as \"demo\"",
            "1:48: data_dir: is not a path (value \"\"): name a path; relative ones start at this \
             file's folder",
            "1:63: members: has no members (value []): list at least one, or let `electd init` \
             write them",
        ]
    );
}

#[test]
fn a_cluster_has_no_more_members_than_a_hello_can_name() {
    let members: Vec<String> = (0..65).map(|n| format!("{{\"name\": \"n{n}\"}}")).collect();
    let text = format!(
        "{{\"cluster\": \"c\", \"quorum\": \"none\", \"members\": [{}]}}",
        members.join(",")
    );
    let problems = ConfigFile::new(&text).problems();
    assert!(problems[1].starts_with("1:47: members: has 65 members"), "{problems:?}");
    assert!(problems[1].ends_with("list at most 64: each is connected to each"), "{problems:?}");
}

#[test]
fn somebody_may_lead() {
    let member = |n: u8, role| {
        format!(
            "{{\"name\": \"n{n}\", \"id\": \"0000000{n}-0000-4000-8000-000000000000\", \
             \"address\": \"h{n}:1\", \"role\": \"{role}\"}}"
        )
    };
    let members = [member(1, "witness"), member(2, "observer")].join(",");
    let text = format!(
        "{{\"cluster\": \"c\", \"quorum\": \"majority\", \"data_dir\": \"d\", \"members\": [{members}]}}"
    );
    let problems = ConfigFile::new(&text).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("members: has nobody who may lead"), "{problems:?}");
    assert!(problems[0].ends_with("give at least one the role \"member\""), "{problems:?}");
}

#[test]
fn addresses() {
    let remedy =
        "write host:port, such as \"10.0.0.1:7101\", \"db1.example.com:7101\" or \"[::1]:7101\"";
    let cases = [
        ("127.0.0.1", "has no port", remedy),
        ("127.0.0.1:0", "has no port between 1 and 65535", remedy),
        ("127.0.0.256:7102", "has no valid host", remedy),
        ("::1:7102", "is ambiguous", "write an IPv6 address in brackets, such as \"[::1]:7101\""),
        (
            "0.0.0.0:7102",
            "is every address of a host, which nobody can dial",
            "give the address that the others dial, and this one as `listen`",
        ),
        (
            "127.0.0.1:7101",
            "is taken by members[0].address on line 7",
            "give every member an address of its own",
        ),
    ];
    for (address, what, remedy) in cases {
        let expected = format!("8:81: members[1].address: {what} (value \"{address}\"): {remedy}");
        one_problem("127.0.0.1:7102", address, &expected);
    }
    for address in ["[::1]:7102", "db-2.example.com:7102", "localhost:1"] {
        assert!(with("127.0.0.1:7102", address).check(&[]).status.success(), "{address}");
    }
}

#[test]
fn admin_addresses() {
    one_problem(
        "127.0.0.1:7202",
        "127.0.0.1:7201",
        "8:108: members[1].admin: is taken by members[0].admin on line 7 (value \
         \"127.0.0.1:7201\"): give every member an admin address of its own",
    );
    one_problem(
        "127.0.0.1:7202",
        "127.0.0.1:7101",
        "8:108: members[1].admin: is taken by members[0].address on line 7 (value \
         \"127.0.0.1:7101\"): give admin a port of its own",
    );
    one_problem(
        "\"admin\": \"127.0.0.1:7202\"",
        "\"admin\": \"127.0.0.1:9000\", \"listen\": \"0.0.0.0:9000\"",
        "8:108: members[1].admin: is taken by members[1].listen on line 8 (value \
         \"127.0.0.1:9000\"): give admin a port of its own",
    );
}

#[test]
fn where_http_listens() {
    let own = "\"admin\": \"127.0.0.1:7202\"";
    one_problem(
        own,
        "\"admin_listen\": \"0.0.0.0:7202\"",
        "8:115: members[1].admin_listen: is where HTTP listens, and nobody is told of it (value \
         \"0.0.0.0:7202\"): give `admin` too: host:port that the others reach it at",
    );
    one_problem(
        own,
        "\"admin\": \"127.0.0.1:7202\", \"admin_listen\": \"0.0.0.0:7102\"",
        "8:142: members[1].admin_listen: is taken by members[1].address on line 8 (value \
         \"0.0.0.0:7102\"): give admin a port of its own",
    );
    // All containers may bind alike, and publish another port than they bind.
    let bound = "\"listen\": \"0.0.0.0:7201\", \"admin_listen\": \"0.0.0.0:8080\", \"admin\"";
    let file = ConfigFile::new(&GOOD.replace("\"admin\"", bound));
    let told = file.check(&["--output", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["members"][0]["admin_listen"], "0.0.0.0:8080");
    assert_eq!(told["members"][0]["admin"], "127.0.0.1:7201");
}

#[test]
fn members_on_different_hosts_may_listen_alike() {
    let text = GOOD.replace("\"admin\"", "\"listen\": \"0.0.0.0:7101\", \"admin\"");
    assert!(ConfigFile::new(&text).check(&[]).status.success());
}

#[test]
fn a_word_that_does_not_exist_is_told_which_do() {
    one_problem(
        "\"none\"",
        "\"some\"",
        "3:13: quorum: quorum cannot be \"some\": use \"none\" or \"majority\"",
    );
    one_problem(
        "\"admin\": \"127.0.0.1:7202\"",
        "\"role\": \"wittness\"",
        "8:107: members[1].role: role cannot be \"wittness\": did you mean \"witness\"?",
    );
}

#[test]
fn what_this_version_has_is_accepted() {
    let more = r#""quorum": "none", "algorithm": "bully", "preempt": "never", "rank": {"by": "id"},
        "trust_refused": false, "realtime": true, "node": "node-2", "admin_token_file": "token""#;
    let output = with("\"quorum\": \"none\"", more).check(&["--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["preempt"], "never");
    assert_eq!(json["trust_refused"], false);
    assert_eq!(json["realtime"], true);
    assert_eq!(json["node"], "node-2");
    assert_eq!(json["proven_failover_ms"], serde_json::Value::Null);
}

#[test]
fn all_problems_of_a_file_come_in_one_go_and_in_its_order() {
    let text = GOOD
        .replace("\"none\"", "\"most\"")
        .replace("\"500ms\"", "500")
        .replace("127.0.0.1:7101", "node-1")
        .replace("665ab310", "665ab31");
    let places: Vec<String> = ConfigFile::new(&text)
        .problems()
        .iter()
        .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let expected =
        ["3:13 quorum", "5:47 timing.failure", "7:81 members[0].address", "8:30 members[1].id"];
    assert_eq!(places, expected);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let output = electd(&["check", "--config", "/nonexistent/cluster.json"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).starts_with("/nonexistent/cluster.json: cannot be read: "));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.json");
    fs::write(&path, b"{\"cluster\": \"d\xe9mo\"}").unwrap();
    let output = electd(&["check", "--config", path.to_str().unwrap()]);
    assert!(stderr(&output).contains(":1:15: is not UTF-8 text: save it as UTF-8"), "{output:?}");
}

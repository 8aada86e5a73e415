//! `check` and `init` as users run them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use super::files::*;

#[test]
fn check_states_the_timings_and_the_guarantee() {
    let file = ConfigFile::new(GOOD);
    let text = stdout(&file.check(&["--node", "node-2"]));
    for piece in
        ["node-1  0dac99d5", "T2         400ms", "within 550ms", "at most 800ms", "data/node-2"]
    {
        assert!(text.contains(piece), "{piece} is missing from\n{text}");
    }
    let output = file.check(&["--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["timing"]["t1_ms"], 100);
    assert_eq!(json["worst_failover_ms"], 550);
    assert_eq!(json["dual_leader_window_ms"], 800);
    assert_eq!(json["members"][1]["admin"], "127.0.0.1:7202");
    let folder = file.path.parent().unwrap();
    assert_eq!(json["data_dir"], folder.join("data").to_str().unwrap(), "beside the file");
}

#[test]
fn check_has_a_row_for_each_member_and_each_timing() {
    let text = stdout(&ConfigFile::new(GOOD).check(&[]));
    let cells = |line| str::split(line, "  ").map(str::trim).filter(|it| !it.is_empty()).collect();
    let rows: Vec<Vec<&str>> = text.lines().map(cells).collect();
    let (id, peer, admin) =
        ("0dac99d5-3e7f-40fb-ace7-f991c011c960", "127.0.0.1:7101", "127.0.0.1:7201");
    for row in [
        &["MEMBER", "ID", "ADDRESS", "LISTEN", "ADMIN", "ADMIN LISTEN", "ROLE", "RANK"][..],
        &["node-1", id, peer, peer, admin, admin, "member"],
        &["TIMING", "VALUE", "MEANING"],
        &["heartbeat", "100ms", "between two heartbeats of the leader"],
        &["failure", "500ms", "silence that makes a suspect"],
        &["message", "50ms", "longest time of one message, its processing included"],
        &["T1", "100ms", "wait for an ANSWER: 2 * message"],
        &["T2", "400ms", "wait for a COORDINATOR: 2 * T1 + 4 * message"],
        &["stall", "400ms", "a leader this late counts itself as failed: failure - 2 * message"],
        &["lease", "400ms", "with a majority: for how long a voter promises its vote"],
        &[
            "job term",
            "100ms",
            "run -- CMD: TERM comes so long before the leadership ends unrenewed",
        ],
        &["job kill", "50ms", "run -- CMD: KILL comes so long before it ends"],
    ] {
        assert!(rows.iter().any(|shown| shown.starts_with(row)), "{row:?} is missing from\n{text}");
    }
}

#[test]
fn the_defaults_follow_failure() {
    let timing =
        r#"{"heartbeat": "100ms", "failure": "500ms", "message": "50ms", "lease": "400ms"}"#;
    let output = with(timing, r#"{"failure": "2s"}"#).check(&["--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["timing"]["heartbeat_ms"], 400);
    assert_eq!(json["timing"]["message_ms"], 200);
}

#[test]
fn a_node_is_a_member_and_the_flag_beats_the_environment() {
    let file = ConfigFile::new(GOOD);
    let output = file.check(&["--node", "node-3"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("name one of node-1, node-2"), "{output:?}");
    let node = |args: &[&str]| {
        let args = [&["check", "--output", "json"], args].concat();
        let output = command(&args)
            .env("ELECTD_CONFIG", &file.path)
            .env("ELECTD_NODE", "node-2")
            .output()
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["node"].clone()
    };
    assert_eq!(node(&[]), "node-2");
    assert_eq!(node(&["--node", "node-1"]), "node-1");
    let elsewhere = "/etc/electd/cluster.json";
    if !Path::new(elsewhere).exists() {
        let output = command(&["check"]).env("ELECTD_CONFIG", "").output().unwrap();
        assert!(stderr(&output).starts_with(&format!("{elsewhere}: cannot be read")), "{output:?}");
    }
}

#[test]
fn an_environment_that_is_no_text_is_an_error_and_a_path_may_be_any_bytes() {
    let file = ConfigFile::new(GOOD);
    let strange = OsStr::from_bytes(b"n\xffde");
    for (name, args, code) in [
        ("ELECTD_NODE", &["check"][..], 2),
        ("ELECTD_ADMIN", &["status"], 2),
        ("RUST_LOG", &["run"], 2),
        ("ELECTD_LOG_FORMAT", &["check"], 2),
        ("ELECTD_NODE", &["health"], 3),
    ] {
        let output = command(args).env("ELECTD_CONFIG", &file.path).env(name, strange).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let words = format!("{name}=\"n\\xFFde\" is not UTF-8 text: set it again, or unset it\n");
        assert_eq!(stderr(&output), words);
    }
    let copy = file.path.with_file_name(strange);
    std::fs::copy(&file.path, &copy).unwrap();
    let output = command(&["check"]).env("ELECTD_CONFIG", copy).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let file = ConfigFile::new(GOOD);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut check = command(&["check", "--config", file.arg()]);
    let output = check.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = check.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(70), "but a disk that is full is one");
    assert!(stderr(&output).starts_with("cannot write to stdout: No space left"), "{output:?}");
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let nothing_to_run = ["exec"];
    for args in [
        &["check", "--colour"][..],
        &["init"],
        &["init", "--nodes", "0"],
        &["elect"],
        &[],
        &nothing_to_run,
    ] {
        assert_eq!(electd(args).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(electd(&["health", "--colour"]).status.code(), Some(3), "2 is an outage");
    for args in [&["--version"][..], &["--help"], &["help", "init"]] {
        assert_eq!(electd(args).status.code(), Some(0), "{args:?}");
    }
}

/// The members of a file, after `check` passed it.
fn checked_members(path: &Path) -> Vec<serde_json::Value> {
    let output = electd(&["check", "--output", "json", "--config", path.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    json["members"].as_array().unwrap().clone()
}

#[test]
fn a_token_that_cannot_be_read_is_told_where_its_node_is_checked() {
    let file =
        with("\"quorum\": \"none\"", "\"quorum\": \"none\", \"admin_token_file\": \"token\"");
    assert_eq!(file.check(&[]).status.code(), Some(0), "another host may have it");
    let refused = |words: &str| {
        let output = file.check(&["--node", "node-1"]);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        assert!(stderr(&output).contains(words), "{output:?}");
    };
    refused("cannot read admin_token_file ");
    let token = file.path.with_file_name("token");
    fs::write(&token, "\n").unwrap();
    refused("token is empty: write a token");
    fs::write(&token, "sec\nret\n").unwrap();
    refused(
        "token: byte 4 is a line break; write one line of at most 4096 printable ASCII characters",
    );
    fs::write(&token, "secret\n").unwrap();
    assert_eq!(file.check(&["--node", "node-1"]).status.code(), Some(0));
}

/// "The state of this node under another name is an error, as it is for `run`"; and the group has to be on its host.
#[test]
fn what_keeps_a_node_from_starting_is_told_where_it_is_named() {
    let group = "\"quorum\": \"none\", \"control_group\": \"no-such-group\"";
    let spoilt = ConfigFile::new(GOOD);
    let renamed = spoilt.path.with_file_name("data").join("old");
    fs::create_dir_all(&renamed).unwrap();
    for name in ["state.json", "lock"] {
        fs::write(renamed.join(name), "no state").unwrap();
    }
    for (file, exit, words) in
        [(with("\"quorum\": \"none\"", group), 78, "no-such-group"), (spoilt, 65, "data/old")]
    {
        let output = file.check(&["--node", "node-1"]);
        assert_eq!(
            (output.status.code(), stdout(&output).as_str()),
            (Some(exit), ""),
            "{output:?}"
        );
        assert!(stderr(&output).contains(words), "{output:?}");
        let text = fs::read_to_string(&file.path).unwrap();
        fs::write(&file.path, text.replacen('{', "{\"node\": \"node-1\",", 1)).unwrap();
        let output = file.check(&[]);
        assert_eq!(output.status.code(), Some(0), "another host may be meant: {output:?}");
        assert!(stdout(&output).contains("\nnode       node-1, its state in "), "{output:?}");
    }
}

#[test]
fn nobody_is_watched_where_nobody_has_an_admin_address() {
    let text = GOOD
        .replace(", \"admin\": \"127.0.0.1:7201\"", "")
        .replace(", \"admin\": \"127.0.0.1:7202\"", "");
    let output = electd(&["watch", "--config", ConfigFile::new(&text).arg()]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(stderr(&output).contains("nobody can be watched"), "{output:?}");
}

#[test]
fn init_writes_a_local_cluster_that_check_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.json");
    let out = path.to_str().unwrap();
    let output = electd(&["init", "--nodes", "12", "--base-port", "9001", "--out", out]);
    assert!(output.status.success(), "{output:?}");
    let said = format!(
        "quorum is \"none\": in a partition each side has a leader (--quorum none says that you mean it)\nwrote {out}; \
         next: electd check --config {out}\n"
    );
    assert_eq!(stderr(&output), said);
    let members = checked_members(&path);
    assert_eq!(members.len(), 12);
    assert_eq!(members[11]["name"], "node-12");
    assert_eq!(members[11]["address"], "127.0.0.1:9012");
    assert_eq!(members[11]["admin"], "127.0.0.1:9112");
    let ids: Vec<&str> = members.iter().map(|member| member["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "a later member ranks higher: {ids:?}");

    let before = fs::read(&path).unwrap();
    let output = electd(&["init", "--nodes", "3", "--out", out]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is not overwritten"), "{output:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn init_leaves_a_file_as_it_is_if_it_is_told_to_write_an_absent_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.json");
    let args = ["init", "--nodes", "2", "--if-absent", "--out", path.to_str().unwrap()];
    assert_eq!(electd(&args).status.code(), Some(0));
    let before = fs::read(&path).unwrap();
    let output = electd(&args);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), format!("{} exists, and is left as it is\n", path.display()));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(electd(&["init", "--nodes", "2", "--if-absent"]).status.code(), Some(2));
}

#[test]
fn init_says_what_differs_in_a_file_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.json");
    let init = |args: &[&str]| {
        let out = ["--if-absent", "--out", path.to_str().unwrap()];
        electd(&[&["init"], args, &out].concat())
    };
    let given = ["--member", "a=10.0.0.1", "b=db2:7301", "--witness", "w=10.0.0.3"];
    assert_eq!(init(&given).status.code(), Some(0));
    // What is not asked for is the file's own.
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen('{', "{ \"algorithm\": \"ring\", // it is\n", 1).replace("30s", "40s");
    fs::write(&path, text).unwrap();
    let same = [&given[..], &["--quorum", "majority", "--preempt", "40s"]].concat();
    for same in
        [&given[..], &same, &["--member", "b=DB2.:7301", "a=10.0.0.1", "--witness", "w=10.0.0.3"]]
    {
        let output = init(same);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let before = fs::read(&path).unwrap();
    for (args, differs) in [
        (&["--member", "a=10.0.0.1", "b=db2:7301"][..], "it has the member w"),
        (
            &["--member", "a=10.0.0.9", "b=db2:7301", "c=h", "--witness", "w=10.0.0.3"],
            "the address of a is 10.0.0.1:7101, not 10.0.0.9:7101; the admin address of a is 10.0.0.1:7201, not \
             10.0.0.9:7201; it has no member c",
        ),
        (&[&given[..], &["--cluster", "x"]].concat(), "cluster is demo, not x"),
        (&[&given[..], &["--quorum", "none"]].concat(), "quorum is majority, not none"),
        (&[&given[..], &["--timing", "wan"]].concat(), "timing.failure is 500ms, not 3s"),
        (&[&given[..], &["--data-dir", "/x"]].concat(), "data_dir is /var/lib/electd, not /x"),
        (&[&given[..], &["--tls"]].concat(), "a has no `tls`; b has no `tls`; w has no `tls`"),
    ] {
        let output = init(args);
        assert_eq!(output.status.code(), Some(78), "{args:?}: {output:?}");
        let words = format!("{} exists, and is not what is asked for: {differs}", path.display());
        assert!(stderr(&output).starts_with(&words), "{args:?}: {output:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::write(&path, "{").unwrap();
    assert_eq!(init(&given).status.code(), Some(78), "it is no file of a cluster");
}

#[test]
fn init_writes_a_cluster_of_hosts_to_stdout() {
    let args = ["init", "--quorum", "none", "--cluster", "a \"b\"", "--member", "db1=10.0.0.1"];
    let output = electd(&[&args[..], &["--member", "db2=[::1]:7301", "db3=h"]].concat());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let members = checked_members(&ConfigFile::new(&stdout(&output)).path);
    let addresses: Vec<_> = members.iter().map(|member| &member["address"]).collect();
    assert_eq!(addresses, ["10.0.0.1:7101", "[::1]:7301", "h:7101"]);
    assert_eq!(members[1]["admin"], "[::1]:7401");
}

#[test]
fn init_for_hosts_is_safe_unless_it_is_told_otherwise() {
    let hosts = ["init", "--member", "a=10.0.0.1", "b=10.0.0.2"];
    let witness = ["--witness", "w=10.0.0.3", "--observer", "o=10.0.0.4", "--timing", "wan"];
    let output = electd(&[&hosts[..], &witness].concat());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let written: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(written["quorum"], "majority");
    assert_eq!(written["preempt"]["after"], "30s");
    assert_eq!(written["timing"]["failure"], "3s");
    assert_eq!(written["data_dir"], "/var/lib/electd", "where the packaged unit has its state");
    let members = checked_members(&ConfigFile::new(&stdout(&output)).path);
    let roles: Vec<_> = members.iter().map(|member| &member["role"]).collect();
    assert_eq!(roles, ["member", "member", "witness", "observer"]);

    let output = electd(&hosts);
    assert!(stderr(&output).contains("two voters survive no failure"), "{output:?}");
    let told = ["--quorum", "none", "--preempt", "always"];
    let output = electd(&[&hosts[..], &told].concat());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let written: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&written["quorum"], &written["preempt"]), (&"none".into(), &"always".into()));
    let told = ["--timing", "vm", "--data-dir", "state", "--preempt", "never"];
    let output = electd(&[&hosts[..], &told].concat());
    let written: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&written["timing"]["failure"], &written["data_dir"]),
        (&"2s".into(), &"state".into())
    );
    assert_eq!(written["preempt"], "never");
    let output = electd(&[&hosts[..], &["--preempt", "soon"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(&output).contains("preempt.after"), "{output:?}");
}

#[test]
fn init_refuses_what_check_would_refuse() {
    let cases = [
        (&["--member", "a=h", "a=i"][..], "is taken by members[0].name"),
        (&["--member", "a=h", "b=h:7201"], "is taken by members[1].address"),
        (&["--member", "a b=h"], "is not a name"),
        (&["--member", "a"], "write NAME=HOST or NAME=HOST:PORT"),
        (&["--nodes", "2", "--cluster", ""], "cluster: is empty"),
        (&["--nodes", "2", "--quorum", "most"], "quorum cannot be \"most\""),
        (&["--nodes", "2", "--base-port", "65500"], "is too high"),
    ];
    for (args, expected) in cases {
        let output = electd(&[&["init"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{args:?}: {output:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[test]
fn the_cluster_in_conf_is_good_and_its_ids_follow_the_names() {
    let members =
        checked_members(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/conf/cluster.json")));
    let ids: Vec<&str> = members.iter().map(|member| member["id"].as_str().unwrap()).collect();
    assert_eq!(members.len(), 5);
    assert!(ids.is_sorted(), "node-5 is the first to lead");
}

#[test]
fn check_says_as_whom_it_asks_if_the_state_belongs_to_another() {
    let file = ConfigFile::new(GOOD);
    let ask = || {
        let output = file.check(&["--output", "json", "--node", "node-1"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (json["asked_as"].clone(), json["state_of"].clone())
    };
    let (own, other) = ask();
    assert!(own.is_string() && other.is_null(), "{own} {other}");
    let state = file.path.with_file_name("data").join("node-1");
    fs::create_dir_all(&state).unwrap();
    if std::os::unix::fs::chown(&state, Some(65_533), None).is_err() {
        println!("skipped: only root gives a folder to another user");
        return;
    }
    assert_eq!(ask(), (own.clone(), "#65533".into()));
    let text = stdout(&file.check(&["--node", "node-1"]));
    let own = own.as_str().unwrap();
    assert!(text.contains(&format!("asked as   WARNING: {own}, and /")), "{text}");
    assert!(text.contains("ask by `sudo -u '#65533' electd check`"), "{text}");
}

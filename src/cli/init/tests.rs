//! What a new configuration holds, and the rows in which its members are given.

use std::path::PathBuf;

use clap::Parser;
use clap::error::ErrorKind;

use super::*;

/// The arguments as the command reads them.
fn parsed(words: &[&str]) -> Result<InitArgs, ErrorKind> {
    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        init: InitArgs,
    }
    let flags = Flags::try_parse_from([&["x"], words].concat());
    flags.map(|flags| flags.init).map_err(|error| error.kind())
}

/// The file of these arguments, without its ids, which have to ascend; and what is warned of.
fn document(words: &[&str]) -> (String, Option<&'static str>) {
    let init = parsed(words).unwrap();
    let text = init.document().unwrap();
    let mut parts = text.split("\"id\": \"");
    let (mut bare, mut ids) = (parts.next().unwrap().to_owned(), Vec::new());
    for part in parts {
        let (id, rest) = part.split_once("\", ").unwrap();
        ids.push(id);
        bare += rest;
    }
    assert!(ids.is_sorted() && ids.iter().all(|id| Uuid::parse_str(id).is_ok()), "{text}");
    assert!(config::parse(&text, Path::new("new")).is_ok(), "{text}");
    (bare, init.warning())
}

#[test]
fn a_file_has_what_suits_its_hosts_unless_a_flag_says_otherwise() {
    let partition = "quorum is \"none\": in a partition each side has a leader (--quorum none says that you mean it)";
    let two = "two voters survive no failure: add --witness NAME=HOST on a third host, which votes and never leads";
    let local = r#"{
  "cluster": "demo",
  "quorum": "none",
  "data_dir": "data",
  "members": [
    {"name": "node-1", "address": "127.0.0.1:7101", "admin": "127.0.0.1:7201"},
    {"name": "node-2", "address": "127.0.0.1:7102", "admin": "127.0.0.1:7202"}
  ]
}
"#;
    assert_eq!(document(&["--nodes", "2"]), (local.to_owned(), Some(partition)));
    let meant = document(&["--nodes", "2", "--quorum", "none", "--timing", "lan"]);
    assert_eq!(meant, (local.to_owned(), None));
    let told = local.replace("7101", "9000").replace("7201", "9100").replace("7102", "9001");
    let told = told.replace("7202", "9101").replace("demo", "hc").replace("none", "majority");
    let told = told.replace("\"data\"", "\"/state\"").replace(
        "\"members\": [",
        "\"preempt\": {\"after\":\"3s\"},\n  \"timing\": {\"failure\":\"2s\"},\n  \"members\": [",
    );
    let flags = "--nodes 2 --base-port 9000 --cluster hc --quorum majority --data-dir /state --preempt 3s --timing vm";
    assert_eq!(document(&flags.split(' ').collect::<Vec<_>>()), (told, None));
    let hosts = r#"{
  "cluster": "demo",
  "quorum": "majority",
  "data_dir": "/var/lib/electd",
  "preempt": {"after":"30s"},
  "timing": {"failure":"3s"},
  "members": [
    {"name": "a", "address": "h:7101", "admin": "h:7201",
     "tls": {"ca": "tls/a/ca.pem", "cert": "tls/a/cert.pem", "key": "tls/a/key.pem"}},
    {"name": "w", "address": "i:1", "admin": "i:101", "role": "witness",
     "tls": {"ca": "tls/w/ca.pem", "cert": "tls/w/cert.pem", "key": "tls/w/key.pem"}},
    {"name": "o", "address": "j:2", "admin": "j:102", "role": "observer",
     "tls": {"ca": "tls/o/ca.pem", "cert": "tls/o/cert.pem", "key": "tls/o/key.pem"}}
  ]
}
"#;
    let flags = "--observer o=j:2 --witness w=i:1 --member a=h --timing wan --tls --out x";
    assert_eq!(document(&flags.split(' ').collect::<Vec<_>>()), (hosts.to_owned(), Some(two)));
    let warning = |words: &[&str]| document(words).1;
    assert_eq!(warning(&["--member", "a=h"]), None);
    assert_eq!(warning(&["--member", "a=h", "b=i"]), Some(two));
    assert_eq!(warning(&["--member", "a=h", "b=i", "--witness", "w=j"]), None);
    assert_eq!(warning(&["--member", "a=h", "b=i", "--quorum", "none"]), None);
    assert_eq!(warning(&["--nodes", "2", "--quorum", "majority"]), None);
    for (word, written) in [("always", "\"always\""), ("never", "\"never\"")] {
        let (text, _) = document(&["--member", "a=h", "--preempt", word]);
        assert!(text.contains(&format!("\n  \"preempt\": {written},\n")), "{text}");
    }
}

#[test]
fn a_command_line_makes_one_kind_of_cluster_or_renews_a_certificate() {
    use ErrorKind::{ArgumentConflict, MissingRequiredArgument, ValueValidation};
    for words in [
        "--nodes 1",
        "--nodes 100",
        "--nodes 1 --base-port 1",
        "--member a=h --out x --if-absent",
        "--tls --renew a --out x",
        "--join",
        "--join=4 --member a=h --out x",
    ] {
        assert!(parsed(&words.split(' ').collect::<Vec<_>>()).is_ok(), "{words}");
    }
    for (words, kind) in [
        ("--nodes 0", ValueValidation),
        ("--nodes 101", ValueValidation),
        ("--nodes 1 --base-port 0", ValueValidation),
        ("--nodes 1 --member a=h", ArgumentConflict),
        ("--nodes 1 --witness a=h", ArgumentConflict),
        ("--nodes 1 --observer a=h", ArgumentConflict),
        ("--member a=h --base-port 1", ArgumentConflict),
        ("--witness a=h", MissingRequiredArgument),
        ("--nodes 1 --tls", MissingRequiredArgument),
        ("--nodes 1 --if-absent", MissingRequiredArgument),
        ("--renew a --out x", MissingRequiredArgument),
        ("--renew a --tls", MissingRequiredArgument),
        ("--renew a --tls --out x --nodes 1", ArgumentConflict),
        ("--renew a --tls --out x --member b=h", ArgumentConflict),
        ("--renew a --tls --out x --if-absent", ArgumentConflict),
        ("--nodes 1 --preempt", ErrorKind::InvalidValue),
        ("--join=0", ValueValidation),
        ("--join --nodes 1", ArgumentConflict),
        ("--join --member a=h --witness b=i", ArgumentConflict),
        ("--join --tls --out x", ArgumentConflict),
    ] {
        let found = parsed(&words.split(' ').collect::<Vec<_>>()).err();
        assert_eq!(found, Some(kind), "{words}");
    }
}

#[test]
fn a_cluster_that_hosts_join_begins_with_one_and_has_the_same_file_on_all() {
    let (text, warning) = document(&["--join", "--member", "a=h"]);
    let keys = r#"  "tls": {"ca":"tls/own/ca.pem","cert":"tls/own/cert.pem","key":"tls/own/key.pem"},
  "admin_tls": true,
  "members": [
    {"name": "a", "address": "h:7101", "admin": "h:7201"}
  ]
"#;
    assert!(text.contains("\"quorum\": \"majority\"") && text.contains(keys), "{text}");
    assert_eq!(warning, None);
    let (_folder, file) = place();
    for (members, words) in [
        (&["a=h", "b=i"][..], "--join begins with one member, this host: the others join"),
        (
            &["own=h"],
            "\"own\" cannot be the name of a member here: give another with --member NAME=HOST",
        ),
    ] {
        let error = run(&[&["--join", "--member"], members].concat(), &file).unwrap_err();
        assert_eq!(error, CliError::new(Exit::Usage, words));
        assert!(!file.exists());
    }
}

/// A folder of a test, and the path of a file in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    (folder, file)
}

/// Runs the command with these arguments, and this file to write.
fn run(words: &[&str], file: &Path) -> Result<(), CliError> {
    parsed(&[words, &["--out", file.to_str().unwrap()]].concat()).unwrap().run()
}

#[test]
fn what_cannot_be_made_whole_is_not_made() {
    let (folder, file) = place();
    let tls = folder.path().join("tls");
    let is_empty = || folder.path().read_dir().unwrap().next().is_none();
    // The folder of a member would have the name of a file of the authority.
    let error = run(&["--member", "ca.pem=h", "--tls"], &file).unwrap_err();
    let words = format!("{} cannot be written: File exists (os error 17)", tls.display());
    assert_eq!(error, CliError::new(Exit::Usage, words));
    assert!(is_empty());
    std::fs::create_dir(&tls).unwrap();
    let error = run(&["--member", "a=h", "--tls"], &file).unwrap_err();
    let words = format!(
        "{} exists and is not overwritten: move it away, or write to another folder",
        tls.display()
    );
    assert_eq!(error, CliError::new(Exit::Usage, words));
    assert!(!file.exists() && tls.read_dir().unwrap().next().is_none());
    std::fs::remove_dir(&tls).unwrap();
    assert_eq!(
        run(&["--member", "a=h", "--preempt", "soon"], &file).unwrap_err().exit,
        Exit::Usage
    );
    assert!(is_empty());
    assert_eq!(run(&["--member", "a=h"], &file), Ok(()));
    assert!(file.exists() && !tls.exists());
    let nowhere = Path::new("/no/such/cluster.json");
    let error = certificates::write(nowhere, "demo", [("a", "a")].into_iter()).unwrap_err();
    let words = "/no/such/tls cannot be made: No such file or directory (os error 2): name a file in another folder \
                 with --out";
    assert_eq!(error, CliError::new(Exit::Usage, words));
}

#[test]
fn a_member_is_a_name_and_a_host_with_or_without_port() {
    let parse = |text| parse_member(text).map(|m| (m.address.to_string(), m.admin.to_string()));
    let pair = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
    assert_eq!(parse("a=10.0.0.1"), pair("10.0.0.1:7101", "10.0.0.1:7201"));
    assert_eq!(parse("a=db1:9000"), pair("db1:9000", "db1:9100"));
    assert_eq!(parse("a=[::1]"), pair("[::1]:7101", "[::1]:7201"));
    assert_eq!(parse("a=[::1]:9000"), pair("[::1]:9000", "[::1]:9100"));
    assert_eq!(parse("a=h:65435"), pair("h:65435", "h:65535"));
    let rule = "use 1 to 63 of the characters A-Z a-z 0-9 . _ - (but neither \".\" nor \"..\")";
    for (text, why) in [
        ("a", "write NAME=HOST or NAME=HOST:PORT".to_owned()),
        ("=h", format!("\"\" is not a name: {rule}")),
        ("a/b=h", format!("\"a/b\" is not a name: {rule}")),
        ("a=h:65436", "the admin port, 100 above h:65436, is over 65535".to_owned()),
    ] {
        assert_eq!(parse(text), Err(why), "{text}");
    }
    for (text, begin) in [("a=", "\"\" "), ("a=h:0", "\"h:0\" "), ("a=::1", "\"::1\" ")] {
        let why = parse(text).unwrap_err();
        assert!(why.starts_with(begin) && why.contains(": "), "{why}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_with_its_remedy() {
    let path = Path::new("/no/such/cluster.json");
    let told = |kind: io::ErrorKind| {
        let CliError { exit, message } = refused(path, &kind.into());
        assert_eq!(exit, Exit::Usage);
        message.strip_prefix("/no/such/cluster.json ").unwrap().to_owned()
    };
    let exists = "exists and is not overwritten: name another file, or move it away";
    assert_eq!(told(io::ErrorKind::AlreadyExists), exists);
    let missing = "cannot be written: there is no folder /no/such: create the folder";
    assert_eq!(told(io::ErrorKind::NotFound), missing);
    let full = "cannot be written: no storage space: name another file with --out";
    assert_eq!(told(io::ErrorKind::StorageFull), full);
    let error = refused(Path::new("/"), &io::ErrorKind::NotFound.into());
    assert_eq!(error.message, "/ cannot be written: there is no folder .: create the folder");
}

#[test]
fn local_members_stay_below_the_last_port() {
    assert_eq!(local_members(100, 7101).unwrap().len(), 100);
    let names = local_members(2, 65434).unwrap();
    let rows = names.iter().map(|it| (it.name.as_str(), it.address.to_string(), it.role));
    let rows: Vec<_> = rows.collect();
    let row = |name, address: &str| (name, address.to_owned(), Role::Member);
    assert_eq!(rows, [row("node-1", "127.0.0.1:65434"), row("node-2", "127.0.0.1:65435")]);
    let refused = |base_port| local_members(2, base_port).unwrap_err();
    let words =
        "--base-port 65435 is too high: the admin port, 100 above 127.0.0.1:65436, is over 65535";
    assert_eq!(refused(65435), CliError::new(Exit::Usage, words));
    let words =
        "--base-port 65535 is too high: the admin port, 100 above 127.0.0.1:65535, is over 65535";
    assert_eq!(refused(65535), CliError::new(Exit::Usage, words));
}

#[test]
fn a_row_names_the_role_of_all_but_members_and_the_files_of_tls() {
    let id = Uuid::nil();
    let begin = format!(
        "    {{\"name\": \"a\", \"id\": \"{id}\", \"address\": \"h:1\", \"admin\": \"h:101\""
    );
    for (role, words) in [
        (Role::Member, ""),
        (Role::Witness, ", \"role\": \"witness\""),
        (Role::Observer, ", \"role\": \"observer\""),
    ] {
        let member = super::parse("a=h:1", role).unwrap();
        assert_eq!(member.row(id, false), format!("{begin}{words}}}"));
        let files = certificates::entry("a");
        assert_eq!(member.row(id, true), format!("{begin}{words},\n     \"tls\": {files}}}"));
    }
    let files = r#"{"ca": "tls/a/ca.pem", "cert": "tls/a/cert.pem", "key": "tls/a/key.pem"}"#;
    assert_eq!(certificates::entry("a"), files);
}

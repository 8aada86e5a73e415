//! What a person at a terminal meets before any node runs: the help, hints and completions.

use std::process::{Command, Output, Stdio};

use crate::admin::pace::until;
use crate::pty::{Terminal, on_terminal};

fn electd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_electd")).args(args).output().expect("electd runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_help_has_the_commands_in_groups() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = text(&electd(args).stdout);
        let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}:\n{help}"));
        let order =
            ["Run a node:\n", "\n  run ", "See:\n", "\n  status ", "Change:\n", "\n  drain "];
        let places: Vec<usize> = order.into_iter().map(place).collect();
        assert!(places.is_sorted(), "{help}");
        assert!(place("Options:") < place("Exit codes:"), "{help}");
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
        assert!(help.ends_with("own code on.\n"), "{help}");
    }
}

#[test]
fn a_command_that_others_have_and_electd_has_not_gets_a_hint() {
    for (typed, remedy) in [
        ("start", "electd has no command start: `electd run` starts a node\n"),
        ("stop", "`systemctl stop electd@NAME`"),
        ("restart", "`electd reload`"),
        ("version", "`electd --version`"),
        ("list", "`electd member list`"),
        ("members", "`electd member list`"),
        ("logs", "`electd watch`"),
        // One that nobody has gets clap's own.
        ("statsu", "a similar subcommand exists: 'status'"),
    ] {
        let output = electd(&[typed]);
        assert_eq!(output.status.code(), Some(2), "{typed}: {output:?}");
        assert!(text(&output.stderr).contains(remedy), "{typed}: {output:?}");
        assert!(output.stdout.is_empty(), "{typed}: {output:?}");
    }
}

#[test]
fn every_command_that_fails_says_why_and_ends_with_its_code() {
    const NONE: &str = "/there/is/none.json";
    let all = "run --node a, exec --node a -- true, demo, check, status, leader, health, history, trace, \
               record --node a, watch, why, resign, switchover --to a, drain --node a, undrain --node a, pause, resume, \
               reload --node a, member list, member add --name b --address 10.0.0.2:7101, member remove a, \
               simulate --down a";
    let mut commands: Vec<String> = all
        .split(", ")
        .map(|command| match command.split_once(" -- ") {
            Some((before, after)) => format!("{before} --config {NONE} -- {after}"),
            None => format!("{command} --config {NONE}"),
        })
        .collect();
    commands.push(format!("replay {NONE}"));
    commands.push(format!("init --member a=10.0.0.1 --out {NONE}"));
    commands.push("man --out /proc/there/is/none".to_owned());
    for command in commands {
        let output = electd(&command.split(' ').collect::<Vec<_>>());
        let code = match command.split(' ').next().unwrap_or_default() {
            "run" | "replay" => 66,
            "health" => 3,
            "init" | "man" => 2,
            _ => 78,
        };
        assert_eq!(output.status.code(), Some(code), "{command}: {output:?}");
        assert!(text(&output.stderr).contains("/there/is/none"), "{command}: {output:?}");
    }
}

/// A person reads it on a terminal, and a program in a pipe, wherever the errors go.
#[test]
fn a_result_fits_the_terminal_that_it_goes_to_and_is_whole_elsewhere() {
    let file = cluster("db1=10.0.0.1 db2=10.0.0.2 web=10.0.0.3");
    let file = file.path().to_str().expect("UTF-8");
    for args in [&["check", "--config", file][..], &["simulate", "--nodes", "3", "--crash", "3"]] {
        let whole = text(&electd(args).stdout);
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        let command = on_terminal(command.args(args));
        let narrow = Terminal::of(24, 50);
        let piped = command.stdout(Stdio::piped()).stderr(narrow.stdio()).output().expect("electd");
        assert_eq!(text(&piped.stdout), whole);
        assert!(whole.lines().any(|line| line.chars().count() > 60), "{whole}");
        for (columns, fits) in [(50, true), (0, false)] {
            let terminal = Terminal::of(24, columns);
            let status = command.stdout(terminal.stdio()).stderr(Stdio::null()).status();
            assert!(status.expect("electd").success());
            let last = whole.split_whitespace().next_back().expect("words");
            until("it shows all", || terminal.shows().trim_end().ends_with(last));
            let shown = terminal.shows();
            assert_eq!(shown.lines().all(|line| line.chars().count() <= 50), fits, "{shown}");
            assert_eq!(shown.replace('\r', "") == whole, !fits, "{shown}");
        }
    }
}

/// A file with these members, for as long as it is held.
fn cluster(members: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let args = [&["init", "--member"][..], &members.split(' ').collect::<Vec<_>>()].concat();
    std::fs::write(file.path(), electd(&args).stdout).expect("it is written");
    file
}

#[test]
fn bash_completes_the_members_and_locks_of_the_file_that_is_named() {
    let file = cluster("db1=10.0.0.1 db2=10.0.0.2 web=10.0.0.3");
    let text_of = std::fs::read_to_string(file.path()).expect("it was written");
    let locks = r#"{"locks": {"mail": {}, "vip-1": {}, "vip-2": {}},"#;
    std::fs::write(file.path(), text_of.replacen('{', locks, 1)).expect("it can be written");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_electd"));
    let folder = program.parent().expect("it is in a folder").display();
    let file = file.path().display();
    // As bash does on TAB: the words, the number of the last one, and the function that it registered.
    let script = format!(
        r#"PATH="{folder}:$PATH"; eval "$(electd completions bash)"
        complete_for() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_TYPE=9; COMPREPLY=()
            $(complete -p electd | sed 's/.*-F \([^ ]*\).*/\1/') electd "${{!#}}" "${{@: -2:1}}"
            echo "${{COMPREPLY[*]}}"
        }}
        IFS=' '
        complete_for electd status --config {file} --node d
        complete_for electd run --config = {file} --node ''
        complete_for electd member --config {file} remove w
        ELECTD_CONFIG={file} complete_for electd switchover --to db
        complete_for electd resign --config {file} --to w
        complete_for electd why --config {file} db
        complete_for electd lock move --config {file} v
        complete_for electd exec --config {file} --lock m
        complete_for electd status --config /nothing --node ''
        complete_for electd swi"#
    );
    let output = Command::new("bash").args(["--norc", "-c", &script]).output().expect("bash");
    let expected =
        "db1 db2\ndb1 db2 web\nweb\ndb1 db2\nweb\ndb1 db2\nvip-1 vip-2\nmail\n\nswitchover\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn other_shells_have_completions_too() {
    for (shell, beginning) in [
        ("bash", "_clap_complete_electd() {"),
        ("zsh", "#compdef electd"),
        ("fish", "complete "),
        ("elvish", "set edit:completion:arg-completer[electd] = "),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName electd "),
    ] {
        let output = electd(&["completions", shell]);
        assert!(text(&output.stdout).trim_start().starts_with(beginning), "{output:?}");
        assert!(text(&output.stdout).contains("ELECTD_COMPLETE"), "{output:?}");
    }
    // A shell that nobody knows gets nothing, and an empty variable counts as none.
    for (shell, shown) in [("none", ""), ("", concat!("electd ", env!("CARGO_PKG_VERSION"), "\n"))]
    {
        let mut asks = Command::new(env!("CARGO_BIN_EXE_electd"));
        let output = asks.arg("--version").env("ELECTD_COMPLETE", shell).output().expect("electd");
        let said = (output.status.code(), text(&output.stdout), text(&output.stderr));
        assert_eq!(said, (Some(0), shown.to_owned(), String::new()), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command_and_makes_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("share/man1");
    let output = electd(&["man", "--out", pages.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for page in ["electd.1", "electd-run.1", "electd-member-add.1"] {
        let page = std::fs::read_to_string(pages.join(page)).expect(page);
        assert!(page.contains(".SH NAME\n"), "{page}");
    }
    let output = electd(&["man", "--out", "/dev/null/man1"]);
    let said = "the manual cannot be written to /dev/null/man1: Not a directory (os error 20); name another --out\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(2), said));
    let page = text(&electd(&["man"]).stdout);
    assert!(page.contains(".TH ELECTD 1 ") && page.contains("elected"), "{page}");
}

#[test]
fn a_demo_with_a_job_that_is_not_there_is_refused_with_its_name() {
    let output = electd(&["demo", "--", "./no-such-worker"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    let words = "./no-such-worker cannot be run on this host: No such file or directory (os error 2): give the path of a \
                 program, or a name that is found in PATH\n";
    assert_eq!(said, words);
}

/// Whatever ended the demo: then its pipe ends.
#[test]
fn the_keeper_of_a_demo_removes_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("electd-demo");
    std::fs::create_dir(&own).expect("a folder");
    std::fs::write(own.join("cluster.json"), "{}").expect("a file");
    let output = electd(&["demo", "--keeper", own.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!own.exists());
}

#[test]
fn the_first_demo_is_built_without_tls() {
    let plan = |config: &str| {
        let args = ["--dry-run", "run-cluster", config];
        text(&Command::new("make").args(args).output().expect("make").stdout)
    };
    let plain = plan("CARGO=cargo");
    assert!(
        plain.contains("--no-default-features --features cli -- demo --config conf/"),
        "{plain}"
    );
    let other = plan("CONFIG=other.json");
    assert!(other.contains("run -p electd --bin electd  -- demo --config other.json"), "{other}");
}

/// What it prints on a terminal of this width.
fn printed_on(width: u16, args: &[&str]) -> String {
    let mut terminal = Terminal::of(40, width);
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    let status = on_terminal(command.args(args)).stdout(terminal.stdio()).status();
    assert_eq!(status.expect("electd runs").code(), Some(0), "{args:?}");
    drop(command); // it has the terminal, too
    terminal.all()
}

#[test]
fn the_rest_of_a_line_that_is_too_long_for_a_terminal_is_below_its_text() {
    let file = cluster("db1=10.0.0.1 db2=10.0.0.2 web=10.0.0.3");
    let file = file.path().to_str().expect("UTF-8");
    let election = ["simulate", "--nodes", "5", "--crash", "5", "--quorum", "majority"];
    for (args, indent) in [
        (&["check", "--config", file][..], 4),
        (&["simulate", "--config", file, "--down", "web"], 3),
        (&election, 23),
        (&["simulate", "--faults", "--seed", "7"], 23),
    ] {
        let shown = printed_on(70, args);
        assert!(shown.lines().all(|line| line.chars().count() <= 70), "{args:?}: {shown}");
        let is_rest = |line: &&str| line.len() - line.trim_start().len() == indent;
        assert!(shown.lines().any(|line| is_rest(&line)), "{args:?}: {shown}");
        let wide = text(&electd(args).stdout);
        assert!(!wide.lines().any(|line| is_rest(&line)), "{args:?}: {wide}");
    }
}

/// Nobody would end it any more.
#[test]
fn a_node_that_is_to_end_with_a_process_that_has_ended_does_not_start() {
    let output = electd(&["run", "--parent", "1", "--config", "/no/such/file"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{told}");
    assert!(told.contains("the process that started this one has ended"), "{told}");
}

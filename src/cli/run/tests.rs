//! What is for a process as a whole, tried in one of its own: a panic, and signals.

use std::process::Output;

use clap::Parser;
use signal_hook::low_level::raise;

use super::*;
use crate::cli;
use crate::testing::alone::output_in;
use crate::testing::within::within;
use crate::tls::BadFile;

/// Runs this test of this file alone in another process, and gives the end of that; none there.
fn alone(test: &str) -> Option<Output> {
    crate::testing::alone::output(&format!("cli::run::tests::{test}"))
}

/// The log tells of it, with what it counted until then, and where it came from, if somebody wants to know.
#[test]
fn a_panic_of_any_thread_ends_the_process() {
    let this = "cli::run::tests::a_panic_of_any_thread_ends_the_process";
    let outputs = ["0", "1"].map(|traces| output_in(this, &[("RUST_BACKTRACE", traces)]));
    if let [Some(plain), Some(traced)] = outputs {
        let said = [&plain, &traced].map(|it| String::from_utf8_lossy(&it.stderr).into_owned());
        assert_eq!([plain, traced].map(|it| it.status.code()), [Some(70); 2], "{said:?}");
        let [plain, traced] = said;
        let told: Vec<&str> = plain.lines().skip_while(|line| !line.contains("WARN")).collect();
        let words: Vec<&str> = told.iter().map(|line| line.get(25..).unwrap_or(line)).collect();
        assert_eq!(words[..10], ["WARN  a: so it is"; 10]);
        assert!(words[10].starts_with("ERROR a: the thread worker panicked at "), "{plain}");
        assert_eq!(told[12], "so this node ends: please report this", "{plain}");
        assert_eq!(words[13..], ["WARN  a: repeated once in the last 0 s: so it is"], "{plain}");
        assert!(traced.contains("ERROR a:    0: "), "{traced}");
        return;
    }
    let command = cli::Cli::parse_from(["electd", "run"]).command;
    let cli::CliCommand::Run(run) = command else { panic!("{command:?}") };
    fail_stop(run.log.start("x", "a").unwrap(), RecordingKeeper::default());
    (0..11).for_each(|_| warn!("so it is"));
    let worker = std::thread::Builder::new().name("worker".to_owned());
    let _ = worker.spawn(|| panic!("so")).unwrap().join();
}

/// As it waits for its names, before it runs.
#[test]
fn a_node_that_is_about_to_start_is_ended_by_term_and_quit_alone() {
    if let Some(output) = alone("a_node_that_is_about_to_start_is_ended_by_term_and_quit_alone") {
        return assert!(output.status.success(), "{output:?}");
    }
    let quits = !signals::heeded(&[SIGQUIT]).is_empty(); // whoever runs the tests may ignore it
    let mut signals = EndingSignals::hear().unwrap();
    signals.watch().unwrap();
    for (signal, ends) in [(SIGHUP, false), (SIGUSR1, false), (SIGTERM, true), (SIGQUIT, quits)] {
        raise(signal).unwrap();
        assert_eq!(signals.have_ended(), ends, "signal {signal}");
    }
    if signals::heeded(&[SIGINT]).is_empty() {
        return;
    }
    let closed = signals.0.handle();
    raise(SIGINT).unwrap();
    // A thread of another crate takes it.
    within(Duration::from_secs(60), "INT is heard", || closed.is_closed());
    assert!(signals.have_ended());
}

#[test]
fn each_error_of_a_start_has_its_exit_code() {
    let (name, folder) = (|| "a".to_owned(), || PathBuf::from("/data/a"));
    let error = || io::Error::other("so it is");
    let bad = |is_unread| BadFile { key: "tls.ca", file: folder(), what: String::new(), is_unread };
    for (error, exit) in [
        (StartError::NoMember(name()), Exit::Config),
        (StartError::Tls(bad(false)), Exit::Config),
        (StartError::Tls(bad(true)), Exit::Unread),
        (StartError::NoTask("bully"), Exit::Usage),
        (StartError::TaskTooLong(65_537), Exit::Usage),
        (StartError::NoVote, Exit::Usage),
        (StartError::Bootstrapped { name: name(), folder: folder() }, Exit::Usage),
        (StartError::Store(StoreError::Damaged { path: folder(), reason: name() }), Exit::State),
        (StartError::Store(StoreError::Locked { dir: folder(), holder: name() }), Exit::DataDir),
        (StartError::Listen { name: name(), address: name(), source: error() }, Exit::Listen),
        (StartError::Hidden { name: name(), why: name() }, Exit::Listen),
        (StartError::Removed { name: name(), folder: folder() }, Exit::Removed),
        (StartError::Thread(error()), Exit::Internal),
    ] {
        let words = error.to_string();
        let told = CliError::from(error);
        assert_eq!((told.exit, told.message), (exit, words));
    }
}

/// To open a pipe would wait for a writer, and to read a folder makes no sense.
#[test]
fn a_task_is_read_from_a_regular_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), folder.path()] {
        let CliError { exit, message } = read_task(path).unwrap_err();
        let words = format!(
            "cannot read --task {}: it is no regular file; write the task to one",
            path.display()
        );
        assert_eq!((exit, message), (Exit::Usage, words));
    }
    let task = folder.path().join("task");
    std::fs::write(&task, "work").unwrap();
    assert_eq!(read_task(&task).unwrap(), b"work");
}

/// The folder may become read-only, or full, between the opening of the state and that of the socket beside it.
#[test]
fn a_control_socket_that_cannot_be_written_is_the_folders_fault() {
    let of = |kind| no_control(Path::new("/data/a"), io::Error::from(kind));
    for (kind, remedy) in [
        (ErrorKind::ReadOnlyFilesystem, "mount it read-write"),
        (ErrorKind::StorageFull, "free some space there"),
        (ErrorKind::QuotaExceeded, "free some space there"),
    ] {
        let error = of(kind);
        assert_eq!(error.exit, Exit::DataDir);
        let words = error.message;
        assert!(words.starts_with("the data directory /data/a cannot be used: "), "{words}");
        assert!(words.contains(remedy), "{words}");
    }
    let error = of(ErrorKind::PermissionDenied);
    assert_eq!(error.exit, Exit::Listen, "the group of the socket may be another's");
    assert!(error.message.contains("/data/a/control.sock"), "{}", error.message);
}

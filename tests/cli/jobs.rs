//! The two processes of a job alone: the guard, and the one that becomes the command. The test is their parent.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

fn electd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Nothing is said on stdin.
fn end(arguments: &[&str]) -> Output {
    electd(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_guard_says_which_part_of_its_task_it_cannot_read() {
    for (arguments, why) in [
        (&[][..], "the guard was not told for which node"),
        (&["node-1", "leased", "soon"], "\"soon\" is no limit"),
        (
            &["node-1", "leased", "1000", "", "wanted", "", "10.0.0.9/24", "--"],
            "10.0.0.9/24: write it as 10.0.0.9/24%eth0: address, length of the prefix, interface",
        ),
    ] {
        let output = end(&[&["guard"], arguments].concat());
        assert_eq!(
            output.status.signal(),
            Some(14),
            "ALRM, as a code may be the command's: {output:?}"
        );
        assert_eq!(text(&output.stderr), format!("electd: the guard of the job failed: {why}\n"));
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}

/// The node of its electd never led.
#[test]
fn a_guard_that_is_not_needed_has_begun_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let script = format!("touch {}", path("ran"));
    let (electd_end, far) = UnixStream::pair().unwrap();
    drop(electd_end);
    let task = ["node-1".into(), "leased".into(), "1000".into(), path("none"), "wanted".into()];
    let mut command = electd(&["guard"]);
    command.args(task).args(["", "--", "sh", "-c", &script]).stdin(Stdio::from(OwnedFd::from(far)));
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "not even a lock");
}

/// What becomes the command, when it is told to begin in this epoch.
fn begins(guard: u32, command: &[&str], epoch: Option<u64>) -> Output {
    let mut process = electd(&["guarded", &guard.to_string()]);
    process.args(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = process.spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    if let Some(epoch) = epoch {
        // It gets no terminal, and may have ended.
        let _ = writeln!(stdin, "{}", serde_json::json!({"epoch": epoch, "group": null}));
    }
    drop(stdin);
    process.wait_with_output().unwrap()
}

#[test]
fn a_command_begins_with_its_epoch_and_an_empty_stdin_if_it_is_told_to() {
    let (own, script) = (std::process::id(), "echo $ELECTD_EPOCH $0 $1; cat; exit 3");
    let began = begins(own, &["sh", "-c", script, "a b", "c"], Some(7));
    assert_eq!((began.status.code(), text(&began.stdout)), (Some(3), "7 a b c\n".to_owned()));
    for (guard, command, epoch) in [
        (own, &["echo", "ran"][..], None),
        (own, &[], Some(7)),
        (0, &["echo", "ran"], Some(7)),
        (1, &["echo", "ran"], Some(7)), // another is its parent: its guard has ended
    ] {
        let output = begins(guard, command, epoch);
        assert_eq!(output.status.code(), Some(70), "{guard} {command:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    assert_eq!(end(&["guarded"]).status.code(), Some(70));
}

#[test]
fn a_command_that_cannot_be_run_ends_with_the_code_of_a_shell() {
    for (program, code, why) in [
        ("/there/is/none", 127, "No such file or directory (os error 2)"),
        ("/etc/passwd", 126, "Permission denied (os error 13)"),
    ] {
        let output = begins(std::process::id(), &[program], Some(7));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(text(&output.stderr), format!("electd: cannot run \"{program}\": {why}\n"));
    }
}

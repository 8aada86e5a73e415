//! The guard alone, told by a pipe as electd tells it: the test is the electd that renews just at the deadline.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::support::{ensure, eventually};

/// In nanoseconds.
const LONG: u64 = 60_000_000_000;

/// A guard of a command for the shell, and electd's end of its pipe.
struct Guard {
    process: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// The frames are there when it begins; each says in how many nanoseconds TERM is due.
    fn start(folder: &Path, script: &str, frames: &[u64]) -> Guard {
        let mut process = Command::new(env!("CARGO_BIN_EXE_electd"))
            .arg("guard")
            .arg(folder.join("job.lock"))
            .args(["--", "sh", "-c", script])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = process.stdin.take().unwrap();
        let mut guard = Guard { process, pipe };
        guard.write(frames);
        guard
    }

    /// At once, so that the guard finds all of them or none. KILL is due in a minute.
    fn write(&mut self, frames: &[u64]) {
        let now = clock_gettime(ClockId::Boottime);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let times = frames.iter().flat_map(|term| [now + term, now + LONG]);
        let bytes: Vec<u8> = times.flat_map(u64::to_le_bytes).collect();
        self.pipe.write_all(&bytes).unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

#[test]
fn a_command_that_got_term_just_before_the_renewal_has_not_ended_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'touch termed; until [ -e renewed ]; do sleep 0.01; done; exit 0' TERM
        while :; do sleep 0.01; done";
    let mut guard = Guard::start(folder.path(), script, &[300_000_000]);
    eventually("TERM is there", || {
        ensure(folder.path().join("termed").exists(), || "not yet".to_owned())
    });
    guard.write(&[LONG]);
    fs::write(folder.path().join("renewed"), "").unwrap();
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
}

#[test]
fn the_code_of_a_command_that_ends_by_itself_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = Guard::start(folder.path(), "exit 3", &[LONG]);
    assert_eq!(guard.end().code(), Some(3));
}

#[test]
fn a_guard_that_begins_late_goes_by_the_last_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "touch ran; exit 3";
    let frames = [0, LONG]; // TERM was due already, then the leadership was renewed
    let guard = Guard::start(folder.path(), script, &frames[..1]);
    assert_late(guard, folder.path());
    let mut guard = Guard::start(folder.path(), script, &frames);
    let ended = guard.end();
    assert_eq!(ended.code(), Some(3), "{ended:?}");
}

fn assert_late(mut guard: Guard, folder: &Path) {
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
    assert!(!folder.join("ran").exists());
}

//! The guard alone, with alarms as electd gives them to it: the test is the electd that renews just at the deadline.

use std::fs;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Signal;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use story::story;

use crate::support::{ensure, eventually};

/// In nanoseconds.
const LONG: u64 = 60_000_000_000;

/// A guard of a command for the shell, what electd has of it, and the alarm of TERM.
struct Guard {
    process: Child,
    _electd: UnixStream,
    term: OwnedFd,
}

/// Sets an alarm to go off after this many nanoseconds.
fn set(alarm: &OwnedFd, nanos: u64) {
    let it_value =
        Timespec { tv_sec: (nanos / 1_000_000_000) as _, tv_nsec: (nanos % 1_000_000_000) as _ };
    let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
    timerfd_settime(alarm, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })
        .unwrap();
}

fn alarm(nanos: u64) -> OwnedFd {
    let alarm = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK).unwrap();
    set(&alarm, nanos);
    alarm
}

impl Guard {
    /// The order to begin is there from the start, with an alarm of TERM that then goes off; KILL is
    /// due in a minute.
    fn start(folder: &Path, script: &str, term: OwnedFd) -> Guard {
        let (electd, far) = UnixStream::pair().unwrap();
        let begin = [7, 0].map(u64::to_le_bytes).concat(); // epoch 7, no terminal
        let kill = alarm(LONG);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let given = [term.as_fd(), kill.as_fd()];
        assert!(beside.push(SendAncillaryMessage::ScmRights(&given)));
        sendmsg(&electd, &[IoSlice::new(&begin)], &mut beside, SendFlags::empty()).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_electd"))
            .arg("guard")
            .arg(folder.join("job.lock"))
            .args(["--", "sh", "-c", script])
            .current_dir(folder)
            .stdin(Stdio::from(OwnedFd::from(far)))
            .spawn()
            .unwrap();
        Guard { process, _electd: electd, term }
    }

    fn end(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

#[story]
fn a_command_that_got_term_just_before_the_renewal_has_not_ended_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'touch termed; until [ -e renewed ]; do sleep 0.01; done; exit 0' TERM
        while :; do sleep 0.01; done";
    let mut guard = Guard::start(folder.path(), script, alarm(300_000_000));
    eventually("TERM is there", || {
        ensure(folder.path().join("termed").exists(), || "not yet".to_owned())
    });
    set(&guard.term, LONG);
    fs::write(folder.path().join("renewed"), "").unwrap();
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
}

#[story]
fn the_code_of_a_command_that_ends_by_itself_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = Guard::start(folder.path(), "exit 3", alarm(LONG));
    assert_eq!(guard.end().code(), Some(3));
}

#[story]
fn a_guard_that_begins_late_goes_by_the_last_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "touch ran; exit 3";
    let term = alarm(1);
    let guard = Guard::start(folder.path(), script, term.try_clone().unwrap());
    assert_late(guard, folder.path());
    set(&term, LONG);
    let mut guard = Guard::start(folder.path(), script, term);
    let ended = guard.end();
    assert_eq!(ended.code(), Some(3), "{ended:?}");
}

fn assert_late(mut guard: Guard, folder: &Path) {
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
    assert!(!folder.join("ran").exists());
}

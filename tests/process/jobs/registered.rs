//! What a guard tells the coroner of its node: the test is the coroner, and hears a word or the end of the connection.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::lives;
use super::setup::{Guard, LONG, Setup, text, until};
use super::{children, only_child};
use crate::support::network::inside;
use crate::support::script::{in_pid_namespace, script};
use crate::support::traced::Traced;
use crate::support::{DEADLINE, Network, ensure, eventually, readable};

/// A guard that registers for start number 7, and its connection, once that is asked for.
fn registers(folder: &Path, setup: Setup<'_>) -> (Guard, UnixStream) {
    let socket = folder.join("guards.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let guard = Setup { register: socket.to_str().unwrap(), ..setup }.start(folder);
    readable("the guard dials", &listener);
    let (mut line, _) = listener.accept().unwrap();
    line.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut incarnation = [0; 8];
    line.read_exact(&mut incarnation).unwrap();
    assert_eq!(u64::from_le_bytes(incarnation), 7);
    (guard, line)
}

/// Waits until the guard has let go of its lock, and looks as often as this process can.
fn until_free(folder: &Path) {
    let lock = File::open(folder.join("job.lock")).unwrap();
    eventually("the lock is free", || {
        let mut tries = (0..100_000).map(|_| lock.try_lock());
        ensure(tries.any(|tried| tried.is_ok()), || "it is held".to_owned())
    });
}

/// What a guard meets that registers, and how it ends then.
struct Case<'a> {
    answer: &'a [u8],
    addresses: &'a [&'a str],
    electd_lives: bool,
    /// Its exit code, or the signal that it ends itself by.
    end: (Option<i32>, Option<i32>),
    says: &'a str,
    last_word: &'a str,
}

#[story]
fn no_command_begins_that_the_coroner_refuses_or_without_its_electd_or_its_address() {
    let refused = Case {
        answer: b"n",
        addresses: &[],
        electd_lives: true,
        end: (None, Some(Signal::USR1.as_raw())),
        says: "the job does not begin, as the coroner of the node does not know of it: the node has died",
        last_word: "",
    };
    let orphaned = Case {
        answer: b"r",
        electd_lives: false,
        end: (Some(70), None),
        says: "the guard of the job failed: electd ended before the job began",
        last_word: "c",
        ..refused
    };
    // Nobody knows whether an address was removed.
    let with_address = Case { addresses: &["10.0.0.9/24%nowhere"], last_word: "", ..orphaned };
    let without_address = Case {
        answer: b"r",
        addresses: &["10.0.0.9/24%nowhere"],
        end: (None, Some(Signal::USR2.as_raw())),
        says: "cannot add the address 10.0.0.9/24%nowhere: the interface is gone",
        last_word: "c",
        ..refused
    };
    for Case { answer, addresses, electd_lives, end, says, last_word } in
        [refused, orphaned, with_address, without_address]
    {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup { addresses, ..Setup::of("touch ran") };
        let (mut guard, mut line) = registers(folder.path(), setup);
        if !electd_lives {
            guard.orphan();
        }
        line.write_all(answer).unwrap();
        until_free(folder.path());
        let mut said = vec![0; last_word.len()];
        line.set_nonblocking(true).unwrap();
        line.read_exact(&mut said).expect("its last word comes before the lock is free");
        assert_eq!(said, last_word.as_bytes(), "{says}");
        let ended = guard.end();
        assert_eq!((ended.code(), ended.signal()), end, "{says}");
        assert_eq!(line.read(&mut [0]).unwrap(), 0, "it has no other word");
        assert!(!folder.path().join("ran").exists(), "{says}");
        let told = text(folder.path(), "stderr");
        assert_eq!(told, format!("electd: {says}\n"));
    }
}

/// Then no coroner is bothered.
#[story]
fn a_guard_that_begins_late_does_not_register() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("guards.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let setup = Setup { register: socket.to_str().unwrap(), ..Setup::of("touch ran") };
    let ended = Setup { alarms: [1, LONG], ..setup }.start(folder.path()).end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
    let told = text(folder.path(), "stderr");
    assert_eq!(told, "electd: the leadership ended before the job began\n");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "it registered");
    assert!(!folder.path().join("ran").exists());
}

/// As with addresses alone: it sends no TERM, and ends when it is told to, or when KILL is due. There is nothing to clean up.
#[story]
fn a_guard_without_a_command_ends_when_the_leadership_does() {
    for is_told in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let cleanup = folder.path().join("cleanup");
        script(&cleanup, &format!("touch {}", folder.path().join("cleaned").display()));
        let setup = Setup { cleanup: cleanup.to_str().unwrap(), ..Setup::of("") };
        let (mut guard, mut line) = registers(folder.path(), setup);
        line.write_all(b"r").unwrap();
        guard.told(&[None]);
        guard.answers(1);
        guard.term(1);
        guard.told(&[None]);
        guard.answers(1);
        if is_told {
            guard.told(&[Some(LONG)]);
        } else {
            guard.kill(1);
        }
        let (ended, by_deadline) = (guard.end(), Signal::USR1.as_raw());
        let expected = if is_told { (Some(0), None) } else { (None, Some(by_deadline)) };
        assert_eq!((ended.code(), ended.signal()), expected);
        let mut said = String::new();
        line.read_to_string(&mut said).unwrap();
        assert_eq!(said, "c");
        assert!(!folder.path().join("cleaned").exists());
        assert_eq!(text(folder.path(), "stderr"), "");
    }
}

/// The last one may still have a process that nobody sees.
#[story]
fn no_command_begins_while_another_has_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("job.lock")).unwrap();
    lock.lock().unwrap();
    let ended = Setup::of("touch ran").start(folder.path()).end();
    assert_eq!(ended.code(), Some(70), "{ended:?}");
    assert!(!folder.path().join("ran").exists());
    let told = text(folder.path(), "stderr");
    let lock = folder.path().join("job.lock");
    let why = format!("{} is held: another job has not ended", lock.display());
    assert_eq!(told, format!("electd: the guard of the job failed: {why}\n"));
}

/// What the command began elsewhere may still run if its cleanup failed, so nobody may certify its end.
#[story]
fn a_guard_says_that_its_job_has_ended_only_if_the_cleanup_did_its_work() {
    for (cleanup, word) in [("/bin/true", "c"), ("/bin/false", "")] {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup { cleanup, ..Setup::of("exit 3") };
        let (mut guard, mut line) = registers(folder.path(), setup);
        line.write_all(b"r").unwrap();
        assert_eq!(guard.end().code(), Some(3));
        let mut said = String::new();
        line.read_to_string(&mut said).unwrap();
        assert_eq!(said, word, "after {cleanup}");
    }
}

/// The kernel removes it some seconds later, and until then it could be on two hosts.
#[story]
fn a_guard_that_could_not_remove_an_address_does_not_say_that_its_job_has_ended() {
    let Some(network) = Network::of(1) else { return };
    for (fails, word) in [(false, "c"), (true, "")] {
        let folder = tempfile::tempdir().unwrap();
        let script = "touch begun; until [ -e gate ]; do sleep 0.02; done; exit 3";
        let setup = Setup { addresses: &["10.0.0.9/24%cable"], ..Setup::of(script) };
        let (mut guard, mut line) = inside(&network.home(1), || registers(folder.path(), setup));
        line.write_all(b"r").unwrap();
        until(folder.path(), "begun");
        let traced = fails.then(|| Traced::process(guard.pid(), "recvfrom:error=EPERM"));
        if matches!(traced, Some(None)) {
            return;
        }
        fs::write(folder.path().join("gate"), "").unwrap();
        guard.end();
        let mut said = String::new();
        line.read_to_string(&mut said).unwrap();
        assert_eq!(said, word, "{}", text(folder.path(), "stderr"));
    }
}

/// It may be of use without them, and nobody else may have them before it has ended.
#[story]
fn a_cleanup_goes_on_when_its_address_cannot_be_kept() {
    let Some(network) = Network::of(1) else { return };
    network.interface(1, "extra", true);
    let folder = tempfile::tempdir().unwrap();
    let [cleanup, cleans, gate] =
        ["cleanup", "cleans", "gate"].map(|name| folder.path().join(name));
    let (cleans, gate) = (cleans.display(), gate.display());
    script(&cleanup, &format!("touch {cleans}; until [ -e {gate} ]; do sleep 0.02; done"));
    let addresses = &["10.0.0.9/24%extra"];
    let setup = Setup { addresses, cleanup: cleanup.to_str().unwrap(), ..Setup::of("exit 3") };
    let (mut guard, mut line) = inside(&network.home(1), || registers(folder.path(), setup));
    line.write_all(b"r").unwrap();
    until(folder.path(), "cleans");
    network.interface(1, "extra", false);
    let why = "electd: cannot keep the address 10.0.0.9/24%extra: No such device (os error 19)\n";
    eventually("that is told", || {
        let told = text(folder.path(), "stderr");
        ensure(told == why, || told)
    });
    fs::write(folder.path().join("gate"), "").unwrap();
    assert_eq!(guard.end().code(), Some(3));
    let mut said = String::new();
    line.read_to_string(&mut said).unwrap();
    assert_eq!((said.as_str(), text(folder.path(), "stderr").as_str()), ("c", why));
}

/// A process of a command that enters another PID namespace, and whose parent ends there, is a child of the first process of
/// that namespace. It has the mark of the command all the same.
#[story]
fn a_process_that_left_all_that_is_below_the_guard_has_ended_before_its_last_word() {
    let Some(elsewhere) = in_pid_namespace() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = format!("exec {elsewhere} sleep 1000");
    let mut first = Command::new("sh").args(["-c", &first]).spawn().unwrap();
    let namespace = eventually("the namespace has its first process", || {
        only_child(Pid::from_child(&first)).ok_or("none".to_owned())
    });
    let script = format!(
        "nsenter --pid=/proc/{namespace}/ns/pid sh -c '(sh -c \"while echo >>writes; do sleep 0.01; done\" &) ; \
         until [ -s writes ]; do sleep 0.01; done'; exit 3"
    );
    let setup = Setup { script: &script, ..Setup::of("") };
    let (mut guard, mut line) = registers(folder.path(), setup);
    line.write_all(b"r").unwrap();
    let mut said = String::new();
    line.read_to_string(&mut said).unwrap();
    let written = || fs::metadata(folder.path().join("writes")).unwrap().len();
    let before = written();
    assert_eq!(guard.end().code(), Some(3));
    assert_eq!(said, "c");
    let stray = children(namespace).find(|stray| lives(*stray));
    assert_eq!((stray, written()), (None, before), "it has ended");
    kill_process(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
}

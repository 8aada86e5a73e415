//! What a guard tells the coroner of its node: the test is the coroner, and hears a word or the end of the connection.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use rustix::process::Signal;
use story::story;

use super::guard::{Guard, Setup, text, until};
use crate::support::network::inside;
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
        says: "the coroner of the node does not know of it: the node has died",
        last_word: "",
    };
    let orphaned = Case {
        answer: b"r",
        electd_lives: false,
        end: (Some(70), None),
        says: "electd ended before the job began",
        last_word: "c",
        ..refused
    };
    let without_address = Case {
        answer: b"r",
        addresses: &["10.0.0.9/24%nowhere"],
        end: (None, Some(Signal::USR2.as_raw())),
        says: "cannot add the address 10.0.0.9/24%nowhere: the interface is gone",
        last_word: "c",
        ..refused
    };
    for Case { answer, addresses, electd_lives, end, says, last_word } in
        [refused, orphaned, without_address]
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
        assert!(told.contains(says), "{told}");
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
    assert!(told.contains("job.lock is held: another job has not ended"), "{told}");
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

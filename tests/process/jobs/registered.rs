//! What a guard tells the coroner of its node: the test is the coroner, and hears a word or the end of the connection.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use story::story;

use super::guard::{Guard, Setup, text, until};
use crate::support::network::inside;
use crate::support::traced::Traced;
use crate::support::{DEADLINE, Network, readable};

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

/// The node has died, and nobody would wait for the job.
#[story]
fn no_command_begins_that_the_coroner_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, mut line) = registers(folder.path(), Setup::of("touch ran"));
    line.write_all(b"n").unwrap();
    guard.end();
    assert!(!folder.path().join("ran").exists());
    let told = text(folder.path(), "stderr");
    assert!(
        told.contains("the coroner of the node does not know of it: the node has died"),
        "{told}"
    );
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

//! What a guard tells the coroner of its node: the test is the coroner, and hears a word or the end of the line.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::{Signal, kill_process};
use story::story;

use super::attached::{lives, stop};
use super::setup::{Guard, LONG, Setup, text, until};
use super::{Elsewhere, children};
use crate::support::network::inside;
use crate::support::script::script;
use crate::support::traced::Traced;
use crate::support::{DEADLINE, Network, ensure, eventually, readable};

/// A guard that is about to begin, and the coroner's end of its line.
fn lined(folder: &Path, setup: Setup<'_>) -> (Guard, UnixStream) {
    let (line, far) = UnixStream::pair().unwrap();
    let guard = Setup { line: Some(&far.into()), ..setup }.start(folder);
    line.set_read_timeout(Some(DEADLINE)).unwrap();
    (guard, line)
}

/// The same, once it has said that its job begins.
pub fn begun(folder: &Path, setup: Setup<'_>) -> (Guard, UnixStream) {
    let (guard, mut line) = lined(folder, setup);
    readable("its job begins", &line);
    let mut word = [0];
    line.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"b");
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

/// Its end, and all that it has said to the coroner before its lock was free.
fn ended(folder: &Path, guard: &mut Guard, line: &mut UnixStream) -> (ExitStatus, String) {
    until_free(folder);
    let mut said = [0; 8];
    line.set_nonblocking(true).unwrap();
    let count = line.read(&mut said).expect("its last word comes before the lock is free");
    let ended = guard.end();
    assert_eq!(line.read(&mut [0]).unwrap(), 0, "it has no other word");
    (ended, String::from_utf8_lossy(&said[..count]).into_owned())
}

/// Before anything of the job begins, and so whatever comes of that.
#[story]
fn a_guard_says_that_its_job_begins_and_that_nothing_of_it_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (mut guard, mut line) = lined(folder.path(), Setup::of("touch ran; exit 3"));
    let (ended, said) = ended(folder.path(), &mut guard, &mut line);
    assert_eq!((ended.code(), said.as_str()), (Some(3), "bc"));
    assert!(folder.path().join("ran").exists());
}

#[story]
fn no_command_begins_without_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup { addresses: &["10.0.0.9/24%nowhere"], ..Setup::of("touch ran") };
    let (mut guard, mut line) = lined(folder.path(), setup);
    let (ended, said) = ended(folder.path(), &mut guard, &mut line);
    assert_eq!((ended.signal(), said.as_str()), (Some(Signal::USR2.as_raw()), "bc"));
    assert!(!folder.path().join("ran").exists());
    let told = text(folder.path(), "stderr");
    assert_eq!(told, "electd: cannot add the address 10.0.0.9/24%nowhere: the interface is gone\n");
}

/// Its job has not begun: it says nothing to the coroner, for which the end of the line is enough, and the reason to electd.
#[story]
fn no_command_begins_without_its_electd_or_what_that_gives() {
    for (is_orphaned, why) in
        [(true, "electd ended before the job began"), (false, "this is no word to begin")]
    {
        let folder = tempfile::tempdir().unwrap();
        let (mut line, far) = UnixStream::pair().unwrap();
        let far = OwnedFd::from(far);
        let setup = Setup { line: Some(&far), ..Setup::of("touch ran") };
        let mut guard = setup.start_early(folder.path());
        drop(far);
        stop(guard.pid());
        if is_orphaned {
            guard.begin();
            guard.orphan();
        } else {
            guard.told(&[None]);
        }
        kill_process(guard.pid(), Signal::CONT).unwrap();
        let ended = guard.end();
        assert_eq!(ended.signal(), Some(Signal::ALARM.as_raw()), "{ended:?}");
        let why = format!("the guard of the job failed: {why}");
        if !is_orphaned {
            assert_eq!(guard.reason(), why);
        }
        drop(guard);
        line.set_nonblocking(true).unwrap();
        assert_eq!(line.read(&mut [0]).unwrap(), 0, "it has no word for the coroner");
        assert!(!folder.path().join("ran").exists(), "{why}");
        assert_eq!(text(folder.path(), "stderr"), format!("electd: {why}\n"));
    }
}

/// Nobody would end it in time.
#[story]
fn a_guard_that_begins_late_begins_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup { alarms: [1, LONG], ..Setup::of("touch ran") };
    let (mut guard, mut line) = lined(folder.path(), setup);
    let (ended, said) = ended(folder.path(), &mut guard, &mut line);
    assert_eq!((ended.signal(), said.as_str()), (Some(Signal::USR1.as_raw()), ""), "{ended:?}");
    let told = text(folder.path(), "stderr");
    assert_eq!(told, "electd: the leadership ended before the job began\n");
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
        let (mut guard, mut line) = begun(folder.path(), setup);
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

/// What the command began elsewhere may still run if its cleanup failed, so nobody may certify its end.
#[story]
fn a_guard_says_that_its_job_has_ended_only_if_the_cleanup_did_its_work() {
    for (cleanup, word) in [("/bin/true", "c"), ("/bin/false", "")] {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup { cleanup, ..Setup::of("exit 3") };
        let (mut guard, mut line) = begun(folder.path(), setup);
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
        let (mut guard, mut line) = inside(&network.home(1), || begun(folder.path(), setup));
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
    let (mut guard, mut line) = inside(&network.home(1), || begun(folder.path(), setup));
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
    let Some(elsewhere) = Elsewhere::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let namespace = elsewhere.first;
    let script = format!(
        "nsenter --pid=/proc/{namespace}/ns/pid sh -c '(sh -c \"while echo >>writes; do sleep 0.01; done\" &) ; \
         until [ -s writes ]; do sleep 0.01; done'; exit 3"
    );
    let setup = Setup { script: &script, ..Setup::of("") };
    let (mut guard, mut line) = begun(folder.path(), setup);
    let mut said = String::new();
    line.read_to_string(&mut said).unwrap();
    let written = || fs::metadata(folder.path().join("writes")).unwrap().len();
    let before = written();
    assert_eq!(guard.end().code(), Some(3));
    assert_eq!(said, "c");
    let stray = children(namespace).find(|stray| lives(*stray));
    assert_eq!((stray, written()), (None, before), "it has ended");
}

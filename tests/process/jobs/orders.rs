//! What alarms and orders mean to a guard alone, in which order they may come, and what it leaves alone.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Signal, kill_process};
use story::story;

use super::setup::{LONG, Setup, can_trace, said, text, until};
use crate::support::script::script;

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Takes no notice of TERM but a file.
const STUBBORN: &str = "trap 'touch termed' TERM; touch ready; while :; do sleep 0.01; done";

/// A sooner KILL counts, and a later one does not, whichever comes first.
#[story]
fn each_order_is_answered_and_the_command_is_killed_at_the_soonest_time() {
    for kills in [[0, LONG], [LONG, 0]] {
        let folder = tempfile::tempdir().unwrap();
        let mut guard = Setup::of(STUBBORN).start(folder.path());
        until(folder.path(), "ready");
        guard.told(&[None]);
        guard.answers(1);
        assert!(!folder.path().join("termed").exists());
        guard.told(&[Some(LONG)]);
        until(folder.path(), "termed");
        guard.told(&kills.map(Some));
        guard.answers(2);
        assert_eq!(guard.end().code(), Some(128 + 9), "{kills:?}");
        assert_eq!(said(folder.path()), "");
    }
}

/// TERM may be meant for the whole unit, and the kernel sends HUP to a frozen guard whose electd has died.
#[story]
fn no_signal_but_kill_ends_a_guard() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = Setup::of("touch ready; exec sleep 1000").start(folder.path());
    until(folder.path(), "ready");
    for signal in [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
    ] {
        kill_process(guard.pid(), signal).unwrap();
    }
    guard.told(&[None]);
    guard.answers(1);
    guard.told(&[Some(LONG)]);
    assert_eq!(guard.end().code(), Some(128 + 15), "the command gets its TERM from the guard");
}

/// What the leadership still lasts is shared: the command gets one half, and the cleanup has the other.
#[story]
fn a_command_with_a_cleanup_is_killed_halfway_to_the_end() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let guards = folders.each_ref().map(|folder| {
        let cleanup = folder.path().join("cleanup");
        let cleaned = folder.path().join("cleaned");
        script(&cleanup, &format!("touch {}", cleaned.display()));
        let setup = Setup { cleanup: cleanup.to_str().unwrap(), ..Setup::of(STUBBORN) };
        let guard = Setup { limit: "3600000", ..setup }.start(folder.path());
        until(folder.path(), "ready");
        guard.kill(6 * SECOND);
        guard
    });
    let [mut orphan, mut over] = guards;
    orphan.orphan();
    over.told(&[Some(u64::MAX)]); // there is no leadership any more
    for (guard, folder) in [&mut orphan, &mut over].into_iter().zip(&folders) {
        assert_eq!(guard.end().code(), Some(128 + 9));
        assert_eq!(said(folder.path()), "");
        assert!(folder.path().join("cleaned").exists());
    }
}

/// It has half of the time between TERM and KILL before KILL, and as much is left for the cleanup after it.
#[story]
fn a_cleanup_has_its_half_of_the_time_whenever_the_leadership_is_not_renewed() {
    for (kill, ends_by_itself) in [(3000, true), (1900, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        script(
            &path("cleanup"),
            &format!(
                "cd {}; touch cleans; until [ -e over ]; do sleep 0.01; done",
                path("").display()
            ),
        );
        let cleanup = path("cleanup").display().to_string();
        let command = "trap 'until [ -e go ]; do sleep 0.01; done; touch stopped; exit 5' TERM
            touch ready; while :; do sleep 0.01; done";
        let alarms = [3600 * SECOND, 7600 * SECOND];
        let setup = Setup { cleanup: &cleanup, limit: "9000000", alarms, ..Setup::of(command) };
        let mut guard = setup.start(folder.path());
        until(folder.path(), "ready");
        guard.kill(kill * SECOND);
        guard.term(1);
        if ends_by_itself {
            guard.told(&[None]);
            guard.answers(1);
            fs::write(path("go"), "").unwrap();
        }
        until(folder.path(), "cleans");
        assert_eq!(path("stopped").exists(), ends_by_itself, "{kill}");
        guard.kill(1); // the cleanup has 2000 s more
        guard.told(&[None]);
        guard.answers(1);
        fs::write(path("over"), "").unwrap();
        assert_eq!(guard.end().signal(), Some(Signal::USR1.as_raw()));
        assert_eq!(said(folder.path()), "");
    }
}

/// It was told to end, and so were they.
#[story]
fn nothing_is_said_of_what_a_command_leaves_that_did_not_end_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let command =
        "(setsid sh -c \"trap '' TERM; touch ready; exec sleep 1000\" &); exec sleep 1000";
    let mut guard = Setup::of(command).start(folder.path());
    until(folder.path(), "ready");
    guard.term(1);
    assert_eq!(guard.end().signal(), Some(Signal::USR1.as_raw()));
    assert_eq!(said(folder.path()), "");
}

/// The unit of a service manager may forbid even to look.
#[story]
fn a_guard_without_an_address_does_not_ask_for_those_of_the_host() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let strace = ["-e", "trace=socket,exit_group"];
    let mut guard = Setup { strace: &strace, ..Setup::of("exit 3") }.start(folder.path());
    assert_eq!(guard.end().code(), Some(3));
    let calls = text(folder.path(), "calls");
    assert!(calls.contains("exit_group(3)") && !calls.contains("NETLINK"), "{calls}");
}

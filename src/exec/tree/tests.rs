//! Processes as they are found, told and spared.

use std::io::Read;
use std::process::{Command, Stdio};

use super::*;
use crate::testing::alone::alone;

#[test]
fn a_process_is_told_with_its_name_and_state() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // A process that is stopped waits where it does until it goes on.
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), stopped).unwrap();
    let number = pid.as_raw_nonzero();
    let place = fs::read_to_string(format!("/proc/{number}/wchan")).unwrap_or_default();
    let place = if place.is_empty() { "?" } else { &place };
    assert_eq!(
        undead(&[pid]),
        format!(
            "KILL did not end these processes of the job yet: {number} (cat, state T, in {place})"
        )
    );
    rustix::process::kill_process(pid, Signal::CONT).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(undead(&[pid]).ends_with("(gone)"));
    assert!(undead(&[pid; 8]).ends_with("(gone)"));
    assert!(undead(&[pid; 9]).ends_with("(gone), and 1 more"));
    assert!(undead(&[pid; 10]).ends_with("(gone), and 2 more"));
    let one = format!("{} (gone)", pid.as_raw_nonzero());
    assert_eq!(
        undead(&[pid; 2]),
        format!("KILL did not end these processes of the job yet: {one}, {one}")
    );
}

#[test]
fn the_lists_of_the_kernel_are_read_where_it_has_them() {
    let is_of_kernel = matches!(ChildLists::open().unwrap(), ChildLists::OfKernel);
    assert_eq!(is_of_kernel, Path::new(LIST).exists());
    assert_eq!(numbers("/proc/self/fd/none").unwrap_err().kind(), ErrorKind::NotFound);
}

/// What cannot be known is no reason to believe that nothing is left.
#[test]
fn a_process_that_has_ended_or_hides_is_told_from_a_failure_of_the_system() {
    for (errno, hides) in [
        (Errno::SRCH, true),
        (Errno::NOENT, true),
        (Errno::ACCESS, true),
        (Errno::PERM, true),
        (Errno::MFILE, false),
        (Errno::NOMEM, false),
        (Errno::IO, false),
    ] {
        assert_eq!(is_hidden(&errno.into()), hides, "{errno}");
    }
}

#[test]
fn what_is_killed_is_waited_for_and_its_end_is_told() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let own = Pid::from_child(&child);
    let mut ended = Vec::new();
    let left = kill_all(
        Duration::from_secs(20),
        |pid| pid != own,
        |pid, status| ended.push((pid, status.terminating_signal())),
    );
    assert_eq!(left.unwrap(), []);
    assert_eq!(ended, [(own, Some(Signal::KILL.as_raw()))]);
    assert!(child.wait().is_err(), "it was reaped");
}

/// A process that starts another and waits for its stdin to end.
#[test]
fn both_kinds_of_lists_show_the_same_children() {
    let mut parent = Command::new("sh");
    parent
        .args(["-c", "exec 3<&0; cat <&3 & echo; read _"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut parent = parent.spawn().unwrap();
    parent.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
    let pid = Pid::from_child(&parent);
    let by_kernel = ChildLists::OfKernel.children(pid, false).unwrap();
    assert_eq!(by_kernel.len(), 1, "{by_kernel:?}");
    assert_eq!(ChildLists::read().unwrap().children(pid, false).unwrap(), by_kernel);
    assert!(ChildLists::OfKernel.children(getpid(), true).unwrap().contains(&pid));
    // Whatever is below a process that is spared is spared as well.
    let left = kill_all(Duration::ZERO, |pid| pid != by_kernel[0], |_, _| ()).unwrap();
    assert!(left.is_empty() && stat(by_kernel[0]).is_some_and(|(_, rest)| !rest.starts_with('Z')));
    let found = |parent, is_own| Descendant::find(by_kernel[0], parent, is_own).unwrap();
    assert!(matches!(found(pid, false), Find::Found(_)));
    assert!(matches!(found(getpid(), false), Find::Moved), "it is the child of another");
    assert!(matches!(found(getpid(), true), Find::Gone), "it is no child of ours");
    drop(parent.stdin.take());
    parent.wait().unwrap();
    assert!(ChildLists::OfKernel.children(pid, false).unwrap().is_empty());
    assert!(ChildLists::OfKernel.children(pid, true).is_err(), "it cannot be known");
}

#[test]
fn a_helper_is_known_by_its_environment() {
    for helps in [true, false] {
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read _"]); // until its stdin is closed
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env(children::HELPER, "1"); // as any program may have it, and once marked all
        if helps {
            command.envs([children::mark()]);
        }
        let mut child = command.spawn().unwrap();
        // A moment before it runs, its environment is empty.
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
        assert_eq!(is_helper(Pid::from_child(&child)), helps);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

/// A process that waits for its stdin to end.
fn idle() -> std::process::Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_children_of_a_process_are_told_until_each_has_ended_and_was_reaped() {
    if alone(
        "exec::tree::tests::the_children_of_a_process_are_told_until_each_has_ended_and_was_reaped",
    )
    .is_some()
    {
        return;
    }
    assert!(is_childless() && left().is_none() && reap().is_none());
    let (mut first, mut other) = (idle(), idle());
    let pids = [&first, &other].map(Pid::from_child);
    let mut read = ChildLists::read().unwrap().children(getpid(), true).unwrap();
    read.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
    assert_eq!(read, pids, "from their parents, as a kernel without lists has it");
    let told = left().unwrap();
    let numbers = pids.map(|pid| format!("{} (", pid.as_raw_nonzero()));
    assert!(numbers.iter().any(|number| told.starts_with(number)), "{told}");
    assert!(told.ends_with(") and others"), "{told}");
    assert!(!is_childless() && reap().is_none(), "both run");
    drop(first.stdin.take());
    waitid(WaitId::Pid(pids[0]), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let told = left().unwrap();
    assert!(
        told.starts_with(&numbers[1]) && told.ends_with(')'),
        "what has ended does not run: {told}"
    );
    let (pid, status) = reap().unwrap();
    assert_eq!((pid, status.exit_status()), (pids[0], Some(0)));
    drop(other.stdin.take());
    waitid(WaitId::Pid(pids[1]), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    assert!(left().is_none() && !is_childless(), "it has yet to be reaped");
    other.wait().unwrap();
    assert!(is_childless());
    cost_of_a_walk().unwrap();
}

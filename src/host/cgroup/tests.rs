//! Cgroups of this kernel, where this process may make them. What is tested anywhere else is who uses them.

use std::mem::ManuallyDrop;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use super::*;
use crate::testing::within::within;

/// One that this process has made, where it may.
fn made() -> Option<MadeCgroup> {
    MadeCgroup::make().map_err(|error| println!("skipped: no cgroup of its own: {error}")).ok()
}

/// A process in this cgroup.
fn process_in(cgroup: &Cgroup) -> Child {
    let child = Command::new("sleep").arg("1000").spawn().unwrap();
    cgroup.enter(Pid::from_child(&child)).unwrap();
    child
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_cgroup_is_gone_once_nothing_is_in_it_nor_below_it() {
    let Some(made) = made() else { return };
    let folder = made.cgroup.path().unwrap();
    let below = folder.join("engine/container");
    fs::create_dir_all(&below).unwrap();
    let [mut own, mut other] = [(); 2].map(|()| process_in(&made.cgroup));
    fs::write(below.join("cgroup.procs"), other.id().to_string()).unwrap();
    let found = made.cgroup.processes();
    let has_both = [&own, &other].into_iter().all(|child| found.contains(&Pid::from_child(child)));
    assert!(found.len() == 2 && has_both, "{found:?}");
    assert!(!made.cgroup.remove().unwrap() && folder.exists(), "something is in it");
    assert!(made.cgroup.end(LONG).unwrap() && !folder.exists());
    // They are not reaped yet: what has ended is in no cgroup.
    for child in [&mut own, &mut other] {
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
    assert!(made.cgroup.end_now().unwrap(), "for ever");
    let mut late = Command::new("true").spawn().unwrap();
    assert!(made.cgroup.enter(Pid::from_child(&late)).is_err());
    late.wait().unwrap();
}

/// Also what its engine starts there while it ends.
#[test]
fn what_comes_while_a_cgroup_ends_is_ended_too() {
    let Some(made) = made() else { return };
    let mut first = process_in(&made.cgroup);
    made.cgroup.kill();
    first.wait().unwrap();
    let mut late = process_in(&made.cgroup);
    assert!(made.cgroup.end(LONG).unwrap());
    late.wait().unwrap();
}

#[test]
fn what_nobody_has_locked_any_more_was_left_by_a_crash() {
    let Some(made) = made() else { return };
    let (folder, mut child) = (made.cgroup.path().unwrap(), process_in(&made.cgroup));
    let other = Cgroup::at(&made.path).unwrap();
    let made = ManuallyDrop::new(made); // as if this process had been killed
    let _ = left::end(Duration::ZERO);
    assert!(child.try_wait().unwrap().is_none(), "two have it");
    flock(&made.cgroup.folder, FlockOperation::Unlock).unwrap();
    let _ = left::end(Duration::ZERO);
    assert!(child.try_wait().unwrap().is_none(), "one has it");
    drop(other);
    // A program that another test starts has it, too, until its exec; and a test beside may find it first.
    within(LONG, "it is gone", || {
        assert_eq!(left::end(LONG), Vec::<PathBuf>::new());
        !folder.exists()
    });
    child.wait().unwrap();
}

/// Another start looks for what a crash left while this one has made its cgroup, and not locked it yet.
#[test]
fn one_that_was_removed_before_it_was_locked_is_none() {
    let Some(made) = made() else { return };
    let opened = Cgroup::open(&made.cgroup.path().unwrap()).unwrap();
    assert!(made.cgroup.end(LONG).unwrap());
    assert_eq!(opened.locked().unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn one_that_is_no_longer_needed_ends_with_who_made_it() {
    let Some(made) = made() else { return };
    let (folder, mut child) = (made.cgroup.path().unwrap(), process_in(&made.cgroup));
    drop(made);
    assert!(!folder.exists());
    child.wait().unwrap();
}

#[test]
fn why_there_is_none_is_told_with_the_file_and_the_remedy() {
    let told = |errno: Errno| {
        let failed = Err::<(), _>(errno).named_for("mkdir", "/sys/fs/cgroup/a");
        let refused = refused(failed.unwrap_err());
        assert!(is_refused(&refused) && !is_refused(&errno.into()));
        refused.to_string()
    };
    for (errno, remedy) in [
        (Errno::ACCESS, MAY_NOT),
        (Errno::PERM, MAY_NOT),
        (Errno::ROFS, READ_ONLY),
        (Errno::AGAIN, TOO_MANY),
        (Errno::NOENT, REMOVED),
        (Errno::NODEV, REMOVED),
        (Errno::BUSY, CHANGED),
    ] {
        let error = io::Error::from(errno);
        let words = format!(
            "this host gives the command no cgroup of its own: mkdir /sys/fs/cgroup/a: {error}; {remedy}"
        );
        assert_eq!(told(errno), words);
    }
    assert!(!told(Errno::NOSPC).contains(';'), "{}", told(Errno::NOSPC));
}

//! A job in a cgroup of its own: its guard ends all that is in it, and where there is none.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use electd::local::{has_ended, passing};
use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::{Attached, exec, lives};
use super::begins::problem;
use super::registered::begun;
use super::setup::{Setup, said, text, until};
use super::{Elsewhere, children, only_child};
use crate::support::cgroup::{self, TestCgroup};
use crate::support::script::{ELECTD, script};
use crate::support::unit::Unit;
use crate::support::{Cluster, Finished, ensure, eventually};

/// Nothing that it inherited shows it to its guard, and it is below no process of the guard.
#[story]
fn a_process_that_left_for_another_pid_namespace_and_closed_all_ends_with_its_job() {
    let (Some(elsewhere), Some(cgroup)) = (Elsewhere::make(), TestCgroup::make()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let namespace = elsewhere.first;
    let stray =
        "for fd in /proc/self/fd/*; do n=${fd##*/}; [ $n -lt 3 ] || eval \"exec $n>&-\"; done
        while echo >>writes; do sleep 0.01; done";
    fs::write(folder.path().join("stray"), stray).unwrap();
    let script = format!(
        "nsenter --pid=/proc/{namespace}/ns/pid sh -c '(setsid bash stray &) ; \
         until [ -s writes ]; do sleep 0.01; done'; exit 3"
    );
    let setup = Setup { script: &script, cgroup: Some(&cgroup.path), ..Setup::of("") };
    let (mut guard, line) = begun(folder.path(), setup);
    assert_eq!(guard.end().code(), Some(3), "{}", said(folder.path()));
    assert_eq!(std::io::read_to_string(line).unwrap(), "c");
    let written = || fs::metadata(folder.path().join("writes")).unwrap().len();
    let before = written();
    let stray = children(namespace).find(|stray| lives(*stray));
    assert_eq!((stray, written()), (None, before), "it has ended");
    assert!(!cgroup.folder.exists(), "by the kernel's word");
}

/// Each process starts the next one and ends, so that a look finds none where it was.
#[story]
fn a_job_that_forks_without_end_is_ended() {
    let Some(cgroup) = TestCgroup::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    script(&folder.path().join("next"), "[ -e stop ] && exit; echo >>forks; setsid ./next &");
    let command = "./next & ./next & trap '' TERM; while :; do sleep 0.01; done";
    let setup = Setup { cgroup: Some(&cgroup.path), ..Setup::of(command) };
    let (mut guard, line) = begun(folder.path(), setup);
    let forks = || text(folder.path(), "forks").len();
    eventually("it forks", || (forks() > 40).then_some(()).ok_or_else(|| forks().to_string()));
    guard.kill(1);
    guard.end();
    assert_eq!(std::io::read_to_string(line).unwrap(), "c", "{}", said(folder.path()));
    assert!(!cgroup.folder.exists());
    let before = forks();
    fs::write(folder.path().join("stop"), "").unwrap();
    assert_eq!(forks(), before);
}

/// As a container engine does: it is no child of the command, and makes cgroups of its own below.
#[story]
fn what_another_program_starts_in_the_cgroup_ends_with_the_job() {
    let Some(cgroup) = TestCgroup::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command =
        "echo $ELECTD_CGROUP >path; touch ready; until [ -e gate ]; do sleep 0.01; done; exit 3";
    let setup = Setup { cgroup: Some(&cgroup.path), ..Setup::of(command) };
    let (mut guard, line) = begun(folder.path(), setup);
    until(folder.path(), "ready");
    assert_eq!(text(folder.path(), "path").trim(), cgroup.path);
    let container = cgroup.folder.join("engine/container");
    fs::create_dir_all(&container).unwrap();
    let mut started = Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(container.join("cgroup.procs"), started.id().to_string()).unwrap();
    fs::write(folder.path().join("gate"), "").unwrap();
    assert_eq!(guard.end().code(), Some(3), "{}", said(folder.path()));
    assert_eq!(std::io::read_to_string(line).unwrap(), "c");
    assert!(!cgroup.folder.exists());
    assert_eq!(started.wait().unwrap().signal(), Some(9));
}

/// A coroner that was given the cgroup would take the end of a guard for that of one that was killed, and end the rest.
#[story]
fn a_guard_that_knows_of_something_elsewhere_says_so() {
    let Some(cgroup) = TestCgroup::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup { cleanup: "/bin/false", cgroup: Some(&cgroup.path), ..Setup::of("exit 3") };
    let (mut guard, line) = begun(folder.path(), setup);
    assert_eq!(guard.end().code(), Some(3), "{}", said(folder.path()));
    assert_eq!(std::io::read_to_string(line).unwrap(), "u");
}

/// The coroner has the pipe of the process that waited first: what takes its place has the same one, or a job that left the
/// cgroup would be taken for over.
#[story]
fn what_takes_the_place_of_a_killed_process_that_waited_has_the_mark_that_the_coroner_knows() {
    let Some(cgroup) = TestCgroup::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (line, far) = UnixStream::pair().unwrap();
    let far = OwnedFd::from(far);
    let setup = Setup {
        cgroup: Some(&cgroup.path),
        line: Some(&far),
        ..Setup::of("touch ran; exec sleep 7000")
    };
    let mut guard = setup.start_early(folder.path());
    let waits = eventually("a process waits", || only_child(guard.pid()).ok_or_else(String::new));
    kill_process(waits, Signal::KILL).unwrap();
    eventually("it is gone", || ensure(!lives(waits), String::new));
    guard.begin();
    until(folder.path(), "ran");
    let (count, given) = passing::receive(&line, &mut [0]).unwrap();
    assert_eq!((count, given.len()), (1, 3));
    let is_free = || has_ended(&given[1], Duration::ZERO);
    assert!(!is_free(), "the command has it");
    guard.told(&[Some(0)]);
    guard.end();
    assert!(is_free());
}

/// A cgroup that was made for it, and a process that waits in it.
#[story]
fn a_guard_that_is_not_needed_removes_its_cgroup() {
    let Some(cgroup) = TestCgroup::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup { cgroup: Some(&cgroup.path), ..Setup::of("touch ran") };
    let mut guard = setup.start_early(folder.path());
    let waits = eventually("a process waits in it", || {
        let all = text(&cgroup.folder, "cgroup.procs");
        all.trim().parse().ok().and_then(Pid::from_raw).ok_or(all)
    });
    guard.orphan();
    assert_eq!(guard.end().code(), Some(0));
    assert!(!cgroup.folder.exists() && !lives(waits));
    assert!(!folder.path().join("ran").exists());
}

/// What `exec` beside this node says to its cgroup, by this script in the place of electd: `$0` is electd, and "$@"
/// what to do.
fn tried(cluster: &Cluster, mode: &str, by: &str) -> (i32, String) {
    let exec = exec(cluster, 1, &["--cgroup", mode, "--", "true"]);
    let mut command = Command::new("sh");
    command.args(["-c", by, ELECTD]).args(exec.get_args()).stdin(Stdio::null());
    let output = command.finished();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// No node runs there, which is what they find next.
#[story]
fn a_host_that_gives_no_cgroup_is_refused_with_always_and_used_with_auto() {
    let (Some(cgroup), Ok(mount)) = (TestCgroup::make(), cgroup::mount()) else { return };
    let cluster = Cluster::prepare(1, |_| ());
    let (shown, own) = (mount.display(), cgroup.folder.display());
    let enter = format!("echo $$ >{own}/cgroup.procs");
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let mut readable = Command::new("chmod");
    readable.args(["-R", "a+rX"]).arg(cluster.file().parent().unwrap()).status().unwrap();
    let read_only = format!("mount -o remount,bind,ro {shown}");
    let in_mounts = |then: &str| {
        format!("exec unshare --mount sh -c '{then} && exec \"$0\" \"$@\"' \"$0\" \"$@\"")
    };
    for (by, words) in [
        (
            in_mounts(&read_only),
            "Read-only file system (os error 30); have cgroups mounted for writing",
        ),
        (in_mounts(&format!("umount -l {shown}")), "/proc/self/mountinfo has no cgroup2 in which "),
        (
            format!("{enter} && exec {nobody} \"$0\" \"$@\""),
            "Permission denied (os error 13); run electd as root, or give its unit Delegate=yes",
        ),
    ] {
        let (code, told) = tried(&cluster, "always", &by);
        assert_eq!(code, 71, "{by}: {told}");
        assert!(told.contains("this host gives the command no cgroup of its own: "), "{told}");
        assert!(told.contains(words), "{told}");
        let (code, told) = tried(&cluster, "auto", &by);
        assert_eq!(code, 69, "{by}: {told}");
    }
    // As systemd delegates it.
    for name in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
        chown(cgroup.folder.join(name), Some(65534), Some(65534)).unwrap();
    }
    let (code, told) =
        tried(&cluster, "always", &format!("{enter} && exec {nobody} \"$0\" \"$@\""));
    assert_eq!(code, 69, "{told}");
    let left = fs::read_dir(&cgroup.folder).unwrap().flatten().find(|it| it.path().is_dir());
    assert!(left.is_none(), "{left:?}");
}

/// From its first moment.
#[story]
fn a_command_is_in_the_cgroup_that_its_environment_names() {
    let Some(_makes) = TestCgroup::make() else { return };
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let script = "echo \"$ELECTD_CGROUP\"; sed -n s/^0:://p /proc/self/cgroup";
    for mode in ["always", "auto", "never"] {
        let mut exec = exec(&cluster, 1, &["--cgroup", mode, "--", "sh", "-c", script]);
        exec.env("ELECTD_CGROUP", "that of another electd");
        let output = exec.finished();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = told.lines().collect();
        let [named, own] = lines[..] else { panic!("{output:?}") };
        if mode == "never" {
            assert_eq!((named, own.contains("electd-job-")), ("", false));
        } else {
            assert!(named == own && named.contains("/electd-job-"), "{told}");
            let folder = cgroup::folder_of(named).unwrap();
            assert!(!folder.exists(), "it was removed");
        }
    }
}

/// The remedy is typed as it stands there, whichever versions this host has.
#[story]
fn what_a_host_without_cgroups_is_told_to_do_helps() {
    let (Some(_makes), Ok(mount)) = (TestCgroup::make(), cgroup::mount()) else { return };
    let cluster = Cluster::prepare(1, |_| ());
    let without = |then: &str| {
        let shown = mount.display();
        let all =
            format!("umount -l {shown} && mount -t tmpfs none /run {then} && exec \"$0\" \"$@\"");
        format!("exec unshare --mount sh -c '{all}' \"$0\" \"$@\"")
    };
    let (code, told) = tried(&cluster, "always", &without(""));
    assert_eq!(code, 71, "{told}");
    let (_, remedy) = told.trim().split_once("; mount it").unwrap();
    let (_, remedy) = remedy.split_once(": ").unwrap();
    let (code, told) = tried(&cluster, "always", &without(&format!("&& {remedy}")));
    assert_eq!(code, 69, "{remedy}: {told}");
}

/// It was removed, or takes no process: its electd has made it, so the guard is the first that finds that.
#[story]
fn a_guard_that_is_refused_its_cgroup_says_so_or_goes_on_without_it() {
    let Some(parent) = TestCgroup::make() else { return };
    let below = |name: &str| parent.folder.join(name);
    fs::create_dir(below("threads")).unwrap();
    fs::write(below("threads/cgroup.type"), "threaded").unwrap(); // and so those beside it take nothing
    for (name, words) in [
        (
            "removed",
            ": open ",
            "removed: No such file or directory (os error 2); find the program that removes ",
        ),
        (
            "invalid",
            ": write ",
            "invalid/cgroup.procs: Operation not supported (os error 95); find the program that ",
        ),
    ]
    .map(|(name, call, words)| (name, [call, words]))
    {
        let path = format!("{}/{name}", parent.path);
        let told = |needs_cgroup| {
            if name == "invalid" {
                let _ = fs::create_dir(below(name)); // the guard that needs it has removed it
            }
            let folder = tempfile::tempdir().unwrap();
            let command = "[ -z \"$ELECTD_CGROUP\" ] && exit 3";
            let setup = Setup { cgroup: Some(&path), needs_cgroup, ..Setup::of(command) };
            let mut guard = setup.start(folder.path());
            let ended = guard.end();
            let reason = needs_cgroup.then(|| guard.reason());
            (ended, said(folder.path()), reason)
        };
        let (ended, first, reason) = told(true);
        assert_eq!(ended.signal(), Some(Signal::ALARM.as_raw()), "{first}");
        let (ended, said, _) = told(false);
        assert_eq!(ended.code(), Some(3), "{said}");
        assert_eq!((format!("electd: {}\n", reason.unwrap()), &first), (said, &first));
        assert!(
            first.starts_with("electd: this host gives the command no cgroup of its own"),
            "{first}"
        );
        assert!(words.iter().all(|words| first.contains(words)), "{first}");
    }
}

/// As where another program takes all cgroups that a unit may have. The command ran before, and ended.
#[story]
fn a_job_that_gets_no_cgroup_any_more_begins_without_or_says_so_until_it_gets_one() {
    for (mode, by_exec) in [("always", false), ("always", true), ("auto", false), ("auto", true)] {
        let cluster = Cluster::prepare(1, |_| ());
        let node = cluster.node(1);
        let [begun, log] = ["begun", "exec.log"].map(|name| cluster.file().with_file_name(name));
        let script = format!("echo $$ \"$ELECTD_CGROUP\" >>{}; exec sleep 1000", begun.display());
        let options = ["--cgroup", mode, "--restart", "always", "--", "sh", "-c", &script];
        let made = if by_exec {
            Unit::of_program()
        } else {
            Unit::of(node).map(|unit| (unit, String::new()))
        };
        let Some((unit, by)) = made else { return };
        let mut beside = None;
        if by_exec {
            node.start();
            let exec = exec(&cluster, 1, &options);
            let mut command = Command::new("sh");
            command.args(["-c", &by, ELECTD]).args(exec.get_args()).stdin(Stdio::null());
            beside = Some(Attached(command.stderr(File::create(&log).unwrap()).spawn().unwrap()));
        } else {
            node.start_as(&options, &[]);
        }
        let told = || node.log() + &fs::read_to_string(&log).unwrap_or_default();
        let runs = |count: usize| {
            eventually(&format!("it begins for the {count}. time"), || {
                let all = fs::read_to_string(&begun).unwrap_or_default();
                let line = all.lines().nth(count - 1).filter(|_| all.ends_with('\n'));
                let (pid, path) = line.and_then(|line| line.split_once(' ')).ok_or_else(told)?;
                Ok((Pid::from_raw(pid.parse().unwrap()).unwrap(), path.to_owned()))
            })
        };
        let (first, path) = runs(1);
        assert!(path.contains("/electd-job-"), "{path}");
        unit.refuse(true);
        kill_process(first, Signal::KILL).unwrap();
        let words = "this host gives the command no cgroup of its own: mkdir ";
        if mode == "auto" {
            assert_eq!(runs(2).1, "");
            eventually("it is told", || ensure(told().contains(words), told));
        } else {
            let cannot = format!("the job cannot be run: {words}");
            eventually("it is told", || ensure(told().contains(&cannot), told));
            let shown = eventually("it is shown", || problem(&cluster, 1));
            let why = format!("the job failed here (it cannot be run: {words}");
            let remedy = "raise cgroup.max.descendants and cgroup.max.depth";
            assert!(shown.starts_with(&why) && shown.contains(remedy), "{shown}");
            unit.refuse(false);
            assert!(runs(2).1.contains("/electd-job-"));
        }
        drop(beside);
    }
}

//! Guards that wait, begin and end, as their electd sees it. The guard here is this program, which runs one test.

use std::os::fd::AsRawFd;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_getfd};

use super::*;
use crate::core::types::Time;
use crate::exec::deadlines::Deadlines;
use crate::exec::equipment::tests::equipment;
use crate::exec::order::GuardWord;
use crate::exec::plan::tests::{leadership, plan};
use crate::node::now;
use crate::testing::alone::alone;

#[test]
fn that_a_guard_is_late_is_told_once_and_its_end_as_well() {
    let alarms = Arc::new(Alarms::new(Deadlines::of_renewal(TIMEOUT)).unwrap());
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let process = Arc::new(pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap());
    let (news, heard) = bounded(2);
    alarms.late.set(Time(1)).unwrap();
    assert!(!has_ended(&process, &alarms.late, &news), "it is late, and runs");
    alarms.late.set(Time(1)).unwrap();
    assert!(!has_ended(&process, &alarms.late, &news), "again, and nobody has heard of it yet");
    assert!(matches!(heard.try_recv(), Ok(GuardNews::Late)));
    assert!(heard.is_empty());
    alarms.late.set(now() + Duration::from_secs(1000)).unwrap();
    let (start, heard) = watch(&alarms).unwrap();
    start.send((child, process.clone())).unwrap();
    alarms.late.set(Time(1)).unwrap();
    let long = Duration::from_secs(20);
    assert!(matches!(heard.recv_timeout(long), Ok(GuardNews::Late)));
    drop(stdin);
    let Ok(GuardNews::Ended(Ok(status))) = heard.recv_timeout(long) else {
        panic!("no end is told")
    };
    assert!(status.success());
    assert!(heard.recv_timeout(long).is_err(), "that was all");
    alarms.late.set(now() + Duration::from_secs(1000)).unwrap();
    assert!(has_ended(&process, &alarms.late, &news));
    assert!(news.is_empty(), "it ended in time");
}

/// The test that is a guard, where this program is started with its name alone.
pub const GUARD: &str = "exec::ready::tests::a_guard_ends_as_its_test_wants";

/// Before the words that tell a guard how to end.
const ENDS: &str = "a test whose guard ends by ";

/// The name of a cluster whose guards end in this way, as soon as they have begun: by a code, by a signal, or by a signal
/// after they left a process behind. Or one whose guards note in a file that they are not needed.
pub fn ending(how: &str) -> String {
    format!("{ENDS}{how}")
}

/// It does nothing where it is no guard.
#[test]
fn a_guard_ends_as_its_test_wants() {
    let cluster = std::env::var("ELECTD_CLUSTER").unwrap_or_default();
    let Some((how, number)) = cluster.strip_prefix(ENDS).and_then(|how| how.split_once(' ')) else {
        return;
    };
    let Some((begin, ..)) = BeginOrder::receive(io::stdin()).unwrap() else {
        if how == "note" {
            std::fs::write(number, "not needed").unwrap();
        }
        return;
    };
    assert_eq!(begin.epoch, 7); // on a terminal it has a group, too
    let number = number.parse().unwrap();
    if how == "leave" {
        let mut left = Command::new("sh");
        left.args(["-c", "sleep 1000 &"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        left.status().unwrap();
    }
    let reason = GuardWord::Failed("so".to_owned()); // in case that it failed
    pair::say(io::stdin(), &reason, &[]).unwrap();
    if how == "code" {
        std::process::exit(number);
    }
    signal_hook::low_level::emulate_default_handler(number).unwrap();
}

fn ready(how: &str) -> Ready {
    let plan = Plan { node: "--exact".to_owned(), command: vec![GUARD.into()], ..plan() };
    Ready::start(&Plan { cluster: ending(how), ..plan }).unwrap()
}

#[test]
fn a_guard_that_waits_has_a_group_and_a_line_of_its_own_and_begins_when_it_is_told_to() {
    let this = "a_guard_that_waits_has_a_group_and_a_line_of_its_own_and_begins_when_it_is_told_to";
    if alone(&format!("exec::ready::tests::{this}")).is_some() {
        return;
    }
    let ready = ready("code 3");
    assert!(ready.is_there());
    assert_eq!(rustix::process::getpgid(Some(ready.guard)), Ok(ready.guard));
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let line = ready.line.as_raw_fd();
    assert!(line >= 1010 || limit.is_some_and(|limit| limit <= 1100), "{line}");
    assert!(fcntl_getfd(&ready.line).unwrap().contains(FdFlags::CLOEXEC));
    let path = format!("/proc/{}/environ", ready.guard.as_raw_nonzero());
    let environ = std::fs::read_to_string(path).unwrap();
    let cluster = format!("ELECTD_CLUSTER={}", ending("code 3"));
    for variable in [&cluster, "ELECTD_NODE=--exact", "ELECTD_LEADER=--exact"] {
        assert!(environ.split('\0').any(|one| one == variable), "{variable}: {environ}");
    }
    assert!(!environ.contains("ELECTD_HELPER"), "its command is no helper: {environ}");
    let leadership = leadership(Duration::from_secs(1000), Some(Duration::from_secs(800)));
    let begun = ready.begin(&leadership, &equipment()).unwrap();
    let left = begun.alarms.term.left().unwrap().as_secs();
    assert!((700..=800).contains(&left), "its alarms are set: {left}");
    let Ok(GuardNews::Ended(Ok(status))) = begun.news.recv_timeout(Duration::from_secs(20)) else {
        panic!("no end is told")
    };
    assert_eq!(status.code(), Some(3));
}

/// Its number may be another's then.
#[test]
fn a_guard_that_is_not_needed_is_gone_when_that_is_known() {
    let this = "a_guard_that_is_not_needed_is_gone_when_that_is_known";
    if alone(&format!("exec::ready::tests::{this}")).is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let noted = folder.path().join("noted");
    let mut tries = 0;
    while !noted.exists() {
        tries += 1;
        assert!(tries < 10, "it never ends by itself, but is killed after a second");
        let ready = ready(&format!("note {}", noted.display()));
        let process = ready.process.clone();
        ready.dismiss();
        assert_eq!(pidfd_send_signal(process, Signal::TERM), Err(rustix::io::Errno::SRCH));
    }
}

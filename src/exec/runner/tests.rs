//! When a job begins, what its end means for the node, and when it is started again.

mod node;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::channel::{Sender, bounded};
use parking_lot::Mutex;
use rustix::process::{
    Resource, Rlimit, Signal, WaitId, WaitIdOptions, child_subreaper, getrlimit, setrlimit, waitid,
};

use node::Node;

use super::*;
use crate::exec::equipment::Equipment;
use crate::exec::equipment::tests::equipment;
use crate::exec::guard::{BY_DEADLINE, FAILED, NO_ADDRESS};
use crate::exec::plan::tests::{leadership, plan};
use crate::exec::ready::tests::{GUARD, ending};
use crate::node::logged::logged;
use crate::testing::alone::alone;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(1000);

/// The plan gives TERM 20 seconds before the end of a leadership.
#[test]
fn a_job_begins_only_in_a_leadership_that_lasts_for_long_enough() {
    let leads = |seconds| Node { leads: Some(Duration::from_secs(seconds)), ..Node::default() };
    for (seconds, is_enough) in [(15, false), (30, true)] {
        let leadership = leads(seconds).leadership().unwrap();
        assert_eq!(has_time(&plan(), &leadership), is_enough, "{seconds}");
    }
}

/// Before any job has begun.
#[test]
fn a_wait_for_the_leadership_ends_with_its_time_its_node_or_a_stop() {
    let at_once = Plan { wait: Some(Duration::ZERO), ..plan() };
    let (open, stopping) = bounded::<()>(0);
    assert_eq!(run(&Node::default(), &at_once, &stopping), ExecEnd::NotGained);
    let gone = Node { is_gone: true, ..Node::default() };
    assert_eq!(run(&gone, &plan(), &stopping), ExecEnd::NodeGone { has_run: false });
    drop(open);
    assert_eq!(run(&Node::default(), &plan(), &stopping), ExecEnd::Stopped(None));
    assert_eq!(run(&gone, &plan(), &stopping), ExecEnd::Stopped(None), "it was to");
}

/// As while another command takes its time to end.
#[test]
fn a_leadership_that_cannot_be_held_is_asked_for_until_the_time_is_over() {
    let (_open, stopping) = bounded::<()>(0);
    let node = Node { leads: Some(LONG), ..Node::default() };
    let wait = Duration::from_millis(100);
    let begun = Instant::now();
    assert_eq!(run(&node, &Plan { wait: Some(wait), ..plan() }, &stopping), ExecEnd::NotGained);
    assert!(begun.elapsed() >= wait, "{:?}", begun.elapsed());
    let asked = node.was_asked.into_inner();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked == "hold for 1001s"), "{asked:?}");
}

#[test]
fn a_host_that_cannot_run_the_job_hands_over_and_says_why() {
    for (lost, end, why) in [
        (JobEnd::NoAddress, ExecEnd::NoAddress, "the guard of the job cannot hold its addresses"),
        (JobEnd::GuardLost, ExecEnd::Lost, "the guard of the job was killed, and the job with it"),
    ] {
        let node = Node::default();
        let told = logged(|| assert_eq!(hand_over(&node, &lost), end));
        assert_eq!(told, [format!("WARN : {why}: the node hands over")]);
        assert_eq!(*node.was_asked.lock(), ["hand over"]);
    }
    let (node, failed) = (Node::default(), JobEnd::Failed("so".to_owned()));
    let told = logged(|| assert_eq!(hand_over(&node, &failed), ExecEnd::Failed));
    assert_eq!(told, ["ERROR : the job cannot be run: so: the node hands over"]);
    assert_eq!(*node.was_asked.lock(), ["it cannot be run: so"], "it shows the reason for a time");
}

#[test]
fn a_program_that_electd_runs_for_itself_is_spared_and_not_reaped_when_it_has_ended() {
    let mut command = Command::new("true");
    let mut child = children::start(command.envs([children::mark()])).unwrap();
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    assert!(is_own(pid));
    assert!(children::wait(&mut child).unwrap().success());
    assert!(!is_own(pid), "its number may be another's now");
}

#[test]
fn a_job_failed_soon_if_it_ended_with_another_code_than_0_within_a_minute() {
    let now = Instant::now();
    assert_eq!(failed_soon(&JobEnd::ByItself(3), now), Some(3));
    assert_eq!(failed_soon(&JobEnd::ByItself(3), now - SOON), None);
    assert_eq!(failed_soon(&JobEnd::ByItself(0), now), None, "it has done its work");
    for end in [JobEnd::WithLeadership, JobEnd::WithStop(3), JobEnd::GuardLost] {
        assert_eq!(failed_soon(&end, now), None, "{end:?}");
    }
}

/// A job in a leadership of the time for which a heartbeat is good counts by that, not by the plan.
#[test]
fn a_job_begins_by_what_the_node_says_of_its_renewals() {
    let seconds = Duration::from_secs;
    for (left, is_enough) in [(5, false), (15, true)] {
        let leadership = leadership(seconds(left), Some(seconds(40)));
        assert_eq!(has_time(&plan(), &leadership), is_enough, "{left}");
    }
}

/// A node that leads. A hold that ends stops the runner, or takes the node along.
struct Leading {
    /// Whether it leads from the first look on, or is gone at the second.
    leads: bool,
    /// Whether it leads no more for long enough after a job, and stops the runner soon after.
    fades: bool,
    changes: (Sender<Change>, Receiver<Change>),
    looks: AtomicUsize,
    goes: bool,
    stops_at: &'static str,
    open: Mutex<Option<Sender<()>>>,
    was_asked: Mutex<Vec<String>>,
}

impl Leading {
    /// Of a runner that stops when this is asked for.
    fn until(stops_at: &'static str) -> (Leading, Receiver<()>) {
        let (open, stopping) = bounded(0);
        let (looks, was_asked) = (AtomicUsize::new(0), Mutex::default());
        let open = Mutex::new(Some(open));
        let changes = bounded(1);
        let earlier = Change::Ending { within: LONG };
        changes.0.send(earlier).unwrap(); // of a leadership before
        let (leads, fades, goes) = (true, false, false);
        (Leading { leads, fades, changes, looks, goes, stops_at, open, was_asked }, stopping)
    }

    /// Whether it was held for a job, and is not any more.
    fn has_run(&self) -> bool {
        self.was_asked.lock().iter().any(|asked| asked == "released")
    }

    fn note(&self, what: &str) {
        let mut was_asked = self.was_asked.lock();
        was_asked.push(what.to_owned());
        if what.starts_with(self.stops_at) || was_asked.len() > 8 {
            *self.open.lock() = None;
        }
    }
}

struct Held<'a>(&'a Leading);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.note("released");
    }
}

impl<'a> Leader for &'a Leading {
    type Hold = Held<'a>;

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        &self.changes.1
    }

    fn leadership(&self) -> Option<Leadership> {
        let looks = self.looks.fetch_add(1, Ordering::SeqCst);
        if self.fades && self.has_run() {
            if looks > 4 {
                *self.open.lock() = None;
            }
            return Some(leadership(Duration::from_secs(1), None));
        }
        self.leads.then(|| leadership(LONG, None))
    }

    fn hold(&self, most: Duration) -> Option<Held<'a>> {
        self.note(&format!("hold for {most:?}"));
        Some(Held(self))
    }

    fn equip(&self, _: &mut Self::Hold) -> io::Result<Equipment> {
        Ok(equipment())
    }

    fn hand_over(&self) {
        self.note("hand over");
    }

    fn stand_back(&self, reason: &str) {
        let (what, after) = reason.split_once(" after ").unwrap_or((reason, "0s"));
        assert!(after.ends_with('s'), "a time: {reason}");
        self.note(&format!("stand back: {what}"));
    }

    fn is_gone(&self) -> bool {
        !self.leads && self.looks.load(Ordering::SeqCst) > 0 || self.goes && self.has_run()
    }
}

/// A plan whose guard ends in this way: it is the test of that name, run by this program alone.
fn ends(how: &str) -> Plan {
    Plan { node: "--exact".to_owned(), command: vec![GUARD.into()], cluster: ending(how), ..plan() }
}

const ONCE: [&str; 2] = ["hold for 1001s", "released"];

/// How a runner ended, and what its node was asked for besides.
#[track_caller]
fn assert_run(what: &str, plan: &Plan, expected: ExecEnd, asked: &[&str]) {
    let (node, stopping) = Leading::until("released");
    assert_eq!(run(&&node, plan, &stopping), expected, "{what}");
    assert_eq!(*node.was_asked.lock(), [&ONCE[..], asked].concat(), "{what}");
}

/// Where the command would be started again, it is found to stop instead.
#[test]
fn the_end_of_a_job_means_what_its_plan_says() {
    if alone("exec::runner::tests::the_end_of_a_job_means_what_its_plan_says").is_some() {
        return;
    }
    let again = ExecEnd::Stopped(None);
    for (code, restart, end) in [
        (0, Restart::Never, ExecEnd::Command(0)),
        (0, Restart::OnFailure, ExecEnd::Command(0)),
        (0, Restart::Always, again),
        (3, Restart::Never, ExecEnd::Command(3)),
        (3, Restart::OnFailure, again),
        (3, Restart::Always, again),
    ] {
        for moves in [false, true] {
            let plan = Plan { restart, moves, ..ends(&format!("code {code}")) };
            // If it is started again here, then once before another host is to try.
            let is_failure = moves && code == 3 && restart == Restart::Never;
            let asked = if is_failure { &["stand back: code 3"][..] } else { &[] };
            assert_run(&format!("{code} {restart:?} {moves}"), &plan, end, asked);
        }
    }
    let by = |signal: Signal| ends(&format!("signal {}", signal.as_raw()));
    for (signal, end, asked) in [
        (BY_DEADLINE, ExecEnd::Lost, &[][..]),
        (NO_ADDRESS, ExecEnd::NoAddress, &["hand over"]),
        (FAILED, ExecEnd::Failed, &["stand back: it cannot be run: so"]),
        (Signal::KILL, ExecEnd::Lost, &["hand over"]),
    ] {
        let plan = Plan { moves: true, ..by(signal) };
        assert_run(&format!("{signal:?}"), &plan, end, asked);
        assert_run(&format!("{signal:?}"), &Plan { returns: true, ..plan }, again, asked);
    }
    let (mut node, stopping) = Leading::until("nothing");
    node.goes = true;
    let returns = Plan { returns: true, ..by(BY_DEADLINE) };
    assert_eq!(run(&&node, &returns, &stopping), ExecEnd::NodeGone { has_run: true });
    let (mut node, stopping) = Leading::until("nothing");
    node.fades = true;
    let waits = Plan { wait: Some(Duration::ZERO), ..returns };
    assert_eq!(run(&&node, &waits, &stopping), again, "it had come to lead in time");
    assert_eq!(child_subreaper().unwrap(), None, "it adopts only while a job runs");
}

/// As it would be by the guard. A guard that ends itself has run the cleanup.
#[test]
fn what_a_guard_left_is_killed_and_the_cleanup_of_a_killed_one_is_run() {
    let this = "what_a_guard_left_is_killed_and_the_cleanup_of_a_killed_one_is_run";
    if alone(&format!("exec::runner::tests::{this}")).is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cleanup = folder.path().join("cleanup");
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).mode(0o700).open(&cleanup).unwrap();
    (&file).write_all(b"#!/bin/sh\nsetsid sleep 1000 >/dev/null 2>&1 &\nexit 1\n").unwrap();
    drop(file);
    let failed = format!("WARN : the cleanup {} failed: exit status: 1", cleanup.display());
    let killed = "WARN : the guard of the job was killed, and the job with it: the node hands over";
    let lost = "WARN job_ended: the job was killed, since its guard was (epoch 7, KILL)";
    let ended = "WARN job_ended: the job was ended, since no renewal of the leadership came in time (epoch 7, by itself)";
    for (signal, told) in
        [(Signal::KILL, &[lost, failed.as_str(), killed][..]), (BY_DEADLINE, &[ended])]
    {
        let how = format!("leave {}", signal.as_raw());
        let plan = Plan { cleanup: Some(cleanup.clone()), ..ends(&how) };
        let (node, stopping) = Leading::until("released");
        let lines = logged(|| assert_eq!(run(&&node, &plan, &stopping), ExecEnd::Lost));
        let begun = format!("INFO job_started: runs {GUARD} in epoch 7, guard ");
        assert!(lines[0].starts_with(&begun), "{lines:?}");
        assert_eq!(&lines[1..], told);
        assert!(tree::is_childless(), "nothing is left, and nothing is to be reaped");
    }
}

/// It may hold what the next leader needs.
#[test]
fn what_may_still_run_after_a_guard_was_killed_is_told() {
    let this = "what_may_still_run_after_a_guard_was_killed_is_told";
    if alone(&format!("exec::runner::tests::{this}")).is_some() {
        return;
    }
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let told = logged(|| assert!(!end_orphans(None, Duration::ZERO))).join("; "); // it has had no time to end
    let words = "ERROR : KILL did not end these processes of the job yet";
    assert!(told.starts_with(&format!("{words}: {} (cat", child.id())), "{told}");
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    let told = logged(|| assert!(!end_orphans(None, Duration::ZERO))).join("; ");
    setrlimit(Resource::Nofile, limit).unwrap();
    let (begin, end) =
        ("ERROR : what the guard left may still run: ", "Too many open files (os error 24)");
    assert!(told.starts_with(begin) && told.ends_with(end), "{told}");
}

/// Only then another host is to try.
#[test]
fn a_job_that_fails_again_after_a_restart_stands_back() {
    if alone("exec::runner::tests::a_job_that_fails_again_after_a_restart_stands_back").is_some() {
        return;
    }
    let (node, stopping) = Leading::until("stand back");
    let plan = Plan { restart: Restart::OnFailure, moves: true, ..ends("code 3") };
    let begun = Instant::now();
    assert_eq!(run(&&node, &plan, &stopping), ExecEnd::Stopped(None));
    assert!(begun.elapsed() >= Duration::from_secs(1), "the wait before it is started again");
    let asked = [&ONCE[..], &ONCE, &["stand back: code 3"]].concat();
    assert_eq!(*node.was_asked.lock(), asked);
}

#[test]
fn a_job_that_cannot_be_run_is_told_and_so_is_one_whose_guard_cannot_be_ready() {
    let this = "a_job_that_cannot_be_run_is_told_and_so_is_one_whose_guard_cannot_be_ready";
    if alone(&format!("exec::runner::tests::{this}")).is_some() {
        return;
    }
    let why = "nul byte found in provided data";
    let cannot = Plan { command: vec!["\0".into()], ..plan() };
    let (node, stopping) = Leading::until("nothing");
    let told = logged(|| assert_eq!(run(&&node, &cannot, &stopping), ExecEnd::Failed));
    assert_eq!(told, [format!("ERROR : the job cannot be run: {why}: the node hands over")]);
    let stands_back = format!("stand back: it cannot be run: {why}");
    let asked = [ONCE.map(str::to_owned).as_slice(), &[stands_back]].concat();
    assert_eq!(*node.was_asked.lock(), asked);
    assert_eq!(child_subreaper().unwrap(), None);
    let gone = ExecEnd::NodeGone { has_run: false };
    for (plan, told) in [
        (cannot, vec![format!("WARN : {why}: the job will begin later")]),
        (ends("code 3"), vec![]),
    ] {
        let (mut node, stopping) = Leading::until("nothing");
        node.leads = false;
        node.changes.1.recv().unwrap(); // nothing new wakes it
        let begun = Instant::now();
        assert_eq!(logged(|| assert_eq!(run(&&node, &plan, &stopping), gone)), told);
        assert!(begun.elapsed() >= Duration::from_millis(200), "its election may not be over");
        assert!(tree::is_childless(), "the guard that was ready has ended");
    }
}

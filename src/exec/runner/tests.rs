//! When a job begins, what its end means for the node, and when it is started again.

use std::process::Command;

use crossbeam::channel::bounded;
use parking_lot::Mutex;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::*;
use crate::exec::plan::tests::{leadership, plan};
use crate::node::logged::logged;
use crate::rank::HELPER;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(1000);

/// A node that leads for this much longer, or does not, and is asked for nothing that it can give.
#[derive(Default)]
struct Node {
    leads: Option<Duration>,
    is_gone: bool,
    was_asked: Mutex<Vec<String>>,
}

impl Leader for Node {
    type Hold = ();

    fn changes(&self) -> Receiver<Change> {
        never()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.leads.map(|left| leadership(left, None))
    }

    fn hold(&self, most: Duration) -> Option<()> {
        self.was_asked.lock().push(format!("hold for {most:?}"));
        None
    }

    fn hand_over(&self) {
        self.was_asked.lock().push("hand over".to_owned());
    }

    fn stand_back(&self, reason: &str) {
        self.was_asked.lock().push(reason.to_owned());
    }

    fn is_gone(&self) -> bool {
        self.is_gone
    }
}

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
    assert_eq!(run(&Node::default(), &at_once, &stopping), End::NotGained);
    let gone = Node { is_gone: true, ..Node::default() };
    assert_eq!(run(&gone, &plan(), &stopping), End::NodeGone { has_run: false });
    drop(open);
    assert_eq!(run(&Node::default(), &plan(), &stopping), End::Stopped(None));
    assert_eq!(run(&gone, &plan(), &stopping), End::Stopped(None), "it was to");
}

/// As while another command takes its time to end.
#[test]
fn a_leadership_that_cannot_be_held_is_asked_for_until_the_time_is_over() {
    let (_open, stopping) = bounded::<()>(0);
    let node = Node { leads: Some(LONG), ..Node::default() };
    let wait = Duration::from_millis(100);
    let begun = Instant::now();
    assert_eq!(run(&node, &Plan { wait: Some(wait), ..plan() }, &stopping), End::NotGained);
    assert!(begun.elapsed() >= wait, "{:?}", begun.elapsed());
    let asked = node.was_asked.into_inner();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked == "hold for 1001s"), "{asked:?}");
}

#[test]
fn a_host_that_cannot_run_the_job_hands_over_and_says_why() {
    for (lost, end, why) in [
        (JobEnd::NoAddress, End::NoAddress, "the guard of the job cannot hold its addresses"),
        (JobEnd::GuardLost, End::Lost, "the guard of the job was killed, and the job with it"),
    ] {
        let node = Node::default();
        let told = logged(|| assert_eq!(hand_over(&node, lost), end));
        assert_eq!(told, [format!("WARN : {why}: the node hands over")]);
        assert_eq!(*node.was_asked.lock(), ["hand over"]);
    }
}

#[test]
fn a_program_that_electd_runs_for_itself_is_spared_and_not_reaped_when_it_has_ended() {
    let mut command = Command::new("true");
    let mut child = children::start(command.env(HELPER.0, HELPER.1)).unwrap();
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    assert!(is_own(pid));
    assert!(children::wait(&mut child).unwrap().success());
    assert!(!is_own(pid), "its number may be another's now");
}

#[test]
fn a_command_waits_for_longer_each_time_until_it_has_run_for_long() {
    let seconds = Duration::from_secs;
    let mut back_off = BackOff::new();
    let mut waits = |ran: u64, times: usize| -> Vec<u64> {
        let wait = |_| {
            back_off.ran(seconds(ran));
            back_off.next().as_secs()
        };
        (0..times).map(wait).collect()
    };
    assert_eq!(waits(1, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(waits(60, 1), [60], "it has not run for longer than it waited");
    assert_eq!(waits(61, 1), [1]);
    assert_eq!(waits(1, 2), [2, 4]);
}

#[test]
fn a_job_failed_soon_if_it_ended_with_another_code_than_0_within_a_minute() {
    let now = Instant::now();
    assert_eq!(failed_soon(JobEnd::ByItself(3), now), Some(3));
    assert_eq!(failed_soon(JobEnd::ByItself(3), now - SOON), None);
    assert_eq!(failed_soon(JobEnd::ByItself(0), now), None, "it has done its work");
    for end in [JobEnd::WithLeadership, JobEnd::WithStop(3), JobEnd::GuardLost] {
        assert_eq!(failed_soon(end, now), None, "{end:?}");
    }
}

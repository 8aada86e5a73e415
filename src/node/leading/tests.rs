//! Real members, and the work that runs while they lead.

use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use super::*;
use crate::config::Builder;
use crate::node::example;
use crate::node::handle::{Command, CommandError, Handle};
use crate::node::leadership::{Feed, Term};
use crate::testing::alone::{alone, output_in};
use crate::testing::within::{done_within, within};
use serde_json::json;

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::SIGTERM;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(100);

/// TERM is for a whole process, and would disturb other tests.
#[test]
fn the_work_runs_while_the_member_leads_and_term_ends_both() {
    let this = "node::leading::tests::the_work_runs_while_the_member_leads_and_term_ends_both";
    if alone(this).is_some() {
        return;
    }
    let (config, _folder) = example::cluster().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let its = config.clone();
        done_within(LONG, "the signal ends it", move || {
            let mut epochs = Vec::new();
            let outcome = while_leading(&its, "a", |lead| {
                epochs.push(lead.epoch());
                assert!(lead.goes_on(Duration::ZERO) && lead.goes_on(Duration::from_millis(1)));
                kill_process(getpid(), signal).unwrap();
                let begin = Instant::now();
                assert!(!lead.goes_on(Duration::from_secs(100)));
                assert!(begin.elapsed() < Duration::from_secs(50), "the wait was cut short");
            });
            assert!(outcome.is_ok(), "{outcome:?}");
            assert_eq!(epochs.len(), 1, "{epochs:?}");
        });
    }
    let unknown = while_leading(&config, "b", |_| -> () { panic!("it does not lead") });
    let words = "the config has no member named \"b\"";
    assert_eq!(unknown.unwrap_err().to_string(), words, "and nothing waits for a signal");
    let again = Node::start(&config, "a").expect("the first ones are gone");
    again.stop();
}

/// It asks as often as it likes, and hears of all that has come.
#[test]
fn the_work_goes_on_until_the_leadership_is_to_end_or_has_ended_or_the_member_stops() {
    let wait = Duration::from_millis(30);
    let goes_on = |told: &[Change], is_valid: bool, runs: bool| {
        let (feed, now) = (Feed::default(), crate::node::now());
        let until = now + Duration::from_secs(1000);
        feed.show(Some(Term { epoch: 7, until, renewal: None, now }));
        let leadership = feed.leadership().expect("it holds for long");
        let (changes, (running, stopping)) = (&feed.subscribe(), bounded(0));
        let is_asked = Cell::new(false);
        let lead = Lead { leadership, changes, stopping: &stopping, is_asked: &is_asked };
        assert_eq!(lead.epoch(), 7);
        told.iter().for_each(|change| feed.tell(change));
        if !is_valid {
            feed.show(None);
        }
        let running = Some(running).filter(|_| runs);
        let begin = Instant::now();
        let goes_on = lead.goes_on(wait);
        assert!(!goes_on || begin.elapsed() >= wait, "it waits so long");
        drop(running);
        assert_eq!(is_asked.get(), !goes_on);
        goes_on
    };
    let leading = || Change::Leading { epoch: 7 };
    assert!(goes_on(&[], true, true) && goes_on(&[leading(), leading()], true, true));
    assert!(!goes_on(&[leading(), Change::Ending { within: wait }], true, true));
    assert!(!goes_on(&[Change::NotLeading], true, true));
    assert!(!goes_on(&[], false, true));
    assert!(!goes_on(&[], true, false));
}

/// What ends of itself is not begun again before the member leads in another epoch.
#[test]
fn work_that_returns_is_done_until_the_next_leadership() {
    let (config, _folder) = example::cluster().unwrap();
    done_within(LONG, "it leads twice", move || {
        let node = Node::start(&config, "a").unwrap();
        let handle = node.handle();
        let (stop, stopping) = WorkStopper::new();
        let mut epochs = Vec::new();
        lead_on(&handle, &stopping, |lead| {
            epochs.push(lead.epoch());
            if epochs.len() > 1 {
                return stop.now();
            }
            assert_eq!(handle.tally().exec_running.get(), 1, "it is held meanwhile");
            let change = Change::Leading { epoch: lead.epoch() };
            (0..9).for_each(|_| handle.published.feed.tell(&change));
            let handle = handle.clone();
            thread::spawn(move || handle.command(Command::Elect, Duration::from_secs(60)));
        });
        let [first, second] = epochs[..] else { panic!("{epochs:?}") };
        assert!(first < second);
        node.stop();
    });
}

/// The thread that tells of the end of a leadership may itself stand still.
#[test]
fn the_work_ends_with_the_lease_though_nobody_tells_of_that() {
    let (feed, now) = (Feed::default(), crate::node::now());
    let until = now + Duration::from_secs(2);
    feed.show(Some(Term { epoch: 7, until, renewal: None, now }));
    let leadership = feed.leadership().expect("it holds for two seconds");
    let (changes, (_running, stopping)) = (&feed.subscribe(), bounded(0));
    let is_asked = Cell::new(false);
    let lead = Lead { leadership, changes, stopping: &stopping, is_asked: &is_asked };
    assert!(!lead.goes_on(Duration::from_secs(10)), "it went on after the lease");
    assert!(crate::node::now() >= until, "it ended before the lease");
}

/// Two members in this process, on free ports, which wait long before they suspect each other.
fn two_members(data_dir: &Path) -> Config {
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [a, b] = ports.map(|port| port.local_addr().unwrap().to_string());
    let builder = Builder::new("two", "none", data_dir).member("a", ids[0], &a);
    builder.member("b", ids[1], &b).set("timing", json!({ "failure": "30s" })).build().unwrap()
}

#[test]
fn an_operator_who_wants_the_leadership_waits_for_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path());
    done_within(LONG, "the operator waits, and the work ends", move || {
        let [a, b] = ["a", "b"].map(|name| Node::start(&config, name).unwrap());
        let (stop, stopping) = WorkStopper::new();
        let handle = b.handle();
        lead_on(&handle, &stopping, |lead| {
            let order = b.handle();
            let resign = Command::Resign { to: None };
            thread::spawn(move || order.command(resign, Duration::from_secs(60)));
            while lead.goes_on(Duration::from_secs(1)) {}
            assert!(handle.leadership().is_some(), "it is held");
            let refused = CommandError::NotNow("the leadership is about to end".to_owned());
            assert_eq!(handle.hold().err(), Some(refused), "others wait for its end");
            stop.now();
        });
        a.stop();
        b.stop();
    });
}

#[test]
fn a_member_that_is_removed_leads_no_more_and_its_work_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path());
    let a = Node::start(&config, "a").unwrap();
    let (of_a, (done, over)) = (a.handle(), bounded(1));
    thread::spawn(move || {
        let mut works = 0;
        let outcome = while_leading(&config, "b", |lead| {
            works += 1;
            let (a, remove) =
                (of_a.clone(), Command::Remove { name: "b".to_owned(), force: false });
            thread::spawn(move || {
                while a.status().members.len() > 1 {
                    let _ = a.command(remove.clone(), Duration::from_secs(60)); // it may not know yet who leads
                    thread::sleep(LOOK);
                }
            });
            while lead.goes_on(Duration::from_secs(1)) {}
        });
        done.send((outcome.is_ok(), works))
    });
    assert_eq!(over.recv_timeout(LONG), Ok((true, 1)));
    assert_eq!(a.handle().status().members.len(), 1);
    a.stop();
}

/// An end that was asked for, and that nobody needs any more: the one who was to succeed has gone.
#[test]
fn work_that_was_asked_to_end_begins_again_in_the_same_epoch_if_the_member_leads_on() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path());
    done_within(LONG, "the work begins again", move || {
        let [a, b] = ["a", "b"].map(|name| Node::start(&config, name).unwrap());
        let (handle, changes) = (b.handle(), b.handle().leadership_changes());
        let (stop, stopping) = WorkStopper::new();
        let (mut a, mut epochs) = (Some(a), Vec::new());
        lead_on(&handle, &stopping, |lead| {
            epochs.push(lead.epoch());
            let Some(a) = a.take() else { return stop.now() };
            let order = handle.clone();
            let resign = Command::Resign { to: None };
            thread::spawn(move || order.command(resign, Duration::from_secs(60)));
            while lead.goes_on(Duration::from_secs(1)) {}
            a.stop();
            let is_gone =
                || handle.status().members.iter().all(|it| it.name == "b" || it.status != "alive");
            within(LONG, "a is gone", is_gone);
        });
        let [first, again] = epochs[..] else { panic!("{epochs:?}") };
        assert_eq!(first, again, "it leads on in the same epoch");
        let all: Vec<_> = changes.try_iter().collect();
        let [.., Change::Ending { .. }, Change::Leading { epoch }] = all[..] else {
            panic!("{all:?}")
        };
        assert_eq!(epoch, first, "whoever holds the leadership for himself learns it as well");
        b.stop();
    });
}

#[test]
fn work_that_fails_at_once_begins_again_and_then_another_member_is_to_lead() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path());
    done_within(LONG, "another member leads", move || {
        let [a, b] = ["a", "b"].map(|name| Node::start(&config, name).unwrap());
        let (other, handle) = (a.handle(), b.handle());
        let (stop, stopping) = WorkStopper::new();
        let watching = thread::spawn(move || {
            within(LONG, "a leads", || other.leadership().is_some());
            stop.now();
        });
        let mut epochs = Vec::new();
        lead_on(&handle, &stopping, |lead| {
            epochs.push(lead.epoch());
            Err("no database")
        });
        watching.join().unwrap();
        assert!(epochs.len() == 2 && epochs[0] == epochs[1], "{epochs:?}");
        let failure = handle.status().failure.expect("it stands back");
        assert_eq!((failure.count, failure.reason.as_str()), (1, "no database"));
        [a, b].into_iter().for_each(Node::stop);
    });
}

/// A member that leads without its work helps nobody, and no signal would reach it.
#[test]
fn a_node_that_is_dropped_hands_over_and_stops_as_where_its_work_panics() {
    let (config, _folder) = example::cluster().unwrap();
    done_within(LONG, "it stops", move || {
        let node = Node::start(&config, "a").unwrap();
        within(LONG, "a leads", || node.handle().leadership().is_some());
        let leadership = node.handle().leadership().unwrap();
        drop(node);
        assert!(!leadership.is_valid());
        let mut leadership = None;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            while_leading(&config, "a", |lead| -> () {
                leadership = Some(lead.leadership.clone());
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err(), "the caller learns it");
        assert!(!leadership.unwrap().is_valid());
        Node::start(&config, "a").expect("the others have stopped").stop();
    });
}

/// How the process ends by TERM once the member is no more.
#[test]
fn after_the_member_has_gone_a_signal_ends_the_program_again_unless_that_ignored_or_handled_it() {
    const CASE: &str = "ELECTD_TEST_CASE";
    let this = "node::leading::tests::after_the_member_has_gone_a_signal_ends_the_program_again_unless_that_ignored_or_handled_it";
    let mut ends = Vec::new();
    for case in ["done", "refused", "panicked", "handled"] {
        let Some(output) = output_in(this, &[(CASE, case)]) else { break };
        ends.push((case, output.status.signal(), output.status.code()));
    }
    if !ends.is_empty() {
        let term = Some(15);
        let expected = [("done", term, None), ("refused", term, None), ("panicked", term, None)];
        assert_eq!(ends, [&expected[..], &[("handled", None, Some(0))]].concat());
        return;
    }
    let (config, folder) = example::cluster().unwrap();
    let case = std::env::var(CASE).unwrap();
    let (name, panics) = (if case == "refused" { "b" } else { "a" }, case == "panicked");
    let handled = Arc::new(std::sync::atomic::AtomicBool::new(false));
    if case == "handled" {
        signal_hook::flag::register(SIGTERM, handled.clone()).unwrap();
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        while_leading(&config, name, |lead| {
            assert!(!panics, "on purpose");
            kill_process(getpid(), Signal::INT).unwrap();
            while lead.goes_on(Duration::from_secs(1)) {}
        })
    }));
    drop(folder);
    kill_process(getpid(), Signal::TERM).unwrap();
    within(LONG, "TERM has come", || handled.load(std::sync::atomic::Ordering::SeqCst));
}

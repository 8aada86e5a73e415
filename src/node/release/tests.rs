//! Which orders end by themselves, and what that does not undo.

use std::sync::Arc;
use std::thread;

use crossbeam::channel::{Receiver, bounded};
use tempfile::TempDir;

use super::*;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::types::{Drain, Epoch, Pause, Version};
use crate::net::{Answering, ThreadEnd};
use crate::node::inbox::Queue;
use crate::node::leadership::Term;
use crate::node::publish::Published;
use crate::node::publish::tests::{follow, list, lose_leader, published, resign};
use crate::realtime::Realtime;
use crate::testing::within::within;

/// A node without an election thread: what that would be asked for stays in its queue.
struct Asked {
    handle: NodeHandle,
    queue: Receiver<InboxEvent>,
    left: TimedOrders,
    answering: Option<Answering>,
}

impl Asked {
    fn of(published: Published) -> Asked {
        let (sender, queue) = bounded(9);
        let events = Queue::new(sender, Realtime::default());
        let (answering, end) = ThreadEnd::new();
        let handle = NodeHandle { published: Arc::new(published), events, end };
        Asked { handle, queue, left: TimedOrders::default(), answering: Some(answering) }
    }

    /// What the orders that are over by now ask for.
    fn now(&mut self) -> Vec<String> {
        self.handle.end_orders(&mut self.left);
        let words = |event| match event {
            InboxEvent::Order(CommandOrder { command, .. }) => format!("{command:?}"),
            other => format!("{other:?}"),
        };
        self.queue.try_iter().map(words).collect()
    }

    /// The job failed just now, and the node is to stand back for this long.
    fn stand_back(&self, length: Duration) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let since_ms = clock::wall_clock_ms();
        let until_ms = clock::after(since_ms, length);
        let failure = JobFailure { count: 1, since_ms, until_ms, reason: String::new() };
        let text = serde_json::to_vec(&failure).unwrap();
        std::fs::write(folder.path().join("failures.json"), text).unwrap();
        self.handle.published.failures.open(folder.path());
        folder
    }

    /// What is asked for when that time is over.
    fn after_standing_back(&mut self) -> Vec<String> {
        loop {
            let asked = self.now();
            if self.handle.published.failures.present().is_none() {
                return asked;
            }
        }
    }
}

/// In which all is done.
const LIMIT: Duration = Duration::from_secs(20);

const NOTHING: [&str; 0] = [];

/// In 2023, in milliseconds since 1970.
const LONG_AGO: u64 = 1_700_000_000_000;

fn in_an_hour() -> u64 {
    clock::after(clock::wall_clock_ms(), Duration::from_secs(3600))
}

#[test]
fn a_drain_ends_when_it_was_to_and_no_other_does() {
    let mut node = Asked::of(published());
    for (until, asked) in
        [(None, &NOTHING[..]), (Some(in_an_hour()), &NOTHING), (Some(LONG_AGO), &["Undrain"])]
    {
        let drain = Drain { since: LONG_AGO - 1, until, reason: String::new() };
        node.handle.published.carry_on(|snapshot| snapshot.drain = Some(drain));
        assert_eq!(node.now(), asked, "{until:?}");
    }
    // It was given before the clock of this host was set.
    let drain = Drain { since: 1, until: Some(7_200_001), reason: "new disk".to_owned() };
    node.handle.published.carry_on(|snapshot| snapshot.drain = Some(drain));
    let asked = node.now();
    let [anew] = &asked[..] else { panic!("{asked:?}") };
    assert!(anew.starts_with("Drain(Drain { since: 1") && anew.contains("\"new disk\""), "{anew}");
    assert!(!anew.contains("7200001"), "it ends two hours from now: {anew}");
}

#[test]
fn a_pause_is_ended_by_the_leader_alone() {
    let mut node = Asked::of(published());
    let version = Version { epoch: Epoch(3), counter: 5 };
    let pause = |paused, until| Pause { version, paused, since: 0, until };
    let set = |node: &Asked, pause| {
        node.handle.published.carry_on(|snapshot| snapshot.pause = pause);
    };
    set(&node, pause(true, Some(LONG_AGO)));
    assert_eq!(node.now(), NOTHING, "it does not lead");
    let now = clock::now();
    let term = Term { epoch: 3, until: now + LONGEST, renewal: None, now };
    node.handle.published.feed.show(Some(term));
    assert_eq!(node.now(), [format!("{:?}", OperatorCommand::EndPause { version })]);
    for kept in [pause(true, Some(in_an_hour())), pause(true, None), pause(false, Some(LONG_AGO))] {
        set(&node, kept);
        assert_eq!(node.now(), NOTHING, "{kept:?}");
    }
}

#[test]
fn a_node_whose_job_failed_stands_back_again_until_its_time_is_over() {
    let mut node = Asked::of(published());
    let _folder = node.stand_back(Duration::from_secs(3600));
    assert_eq!(node.now(), NOTHING, "it leads, as no other can");
    follow(&node.handle.published);
    assert_eq!(node.now(), ["StandBack"]);
    let _folder = node.stand_back(Duration::from_millis(30));
    assert_eq!(node.after_standing_back(), ["Undrain"]);
    assert_eq!(node.now(), NOTHING);
}

/// Whoever drained it wants it drained, whatever becomes of its job.
#[test]
fn a_drained_node_stays_drained_when_it_has_stood_back_for_long_enough() {
    let mut node = Asked::of(published());
    follow(&node.handle.published);
    let drain = Drain { since: 0, until: None, reason: String::new() };
    node.handle.published.carry_on(|snapshot| snapshot.drain = Some(drain));
    let _folder = node.stand_back(Duration::from_millis(30));
    assert_eq!(node.after_standing_back(), NOTHING);
}

#[test]
fn a_resignation_ends_once_the_next_leader_has_led_for_long() {
    let (mut published, failure) = (published(), Duration::from_millis(3));
    resign(&mut published, failure);
    let (mut node, begin) = (Asked::of(published), Instant::now());
    let asked = loop {
        let asked = node.now();
        if !asked.is_empty() {
            break asked;
        }
    };
    assert_eq!(asked, ["Undrain"]);
    assert!(begin.elapsed() >= failure * 16, "after {:?}", begin.elapsed());
}

#[test]
fn who_waits_for_the_end_of_a_leadership_waits_no_longer_than_the_node_runs() {
    let mut node = Asked::of(published());
    follow(&node.handle.published); // in epoch 7
    assert_eq!(node.handle.await_release(6), Ok(true), "that leadership is over");
    node.handle.published.carry_on(|snapshot| snapshot.leads_on = true);
    assert_eq!(node.handle.await_release(7), Ok(false), "the leader leads on");
    node.handle.published.carry_on(|snapshot| snapshot.leads_on = false);
    node.answering = None;
    let stopping = CommandError::Unanswered("this node is stopping".to_owned());
    assert_eq!(node.handle.await_release(7), Err(stopping));
}

#[test]
fn who_waits_for_the_end_of_a_leadership_is_woken_by_it_or_when_the_leader_leads_on() {
    let node = Asked::of(published());
    let published = &node.handle.published;
    for (ends, expected) in [(true, Ok(true)), (false, Ok(false))] {
        follow(published); // in epoch 7
        thread::scope(|scope| {
            let waits = scope.spawn(|| node.handle.await_release_for(7, LIMIT));
            within(LIMIT, "it waits", || published.turns.receivers() == 1);
            if ends {
                lose_leader(published);
            } else {
                published.carry_on(|snapshot| snapshot.leads_on = true);
            }
            assert_eq!(waits.join().unwrap(), expected);
        });
    }
}

/// A leader that is removed first hands over, which may take for longer than an answer: it is asked once more then.
#[test]
fn who_removes_the_leader_waits_for_the_end_of_its_leadership() {
    let node = Asked::of(published());
    let published = &node.handle.published;
    follow(published);
    let (own, leader) = (published.own(), published.leader().unwrap());
    let late = || Err(Refusal::NoReply);
    let removed = |id| Ok(Done::Removed { id, stored: true, handed_over: false });
    let remove = |id, answers: &[Result<Done, Refusal>]| {
        follow(published); // in epoch 7
        assert_eq!(published.leader(), Some(leader));
        thread::scope(|scope| {
            let change = Forwarded::Change(MembershipChange::Remove { id, force: false });
            let asker = scope.spawn(|| node.handle.carry_out(change.into(), LIMIT));
            for answer in answers {
                let Ok(InboxEvent::Order(order)) = node.queue.recv_timeout(LIMIT) else {
                    panic!("the leader is not asked")
                };
                lose_leader(published);
                order.answer.send(*answer).unwrap();
            }
            asker.join().unwrap().unwrap()
        })
    };
    assert_eq!(remove(own, &[late()]), late(), "that is for the caller to ask again");
    assert_eq!(remove(leader, &[late(), removed(leader)]), removed(leader));
    assert!(node.queue.is_empty());
}

#[test]
fn a_caller_that_gets_no_answer_hears_whether_the_node_is_late_or_ends() {
    let mut node = Asked::of(published());
    let ask = |node: &Asked, called: &mut u32| {
        node.handle
            .order_meanwhile(OperatorCommand::Undrain, Duration::from_millis(1), || *called += 1)
    };
    let (mut called, no_answer) = (0, |words: &str| CommandError::Unanswered(words.to_owned()));
    assert_eq!(ask(&node, &mut called), Err(no_answer("this node did not answer in time")));
    node.answering = None;
    assert_eq!(ask(&node, &mut called), Err(no_answer("this node is stopping")));
    assert_eq!(called, 2);
    assert!(node.handle.hold_for(LIMIT).is_err());
    assert_eq!(node.handle.published.longest_hold(), LIMIT, "it may have been taken");
}

#[test]
fn who_asks_again_to_remove_a_leader_that_is_gone_hears_that_it_was_removed() {
    let node = Asked::of(published());
    let published = &node.handle.published;
    follow(published);
    let id = published.leader().unwrap();
    thread::scope(|scope| {
        let change = Forwarded::Change(MembershipChange::Remove { id, force: false });
        let asker = scope.spawn(|| node.handle.carry_out(change.into(), LIMIT));
        let asked = || match node.queue.recv_timeout(LIMIT) {
            Ok(InboxEvent::Order(order)) => order.answer,
            other => panic!("the leader is not asked: {other:?}"),
        };
        let first = asked();
        lose_leader(published);
        first.send(Err(Refusal::NoReply)).unwrap();
        let second = asked();
        list(published, MemberList::new(ListVersion::default(), Vec::new()));
        second.send(Err(Refusal::NotMember(id))).unwrap();
        let removed = Done::Removed { id, stored: true, handed_over: true };
        assert_eq!(asker.join().unwrap(), Ok(Ok(removed)));
    });
}

/// The answer to a command that ends a leadership comes after that has ended.
#[test]
fn only_the_end_of_the_leadership_that_a_command_ends_is_waited_for() {
    let successor = Some(Asked::of(published()).handle.published.own());
    let drain = Drain { since: 0, until: None, reason: String::new() };
    let resign = OperatorCommand::ForLeader(Forwarded::Resign { to: None });
    let (drain, resigned) =
        (OperatorCommand::Drain(drain), |epoch| Done::Resigned { epoch, successor });
    for (command, done, waits) in [
        (&resign, resigned(Epoch(7)), true),
        (&resign, resigned(Epoch(6)), false),
        (&drain, Done::Drained { successor }, true),
        (&drain, Done::Drained { successor: None }, false),
        (&drain, Done::Undrained, false),
    ] {
        let mut node = Asked::of(published());
        follow(&node.handle.published); // in epoch 7, in which another leads on
        let now = clock::now();
        let term = Term { epoch: 7, until: now + LONGEST, renewal: None, now };
        node.handle.published.feed.show(Some(term));
        let (handle, command) = (node.handle.clone(), command.clone());
        let asker = thread::spawn(move || handle.carry_out(command, LIMIT));
        let Ok(InboxEvent::Order(order)) = node.queue.recv_timeout(LIMIT) else {
            panic!("no order")
        };
        order.answer.send(Ok(done)).unwrap();
        node.answering = None;
        let stopping = CommandError::Unanswered("this node is stopping".to_owned());
        assert_eq!(asker.join().unwrap(), if waits { Err(stopping) } else { Ok(Ok(done)) });
    }
}

#[test]
fn the_own_leadership_ends_soon_after_the_longest_hold_and_another_may_take_minutes() {
    let node = Asked::of(published());
    follow(&node.handle.published); // in epoch 7
    let seconds = Duration::from_secs;
    node.handle.published.held_for(seconds(5));
    assert_eq!(node.handle.longest_release(7), seconds(300));
    let now = clock::now();
    let term = Term { epoch: 7, until: now + LONGEST, renewal: None, now };
    node.handle.published.feed.show(Some(term));
    assert_eq!([7, 8].map(|epoch| node.handle.longest_release(epoch)), [7, 300].map(seconds));
    let words = "the leader of epoch 7 leads on after 1ms: what it runs has not ended, or nobody can succeed it any \
                 more";
    let late = CommandError::Unanswered(words.to_owned());
    assert_eq!(node.handle.await_release_for(7, Duration::from_millis(1)), Err(late));
}

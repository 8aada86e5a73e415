//! What a handle asks of the election thread, and what it makes of the answers.

use std::thread;

use crossbeam::channel::Receiver;

use super::*;
use crate::core::membership::{self, MembershipChange};
use crate::core::message::Forwarded;
use crate::core::types::{Drain, Epoch, Task};
use crate::net::Answering;
use crate::node::publish::tests::{hand_out, id, published, resign};
use crate::node::words::tests::members;
use crate::realtime::Realtime;

/// In which all is done.
const LIMIT: Duration = Duration::from_secs(60);

/// A handle whose election thread is the test.
struct Asked {
    handle: NodeHandle,
    queue: Receiver<InboxEvent>,
    answering: Option<Answering>,
}

impl Asked {
    /// Of a member that follows node-2, in epoch 7.
    fn new() -> Asked {
        let mut published = published();
        resign(&mut published, Duration::from_secs(3600));
        let (sender, queue) = bounded(9);
        let (answering, end) = ThreadEnd::new();
        let events = Queue::new(sender, Realtime::default());
        let handle = NodeHandle { published: Arc::new(published), events, end };
        Asked { handle, queue, answering: Some(answering) }
    }

    fn next(&self) -> InboxEvent {
        self.queue.recv_timeout(LIMIT).expect("it is asked for something")
    }

    /// What the command makes of this answer of the core.
    fn says(
        &self,
        command: Command,
        answer: Result<Done, Refusal>,
    ) -> Result<Outcome, CommandError> {
        thread::scope(|scope| {
            let asker = scope.spawn(|| self.handle.command(command, LIMIT));
            let InboxEvent::Order(order) = self.next() else { panic!("it is no order") };
            order.answer.send(answer).unwrap();
            asker.join().unwrap()
        })
    }
}

#[test]
fn a_hold_is_noted_first_and_ends_by_its_own_number() {
    let asked = Asked::new();
    let numbers = [None, Some(Duration::from_secs(7))].map(|most| {
        thread::scope(|scope| {
            let asker = scope.spawn(|| match most {
                None => asked.handle.hold(),
                Some(most) => asked.handle.hold_for(most),
            });
            let InboxEvent::Held { number, most: taken, held } = asked.next() else {
                panic!("no hold")
            };
            assert_eq!(taken, most.unwrap_or(Duration::from_secs(10)));
            assert_eq!(asked.handle.published.longest_hold(), Duration::from_secs(10));
            held.send(()).unwrap();
            let hold = asker.join().unwrap().unwrap();
            assert!(asked.queue.is_empty(), "it is in force");
            drop(hold);
            let InboxEvent::Unheld { number: ended } = asked.next() else { panic!("it holds on") };
            assert_eq!(ended, number);
            number
        })
    });
    assert_ne!(numbers[0], numbers[1]);
}

#[test]
fn a_hold_that_comes_too_late_is_undone() {
    let mut asked = Asked::new();
    let refused = |asked: &mut Asked, ends: bool| {
        let handle = asked.handle.clone();
        let asker = thread::spawn(move || handle.hold().err());
        let InboxEvent::Held { number, held, .. } = asked.next() else { panic!("no hold") };
        if ends {
            asked.answering = None;
        }
        drop(held);
        let answer = asker.join().unwrap();
        let InboxEvent::Unheld { number: ended } = asked.next() else { panic!("it holds on") };
        assert_eq!(ended, number);
        answer
    };
    let about = CommandError::NotNow("the leadership is about to end".to_owned());
    assert_eq!(refused(&mut asked, false), Some(about));
    let stopping = CommandError::Unanswered("this node is stopping".to_owned());
    assert_eq!(refused(&mut asked, true), Some(stopping));
}

#[test]
fn other_timings_are_in_force_when_the_caller_goes_on() {
    let asked = Asked::new();
    let before = asked.handle.timing();
    let timing = Timing { heartbeat: before.heartbeat * 2, ..before };
    for answers in [true, false] {
        let handle = asked.handle.clone();
        let asker = thread::spawn(move || handle.retime(timing));
        let InboxEvent::Timed { timing: taken, done } = asked.next() else { panic!("no timings") };
        assert_eq!(taken, timing);
        if answers {
            done.send(()).unwrap();
        }
        drop(done);
        let never = CommandError::Unanswered("this node is stopping".to_owned());
        assert_eq!(asker.join().unwrap(), if answers { Ok(()) } else { Err(never) });
    }
}

#[cfg(feature = "cli")]
#[test]
fn a_failure_of_the_job_is_told_to_the_election_kept_and_shown() {
    let (asked, folder) = (Asked::new(), tempfile::tempdir().unwrap());
    let published = &asked.handle.published;
    published.failures.open(folder.path());
    asked.handle.stand_back("it ended with code 1");
    assert!(matches!(asked.queue.try_recv(), Ok(InboxEvent::StandBack)));
    assert!(published.news().try_recv().is_ok(), "whoever looks for problems looks now");
    let present = published.failures.present().unwrap();
    assert_eq!((present.count, present.reason.as_str()), (1, "it ended with code 1"));
    let other = super::super::failures::Failures::default();
    other.open(folder.path());
    assert_eq!(other.present(), Some(present), "a restart finds it");
}

#[test]
fn each_answer_of_the_core_is_told_in_words() {
    let asked = Asked::new();
    let says = |command, answer| asked.says(command, answer);
    let plain = |words: &str| Ok(Outcome::plain(words.to_owned()));
    let refused = |words: &str| Err(CommandError::Refused(words.to_owned()));
    let drain =
        |reason: &str| Command::Drain { length: None, reason: reason.to_owned(), force: false };
    let drained = Done::Drained { successor: None };
    let published = &asked.handle.published;
    published.failures.add("code 1");

    assert_eq!(says(drain("disk"), Ok(drained)), plain("node-1 does not lead from now on"));
    let known = Drain { since: 1000, until: None, reason: "new disk".to_owned() };
    published.carry_on(|snapshot| snapshot.drain = Some(known));
    let again = "node-1 does not lead from now on; it was drained already, since 1970-01-01T00:00:01.000Z, and \
                 stays so until it is undrained: new disk";
    assert_eq!(says(drain(""), Ok(drained)), plain(again));
    assert!(published.failures.present().is_some());
    assert_eq!(says(Command::Undrain, Ok(Done::Undrained)), plain("node-1 may lead again"));
    assert_eq!(published.failures.present(), None, "nor does it stand back");

    let to_two = || Command::Switchover { to: "node-2".to_owned() };
    let leads = "node-2 leads already; nothing changed";
    assert_eq!(says(to_two(), Ok(Done::Leads(id(2)))), plain(leads));
    let stopped = Command::Resign { to: None };
    let handed = Done::Resigned { epoch: Epoch(6), successor: Some(id(2)) };
    let outcome = says(stopped, Ok(handed)).unwrap();
    assert_eq!(outcome.sentence, "the leader of epoch 6 handed over to node-2");
    assert_eq!(outcome.successor.as_deref(), Some("node-2"));

    let cannot = "node-2 cannot lead: the leader does not hear it, or not that it is eligible";
    assert_eq!(says(to_two(), Err(Refusal::CannotLead(id(2)))), refused(cannot));
    let nobody = |act: &str| {
        refused(&format!(
            "no other live member may lead (see who is eligible in `status`): {act} would be an outage"
        ))
    };
    assert_eq!(says(drain("x"), Err(Refusal::NoSuccessor)), nobody("draining it"));
    let resign = Command::Resign { to: None };
    assert_eq!(says(resign, Err(Refusal::NoSuccessor)), nobody("resigning"));
    let reload = asked.handle.command(Command::Reload, LIMIT);
    assert_eq!(reload, refused("this node was not started from a file"));
    asked.handle.published.calls.on_reload(Box::new(|| Ok("the timings".to_owned())));
    assert_eq!(asked.handle.command(Command::Reload, LIMIT), plain("the timings"));
    assert!(asked.queue.is_empty());
}

#[test]
fn the_task_is_that_which_was_handed_out_last() {
    let asked = Asked::new();
    assert_eq!(asked.handle.task(), None);
    hand_out(&asked.handle.published, Task::new(*b"work"));
    assert_eq!(asked.handle.task().as_deref(), Some(&b"work"[..]));
}

#[test]
fn a_member_that_is_added_has_its_name_in_the_outcome() {
    let members = members();
    let id = crate::node::words::tests::id;
    let member = membership::Member {
        id: id(4),
        name: "d".to_owned(),
        ..members.iter().next().cloned().expect("a is the first")
    };
    let names = |change| members_after(&members, &Forwarded::Change(change).into()).name(id(4));
    assert_eq!(names(MembershipChange::Add(member)), "d");
    assert_ne!(names(MembershipChange::Remove { id: id(3), force: false }), "d", "it is no member");
}

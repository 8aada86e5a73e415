//! Which task is handed out: the newest that the coordinator or a member of Up has.

use electd_election::core::message::{Done, Message};
use electd_election::core::types::{Epoch, Task, TaskVersion};
use electd_election::core::{CommandId, Input, NodeStatus, OperatorCommand, Output};

use super::{
    all_accept, elected, elected_with, halt, halting, no, p3_under_p5, p5_leads, ready, task_of,
    to, yes,
};
use crate::paper::process::{Process, id, task};

/// P3 that was handed a task of this version in epoch 1, and is halted for round 2.
fn p3_with(version: u64) -> Process {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected_with(2, 1, version));
    p3.hears(5, ready(3, 1, task_of(version)));
    assert_eq!(p3.hears(5, halt(4, 2, 5)), to(&[5], yes(4)));
    p3
}

fn task_message(version: u64) -> Message {
    Message::Task(task_of(version))
}

/// The actions of P5 when it gets task 77.
fn given(p5: &mut Process) -> Vec<Output> {
    let command = OperatorCommand::HandOut { task: task(77) };
    p5.outputs(Input::Command { id: CommandId(1), command })
}

/// Paper: the task description d is "opaque bytes the leader hands out"; a new one takes an
/// election, so that no two nodes are at work on two tasks.
#[test]
fn a_new_task_is_handed_out_by_an_election() {
    let mut p5 = p5_leads();
    given(&mut p5);
    let version = TaskVersion { epoch: Epoch(1), counter: 1 };
    let elected = Message::Elected { number: 5, round: Epoch(2), task: version };
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 4), to(&[1, 2, 3, 4], elected));
    let handed_out = to(&[1, 2, 3, 4], ready(6, 2, Task { version, ..task(77) }));
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 5), handed_out);
}

/// The operator that gave the task gets the answer when a crash can no longer erase the task.
#[test]
fn a_task_is_taken_when_it_is_durable() {
    let answered = |out: &[Output]| {
        let taken = Output::Answer { id: CommandId(1), result: Ok(Done::TaskTaken) };
        out.contains(&taken)
    };
    let mut p5 = p5_leads();
    let out = given(&mut p5);
    assert!(!answered(&out), "{out:?}");
    let number = out.iter().find_map(|output| match output {
        Output::Persist { number, record } if record.task.content == task(77).content => {
            Some(*number)
        }
        _ => None,
    });
    let number = number.expect("it is written");
    assert!(!answered(&p5.outputs(Input::Persisted { number: number - 1 })), "what was before");
    assert!(answered(&p5.outputs(Input::Persisted { number })));
    assert!(!answered(&p5.outputs(Input::Persisted { number: number + 1 })), "once");
}

/// A member that was away organizes with the task of its time; who has a newer one tells it,
/// before its reply.
#[test]
fn who_has_a_newer_task_tells_it() {
    let mut p3 = p3_with(2);
    let expected = vec![(vec![5], task_message(2)), (vec![5], yes(5))];
    assert_eq!(p3.hears(5, elected_with(5, 2, 1)), expected);
}

#[test]
fn who_has_no_newer_task_tells_none() {
    for organizers in [2, 3] {
        let mut p3 = p3_with(2);
        assert_eq!(p3.hears(5, elected_with(5, 2, organizers)), to(&[5], yes(5)));
    }
    let mut p3 = p3_with(0);
    assert_eq!(p3.hears(5, elected(5, 2)), to(&[5], yes(5)), "that of a file is no newer");
}

#[test]
fn who_refuses_the_organizer_tells_no_task() {
    let mut p3 = p3_with(2);
    assert_eq!(p3.hears(4, elected_with(5, 2, 1)), to(&[4], no(5)));
}

/// It goes the same way as the reply, where that has to wait.
#[test]
fn a_newer_task_waits_for_the_connection() {
    let mut p3 = p3_with(2);
    p3.take(Input::Lost { peer: id(5) });
    assert_eq!(p3.hears(5, elected_with(5, 2, 1)), []);
    assert_eq!(p3.reaches(5), vec![(vec![5], task_message(2)), (vec![5], yes(5))]);
}

/// Rule K7.
#[test]
fn the_newest_task_is_handed_out() {
    let mut p5 = halting(5);
    p5.calls();
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    for (peer, version) in [(1, 2), (2, 3), (3, 1)] {
        assert_eq!(p5.hears(peer, task_message(version)), []);
        assert_eq!(p5.hears(peer, yes(2)), []);
    }
    assert_eq!(p5.hears(4, yes(2)), to(&[1, 2, 3, 4], ready(3, 1, task_of(3))));
    all_accept(&mut p5, &[1, 2, 3, 4], 3);
    assert_eq!((p5.status(), p5.core.task()), (NodeStatus::Normal, &task_of(3)));
}

/// Only those that are about to accept are asked. Later, all are at work on one task.
#[test]
fn a_task_that_was_not_asked_for_changes_nothing() {
    let mut p5 = halting(5);
    p5.hears(1, task_message(1));
    p5.calls();
    p5.hears(1, task_message(1));
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    p5.hears(1, yes(2));
    p5.hears(1, task_message(1));
    let handed_out = to(&[1, 2, 3, 4], ready(3, 1, task(5)));
    assert_eq!(all_accept(&mut p5, &[2, 3, 4], 2), handed_out);
    p5.hears(2, task_message(1));
    all_accept(&mut p5, &[1, 2, 3, 4], 3);
    p5.hears(2, task_message(1));
    assert_eq!(p5.core.task(), &task(5));

    let mut p3 = p3_under_p5();
    p3.hears(5, task_message(1));
    assert_eq!(p3.core.task(), &task(5), "only READY hands one out");
}

/// A member's message may be lost: then the member does not go back to an older task, and the organizer
/// starts again. (K7)
#[test]
fn an_older_task_is_refused() {
    let mut p3 = p3_with(2);
    p3.hears(5, elected_with(5, 2, 1));
    assert_eq!(p3.hears(5, ready(6, 2, task_of(1))), to(&[5], no(6)));
    assert_eq!(p3.core.task(), &task_of(2));
    assert_eq!(p3.hears(5, ready(7, 2, task_of(2))), to(&[5], yes(7)));
}

/// "READY(j, x): [...] d = x, s = Normal": no other message of the organizer makes it so, as when its
/// READY was lost with the connection.
#[test]
fn who_was_told_of_no_task_does_not_follow_at_the_next_hello() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected(2, 1));
    p3.meets_leader(5, 1);
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Reorganization, None));
    p3.hears(5, ready(3, 1, task_of(1)));
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
}

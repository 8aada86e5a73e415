//! The bully with halt and reorganization: what seed 002 says (`protocol.rs`), and the calls of
//! Garcia-Molina's paper (`calls.rs`); and which task is handed out (`tasks.rs`). Here is what both say and hear.

mod calls;
mod protocol;
mod tasks;

use electd_election::core::NodeStatus;
use electd_election::core::message::Message;
use electd_election::core::settings::{AlgorithmKind, PowerOn, Settings};
use electd_election::core::types::{Epoch, Task, TaskVersion};

use crate::paper::process::{Process, Sent, id, rank, settings, task};

fn halting(number: u8) -> Process {
    Process::new(AlgorithmKind::Halting, number)
}

/// A process that begins of itself.
fn turned_on(number: u8) -> Settings {
    Settings { power_on: PowerOn::Elect, ..settings(AlgorithmKind::Halting, number) }
}

fn are_you_there(number: u64, from: u8) -> Message {
    Message::AreYouThere { number, under: None, rank: rank(from), eligible: true }
}

/// The same to one's coordinator.
fn are_you_still(number: u64, epoch: u64, from: u8) -> Message {
    let under = Some(Epoch(epoch));
    Message::AreYouThere { number, under, rank: rank(from), eligible: true }
}

fn are_you_normal(number: u64, epoch: u64) -> Message {
    Message::AreYouNormal { number, epoch: Epoch(epoch) }
}

fn halt(number: u64, round: u64, from: u8) -> Message {
    Message::Halt { number, round: Epoch(round), rank: rank(from), incumbent: false }
}

fn elected(number: u64, round: u64) -> Message {
    elected_with(number, round, 0)
}

/// The same by an organizer whose task is of this version.
fn elected_with(number: u64, round: u64, version: u64) -> Message {
    Message::Elected { number, round: Epoch(round), task: version_of(version) }
}

/// The version of a task, from before these elections: the lesser the older, and 0 that of a file.
fn version_of(number: u64) -> TaskVersion {
    TaskVersion { epoch: Epoch(0), counter: number }
}

/// A task of this version.
fn task_of(version: u64) -> Task {
    Task { version: version_of(version), ..task(70 + version as u8) }
}

fn ready(number: u64, round: u64, task: Task) -> Message {
    Message::Ready { number, round: Epoch(round), task }
}

fn yes(number: u64) -> Message {
    Message::Reply { number, accepted: true }
}

fn no(number: u64) -> Message {
    Message::Reply { number, accepted: false }
}

/// A message that keeps the members that were halted for this round waiting; 0 if their organizer gave
/// up.
fn alive(round: u64) -> Message {
    Message::Alive { number: round }
}

fn to(peers: &[u8], message: Message) -> Sent {
    vec![(peers.to_vec(), message)]
}

/// This member replies yes to all of them, and the last thing that it sends then.
fn all_accept(process: &mut Process, peers: &[u8], number: u64) -> Sent {
    peers.iter().map(|peer| process.hears(*peer, yes(number))).last().unwrap_or_default()
}

/// P3 after P5 has come to lead it in epoch 1.
fn p3_under_p5() -> Process {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected(2, 1));
    p3.hears(5, ready(3, 1, task(5)));
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
    p3
}

/// P5 after it has come to lead all in epoch 1.
fn p5_leads() -> Process {
    let mut p5 = halting(5);
    p5.calls();
    for number in 1..=3 {
        all_accept(&mut p5, &[1, 2, 3, 4], number);
    }
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Normal, Some(id(5))));
    p5
}

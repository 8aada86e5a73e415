//! One peer that spoils each election, with a majority: P5 ranks best, calls one greater round after another, and never
//! leads. P4 and its voters elect all the same.

use std::time::Duration;

use electd_election::core::Phase;
use electd_election::core::bounds;
use electd_election::core::message::{Ballot, Candidate, Message, Opinion, Run};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation};

use super::{heartbeat, majority};
use crate::paper::process::{Process, Sent, TIMING, id, rank};

const STEP: Duration = Duration::from_millis(10);

fn member(algorithm: AlgorithmKind, number: u8) -> Process {
    Process::with(majority(algorithm, number)).0
}

/// The others' answers to a candidate: they vote for it, and obey it.
fn consent(message: &Message) -> Option<Message> {
    let (opinion, accepted) = (Opinion::Yes, true);
    Some(match *message {
        Message::PreVote { number, epoch, .. } => {
            Message::PreVoteReply { number, opinion, epoch: Epoch(epoch.0 - 1) }
        }
        Message::VoteRequest { number, epoch, .. } => {
            Message::Vote { incarnation: Incarnation(1), number, epoch }
        }
        Message::Halt { number, .. }
        | Message::Elected { number, .. }
        | Message::Ready { number, .. } => Message::Reply { number, accepted },
        _ => return None,
    })
}

/// Time passes in small steps, in which the others consent and P5 is quicker: it is told what it was told, and says this.
/// Tells how long it takes until this member leads.
fn leads_after(
    process: &mut Process,
    says: impl Fn(u64, &[Message]) -> Option<Message>,
) -> Option<Duration> {
    let own = process.core.settings().id;
    let others: Vec<u8> = (1..5).filter(|other| id(*other) != own).collect();
    let (begun, mut sent) = (process.now, process.calls());
    for step in 1..2_000 {
        let told: Sent = std::mem::take(&mut sent);
        let to_p5 = told.iter().filter(|(to, _)| to.contains(&5));
        let to_p5: Vec<Message> = to_p5.map(|(_, message)| message.clone()).collect();
        sent.extend(says(step, &to_p5).into_iter().flat_map(|word| process.hears(5, word)));
        for (to, message) in told {
            for voter in to.into_iter().filter(|to| others.contains(to)) {
                let word = consent(&message);
                sent.extend(word.into_iter().flat_map(|word| process.hears(voter, word)));
            }
        }
        sent.extend(process.stores());
        if process.core.phase() == Phase::Leading {
            return Some(process.now.since(begun));
        }
        let alive = Message::Alive { number: 0 };
        sent.extend(others.iter().flat_map(|other| process.hears(*other, alive.clone())));
        sent.extend(process.after(STEP));
    }
    None
}

/// P5's ballot in a run of this epoch.
fn ballot(epoch: u64, hops: u32) -> Message {
    let run = Run { epoch: Epoch(epoch), initiator: id(5) };
    let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    Message::Ballot(Ballot { run, candidate, hops })
}

/// P5 is the only one that ranks above P4. (R4)
#[test]
fn ring_after_enough_vain_runs_a_member_asks_the_voters_without_a_lap() {
    let timeout = bounds::ring_timeout(&TIMING, 5);
    for hops in [0, 100] {
        let mut p4 = member(AlgorithmKind::Ring, 4);
        let took = leads_after(&mut p4, |step, _| Some(ballot(step * 10, hops)));
        let took = took.unwrap_or_else(|| panic!("hops {hops}: it never leads"));
        assert!(took >= timeout * 4, "hops {hops}: {took:?}, an honest run may take as long");
        assert!(took <= timeout * 5, "hops {hops}: {took:?}");
    }
}

/// Two members that ask simultaneously would split the votes. (R4)
#[test]
fn ring_the_best_asks_first() {
    let mut p3 = member(AlgorithmKind::Ring, 3);
    let took = leads_after(&mut p3, |step, _| Some(ballot(step * 10, 0)));
    let timeout = bounds::ring_timeout(&TIMING, 5);
    assert!(took.is_some_and(|took| took >= timeout * 5 && took <= timeout * 6), "{took:?}");
}

fn halt(round: u64) -> Message {
    Message::Halt { number: round, round: Epoch(round), rank: rank(5), incumbent: false }
}

/// Rule K1.
#[test]
fn halting_nobody_halts_a_leader_that_has_its_lease() {
    let mut p4 = member(AlgorithmKind::Halting, 4);
    leads_after(&mut p4, |_, _| None).unwrap();
    p4.hears(5, halt(1000));
    assert_eq!(p4.core.phase(), Phase::Leading);
}

fn asks_for_votes(sent: &Sent) -> bool {
    sent.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. }))
}

/// P5 hands over to P4, and the voters are free. A lap would be one more that a liar may spoil. (H7)
#[test]
fn ring_the_heir_asks_the_voters_without_a_lap() {
    let mut p4 = member(AlgorithmKind::Ring, 4);
    p4.hears(5, heartbeat(1, 1, 5));
    p4.stores();
    let (epoch, successor) = (Epoch(1), Some(id(4)));
    let sent = p4.hears(5, Message::Release { epoch, successor, eligible: true });
    assert!(asks_for_votes(&sent), "{sent:?}");
    let sent = p4.hears(5, ballot(50, 0));
    assert!(!sent.iter().any(|(_, message)| matches!(message, Message::Ballot(_))), "{sent:?}");
}

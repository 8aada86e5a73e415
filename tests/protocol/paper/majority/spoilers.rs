//! One peer that spoils each election, with a majority: P5 ranks best, calls one greater round after another, and never
//! leads. P4 and its voters elect all the same.

use std::time::Duration;

use electd::core::Phase;
use electd::core::bounds;
use electd::core::message::{Ballot, Candidate, Message, Opinion, Run};
use electd::core::settings::AlgorithmKind;
use electd::core::types::{Epoch, Incarnation};

use super::{heartbeat, majority, would};
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

/// P5 is the only one that ranks above P4.
#[test]
fn ring_after_enough_vain_runs_a_member_asks_the_voters_without_a_lap() {
    let patience = bounds::ring_patience(&TIMING, 5);
    for hops in [0, 100] {
        let mut p4 = member(AlgorithmKind::Ring, 4);
        let took = leads_after(&mut p4, |step, _| Some(ballot(step * 10, hops)));
        let took = took.unwrap_or_else(|| panic!("hops {hops}: it never leads"));
        assert!(took >= patience * 4, "hops {hops}: {took:?}, an honest run may take as long");
        assert!(took <= patience * 5, "hops {hops}: {took:?}");
    }
}

/// Two members that ask simultaneously would split the votes.
#[test]
fn ring_the_best_asks_first() {
    let mut p3 = member(AlgorithmKind::Ring, 3);
    let took = leads_after(&mut p3, |step, _| Some(ballot(step * 10, 0)));
    let patience = bounds::ring_patience(&TIMING, 5);
    assert!(took.is_some_and(|took| took >= patience * 5 && took <= patience * 6), "{took:?}");
}

fn halt(round: u64) -> Message {
    Message::Halt { number: round, round: Epoch(round), rank: rank(5), incumbent: false }
}

#[test]
fn halting_whoever_halts_for_one_round_after_another_is_not_obeyed_for_ever() {
    let mut p4 = member(AlgorithmKind::Halting, 4);
    let took = leads_after(&mut p4, |step, _| Some(halt(step * 10)));
    let twice = TIMING.t2() * 4 * 2; // once may be bad luck
    assert!(took.is_some_and(|took| took >= twice && took <= twice + TIMING.t2()), "{took:?}");
}

/// It lets P4 begin, and halts it as soon as it is asked.
#[test]
fn halting_whoever_halts_each_organizer_is_not_obeyed_for_ever() {
    let mut p4 = member(AlgorithmKind::Halting, 4);
    let asked =
        |message: &Message| matches!(message, Message::AreYouThere { .. } | Message::Halt { .. });
    let took = leads_after(&mut p4, |step, told| told.iter().any(asked).then(|| halt(step * 10)));
    let twice = TIMING.t2() * 2;
    assert!(took.is_some_and(|took| took >= twice && took <= twice * 2), "{took:?}");
}

/// P1 asks whether P4 is there, so that P4 looks at all. Gives the number of its look at P5.
fn looks_at_p5(p4: &mut Process) -> u64 {
    let asks = Message::AreYouThere { number: 1, under: None, rank: rank(1), eligible: true };
    let sent = p4.hears(1, asks);
    let number = |(_, message): &(Vec<u8>, Message)| match message {
        Message::AreYouNormal { number, .. } => Some(*number),
        _ => None,
    };
    sent.iter().find_map(number).unwrap_or_else(|| panic!("{sent:?}"))
}

/// It says whenever the leader looks that it is not Normal.
#[test]
fn halting_whoever_is_never_normal_makes_the_leader_elect_less_and_less_often() {
    let mut p4 = member(AlgorithmKind::Halting, 4);
    let mut elections = 0;
    for _ in 0..10 {
        if p4.core.phase() != Phase::Leading {
            leads_after(&mut p4, |_, _| None).unwrap();
            elections += 1;
        }
        let number = looks_at_p5(&mut p4);
        p4.hears(5, Message::Reply { number, accepted: false });
    }
    assert!((2..=4).contains(&elections), "{elections}: one to lead, one to take P5 in, few more");
}

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

/// P5 hands over to P4, and the voters are free. A lap would be one more that a liar may spoil.
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

/// Where P5 alone could lead, it is obeyed however often it came to nothing.
#[test]
fn halting_the_only_member_that_may_lead_is_obeyed() {
    let mut p4 = member(AlgorithmKind::Halting, 4);
    for other in [1, 2, 3] {
        p4.loses(other);
    }
    p4.resigns();
    let is_obeyed = |p4: &mut Process, round| {
        let sent = p4.hears(5, halt(round));
        sent.iter().any(|(_, said)| matches!(said, Message::Reply { accepted: true, .. }))
    };
    for round in 1..6 {
        assert!(is_obeyed(&mut p4, 100 * round), "{round}");
        for _ in 0..100 {
            p4.hears(
                5,
                Message::AreYouThere { number: 1, under: None, rank: rank(5), eligible: true },
            );
            p4.after(STEP);
            p4.stores();
        }
    }
}

/// Honest P5 halts P4 twice in vain, as a third member refuses it; then it leads, without P4.
#[test]
fn halting_whoever_leads_after_all_is_obeyed_again() {
    let is_refused = |leads: bool| {
        let mut p4 = member(AlgorithmKind::Halting, 4);
        let enough = TIMING.t2() * 4 * 2;
        let begun = p4.now;
        while p4.now < begun + enough {
            p4.hears(5, halt(p4.now.0 / 1_000_000 + 10));
            p4.hears(1, Message::Alive { number: 0 });
            p4.stores();
            p4.after(STEP);
        }
        if leads {
            p4.hears(5, heartbeat(100_000, 1, 5));
        }
        // Or P5 would take over and be refused, again and again.
        p4.stores();
        let denied = would(&mut p4, 5, 200_000) == Opinion::No { wait: TIMING.failure };
        assert_eq!(denied, !leads, "the pre-vote says what the answer to HALT will be");
        let sent = p4.hears(5, halt(200_000));
        sent.iter().any(|(_, said)| matches!(said, Message::Reply { accepted: false, .. }))
    };
    assert!(is_refused(false));
    assert!(!is_refused(true));
}

//! A candidate that asked for votes waits for them, whatever elections begin meanwhile; and a candidate
//! to which the leader handed over asks for votes even if another member ranks higher.

use electd_election::core::message::{Ballot, Candidate, Message, Opinion, Run};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation};

use super::{
    all_say, deny, heartbeat, majority, no, p5_asks, p5_leads, says, to, vote, vote_request, voter,
};
use crate::paper::process::{Process, Sent, TIMING, comes_to_lead, id, rank, releases};

/// The ballot of a candidate in the run that a member called.
fn ballot(epoch: u64, initiator: u8, candidate: u8) -> Message {
    let run = Run { epoch: Epoch(epoch), initiator: id(initiator) };
    let candidate =
        Candidate { eligible: true, rank: rank(candidate), incarnation: Incarnation(1) };
    Message::Ballot(Ballot { run, candidate, hops: 3 })
}

/// P3 of a ring has its ballot back, and asks for votes in epoch 1.
fn p3_asks_for_votes() -> Process {
    let mut p3 = Process::with(majority(AlgorithmKind::Ring, 3)).0;
    p3.calls();
    let _ = [1, 2].map(|voter| p3.hears(voter, says(1, Opinion::Yes, 0)));
    let sent = p3.hears(4, ballot(1, 3, 3));
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));
    p3.stores();
    p3
}

fn passes_on(sent: &Sent) -> bool {
    sent.iter().any(|(_, message)| matches!(message, Message::Ballot(_)))
}

/// Rule R7.
#[test]
fn a_candidate_that_asks_for_votes_takes_part_in_no_greater_run() {
    let mut p3 = p3_asks_for_votes();
    assert!(!passes_on(&p3.hears(5, ballot(2, 5, 5))));
    let _ = [1, 2].map(|voter| p3.hears(voter, vote(2, 1)));
    assert_eq!(p3.leader(), Some(id(3)));
}

/// Rule R7.
#[test]
fn a_candidate_whose_votes_do_not_come_takes_part_in_the_next_run() {
    let mut p3 = p3_asks_for_votes();
    let lease = p3.core.settings().timing.lease;
    let asks_again = p3.after(lease);
    assert!(asks_again.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));
    assert!(passes_on(&p3.hears(5, ballot(2, 5, 5))));
}

/// P2 led in epoch 1, and handed over to P3, which followed it. P4 and P5 are alive as well. Tells what P3 sends.
fn p3_succeeds_p2(algorithm: AlgorithmKind) -> Sent {
    let mut p3 = Process::with(majority(algorithm, 3)).0;
    if algorithm == AlgorithmKind::Halting {
        let leads = comes_to_lead(algorithm, 1, rank(2));
        leads.into_iter().for_each(|message| drop(p3.hears(2, message)));
    }
    p3.hears(2, heartbeat(1, 1, 2));
    p3.stores();
    assert_eq!(p3.leader(), Some(id(2)), "{algorithm:?}");
    let successor = Some(id(3));
    p3.hears(2, Message::Release { epoch: Epoch(1), successor, eligible: true })
}

/// Rule H7.
#[test]
fn a_candidate_to_which_the_leader_handed_over_asks_nobody_that_ranks_higher() {
    let bully = p3_succeeds_p2(AlgorithmKind::Bully);
    assert!(!bully.iter().any(|(_, message)| matches!(message, Message::Election { .. })));
    assert!(bully.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));

    let halting = p3_succeeds_p2(AlgorithmKind::Halting);
    assert!(!halting.iter().any(|(_, message)| matches!(message, Message::AreYouThere { .. })));
    assert!(halting.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));
}

/// A leader whose lease ends before its first heartbeat is acknowledged would not stay leader. (N1)
#[test]
fn a_vote_that_comes_late_is_asked_for_once_more_in_the_same_epoch() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    p5.now = p5.now + (TIMING.lease * 9 / 11 - TIMING.message * 2);
    assert_eq!(p5.hears(2, vote(2, 1)), to(&[1, 2, 3, 4], vote_request(3, 1)));
    assert_eq!(p5.leader(), None);
    all_say(&mut p5, &[1, 2], &vote(3, 1));
    assert_eq!(p5.leader(), Some(id(5)));
}

/// A member that takes over with a disk that was slow recently would leave the others without a leader
/// meanwhile. (N4)
#[test]
fn a_member_whose_last_write_was_slow_has_its_disk_write_before_it_asks_to_take_over() {
    let mut p5 = voter(5);
    let asks = |p5: &mut Process, number| {
        let sent = p5.hears(4, heartbeat(1, number, 4));
        sent.iter().any(|(_, message)| matches!(message, Message::PreVote { .. }))
    };
    p5.hears(4, vote_request(1, 1));
    p5.after(TIMING.lease);
    p5.stores();
    assert!(!asks(&mut p5, 1), "its vote took too long");
    p5.after(TIMING.t2());
    p5.stores();
    assert!(!asks(&mut p5, 2), "so did what it wrote as it followed P4");
    assert!(p5.is_writing(), "for nothing else");
    p5.stores();
    p5.after(TIMING.t2());
    assert!(!asks(&mut p5, 3), "it waits longer each time");
    p5.after(TIMING.t2());
    for number in 4..11 {
        assert!(!asks(&mut p5, number), "that was quick, and may have been luck");
        p5.stores();
    }
    assert!(asks(&mut p5, 11), "its disk was quick eight times");
}

/// The disks of the voters take longer than P5 waits: P1 and P2 say each time that they would vote for it. (S6)
#[test]
fn a_candidate_whose_votes_come_too_late_lets_others_try_for_longer_each_time() {
    let mut p5 = p5_asks();
    let (mut gave_up, mut waits) = (None, Vec::new());
    while waits.len() < 4 {
        let mut sent = p5.after(TIMING.message / 4);
        while let Some((_, message)) = sent.pop() {
            match message {
                Message::Release { .. } => gave_up = Some(p5.now),
                Message::PreVote { number, .. } => {
                    waits.extend(gave_up.take().map(|since| p5.now.since(since)));
                    sent.extend(all_say(&mut p5, &[1, 2], &says(number, Opinion::Yes, 1)));
                }
                _ => {}
            }
        }
        assert_eq!(p5.core.is_eligible(), gave_up.is_none(), "meanwhile another may be elected");
        p5.stores();
    }
    let longer = waits.windows(2).all(|pair| pair[1] >= pair[0] * 3 / 2);
    assert!(longer && waits[0] >= TIMING.t2(), "{waits:?}");
}

/// The votes come, and no acknowledgement before the lease is over. (S6)
#[test]
fn a_leader_that_twice_led_nobody_lets_others_try() {
    let mut p5 = p5_leads();
    let ends = |p5: &mut Process| {
        let mut sent = p5.after(TIMING.lease * 9 / 11);
        sent.retain(|(_, message)| matches!(message, Message::PreVote { .. }));
        assert_eq!(p5.leader(), None);
        sent.pop()
    };
    let Some((_, Message::PreVote { number, epoch, .. })) = ends(&mut p5) else {
        panic!("it calls an election at once")
    };
    all_say(&mut p5, &[1, 2], &says(number, Opinion::Yes, 1));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(number + 1, epoch.0));
    assert_eq!(p5.leader(), Some(id(5)));
    assert_eq!(ends(&mut p5), None);
    assert!(!p5.core.is_eligible());
}

/// P4 is dead, and P2 and P3 voted for another candidate, which has two votes of five as well. (N2)
#[test]
fn a_candidate_waits_for_no_dead_voter_once_a_majority_has_answered() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.loses(4);
    let refused = deny(2, no(TIMING.message), 0);
    p5.hears(1, vote(2, 1));
    assert!(!releases(&p5.hears(2, refused.clone())), "P3 may vote for it");
    assert!(releases(&p5.hears(3, refused)));
}

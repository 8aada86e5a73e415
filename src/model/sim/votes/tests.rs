//! What voters told is judged: right and wrong votes and promises, one by one.

use super::*;
use crate::core::membership::ListVersion;
use crate::core::types::Incarnation;
use uuid::Uuid;

const LEASE: Duration = Duration::from_nanos(100);

fn id(at: usize) -> NodeId {
    NodeId(Uuid::from_u128(at as u128))
}

fn word(from: usize, to: usize, message: &Message, turned: u64) -> Word<'_> {
    Word { from: (from, id(from)), to: (to, id(to)), message, turned: Time(turned) }
}

fn vote_request(number: u64, epoch: u64) -> Message {
    let list = ListVersion::default();
    Message::VoteRequest { number, epoch: Epoch(epoch), lease: LEASE, list }
}

fn vote(number: u64, epoch: u64) -> Message {
    Message::Vote { incarnation: Incarnation(1), number, epoch: Epoch(epoch) }
}

/// Voter 0 was asked by 1 for epoch 5 at time 10, and has stored its vote.
fn asked() -> Votes {
    let mut votes = Votes::new(3);
    votes.remembers(0, LEASE);
    votes.hears(word(1, 0, &vote_request(1, 5), 10));
    votes.stored(0, Some((Epoch(5), id(1))), Epoch(0));
    votes
}

#[test]
fn a_vote_counts_once_it_is_stored_and_the_candidate_heard_it() {
    let vote = vote(1, 5);
    let given = (Epoch(5), id(1));
    let mut votes = asked();
    assert_eq!(votes.tells(word(0, 1, &vote, 20)), Ok(()));
    assert!(!votes.gave(0, given, 1), "it is on its way");
    votes.hears(word(0, 1, &vote, 30));
    assert!(votes.gave(0, given, 1));
    assert!(!votes.gave(1, given, 1), "the own vote is not stored");
    votes.stored(1, Some(given), Epoch(0));
    assert!(votes.gave(1, given, 1), "nobody has to tell it");
    votes.started(1, Time(40));
    assert!(!votes.gave(0, given, 1), "a new process was told nothing");
}

#[test]
fn a_vote_that_nobody_asked_for_or_that_is_not_stored_is_wrong() {
    assert!(asked().tells(word(0, 1, &vote(2, 5), 20)).is_err(), "another question");
    assert!(asked().tells(word(0, 2, &vote(1, 5), 20)).is_err(), "another candidate");
    let mut votes = Votes::new(3);
    votes.hears(word(1, 0, &vote_request(1, 5), 10));
    assert!(votes.tells(word(0, 1, &vote(1, 5), 20)).is_err(), "not stored");
}

/// Rules Q2 and Q13.
#[test]
fn a_vote_that_a_reserve_covers_need_not_be_stored_and_binds_until_the_wait_is_over() {
    let heartbeat = |number, epoch| {
        let settled = ListVersion::default();
        let (rank, lease, members) = (Default::default(), LEASE, [].into());
        let (pause, chosen, ending) = (None, None, false);
        let epoch = Epoch(epoch);
        Message::Heartbeat(Heartbeat {
            epoch,
            number,
            rank,
            lease,
            settled,
            members,
            pause,
            chosen,
            ending,
        })
    };
    let acknowledge = |number, epoch| Message::Acknowledge {
        incarnation: Incarnation(1),
        epoch: Epoch(epoch),
        number,
        rank: Default::default(),
        eligible: true,
        pause: None,
    };
    let mut votes = Votes::new(3);
    votes.remembers(0, LEASE);
    votes.stored(0, None, Epoch(5));
    votes.hears(word(1, 0, &vote_request(1, 5), 10));
    assert_eq!(votes.tells(word(0, 1, &vote(1, 5), 20)), Ok(()));
    votes.hears(word(1, 0, &vote_request(2, 6), 30));
    assert!(votes.clone().tells(word(0, 1, &vote(2, 6), 30)).is_err(), "no reserve covers it");
    votes.started(0, Time(40));
    votes.hears(word(2, 0, &heartbeat(1, 4), 50));
    let told = |now| votes.clone().tells(word(0, 2, &acknowledge(1, 4), now));
    assert!(told(139).is_err(), "its vote of 5 may count");
    assert_eq!(told(140), Ok(()));
}

#[test]
fn a_late_claim_of_an_earlier_process_does_not_hide_that_of_the_present_one() {
    let mut votes = asked();
    votes.hears(word(1, 0, &vote_request(1, 2), 3));
    assert_eq!(votes.tells(word(0, 1, &vote(1, 5), 20)), Ok(()));
}

#[test]
fn a_second_copy_of_a_request_binds_for_no_longer() {
    let mut votes = asked();
    votes.hears(word(1, 0, &vote_request(1, 5), 90));
    votes.tells(word(0, 1, &vote(1, 5), 120)).unwrap();
    let is_bound = |until| votes.is_bound(0, (Epoch(5), id(1)), 1, (Time(20), Time(until)));
    assert!(is_bound(110) && !is_bound(111));
}

#[test]
fn a_promise_counts_from_what_was_asked_and_ends_with_its_time_or_a_release() {
    let of = (Epoch(5), id(1));
    let is_bound = |votes: &Votes, until| votes.is_bound(0, of, 1, (Time(20), Time(until)));
    let mut votes = asked();
    votes.tells(word(0, 1, &vote(1, 5), 20)).unwrap();
    assert!(is_bound(&votes, 110) && !is_bound(&votes, 111));
    let rival = |votes: &mut Votes, now| {
        votes.hears(word(2, 0, &vote_request(7, 6), 40));
        votes.stored(0, Some((Epoch(6), id(2))), Epoch(0));
        votes.tells(word(0, 2, &vote(7, 6), now))
    };
    assert!(rival(&mut votes.clone(), 109).is_err());
    assert_eq!(rival(&mut votes.clone(), 110), Ok(()));
    let release = Message::Release { epoch: Epoch(5), successor: None, eligible: true };
    votes.hears(word(1, 0, &release, 50));
    assert!(!is_bound(&votes, 60));
    assert_eq!(rival(&mut votes, 60), Ok(()));

    let mut votes = asked();
    votes.hears(word(1, 0, &release, 15));
    votes.tells(word(0, 1, &vote(1, 5), 20)).unwrap();
    assert_eq!(rival(&mut votes, 60), Ok(()), "it was freed before it told");
}

#[test]
fn nobody_is_bound_for_longer_than_the_disk_remembers() {
    let mut votes = asked();
    votes.remembers(0, LEASE / 2);
    assert!(votes.tells(word(0, 1, &vote(1, 5), 20)).is_err());
    let of = (Epoch(5), id(0));
    let leads = |votes: &Votes, until| votes.is_bound(0, of, 0, (Time(20), Time(until)));
    assert!(leads(&votes, 70) && !leads(&votes, 71), "nor a leader to itself");
}

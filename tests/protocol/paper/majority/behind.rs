//! Votes that are sent before they are durable, and what a voter that crashed counts as said.

use electd_election::core::membership::{ListVersion, MemberList};
use electd_election::core::message::{Envelope, Message, Opinion};
use electd_election::core::types::{CommandId, Epoch, Incarnation};
use electd_election::core::{Input, OperatorCommand};

use super::{
    NEVER, acknowledge, all_say, coordinator, deny, heartbeat, no, pre_vote, promising, says, to,
    vote, vote_request, voter, votes_for, would,
};
use crate::paper::process::{MOMENT, Process, TIMING, connection, id};

/// Its reserve, before and after its first start.
const RESERVE: u64 = 64;

/// P3 voted for P4 in epoch 1, as its disk knows, so that it writes later votes behind.
fn voted_once() -> Process {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 1);
    p3.after(TIMING.lease);
    p3
}

/// P3 voted for P5 in epoch 2, which its disk does not have, and crashed.
fn forgot() -> Process {
    let mut p3 = voted_once();
    assert_eq!(p3.hears(5, vote_request(1, 2)), to(&[5], vote(1, 2)));
    let mut p3 = p3.crashes();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    p3
}

/// Rule Q2.
#[test]
fn a_vote_that_the_reserve_covers_is_told_at_once_and_written_behind() {
    let mut p3 = voted_once();
    assert_eq!(p3.hears(5, vote_request(1, RESERVE)), to(&[5], vote(1, RESERVE)));
    assert!(p3.is_writing());
    assert_eq!(p3.hears(5, vote_request(2, RESERVE)), to(&[5], vote(2, RESERVE)), "once more");
    assert_eq!(p3.stores(), []);
    p3.after(TIMING.lease);
    let beyond = RESERVE + 40;
    assert_eq!(p3.hears(5, vote_request(3, beyond)), [], "a crash would forget it");
    assert_eq!(p3.stores(), to(&[5], vote(3, beyond)));
}

/// The start after a crash would not wait for as long. (Q2)
#[test]
fn a_vote_for_longer_than_any_before_is_told_only_when_it_is_durable() {
    let mut p3 = voted_once();
    let long = |number, epoch| {
        let (epoch, list) = (Epoch(epoch), ListVersion::default());
        Message::VoteRequest { number, epoch, lease: TIMING.lease * 2, list }
    };
    assert_eq!(p3.hears(5, long(1, 2)), []);
    assert_eq!(p3.stores(), to(&[5], vote(1, 2)));
    p3.after(TIMING.lease * 2);
    assert_eq!(p3.hears(4, long(2, 3)), to(&[4], vote(2, 3)));
}

/// A candidate whose disk stands still is elected all the same. (Q3)
#[test]
fn the_own_vote_counts_at_once_where_the_reserve_covers_it() {
    let mut p5 = voter(5);
    votes_for(&mut p5, 4, 1);
    p5.after(TIMING.lease);
    p5.hears(4, super::release(1));
    p5.calls();
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 1)).len(), 1, "it asks for votes");
    p5.hears(1, vote(2, 2));
    let sent = p5.hears(2, vote(2, 2));
    assert!(sent.contains(&(vec![1, 2, 3, 4], coordinator(2, 5))), "{sent:?}");
}

/// A voter whose disk is full offers what it can give. (Q7)
#[test]
fn a_voter_whose_disk_stands_still_offers_a_vote_that_the_reserve_covers() {
    let mut p3 = voted_once();
    p3.hears(4, heartbeat(2, 1, 4));
    p3.after(TIMING.failure + TIMING.lease);
    assert!(p3.is_writing());
    assert_eq!(would(&mut p3, 5, 3), Opinion::Yes);
    assert_eq!(would(&mut p3, 5, RESERVE + 1), no(TIMING.failure));
}

/// Rule Q13.
///
/// Claim: epoch.
#[test]
fn who_crashed_votes_in_no_epoch_of_its_reserve() {
    let mut p3 = forgot();
    p3.after(TIMING.lease);
    for candidate in [4, 5] {
        let denied = to(&[candidate], deny(1, NEVER, RESERVE));
        assert_eq!(p3.hears(candidate, vote_request(1, 2)), denied);
        assert_eq!(p3.hears(candidate, vote_request(1, RESERVE)), denied);
    }
    let mut again = p3.crashes();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(again.meets(other)));
    again.after(TIMING.lease);
    assert_eq!(would(&mut again, 4, RESERVE + 1), NEVER, "the reserve of the second life");
    assert_eq!(would(&mut p3, 4, RESERVE + 1), Opinion::Yes);
}

/// It answers all the same, or its leader would take it for silent; and it names no greater epoch, as the leader would
/// ask all voters for one. (Q13)
///
/// Claim: one-leader.
#[test]
fn who_crashed_promises_nothing_in_an_epoch_of_its_reserve_before_its_wait_is_over() {
    let mut p3 = forgot();
    assert_eq!(p3.hears(4, heartbeat(1, 1, 4)), to(&[4], deny(1, NEVER, 1)));
    assert_eq!(p3.leader(), Some(id(4)), "it follows the leader that it knows");
    p3.after(TIMING.lease - MOMENT);
    assert_eq!(p3.hears(4, heartbeat(1, 2, 4)), to(&[4], deny(2, NEVER, 1)));
    p3.after(MOMENT);
    assert_eq!(p3.hears(4, heartbeat(1, 3, 4)), to(&[4], acknowledge(1, 3, 3)));
}

/// Nobody heard of it in that. (Q13)
#[test]
fn who_crashed_promises_at_once_in_an_epoch_above_its_reserve() {
    let mut p3 = forgot();
    p3.hears(4, promising(TIMING.lease, RESERVE + 1, 1, 4));
    p3.stores();
    let sent = p3.hears(4, heartbeat(RESERVE + 1, 2, 4));
    assert_eq!(sent, to(&[4], acknowledge(RESERVE + 1, 2, 3)));
}

/// Rule Q13.
#[test]
fn who_crashed_counts_for_no_list_of_its_reserve_before_its_wait_is_over() {
    let mut p3 = forgot();
    p3.hears(4, heartbeat(1, 1, 4));
    p3.stores();
    let version = ListVersion { epoch: Epoch(1), counter: 1 };
    let list = MemberList::new(version, p3.core.members().iter().cloned().collect());
    let message = Message::List { list: list.into() };
    let envelope = Envelope { epoch: Epoch(1), incarnation: Incarnation(1), message };
    let list = Input::Message { connection: connection(4), from: id(4), envelope };
    let counts = |sent: &super::Sent| {
        sent.iter().any(|(_, message)| *message == Message::Listed { version })
    };
    let mut sent = p3.take(list.clone());
    sent.extend(p3.stores());
    assert!(!counts(&sent), "{sent:?}");
    p3.after(TIMING.lease);
    sent = p3.take(list);
    sent.extend(p3.stores());
    assert!(counts(&sent), "{sent:?}");
}

/// "A process that stops in order ends with a record that is whole, and its next start forgets nothing." (Q13)
#[test]
fn who_stopped_in_order_forgets_nothing() {
    let mut p3 = voted_once();
    assert_eq!(p3.hears(5, vote_request(1, 2)), to(&[5], vote(1, 2)));
    p3.take(Input::Command { id: CommandId(1), command: OperatorCommand::Stop });
    p3.stores();
    let mut p3 = p3.crashes();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    assert_eq!(p3.hears(5, heartbeat(2, 1, 5)), to(&[5], acknowledge(2, 1, 3)));
    assert_eq!(p3.hears(4, pre_vote(7, 2)), to(&[4], says(7, NEVER, 2)), "it voted for P5");
}

/// What the life before the crash forgot, the one that stops does not know either. (Q13)
///
/// Claim: one-leader.
#[test]
fn who_stops_in_its_wait_leaves_the_rest_of_it_to_the_next_start() {
    let mut p3 = forgot();
    p3.take(Input::Command { id: CommandId(1), command: OperatorCommand::Stop });
    p3.stores();
    let mut p3 = p3.crashes();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    assert_eq!(p3.hears(4, heartbeat(1, 1, 4)), to(&[4], deny(1, NEVER, 1)));
    p3.after(TIMING.lease);
    assert_eq!(p3.hears(4, heartbeat(1, 2, 4)), to(&[4], acknowledge(1, 2, 3)));
}

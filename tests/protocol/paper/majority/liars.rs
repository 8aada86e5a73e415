//! A member that lies: messages that the others do not accept from it. (tests/model/hostile checks what
//! several members guarantee in spite of it.)

use std::sync::Arc;

use electd_election::core::membership::{ListVersion, MemberList};
use electd_election::core::message::{
    Ballot, Candidate, Envelope, Lap, Message, Opinion, Run, View,
};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation, Rank, Role};
use electd_election::core::{Input, Output};

use super::{
    acknowledge, all_say, heartbeat, listed, majority, no, p5_leads, preempt, release, says, to,
    vote, vote_request, voter, votes_for, would, yes_if,
};
use crate::paper::process::{Process, TIMING, connection, coordinator, election, id, rank};

fn halt(number: u8) -> Message {
    Message::Halt { number: 1, round: Epoch(2), rank: rank(number), incumbent: true }
}

/// P3, where P5 is an observer.
fn beside_an_observer(algorithm: AlgorithmKind) -> Process {
    Process::with(listed(majority(algorithm, 3), &[(5, Role::Observer)], 0)).0
}

/// A voter says that it leads a later epoch, and releases that immediately. (Q9)
#[test]
fn a_later_leader_takes_no_promise_from_the_one_before() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    p3.stores();
    p3.after(TIMING.heartbeat);
    assert_eq!(p3.hears(5, heartbeat(2, 1, 5)), to(&[5], acknowledge(2, 1, 3)));
    p3.stores();
    assert_eq!(would(&mut p3, 2, 3), no(TIMING.lease), "neither of the two can free it alone");
    p3.hears(5, release(2));
    assert_eq!(would(&mut p3, 2, 3), yes_if(1, TIMING.lease - TIMING.heartbeat));
    p3.hears(4, release(1));
    assert_eq!(would(&mut p3, 2, 3), Opinion::Yes);
}

/// An observer never leads: if one says what only a candidate or a leader does, its connection is closed. (Q10)
#[test]
fn an_observer_says_nothing_that_only_a_candidate_or_a_leader_does() {
    let lies = [
        halt(5),
        heartbeat(2, 1, 5),
        coordinator(2, 5),
        vote_request(1, 2),
        preempt(1, 5, &[1, 2, 3, 4, 5]),
        release(1),
    ];
    for message in lies {
        let mut p3 = beside_an_observer(AlgorithmKind::Bully);
        votes_for(&mut p3, 4, 1);
        let said = format!("{message:?}");
        let envelope = Envelope { epoch: Epoch(1), incarnation: Incarnation(1), message };
        let (connection, from) = (connection(5), id(5));
        let outputs = p3.outputs(Input::Message { connection, from, envelope });
        assert!(outputs.contains(&Output::Close { connection }), "{said}: {outputs:?}");
        assert_eq!(would(&mut p3, 2, 3), yes_if(1, TIMING.lease), "{said}");
    }
}

/// "A candidate passes a release on": one that may win. (Q10)
#[test]
fn an_observer_frees_no_voter() {
    let mut p3 = beside_an_observer(AlgorithmKind::Bully);
    votes_for(&mut p3, 4, 1);
    let freed = Message::Freed { leader: id(4), epoch: Epoch(1) };
    p3.hears(5, freed.clone());
    assert_eq!(would(&mut p3, 2, 3), yes_if(1, TIMING.lease));
    p3.hears(1, freed);
    assert_eq!(would(&mut p3, 2, 3), Opinion::Yes);
}

/// Rule Q10.
#[test]
fn nobody_believes_that_an_observer_leads() {
    let of_p5 = View { epoch: Epoch(2), leader: Some(rank(5)) };
    for liar in [4, 5] {
        let mut p3 = beside_an_observer(AlgorithmKind::Bully);
        p3.hears(liar, Message::View(of_p5));
        p3.stores();
        assert_eq!((p3.core.view().leader, p3.leader()), (None, None), "P{liar} says so");
    }
    let mut p3 = beside_an_observer(AlgorithmKind::Ring);
    let run = Run { epoch: Epoch(2), initiator: id(5) };
    let leader = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    p3.hears(2, Message::Lap(Lap { run, leader, hops: 1 }));
    p3.stores();
    assert_eq!(p3.leader(), None);
}

/// No vote depends on the list of an observer, which may name a member alone. (M6)
#[test]
fn where_nobody_leads_a_list_is_taken_from_a_voter_only() {
    let mut p3 = beside_an_observer(AlgorithmKind::Bully);
    let own = p3.core.members().clone();
    let version = ListVersion { epoch: Epoch(1), counter: 1 };
    let remaining = own.iter().filter(|member| member.id != id(1)).cloned().collect();
    let list = Arc::new(MemberList::new(version, remaining));
    p3.hears(5, Message::List { list: list.clone() });
    assert_eq!(p3.core.members(), &own);
    assert!(p3.core.is_eligible(), "nor is it behind");
    p3.hears(4, Message::List { list: list.clone() });
    assert_eq!(p3.core.members(), &list);

    let mut p3 = beside_an_observer(AlgorithmKind::Bully);
    p3.hears(4, Message::Listed { version });
    assert!(!p3.core.is_eligible(), "P4 has to tell it that list");
    p3.loses(4);
    p3.hears(5, Message::Listed { version });
    assert!(p3.core.is_eligible(), "P5 may not");
}

/// Another says of the leader of this epoch that it ranks higher than it does. (Q11)
#[test]
fn a_leader_itself_tells_its_rank() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    p3.stores();
    let higher = Some(Rank { value: 7, ..rank(4) });
    p3.hears(5, Message::View(View { epoch: Epoch(1), leader: higher }));
    assert_eq!(p3.leader(), Some(id(4)), "that is no news");
    p3.hears(4, heartbeat(1, 2, 4));
    assert_eq!(p3.leader(), Some(id(4)), "nor is what it says itself an older word");
}

/// P3 followed P4. Somebody told P3 that P2 leads in epoch 2, and P3 restarted. P3 believes no other leader of that epoch,
/// and tells the true one so. (Q8)
#[test]
fn a_leader_of_whose_epoch_a_lie_was_stored_asks_for_a_greater_one() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    p3.stores();
    p3.hears(1, Message::View(View { epoch: Epoch(2), leader: Some(rank(2)) }));
    p3.hears(1, election(60, 1)); // it has it write
    p3.stores();
    let mut p3 = p3.restarts();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    let told = p3.hears(4, heartbeat(2, 1, 4));
    let other = |view: &View| view.leader.is_some_and(|leader| leader.id == id(2));
    let tells = |(_, said): &(_, Message)| matches!(said, Message::View(view) if other(view));
    assert!(told.iter().any(tells), "{told:?}");

    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    let view = View { epoch: Epoch(1), leader: Some(Rank { value: 0, id: id(2) }) };
    let sent = p5.hears(3, Message::View(view));
    assert!(sent.iter().any(|(_, said)| matches!(said, Message::VoteRequest { .. })), "{sent:?}");
}

/// P4 asks for votes, and a liar says over and over that P2 leads in a later epoch. (Q12)
#[test]
fn a_candidate_goes_on_whoever_is_said_to_lead_by_another() {
    let mut p4 = Process::with(majority(AlgorithmKind::Bully, 4)).0;
    p4.loses(5);
    p4.calls();
    let lie = |epoch| Message::View(View { epoch: Epoch(epoch), leader: Some(rank(2)) });
    p4.hears(1, lie(10));
    [1, 2, 3].into_iter().for_each(|voter| drop(p4.hears(voter, says(1, Opinion::Yes, 0))));
    p4.stores();
    p4.hears(1, lie(20));
    all_say(&mut p4, &[2, 3], &vote(2, 1));
    assert_eq!(p4.leader(), Some(id(4)));
}

/// The ring: P2 passes on that P4 leads. (Q12)
#[test]
fn a_leader_steps_down_for_no_lap_that_another_passes_on() {
    let mut p5 = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    p5.calls();
    [1, 2].into_iter().for_each(|voter| drop(p5.hears(voter, says(1, Opinion::Yes, 0))));
    let run = Run { epoch: Epoch(1), initiator: id(5) };
    let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    p5.hears(4, Message::Ballot(Ballot { run, candidate, hops: 5 }));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    assert_eq!(p5.leader(), Some(id(5)));
    let run = Run { epoch: Epoch(2), initiator: id(4) };
    let leader = Candidate { eligible: true, rank: rank(4), incarnation: Incarnation(1) };
    p5.hears(2, Message::Lap(Lap { run, leader, hops: 1 }));
    p5.stores();
    assert_eq!(p5.leader(), Some(id(5)));
}

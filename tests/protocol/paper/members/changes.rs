//! The leader changes the list.

use electd_election::core::membership::{MOST_MEMBERS, Member};
use electd_election::core::message::{Done, Forwarded, Message, Refusal, Rejection, Taken};
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_election::core::types::{Epoch, Incarnation};
use electd_election::core::{Input, Phase};

use super::{
    MembershipChange, add, ask, disk, hears, leader, lists, member, numbers, remove, tell, version,
};
use crate::paper::process::{FIRST_COMMAND, Process, TIMING, id, rank};

#[test]
fn without_a_majority_a_change_is_told_to_all_and_done_when_it_is_stored() {
    let mut p5 = leader(Quorum::None);
    let reaction = ask(&mut p5, add(6));
    assert_eq!(lists(&reaction.sent), [(vec![1, 2, 3, 4], version(1, 1))]);
    assert_eq!(reaction.answers, []);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5, 6]);
    assert_eq!(disk(&mut p5).answers, [Ok(Done::Added(id(6)))]);

    let reaction = ask(&mut p5, remove(1, false));
    assert_eq!(
        lists(&reaction.sent),
        [(vec![2, 3, 4], version(1, 2))],
        "who leaves hears of it later"
    );
    let removed = Done::Removed { id: id(1), stored: true, handed_over: false };
    assert_eq!(disk(&mut p5).answers, [Ok(removed)]);
    assert_eq!(numbers(&p5), [2, 3, 4, 5, 6]);
}

/// The list is stamped anew and stored by a majority of it before it changes, and the change is
/// stored by a majority of the new list before it is done. (M1, M2)
#[test]
fn with_a_majority_the_list_is_confirmed_before_it_changes_and_stored_before_it_is_done() {
    let mut p5 = leader(Quorum::Majority);
    let reaction = ask(&mut p5, add(6));
    assert_eq!(lists(&reaction.sent), [(vec![1, 2, 3, 4], version(1, 1))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    disk(&mut p5);
    hears(&mut p5, 1, Message::Listed { version: version(0, 0) });
    hears(&mut p5, 2, Message::Listed { version: version(1, 1) });
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5], "two of five have it");
    let reaction = hears(&mut p5, 1, Message::Listed { version: version(1, 1) });
    assert_eq!(lists(&reaction.sent), [(vec![1, 2, 3, 4], version(1, 2))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5, 6]);

    let second = ask(&mut p5, remove(1, false));
    assert_eq!(second.answers, [Err(Refusal::ChangeUnderWay)]);
    disk(&mut p5);
    for voter in [1, 2] {
        let reaction = hears(&mut p5, voter, Message::Listed { version: version(1, 2) });
        assert_eq!(reaction.answers, [], "three of six, itself included, are no majority");
    }
    let reaction = hears(&mut p5, 3, Message::Listed { version: version(1, 2) });
    assert_eq!(reaction.answers, [Ok(Done::Added(id(6)))]);

    // Until they have promised it something under the new list, what a majority of the old one did
    // keeps the leader, and that must not outlast a second change.
    let third = ask(&mut p5, remove(6, false));
    assert_eq!(lists(&third.sent), []);
    p5.after(TIMING.heartbeat);
    let heard = |voter: u8| Message::Acknowledge {
        incarnation: Incarnation(1),
        epoch: Epoch(1),
        number: 1,
        rank: rank(voter),
        eligible: true,
        pause: None,
    };
    assert_eq!(lists(&hears(&mut p5, 1, heard(1)).sent), []);
    assert_eq!(lists(&hears(&mut p5, 2, heard(2)).sent), []);
    let reaction = hears(&mut p5, 3, heard(3));
    assert_eq!(lists(&reaction.sent), [(vec![1, 2, 3, 4], version(1, 3))], "confirmed once");
}

#[test]
fn what_cannot_be_added_or_removed_is_refused_with_the_reason() {
    for quorum in [Quorum::None, Quorum::Majority] {
        let mut p5 = leader(quorum);
        let taken = |what, by| vec![Err(Refusal::Taken { what, by: id(by) })];
        assert_eq!(ask(&mut p5, add(2)).answers, taken(Taken::Id, 2));
        let named = Member { name: "P3".into(), ..member(6) };
        assert_eq!(ask(&mut p5, MembershipChange::Add(named)).answers, taken(Taken::Name, 3));
        let there = Member { address: "host-4:7101".into(), ..member(6) };
        assert_eq!(ask(&mut p5, MembershipChange::Add(there)).answers, taken(Taken::Address, 4));
        let admin = Member { admin: Some("host-3:7101".into()), ..member(6) };
        assert_eq!(ask(&mut p5, MembershipChange::Add(admin)).answers, taken(Taken::Admin, 3));
        let nobody = ask(&mut p5, remove(7, false)).answers;
        assert_eq!(nobody, [Err(Refusal::NotMember(id(7)))]);
    }
}

#[test]
fn a_full_list_takes_nobody() {
    let mut p5 = leader(Quorum::None);
    for number in 6..=MOST_MEMBERS as u8 {
        ask(&mut p5, add(number));
        assert_eq!(disk(&mut p5).answers, [Ok(Done::Added(id(number)))]);
    }
    let one_more = MOST_MEMBERS as u8 + 1;
    assert_eq!(ask(&mut p5, add(one_more)).answers, [Err(Refusal::ListFull)]);
    ask(&mut p5, remove(6, false));
    disk(&mut p5);
    ask(&mut p5, add(one_more));
    assert_eq!(disk(&mut p5).answers, [Ok(Done::Added(id(one_more)))]);
}

#[test]
fn a_removal_that_would_lose_the_quorum_needs_force() {
    let mut p5 = leader(Quorum::Majority);
    p5.loses(1);
    p5.after(TIMING.heartbeat);
    p5.loses(2);
    let dead = p5.core.detector().iter().filter(|peer| !peer.alive());
    assert_eq!(dead.count(), 2, "they are suspected");
    let refusal = Refusal::LosesQuorum { live: 2, needed: 3 };
    assert_eq!(ask(&mut p5, remove(4, false)).answers, [Err(refusal)]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    assert_eq!(ask(&mut p5, remove(4, true)).answers, [], "it is begun");
}

/// Rule M9.
#[test]
fn an_id_is_for_life_and_who_was_removed_is_told_so_at_its_next_hello() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, remove(1, false));
    disk(&mut p5);
    assert_eq!(ask(&mut p5, add(1)).answers, [Err(Refusal::WasRemoved(id(1)))]);
}

#[test]
fn the_leader_hands_over_before_it_is_removed_and_the_next_one_is_asked() {
    for algorithm in AlgorithmKind::ALL {
        let mut p5 = Process::new(algorithm, 5);
        p5.calls();
        if p5.core.phase() != Phase::Leading {
            continue; // the paper tests of the algorithm show how it comes to lead
        }
        let reaction = ask(&mut p5, remove(5, false));
        assert_eq!(reaction.answers, []);
        let released = |(_, message): &(Vec<u8>, Message)| matches!(message, Message::Release { successor: Some(next), .. } if *next == id(4));
        assert!(reaction.sent.iter().any(released), "{:?}", reaction.sent);
        let epoch = Epoch(2);
        let reaction = hears(&mut p5, 4, Message::Coordinator { epoch, rank: rank(4) });
        let command = Forwarded::Change(remove(5, false));
        assert!(
            reaction.sent.contains(&(vec![4], Message::Forward { number: FIRST_COMMAND, command }))
        );

        let (peer, reason) = (id(4), Rejection::Removed(id(5)));
        let reaction = tell(&mut p5, Input::Rejected { peer, reason });
        let removed = Done::Removed { id: id(5), stored: true, handed_over: true };
        assert_eq!(reaction.answers, [Ok(removed)]);
        assert_eq!(p5.core.phase(), Phase::Stopping);
    }
}

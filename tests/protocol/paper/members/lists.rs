//! A member hears of another list than its own.

use std::sync::Arc;

use electd_election::core::Phase;
use electd_election::core::membership::MemberList;
use electd_election::core::message::{Message, Opinion};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Quorum, Settings};
use electd_election::core::types::Epoch;

use super::{disk, hears, leader, lists, member, numbers, tell, version};
use crate::paper::process::{Process, Sent, settings};

#[test]
fn a_list_is_acknowledged_when_it_is_stored_and_an_older_one_is_answered_with_the_newer() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    let list = |counter, last| {
        let members = (1..=last).map(member).collect();
        Message::List { list: Arc::new(MemberList::new(version(1, counter), members)) }
    };
    assert_eq!(hears(&mut p3, 5, list(2, 6)).sent, []);
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5, 6]);
    let listed = Message::Listed { version: version(1, 2) };
    assert_eq!(disk(&mut p3).sent, [(vec![5], listed.clone())]);
    assert_eq!(hears(&mut p3, 4, list(2, 6)).sent, [(vec![4], listed)]);
    assert_eq!(lists(&hears(&mut p3, 4, list(1, 5)).sent), [(vec![4], version(1, 2))]);
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5, 6]);
}

/// A voter gives no vote to a candidate with an older list, and gives it the newer one.
#[test]
fn a_candidate_with_an_older_list_is_refused_and_told_and_asks_again() {
    let list = || Arc::new(MemberList::new(version(1, 1), (1..=5).map(member).collect()));
    let settings =
        |number| Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, number) };
    let mut voter = Process::with(settings(3)).0;
    hears(&mut voter, 1, Message::List { list: list() });
    let (number, epoch) = (7, Epoch(4));
    let pre_vote = |list| Message::PreVote { number, epoch, list };
    let reaction = hears(&mut voter, 4, pre_vote(version(0, 9)));
    assert_eq!(lists(&reaction.sent), [(vec![4], version(1, 1))]);
    let says = |sent: &Sent| {
        sent.iter().find_map(|(_, message)| match message {
            Message::PreVoteReply { opinion, .. } => Some(*opinion),
            _ => None,
        })
    };
    assert!(matches!(says(&reaction.sent), Some(Opinion::No { .. })));
    let reaction = hears(&mut voter, 4, pre_vote(version(1, 1)));
    assert_eq!((lists(&reaction.sent), says(&reaction.sent)), (vec![], Some(Opinion::Yes)));

    let mut candidate = Process::with(settings(5)).0;
    let pre_votes = |sent: &Sent| {
        let version = |(_, message): &(Vec<u8>, Message)| match message {
            Message::PreVote { list, .. } => Some(*list),
            _ => None,
        };
        sent.iter().filter_map(version).collect::<Vec<_>>()
    };
    assert_eq!(pre_votes(&candidate.calls()), [version(0, 0)]);
    let reaction = hears(&mut candidate, 3, Message::List { list: list() });
    assert_eq!(pre_votes(&reaction.sent), [version(1, 1)]);
}

/// After a heal, the leader that remains makes its own list the one that counts.
#[test]
fn a_leader_that_meets_a_newer_list_stamps_its_own_above_it() {
    let mut p5 = leader(Quorum::None);
    let other = MemberList::new(version(1, 3), (1..=4).map(member).collect());
    let reaction = hears(&mut p5, 2, Message::List { list: Arc::new(other) });
    assert_eq!(lists(&reaction.sent), [(vec![1, 2, 3, 4], version(1, 4))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
}

/// A newcomer knows two of the members, and one of them has a newer list without it: it does not vote
/// by its own list, and no member can draw it into an election by that list.
#[test]
fn who_knows_of_a_newer_list_neither_votes_nor_elects_by_its_own() {
    let file = MemberList::new(version(0, 0), [1, 4].map(member).into());
    let old = Settings {
        quorum: Quorum::Majority,
        members: Arc::new(file),
        power_on: PowerOn::Elect,
        ..settings(AlgorithmKind::Bully, 4)
    };
    let mut p4 = Process::alone(old);
    let list = version(2, 2);
    let strange = MemberList::new(list, (1..=3).map(member).collect());
    for input in p4.hello(1, &Arc::new(strange)) {
        let reaction = tell(&mut p4, input);
        assert_eq!(reaction.sent, [], "it calls no election");
    }
    assert_eq!((p4.core.phase(), p4.core.is_eligible()), (Phase::Starting, false));
    let pre_vote = Message::PreVote { number: 1, epoch: Epoch(9), list };
    let reaction = hears(&mut p4, 1, pre_vote);
    let refuses = |(_, message): &(Vec<u8>, Message)| {
        matches!(message, Message::PreVoteReply { opinion: Opinion::Uninformed { .. }, .. })
    };
    assert!(reaction.sent.iter().any(refuses), "{:?}", reaction.sent);
    let newer = MemberList::new(list, (1..=4).map(member).collect());
    hears(&mut p4, 1, Message::List { list: Arc::new(newer) });
    assert!(p4.core.is_eligible());
}

/// In the middle of an election, a member that was asked and is then removed counts as dead.
#[test]
fn an_election_goes_on_without_who_is_removed_meanwhile() {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p4.calls();
    assert_eq!(p4.core.phase(), Phase::Electing);
    let list = MemberList::new(version(1, 1), (1..=4).map(member).collect());
    hears(&mut p4, 3, Message::List { list: Arc::new(list) });
    assert_eq!(p4.core.phase(), Phase::Leading);

    let mut p4 = Process::new(AlgorithmKind::Ring, 4);
    let sent = p4.calls();
    assert_eq!(sent.first().map(|(to, _)| to.clone()), Some(vec![5]));
    let list = MemberList::new(version(1, 1), (1..=4).map(member).collect());
    let reaction = hears(&mut p4, 3, Message::List { list: Arc::new(list) });
    let ballot =
        |(to, message): &(Vec<u8>, Message)| to == &[1] && matches!(message, Message::Ballot(_));
    assert!(reaction.sent.iter().any(ballot), "{:?}", reaction.sent);
}

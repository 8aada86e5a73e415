//! The votes, promises and denials of a voter.

use std::sync::Arc;

use electd_election::core::membership::{ListVersion, MemberList};
use electd_election::core::message::{Message, Opinion, View};
use electd_election::core::settings::{AlgorithmKind, Settings};
use electd_election::core::types::{Epoch, Incarnation, Role};
use electd_election::core::{Input, Phase};

use super::{
    NEVER, acknowledge, deny, election, heartbeat, listed, majority, no, pre_vote, promising,
    release, says, to, vote, vote_request, voter, votes_for, would, yes_if,
};
use crate::paper::process::{MOMENT, Process, TIMING, id, rank};

/// "Pre-vote: changes nothing."
#[test]
fn a_pre_vote_changes_nothing() {
    let mut p3 = voter(3);
    let before = p3.core.clone();
    assert_eq!(would(&mut p3, 4, 22), Opinion::Yes);
    assert!(p3.core == before);
    assert_eq!(would(&mut p3, 5, 5), Opinion::Yes, "of any epoch, to anybody");
}

/// At a first start the question may come before the connection back is up. Without an answer the candidate
/// takes the voters for silent, and a lower member comes first.
#[test]
fn a_pre_vote_is_answered_as_soon_as_the_candidate_can_be_told() {
    let mut p3 = voter(3);
    p3.take(Input::Lost { peer: id(5) });
    assert_eq!(p3.hears(5, pre_vote(1, 22)), []);
    let told = p3.reaches(5);
    assert!(told.contains(&(vec![5], says(1, Opinion::Yes, 0))), "{told:?}");
}

/// "A vote is durable before it is sent." It echoes "(incarnation, epoch, number)" of the vote request. (Q2)
#[test]
fn a_vote_is_told_only_when_it_is_durable() {
    let mut p3 = voter(3);
    assert_eq!(p3.hears_of(4, 6, vote_request(9, 22)), []);
    let voted = Message::Vote { incarnation: Incarnation(6), number: 9, epoch: Epoch(22) };
    assert_eq!(p3.stores(), to(&[4], voted));
    let again = p3.restarts().hears(5, pre_vote(1, 22));
    assert_eq!(again, [], "nobody is connected yet");
    let mut p3 = p3.restarts();
    p3.meets(5);
    assert_eq!(p3.hears(5, vote_request(1, 22)), to(&[5], deny(1, NEVER, 22)), "it is on its disk");
}

/// "One candidate per epoch", and "never two [leaders] for one epoch, ever". (Q1)
#[test]
fn one_epoch_has_one_candidate() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 1);
    p3.hears(4, release(1));
    p3.after(TIMING.lease);
    assert_eq!(p3.hears(5, vote_request(1, 1)), to(&[5], deny(1, NEVER, 1)));
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes);
    assert_eq!(
        p3.hears(4, vote_request(9, 1)),
        to(&[4], vote(9, 1)),
        "the same candidate, once more"
    );
}

/// "A vote request that timed out is repeated in the same epoch": what is durable, or is being written, is not
/// written again, and only the last question is answered.
#[test]
fn a_vote_is_written_once() {
    let mut p3 = voter(3);
    assert_eq!(p3.hears(4, vote_request(8, 1)), []);
    assert_eq!(p3.hears(4, vote_request(9, 1)), [], "it is not durable yet");
    assert_eq!(p3.stores(), to(&[4], vote(9, 1)));
    assert_eq!(p3.hears(4, vote_request(10, 1)), to(&[4], vote(10, 1)));
    assert_eq!(p3.stores(), [], "nothing more was to be written");
}

/// "Never an older epoch": "a voter that voted in e denies everything from a leader with a smaller
/// epoch, telling e". (Q1)
#[test]
fn no_vote_is_given_in_an_older_epoch() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    p3.after(TIMING.lease);
    for candidate in [4, 5] {
        let refused = to(&[candidate], deny(3, NEVER, 22));
        assert_eq!(p3.hears(candidate, vote_request(3, 21)), refused);
    }
}

/// "A vote is itself a promise: for `lease` from receipt of the vote request." (L1)
#[test]
fn a_vote_is_a_promise_from_the_receipt_of_the_vote_request() {
    let mut p3 = voter(3);
    p3.hears(4, vote_request(1, 1));
    p3.after(TIMING.message);
    p3.stores();
    p3.after(TIMING.lease - TIMING.message - MOMENT);
    assert_eq!(would(&mut p3, 5, 2), yes_if(1, MOMENT));
    assert_eq!(p3.hears(5, vote_request(2, 2)), to(&[5], deny(2, yes_if(1, MOMENT), 1)));
    assert_eq!(would(&mut p3, 4, 2), Opinion::Yes, "it was promised to P4");
    p3.after(MOMENT);
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes);
}

/// However long the disk takes, no more than the last answer of each kind waits for it.
#[test]
fn a_vote_that_waits_for_the_disk_makes_way_for_the_next() {
    let mut p3 = voter(3);
    for number in 1..=3 {
        assert_eq!(p3.hears(4, vote_request(number, number)), []);
    }
    assert_eq!(p3.hears(4, vote_request(3, 3)), [], "a copy");
    assert_eq!(p3.stores(), to(&[4], vote(3, 3)));
}

/// It could store no vote, and a leader would hand over for nothing. (Q7)
#[test]
fn a_voter_whose_disk_stands_still_offers_no_vote() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    p3.after(TIMING.failure - MOMENT);
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes, "it may be slow");
    p3.after(MOMENT);
    assert_eq!(would(&mut p3, 5, 2), Opinion::No { wait: TIMING.failure });
    p3.stores();
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes);
}

/// "Promise: runs for `lease` from the receipt of the vote request or of each heartbeat." (L1)
#[test]
fn every_heartbeat_is_a_promise_anew() {
    let mut p3 = voter(3);
    assert_eq!(p3.hears(4, heartbeat(1, 1, 4)), to(&[4], acknowledge(1, 1, 3)));
    p3.stores();
    p3.after(TIMING.heartbeat);
    assert_eq!(would(&mut p3, 5, 2), yes_if(1, TIMING.lease - TIMING.heartbeat));
    assert_eq!(p3.hears(4, heartbeat(1, 2, 4)), to(&[4], acknowledge(1, 2, 3)));
    assert_eq!(would(&mut p3, 5, 2), yes_if(1, TIMING.lease));
    p3.after(TIMING.lease);
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes);
}

/// "Both carry the length; a voter persists the longest it promised": what a restart would not
/// wait for is not acknowledged. (L2)
#[test]
fn a_longer_promise_is_told_only_when_it_is_durable() {
    let long = TIMING.lease * 2;
    let mut p3 = voter(3);
    assert_eq!(p3.hears(4, promising(long, 1, 1, 4)), []);
    assert_eq!(would(&mut p3, 5, 2), yes_if(1, long), "but kept");
    p3.stores();
    assert_eq!(p3.hears(4, promising(long, 1, 2, 4)), to(&[4], acknowledge(1, 2, 3)));
}

/// "RELEASE names its epoch and frees only that one." (H13)
#[test]
fn a_release_frees_its_own_epoch_only() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 5);
    votes_for(&mut p3, 4, 22);
    p3.hears(4, release(5));
    assert_eq!(would(&mut p3, 5, 23), yes_if(22, TIMING.lease), "an older one");
    p3.hears(1, release(22));
    assert_eq!(would(&mut p3, 5, 23), yes_if(22, TIMING.lease), "that of another");
    p3.hears(4, release(22));
    assert_eq!(would(&mut p3, 5, 23), Opinion::Yes);
}

/// "A voter that voted in e denies everything from a leader with a smaller epoch, telling e" - and
/// is not bound to it. (L5)
#[test]
fn who_voted_in_a_later_epoch_denies_an_older_leader() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    assert_eq!(p3.hears(5, heartbeat(5, 3, 5)), to(&[5], deny(3, NEVER, 22)));
    assert_eq!(would(&mut p3, 1, 23), yes_if(22, TIMING.lease), "it was promised to P4");
    p3.after(TIMING.lease);
    assert_eq!(p3.hears(5, heartbeat(5, 4, 5)), to(&[5], deny(4, NEVER, 22)));
    assert_eq!(would(&mut p3, 1, 23), Opinion::Yes);
}

/// The same for a promise that was made while the later epoch is not durable yet (72 is above what
/// is reserved): the voter stays with the later leader.
#[test]
fn who_waits_to_follow_a_later_leader_never_goes_back() {
    let mut p3 = voter(3);
    assert_eq!(p3.hears(5, heartbeat(72, 1, 5)), to(&[5], acknowledge(72, 1, 3)));
    assert_eq!(p3.leader(), None, "not durable");
    assert_eq!(p3.hears(4, heartbeat(5, 3, 4)), to(&[4], deny(3, NEVER, 72)));
    assert_eq!(p3.leader(), None);
    assert_eq!(would(&mut p3, 1, 73), yes_if(72, TIMING.lease));
    p3.stores();
    assert_eq!(p3.leader(), Some(id(5)));
    let view = View { epoch: Epoch(72), leader: Some(rank(5)) };
    assert_eq!(p3.hears(4, heartbeat(5, 4, 4)), to(&[4], Message::View(view)));
}

/// "And only for a member list not older than its own." (Q6)
#[test]
fn an_older_member_list_gets_no_vote() {
    let settings = listed(majority(AlgorithmKind::Bully, 3), &[], 2);
    let mut p3 = Process::with(settings).0;
    let list = |counter| ListVersion { counter, ..ListVersion::default() };
    let vote_request = |counter| {
        let (epoch, lease, list) = (Epoch(1), TIMING.lease, list(counter));
        Message::VoteRequest { number: 1, epoch, lease, list }
    };
    let sent = p3.hears(4, vote_request(1));
    assert!(matches!(sent[0].1, Message::List { .. }), "it is told the list");
    assert_eq!(sent[1..], to(&[4], deny(1, no(TIMING.failure), 0)));
    p3.hears(4, vote_request(2));
    assert_eq!(p3.stores(), to(&[4], vote(1, 1)));
}

/// The candidate's list may be newer and known to few: the voter sends its own list, and the candidate
/// answers with the newer one. The voter sends nothing to a member that has the same list.
#[test]
fn a_voter_with_an_older_member_list_tells_the_candidate_its_own() {
    let list = ListVersion { counter: 2, ..ListVersion::default() };
    let mut p3 = voter(3);
    let own = Message::List { list: p3.core.members().clone() };
    let (number, epoch, lease) = (7, Epoch(1), TIMING.lease);
    let sent = p3.hears(4, Message::PreVote { number, epoch, list });
    assert_eq!(sent, [(vec![4], own.clone()), (vec![4], says(7, Opinion::Yes, 0))]);
    let sent = p3.hears(4, Message::VoteRequest { number, epoch, lease, list });
    assert_eq!(sent, to(&[4], own.clone()));
    assert_eq!(p3.stores(), to(&[4], vote(7, 1)));

    let mut p4 = Process::with(listed(majority(AlgorithmKind::Bully, 4), &[], 2)).0;
    let newer = Message::List { list: p4.core.members().clone() };
    assert_eq!(p4.hears(3, own), to(&[3], newer.clone()));
    p3.hears(4, newer);
    assert_eq!(p3.core.members().version(), list);
    let sent = p3.hears(4, Message::PreVote { number, epoch, list });
    assert_eq!(sent, to(&[4], says(7, Opinion::Yes, 1)));
}

/// "A voter with an empty store votes for nobody until a leader, or every other voter, told it epoch
/// and list." (Q5)
#[test]
fn an_uninformed_voter_votes_for_nobody_until_all_others_told_it() {
    let mut p3 = Process::alone(majority(AlgorithmKind::Bully, 3));
    [2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    let uninformed = Opinion::Uninformed { wait: TIMING.failure };
    assert_eq!(p3.hears(5, vote_request(1, 22)), to(&[5], deny(1, uninformed, 0)));
    assert_eq!(would(&mut p3, 5, 22), uninformed);
    p3.meets(1);
    assert_eq!(would(&mut p3, 5, 22), NEVER, "an earlier run may have voted in it");
    assert_eq!(would(&mut p3, 5, 23), Opinion::Yes);
}

/// The voters that it has met are all that are left, by a later list.
#[test]
fn an_uninformed_voter_is_told_when_the_others_were_removed() {
    let mut p3 = Process::alone(majority(AlgorithmKind::Bully, 3));
    [2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    let remaining = p3.core.members().iter().filter(|member| member.id != id(1)).cloned();
    let version = ListVersion { epoch: Epoch(22), counter: 1 };
    let list = Arc::new(MemberList::new(version, remaining.collect()));
    p3.hears(5, Message::List { list });
    let pre_vote = Message::PreVote { number: 7, epoch: Epoch(23), list: version };
    assert_eq!(p3.hears(5, pre_vote), to(&[5], says(7, Opinion::Yes, 22)));
}

/// The same from a leader, which informs the voter that no epoch up to its own is free. (Q5)
#[test]
fn an_uninformed_voter_is_told_by_a_leader() {
    let mut p3 = Process::alone(majority(AlgorithmKind::Bully, 3));
    [4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    p3.hears(4, heartbeat(22, 1, 4));
    p3.hears(4, release(22));
    assert_eq!(would(&mut p3, 5, 22), NEVER, "an earlier run may have voted in it");
    assert_eq!(would(&mut p3, 5, 23), Opinion::Yes);
}

/// "Or `--bootstrap`."
#[test]
fn a_bootstrap_needs_not_to_be_told() {
    let settings = Settings { bootstrap: true, ..majority(AlgorithmKind::Bully, 3) };
    let mut p3 = Process::alone(settings);
    p3.meets(5);
    assert_eq!(would(&mut p3, 5, 1), Opinion::Yes);
}

/// "A follower whose promise runs answers an ELECTION with its leader and starts nothing."
#[test]
fn a_promised_follower_starts_nothing() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    let view = View { epoch: Epoch(1), leader: Some(rank(4)) };
    assert_eq!(p3.hears(1, election(2, 1)), to(&[1], Message::View(view)));
    assert_eq!(p3.core.phase(), Phase::Following);
    p3.after(TIMING.lease);
    let answer = Message::Answer { round: Epoch(2) };
    assert_eq!(p3.hears(1, election(2, 1))[..1], to(&[1], answer));
    assert_eq!(p3.core.phase(), Phase::Electing);
}

/// "Proof of death [...]: default [...] false in majority: a firewall can forge it": a promise to
/// whom a redial is refused runs on.
#[test]
fn a_promise_outlives_the_connection() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 1);
    p3.loses(4);
    assert_eq!(would(&mut p3, 5, 2), yes_if(1, TIMING.lease));
}

/// "Voters are the members that are not observers."
#[test]
fn an_observer_has_no_vote() {
    let settings = listed(majority(AlgorithmKind::Bully, 5), &[(5, Role::Observer)], 0);
    let mut p5 = Process::with(settings).0;
    assert_eq!(p5.hears(4, pre_vote(1, 1)), []);
    assert_eq!(p5.hears(4, vote_request(2, 1)), []);
    assert_eq!(p5.stores(), []);
    assert!(!p5.core.is_eligible());
}

/// "A member is eligible [...] unless it is a witness", which is a voter.
#[test]
fn a_witness_votes_and_never_leads() {
    let settings = listed(majority(AlgorithmKind::Bully, 5), &[(5, Role::Witness)], 0);
    let mut p5 = Process::with(settings).0;
    let mut sent = p5.calls();
    for _ in 0..20 {
        sent.extend(p5.after(TIMING.message));
    }
    let calls = |(_, message): &(_, Message)| {
        matches!(message, Message::Election { .. } | Message::Probe { .. })
    };
    assert!(sent.iter().all(calls), "it ranks highest, and asks no voter: {sent:?}");
    assert!(!p5.core.is_eligible());
    votes_for(&mut p5, 4, 1);
    assert_eq!(p5.hears(4, heartbeat(1, 1, 4)).len(), 1, "and acknowledges");
    assert_eq!(would(&mut p5, 3, 2), yes_if(1, TIMING.lease));
}

/// A promise far longer than any that this voter would ask for is not made, nor is a vote given for it: otherwise one
/// wrong file, or one liar, binds all voters for as long. (L2)
#[test]
fn a_promise_of_an_hour_is_refused() {
    let longest = TIMING.lease * 16;
    let hour = TIMING.lease * 9000;
    let mut p3 = voter(3);
    assert_eq!(p3.hears(4, promising(hour, 1, 1, 4)), []);
    assert_eq!(p3.stores(), [], "nothing is to be told later");
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes, "it is bound to nobody");
    let Message::VoteRequest { number, epoch, list, .. } = vote_request(1, 2) else {
        unreachable!()
    };
    let asked = |lease| Message::VoteRequest { number, epoch, lease, list };
    assert_eq!(p3.hears(5, asked(hour)), to(&[5], deny(1, no(TIMING.failure), 1)));
    p3.hears(5, asked(longest));
    assert_eq!(p3.stores(), to(&[5], vote(1, 2)));
}

/// A ring whose best member asks for such a lease would have no leader for ever: each pre-vote would call all others
/// into its election, and each vote would be denied. (Q7)
#[test]
fn a_candidate_that_asks_for_too_long_a_lease_is_told_so_in_the_pre_vote() {
    let mut p3 = voter(3);
    let mut timing = TIMING.nanos();
    timing[3] *= 16;
    p3.hears(5, Message::Timing { timing });
    assert_eq!(would(&mut p3, 5, 22), Opinion::Yes);
    timing[3] += 1;
    p3.hears(5, Message::Timing { timing });
    assert_eq!(would(&mut p3, 5, 22), no(TIMING.failure));
    assert_eq!(would(&mut p3, 4, 22), Opinion::Yes);
}

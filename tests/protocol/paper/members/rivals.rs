//! Without a majority the two sides of a partition may change one list in different ways: what
//! their members do when they meet.

use std::sync::Arc;

use electd_election::core::membership::MemberList;
use electd_election::core::message::{Ballot, Candidate, Hello, Message, Run, View};
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_election::core::types::{Epoch, Incarnation};
use electd_election::core::{Input, Phase};

use super::{add, ask, disk, hears, hears_in, leader, list, lists, says_hello, tells, version};
use crate::paper::process::{Process, TIMING, connection, coordinator, hello_of, id, rank};

/// Two lists of one version: the first takes the place of the second.
fn rivals() -> [Arc<MemberList>; 2] {
    let [six, seven] = [6, 7].map(|added| list(version(1, 1), &[1, 2, 3, 4, 5, added]));
    if six.supersedes(&seven) { [six, seven] } else { [seven, six] }
}

/// A member that does not lead takes the same one of the two lists, whichever it had and however it
/// hears of the other.
#[test]
fn of_two_lists_of_one_version_the_same_one_wins_at_both() {
    let [winner, loser] = rivals();
    assert!(!loser.supersedes(&winner));
    for (own, other) in [(&winner, &loser), (&loser, &winner)] {
        let mut p3 = Process::new(AlgorithmKind::Bully, 3);
        hears(&mut p3, 4, tells(own));
        let mut copy = p3.clone();
        hears(&mut p3, 2, tells(other));
        assert_eq!(*p3.core.members(), winner);
        says_hello(&mut copy, 2, other);
        assert_eq!(*copy.core.members(), winner, "and by a hello");
    }
}

/// They may name the same members, and remember other removed ones.
#[test]
fn lists_that_differ_in_anything_are_not_the_same() {
    let one = list(version(1, 1), &[1, 2, 3]);
    let other = Arc::new(one.as_ref().clone().with_removed(vec![id(4)]));
    assert_eq!(one.digest(), other.digest());
    assert!(one.supersedes(&other) != other.supersedes(&one));
}

/// A member that sent the losing list gets the other one.
#[test]
fn who_has_the_list_that_loses_is_told_the_one_that_wins() {
    let [winner, loser] = rivals();
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    hears(&mut p3, 4, tells(&winner));
    assert_eq!(hears(&mut p3, 2, tells(&loser)).sent, [(vec![2], tells(&winner))]);
}

/// Else the leader takes its follower for one that has its list, as the versions are the same. (M4)
#[test]
fn a_leader_is_told_the_list_that_wins_by_its_follower() {
    let [winner, loser] = rivals();
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    hears(&mut p3, 5, coordinator(1, 5));
    hears_in(&mut p3, 5, 1, tells(&loser));
    assert_eq!((p3.leader(), p3.core.members()), (Some(id(5)), &loser));
    let sent = hears_in(&mut p3, 2, 1, tells(&winner)).sent;
    assert!(sent.contains(&(vec![5], tells(&winner))), "{sent:?}");
    assert_eq!(p3.core.members(), &winner);
}

/// P5 leads in epoch 1, and has added P6 or P7, so that this is its list.
fn leader_with(own: &Arc<MemberList>) -> Process {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, add(if own.get(id(6)).is_some() { 6 } else { 7 }));
    disk(&mut p5);
    assert_eq!(p5.core.members(), own);
    p5
}

/// "The remaining leader stamps its own list anew; the changes of the other side are void": even if the
/// other side's list has the same version, and would win. (M4)
#[test]
fn a_leader_that_meets_a_list_of_the_same_version_stamps_its_own_anew() {
    let [winner, loser] = rivals();
    let mut p5 = leader_with(&loser);
    let sent = hears(&mut p5, 2, tells(&winner)).sent;
    assert_eq!(lists(&sent), [(vec![1, 2, 3, 4], version(1, 2))]);
    assert_eq!(*p5.core.members(), Arc::new(loser.stamped(version(1, 2))));

    let mut p5 = leader_with(&winner);
    assert_eq!(
        hears(&mut p5, 2, tells(&loser)).sent,
        [(vec![2], tells(&winner))],
        "it wins as it is"
    );
}

/// The ballot of P5 in a run of this epoch, sent so often.
fn ballot(epoch: u64, hops: u32) -> Message {
    let run = Run { epoch: Epoch(epoch), initiator: id(5) };
    let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    Message::Ballot(Ballot { run, candidate, hops })
}

/// P5 leads in epoch 1 by the ring, and has added P6.
fn ring_leader() -> Process {
    let mut p5 = Process::new(AlgorithmKind::Ring, 5);
    p5.calls();
    hears(&mut p5, 4, ballot(1, 5));
    ask(&mut p5, add(6));
    disk(&mut p5);
    assert_eq!((p5.core.phase(), p5.core.members().version()), (Phase::Leading, version(1, 1)));
    p5
}

/// "If that leader meets a list of a later epoch than its own, whose leader is gone, it takes that
/// list, and leads again in an even later epoch." (M4)
#[test]
fn a_leader_that_meets_a_list_of_a_later_epoch_takes_it_and_leads_anew() {
    let mut p5 = ring_leader();
    let later = list(version(4, 3), &[1, 2, 3, 4, 5]);
    let sent = hears(&mut p5, 2, tells(&later)).sent;
    let runs = sent.iter().filter_map(|(_, message)| match message {
        Message::Ballot(ballot) => Some((ballot.run.epoch, ballot.candidate.eligible)),
        _ => None,
    });
    assert_eq!(runs.collect::<Vec<_>>(), [(Epoch(5), true)]);
    assert_eq!((p5.core.phase(), lists(&sent)), (Phase::Electing, vec![]), "it has not won yet");

    let sent = hears(&mut p5, 4, ballot(5, 6)).sent;
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(5)));
    assert_eq!(lists(&sent).last(), Some(&(vec![1, 2, 3, 4], version(5, 4))));
    assert_eq!(*p5.core.members(), Arc::new(later.stamped(version(5, 4))));
}

/// The highest of the bully wins in the same turn.
#[test]
fn the_bully_leads_anew_at_once() {
    let mut p5 = leader(Quorum::None);
    let later = list(version(4, 3), &[1, 2, 3, 4, 5, 6]);
    let sent = hears(&mut p5, 2, tells(&later)).sent;
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(5)));
    assert_eq!(lists(&sent).last(), Some(&(vec![1, 2, 3, 4], version(5, 4))));
    assert_eq!(super::numbers(&p5), [1, 2, 3, 4, 5, 6]);
}

/// The other leader, which P5 does not hear, does the same: each would end the other's epoch at every heartbeat. (S2)
#[test]
fn a_leader_that_is_told_of_later_lists_again_and_again_waits_longer_each_time() {
    let mut p5 = leader(Quorum::None);
    let hears_of = |p5: &mut Process, epoch| {
        hears(p5, 2, tells(&list(version(epoch, 3), &[1, 2, 3, 4, 5])));
        p5.core.view().epoch
    };
    assert_eq!(hears_of(&mut p5, 4), Epoch(5));
    assert_eq!(hears_of(&mut p5, 6), Epoch(7), "the first time may be chance");
    assert_eq!(hears_of(&mut p5, 8), Epoch(7));
    let end = p5.now + TIMING.t2() * 2;
    while p5.now < end {
        p5.after(TIMING.heartbeat);
    }
    assert_eq!(hears_of(&mut p5, 8), Epoch(9));
}

/// The same of a hello; and a member that says that it has stored such a list gets the present one, so
/// that it answers with its own.
#[test]
fn any_word_of_a_list_of_a_later_epoch_is_followed_up() {
    let later = list(version(4, 3), &[1, 2, 3, 4, 5]);
    let mut p5 = ring_leader();
    says_hello(&mut p5, 2, &later);
    assert_eq!(p5.core.phase(), Phase::Electing);
    let mut p5 = ring_leader();
    let reaction = hears(&mut p5, 2, Message::Listed { version: version(4, 3) });
    assert_eq!(lists(&reaction.sent), [(vec![2], version(1, 1))]);
}

/// Where the later epoch is known, its leader comes after its list: two leaders that meet must not
/// outbid each other.
#[test]
fn a_list_of_a_later_epoch_that_its_sender_is_in_is_left_to_its_leader() {
    let mut p5 = leader(Quorum::None);
    let reaction = hears_in(&mut p5, 2, 4, tells(&list(version(4, 3), &[1, 2, 3, 4, 5, 6])));
    assert_eq!((p5.core.view().epoch, lists(&reaction.sent)), (Epoch(1), vec![]));
    assert_eq!(super::numbers(&p5), [1, 2, 3, 4, 5]);
}

/// Nobody leads there any more: P2 comes from a side whose leader of epoch 4 is gone.
#[test]
fn a_list_of_a_later_epoch_whose_leader_is_gone_is_taken_from_who_was_in_it() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, add(7));
    disk(&mut p5);
    let hello = Hello {
        list: list(version(4, 3), &[1, 2, 3, 4, 5, 6]),
        view: View { epoch: Epoch(4), leader: None },
        ..hello_of(2, p5.core.settings())
    };
    let (connection, address) = (connection(2), String::new());
    p5.outputs(Input::Hello { connection, address, hello });
    assert_eq!(super::numbers(&p5), [1, 2, 3, 4, 5, 6]);
}

/// A list that a leader makes is never older than the list that it has.
#[test]
fn a_change_beside_a_list_of_a_later_epoch_goes_above_the_own_list() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, add(6));
    disk(&mut p5);
    hears_in(&mut p5, 2, 4, tells(&list(version(4, 0), &[1, 2, 3, 4, 5])));
    let reaction = ask(&mut p5, add(7));
    assert_eq!(lists(&reaction.sent).last().map(|(_, list)| *list), Some(version(1, 2)));
}

/// The leader takes no list that does not name it; it leads again all the same, and stamps its own
/// list.
#[test]
fn a_leader_that_is_not_in_a_list_of_a_later_epoch_stamps_its_own_above() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, add(6));
    let sent = hears(&mut p5, 2, tells(&list(version(4, 3), &[1, 2, 3, 4]))).sent;
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(5)));
    assert_eq!(lists(&sent), [(vec![1, 2, 3, 4], version(5, 4))]);
    assert_eq!(super::numbers(&p5), [1, 2, 3, 4, 5, 6]);
}

/// With a majority there are no two sides: the leader of the later epoch will end this leadership.
#[test]
fn with_a_majority_a_list_of_a_later_epoch_is_left_to_its_leader() {
    let mut p5 = leader(Quorum::Majority);
    let later = list(version(4, 3), &[1, 2, 3, 4, 5, 6]);
    let reaction = hears(&mut p5, 2, tells(&later));
    assert_eq!((p5.core.phase(), lists(&reaction.sent)), (Phase::Leading, vec![]));
    assert_eq!(super::numbers(&p5), [1, 2, 3, 4, 5]);
}

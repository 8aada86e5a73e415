//! With a majority: when a removed member is told. A list is committed once nothing can undo it.

use std::sync::Arc;

use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::message::{Heartbeat, Message, Opinion, Rejection};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::{Epoch, Role};

use super::{
    ask, disk, elected, hears, leader, list, listed, lists, member, numbers, remove, says_hello,
    tells, version, without,
};
use crate::paper::process::{Process, TIMING, heartbeat_of, id, rank, settings};

/// P5's heartbeat in this epoch, which says that this list is committed.
fn settles(epoch: u64, settled: ListVersion) -> Message {
    heartbeat(5, epoch, settled)
}

fn heartbeat(from: u8, epoch: u64, settled: ListVersion) -> Message {
    Message::Heartbeat(Heartbeat { settled, ..heartbeat_of(from, epoch, 1) })
}

/// The list that a leader calls committed in its next heartbeat.
fn said_settled(leader: &mut Process) -> ListVersion {
    let sent = leader.after(TIMING.heartbeat);
    let settled = sent.iter().find_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { settled, .. }) => Some(*settled),
        _ => None,
    });
    settled.expect("it leads")
}

/// These voters acknowledge the heartbeat of this number, so that the leader keeps leading.
fn acknowledge(leader: &mut Process, number: u64) {
    for voter in [1, 2, 3] {
        let (incarnation, epoch, rank) = (leader.core.incarnation(), Epoch(1), rank(voter));
        let eligible = true;
        let heard =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause: None };
        hears(leader, voter, heard);
    }
}

/// P3 follows P5 in epoch 1, by a list of P5 without P4.
fn follower() -> Process {
    let settings = Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, 3) };
    let mut p3 = Process::with(settings).0;
    hears(&mut p3, 5, settles(1, version(0, 0)));
    hears(&mut p3, 5, tells(&without(version(1, 2), 4)));
    disk(&mut p3);
    assert_eq!((p3.leader(), numbers(&p3)), (Some(id(5)), vec![1, 2, 3, 5]));
    p3
}

/// P4 says hello by the list that names it. Returns whether it hears that it was removed.
fn is_refused_as_removed(process: &mut Process) -> bool {
    let older = list(version(0, 0), &[1, 2, 3, 4, 5]);
    match says_hello(process, 4, &older) {
        Some(Rejection::Removed(removed)) if removed == id(4) => true,
        Some(Rejection::UnknownId(unknown)) if unknown == id(4) => false,
        other => panic!("P4 is no member: {other:?}"),
    }
}

/// "A removed member ends [...] once nothing can undo its removal: with a majority, when enough members
/// of the new list have stored the removal." A follower learns that from its leader.
#[test]
fn a_follower_tells_a_removed_member_when_its_leader_says_so() {
    let mut p3 = follower();
    assert!(!is_refused_as_removed(&mut p3), "it has stored the list, and perhaps nobody else");
    hears(&mut p3, 5, settles(1, version(1, 1)));
    assert!(!is_refused_as_removed(&mut p3), "an older list is settled");
    hears(&mut p3, 2, heartbeat(2, 0, version(1, 2)));
    assert!(!is_refused_as_removed(&mut p3), "it does not follow P2");
    hears(&mut p3, 5, settles(1, version(1, 2)));
    assert!(is_refused_as_removed(&mut p3));
}

/// A commitment of one list says nothing about the next.
#[test]
fn another_list_has_to_be_settled_anew() {
    let mut p3 = follower();
    hears(&mut p3, 5, settles(1, version(1, 2)));
    hears(&mut p3, 5, tells(&without(version(1, 3), 4)));
    assert!(!is_refused_as_removed(&mut p3));
    hears(&mut p3, 5, settles(1, version(1, 3)));
    assert!(is_refused_as_removed(&mut p3));
}

/// Its own list is confirmed, then P4 removed: three of P1, P2, P3 and P5 have to store that.
#[test]
fn a_leader_says_that_a_list_is_settled_when_a_majority_of_it_has_stored_it() {
    let mut p5 = leader(Quorum::Majority);
    let none = ListVersion::default();
    ask(&mut p5, remove(4, false));
    disk(&mut p5);
    assert_eq!(said_settled(&mut p5), none);
    for voter in [1, 2] {
        hears(&mut p5, voter, listed(1, 1));
    }
    assert_eq!(p5.core.members().version(), version(1, 2));
    disk(&mut p5);
    acknowledge(&mut p5, 1);
    for voter in [4, 2] {
        hears(&mut p5, voter, listed(1, 2));
        assert_eq!(said_settled(&mut p5), none, "P4 does not count any more");
    }
    hears(&mut p5, 3, listed(1, 1));
    assert!(!is_refused_as_removed(&mut p5), "nor does another list");
    acknowledge(&mut p5, 2);
    hears(&mut p5, 3, listed(1, 2));
    assert!(is_refused_as_removed(&mut p5));
    assert_eq!(said_settled(&mut p5), version(1, 2));
}

/// P5 comes to lead in epoch 1 with this list of an earlier leader.
fn successor(list: &Arc<MemberList>) -> Process {
    let (members, quorum) = (list.clone(), Quorum::Majority);
    elected(Settings { members, quorum, ..settings(AlgorithmKind::Bully, 5) })
}

/// "A new leader first stamps the list that it found with its own epoch": before, the list is not
/// committed, though all have stored it.
#[test]
fn a_list_of_an_earlier_epoch_is_not_settled() {
    let mut p5 = successor(&list(version(0, 3), &[1, 2, 3, 4, 5]));
    for voter in [1, 2, 3, 4] {
        hears(&mut p5, voter, listed(0, 3));
    }
    assert_eq!(said_settled(&mut p5), ListVersion::default());
}

/// A new leader does not wait for a change before it stamps a list that has removed members, so that it
/// can tell them.
#[test]
fn a_new_leader_settles_a_list_that_has_removed_members() {
    let mut p5 = successor(&without(version(0, 3), 4));
    assert_eq!(p5.core.members().version(), version(1, 4));
    assert_eq!(lists(&p5.after(TIMING.heartbeat)), [(vec![1, 2, 3], version(1, 4))]);
    disk(&mut p5);
    hears(&mut p5, 2, listed(1, 4));
    assert!(!is_refused_as_removed(&mut p5));
    hears(&mut p5, 3, listed(1, 4));
    assert!(is_refused_as_removed(&mut p5));
}

/// An earlier leader may have begun to remove P5 by force: then P1 has a later list of that leader, and P5 is a
/// stranger to it. P1 takes the stamped list from any member that follows P5. (M3)
#[test]
fn a_new_leader_stamps_whatever_list_was_changed_before() {
    let p5 = successor(&list(version(0, 3), &[1, 2, 3, 5]));
    assert_eq!(p5.core.members().version(), version(1, 4));
    let p5 = successor(&list(ListVersion::default(), &[1, 2, 3, 4, 5]));
    assert_eq!(p5.core.members().version(), ListVersion::default(), "the files are the same");

    let mut p1 = Process::with(Settings {
        members: list(version(0, 4), &[1, 2, 3]),
        quorum: Quorum::Majority,
        ..settings(AlgorithmKind::Bully, 1)
    })
    .0;
    hears(&mut p1, 2, tells(&list(version(1, 4), &[1, 2, 3, 5])));
    assert_eq!(numbers(&p1), [1, 2, 3, 5]);
}

/// P4 led in epoch 1, and told P5 that the list is committed. P4 alone may have stored a later list of
/// that epoch, which does not name P5: P4 would take no older list from P5. (M3)
#[test]
fn a_new_leader_stamps_even_a_list_that_it_knows_to_be_settled() {
    let (members, quorum) = (list(version(1, 3), &[1, 2, 3, 4, 5]), Quorum::Majority);
    let mut p5 = Process::with(Settings { members, quorum, ..settings(AlgorithmKind::Bully, 5) }).0;
    hears(&mut p5, 4, heartbeat(4, 1, version(1, 3)));
    disk(&mut p5);
    assert_eq!(p5.leader(), Some(id(4)));
    let mut sent = p5.loses(4);
    for _ in 0..4 {
        let asked = std::mem::take(&mut sent);
        for (_, message) in asked {
            let says = match message {
                Message::PreVote { number, .. } => {
                    Message::PreVoteReply { number, opinion: Opinion::Yes, epoch: Epoch(1) }
                }
                Message::VoteRequest { number, epoch, .. } => {
                    Message::Vote { incarnation: p5.core.incarnation(), number, epoch }
                }
                _ => continue,
            };
            for voter in [1, 2, 3] {
                sent.extend(hears(&mut p5, voter, says.clone()).sent);
            }
        }
        sent.extend(p5.stores());
    }
    assert_eq!(p5.leader(), Some(id(5)));
    assert_eq!(p5.core.members().version().epoch, p5.core.view().epoch);
}

/// "Voters are the members that are not observers": what those have stored may come back older.
#[test]
fn an_observer_settles_nothing() {
    let role = |number| if number == 3 { Role::Observer } else { Role::Member };
    let member = |number| Member { role: role(number), ..member(number) };
    let list = MemberList::new(version(0, 3), [1, 2, 3, 5].map(member).into());
    let mut p5 = successor(&Arc::new(list.with_removed(vec![id(4)])));
    disk(&mut p5);
    hears(&mut p5, 3, listed(1, 4));
    assert!(!is_refused_as_removed(&mut p5), "two of three voters are needed");
    hears(&mut p5, 2, listed(1, 4));
    assert!(is_refused_as_removed(&mut p5));
}

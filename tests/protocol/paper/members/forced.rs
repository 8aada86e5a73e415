//! Forced removals, when no majority is left, or no member is eligible.

use electd_election::core::message::{Done, Message, Refusal, Rejection};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::{Epoch, Incarnation, Role};
use electd_election::core::{CommandId, Input, OperatorCommand, Phase};

use super::{
    Member, MemberList, ask, disk, elected, hears, leader, list, listed, makes, numbers, remove,
    says_hello, tell, tells, version,
};
use crate::paper::process::{Process, TIMING, id, rank, settings};

const OTHERS: [u8; 4] = [1, 2, 3, 4];

/// P5 leads in epoch 1, and none but these may.
fn candidates(quorum: Quorum, who: &[u8]) -> Process {
    let role = |number| if who.contains(&number) { Role::Member } else { Role::Witness };
    with_roles(quorum, role)
}

fn with_roles(quorum: Quorum, role: impl Fn(u8) -> Role) -> Process {
    let settings = Settings { quorum, ..settings(AlgorithmKind::Bully, 5) };
    let members = settings.members.iter().zip(1..);
    let member = |(member, number): (&Member, u8)| Member { role: role(number), ..member.clone() };
    let list = MemberList::new(version(0, 0), members.map(member).collect());
    elected(Settings { members: list.into(), ..settings })
}

/// P5 leads in epoch 1. P4 alone may lead as well, and is not eligible at present.
fn only_one_is_eligible(quorum: Quorum) -> Process {
    let mut p5 = candidates(quorum, &[4, 5]);
    hears(&mut p5, 4, acknowledge(0, 4));
    p5
}

fn removed(number: u8, stored: bool) -> Result<Done, Refusal> {
    Ok(Done::Removed { id: id(number), stored, handed_over: false })
}

/// The connections to these members are lost, and it is not known yet whether they are gone.
fn cannot_reach(process: &mut Process, peers: &[u8]) {
    for peer in peers {
        process.take(Input::Lost { peer: id(*peer) });
    }
}

/// "The leader refuses a removal after which no member could lead, since no later change would be
/// possible."
#[test]
fn the_last_that_may_lead_is_not_removed_even_by_force() {
    for quorum in [Quorum::None, Quorum::Majority] {
        for force in [false, true] {
            let mut p5 = candidates(quorum, &[5]);
            assert_eq!(ask(&mut p5, remove(5, force)).answers, [Err(Refusal::LastCandidate)]);
            assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
        }
        let mut p5 = only_one_is_eligible(quorum);
        assert_eq!(ask(&mut p5, remove(5, false)).answers, [Err(Refusal::NoSuccessor)]);
        assert_eq!(ask(&mut p5, remove(5, true)).answers, [], "it is begun");
    }
}

/// "A leader to which no member is connected does not remove itself, since no member would learn of
/// it."
#[test]
fn a_leader_that_nobody_is_connected_to_does_not_remove_itself() {
    for quorum in [Quorum::None, Quorum::Majority] {
        let mut p5 = only_one_is_eligible(quorum);
        cannot_reach(&mut p5, &OTHERS);
        assert_eq!(ask(&mut p5, remove(5, true)).answers, [Err(Refusal::LastMember)]);
        assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
        assert_eq!(ask(&mut p5, remove(4, true)).answers, [], "others it does");
        let mut p5 = only_one_is_eligible(quorum);
        cannot_reach(&mut p5, &[1, 2, 3]);
        assert_eq!(ask(&mut p5, remove(5, true)).answers, [], "P4 would learn of it");
    }
}

/// "A forced removal is done as soon as one remaining member [...] has stored it": not the one that is
/// removed, here another.
#[test]
fn a_forced_removal_is_done_when_one_that_remains_has_stored_it() {
    let mut p5 = leader(Quorum::Majority);
    makes(&mut p5, remove(4, true));
    assert_eq!(numbers(&p5), [1, 2, 3, 5]);
    assert_eq!(hears(&mut p5, 4, listed(1, 2)).answers, []);
    assert_eq!(disk(&mut p5).answers, [removed(4, false)]);
    let older = list(version(0, 0), &[1, 2, 3, 4, 5]);
    assert_eq!(says_hello(&mut p5, 4, &older), Some(Rejection::UnknownId(id(4))));
    hears(&mut p5, 1, listed(1, 2));
    hears(&mut p5, 2, listed(1, 2));
    assert_eq!(says_hello(&mut p5, 4, &older), Some(Rejection::Removed(id(4))));
}

/// P5 has removed itself from a list of which three voters are a majority, and no other member has
/// stored that yet.
fn removes_itself() -> Process {
    let mut p5 = only_one_is_eligible(Quorum::Majority);
    makes(&mut p5, remove(5, true));
    assert_eq!((numbers(&p5), p5.core.phase()), (OTHERS.to_vec(), Phase::Leading));
    p5
}

fn removes_itself_without_a_majority() -> Process {
    let mut p5 = only_one_is_eligible(Quorum::None);
    ask(&mut p5, remove(5, true));
    assert_eq!((numbers(&p5), p5.core.phase()), (OTHERS.to_vec(), Phase::Leading));
    p5
}

/// The same of the leader itself. (M5)
#[test]
fn a_leader_that_removes_itself_waits_until_another_has_stored_it() {
    let mut p5 = removes_itself();
    assert_eq!(disk(&mut p5).answers, []);
    assert_eq!(p5.core.phase(), Phase::Leading);
    assert_eq!(hears(&mut p5, 1, listed(1, 2)).answers, [removed(5, false)]);
    assert_eq!(p5.core.phase(), Phase::Stopping);
}

/// "Lease: the leader's runs [...] from the sending of what a majority acknowledged" - of the
/// voters, and it is none any more.
#[test]
fn a_leader_that_removed_itself_does_not_count_its_own_heartbeat() {
    let mut p5 = removes_itself();
    let lease = p5.core.lease_until();
    p5.after(TIMING.heartbeat);
    for voter in [1, 2] {
        hears(&mut p5, voter, acknowledge(1, voter));
        assert_eq!(p5.core.lease_until(), lease, "three of four are needed");
    }
    hears(&mut p5, 3, acknowledge(1, 3));
    assert!(p5.core.lease_until() > lease);
}

/// Should it die before, the others may need its vote: it has to start again. (M5)
#[test]
fn a_leader_that_removes_itself_keeps_its_list_on_disk_until_another_has_stored_the_next() {
    for leader in [removes_itself, removes_itself_without_a_majority] {
        let mut p5 = leader();
        p5.stores();
        assert_eq!((numbers(&p5), p5.is_named_by_disk()), (OTHERS.to_vec(), true));
        p5.take(Input::Command { id: CommandId(2), command: OperatorCommand::Stop });
        p5.stores();
        assert!(p5.is_named_by_disk(), "that it ends changes nothing of that");

        let mut p5 = leader();
        let version = p5.core.members().version();
        hears(&mut p5, 2, Message::Listed { version });
        p5.stores();
        assert_eq!((p5.core.phase(), p5.is_named_by_disk()), (Phase::Stopping, false));
    }
}

/// If so many are gone that its lease ends, it no longer leads, and does not learn who has stored the
/// removal.
#[test]
fn a_leader_that_removed_itself_is_told_when_it_comes_to_one_that_has_stored_it() {
    let mut p5 = removes_itself();
    let list = p5.core.members().clone();
    p5.after(TIMING.lease);
    assert_ne!(p5.core.phase(), Phase::Leading);
    let settings = p5.core.settings().clone();
    let mut p1 = Process::with(Settings { id: id(1), instance: 1, ..settings }).0;
    hears(&mut p1, 5, tells(&list));
    assert_eq!(says_hello(&mut p1, 5, &list), Some(Rejection::UnknownId(id(5))), "not yet");
    disk(&mut p1);
    let reason = says_hello(&mut p1, 5, &list).expect("it is no member");
    assert_eq!(reason, Rejection::Removed(id(5)));

    let reaction = tell(&mut p5, Input::Rejected { peer: id(1), reason });
    assert_eq!(reaction.answers, [removed(5, false)]);
    p5.stores();
    assert_eq!((p5.core.phase(), p5.is_named_by_disk()), (Phase::Stopping, false));
}

/// An observer passes no list on: if the leader went, the voters would wait for it for ever. (M5)
#[test]
fn a_leader_that_removed_itself_does_not_leave_at_the_word_of_an_observer() {
    let mut p5 = with_roles(Quorum::Majority, |number| match number {
        3 => Role::Observer,
        1 | 2 => Role::Witness,
        _ => Role::Member,
    });
    hears(&mut p5, 4, acknowledge(0, 4));
    makes(&mut p5, remove(5, true));
    p5.after(TIMING.lease);
    for (peer, leaves) in [(3, false), (1, true)] {
        tell(&mut p5, Input::Rejected { peer: id(peer), reason: Rejection::Removed(id(5)) });
        assert_eq!(p5.core.phase() == Phase::Stopping, leaves, "at the word of P{peer}");
    }
}

/// Its list may be the older one by then, in a partition, and a member of the newer the only one that
/// is left to tell it.
#[test]
fn who_removed_itself_learns_of_a_stranger_that_it_belongs_to_a_newer_list() {
    let mut p5 = removes_itself_without_a_majority();
    let without = list(version(9, 1), &[1, 2, 3, 4, 6]);
    assert!(says_hello(&mut p5, 6, &without).is_some(), "it is in neither");
    let newer = list(version(9, 2), &[1, 2, 3, 4, 5, 6]);
    assert_eq!(says_hello(&mut p5, 6, &newer), None);
    assert_eq!(*p5.core.members(), newer);
}

/// The acknowledgement of this heartbeat, by one that is not eligible.
fn acknowledge(number: u64, from: u8) -> Message {
    let (incarnation, epoch) = (Incarnation(1), Epoch(1));
    Message::Acknowledge {
        incarnation,
        epoch,
        number,
        rank: rank(from),
        eligible: false,
        pause: None,
    }
}

/// The same of the leader itself, without a majority.
#[test]
fn without_a_majority_it_waits_for_another_as_well() {
    let mut p5 = removes_itself_without_a_majority();
    assert_eq!(disk(&mut p5).answers, [], "nobody else may know");
    assert_eq!(p5.core.phase(), Phase::Leading);
    let reaction = hears(&mut p5, 2, listed(1, 1));
    assert_eq!(reaction.answers.len(), 1);
    assert!(matches!(reaction.answers[0], Ok(Done::Removed { .. })));
    assert_eq!(p5.core.phase(), Phase::Stopping);
}

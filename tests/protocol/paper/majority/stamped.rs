//! "A pre-vote or vote request for epoch e is denied, also by the own vote, unless e is greater than the epoch of
//! the voter's list version", and "a restored record keeps its leader".

use std::sync::Arc;

use electd_election::core::Phase;
use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::message::{Message, Opinion};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Settings};
use electd_election::core::types::Epoch;

use super::{NEVER, heartbeat, majority, voter, would};
use crate::paper::process::{Process, Sent, TIMING, coordinator, election, id, settings};

/// The leader of epoch 17 left these members, in its second change.
fn remaining(numbers: &[u8]) -> Arc<MemberList> {
    let all = settings(AlgorithmKind::Bully, 1).members;
    let stays = |member: &&Member| numbers.iter().any(|number| id(*number) == member.id);
    let gone: Vec<_> = all.iter().filter(|member| !stays(member)).map(|gone| gone.id).collect();
    let version = ListVersion { epoch: Epoch(17), counter: 2 };
    Arc::new(
        MemberList::new(version, all.iter().filter(stays).cloned().collect()).with_removed(gone),
    )
}

/// P3 followed P5 in epoch 17, and has stored the list of these; then its process restarted.
fn restarted(list: &Arc<MemberList>) -> Process {
    let mut p3 = voter(3);
    p3.hears(5, heartbeat(17, 1, 5));
    p3.hears(5, Message::List { list: list.clone() });
    p3.stores();
    assert_eq!((p3.leader(), p3.core.members()), (Some(id(5)), list));
    let mut p3 = p3.restarts();
    [4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    p3.after(TIMING.lease);
    p3
}

/// The reply of P3 to a pre-vote of P4 for this epoch, which has the same list.
fn says(p3: &mut Process, list: &MemberList, epoch: u64) -> Option<Opinion> {
    let pre_vote = Message::PreVote { number: 1, epoch: Epoch(epoch), list: list.version() };
    p3.hears(4, pre_vote).into_iter().find_map(|(_, message)| match message {
        Message::PreVoteReply { opinion, .. } => Some(opinion),
        _ => None,
    })
}

/// Rule Q6.
#[test]
fn no_vote_is_given_in_an_epoch_that_is_not_above_that_of_the_own_list() {
    let list = remaining(&[3, 4, 5]);
    let mut p3 = restarted(&list);
    assert_eq!(says(&mut p3, &list, 16), Some(NEVER));
    assert_eq!(says(&mut p3, &list, 17), Some(NEVER));
    assert_eq!(says(&mut p3, &list, 18), Some(Opinion::Yes));
}

/// Without a changed list as well: P3 knows from its record that P5 led in epoch 17, and however
/// often its process starts. (Q8)
#[test]
fn a_restarted_voter_knows_who_led_in_its_epoch() {
    let mut p3 = voter(3);
    p3.hears(5, coordinator(17, 5));
    p3.stores();
    for _ in 0..3 {
        p3 = p3.restarts();
        [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
        p3.after(TIMING.lease);
        assert_eq!(would(&mut p3, 4, 17), NEVER);
        assert_eq!(would(&mut p3, 5, 17), Opinion::Yes, "it led in it");
        assert_eq!(would(&mut p3, 4, 18), Opinion::Yes);
        p3.hears(4, election(30, 4)); // so that it writes another record
        p3.stores();
    }
}

/// Delivers all messages that each of the two sends to the other; disks write immediately.
fn talk(p3: &mut Process, p4: &mut Process, mut to_p3: Sent) {
    while !to_p3.is_empty() {
        let at = |number: u8| move |(to, _): &(Vec<u8>, Message)| to.contains(&number);
        let mut to_p4 = Sent::new();
        for (_, message) in to_p3.into_iter().filter(at(3)) {
            to_p4.extend(p3.hears_of(4, 1, message));
            to_p4.extend(p3.stores());
        }
        to_p3 = Sent::new();
        for (_, message) in to_p4.into_iter().filter(at(4)) {
            to_p3.extend(p4.hears(3, message));
            to_p3.extend(p4.stores());
        }
    }
}

/// Voters P1 to P5. P2 calls P4 to round 17, and P4 is cut off from P1 and P5. P5 wins round 17 with
/// P1, P2 and itself, leads, and P1 and P2 are removed, as P3 has stored. P3 never voted in epoch 17,
/// and restarts. P4 learns of the list of P3, P4 and P5 and continues: with P3 it is a majority. (Q6)
#[test]
fn an_epoch_is_not_led_twice_across_two_removals() {
    let list = remaining(&[3, 4, 5]);
    let mut p3 = restarted(&list);
    let power_on = PowerOn::Elect;
    let own = Settings { power_on, bootstrap: true, ..majority(AlgorithmKind::Bully, 4) };
    let mut p4 = Process::alone(own);
    [2, 3].into_iter().for_each(|other| drop(p4.meets(other)));
    p4.stores();
    p4.hears(2, election(17, 2));
    let told = p4.hears(3, Message::List { list: list.clone() });
    assert_eq!(p4.core.members(), &list);
    talk(&mut p3, &mut p4, told);

    for _ in 0..100 {
        p3.now = p3.now + TIMING.message;
        let sent = p4.after(TIMING.message);
        talk(&mut p3, &mut p4, sent);
        if p4.core.phase() == Phase::Leading {
            break;
        }
    }
    assert_eq!(p4.core.phase(), Phase::Leading, "P3 and P4 are a majority");
    assert!(p4.core.view().epoch > Epoch(17), "P5 leads in epoch 17");
}

//! A member that is eligible again, or ranks higher than before. The others may not know yet, and could
//! win in the same epoch.

use electd_election::core::message::{Heartbeat, Liveness, MemberReport, Message};
use electd_election::core::settings::{AlgorithmKind, RankKind, Settings};
use electd_election::core::types::{Epoch, Incarnation, Rank};
use electd_election::core::{Input, Phase};

use crate::paper::process::{
    Process, Sent, coordinator, election, heartbeat_of, id, rank, settings,
};

fn lower(round: u64) -> Message {
    Message::Lower { round: Epoch(round) }
}

/// P4, which follows P5 and was not eligible for a moment.
fn p4_again() -> Process {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p4.hears(5, coordinator(1, 5));
    p4.take(Input::Sampled { value: None });
    assert!(!p4.core.is_eligible());
    p4.take(Input::Sampled { value: Some(0) });
    assert!(p4.core.is_eligible());
    p4
}

/// Seed 000: "if P has the highest process id" - of those that know it - "it sends a Victory message". (A3)
#[test]
fn who_is_eligible_again_asks_all_before_it_leads() {
    let mut p4 = p4_again();
    // It may be mistaken about P3 as P3 is about it.
    p4.hears(3, Message::Release { epoch: Epoch(0), successor: None, eligible: false });
    assert_eq!(p4.loses(5), [(vec![1, 2, 3], election(2, 4))]);
    assert_eq!(p4.hears(1, lower(2)), []);
    assert_eq!(p4.hears(2, lower(2)), []);
    assert_eq!(p4.hears(3, lower(2)), [(vec![1, 2, 3], coordinator(2, 4))]);
}

/// P3, which took P4 to be ineligible, has won the round meanwhile.
#[test]
fn it_hears_of_one_that_won_without_it() {
    let mut p4 = p4_again();
    p4.loses(5);
    let told = p4.hears(3, coordinator(2, 3));
    let votes = Vec::new();
    assert_eq!(told, [(vec![3], Message::Preempt { epoch: Epoch(2), rank: rank(4), votes })]);
    assert_eq!((p4.core.phase(), p4.leader()), (Phase::Waiting, None), "it takes over in a later");
}

/// A member that follows it knows that it is eligible.
#[test]
fn who_has_led_since_is_known_to_be_eligible() {
    let mut p4 = p4_again();
    p4.loses(5);
    let all: Sent = [1, 2, 3].into_iter().flat_map(|other| p4.hears(other, lower(2))).collect();
    assert_eq!(all, [(vec![1, 2, 3], coordinator(2, 4))]);
    assert_eq!(p4.calls(), [(vec![1, 2, 3], coordinator(3, 4))], "at once, as the highest does");
}

/// The last leader's message was under way for longer than the ELECTION.
#[test]
fn an_older_leader_does_not_know_better() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.hears(5, coordinator(1, 5));
    p3.hears(4, election(2, 4));
    let says = |number, eligible| {
        let (incarnation, status) = (Incarnation(1), Liveness::Alive);
        MemberReport { id: id(number), incarnation, status, eligible, value: 0 }
    };
    let heartbeat = |epoch, from| {
        let members = [says(4, false), says(5, true)].into();
        Message::Heartbeat(Heartbeat { members, ..heartbeat_of(from, epoch, 1) })
    };
    let eligible = |p3: &Process| p3.core.detector().get(id(4)).is_some_and(|p4| p4.is_eligible());
    p3.hears(5, heartbeat(1, 5));
    assert!(eligible(&p3));
    p3.hears(5, heartbeat(2, 5));
    assert!(!eligible(&p3), "of a later epoch");
}

/// Each member that it asks is one that did not know, and says that it ranks lower.
#[test]
fn who_ranks_lower_says_so_and_is_no_longer_mistaken() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.hears(5, coordinator(1, 5));
    p3.hears(4, Message::Release { epoch: Epoch(0), successor: None, eligible: false });
    let told = p3.hears(4, election(2, 4));
    assert_eq!(told.last(), Some(&(vec![4], lower(2))));
    assert_eq!(p3.loses(5), [(vec![4], election(3, 3))], "it would have won");
    assert_eq!(p3.leader(), None);
    assert!(p3.core.detector().get(id(4)).is_some_and(|p4| p4.is_eligible()));
}

/// Seed 004: an OK "shuts down the lower proc's election attempt" - and so does the ELECTION of one that
/// ranks higher, where ranks change: P4 ranked lower when it was asked, and said so.
#[test]
fn who_says_that_it_ranks_lower_gives_up_its_own_election() {
    let settings = settings(AlgorithmKind::Bully, 3);
    let mut p3 = Process::with(Settings { rank: RankKind::Disk, ..settings }).0;
    p3.take(Input::Sampled { value: Some(5) });
    let calls = |value, number| Message::Election {
        round: Epoch(1),
        rank: Rank { value, ..rank(number) },
        eligible: true,
    };
    assert_eq!(p3.calls(), [(vec![1, 2, 4, 5], calls(5, 3))]);
    for other in [1, 2, 4] {
        p3.hears(other, lower(1));
    }
    assert_eq!(p3.hears(4, calls(9, 4)), [(vec![4], lower(1))]);
    assert_eq!(p3.core.phase(), Phase::Waiting);
    assert_eq!(p3.hears(5, lower(1)), [], "the last word that it was to wait for");
    assert_eq!(p3.leader(), None);
}

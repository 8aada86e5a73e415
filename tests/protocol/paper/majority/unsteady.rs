//! A member that comes and goes, with a majority: P5 ranks best, and each of its leaderships would end soon. "A member
//! that went away twice within sixteen times `failure` comes after all others for as long."

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::message::{
    Forwarded, Heartbeat, Hello, Liveness, MemberReport, Message, Opinion, View,
};
use electd_election::core::settings::{AlgorithmKind, Preempt, Settings};
use electd_election::core::types::{CommandId, Epoch, Incarnation, NodeId};
use electd_election::core::{Input, Phase};

use super::{acknowledge, heartbeat, majority, p5_leads, preempt, vote, would, yes_if};
use crate::paper::process::{
    MOMENT, Process, Sent, TIMING, connection, election, hello_of, id, releases,
};

/// So long after it went away last a member comes last.
const STEADY: Duration = TIMING.failure.saturating_mul(16);

fn member(algorithm: AlgorithmKind, number: u8) -> Process {
    Process::with(majority(algorithm, number)).0
}

/// Whether this member takes that peer for one that comes and goes.
fn is_unsteady(process: &Process, number: u8) -> bool {
    process.core.departures().is_unsteady(id(number))
}

/// A run of another says hello, and answers the dial.
fn meets_run(process: &mut Process, number: u8, incarnation: u64) -> Sent {
    let hello = hello_of(number, process.core.settings());
    meets_with(process, number, incarnation, hello)
}

fn meets_with(process: &mut Process, number: u8, incarnation: u64, hello: Hello) -> Sent {
    let (instance, incarnation) = (hello.instance + incarnation, Incarnation(incarnation));
    let hello = Hello { instance, incarnation, ..hello };
    let (connection, address) = (connection(number), String::new());
    let mut sent = process.take(Input::Hello { connection, address, hello: hello.clone() });
    sent.extend(process.take(Input::Welcomed { peer: id(number), welcome: hello }));
    sent
}

/// P5 goes away so often, and is back at once each time.
fn p5_comes_and_goes(process: &mut Process, times: u64) {
    come_and_go(process, &[5], times);
}

fn come_and_go(process: &mut Process, numbers: &[u8], times: u64) {
    for time in 1..=times {
        if time > 1 {
            process.after(TIMING.failure);
        }
        for number in numbers {
            process.loses(*number);
            meets_run(process, *number, time + 1);
            process.stores();
        }
    }
}

/// Rule S5.
#[test]
fn a_voter_denies_its_pre_vote_if_it_went_away_twice_in_a_short_time() {
    let mut p4 = p4_that_follows_p3();
    p5_comes_and_goes(&mut p4, 1);
    let wait = TIMING.lease;
    p4.hears(3, heartbeat(1, 2, 3));
    assert_eq!(would(&mut p4, 5, 7), yes_if(1, wait), "once may be bad luck");
    p4.after(TIMING.failure - MOMENT);
    p4.hears(3, heartbeat(1, 3, 3));
    p4.after(MOMENT);
    p5_comes_and_goes(&mut p4, 1);
    p4.hears(3, heartbeat(1, 4, 3));
    assert_eq!(would(&mut p4, 5, 8), Opinion::No { wait }, "no longer than its promise lasts");
    assert_eq!(would(&mut p4, 2, 8), yes_if(1, wait));
}

/// P4 follows P3, and may not lead itself.
fn p4_that_follows_p3() -> Process {
    let mut p4 = p4_that_follows_nobody();
    p4.hears(3, heartbeat(1, 1, 3));
    p4.stores();
    assert_eq!(p4.leader(), Some(id(3)));
    p4
}

/// P4 has met all, its own promise of an earlier run is over, and it may not lead itself.
fn p4_that_follows_nobody() -> Process {
    let settings = Settings { value: None, ..majority(AlgorithmKind::Bully, 4) };
    let mut p4 = Process::with(settings).0;
    p4.after(TIMING.lease);
    assert_eq!(p4.leader(), None);
    p4
}

/// A steady member may be elected meanwhile. After that the others may wait for it, as they have not seen that it comes
/// and goes. (S5)
#[test]
fn a_voter_without_a_leader_denies_it_its_vote_for_two_failure_times() {
    let mut p4 = p4_that_follows_nobody();
    p5_comes_and_goes(&mut p4, 2);
    let Opinion::No { wait } = would(&mut p4, 5, 8) else { panic!("P3 may lead") };
    assert!(wait <= TIMING.failure * 2, "{wait:?}");
    p4.after(wait - Duration::from_nanos(1));
    assert!(matches!(would(&mut p4, 5, 8), Opinion::No { .. }));
    p4.after(Duration::from_nanos(1));
    assert!(is_unsteady(&p4, 5));
    assert_eq!(would(&mut p4, 5, 8), Opinion::Yes);
}

#[test]
fn a_member_that_was_steady_for_long_is_as_good_as_others() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    p5_comes_and_goes(&mut p4, 2);
    p4.after(STEADY - Duration::from_nanos(1));
    assert!(is_unsteady(&p4, 5));
    p4.after(Duration::from_nanos(1));
    assert!(!is_unsteady(&p4, 5));
}

/// Rule S4.
#[test]
fn two_departures_with_a_long_time_between_are_none_of_this() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    p5_comes_and_goes(&mut p4, 1);
    p4.after(STEADY);
    p4.loses(5);
    meets_run(&mut p4, 5, 3);
    assert!(!is_unsteady(&p4, 5));
}

/// Whether ELECTION goes to P5.
fn asks_p5(sent: &Sent) -> bool {
    let to_p5 = |(to, message): &(Vec<u8>, Message)| {
        to.contains(&5) && matches!(message, Message::Election { .. })
    };
    sent.iter().any(to_p5)
}

/// A connection ends, and a moment later the leader reports the same, or the same run says hello once more. (S4)
#[test]
fn what_is_noticed_of_one_run_within_failure_is_one_departure() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    for _ in 1..=3 {
        p4.loses(5);
        p4.meets(5);
    }
    p4.after(TIMING.failure - Duration::from_nanos(1));
    p4.loses(5);
    p4.meets(5);
    assert!(!is_unsteady(&p4, 5));
    p4.after(Duration::from_nanos(1));
    p4.loses(5);
    assert!(is_unsteady(&p4, 5));
}

/// A process that its host starts again at once dies again at once. (S4)
#[test]
fn each_run_that_goes_away_counts_however_soon() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    p4.loses(5);
    meets_run(&mut p4, 5, 2);
    assert!(!is_unsteady(&p4, 5), "once");
    meets_run(&mut p4, 5, 3);
    assert!(is_unsteady(&p4, 5), "P4 saw no end of the second run, but the beginning of the third");
}

/// A leader gives up its epoch, and its process ends a moment later: which run that was P4 need not know. (S4)
#[test]
fn the_end_of_a_leadership_and_that_of_its_process_are_one_departure() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    p4.hears(5, heartbeat(3, 1, 5));
    p4.stores();
    p4.hears(5, Message::Release { epoch: Epoch(3), successor: None, eligible: true });
    p4.loses(5);
    meets_run(&mut p4, 5, 2);
    assert!(!is_unsteady(&p4, 5));
}

/// Rule S5.
#[test]
fn a_bully_does_not_ask_it() {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    p5_comes_and_goes(&mut p4, 2);
    assert!(!asks_p5(&p4.calls()));
}

/// All were restarted, or this member was cut off: members that pass each other over would split the votes. (S5)
#[test]
fn where_most_came_and_went_all_count_alike() {
    let mut p4 = p4_that_follows_nobody();
    come_and_go(&mut p4, &[5, 3], 2);
    let comes_and_goes = |p4: &Process| {
        let peer = p4.core.detector().get(id(5)).expect("a member");
        p4.core.comes_and_goes(peer)
    };
    assert!(comes_and_goes(&p4), "P1, P2 and P4 are steady");
    come_and_go(&mut p4, &[2], 2);
    assert!(!comes_and_goes(&p4));
    assert_eq!(would(&mut p4, 5, 8), Opinion::Yes);
    assert!(asks_p5(&p4.calls()));
}

/// P5 comes to lead twice, and says this soon after.
fn p5_leads_twice_and_says(last: impl Fn(Epoch) -> Message) -> Process {
    let mut p4 = member(AlgorithmKind::Bully, 4);
    for epoch in [3, 30] {
        p4.after(TIMING.failure);
        p4.hears(5, heartbeat(epoch, 1, 5));
        p4.stores();
        assert_eq!(p4.leader(), Some(id(5)));
        p4.hears(5, last(Epoch(epoch)));
    }
    p4
}

/// A leader that hears its lower members' silence only by the end of its lease says that it gave up its epoch. (S4)
#[test]
fn a_leader_that_gave_up_its_epoch_for_nobody_went_away_as_well() {
    let release = |epoch| Message::Release { epoch, successor: None, eligible: true };
    assert!(is_unsteady(&p5_leads_twice_and_says(release), 5));
}

/// P5 stands still for longer than its own clock allows a leader, and for less than the others wait. It says so
/// itself. (S4)
#[test]
fn a_leader_that_does_not_lead_any_more_went_away_as_well() {
    let leads_no_more = |epoch| Message::View(View { epoch, leader: None });
    assert!(is_unsteady(&p5_leads_twice_and_says(leads_no_more), 5));
}

/// Only the link between P5, which leads, and P3 is dead: P3 speaks with P4 all the time. (S4)
#[test]
fn a_peer_that_speaks_does_not_go_away_because_the_leader_says_so() {
    let reported = |speaks: bool| {
        let mut p4 = member(AlgorithmKind::Bully, 4);
        for number in 1..=2 {
            let (id, status) = (id(3), Liveness::Suspected);
            let incarnation = Incarnation(1);
            let report = MemberReport { id, incarnation, status, eligible: true, value: 0 };
            let mut told = heartbeat(3, number * 2, 5);
            if let Message::Heartbeat(Heartbeat { members, .. }) = &mut told {
                *members = Arc::new([report]);
            }
            p4.hears(3, Message::Probe { number: 0 });
            p4.after(TIMING.failure / 2);
            p4.hears(5, heartbeat(3, number * 2 - 1, 5));
            if speaks {
                p4.hears(3, Message::Probe { number: 0 });
            }
            p4.after(TIMING.failure / 2);
            p4.hears(5, told);
            p4.stores();
        }
        is_unsteady(&p4, 3)
    };
    assert!(!reported(true));
    assert!(reported(false));
}

/// This member leads on for `failure` in this epoch, as these voters acknowledge its heartbeats.
fn leads_on(leader: &mut Process, epoch: u64, voters: &[u8], may_lead: bool) {
    let end = leader.now + TIMING.failure;
    while leader.now < end {
        let sent = leader.after(TIMING.heartbeat);
        let number = sent.iter().find_map(|(_, message)| match message {
            Message::Heartbeat(Heartbeat { number, .. }) => Some(*number),
            _ => None,
        });
        for from in voters {
            let mut acknowledge = acknowledge(epoch, number.unwrap(), *from);
            if let Message::Acknowledge { eligible, .. } = &mut acknowledge {
                *eligible = may_lead;
            }
            leader.hears(*from, acknowledge);
        }
    }
}

/// P5 leads, and hands over to P4; an operator may have chosen a member.
fn p4_succeeds(choice: Option<NodeId>) -> Process {
    let settings = Settings { preempt: Preempt::Always, ..majority(AlgorithmKind::Bully, 4) };
    let mut p4 = Process::with(settings).0;
    let mut told = heartbeat(1, 1, 5);
    if let Message::Heartbeat(Heartbeat { chosen, .. }) = &mut told {
        *chosen = choice;
    }
    p4.hears(5, told);
    p4.stores();
    let (epoch, successor) = (Epoch(1), Some(id(4)));
    p4.hears(5, Message::Release { epoch, successor, eligible: true });
    for other in [1, 2, 3, 5] {
        p4.hears(other, Message::Lower { round: Epoch(2) });
    }
    p4.stores();
    [1, 2].into_iter().for_each(|voter| drop(p4.hears(voter, vote(1, 2))));
    assert_eq!(p4.core.phase(), Phase::Leading);
    p4
}

/// An operator chose P4 to lead in place of P5, and clears that.
#[test]
fn a_leader_whose_switchover_is_cleared_hands_over_to_no_member_that_comes_and_goes() {
    for times in 0..=2 {
        let mut p4 = p4_succeeds(Some(id(4)));
        for time in 1..=times {
            p4.loses(5);
            meets_run(&mut p4, 5, time + 1);
            leads_on(&mut p4, 2, &[1, 2, 3, 5], true);
            p4.stores();
        }
        let command = Forwarded::EndSwitchover.into();
        p4.take(Input::Command { id: CommandId(7), command });
        let sent = p4.after(TIMING.heartbeat);
        assert_eq!(releases(&sent), times < 2, "{times} times: {sent:?}");
    }
}

/// The others, whose `failure` is longer, saw P5 go away once: they would vote for it. (S5)
#[test]
fn a_leader_hands_over_to_no_member_that_comes_and_goes_even_if_a_majority_would_vote_for_it() {
    for times in 0..=2 {
        let mut p4 = p4_succeeds(None);
        for time in 1..=times {
            p4.loses(5);
            meets_run(&mut p4, 5, time + 1);
            leads_on(&mut p4, 2, &[1, 2, 3, 5], true);
            p4.stores();
        }
        let sent = p4.hears(5, preempt(2, 5, &[2, 3, 5]));
        assert_eq!(releases(&sent), times < 2, "{times} times: {sent:?}");
    }
}

/// P4 may lead, if only for a while: so the operator's word counts.
#[test]
fn a_member_that_resigned_does_not_lead_again_beside_another_that_comes_and_goes() {
    let mut p5 = p5_leads();
    for number in [1, 2, 3] {
        p5.loses(number);
        let hello = Hello { eligible: false, ..hello_of(number, p5.core.settings()) };
        meets_with(&mut p5, number, 2, hello);
    }
    for time in 1..=2 {
        p5.loses(4);
        meets_run(&mut p5, 4, time + 1);
        leads_on(&mut p5, 1, &[1, 2, 3], false); // which may not lead
    }
    assert!(is_unsteady(&p5, 4));
    meets_run(&mut p5, 4, 4);
    p5.resigns();
    assert!(!p5.core.is_eligible());
    p5.loses(1);
    assert!(!p5.core.is_eligible());
    p5.loses(4);
    assert!(p5.core.is_eligible(), "nobody else is left");
}

/// Without a majority two members that do not wait for each other might both lead.
#[test]
fn without_a_majority_a_member_that_comes_and_goes_is_asked() {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p5_comes_and_goes(&mut p4, 3);
    let sent = p4.calls();
    assert!(sent.contains(&(vec![5], election(1, 4))) || p4.leader() == Some(id(5)), "{sent:?}");
}

/// "A successor that the leader named when it handed over skips the pre-vote, once": a later run of it was not
/// named. (H13)
#[test]
fn a_release_that_is_repeated_names_no_successor_that_has_restarted_since() {
    let mut p5 = p5_leads();
    let names = |(_, message): &(Vec<u8>, Message)| matches!(message, Message::Release { successor: Some(next), .. } if *next == id(4));
    assert!(p5.resigns().iter().any(names));
    p5.after(TIMING.failure * 20);
    p5.loses(4);
    let sent = meets_run(&mut p5, 4, 2);
    assert!(!sent.iter().any(names), "{sent:?}");
}

//! Timings that change while a leader leads, or a voter is bound.

use std::time::Duration;

use electd_election::core::message::{Heartbeat, Message, Opinion};
use electd_election::core::settings::{AlgorithmKind, Timing};
use electd_election::core::types::Time;
use electd_election::core::{Input, Phase};

use super::{
    acknowledge, all_say, heartbeat, majority, p5_tries, promising, says, vote, voter, would,
    yes_if,
};
use crate::paper::process::{Process, Sent, TIMING, id};

/// Ten times as long.
const LONG: Timing = Timing {
    heartbeat: Duration::from_secs(1),
    failure: Duration::from_secs(5),
    message: Duration::from_millis(500),
    lease: Duration::from_secs(4),
};

fn certain(timing: Timing) -> Duration {
    timing.lease * 9 / 11
}

fn retime(process: &mut Process, timing: Timing) -> Sent {
    process.take(Input::Timed { timing })
}

/// P5 leads in epoch 1 since it was elected, at time 0.
fn p5_leads() -> Process {
    let mut p5 = p5_tries();
    all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    assert_eq!(p5.leader(), Some(id(5)));
    p5
}

/// The number of the heartbeat in what is sent.
fn number(sent: &Sent) -> u64 {
    let number = sent.iter().find_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { number, .. }) => Some(*number),
        _ => None,
    });
    number.unwrap_or_else(|| panic!("no heartbeat in {sent:?}"))
}

/// "A voter is bound for that long, and the leader counts the answer for that long." (L2)
#[test]
fn an_older_answer_counts_for_what_was_asked_then() {
    let mut p5 = p5_leads();
    let before = p5.core.lease_until();
    assert_eq!(before, Some(Time(0) + certain(TIMING)));
    let first = number(&p5.after(TIMING.heartbeat));
    let asked = p5.now;
    p5.after(Duration::from_millis(10));
    let sent = retime(&mut p5, LONG);
    assert_eq!(sent[0], (vec![1, 2, 3, 4], Message::Timing { timing: LONG.nanos() }));
    let second = number(&sent);
    assert_eq!(p5.core.lease_until(), before, "nobody has promised more");
    all_say(&mut p5, &[1, 2], &acknowledge(1, first, 1));
    assert_eq!(p5.core.lease_until(), Some(asked + certain(TIMING)), "of the shorter one");
    p5.stores();
    all_say(&mut p5, &[1, 2, 3], &acknowledge(1, second, 1));
    assert_eq!(p5.core.lease_until(), Some(p5.now + certain(LONG)));
}

/// "A promise longer than all earlier ones is durable before it counts": the leader's own as well.
#[test]
fn the_leaders_own_longer_promise_counts_when_it_is_durable() {
    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    let number = number(&retime(&mut p5, LONG));
    all_say(&mut p5, &[1, 2], &acknowledge(1, number, 1));
    let own = p5.now + certain(TIMING);
    assert_eq!(p5.core.lease_until(), Some(own), "two others, and it itself by the shorter one");
    p5.stores();
    assert_eq!(
        p5.core.lease_until(),
        Some(p5.now + certain(LONG)),
        "it counts without another heartbeat"
    );
    p5.after(Duration::from_millis(150)); // the lease still runs by the shorter timings
    retime(&mut p5, TIMING);
    let next = self::number(&retime(&mut p5, LONG));
    all_say(&mut p5, &[1, 2], &acknowledge(1, next, 1));
    assert_eq!(p5.core.lease_until(), Some(p5.now + certain(LONG)));
}

/// The numbers of the acknowledged heartbeats, and their senders.
fn acknowledged(sent: &Sent) -> Vec<(Vec<u8>, u64)> {
    let number = |(to, message): &(Vec<u8>, Message)| match message {
        Message::Acknowledge { number, .. } => Some((to.clone(), *number)),
        _ => None,
    };
    sent.iter().filter_map(number).collect()
}

/// "A promise longer than all earlier ones is durable before it counts", and counts then: the leader's
/// next heartbeat may be far away. (L2)
#[test]
fn a_voter_acknowledges_as_soon_as_its_longer_promise_is_durable() {
    let mut p3 = voter(3);
    p3.hears(5, heartbeat(1, 1, 5));
    p3.stores();
    for number in 2..5 {
        assert_eq!(acknowledged(&p3.hears(5, promising(LONG.lease, 1, number, 5))), []);
    }
    assert_eq!(acknowledged(&p3.stores()), [(vec![5], 4)], "the newest of those that waited");
}

/// It no longer acknowledges if it follows a later leader by then.
#[test]
fn a_voter_that_went_over_to_a_later_leader_acknowledges_the_older_one_no_more() {
    let mut p3 = voter(3);
    p3.hears(4, heartbeat(1, 1, 4));
    p3.stores();
    assert_eq!(acknowledged(&p3.hears(4, promising(LONG.lease, 1, 2, 4))), []);
    p3.hears(5, heartbeat(2, 1, 5));
    let to: Vec<_> = acknowledged(&p3.stores()).into_iter().map(|(to, _)| to).collect();
    assert!(!to.contains(&vec![4]), "{to:?}");
}

/// A shorter lease takes nothing back, and ends nothing.
#[test]
fn a_shorter_lease_ends_no_leadership() {
    let mut p5 = p5_leads();
    retime(&mut p5, LONG);
    p5.stores();
    let long = number(&retime(&mut p5, Timing { message: LONG.message / 2, ..LONG }));
    all_say(&mut p5, &[1, 2], &acknowledge(1, long, 1));
    let until = Some(p5.now + certain(LONG));
    assert_eq!(p5.core.lease_until(), until);
    p5.after(Duration::from_millis(900)); // longer than the shorter timings let a leader stand still
    retime(&mut p5, TIMING);
    assert_eq!((p5.core.phase(), p5.core.lease_until()), (Phase::Leading, until));
    assert_eq!(number(&p5.after(TIMING.heartbeat)), long + 2, "and the heartbeats come sooner");
}

/// "A voter keeps its promise for that long", whatever its own lease is. (L2)
#[test]
fn a_voter_stays_bound_by_what_it_promised() {
    let mut p3 = voter(3);
    p3.hears(5, promising(LONG.lease, 1, 1, 5));
    p3.stores();
    let short = Timing { lease: Duration::from_millis(260), ..TIMING };
    retime(&mut p3, short);
    p3.hears(5, heartbeat(1, 2, 5));
    assert_eq!(would(&mut p3, 4, 2), yes_if(1, LONG.lease));
    let mut next = p3.restarts();
    next.meets(4);
    assert_eq!(would(&mut next, 4, 2), Opinion::No { wait: LONG.lease }, "restarts included");
}

/// "Members suspect a peer after `failure`, and not before two of that peer's own heartbeat intervals." (L3)
#[test]
fn a_leader_with_rarer_heartbeats_is_not_missed_between_two() {
    let mut p3 = voter(3);
    p3.hears(5, Message::Timing { timing: LONG.nanos() });
    p3.hears(5, promising(LONG.lease, 1, 1, 5));
    p3.stores();
    p3.hears(5, promising(LONG.lease, 1, 2, 5));
    assert_eq!(p3.leader(), Some(id(5)));
    let heard = p3.now;
    while p3.now.since(heard) < LONG.heartbeat * 2 - TIMING.message {
        p3.after(TIMING.message);
        assert_eq!(p3.leader(), Some(id(5)), "after {:?}", p3.now.since(heard));
    }
    p3.after(TIMING.message);
    assert_eq!(p3.leader(), None, "it is missed then");
}

/// A peer that was silent for long by the older timings gets a whole `failure` of the new ones.
#[test]
fn silence_before_the_change_is_judged_by_the_older_timings() {
    let mut p3 = voter(3);
    retime(&mut p3, LONG);
    p3.hears(5, heartbeat(1, 1, 5));
    p3.stores();
    p3.after(Duration::from_secs(4));
    retime(&mut p3, TIMING);
    p3.after(TIMING.failure - TIMING.message);
    assert_eq!(p3.leader(), Some(id(5)));
    p3.after(TIMING.message);
    assert_eq!(p3.leader(), None);
}

/// The same where the leader looks sooner, as another member has been silent for longer.
#[test]
fn a_leader_judges_nobody_by_a_failure_that_did_not_count_then() {
    let mut p5 = p5_leads();
    let round = number(&retime(&mut p5, LONG));
    p5.stores();
    all_say(&mut p5, &[1, 2, 3], &acknowledge(1, round, 1));
    for _ in 0..4 {
        let round = number(&p5.after(LONG.heartbeat));
        all_say(&mut p5, &[1, 2, 3], &acknowledge(1, round, 1));
    }
    p5.after(Duration::from_millis(900)); // the three are silent for longer than the shorter `failure`
    retime(&mut p5, TIMING);
    p5.after(Duration::from_millis(100)); // P4 was silent for as long as the longer timings let it
    let alive = |number| p5.core.detector().is_alive(id(number));
    assert_eq!([1, 2, 3, 4].map(alive), [true; 4], "all have a whole new `failure`");
}

/// "A member that changes its timings tells the others": one that it only dialed so far heard older ones from its
/// hello. (L3)
#[test]
fn a_member_that_heard_the_older_timings_from_a_hello_is_told() {
    let told = |sent: &Sent| {
        let timing = |message: &Message| matches!(message, Message::Timing { .. });
        sent.iter().filter(|(_, message)| timing(message)).cloned().collect::<Sent>()
    };
    let mut p3 = Process::alone(majority(AlgorithmKind::Bully, 3));
    p3.take(Input::Dialed { peer: id(5), attempt: 1 });
    assert_eq!(told(&retime(&mut p3, LONG)), [], "nobody can be told anything yet");
    assert_eq!(told(&p3.reaches(5)), [(vec![5], Message::Timing { timing: LONG.nanos() })]);
    p3.take(Input::Dialed { peer: id(4), attempt: 1 });
    assert_eq!(told(&p3.reaches(4)), [], "this hello said the present ones");
}

//! The peers that are passed over: one that is unreachable, and one that answers and never leads; and
//! other reasons that could keep a cluster from electing.

use std::time::Duration;

use electd_election::core::bounds;
use electd_election::core::message::{Ballot, Candidate, Message, Opinion, Run, View};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings, Timing};
use electd_election::core::types::{Epoch, Incarnation, Rank, Time};
use electd_election::core::{Input, Phase};

use crate::paper::process::{
    Process, Sent, TIMING, connection, coordinator, election, hello_of, id, rank, releases,
    settings,
};

const STEP: Duration = Duration::from_millis(10);

/// It says hello to P4, which cannot dial it.
fn dials(process: &mut Process, other: u8) {
    let hello = hello_of(other, process.core.settings());
    let (connection, address) = (connection(other), String::new());
    process.take(Input::Hello { connection, address, hello });
}

/// Time passes, in which these are heard all the time. Gives what is sent.
fn passes(process: &mut Process, time: Duration, heard: &[u8]) -> Sent {
    let (end, mut sent) = (process.now + time, Sent::new());
    while process.now < end {
        sent.extend(process.after(STEP));
        for other in heard {
            sent.extend(process.hears(*other, Message::Alive { number: 0 }));
        }
        sent.extend(process.stores());
    }
    sent
}

/// P4 has met P1 to P3, and P5 dials it.
fn p4_hears_p5(algorithm: AlgorithmKind) -> Process {
    let mut p4 = Process::alone(settings(algorithm, 4));
    [1, 2, 3].into_iter().for_each(|other| drop(p4.meets(other)));
    dials(&mut p4, 5);
    p4
}

/// Rule D7.
#[test]
fn whoever_is_heard_and_can_be_told_nothing_for_failure_is_no_rival() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Bully);
    p4.calls();
    passes(&mut p4, TIMING.failure - STEP, &[1, 2, 3, 5]);
    assert_eq!(p4.leader(), None, "it may be reached soon");
    passes(&mut p4, TIMING.t1() + STEP * 2, &[1, 2, 3, 5]);
    assert_eq!(p4.leader(), Some(id(4)));
}

/// Rule D7.
#[test]
fn whoever_is_heard_and_can_be_told_nothing_for_failure_is_no_neighbour() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Ring);
    passes(&mut p4, TIMING.failure + STEP, &[1, 2, 3, 5]);
    let sent = p4.calls();
    let ballot =
        |(to, message): &(Vec<u8>, Message)| *to == [1] && matches!(message, Message::Ballot(_));
    assert!(sent.iter().any(ballot), "{sent:?}");
}

/// A member that refuses P4 dials P4 all the same, and repeatedly ends that connection. (D7)
#[test]
fn whoever_breaks_its_own_connection_and_dials_again_can_be_told_nothing_all_the_same() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Ring);
    while p4.now <= Time(0) + TIMING.failure {
        passes(&mut p4, STEP * 2, &[1, 2, 3]);
        p4.take(Input::Lost { peer: id(5) });
        passes(&mut p4, STEP, &[1, 2, 3]);
        dials(&mut p4, 5);
    }
    assert_eq!(p4.core.detector().get(id(5)).map(|p5| p5.lines.is_unreachable()), Some(true));
}

/// Ring: P5 speaks only when a run of its own fails, which takes longer than `failure`. (D7)
#[test]
fn whoever_is_heard_now_and_then_can_be_told_nothing_all_the_same() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Ring);
    let unreachable =
        |p4: &Process| p4.core.detector().get(id(5)).map(|p5| p5.lines.is_unreachable());
    passes(&mut p4, TIMING.failure * 2, &[1, 2, 3]);
    assert_eq!(unreachable(&p4), Some(false), "it is silent, as one that is gone");
    p4.hears(5, Message::Alive { number: 0 });
    assert_eq!(unreachable(&p4), Some(true));
    let sent = p4.calls();
    let to_p1 =
        |(to, message): &(Vec<u8>, Message)| *to == [1] && matches!(message, Message::Ballot(_));
    assert!(sent.iter().any(to_p1), "{sent:?}");
}

/// Halting: P5 leads, hears no member, and so takes none in. P3 waits for P5, as it may lead others,
/// but not without limit. (E5)
#[test]
fn nobody_waits_for_ever_for_a_leader_that_does_not_hear_it() {
    let mut p3 = Process::new(AlgorithmKind::Halting, 3);
    p3.take(Input::Lost { peer: id(5) });
    let mut calls_in = |time: Duration| {
        let (end, mut calls) = (p3.now + time, 0);
        while p3.now < end {
            for (to, message) in passes(&mut p3, STEP, &[1, 2, 4]) {
                if let Message::AreYouThere { number, .. } = message
                    && to == [4]
                {
                    calls += 1;
                    p3.hears(4, Message::Reply { number, accepted: true });
                }
            }
            p3.hears(5, coordinator(1, 5));
        }
        calls
    };
    calls_in(TIMING.failure * 2); // until it knows that P5 hears nothing
    assert_eq!(calls_in(TIMING.failure * 4), 0);
    assert!(calls_in(TIMING.failure * 8) > 0);
}

/// The ring: P3 comes to lead in this epoch, and P5 asks it to hand over. Tells whether it does.
fn p3_wins_and_hands_over(p3: &mut Process, epoch: u64) -> bool {
    p3.calls();
    let run = Run { epoch: Epoch(epoch), initiator: id(3) };
    let candidate = Candidate { eligible: true, rank: rank(3), incarnation: Incarnation(1) };
    p3.hears(4, Message::Ballot(Ballot { run, candidate, hops: 5 }));
    p3.stores();
    assert_eq!(p3.leader(), Some(id(3)));
    let (epoch, rank) = (Epoch(epoch), rank(5));
    releases(&p3.hears(5, Message::Preempt { epoch, rank, votes: Vec::new() }))
}

/// Rule S3.
#[test]
fn a_leader_does_not_hand_over_at_once_again_to_a_member_that_did_not_lead() {
    let mut p3 = Process::new(AlgorithmKind::Ring, 3);
    assert!(p3_wins_and_hands_over(&mut p3, 1));
    let timeout = bounds::ring_timeout(&TIMING, 5) + TIMING.message + STEP;
    passes(&mut p3, timeout, &[1, 2, 4, 5]);
    assert!(!p3_wins_and_hands_over(&mut p3, 2), "it was let down a moment ago");
}

/// Some links are dead: P5 asks each leader to hand over, and never wins. (S3)
#[test]
fn nor_to_a_member_in_whose_place_another_came_to_lead() {
    let mut p3 = Process::new(AlgorithmKind::Ring, 3);
    assert!(p3_wins_and_hands_over(&mut p3, 1));
    p3.hears(4, coordinator(2, 4));
    assert_eq!(p3.leader(), Some(id(4)));
    assert!(!p3_wins_and_hands_over(&mut p3, 3));

    let mut p3 = Process::new(AlgorithmKind::Ring, 3);
    assert!(p3_wins_and_hands_over(&mut p3, 1));
    assert!(!p3_wins_and_hands_over(&mut p3, 2), "P3 itself did");

    let mut p3 = Process::new(AlgorithmKind::Ring, 3);
    assert!(p3_wins_and_hands_over(&mut p3, 1));
    p3.hears(5, coordinator(2, 5));
    assert!(p3_wins_and_hands_over(&mut p3, 3), "P5 did lead");
}

#[test]
fn whoever_can_be_reached_again_is_a_rival_again() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Bully);
    passes(&mut p4, TIMING.failure + STEP, &[1, 2, 3, 5]);
    p4.reaches(5);
    let sent = p4.calls();
    let asks = |(to, message): &(Vec<u8>, Message)| {
        *to == [5] && matches!(message, Message::Election { .. })
    };
    assert!(sent.iter().any(asks), "{sent:?}");
}

/// A lower leader that P5 hears and cannot tell anything would never hand over: P5 waits for `failure` to reach it,
/// and follows it. (D7)
#[test]
fn a_lower_leader_that_can_be_told_nothing_is_followed() {
    let mut p5 = Process::alone(settings(AlgorithmKind::Bully, 5));
    [1, 2, 3].into_iter().for_each(|other| drop(p5.meets(other)));
    dials(&mut p5, 4);
    p5.hears(4, coordinator(1, 4));
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Waiting, None));
    passes(&mut p5, TIMING.failure - STEP, &[1, 2, 3, 4]);
    p5.hears(4, coordinator(1, 4));
    assert_eq!(p5.leader(), None, "it may be reached soon");
    passes(&mut p5, STEP, &[1, 2, 3, 4]);
    p5.hears(4, coordinator(1, 4));
    assert_eq!(p5.leader(), Some(id(4)));
    passes(&mut p5, TIMING.failure * 2, &[1, 2, 3, 4]);
    assert_eq!(p5.leader(), Some(id(4)));
}

/// A restart gives P5 another `failure`.
#[test]
fn nobody_is_passed_over_right_after_a_restart() {
    let mut p4 = p4_hears_p5(AlgorithmKind::Bully);
    passes(&mut p4, TIMING.failure + STEP, &[1, 2, 3, 5]);
    p4.loses(5);
    let hello = hello_of(5, p4.core.settings());
    let hello = electd_election::core::message::Hello {
        incarnation: Incarnation(2),
        instance: 77,
        ..hello
    };
    let (connection, address) = (connection(5), String::new());
    p4.take(Input::Hello { connection, address, hello });
    assert_eq!(p4.core.detector().get(id(5)).map(|p5| p5.lines.is_unreachable()), Some(false));
    p4.calls();
    assert_eq!(p4.leader(), None);
}

/// The settings of P4 in a cluster with a majority; its voters promise for this long.
fn majority(lease: Duration) -> Settings {
    let timing = Timing { lease, ..TIMING };
    let bully = settings(AlgorithmKind::Bully, 4);
    Settings { quorum: Quorum::Majority, trust_refused: false, timing, ..bully }
}

/// When P4 asks the voters, if P5 answers ELECTION and does nothing more.
fn asks_voters_in_spite_of_p5(p4: &mut Process) -> Option<Time> {
    let mut sent = p4.calls();
    let mut asks_voters = None;
    while asks_voters.is_none() && p4.now.0 < 3_000_000_000 {
        for (_, message) in std::mem::take(&mut sent) {
            match message {
                Message::Election { round, .. } => {
                    sent.extend(p4.hears(5, Message::Answer { round }))
                }
                Message::PreVote { .. } => asks_voters = Some(p4.now),
                _ => {}
            }
        }
        sent.extend(passes(p4, STEP, &[1, 2, 3, 5]));
    }
    asks_voters
}

/// P5 leads, and P1 follows P4, which P5 does not hear: P1 says so, twice. (S2)
#[test]
fn whoever_was_overruled_twice_follows_the_next_lower_leader_for_a_while() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    for round in 1..=2 {
        p5.calls();
        while p5.leader() != Some(id(5)) {
            passes(&mut p5, STEP, &[1, 2, 3]);
        }
        let view = View { epoch: Epoch(10 * round), leader: Some(rank(4)) };
        p5.hears(1, Message::View(view));
        assert_eq!(p5.leader(), None);
    }
    let overruled = p5.now;
    let preempts = |sent: &Sent| sent.iter().any(|sent| matches!(sent.1, Message::Preempt { .. }));
    assert!(!preempts(&p5.hears(3, coordinator(30, 3))));
    p5.stores();
    assert_eq!(p5.leader(), Some(id(3)));
    while !preempts(&p5.hears(3, coordinator(30, 3))) {
        passes(&mut p5, STEP, &[1, 2, 3]);
        assert!(p5.now < overruled + TIMING.t2() * 4, "it never takes over");
    }
    assert!(p5.now > overruled + TIMING.t2());
}

/// With a majority an impostor answers ELECTION and nothing more. (S1)
#[test]
fn whoever_answers_and_does_not_lead_is_passed_over() {
    let mut p4 = Process::with(majority(TIMING.lease)).0;
    let asks_voters = asks_voters_in_spite_of_p5(&mut p4);
    let twice = TIMING.t2() * 2 + TIMING.t1() + TIMING.message * 3;
    assert!(asks_voters.is_some_and(|at| at.0 <= twice.as_nanos() as u64), "{asks_voters:?}");
}

/// At a first start, and after the silent death of a leader, the voters are bound for a while: no
/// member could lead, so P5 is not to blame. (S1)
#[test]
fn nobody_is_passed_over_while_the_own_vote_is_not_free() {
    let lease = TIMING.t2() * 3;
    let mut p4 = Process::empty(majority(lease));
    [1, 2, 3, 5].into_iter().for_each(|other| drop(p4.meets(other)));
    let asks_voters = asks_voters_in_spite_of_p5(&mut p4);
    let at = asks_voters.expect("P5 does not lead");
    assert!(at >= Time(0) + lease + TIMING.t2(), "{at:?}");
}

/// A ballot that left its candidate out, as the link to it is dead, comes by again. (R2)
#[test]
fn after_a_lap_without_its_candidate_a_ballot_goes_straight_there() {
    let mut p1 = Process::new(AlgorithmKind::Ring, 1);
    let run = Run { epoch: Epoch(1), initiator: id(5) };
    let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    let ballot = |hops| Message::Ballot(Ballot { run, candidate, hops });
    let ballots = |sent: Sent| -> Sent {
        sent.into_iter().filter(|(_, message)| matches!(message, Message::Ballot(_))).collect()
    };
    assert_eq!(ballots(p1.hears(5, ballot(1))), [(vec![2], ballot(2))]);
    assert_eq!(ballots(p1.hears(5, ballot(1))), [], "somebody repairs the ring");
    assert_eq!(ballots(p1.hears(4, ballot(5))), [(vec![5], ballot(5))]);
}

/// With a majority a ballot is sent past a member that keeps it. Without one that member may have
/// passed on a better candidate, and both ballots would come back, unless the candidate cannot win. (R5)
#[test]
fn with_a_majority_a_ballot_that_somebody_keeps_goes_past_it() {
    for quorum in Quorum::ALL {
        let mut p3 = Process::with(Settings { quorum, ..settings(AlgorithmKind::Ring, 3) }).0;
        p3.calls();
        let (opinion, epoch) = (Opinion::Yes, Epoch(0));
        for voter in [1, 2] {
            p3.hears(voter, Message::PreVoteReply { number: 1, opinion, epoch });
        }
        let sent = passes(&mut p3, bounds::ring_run(&TIMING, 5) + STEP, &[1, 2, 4, 5]);
        let past = |(to, message): &(Vec<u8>, Message)| {
            *to == [5] && matches!(message, Message::Ballot(_))
        };
        assert_eq!(sent.iter().any(past), quorum == Quorum::Majority, "{sent:?}");
    }
}

/// A voter that says "no, wait for ever" is asked again. (E5)
#[test]
fn no_wait_is_longer_than_failure() {
    let longest = Duration::from_nanos(u64::MAX);
    for (says, wait) in [(longest, TIMING.failure), (TIMING.message, TIMING.message)] {
        let at_most = Opinion::No { wait: says }.at_most(TIMING.failure);
        assert_eq!(at_most, Opinion::No { wait });
    }
    let mut p5 = Process::with(Settings { id: id(5), ..majority(TIMING.lease) }).0;
    p5.calls();
    let (epoch, opinion) = (Epoch(0), Opinion::No { wait: longest });
    for voter in 1..=4 {
        p5.hears(voter, Message::PreVoteReply { number: 1, opinion, epoch });
    }
    let sent = passes(&mut p5, TIMING.failure + TIMING.message, &[1, 2, 3, 4]);
    let asks = |(_, message): &(Vec<u8>, Message)| matches!(message, Message::PreVote { .. });
    assert!(sent.iter().any(asks), "{sent:?}");
}

/// Halting: P5 has handed out its task, and P4 waits for its disk. Tells the round as well.
fn p4_waits_for_its_disk() -> (Process, Epoch) {
    let (round, number) = (Epoch(99), 1); // above what is reserved on the disk
    let mut p4 = Process::new(AlgorithmKind::Halting, 4);
    p4.hears(5, Message::Halt { number, round, rank: rank(5), incumbent: false });
    let task = p4.core.task().clone();
    p4.hears(5, Message::Elected { number: 2, round, task: task.version });
    p4.hears(5, Message::Ready { number: 3, round, task });
    (p4, round)
}

/// Rule W5.
#[test]
fn whoever_waits_for_its_disk_is_normal_however_long() {
    let (mut p4, round) = p4_waits_for_its_disk();
    assert_eq!(p4.leader(), None, "its epoch is not durable");
    for number in 4..10 {
        p4.hears(5, coordinator(99, 5)); // as a heartbeat says
        let sent = p4.hears(5, Message::AreYouNormal { number, epoch: round });
        assert_eq!(sent, [(vec![5], Message::Reply { number, accepted: true })]);
    }
    p4.stores();
    assert_eq!(p4.leader(), Some(id(5)));
}

/// Halting: P5 restarts, ranks below P4 by now, and looks for a leader. (W5)
#[test]
fn whoever_waits_for_its_disk_begins_when_its_coordinator_elects_anew() {
    let (mut p4, _) = p4_waits_for_its_disk();
    assert_eq!(p4.core.phase(), Phase::Waiting);
    let rank = Rank { value: -1, id: id(5) };
    p4.hears(5, Message::AreYouThere { number: 4, under: None, rank, eligible: true });
    assert_ne!(p4.core.phase(), Phase::Waiting, "P5 leads no more");
}

/// Halting: a third member, whose disk is faster, tells P4 of the leader whose epoch P4 is about to store. (W5)
#[test]
fn whoever_waits_for_its_disk_goes_on_with_that_when_a_third_member_names_the_same_leader() {
    let (mut p4, round) = p4_waits_for_its_disk();
    p4.hears(1, Message::View(View { epoch: round, leader: Some(rank(5)) }));
    let sent = p4.hears(5, Message::AreYouNormal { number: 4, epoch: round });
    assert_eq!(sent, [(vec![5], Message::Reply { number: 4, accepted: true })]);
    p4.stores();
    assert_eq!(p4.leader(), Some(id(5)));
}

/// The bully: P5 waits for its disk before it follows P4, which restarts meanwhile, and calls an election. P5 ranks
/// higher. (W5)
#[test]
fn whoever_waits_for_its_disk_begins_when_that_leader_elects_anew() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    let (epoch, far) = (Epoch(98), 99); // above what is reserved on the disk
    passes(&mut p5, TIMING.failure * 2, &[]);
    p5.hears(4, coordinator(far, 4));
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Waiting, None), "{epoch}");
    p5.hears(4, election(far + 10, 4));
    assert_ne!(p5.core.phase(), Phase::Waiting, "P4 leads no more");
}

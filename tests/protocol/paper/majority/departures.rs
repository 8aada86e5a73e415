//! The members that come and go, as others report in their hellos: whoever will not be voted for is not waited for, so all
//! members judge alike, and the member that comes and goes too.

use std::time::Duration;

use electd_election::core::Input;
use electd_election::core::departures::Departure;
use electd_election::core::message::{Ballot, Candidate, Hello, Message, Run};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation};

use super::majority;
use crate::paper::process::{
    MOMENT, Process, Sent, TIMING, connection, election, hello_of, id, rank,
};

const STEADY: Duration = TIMING.failure.saturating_mul(16);

/// "This member went away twice lately", which still counts for so long.
fn gone(number: u8, counts_for: Duration) -> Departure {
    Departure { member: id(number), counts_for, again: true }
}

/// A peer says so in its hello.
fn meets(process: &mut Process, peer: u8, departures: &[Departure]) -> Sent {
    let departures = departures.to_vec();
    let hello = Hello { departures, ..hello_of(peer, process.core.settings()) };
    process.take(Input::Hello { connection: connection(peer), address: String::new(), hello })
}

/// A member that starts, and meets all others, which say this in their hellos.
fn starts_among(algorithm: AlgorithmKind, number: u8, departures: &[Departure]) -> Process {
    let mut process = Process::alone(majority(algorithm, number));
    for peer in (1..=5).filter(|peer| *peer != number) {
        meets(&mut process, peer, departures);
        process.reaches(peer);
    }
    process
}

fn is_unsteady(process: &Process, number: u8) -> bool {
    process.core.departures().is_unsteady(id(number))
}

fn asked(sent: &Sent) -> Vec<u8> {
    let elections = sent.iter().filter(|(_, message)| matches!(message, Message::Election { .. }));
    elections.flat_map(|(to, _)| to.clone()).collect()
}

/// What it saw itself, it says in each of its hellos. (S4)
#[test]
fn a_hello_says_who_went_away_and_for_how_long_that_counts() {
    let mut p4 = Process::with(majority(AlgorithmKind::Bully, 4)).0;
    p4.loses(5);
    p4.after(TIMING.failure);
    let said = |process: &mut Process| {
        let sent = process.outputs(Input::Dialed { peer: id(1), attempt: 1 });
        let hello = sent.into_iter().find_map(|output| match output {
            electd_election::core::Output::Hello { hello, .. } => Some(hello),
            _ => None,
        });
        hello.expect("who dials says hello").departures
    };
    let once = Departure { again: false, ..gone(5, STEADY - TIMING.failure) };
    assert_eq!(said(&mut p4), [once]);
    meets(&mut p4, 5, &[]);
    p4.loses(5);
    assert_eq!(said(&mut p4), [gone(5, STEADY)]);
    p4.after(STEADY - MOMENT);
    assert_eq!(said(&mut p4), [gone(5, MOMENT)]);
    p4.after(MOMENT);
    assert_eq!(said(&mut p4), []);
}

/// Rule S4. P4 was restarted itself, and has not seen that P5 comes and goes.
#[test]
fn a_member_that_starts_waits_for_nobody_whom_the_others_pass_over() {
    let mut knows = starts_among(AlgorithmKind::Bully, 4, &[gone(5, TIMING.failure)]);
    assert_eq!(asked(&knows.calls()), [0; 0]);
    let mut does_not = starts_among(AlgorithmKind::Bully, 4, &[]);
    assert_eq!(asked(&does_not.calls()), [5]);
}

/// Once is once, whoever saw it. (S4)
#[test]
fn one_departure_that_another_saw_and_one_of_its_own_make_two() {
    let once = Departure { again: false, ..gone(5, STEADY - TIMING.failure) };
    let mut p4 = starts_among(AlgorithmKind::Bully, 4, &[once]);
    assert!(!is_unsteady(&p4, 5), "four members say so of one departure");
    p4.loses(5);
    assert!(is_unsteady(&p4, 5));
}

/// P1 lost P5 again, after P4 had met all: only the link between P1 and P5 is dead. (S4)
#[test]
fn what_a_member_could_see_itself_it_judges_for_itself() {
    let mut p4 = starts_among(AlgorithmKind::Bully, 4, &[]);
    p4.after(TIMING.failure);
    meets(&mut p4, 1, &[gone(5, STEADY - TIMING.failure + MOMENT)]);
    assert!(!is_unsteady(&p4, 5));
    meets(&mut p4, 1, &[gone(5, STEADY - TIMING.failure)]);
    assert!(is_unsteady(&p4, 5), "before");
    meets(&mut p4, 1, &[gone(4, STEADY)]);
    assert!(is_unsteady(&p4, 4), "its own it cannot see");
}

/// No file of another with far longer timings, and no lie, passes over a member for long. (S4)
#[test]
fn nothing_that_another_says_counts_for_longer_than_what_a_member_sees() {
    let mut p4 = starts_among(AlgorithmKind::Bully, 4, &[]);
    meets(&mut p4, 1, &[gone(4, Duration::from_secs(86_400)), gone(9, TIMING.failure)]);
    p4.after(STEADY - MOMENT);
    assert!(is_unsteady(&p4, 4) && !is_unsteady(&p4, 9), "a stranger is no member");
    p4.after(MOMENT);
    assert!(!is_unsteady(&p4, 4));
}

/// Rule S5. P5 would win by its rank.
#[test]
fn a_bully_that_comes_and_goes_answers_nobody_and_asks_those_that_do_not() {
    let answers = |departures: &[Departure]| {
        let mut p5 = starts_among(AlgorithmKind::Bully, 5, departures);
        let sent = p5.hears(4, election(9, 4));
        sent.iter().any(|(to, message)| *to == [4] && matches!(message, Message::Answer { .. }))
    };
    assert!(answers(&[]));
    assert!(!answers(&[gone(5, TIMING.failure)]));
    assert!(answers(&[gone(5, TIMING.failure), gone(4, TIMING.failure)]), "so does P4");
    let mut p5 = starts_among(AlgorithmKind::Bully, 5, &[gone(5, TIMING.failure)]);
    assert_eq!(asked(&p5.calls()), [1, 2, 3, 4]);
}

/// Rule S5. A higher member that comes and goes calls: a lower one that does not answers, and elects.
#[test]
fn a_bully_answers_a_higher_member_that_comes_and_goes() {
    let answers = |departures: &[Departure]| {
        let mut p3 = starts_among(AlgorithmKind::Bully, 3, departures);
        let sent = p3.hears(5, election(9, 5));
        sent.iter().any(|(to, message)| *to == [5] && matches!(message, Message::Answer { .. }))
    };
    assert!(!answers(&[]));
    assert!(answers(&[gone(5, TIMING.failure)]));
}

/// P3 takes nobody for one that comes and goes, so it asks P5. That asks P3, as P5 has heard that it itself does. Neither
/// waits for the other. (S5)
#[test]
fn two_bullies_that_ask_each_other_go_by_the_replies() {
    let leads = |reply: &dyn Fn(Epoch) -> Message| {
        let mut p3 = starts_among(AlgorithmKind::Bully, 3, &[gone(4, TIMING.failure)]);
        let sent = p3.calls();
        let round = sent.iter().find_map(|(_, message)| match message {
            Message::Election { round, .. } => Some(*round),
            _ => None,
        });
        assert_eq!(asked(&sent), [5]);
        p3.hears(5, election(9, 5));
        let sent = p3.hears(5, reply(round.expect("it asks P5")));
        sent.iter().any(|(_, message)| matches!(message, Message::PreVote { .. }))
    };
    assert!(leads(&|round| Message::Lower { round }));
    assert!(!leads(&|round| Message::Answer { round }));
}

/// The ballot for this member in a run that P1 began.
fn ballot(number: u8, eligible: bool) -> Message {
    let run = Run { epoch: Epoch(100), initiator: id(1) };
    let candidate = Candidate { eligible, rank: rank(number), incarnation: Incarnation(1) };
    Message::Ballot(Ballot { run, candidate, hops: 2 })
}

/// Rule S5. Where each put itself in the place of the other, no ballot would come back.
#[test]
fn a_ring_member_that_comes_and_goes_puts_itself_in_the_place_of_no_other() {
    let passes_on = |departures: &[Departure], candidate: u8, eligible: bool| {
        let mut p5 = starts_among(AlgorithmKind::Ring, 5, departures);
        let sent = p5.hears(4, ballot(candidate, eligible));
        let candidate = sent.iter().find_map(|(_, message)| match message {
            Message::Ballot(ballot) => Some(ballot.candidate.rank.id),
            _ => None,
        });
        candidate.expect("it takes part")
    };
    let own = gone(5, TIMING.failure);
    assert_eq!(passes_on(&[], 3, true), id(5));
    assert_eq!(passes_on(&[own], 3, true), id(3));
    assert_eq!(passes_on(&[own, gone(3, TIMING.failure)], 3, true), id(5), "so does P3");
    assert_eq!(passes_on(&[own], 3, false), id(5), "P3 may not lead");
}

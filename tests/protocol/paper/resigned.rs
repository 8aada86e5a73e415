//! "A member is eligible [...] unless it [...] has resigned (until [...] no other eligible member is
//! alive)": even if no member watches the one that might lead.

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::membership::{Member, MemberList};
use electd_election::core::message::{Ballot, Candidate, Message, Run};
use electd_election::core::settings::{AlgorithmKind, Settings, Timing};
use electd_election::core::types::{Epoch, Incarnation, Role, Time};
use electd_election::core::{Input, bounds};

use crate::paper::process::{Process, TIMING, id, rank, settings};

/// With these the bully waits for longer than silence takes to be suspected, as the ring does.
const SLOW: Timing = Timing { message: Duration::from_millis(100), ..TIMING };

const STEP: Duration = Duration::from_millis(10);

const BOTH: [AlgorithmKind; 2] = [AlgorithmKind::Bully, AlgorithmKind::Ring];

/// The latest time at which an election that P5 awaits has failed.
fn timeout(algorithm: AlgorithmKind) -> Duration {
    let timeout = match algorithm {
        AlgorithmKind::Ring => bounds::ring_timeout(&SLOW, 5),
        _ => SLOW.t2(),
    };
    timeout + SLOW.message + STEP
}

/// The number of a call of the halting algorithm.
fn call(message: &Message) -> Option<u64> {
    match message {
        Message::AreYouThere { number, .. }
        | Message::Halt { number, .. }
        | Message::Elected { number, .. }
        | Message::Ready { number, .. } => Some(*number),
        _ => None,
    }
}

/// P5 led, and has just resigned for P4, the only other that may lead.
fn resigned(algorithm: AlgorithmKind) -> Process {
    let settings = Settings { timing: SLOW, ..settings(algorithm, 5) };
    let role = |id| if id >= rank(4).id { Role::Member } else { Role::Witness };
    let witness = |member: &Member| Member { role: role(member.id), ..member.clone() };
    let members = settings.members.iter().map(witness).collect();
    let members = Arc::new(MemberList::new(settings.members.version(), members));
    let mut p5 = Process::with(Settings { members, ..settings }).0;
    let mut sent = p5.calls();
    while algorithm == AlgorithmKind::Halting && p5.leader().is_none() {
        let call = sent.iter().find_map(|(_, message)| call(message)).unwrap();
        let reply = Message::Reply { number: call, accepted: true };
        sent = (1..=4).flat_map(|other| p5.hears(other, reply.clone())).collect();
    }
    if algorithm == AlgorithmKind::Ring {
        let run = Run { epoch: Epoch(1), initiator: id(5) };
        let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
        p5.hears(4, Message::Ballot(Ballot { run, candidate, hops: 5 }));
    }
    assert_eq!(p5.leader(), Some(id(5)));
    p5.resigns();
    assert_eq!((p5.leader(), p5.core.is_eligible()), (None, false));
    p5
}

/// When P5 is eligible again, if it becomes so while an election fails. It hears P1 to P3 all the time,
/// and P4 for this long.
fn eligible_again(mut p5: Process, hears_p4: Duration) -> Option<Time> {
    let until = p5.now + timeout(p5.core.settings().algorithm);
    while p5.now < until && !p5.core.is_eligible() {
        p5.after(STEP);
        let heard = if p5.now < Time(0) + hears_p4 { 1..=4 } else { 1..=3 };
        for other in heard {
            p5.hears(other, Message::Alive { number: 1 });
        }
    }
    p5.core.is_eligible().then_some(p5.now)
}

/// Rule A2.
#[test]
fn who_resigned_is_eligible_again_when_the_other_is_out_of_reach_and_silent() {
    for algorithm in BOTH {
        let mut p5 = resigned(algorithm);
        p5.take(Input::Lost { peer: id(4) });
        let at = eligible_again(p5, Duration::ZERO);
        assert!(at >= Some(Time(0) + SLOW.failure), "{algorithm:?}: {at:?}");
    }
}

/// As long as the other member can be reached, or was heard just now, it may lead. (A1)
#[test]
fn who_resigned_is_not_eligible_again_while_the_other_may_lead() {
    for algorithm in BOTH {
        let within_reach = resigned(algorithm);
        assert_eq!(eligible_again(within_reach, Duration::ZERO), None, "{algorithm:?}");
        let mut heard = resigned(algorithm);
        heard.take(Input::Lost { peer: id(4) });
        assert_eq!(eligible_again(heard, timeout(algorithm) - STEP * 20), None, "{algorithm:?}");
    }
}

/// It is the one that leads then.
#[test]
fn who_is_eligible_again_leads() {
    let mut p5 = resigned(AlgorithmKind::Bully);
    p5.take(Input::Lost { peer: id(4) });
    p5.after(SLOW.failure);
    p5.after(SLOW.t2() + SLOW.message - SLOW.failure);
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(2)));
}

/// A member that ranks below an ineligible one is not eligible either. But it learns the same of P5,
/// and may be eligible again as well: its earlier answer is not enough for P5 to lead. (A3)
#[test]
fn who_resigned_is_eligible_again_when_the_other_says_that_it_is_not_eligible() {
    let mut p5 = resigned(AlgorithmKind::Bully);
    let election = |round, eligible| {
        let asked = Message::Election { round: Epoch(round), rank: rank(5), eligible };
        Some((vec![4], asked))
    };
    let asked = p5.after(SLOW.t2() + SLOW.message);
    assert_eq!(asked.last().cloned(), election(2, false));
    let asked = p5.hears(4, Message::Lower { round: Epoch(2) });
    assert_eq!((p5.leader(), p5.core.is_eligible()), (None, true));
    assert_eq!(asked.last().cloned(), election(3, true));
    p5.hears(4, Message::Lower { round: Epoch(3) });
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(3)));
}

/// The same with halting: P4 was drained when no leader could tell P5 of it. (A2)
#[test]
fn who_resigned_is_eligible_again_when_the_other_replies_that_it_may_not_lead() {
    let mut p5 = resigned(AlgorithmKind::Halting);
    let call = (0..500).find_map(|_| p5.after(STEP).iter().find_map(|(_, message)| call(message)));
    let call = call.expect("it asks P4 once that did not come to lead");
    p5.hears(4, Message::Reply { number: call, accepted: false });
    assert!(p5.core.is_eligible());
}

/// Others that may not lead call elections so often that P5 never sees one of them fail; P4 has
/// vanished.
#[test]
fn who_resigned_is_eligible_again_though_it_is_asked_again_and_again() {
    let mut p5 = resigned(AlgorithmKind::Ring);
    p5.take(Input::Lost { peer: id(4) });
    for step in 1.. {
        p5.after(STEP);
        if p5.core.is_eligible() {
            break;
        }
        assert!(p5.now < Time(0) + SLOW.failure * 2, "it goes on for ever");
        let run = Run { epoch: Epoch(1 + step), initiator: id(3) };
        let candidate = Candidate { eligible: false, rank: rank(3), incarnation: Incarnation(1) };
        p5.hears(3, Message::Ballot(Ballot { run, candidate, hops: 2 }));
    }
}

/// A member that sends its own ballot says whether it is eligible: P4 lost its rank meanwhile.
#[test]
fn a_ballot_tells_who_resigned_that_the_other_is_not_eligible() {
    for eligible in [true, false] {
        let mut p5 = resigned(AlgorithmKind::Ring);
        let run = Run { epoch: Epoch(9), initiator: id(4) };
        let candidate = Candidate { eligible, rank: rank(4), incarnation: Incarnation(1) };
        p5.hears(4, Message::Ballot(Ballot { run, candidate, hops: 1 }));
        let again = eligible_again(p5, Duration::from_secs(3600));
        assert_eq!(again.is_some(), !eligible);
    }
}

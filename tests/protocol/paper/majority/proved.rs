//! With a majority, and where a proof of death counts: a leader whose process is gone.

use electd::core::message::Opinion;
use electd::core::settings::{AlgorithmKind, Settings};
use electd::core::types::Time;

use super::{acknowledge, coordinator, heartbeat, majority, no, pre_vote, says, to, would, yes_if};
use crate::paper::process::{Process, TIMING};

/// P4 follows P5, which leads in epoch 1, and has promised it its vote.
fn p4_under_p5() -> Process {
    let bully = majority(AlgorithmKind::Bully, 4);
    let (mut p4, _) = Process::with(Settings { trust_refused: true, ..bully });
    p4.hears(5, coordinator(1, 5));
    assert_eq!(p4.hears(5, heartbeat(1, 1, 5)), to(&[5], acknowledge(1, 1, 4)));
    p4
}

/// "A refused redial [...]: it is dead at once", so that nothing is promised to it any more.
#[test]
fn a_voter_is_free_when_the_leader_that_it_promised_its_vote_is_dead() {
    let mut p4 = p4_under_p5();
    assert_eq!(would(&mut p4, 3, 2), yes_if(1, TIMING.lease));
    p4.loses(5);
    assert_eq!(would(&mut p4, 3, 2), Opinion::Yes);
}

/// One survivor may have the proof before the others: it asks them again soon, and not only when
/// their promises have run out.
#[test]
fn who_has_the_proof_first_asks_again_soon() {
    let mut p4 = p4_under_p5();
    assert_eq!(p4.loses(5), to(&[1, 2, 3], pre_vote(1, 2)));
    let bound = |p4: &mut Process, number| {
        for voter in [1, 2, 3] {
            // All who can say anything have: the dead one is not waited for.
            assert_eq!(p4.hears(voter, says(number, no(TIMING.lease), 1)), []);
        }
    };
    let mut number = 1;
    while p4.now < Time(0) + TIMING.lease {
        bound(&mut p4, number);
        number += 1;
        assert_eq!(p4.after(TIMING.message / 4), to(&[1, 2, 3], pre_vote(number, 3)));
    }
    bound(&mut p4, number);
    assert_eq!(p4.after(TIMING.message / 4), [], "they are bound to another by now");
}

/// One refusal among the living is not yet silence, however many are dead.
#[test]
fn the_living_are_heard_out() {
    let mut p4 = p4_under_p5();
    p4.loses(1);
    assert_eq!(p4.loses(5), to(&[2, 3], pre_vote(1, 2)));
    for voter in [2, 3] {
        assert_eq!(p4.hears(voter, says(1, no(TIMING.lease), 1)), []);
    }
    assert_eq!(p4.after(TIMING.message / 4), to(&[2, 3], pre_vote(2, 3)), "it was refused");
}

//! The ring: node-1 sends to node-2, and so on around.

use electd::core::settings::AlgorithmKind;
use electd::sim::Step::{Elect, Kill, Resign, Start, Stop, Vanish};

use crate::{after_a_second, all_at_once, first_start};

#[test]
fn first_start_of_three() {
    insta::assert_snapshot!(first_start(AlgorithmKind::Ring, 3));
}

#[test]
fn leader_dies_with_proof() {
    insta::assert_snapshot!(after_a_second(AlgorithmKind::Ring, 4, &[(0, Kill(4))], 300));
}

#[test]
fn leader_vanishes() {
    insta::assert_snapshot!(after_a_second(AlgorithmKind::Ring, 4, &[(0, Vanish(4))], 900));
}

/// node-2 calls the election, and its ballot is on the way from node-3 to node-4.
#[test]
fn the_holder_of_the_ballot_dies() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        5,
        &[(0, Elect(2)), (15, Kill(4))],
        500
    ));
}

#[test]
fn the_holder_of_the_ballot_vanishes() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        5,
        &[(0, Elect(2)), (15, Vanish(4))],
        1200
    ));
}

#[test]
fn the_candidate_dies() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        5,
        &[(0, Elect(2)), (45, Kill(5))],
        500
    ));
}

#[test]
fn the_greater_initiator_prevails() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        5,
        &[(0, Elect(1)), (5, Elect(3))],
        300
    ));
}

#[test]
fn a_lower_one_restarts_during_the_election() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        4,
        &[(0, Kill(4)), (35, Kill(1)), (55, Start(1))],
        500
    ));
}

#[test]
fn the_highest_restarts_during_the_election() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        4,
        &[(0, Kill(4)), (30, Start(4))],
        500
    ));
}

#[test]
fn the_highest_restarts_and_takes_over() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        3,
        &[(0, Kill(3)), (500, Start(3))],
        800
    ));
}

#[test]
fn a_lower_one_joins() {
    insta::assert_snapshot!(after_a_second(
        AlgorithmKind::Ring,
        3,
        &[(0, Kill(1)), (500, Start(1))],
        800
    ));
}

#[test]
fn the_leader_resigns() {
    insta::assert_snapshot!(after_a_second(AlgorithmKind::Ring, 3, &[(0, Resign(3))], 300));
}

#[test]
fn the_leader_stops_in_order() {
    insta::assert_snapshot!(after_a_second(AlgorithmKind::Ring, 3, &[(0, Stop(3))], 300));
}

#[test]
fn all_initiate_at_once() {
    insta::assert_snapshot!(all_at_once(AlgorithmKind::Ring));
}

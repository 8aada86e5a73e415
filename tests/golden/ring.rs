//! The ring: node-1 sends to node-2, and so on around.

use electd::core::settings::AlgorithmKind;
use electd::sim::Step::{self, Elect, Kill, Resign, Start, Stop, Vanish};

use crate::{after_a_second, all_at_once, first_start};

/// What happens from a second after the start on.
fn story(nodes: usize, steps: &[(u64, Step)], until: u64) -> String {
    after_a_second(AlgorithmKind::Ring, nodes, steps, until)
}

#[test]
fn first_start_of_three() {
    insta::assert_snapshot!(first_start(AlgorithmKind::Ring, 3));
}

#[test]
fn leader_dies_with_proof() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4))], 300));
}

#[test]
fn leader_vanishes() {
    insta::assert_snapshot!(story(4, &[(0, Vanish(4))], 900));
}

/// The ballot of node-4, the greatest that calls an election, is on the way from node-1 to node-2.
#[test]
fn the_holder_of_the_ballot_dies() {
    insta::assert_snapshot!(story(5, &[(0, Kill(5)), (45, Kill(2))], 500));
}

#[test]
fn the_holder_of_the_ballot_vanishes() {
    insta::assert_snapshot!(story(5, &[(0, Kill(5)), (45, Vanish(2))], 1200));
}

#[test]
fn the_candidate_dies() {
    insta::assert_snapshot!(story(5, &[(0, Kill(5)), (55, Kill(4))], 500));
}

#[test]
fn a_call_under_a_live_leader_changes_nothing() {
    insta::assert_snapshot!(story(5, &[(0, Elect(2))], 300));
}

#[test]
fn a_lower_one_restarts_during_the_election() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (35, Kill(1)), (55, Start(1))], 500));
}

#[test]
fn the_highest_restarts_during_the_election() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (30, Start(4))], 500));
}

#[test]
fn the_highest_restarts_and_takes_over() {
    insta::assert_snapshot!(story(3, &[(0, Kill(3)), (500, Start(3))], 800));
}

#[test]
fn a_lower_one_joins() {
    insta::assert_snapshot!(story(3, &[(0, Kill(1)), (500, Start(1))], 800));
}

#[test]
fn the_leader_resigns() {
    insta::assert_snapshot!(story(3, &[(0, Resign(3))], 300));
}

#[test]
fn the_leader_stops_in_order() {
    insta::assert_snapshot!(story(3, &[(0, Stop(3))], 300));
}

#[test]
fn all_initiate_at_once() {
    insta::assert_snapshot!(all_at_once(AlgorithmKind::Ring));
}

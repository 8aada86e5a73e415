//! The bully with halt and reorganization. Its organiser sends HALT, ELECTED and READY, 20 ms apart.

use electd::core::settings::AlgorithmKind;
use electd::sim::Step::{self, HandOut, Kill, Resign, Start, Stop, Vanish};

use crate::{after_a_second, all_at_once, first_start};

/// What happens from a second after the start on.
fn story(nodes: usize, steps: &[(u64, Step)], until: u64) -> String {
    after_a_second(AlgorithmKind::Halting, nodes, steps, until)
}

#[test]
fn first_start_of_three() {
    insta::assert_snapshot!(first_start(AlgorithmKind::Halting, 3));
}

#[test]
fn leader_dies_with_proof() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4))], 300));
}

#[test]
fn leader_vanishes() {
    insta::assert_snapshot!(story(4, &[(0, Vanish(4))], 900));
}

#[test]
fn the_organiser_dies_after_halt() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (35, Kill(3))], 300));
}

#[test]
fn the_organiser_dies_after_elected() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (55, Kill(3))], 300));
}

#[test]
fn the_organiser_dies_after_ready() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (75, Kill(3))], 300));
}

#[test]
fn the_organiser_vanishes_after_elected() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (55, Vanish(3))], 900));
}

#[test]
fn a_lower_one_restarts_during_the_election() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (35, Kill(1)), (55, Start(1))], 400));
}

#[test]
fn the_highest_restarts_during_the_election() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (30, Start(4))], 400));
}

#[test]
fn a_new_task_is_handed_out() {
    insta::assert_snapshot!(story(3, &[(0, HandOut(3))], 300));
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
    insta::assert_snapshot!(all_at_once(AlgorithmKind::Halting));
}

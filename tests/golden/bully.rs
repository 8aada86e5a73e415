//! The bully.

use electd::core::settings::AlgorithmKind;
use electd::sim::Step::{self, Elect, Kill, Resign, Start, Stop, Vanish};

use crate::{after_a_second, all_at_once, first_start};

/// What happens from a second after the start on.
fn story(nodes: usize, steps: &[(u64, Step)], until: u64) -> String {
    after_a_second(AlgorithmKind::Bully, nodes, steps, until)
}

#[test]
fn first_start_of_three() {
    insta::assert_snapshot!(first_start(AlgorithmKind::Bully, 3));
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
fn the_one_who_answered_dies_before_it_announces() {
    let steps = [(0, Vanish(4)), (0, Elect(2)), (50, Kill(3))];
    insta::assert_snapshot!(story(4, &steps, 400));
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
    insta::assert_snapshot!(all_at_once(AlgorithmKind::Bully));
}

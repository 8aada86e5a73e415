//! The bully with halt and reorganization. Its organizer sends HALT, ELECTED and READY, 20 ms apart.

use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::PlayStep::{HandOut, Kill, Start, Vanish};

crate::golden::stories_of_all!(AlgorithmKind::Halting);

#[test]
fn the_organizer_dies_after_halt() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (35, Kill(3))], 300));
}

#[test]
fn the_organizer_dies_after_elected() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (55, Kill(3))], 300));
}

#[test]
fn the_organizer_dies_after_ready() {
    insta::assert_snapshot!(story(4, &[(0, Kill(4)), (75, Kill(3))], 300));
}

#[test]
fn the_organizer_vanishes_after_elected() {
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
fn the_highest_comes_back_with_an_older_task() {
    let steps = [(0, HandOut(3)), (200, Kill(3)), (400, HandOut(2)), (600, Start(3))];
    insta::assert_snapshot!(story(3, &steps, 1000));
}

//! The ring: node-1 sends to node-2, and so on around.

use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::PlayStep::{Elect, Kill, Start, Vanish};

crate::golden::stories_of_all!(AlgorithmKind::Ring);

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

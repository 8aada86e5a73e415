//! The bully.

use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::PlayStep::{Elect, Kill, Vanish};

crate::golden::stories_of_all!(AlgorithmKind::Bully);

#[test]
fn the_one_who_answered_dies_before_it_announces() {
    let steps = [(0, Vanish(4)), (0, Elect(2)), (50, Kill(3))];
    insta::assert_snapshot!(story(4, &steps, 400));
}

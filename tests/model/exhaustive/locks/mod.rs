//! The exhaustive check of the locks: all courses of small worlds, over the code of src/election/core/locks.

mod sentence;
mod step;
pub mod story;
pub mod world;

use std::collections::BTreeSet;

use strum::VariantNames;

use super::search::search;
use step::Step;
use story::STORIES;
use world::World;

/// About how many states each search visits here.
const STATES: usize = crate::fewer(2_000, 200_000) as usize;

/// Rules G1 to G11.
#[test]
fn no_two_members_act_under_one_name() {
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    for mut story in STORIES {
        let start = World::begin(&story);
        let report = search(&mut story, &start, STATES);
        assert!(report.breach.is_none(), "{}\n{report}", story.name);
        taken.extend(report.kinds.keys());
    }
    let never: Vec<_> = Step::VARIANTS.iter().filter(|kind| !taken.contains(*kind)).collect();
    assert!(crate::IS_SHORT || never.is_empty(), "these never happened: {never:?}");
}

#[test]
#[ignore = "a tool: make exhaustive STATES=10000000 STORY=locks"]
fn no_two_members_act_further_on() {
    let far = super::far();
    let mut broken = 0;
    for mut story in STORIES.into_iter().filter(|story| story.name.contains(&far.story)) {
        let start = World::begin(&story);
        let report = search(&mut story, &start, far.states);
        println!("{}\n{report}", story.name);
        broken += u32::from(report.breach.is_some());
    }
    assert_eq!(broken, 0, "stories that break a rule");
}

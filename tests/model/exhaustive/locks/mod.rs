//! The exhaustive check of the locks: all courses of small worlds, over the code of src/election/core/locks.

pub mod search;
mod sentence;
mod step;
pub mod story;
mod world;

use search::search;
use story::STORIES;

/// About how many states each search visits here.
const STATES: usize = crate::fewer(2_000, 200_000) as usize;

/// Rules G1 to G11.
#[test]
fn no_two_members_act_under_one_name() {
    for story in &STORIES {
        let found = search(story, STATES);
        assert_eq!(found.breach, None, "{}", story.name);
    }
}

#[test]
#[ignore = "a tool: make exhaustive STATES=10000000 STORY=locks"]
fn no_two_members_act_further_on() {
    let far = super::far();
    let mut broken = 0;
    for story in STORIES.iter().filter(|story| story.name.contains(&far.story)) {
        let found = search(story, far.states);
        let whole = if found.complete { "all" } else { "bounded" };
        let took = found.took.as_secs_f64();
        println!("{}", story.name);
        println!("  {} states, depth {}, {whole}, {took:.1} s", found.states, found.depth);
        if let Some((rule, steps)) = found.breach {
            broken += 1;
            println!("  BROKEN after {} steps: {rule}\n    {}", steps.len(), steps.join("\n    "));
        }
    }
    assert_eq!(broken, 0, "stories that break a rule");
}

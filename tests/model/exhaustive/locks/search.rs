//! The search: breadth first, so that the first schedule that breaks a rule is a shortest one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::super::book::fingerprint;
use super::step::Step;
use super::story::Story;
use super::world::World;

/// The result of a search.
pub struct Found {
    pub states: usize,
    /// How many steps the longest of its courses has.
    pub depth: usize,
    /// Whether no state was left out.
    pub complete: bool,
    /// What was broken, and the steps to it.
    pub breach: Option<(String, Vec<String>)>,
    pub took: Duration,
}

/// Visits every state of a story, or about as many as this.
pub fn search(story: &Story, most: usize) -> Found {
    let begin = Instant::now();
    let world = World::begin(story);
    let mut seen: HashMap<u64, (u64, u16)> = HashMap::from([(fingerprint(&world), (0, 0))]);
    let mut open = vec![world];
    let (mut breach, mut depth) = (None, 0);
    while breach.is_none() && !open.is_empty() && seen.len() < most {
        let mut next = Vec::new();
        depth += 1;
        'depth: for world in open {
            let from = fingerprint(&world);
            for (at, step) in Step::all(story, &world).into_iter().enumerate() {
                let Some(mut after) = step.take(&world) else { continue };
                let wrong = after.check().err();
                let at = u16::try_from(at).expect("few steps");
                seen.entry(fingerprint(&after)).or_insert_with(|| {
                    next.push(after);
                    (from, at)
                });
                if let Some(wrong) = wrong {
                    let mut steps = schedule(story, &seen, from);
                    steps.push(step.sentence(&world));
                    breach = Some((wrong, steps));
                    break 'depth;
                }
            }
        }
        open = next;
    }
    let (states, complete) = (seen.len(), open.is_empty());
    Found { states, depth, complete, breach, took: begin.elapsed() }
}

/// The steps from the start to a state.
fn schedule(story: &Story, seen: &HashMap<u64, (u64, u16)>, mut to: u64) -> Vec<String> {
    let mut world = World::begin(story);
    let first = fingerprint(&world);
    let mut path = Vec::new();
    while to != first {
        let (from, at) = seen[&to];
        path.push(usize::from(at));
        to = from;
    }
    let mut steps = Vec::new();
    for at in path.into_iter().rev() {
        let step = Step::all(story, &world)[at];
        steps.push(step.sentence(&world));
        world = step.take(&world).expect("it was taken before");
        world.check().expect("it was well before");
    }
    steps
}

//! The exhaustive check of `"quorum": "majority"`: all courses of three voters up to a bound, over
//! the real core, and of up to five where members come and go. `make exhaustive` goes further.

pub mod book;
mod course;
pub mod locks;
mod process;
pub mod search;
pub mod start;
mod step;
mod world;

use std::collections::BTreeMap;

use clap::Parser;

use book::Book;
use search::search;
use start::STORIES;

/// Steps without which the search would say little.
const NEEDED: &str =
    "trial opinion claim grant heartbeat acknowledge election coordinator list listed";

/// Faults that must have occurred; one that never does is not tested.
const FAULTS: [&str; 14] = [
    "a message is lost",
    "a message arrives twice",
    "a message overtakes another",
    "time passes, a process is paused",
    "crash, unwritten records lost",
    "crash, records written, nobody told",
    "restart",
    "a death is certified",
    "the end of a connection is seen",
    "a process is paused for a short time",
    "a process is paused for long",
    "a process goes on",
    "command: add a member",
    "command: remove a member",
];

/// About how many states each search visits here.
const STATES: usize = crate::fewer(4_000, 13_000) as usize;

/// Claims: one-leader, epoch.
#[test]
fn no_rule_is_broken_up_to_the_bound() {
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    for story in &STORIES {
        let mut book = Book::default();
        let start = story.begin(&mut book);
        let report = search(&mut book, &start, STATES);
        println!("{}, {} states of single processes\n{report}", story.name, book.len());
        assert!(report.breach.is_none(), "{}\n{report}", story.name);
        assert!(report.states >= STATES || report.complete, "{}\n{report}", story.name);
        for (kind, count) in report.kinds {
            *taken.entry(kind).or_default() += count;
        }
    }
    for kind in NEEDED.split_whitespace().chain(FAULTS) {
        assert!(crate::IS_SHORT || taken.contains_key(kind), "this never happened: {kind}");
    }
}

/// How far to go: from the environment.
#[derive(Parser)]
struct Far {
    /// About how many states each search visits.
    #[arg(long, env, default_value_t = 1_000_000)]
    states: usize,
    /// A word in the name of a story; without it all stories are searched.
    #[arg(long, env, default_value = "")]
    story: String,
}

fn far() -> Far {
    Far::parse_from(["exhaustive"])
}

/// Prints a shortest trace that breaks a rule, if there is one.
/// Claim: voters.
#[test]
#[ignore = "a tool: make exhaustive STATES=1000000 STORY=race"]
fn no_rule_is_broken_further_on() {
    let far = far();
    let mut broken = 0;
    for story in STORIES.iter().filter(|story| story.name.contains(&far.story)) {
        let mut book = Book::default();
        let start = story.begin(&mut book);
        let report = search(&mut book, &start, far.states);
        println!("{}, {} states of single processes\n{report}", story.name, book.len());
        broken += u32::from(report.breach.is_some());
    }
    assert_eq!(broken, 0, "stories that break a rule");
}

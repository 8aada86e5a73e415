//! The exhaustive check of `"quorum": "majority"`: all courses of three voters up to a bound, over
//! the real core. `make exhaustive` goes further; see `examples/exhaustive.rs`.

mod book;
mod process;
mod search;
mod start;
mod step;
mod world;

use book::Book;
use search::{Bounds, search};
use start::STORIES;

#[test]
fn no_rule_is_broken_up_to_the_bound() {
    for story in &STORIES {
        let mut book = Book::default();
        let start = story.begin(&mut book);
        let report = search(&mut book, &start, Bounds { depth: usize::MAX, states: 20_000 });
        println!("{}\n{report}", story.name);
        assert!(report.breach.is_none(), "{}\n{report}", story.name);
    }
}

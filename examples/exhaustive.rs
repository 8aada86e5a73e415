//! All courses of three voters up to a bound: `make exhaustive STATES=1000000`.
//!
//! Arguments: about how many states, and a word of the story's name, without which all are told.
//! Ends with 1 if a rule is broken, and prints a shortest trace that breaks it.

use std::process::ExitCode;

#[path = "../tests/exhaustive/book.rs"]
mod book;
#[path = "../tests/exhaustive/process.rs"]
mod process;
#[path = "../tests/exhaustive/search.rs"]
mod search;
#[path = "../tests/exhaustive/start.rs"]
mod start;
#[path = "../tests/exhaustive/step.rs"]
mod step;
#[path = "../tests/exhaustive/world.rs"]
mod world;

use book::Book;
use search::{Bounds, search};
use start::STORIES;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let states = arguments.next().unwrap_or_else(|| "1000000".to_owned());
    let Ok(states) = states.parse() else {
        eprintln!("{states}: give a number of states");
        return ExitCode::from(2);
    };
    let word = arguments.next().unwrap_or_default();
    let mut broken = false;
    for story in STORIES.iter().filter(|story| story.name.contains(&word)) {
        let mut book = Book::default();
        let start = story.begin(&mut book);
        let report = search(&mut book, &start, Bounds { depth: usize::MAX, states });
        println!("{}\n{report}", story.name);
        broken |= report.breach.is_some();
    }
    ExitCode::from(u8::from(broken))
}

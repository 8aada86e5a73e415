//! Whether the machine stood still while a test ran.
//!
//! A virtual machine may not be run at all for a second. Each member rightly counts the others as failed then, and
//! itself too, so a story of who leads goes another way than the one that the test tells.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::{Duration, Instant};

use super::enough::Enough;

/// How often we look whether we are run.
const BEAT: Duration = Duration::from_millis(20);

/// The shortest timeouts of the tests are not much longer.
const STILL: Duration = Duration::from_millis(300);

/// So often a story is told, at most.
const TIMES: usize = 4;

/// Tells a story. One that failed is told anew if the machine stood still meanwhile, and only then.
pub fn on_a_running_machine(story: impl Fn()) {
    for _ in 1..TIMES {
        let (outcome, longest) = with_pulse(&story);
        match outcome {
            Ok(()) => return,
            Err(failure) if longest < STILL => resume_unwind(failure),
            Err(_) => eprintln!("the machine stood still for {longest:.1?}: once more"),
        }
    }
    story();
}

/// Tells a story, and gives how it ended and for how long this process was not run at the longest.
fn with_pulse(story: impl Fn()) -> (thread::Result<()>, Duration) {
    let over = Enough::default();
    thread::scope(|scope| {
        let pulse = scope.spawn(|| longest_pause(&over));
        let at_end = over.at_end();
        let outcome = catch_unwind(AssertUnwindSafe(story));
        drop(at_end);
        (outcome, pulse.join().unwrap())
    })
}

fn longest_pause(over: &Enough) -> Duration {
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    while !over.is_said() {
        thread::sleep(BEAT);
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    longest
}

#[test]
fn a_story_that_failed_is_told_anew_only_where_the_machine_stood_still() {
    let told = std::cell::Cell::new(0);
    let fails = || {
        told.set(told.get() + 1);
        panic!("as this story does");
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| on_a_running_machine(fails)));
    assert!(outcome.is_err(), "its failure is told");
    assert!((1..=TIMES).contains(&told.get()), "told {} times", told.get());
}

//! Runs a test (`#[story]`), and notices whether the machine did not run meanwhile.
//!
//! A virtual machine may not be run at all for a second. Each member rightly counts the others as
//! failed then, and itself too, so the course of elections differs from the one that the test expects.

use std::any::Any;
use std::env;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::{Duration, Instant};

use super::enough::Enough;
use super::heed::heed_signals;

/// How often we look whether we are run.
const BEAT: Duration = Duration::from_millis(20);

/// The shortest timeouts of the tests are not much longer.
const STILL: Duration = Duration::from_millis(300);

/// How often a story is run, at most.
const TIMES: usize = 4;

/// If this variable is set, a story that failed is run at least twice: this process may have run while
/// the system let others wait. The log says so each time.
const TWICE: &str = "ELECTD_TEST_TWICE";

/// Runs a story. A failed story is run again if the machine did not run meanwhile, and otherwise only
/// if [`TWICE`] is set.
pub fn tell(story: impl Fn()) {
    heed_signals();
    tell_again(story, env::var_os(TWICE).is_some());
}

fn tell_again(story: impl Fn(), twice: bool) {
    for time in 1..TIMES {
        let (outcome, longest) = with_pulse(&story);
        match outcome {
            Ok(()) => return,
            Err(_) if longest >= STILL => {
                say(&format!("failed while the machine stood still for {longest:.1?}: once more"));
            }
            Err(failure) if twice && time == 1 => {
                say(&format!("is FLAKY, or broken: once more, after: {}", words(&*failure)));
            }
            Err(failure) => resume_unwind(failure),
        }
    }
    story();
}

/// The panic message of a story that failed.
fn words(failure: &(dyn Any + Send)) -> &str {
    let text = failure.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| failure.downcast_ref::<&str>().copied()).unwrap_or("no words")
}

/// Says so of this test, whether it passes in the end or not.
fn say(what: &str) {
    let test = thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(io::stderr(), "{test} {what}"); // without a reader, it passes or fails all the same
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
    let outcome = catch_unwind(AssertUnwindSafe(|| tell_again(fails, false)));
    assert!(outcome.is_err(), "its failure is told");
    assert!((1..=TIMES).contains(&told.get()), "told {} times", told.get());
}

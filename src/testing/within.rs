//! For tests: a wait for a condition.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until it is so, for at most so long.
#[track_caller]
pub fn within(limit: Duration, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "not in {limit:?}: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

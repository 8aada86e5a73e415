//! How a test waits: until what it expects is so, and never for a time.

use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything takes, even on a machine that is ten times slower and busy.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Between two looks at what a test waits for.
const PAUSE: Duration = Duration::from_millis(10);

/// The one loop that polls: until `look` gives what is expected, or the deadline has passed.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(last) if start.elapsed() > DEADLINE => {
                panic!("not so in {DEADLINE:?}: {what}\nlast: {last}")
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// The pause of a process that repeats something, such as one that a test watches.
pub fn breathe() {
    thread::sleep(Duration::from_millis(1));
}

/// An error unless this holds: for the looks of `eventually`.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

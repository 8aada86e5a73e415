//! For tests: waits that end, for a condition and for something that may hang.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
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

/// Does this on a thread of its own, for at most so long.
#[track_caller]
pub fn done_within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    act: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (tell, told) = channel();
    let thread = thread::spawn(move || tell.send(act()));
    match told.recv_timeout(limit) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => panic!("not in {limit:?}: {what}"),
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
    }
}

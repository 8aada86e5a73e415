//! Ends the threads that work beside a test, also where the test fails: whoever waits for such a thread would else wait
//! for ever, and nobody would learn of the failure.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the threads of a test have worked enough.
#[derive(Default)]
pub struct Enough(AtomicBool);

/// Says so at its end.
pub struct AtEnd<'a>(&'a Enough);

impl Enough {
    /// Asked by the threads, again and again.
    pub fn is_said(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Has the threads end with the value that this gives, however that ends.
    pub fn at_end(&self) -> AtEnd<'_> {
        AtEnd(self)
    }
}

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

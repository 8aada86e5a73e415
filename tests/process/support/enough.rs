//! Ends the threads that work beside a test, even if the test fails: otherwise the join of such a
//! thread would never return, and would hide the failure.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the threads of a test have worked enough.
#[derive(Default)]
pub struct Enough(AtomicBool);

/// Says so at its end.
pub struct AtEnd<'a>(&'a Enough);

impl Enough {
    /// Checked by the threads regularly.
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

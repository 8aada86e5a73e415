//! A build that can break rules, one at a time.

use std::cell::Cell;

use super::Fault;

/// Whether this build can break rules at all.
pub const BUILT_IN: bool = true;

// The only input that the core is not handed: so it exists in this build alone.
thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Breaks one rule, or none, in all that this thread runs from now on.
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

impl Fault {
    /// Whether the rule is broken, for this thread.
    pub fn is_planted(self) -> bool {
        PLANTED.get() == Some(self)
    }
}

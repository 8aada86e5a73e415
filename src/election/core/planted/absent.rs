//! A normal build, which can break no rule.

use super::Fault;

/// Whether this build can break rules at all.
pub const BUILT_IN: bool = false;

/// Breaks nothing: this build cannot.
pub fn plant(_: Option<Fault>) {}

impl Fault {
    /// Whether the rule is broken: never.
    pub const fn is_planted(self) -> bool {
        false
    }
}

// It is checked when this is compiled.
const _: () = {
    let mut at = 0;
    while at < Fault::ALL.len() {
        assert!(!Fault::ALL[at].is_planted());
        at += 1;
    }
};

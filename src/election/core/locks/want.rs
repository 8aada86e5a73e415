//! What a member wants.

use std::collections::BTreeMap;

use super::table::LockName;

/// How much a member wants a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockWant {
    /// How much work it is beside others.
    pub weight: u32,
    /// The greater is preferred.
    pub prefer: u32,
}

/// The names that a member wants.
pub type LockWants = BTreeMap<LockName, LockWant>;

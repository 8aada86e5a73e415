//! What the configuration says of all names, as far as the coordinator goes by it.

use std::collections::BTreeMap;

use super::table::{LockName, MOST_NAMES};

/// The settings of a cluster that decide where a name is held. All else of that, each candidate says itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockRules {
    /// The most names that are held at a time.
    pub most: usize,
    /// Names that are held where another is. No name leads back to itself.
    pub with: BTreeMap<LockName, LockName>,
    /// A hash of all that the configuration says of locks: members that have another one were configured otherwise. 0 for
    /// nothing known.
    pub digest: u64,
}

impl Default for LockRules {
    fn default() -> LockRules {
        LockRules { most: MOST_NAMES, with: BTreeMap::new(), digest: 0 }
    }
}

//! What members want and know of names that are held once in each period.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::periods::{AgreedTime, OncePer, RunEnd, VoterClocks};
use super::table::LockName;
use crate::core::types::Time;

/// The most names that a member wants once in each period.
pub const MOST_ONCE: usize = 1_000;

/// The names that are wanted once in each period.
pub type OnceWants = BTreeMap<LockName, OncePer>;

/// What a member wants and knows of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberPeriods {
    pub once: OnceWants,
    pub known: PeriodsKnown,
}

/// What a member wants and reports of names that are held once in each period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PeriodWants {
    /// Of the names that it wants those that are held so.
    pub once: BTreeMap<LockName, OncePer>,
    /// How the run ended of what it gave back.
    pub ended: BTreeMap<LockName, RunEnd>,
}

/// What a member knows of the names that are held once in each period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PeriodsKnown {
    pub agreed: Option<AgreedTime>,
    /// The names for which the coordinator goes by other periods than this member's.
    pub differ: Arc<BTreeSet<LockName>>,
}

/// What a coordinator knows of them, and is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunCoordination {
    pub clocks: VoterClocks,
    /// The names whose last run is to be forgotten, and since when.
    pub forgets: BTreeMap<LockName, Time>,
    /// How the runs ended of what voters passed on that its holder gave back.
    pub passed: BTreeMap<LockName, RunEnd>,
}

//! Locks: a program wants names for its member, and learns when the member holds them.
//!
//! The election thread alone touches the member's part in the locks, as it does the core; what a program wants and gives
//! back goes through its inbox, and each wanted name has a feed of its own, as the leadership has.

mod forgotten;
pub(super) mod hands;
mod looks;
mod moves;
mod named;
mod order;
mod orders;
mod outlook;
mod periods;
mod rebalance;
pub(super) mod request;
pub(super) mod seen;
pub(super) mod side;
pub(super) mod speech;
pub(super) mod turn;
mod urls;
mod wanted;
mod wants;

pub use crate::core::locks::periods::{BadPeriod, OncePer};
pub use crate::core::locks::table::{BadLockName, LockName};
pub use crate::core::locks::word::LockWant;
pub use electd_facts::locks::{LockEntry, LocksUnavailable, LocksView, TableVersion};
pub use electd_facts::runs::{LastRun, RunOutcome};
pub use order::LockOrder;
pub use periods::PeriodHindrance;
pub use request::{LockRefused, MOST_WANTED};
pub(crate) use urls::{GivenUrl, UrlOf, Urls};
pub use wanted::{NamedHold, WantedLock};

#[cfg(test)]
mod tests;

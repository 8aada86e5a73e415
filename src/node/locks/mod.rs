//! Locks: a program wants names for its member, and learns when the member holds them.
//!
//! The election thread alone touches the member's part in the locks, as it does the core; what a program wants and gives
//! back goes through its inbox, and each wanted name has a feed of its own, as the leadership has.

mod order;
mod request;
mod wanted;

pub use crate::core::locks::table::{BadLockName, LockName};
pub use crate::core::locks::word::LockWant;
pub use electd_facts::locks::{LockEntry, LocksUnavailable, LocksView, TableVersion};
pub use order::LockOrder;
pub(super) use request::LockRequest;
pub use request::{LockRefused, MOST_WANTED};
pub use wanted::{NamedHold, WantedLock};

use super::handle::CommandError;
use std::sync::Arc;

/// The election thread carries out a request.
pub(super) fn take(request: LockRequest) {
    match request {
        LockRequest::Want { answer, .. } => {
            let _ = answer.try_send(Ok(Arc::default())); // the caller may have given up
        }
        LockRequest::Hold { held, .. } => {
            let _ = held.try_send(()); // the caller may have given up
        }
        LockRequest::Order { answer, .. } => {
            let what = "no lock can be had yet".to_owned();
            let _ = answer.try_send(Err(CommandError::NotNow(what))); // the caller may have given up
        }
        LockRequest::Unwant { .. } | LockRequest::LetGo { .. } | LockRequest::GiveBack { .. } => {}
    }
}

//! The time in which a node knows no leader, and why it does not.

use electd_election::core::Cause;
use serde::{Deserialize, Serialize};

/// That no leader is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderlessStatus {
    /// When this node heard the last leader last, or started, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// For how long that was, in milliseconds.
    pub lasts_ms: u64,
    /// Why, as one word: what keeps the members from electing one, such as `isolated`; if nothing does, why the last
    /// leadership ended, such as `leader_dead`.
    pub cause: String,
    /// The same in words.
    pub reason: String,
}

impl LeaderlessStatus {
    /// The cause as the type that it came from; none for the start of the node, and for a word of a later version.
    #[must_use]
    pub fn known_cause(&self) -> Option<Cause> {
        self.cause.parse().ok()
    }

    /// Whether the voter votes for nobody, as its store is empty and it has not met all others.
    #[must_use]
    pub fn is_uninformed(&self) -> bool {
        self.known_cause() == Some(Cause::Uninformed)
    }

    /// Whether no member that lives may lead.
    #[must_use]
    pub fn has_no_candidate(&self) -> bool {
        self.known_cause() == Some(Cause::MayNotLead)
    }
}

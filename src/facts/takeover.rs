//! The takeover that is to come, as a node shows it.

use serde::{Deserialize, Serialize};

/// That a member is to take over from a leader that ranks below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeoverStatus {
    /// The name of the leader.
    pub from: String,
    /// When the member asks that leader to hand over, such as `2026-11-22T10:58:33.123Z`; null if it asks already.
    pub at: Option<String>,
    /// Why that has not happened yet, in words.
    pub why: String,
}

impl TakeoverStatus {
    /// Why a member that ranks above the leader has not taken over yet.
    #[must_use]
    pub fn why(preempt: &str, waits: bool) -> String {
        if waits {
            format!(
                "preempt {preempt}: until then it has not been eligible for long enough without a break"
            )
        } else {
            "it asks for that, and the leader or the voters have not agreed yet".to_owned()
        }
    }

    /// The takeover, as its leader lets it happen only then.
    #[must_use]
    pub fn not_before(self, at: &str, preempt: &str) -> TakeoverStatus {
        if self.at.as_deref() >= Some(at) {
            return self;
        }
        let why = TakeoverStatus::why(preempt, true);
        TakeoverStatus { at: Some(at.to_owned()), why, ..self }
    }

    /// The same as the end of a sentence about the member.
    #[must_use]
    pub fn words(&self) -> String {
        let TakeoverStatus { from, at, why } = self;
        let at = at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        format!("is to take over from {from}{at}: {why}")
    }
}

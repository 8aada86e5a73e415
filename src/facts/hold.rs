//! How a lock changed hands, as one node saw it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// Why a lock left its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// The holder gave it back: its work ended, or an operator, a drain, a failed check or the stop of its node ended that.
    GaveBack,
    /// The holder is certified to have ended, and none of its jobs is left.
    Died,
    /// The voters heard no more of the holder, and took the lock from it once their promises had ended.
    Silent,
}

impl HoldEnd {
    /// What became of this holder, in words.
    #[must_use]
    pub fn words(self, holder: &str) -> String {
        match self {
            HoldEnd::GaveBack => format!("{holder} gave it back"),
            HoldEnd::Died => {
                format!("the electd of {holder} ended, and nothing of its jobs is left")
            }
            HoldEnd::Silent => format!("{holder} was silent, and the promises to it ended"),
        }
    }
}

/// The holder that a lock had before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderBefore {
    /// Its name.
    pub holder: String,
    /// Its token.
    pub token: u64,
    /// When this node learned that it holds the lock no more, by its wall clock.
    pub until_ms: u64,
    /// Why.
    pub end: HoldEnd,
    /// The same in words.
    pub reason: String,
}

impl HolderBefore {
    /// The holder of this name and token, until this moment.
    #[must_use]
    pub fn new(holder: String, token: u64, until_ms: u64, end: HoldEnd) -> HolderBefore {
        let reason = end.words(&holder);
        HolderBefore { holder, token, until_ms, end, reason }
    }
}

/// What happened to a lock. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum LockEvent {
    /// A member holds it.
    LockHeld,
    /// Nobody holds it any more.
    LockFree,
}

/// A change of who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockChange {
    /// Its permanent name, such as `3-17`.
    pub id: String,
    /// When this node learned of it, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    pub event: LockEvent,
    /// The node that tells it, by name.
    pub node: String,
    /// The lock.
    pub lock: String,
    /// The member that holds it from then on, and its token.
    pub holder: Option<String>,
    /// The fencing token of that holder.
    pub token: Option<u64>,
    /// The member that held it before, if one did.
    pub before: Option<HolderBefore>,
    /// For how long nobody held it, as far as this node knows, if somebody does now.
    pub unheld_ms: Option<u64>,
}

impl LockChange {
    /// Who holds the lock, and what became of the holder before, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let now = match (&self.holder, self.token) {
            (Some(holder), Some(token)) => {
                format!("{holder} holds {}, under token {token}", self.lock)
            }
            _ => format!("nobody holds {}", self.lock),
        };
        let before = self.before.as_ref().map(|it| format!("; {}", it.reason));
        now + &before.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_tells_who_holds_the_lock_and_what_became_of_the_holder_before() {
        let change = |holder: Option<&str>, end: Option<HoldEnd>| LockChange {
            id: String::new(),
            at_ms: 0,
            event: LockEvent::LockHeld,
            node: "c".to_owned(),
            lock: "x".to_owned(),
            holder: holder.map(str::to_owned),
            token: holder.map(|_| 9),
            before: end.map(|end| HolderBefore::new("a".to_owned(), 7, 0, end)),
            unheld_ms: None,
        };
        for (holder, end, words) in [
            (Some("b"), None, "b holds x, under token 9"),
            (Some("b"), Some(HoldEnd::GaveBack), "b holds x, under token 9; a gave it back"),
            (
                None,
                Some(HoldEnd::Died),
                "nobody holds x; the electd of a ended, and nothing of its jobs is left",
            ),
            (
                None,
                Some(HoldEnd::Silent),
                "nobody holds x; a was silent, and the promises to it ended",
            ),
        ] {
            assert_eq!(change(holder, end).words(), words);
        }
    }
}

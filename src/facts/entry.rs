//! One leadership, or the time without one, as it is shown and stored.

use electd_election::core::Cause;
use serde::{Deserialize, Serialize};

use super::tells::Tells;

/// The answer of `GET /history`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The name of the node that saw this.
    pub node: String,
    /// The leaderships that it knew, oldest first, at most 1,000.
    pub leaderships: Vec<HistoryEntry>,
}

/// A leadership, as one node saw it. Field names and meanings are part of electd's interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The name of the leader.
    pub leader: String,
    /// Its epoch.
    pub epoch: u64,
    /// When it became known, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// When this node heard it last; null while it knows it, and if this node did not see the end.
    pub until_ms: Option<u64>,
    /// Whether this node knows it still.
    pub lasts: bool,
    /// The previous leader; null if this is the first leader since the node's start.
    pub before: Option<String>,
    /// The epoch of the previous leader, with the same exception.
    #[serde(default)]
    pub before_epoch: Option<u64>,
    /// Why the previous leadership ended, as one word; "start" for the first leadership since the
    /// node's start.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// For how long this node had heard no leader before, in milliseconds; for the first leadership since the node's
    /// start, since that.
    pub leaderless_ms: u64,
    /// When the job of this leadership was ended, as no renewal came in time, in milliseconds since the Unix epoch; left
    /// out where that did not happen, and on nodes that did not run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_late_ms: Option<u64>,
    /// Why this node gave its own leadership up; left out where it led not, or did not give up by itself or by an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<OwnEnd>,
}

/// Why a node gave its own leadership up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnEnd {
    /// As one word.
    pub cause: String,
    /// The same in words.
    pub reason: String,
}

/// A leadership that a node gave up, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// Its epoch.
    pub epoch: u64,
    /// Why.
    #[serde(flatten)]
    pub end: OwnEnd,
}

impl GivenUp {
    /// The last of these leaderships, or the one before, if this node gave it up: earlier ones tell nothing of the present.
    #[must_use]
    pub fn last_of(entries: &[HistoryEntry]) -> Option<GivenUp> {
        let given_up =
            |it: &HistoryEntry| Some(GivenUp { epoch: it.epoch, end: it.ended.clone()? });
        entries.iter().rev().take(2).find_map(given_up)
    }
}

impl HistoryEntry {
    /// For how long this node knows that there was no leader before; none if it missed how the leadership before ended, as
    /// it followed that leader until it received the announcement of this one.
    #[must_use]
    pub fn gap_ms(&self) -> Option<u64> {
        use Cause::{LeaderReleased, Overruled, Reclaimed};
        let is_end = matches!(self.cause.parse(), Ok(LeaderReleased | Overruled | Reclaimed));
        let saw_end = is_end || Tells::by(&self.cause) > Tells::Little;
        Some(self.leaderless_ms).filter(|gap| *gap > 0 || saw_end)
    }

    /// That a leads in this epoch from now on.
    #[doc(hidden)]
    #[must_use]
    pub fn of_a(epoch: u64) -> HistoryEntry {
        HistoryEntry {
            leader: "a".to_owned(),
            epoch,
            since_ms: 1,
            until_ms: None,
            lasts: true,
            before: None,
            before_epoch: None,
            cause: "start".to_owned(),
            reason: "this node started".to_owned(),
            leaderless_ms: 0,
            job_late_ms: None,
            ended: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn no_time_without_a_leader_is_a_figure_only_of_a_node_that_saw_the_end() {
        for (cause, gap_ms, known) in [
            ("leader_dead", 3, Some(3)),
            ("preempted", 0, Some(0)),
            ("resigned", 0, Some(0)),
            ("leader_released", 0, Some(0)),
            ("reclaimed", 0, Some(0)),
            ("overruled", 0, Some(0)),
            ("announced", 0, None),
            ("announced", 7, Some(7)),
            ("start", 0, None),
            ("a word of a later version", 0, None),
        ] {
            let told = HistoryEntry {
                cause: cause.to_owned(),
                leaderless_ms: gap_ms,
                ..HistoryEntry::of_a(2)
            };
            assert_eq!(told.gap_ms(), known, "{cause}");
        }
    }

    #[test]
    fn an_entry_is_told_whole_and_read_without_what_came_later() {
        let entry = HistoryEntry {
            leader: "b".to_owned(),
            epoch: 2,
            since_ms: 3,
            until_ms: Some(4),
            lasts: true,
            before: Some("c".to_owned()),
            before_epoch: Some(5),
            cause: "leader_dead".to_owned(),
            reason: "c is dead".to_owned(),
            leaderless_ms: 6,
            job_late_ms: None,
            ended: None,
        };
        let mut told = json!({
            "leader": "b", "epoch": 2, "since_ms": 3, "until_ms": 4, "lasts": true, "before": "c", "before_epoch": 5,
            "cause": "leader_dead", "reason": "c is dead", "leaderless_ms": 6
        });
        assert_eq!(json!(entry), told);
        assert_eq!(from_value::<HistoryEntry>(told.clone()).unwrap(), entry);
        told.as_object_mut().unwrap().remove("before_epoch");
        let early = HistoryEntry { before_epoch: None, ..entry };
        assert_eq!(from_value::<HistoryEntry>(told).unwrap(), early);
    }
}

//! What one node recorded of its elections: the document of `GET /trace`, which docs/trace.md describes.

use serde::{Deserialize, Serialize};

use super::bounded;

/// The record of a node since its start, as far as it is kept.
///
/// ```
/// use electd::trace::record::Record;
///
/// let record: Record = serde_json::from_str(r#"{"node": "a", "now_ns": 7}"#)?;
/// assert!(record.entries.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The name of its cluster.
    pub cluster: String,
    /// The name of the node.
    pub node: String,
    /// How often the node has been started.
    pub incarnation: u64,
    /// The election algorithm.
    pub algorithm: String,
    /// What a leader needs.
    pub quorum: String,
    /// When this was told, in nanoseconds by the clock of the record: that of the host, since its boot.
    pub now_ns: u64,
    /// The same by the host's wall clock, in milliseconds since the Unix epoch.
    pub wall_ms: u64,
    /// From when on the record has all.
    pub since_ns: u64,
    /// The names of all members, in the order of their ids.
    pub members: Vec<String>,
    /// What the node took and did, in order.
    #[serde(deserialize_with = "bounded::entries")]
    pub entries: Vec<Entry>,
}

/// What a node took or did. Fields that make no sense for its kind are absent.
///
/// ```
/// use electd::trace::record::Entry;
///
/// let entry: Entry = serde_json::from_str(r#"{"n": 3, "at_ns": 7, "what": "lost", "peer": "b"}"#)?;
/// assert_eq!(entry.peer.as_deref(), Some("b"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Its number, which grows from the node's start on.
    pub n: u64,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// Its kind: docs/trace.md has them all.
    pub what: String,
    /// The entries of this node that brought it about, by their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<u64>,
    /// It in few words.
    pub label: String,
    /// The other member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The kind of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The round or epoch that the message is about, or the epoch after a change of phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// How many messages went before this one on its connection: both sides count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// Which start of the other member this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u64>,
    /// The phase after a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The leader after a change of phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Why the phase changed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when the node waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ns: Option<u64>,
}

impl Record {
    /// The same with the entries of one epoch alone: from when this node settled in an earlier one until it left this
    /// one.
    ///
    /// ```
    /// use electd::trace::record::{Entry, Record};
    ///
    /// let became = |phase: &str, epoch| Entry {
    ///     what: "became".to_owned(),
    ///     phase: Some(phase.to_owned()),
    ///     number: Some(epoch),
    ///     ..Entry::default()
    /// };
    /// let entries = vec![
    ///     became("following", 1), became("electing", 1), became("leading", 2), became("stopping", 2),
    /// ];
    /// let of_2 = Record { entries, ..Record::default() }.of_epoch(2);
    /// assert_eq!(of_2.entries.len(), 2, "the election, and no end of the leadership");
    /// ```
    #[must_use]
    pub fn of_epoch(mut self, epoch: u64) -> Record {
        let is_in = |entry: &Entry| entry.settles() && entry.number == Some(epoch);
        let first = self.entries.iter().position(is_in);
        let last = self.entries.iter().rposition(is_in);
        let (Some(first), Some(last)) = (first, last) else {
            self.entries.clear();
            return self;
        };
        let left = self.entries[last + 1..].iter().position(|entry| entry.phase.is_some());
        self.entries.truncate(left.map_or(self.entries.len(), |after| last + 1 + after));
        let before = self.entries[..first].iter().rposition(Entry::settles);
        self.entries.drain(..before.map_or(0, |before| before + 1));
        self
    }
}

impl Entry {
    /// Whether the node has a leader from here on, itself or another.
    pub(super) fn settles(&self) -> bool {
        self.phase.as_deref().is_some_and(|phase| matches!(phase, "following" | "leading"))
    }
}

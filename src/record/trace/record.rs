//! What one node recorded of its elections: the document of `GET /trace`, which docs/trace.md describes.

use serde::{Deserialize, Serialize};

use super::bounded;
use super::event::Caption;
use crate::core::message::Kind;

/// The record of a node since its start, as far as it is kept.
///
/// ```
/// use electd_record::trace::record::Record;
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
/// use electd_record::trace::record::Entry;
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
    pub kind: Option<MessageKind>,
    /// The round or epoch that the message is about, or the epoch after a change of phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// How many messages went before this one on its connection: both sides count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// Which start of the other member this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u64>,
    /// Whether this shows that the process of the other member is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
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

/// The kind of a message in a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MessageKind {
    /// One that this version knows.
    Known(Kind),
    /// One of a later version, by its name.
    Other(String),
}

impl MessageKind {
    /// Its name in JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            MessageKind::Known(kind) => kind.name(),
            MessageKind::Other(name) => name,
        }
    }

    /// Its name in traces.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            MessageKind::Known(kind) => kind.title(),
            MessageKind::Other(name) => name.to_uppercase().replace('_', "-"),
        }
    }

    /// The kind, if this version knows it.
    #[must_use]
    pub fn known(&self) -> Option<Kind> {
        if let MessageKind::Known(kind) = self { Some(*kind) } else { None }
    }
}

impl From<String> for MessageKind {
    fn from(name: String) -> MessageKind {
        Kind::named(&name).map_or(MessageKind::Other(name), MessageKind::Known)
    }
}

impl From<Kind> for MessageKind {
    fn from(kind: Kind) -> MessageKind {
        MessageKind::Known(kind)
    }
}

impl From<MessageKind> for String {
    fn from(kind: MessageKind) -> String {
        kind.name().to_owned()
    }
}

impl Record {
    /// The same with the entries of one epoch alone: from when this node settled in an earlier one until it left this
    /// one.
    ///
    /// ```
    /// use electd_record::trace::record::{Entry, Record};
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
    /// The kind of its message, if this version knows it.
    pub(super) fn known(&self) -> Option<Kind> {
        self.kind.as_ref().and_then(MessageKind::known)
    }

    /// Its message as a drawing shows it.
    pub(super) fn caption(&self) -> Caption {
        Caption { kind: self.known(), number: self.number, label: self.label.clone() }
    }

    /// Whether the node has a leader from here on, itself or another.
    pub(super) fn settles(&self) -> bool {
        self.phase.as_deref().is_some_and(|phase| matches!(phase, "following" | "leading"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn became(n: u64, phase: &str, number: u64) -> Entry {
        Entry { n, phase: Some(phase.to_owned()), number: Some(number), ..Entry::default() }
    }

    #[test]
    fn a_record_is_written_with_what_there_is_and_read_without_the_rest() {
        let text = |text: &str| Some(text.to_owned());
        let full = Entry {
            n: 1,
            at_ns: 2,
            what: "what".to_owned(),
            causes: vec![3, 4],
            label: "label".to_owned(),
            peer: text("peer"),
            kind: Some(MessageKind::Other("kind".to_owned())),
            number: Some(5),
            place: Some(6),
            incarnation: Some(7),
            gone: true,
            phase: text("phase"),
            leader: text("leader"),
            reason: text("reason"),
            since_ns: Some(8),
        };
        let record = Record {
            cluster: "cluster".to_owned(),
            node: "node".to_owned(),
            incarnation: 9,
            algorithm: "algorithm".to_owned(),
            quorum: "quorum".to_owned(),
            now_ns: 10,
            wall_ms: 11,
            since_ns: 12,
            members: vec!["member".to_owned()],
            entries: vec![full, Entry::default()],
        };
        let written = json!({
            "cluster": "cluster", "node": "node", "incarnation": 9, "algorithm": "algorithm", "quorum": "quorum",
            "now_ns": 10, "wall_ms": 11, "since_ns": 12, "members": ["member"],
            "entries": [
                {"n": 1, "at_ns": 2, "what": "what", "causes": [3, 4], "label": "label", "peer": "peer",
                 "kind": "kind", "number": 5, "place": 6, "incarnation": 7, "gone": true, "phase": "phase",
                 "leader": "leader", "reason": "reason", "since_ns": 8},
                {"n": 0, "at_ns": 0, "what": "", "label": ""},
            ],
        });
        assert_eq!(serde_json::to_value(&record).unwrap(), written);
        assert_eq!(serde_json::from_value::<Record>(written).unwrap(), record);
        assert_eq!(serde_json::from_str::<Record>("{}").unwrap(), Record::default());
    }

    #[test]
    fn the_entries_of_an_epoch_reach_from_the_end_of_an_earlier_one_to_its_own() {
        let all = [
            became(0, "starting", 0),
            became(1, "following", 1),
            Entry { n: 2, number: Some(2), ..Entry::default() },
            became(3, "electing", 1),
            became(4, "following", 2),
            Entry { n: 5, ..Entry::default() },
            became(6, "leading", 2),
            Entry { n: 7, ..Entry::default() },
            became(8, "electing", 2),
            became(9, "leading", 3),
            Entry { n: 10, ..Entry::default() },
        ];
        for (epoch, kept) in [
            (0, vec![]),
            (1, vec![0, 1, 2]),
            (2, vec![2, 3, 4, 5, 6, 7]),
            (3, vec![7, 8, 9, 10]),
            (4, vec![]),
        ] {
            let record =
                Record { node: "a".to_owned(), entries: all.to_vec(), ..Record::default() };
            let of_epoch = record.of_epoch(epoch);
            assert_eq!(
                of_epoch.entries.iter().map(|entry| entry.n).collect::<Vec<_>>(),
                kept,
                "{epoch}"
            );
            assert_eq!(of_epoch.node, "a");
        }
    }
}

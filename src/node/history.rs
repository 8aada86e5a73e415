//! The leaderships as this node saw them: derived from its changes of state, and kept on disk.
//!
//! ```
//! # let node = electd::node::example::leader()?;
//! use electd::node::handle::Handle;
//! use electd::node::history::History;
//!
//! let handle = node.handle();
//! let leaderships = handle.history().to_vec();
//! println!("{}", serde_json::json!(History { node: handle.status().node.name, leaderships }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use electd_facts::words::some_of;

pub use electd_facts::entry::{History, HistoryEntry, OwnEnd};
pub use electd_facts::tells::{START, Tells};

use super::leaderless::Leaderless;
use super::status::ChangeStatus;
use crate::core::{Cause, Phase};

pub(super) use file::{HistoryKeeper, load};

/// How many leaderships are kept.
pub const KEPT: usize = 1000;

/// The greatest length of a reason.
const LONGEST: usize = 200;

/// The leadership that this node knows, or since when it knows none; and those before.
#[derive(Debug)]
pub(super) struct Leaderships {
    current: Option<(String, u64)>,
    /// The leadership before the current one; while nobody leads, the last one.
    before: Option<(String, u64)>,
    lost: Option<Lost>,
    /// Oldest first.
    entries: Vec<HistoryEntry>,
}

/// Changes of the leader that nobody ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnplannedChanges {
    /// How many there were.
    pub times: usize,
    /// Why the leader changed the last time.
    pub why: String,
    /// How often each node lost the leadership, by its name.
    pub lost: BTreeMap<String, usize>,
}

impl UnplannedChanges {
    /// The nodes that lost the leadership, most often first, in words.
    pub fn losers(&self) -> String {
        let mut all: Vec<(&String, usize)> =
            self.lost.iter().map(|(name, times)| (name, *times)).collect();
        all.sort_by_key(|(_, times)| Reverse(*times));
        let each = all.iter().map(|(name, times)| match times {
            1 => format!("{name} once"),
            times => format!("{name} {times} times"),
        });
        some_of(&each.collect::<Vec<_>>())
    }
}

/// How the last leadership ended.
#[derive(Clone, Debug)]
struct Lost {
    /// When this node last heard the leader, in milliseconds since the Unix epoch.
    at_ms: u64,
    cause: String,
    reason: String,
    /// What keeps the members from electing another, as far as this node knows: the cause and its words.
    hindrance: Option<(String, String)>,
}

impl Leaderships {
    /// No leader has been known since this moment, as the node starts. Earlier starts knew these.
    pub fn new(at_ms: u64, mut entries: Vec<HistoryEntry>) -> Leaderships {
        let (cause, reason) = (START.to_owned(), "this node started".to_owned());
        // An earlier start that was killed did not see the end.
        entries.iter_mut().for_each(|entry| entry.lasts = false);
        Leaderships {
            current: None,
            before: None,
            lost: Some(Lost { at_ms, cause, reason, hindrance: None }),
            entries,
        }
    }

    /// Takes the next change; gives the leadership that begins with it.
    pub fn change(&mut self, change: &ChangeStatus) -> Option<HistoryEntry> {
        let Some(leader) = change.leader.clone() else {
            if let Some(before) = self.current.take() {
                self.lose(before, change);
            }
            if let Some(lost) = self.lost.as_mut().filter(|_| change.hinders) {
                lost.hindrance = Some((change.cause.clone(), shortened(&change.reason)));
            }
            return None;
        };
        let (epoch, at_ms) = (change.epoch, change.at_ms);
        let now = Some((leader.clone(), epoch));
        if self.current == now {
            return None;
        }
        // If a leader follows another directly, this change itself caused that.
        if let Some(before) = std::mem::replace(&mut self.current, now) {
            self.lose(before, change);
        }
        let Lost { at_ms: since, cause, reason, .. } =
            self.lost.take().unwrap_or_else(|| Lost::by(change));
        let (before, before_epoch) = self.before.clone().unzip();
        let mut leaderless_ms = at_ms.saturating_sub(since);
        if cause.parse().is_ok_and(died) {
            leaderless_ms = leaderless_ms.max(1); // clocks count whole milliseconds
        }
        let (since_ms, until_ms, lasts) = (at_ms, None, true);
        let entry = HistoryEntry {
            leader,
            epoch,
            since_ms,
            until_ms,
            lasts,
            before,
            before_epoch,
            cause,
            reason,
            leaderless_ms,
            job_late_ms: None,
            ended: None,
        };
        self.add(entry.clone());
        Some(entry)
    }

    /// This node no longer knows the last leadership. Its end, and the time without a leader, begin when this node
    /// heard the leader last: a frozen leader leads nobody, long before it is suspected.
    fn lose(&mut self, leadership: (String, u64), change: &ChangeStatus) {
        let mut lost = Lost::by(change);
        if let Some(last) = self.entries.last_mut() {
            lost.at_ms = lost.at_ms.max(last.since_ms);
            (last.until_ms, last.lasts) = (Some(lost.at_ms), false);
            last.ended = own_end(change, &lost);
        }
        (self.before, self.lost) = (Some(leadership), Some(lost));
    }

    /// Adds a leadership, or continues the last one if this node had only lost contact with it.
    fn add(&mut self, entry: HistoryEntry) {
        let same =
            |last: &&mut HistoryEntry| (&last.leader, last.epoch) == (&entry.leader, entry.epoch);
        if let Some(last) = self.entries.last_mut().filter(same) {
            (last.until_ms, last.lasts, last.ended) = (None, true, None);
            return;
        }
        if self.entries.len() == KEPT {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }

    /// The job of this node was ended in this epoch, as no renewal came in time. Returns whether that is new.
    pub fn note_late(&mut self, own: &str, epoch: u64, at_ms: u64) -> bool {
        let is_it =
            |entry: &&mut HistoryEntry| (entry.leader.as_str(), entry.epoch) == (own, epoch);
        let entry = self.entries.iter_mut().rev().find(is_it);
        entry.is_some_and(|entry| entry.job_late_ms.replace(at_ms) != Some(at_ms))
    }

    /// The changes of the leader since this moment, in milliseconds since the Unix epoch, without an order of an operator.
    pub fn unplanned(&self, since_ms: u64) -> UnplannedChanges {
        let of_late = self.entries.iter().filter(|entry| entry.since_ms >= since_ms);
        let counts = |entry: &&HistoryEntry| Tells::by(&entry.cause) == Tells::Fate;
        let mut found = UnplannedChanges::default();
        for entry in of_late.filter(counts) {
            found.times += 1;
            found.why.clone_from(&entry.reason);
            let Some(before) = &entry.before else { continue };
            *found.lost.entry(before.clone()).or_default() += 1;
        }
        found
    }

    /// The leaderships that are kept, oldest first.
    pub fn entries(&self) -> Arc<Vec<HistoryEntry>> {
        Arc::new(self.entries.clone())
    }

    /// Since when no leader is known, and why; none while one is.
    pub fn leaderless(&self) -> Option<Leaderless> {
        let lost = self.lost.clone()?;
        let (cause, reason) = lost.hindrance.unwrap_or((lost.cause, lost.reason));
        Some(Leaderless { since_ms: lost.at_ms, cause, reason })
    }
}

impl Lost {
    fn by(change: &ChangeStatus) -> Lost {
        let ChangeStatus { at_ms, silent_ms, cause, reason, .. } = change;
        let (cause, reason) = (cause.clone(), shortened(reason));
        Lost { at_ms: at_ms.saturating_sub(*silent_ms), cause, reason, hindrance: None }
    }
}

/// Why this node gave its own leadership up, if it did: the others know only that it handed over, and it may end before it
/// meets the next leader.
fn own_end(change: &ChangeStatus, lost: &Lost) -> Option<OwnEnd> {
    let gave_up =
        change.phase_before() == Some(Phase::Leading) && Tells::by(&change.cause) == Tells::Order;
    gave_up.then(|| OwnEnd { cause: lost.cause.clone(), reason: lost.reason.clone() })
}

/// Whether a leadership that ended for this reason ended with its process, so that nobody led for a time.
fn died(cause: Cause) -> bool {
    use Cause::{LeaderCertified, LeaderDead, LeaderRestarted};
    matches!(cause, LeaderCertified | LeaderDead | LeaderRestarted)
}

fn shortened(reason: &str) -> String {
    reason.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests;

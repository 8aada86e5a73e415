//! Who led when, as this node saw it: made of the changes of state, one after another.

use super::status::ChangeStatus;

/// That a leader became known to this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub leader: String,
    /// Its epoch.
    pub epoch: u64,
    /// Who led before; none if this is the first leader since the node's start.
    pub before: Option<String>,
    /// Why the leadership before it ended, as a word; "start" for the first that this node knows.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// For how long this node knew no leader before, in milliseconds.
    pub leaderless_ms: u64,
}

/// The leadership that this node knows, or since when it knows none.
#[derive(Debug)]
pub(super) struct History {
    current: Option<(String, u64)>,
    /// Who led before that, or led last.
    before: Option<String>,
    lost: Option<Lost>,
}

/// How the last leadership ended.
#[derive(Clone, Debug)]
struct Lost {
    /// When, in milliseconds since the Unix epoch.
    at_ms: u64,
    cause: String,
    reason: String,
}

impl History {
    /// No leader has been known since this moment, as the node starts.
    pub fn new(at_ms: u64) -> History {
        let lost =
            Lost { at_ms, cause: "start".to_owned(), reason: "this node started".to_owned() };
        History { current: None, before: None, lost: Some(lost) }
    }

    /// Takes the next change; gives the leadership that begins with it.
    pub fn change(&mut self, change: &ChangeStatus) -> Option<Entry> {
        let Some(leader) = change.leader.clone() else {
            if let Some((leader, _)) = self.current.take() {
                self.before = Some(leader);
                self.lost = Some(Lost::by(change));
            }
            return None;
        };
        let epoch = change.epoch;
        let now = Some((leader.clone(), epoch));
        if self.current == now {
            return None;
        }
        if let Some((before, _)) = std::mem::replace(&mut self.current, now) {
            self.before = Some(before);
        }
        // A leader that follows another at once had its cause in this very change.
        let lost = self.lost.take().unwrap_or_else(|| Lost::by(change));
        let (before, leaderless_ms) =
            (self.before.clone(), change.at_ms.saturating_sub(lost.at_ms));
        Some(Entry { leader, epoch, before, cause: lost.cause, reason: lost.reason, leaderless_ms })
    }

    /// Since when no leader is known, in milliseconds since the Unix epoch; none while one is.
    pub fn leaderless_since(&self) -> Option<u64> {
        self.lost.as_ref().map(|lost| lost.at_ms)
    }
}

impl Lost {
    fn by(change: &ChangeStatus) -> Lost {
        let ChangeStatus { at_ms, cause, reason, .. } = change;
        Lost { at_ms: *at_ms, cause: cause.clone(), reason: reason.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_ms: u64, leader: Option<&str>, epoch: u64, cause: &str) -> ChangeStatus {
        ChangeStatus {
            number: 1,
            at_ms,
            from: String::new(),
            to: String::new(),
            halting: None,
            leader: leader.map(str::to_owned),
            epoch,
            reason: String::new(),
            cause: cause.to_owned(),
        }
    }

    #[test]
    fn a_leadership_is_told_once_with_the_time_without_a_leader_and_why_that_was() {
        let mut known = History::new(1000);
        let mut told = |at, leader, epoch, cause| {
            let begun = known.change(&change(at, leader, epoch, cause));
            begun.map(|begun| (begun.leader, begun.epoch, begun.cause, begun.leaderless_ms))
        };
        let led = |leader: &str, epoch, cause: &str, time| {
            Some((leader.to_owned(), epoch, cause.to_owned(), time))
        };
        assert_eq!(told(1001, None, 0, "all_connected"), None);
        assert_eq!(told(1005, Some("c"), 1, "announced"), led("c", 1, "start", 5));
        assert_eq!(told(1006, Some("c"), 1, "announced"), None, "the same");
        assert_eq!(told(2000, None, 1, "leader_suspected"), None);
        assert_eq!(told(2100, None, 1, "no_majority"), None);
        assert_eq!(told(2300, Some("b"), 2, "highest"), led("b", 2, "leader_suspected", 300));
        assert_eq!(told(3000, Some("a"), 3, "leader_dead"), led("a", 3, "leader_dead", 0));
    }
}

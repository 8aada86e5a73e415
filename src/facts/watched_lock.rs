//! The lines of `electd watch --lock`: each change of hands once, whichever node tells it first.

use serde::Serialize;

use super::hold::{HolderBefore, LockChange};
use super::locks::LocksView;
use super::words::moment;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockLineKind {
    /// As the lock was found.
    Now,
    /// A member holds it.
    Held,
    /// Nobody holds it.
    Free,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "a field without words is what its name says")]
pub struct LockLine {
    pub kind: LockLineKind,
    pub time: String,
    /// The node that tells it; none of what was found first.
    pub node: Option<String>,
    pub lock: String,
    pub holder: Option<String>,
    pub token: Option<u64>,
    pub before: Option<HolderBefore>,
    pub reason: String,
}

impl LockLine {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}  {}\n", self.time, self.reason)
    }
}

/// What was told of the lock so far. Tokens only grow, so each begin and each end is told once, whichever nodes tell it.
#[derive(Debug, Default)]
pub struct ToldLock {
    /// The greatest token whose begin was told, and the greatest whose end was.
    begun: u64,
    ended: u64,
}

impl ToldLock {
    /// As the lock is found first.
    pub fn find(&mut self, view: &LocksView, name: &str, now_ms: u64) -> LockLine {
        let lock = view.lock(name);
        let known = view.version.map_or(0, |version| version.counter);
        (self.begun, self.ended) = match lock.token {
            Some(token) => (token, token.saturating_sub(1)),
            None => (known, known),
        };
        LockLine {
            kind: LockLineKind::Now,
            time: moment(now_ms),
            node: None,
            lock: name.to_owned(),
            holder: lock.holder,
            token: lock.token,
            before: lock.before,
            reason: match (view.standing(name), lock.token, lock.since_ms) {
                (standing, Some(token), Some(since)) => {
                    format!("{standing}, under token {token}, since {}", moment(since))
                }
                (standing, ..) => standing,
            },
        }
    }

    /// The line for this change, if it says anything new.
    pub fn take(&mut self, mut change: LockChange) -> Option<LockLine> {
        let ended = change.before.as_ref().map(|before| before.token);
        let is_new_end = ended.is_some_and(|token| token > self.ended);
        let is_new_begin = change.token.is_some_and(|token| token > self.begun);
        // A late node tells of a holder whose successor is known.
        let is_over = change.token.is_none() && ended.is_some_and(|token| token < self.begun);
        self.begun = self.begun.max(change.token.unwrap_or(0));
        self.ended = self.ended.max(ended.unwrap_or(0));
        if !(is_new_begin || is_new_end && change.token.is_none()) || is_over {
            return None;
        }
        change.before.take_if(|_| !is_new_end);
        let kind = if is_new_begin { LockLineKind::Held } else { LockLineKind::Free };
        Some(LockLine {
            kind,
            time: moment(change.at_ms),
            reason: change.words(),
            node: Some(change.node),
            lock: change.lock,
            holder: change.holder,
            token: change.token,
            before: change.before,
        })
    }

    /// The line for what a node knows that was not heard for a while, if it says anything new.
    pub fn look(&mut self, view: &LocksView, name: &str, now_ms: u64) -> Option<LockLine> {
        let lock = view.lock(name);
        let is_new = match lock.token {
            Some(token) => token > self.begun,
            None => {
                let known = view.version.map_or(0, |version| version.counter);
                self.begun > self.ended && known > self.begun
            }
        };
        is_new.then(|| self.find(view, name, now_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::super::hold::{HoldEnd, LockEvent};
    use super::super::locks::{LockEntry, TableVersion};
    use super::*;

    fn view(holder: Option<(&str, u64)>, counter: u64) -> LocksView {
        let lock = LockEntry {
            name: "x".to_owned(),
            holder: holder.map(|(name, _)| name.to_owned()),
            token: holder.map(|(_, token)| token),
            since_ms: holder.map(|_| 0),
            ..LockEntry::default()
        };
        let version = Some(TableVersion { epoch: 1, counter });
        LocksView { version, locks: vec![lock], ..LocksView::default() }
    }

    fn change(holder: Option<(&str, u64)>, before: Option<(&str, u64)>) -> LockChange {
        LockChange {
            id: "1-1".to_owned(),
            at_ms: 0,
            event: LockEvent::LockHeld,
            node: "n".to_owned(),
            lock: "x".to_owned(),
            holder: holder.map(|(name, _)| name.to_owned()),
            token: holder.map(|(_, token)| token),
            before: before.map(|(name, token)| {
                HolderBefore::new(name.to_owned(), token, 0, HoldEnd::GaveBack)
            }),
            unheld_ms: None,
        }
    }

    /// Each node tells each change, and one that missed a table tells two as one.
    #[test]
    fn each_begin_and_each_end_is_told_once_whichever_nodes_tell_it() {
        let mut told = ToldLock::default();
        let first = told.find(&view(Some(("a", 5)), 7), "x", 0);
        assert_eq!(first.reason, "a holds it, under token 5, since 1970-01-01T00:00:00.000Z");
        let mut take = |holder, before| told.take(change(holder, before)).map(|line| line.reason);
        assert_eq!(take(Some(("a", 5)), None), None, "that was found");
        let free = Some("nobody holds x; a gave it back".to_owned());
        assert_eq!(take(None, Some(("a", 5))), free);
        assert_eq!(take(None, Some(("a", 5))), None, "another node");
        let held = Some("b holds x, under token 9".to_owned());
        assert_eq!(take(Some(("b", 9)), Some(("a", 5))), held, "its end is known");
        assert_eq!(take(Some(("b", 9)), Some(("a", 5))), None);
        let both = Some("c holds x, under token 11; b gave it back".to_owned());
        assert_eq!(take(Some(("c", 11)), Some(("b", 9))), both);
        assert_eq!(take(None, Some(("b", 9))), None, "a late node");
    }

    #[test]
    fn what_a_node_knows_that_comes_back_is_told_if_it_is_new() {
        let mut told = ToldLock::default();
        let _ = told.find(&view(Some(("a", 5)), 7), "x", 0);
        let mut look = |holder, counter| {
            told.look(&view(holder, counter), "x", 0).map(|line| (line.holder, line.token))
        };
        assert_eq!(look(Some(("a", 5)), 7), None);
        assert_eq!(look(None, 4), None, "it lags");
        assert_eq!(look(None, 8), Some((None, None)));
        assert_eq!(look(None, 9), None);
        assert_eq!(look(Some(("b", 12)), 12), Some((Some("b".to_owned()), Some(12))));
        assert_eq!(look(Some(("a", 5)), 7), None, "it lags");
    }
}

//! The locks of a cluster in words and in figures: who holds how many, and why nobody holds one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::locks::{LockEntry, LocksView};
use super::words::{and, counted};

/// How many locks are on one page.
const PAGE: usize = 500;

/// A page of the locks: some of them, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocksPage {
    /// With these locks alone.
    #[serde(flatten)]
    pub view: LocksView,
    /// The name after which the next page begins; null on the last one.
    pub next: Option<String>,
}

impl LockEntry {
    /// Its holder, or the reason why it has none, in words.
    #[must_use]
    pub fn standing(&self) -> String {
        let why = |why: &String| format!(", but {why}");
        match (&self.holder, &self.reason) {
            (Some(holder), reason) => {
                format!("{holder} holds it{}", reason.as_ref().map(why).unwrap_or_default())
            }
            (None, Some(reason)) => reason.clone(),
            (None, None) if self.candidates.is_empty() => "nobody holds it".to_owned(),
            (None, None) => format!("nobody holds it yet; {} want it", and(&self.candidates)),
        }
    }
}

impl LocksView {
    /// What is known of the lock of this name: any name has one.
    #[must_use]
    pub fn lock(&self, name: &str) -> LockEntry {
        let known = self.locks.iter().find(|lock| lock.name == name).cloned();
        known.unwrap_or_else(|| LockEntry { name: name.to_owned(), ..LockEntry::default() })
    }

    /// The same without all other locks.
    #[must_use]
    pub fn of(&self, name: &str) -> LocksView {
        self.with(vec![self.lock(name)])
    }

    /// The holder of the lock of this name, or the reason why it has none, in words.
    #[must_use]
    pub fn standing(&self, name: &str) -> String {
        let lock = self.lock(name);
        match &self.unavailable {
            Some(why) if lock.holder.is_none() => why.to_string(),
            _ => lock.standing(),
        }
    }

    /// The page that begins after this name; without one the first.
    #[must_use]
    pub fn page(&self, after: Option<&str>) -> LocksPage {
        let mut rest =
            self.locks.iter().filter(|lock| after.is_none_or(|after| lock.name.as_str() > after));
        let locks: Vec<LockEntry> = rest.by_ref().take(PAGE).cloned().collect();
        let last = locks.last().map(|last| last.name.clone());
        LocksPage { view: self.with(locks), next: last.filter(|_| rest.next().is_some()) }
    }

    fn with(&self, locks: Vec<LockEntry>) -> LocksView {
        let LocksView { coordinator, version, unavailable, .. } = self;
        let (coordinator, unavailable) = (coordinator.clone(), unavailable.clone());
        LocksView { coordinator, version: *version, unavailable, locks }
    }

    /// How many locks each member holds, without those that hold none.
    #[must_use]
    pub fn held(&self) -> BTreeMap<String, u64> {
        let mut held = BTreeMap::new();
        for holder in self.locks.iter().filter_map(|lock| lock.holder.as_ref()) {
            *held.entry(holder.clone()).or_default() += 1;
        }
        held
    }

    /// How many locks are wanted that nobody holds.
    #[must_use]
    pub fn unheld(&self) -> u64 {
        // Between its periods nobody holds a lock, and nobody lacks it.
        let lacks = |lock: &&LockEntry| lock.holder.is_none() && lock.last_run.is_none();
        self.locks.iter().filter(lacks).count() as u64
    }
}

/// How many locks each of these members holds, and how many are wanted that nobody holds, in words; nothing if there are
/// none.
#[must_use]
pub fn summary(held: &BTreeMap<String, u64>, unheld: u64) -> Option<String> {
    let all = held.values().sum::<u64>();
    let each: Vec<String> = held.iter().map(|(name, count)| format!("{count} by {name}")).collect();
    let held = (all > 0).then(|| format!("{} held: {}", counted(all, "lock"), and(&each)));
    let verb = if unheld == 1 { "is" } else { "are" };
    let free = (unheld > 0).then(|| {
        format!(
            "{} {verb} wanted and nobody holds {}",
            counted(unheld, "lock"),
            if unheld == 1 { "it" } else { "them" }
        )
    });
    let told: Vec<String> = held.into_iter().chain(free).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::locks::LocksUnavailable;
    use super::*;

    fn lock(name: &str, holder: Option<&str>) -> LockEntry {
        let (name, holder) = (name.to_owned(), holder.map(str::to_owned));
        LockEntry { name, holder, ..LockEntry::default() }
    }

    fn view(locks: Vec<LockEntry>) -> LocksView {
        LocksView { coordinator: Some("c".to_owned()), locks, ..LocksView::default() }
    }

    #[test]
    fn a_lock_has_a_holder_or_a_reason_why_not() {
        let (reason, wants) = (Some("so it is".to_owned()), vec!["a".to_owned(), "b".to_owned()]);
        let held = lock("x", Some("b"));
        let doubtful = LockEntry { reason: reason.clone(), ..held.clone() };
        let refused = LockEntry { reason, ..lock("x", None) };
        let wanted = LockEntry { candidates: wants, ..lock("x", None) };
        for (lock, words) in [
            (&held, "b holds it"),
            (&doubtful, "b holds it, but so it is"),
            (&refused, "so it is"),
            (&wanted, "nobody holds it yet; a and b want it"),
            (&lock("y", None), "nobody holds it"),
        ] {
            assert_eq!(view(vec![lock.clone()]).standing(&lock.name), words);
        }
        let mut all = view(vec![held, wanted]);
        assert_eq!(all.standing("none of them"), "nobody holds it");
        let name = "d".to_owned();
        all.unavailable = Some(LocksUnavailable::OlderVoter { name });
        let old = "the voter d runs a version of electd without locks: upgrade it";
        assert_eq!([all.standing("x"), all.standing("z")], ["b holds it", old]);
        assert_eq!(all.of("z").locks, [lock("z", None)]);
    }

    #[test]
    fn the_pages_have_all_locks_once_and_in_their_order() {
        let names: Vec<String> = (0..1200).map(|number| format!("n{number:04}")).collect();
        let all = view(names.iter().map(|name| lock(name, None)).collect());
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = all.page(after.as_deref());
            assert!(page.view.coordinator == all.coordinator && page.view.locks.len() <= 500);
            seen.extend(page.view.locks.into_iter().map(|lock| lock.name));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, names);
        let full = view(all.locks[..500].to_vec());
        assert_eq!((full.page(None).view.locks.len(), full.page(None).next), (500, None));
        assert_eq!(full.page(Some("n0499")), view(Vec::new()).page(None), "it is the last");
        assert_eq!(full.page(Some("n0250-b")).view.locks[0].name, "n0251", "it has gone meanwhile");
    }

    #[test]
    fn each_holder_is_told_with_how_many_locks_it_holds() {
        let all = view(vec![
            lock("x", Some("b")),
            lock("y", Some("a")),
            lock("z", Some("b")),
            lock("w", None),
        ]);
        let held = "3 locks held: 1 by a and 2 by b";
        assert_eq!(summary(&all.held(), 0).as_deref(), Some(held));
        let words = format!("{held}; 1 lock is wanted and nobody holds it");
        assert_eq!(summary(&all.held(), all.unheld()), Some(words));
        let one = view(vec![lock("x", Some("b"))]);
        assert_eq!(summary(&one.held(), 0).as_deref(), Some("1 lock held: 1 by b"));
        let none = BTreeMap::new();
        let words = "2 locks are wanted and nobody holds them".to_owned();
        assert_eq!((summary(&none, 0), summary(&none, 2)), (None, Some(words)));
    }
}

//! Where the work of this host is reached, by what it runs by: as `--url` of `run` and `exec` says. Nobody is sent that:
//! whoever wants to be redirected there has this node asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use electd_facts::locks::LocksView;
use parking_lot::Mutex;

use crate::core::locks::table::LockName;

/// What a URL is of: a lock, or the leadership of the node.
pub type UrlOf = Option<LockName>;

/// All URLs that programs of this host gave, those of one thing in the order in which they came.
#[derive(Debug, Default)]
pub struct Urls(Mutex<BTreeMap<UrlOf, BTreeMap<u64, String>>>);

/// A URL that is shown until this is dropped.
#[derive(Debug)]
pub struct GivenUrl {
    urls: Arc<Urls>,
    of: UrlOf,
    number: u64,
}

impl Urls {
    /// Shows this URL from now on, unless another one came before.
    pub fn give(self: &Arc<Urls>, of: UrlOf, url: String) -> GivenUrl {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        self.0.lock().entry(of.clone()).or_default().insert(number, url);
        GivenUrl { urls: self.clone(), of, number }
    }

    /// The URL of the leadership.
    pub fn of_leader(&self) -> Option<String> {
        self.0.lock().get(&None)?.values().next().cloned()
    }

    /// Shows those of the locks that the member of this name holds, and by which it may act.
    pub fn show(&self, locks: &mut LocksView, own: &str) {
        let urls = self.0.lock();
        let shown =
            urls.iter().filter_map(|(of, urls)| Some((of.as_ref()?, urls.values().next()?)));
        for (name, url) in shown {
            let known = locks.locks.binary_search_by(|lock| lock.name.as_str().cmp(name.as_str()));
            let Some(lock) = known.ok().and_then(|at| locks.locks.get_mut(at)) else { continue };
            if lock.holder.as_deref() == Some(own) && lock.reason.is_none() {
                lock.url = Some(url.clone());
            }
        }
    }
}

impl Drop for GivenUrl {
    fn drop(&mut self) {
        let mut urls = self.urls.0.lock();
        if let Some(known) = urls.get_mut(&self.of) {
            known.remove(&self.number);
            if known.is_empty() {
                urls.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use electd_facts::locks::LockEntry;

    use super::*;

    #[test]
    fn the_first_url_is_shown_until_its_program_ends_and_of_a_lock_that_is_held_here_alone() {
        let urls = Arc::<Urls>::default();
        let name = LockName::new("x").unwrap();
        let shown = |holder: &str, reason: Option<&str>| {
            let entry = LockEntry {
                name: "x".to_owned(),
                holder: Some(holder.to_owned()),
                reason: reason.map(str::to_owned),
                ..LockEntry::default()
            };
            let mut view = LocksView { locks: vec![entry], ..LocksView::default() };
            urls.show(&mut view, "a");
            view.locks.remove(0).url
        };
        let leads = urls.give(None, "http://a".to_owned());
        let first = urls.give(Some(name.clone()), "http://a/1".to_owned());
        let second = urls.give(Some(name), "http://a/2".to_owned());
        assert_eq!(shown("a", None).as_deref(), Some("http://a/1"));
        assert_eq!((shown("b", None), shown("a", Some("it may not act"))), (None, None));
        drop(first);
        assert_eq!(shown("a", None).as_deref(), Some("http://a/2"));
        drop(second);
        assert_eq!((shown("a", None), urls.of_leader().as_deref()), (None, Some("http://a")));
        drop(leads);
        assert!(urls.of_leader().is_none() && urls.0.lock().is_empty());
    }
}

//! Until when what a member has lasts, for all who act by it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;

use crate::core::types::Time;

/// Until when a member may act: as the leader of its cluster, or under all names that it holds. These are renewed together, so
/// that a renewal costs the same however many they are.
#[derive(Debug, Default)]
pub(crate) struct SharedTerm {
    /// In nanoseconds of CLOCK_BOOTTIME.
    until: AtomicU64,
    /// For how long a renewal is valid, in nanoseconds; 0 if that is unknown.
    renewal: AtomicU64,
    /// The listeners to renewals, each until it is dropped, or what it acts under is over.
    listeners: RwLock<Vec<TermListener>>,
}

#[derive(Debug)]
pub(super) struct TermListener {
    pub is_over: Arc<AtomicBool>,
    pub whom: Weak<dyn Renewed>,
}

impl TermListener {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || self.whom.strong_count() == 0
    }
}

impl SharedTerm {
    /// Another term begins.
    pub(super) fn begin(&self, term: &Term) {
        self.renewal.store(nanos(term.renewal), Ordering::Release);
        self.until.store(term.until.0, Ordering::Release);
    }

    /// It is renewed. All listeners hear of that.
    pub(crate) fn renew(&self, term: &Term) {
        self.renewal.store(term.renewal_after(self), Ordering::Release);
        self.until.store(term.until.0, Ordering::Release);
        let renewal = self.renewal();
        for listener in self.listeners.read().iter().filter(|listener| !listener.is_over()) {
            if let Some(whom) = listener.whom.upgrade() {
                whom.renewed(term.until, renewal);
            }
        }
    }

    pub(super) fn until(&self) -> Time {
        Time(self.until.load(Ordering::Acquire))
    }

    /// This listener hears of renewals from now on.
    pub(super) fn add(&self, listener: TermListener) {
        // No more is done under the lock: the election thread may be about to read it.
        let mut listeners = self.listeners.write();
        listeners.retain(|listener| !listener.is_over());
        listeners.push(listener);
    }

    /// Whether nobody changes the list of listeners.
    #[cfg(test)]
    pub(super) fn is_free(&self) -> bool {
        self.listeners.try_read().is_some()
    }

    #[cfg(test)]
    pub(super) fn listeners(&self) -> usize {
        self.listeners.read().len()
    }

    pub(super) fn renewal(&self) -> Option<Duration> {
        let renewal = Duration::from_nanos(self.renewal.load(Ordering::Acquire));
        (!renewal.is_zero()).then_some(renewal)
    }
}

/// Hears of each renewal of a leadership, on the thread that learns of it: the election thread, as a rule. It must not wait.
pub(crate) trait Renewed: std::fmt::Debug + Send + Sync {
    /// The leadership ends then unless it is renewed again; a renewal is valid for this long, if that
    /// is known.
    fn renewed(&self, until: Time, renewal: Option<Duration>);
}

/// A leader's view of its leadership at one instant.
pub(crate) struct Term {
    /// The epoch that it leads in.
    pub epoch: u64,
    /// Until when that holds.
    pub until: Time,
    /// For how long a renewal is good, if that is known.
    pub renewal: Option<Duration>,
    /// The instant.
    pub now: Time,
}

impl Term {
    /// For how long a renewal is valid from now on. If a reload made that longer, the older time counts
    /// until the first renewal with the new one; otherwise a job would be ended as if that renewal were
    /// overdue.
    fn renewal_after(&self, present: &SharedTerm) -> u64 {
        let (older, newer) = (present.renewal.load(Ordering::Acquire), nanos(self.renewal));
        let left = nanos(Some(self.until.since(self.now)));
        if older > 0 && newer > older && left < newer - newer / 4 { older } else { newer }
    }
}

fn nanos(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

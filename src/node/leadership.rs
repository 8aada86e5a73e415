//! For a program that acts while its embedded member leads: changes as they happen, a leadership that
//! can be asked at any instant whether it still holds, and a hold that delays its release.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::clock;
use super::fanout::{Fanout, Subscription};
pub use super::running::Hold;
use crate::core::settings::{Quorum, Settings};
use crate::core::types::Time;
use crate::core::{Core, Phase, bounds};
use term::TermListener;
pub(crate) use term::{Renewed, SharedTerm, Term};

/// How many changes may wait for one receiver; a receiver that is slower misses the later ones.
const CHANGES: usize = 1024;

/// The same of a name: there may be thousands.
const CHANGES_OF_A_NAME: usize = 16;

/// A change of the leadership, as a receiver gets it.
///
/// ```
/// use electd::node::leadership::Change;
///
/// fn sentence(change: &Change) -> String {
///     match change {
///         Change::Leading { epoch } => format!("begins to work, in epoch {epoch}"),
///         Change::Ending { within } => format!("ends its work within {within:?}"),
///         _ => "does not work".to_owned(),
///     }
/// }
/// assert_eq!(sentence(&Change::Leading { epoch: 4 }), "begins to work, in epoch 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// This member leads from now on; or it leads on, as the end that [`Change::Ending`] announced is not wanted any more.
    Leading {
        /// The epoch that it leads in.
        epoch: u64,
    },
    /// This member is about to hand over cleanly: each holder of the leadership has this long to end
    /// its work and to drop its [`Hold`].
    Ending {
        /// The leadership is released after this time even if it is held.
        within: Duration,
    },
    /// This member does not lead, or not any more.
    NotLeading,
}

/// The leadership of this member in one epoch.
///
/// Cheap to clone, and cheap to ask: [`Leadership::is_valid`] takes no lock and never waits for the election.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// let leadership = node.handle().leadership().ok_or("it does not lead")?;
/// while leadership.is_valid() {
///     // One step of the work, which the resource refuses if it has seen a greater epoch.
///     println!("UPDATE job SET epoch = {0} WHERE epoch <= {0}", leadership.epoch());
/// #   break;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Leadership {
    epoch: u64,
    /// Whether it has ended.
    is_over: Arc<AtomicBool>,
    term: Arc<SharedTerm>,
}

impl Leadership {
    /// The epoch: with a majority, a fencing token.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let leadership = node.handle().leadership().ok_or("it does not lead")?;
    /// assert!(leadership.epoch() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether this member leads in that epoch at this instant. With a majority no other member leads at an
    /// instant at which this is true. It stays false once it was false because the leadership ended.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let leadership = node.handle().leadership().ok_or("it does not lead")?;
    /// assert!(leadership.is_valid());
    /// drop(node); // it hands over, and ends
    /// assert!(!leadership.is_valid());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_valid(&self) -> bool {
        clock::now() < self.until()
    }

    /// Calls this for each renewal from now on, until it is dropped, and immediately with the present
    /// end of the leadership.
    pub(crate) fn tell(&self, whom: &Arc<impl Renewed + 'static>) {
        self.term
            .add(TermListener { is_over: self.is_over.clone(), whom: Arc::downgrade(whom) as _ });
        loop {
            let until = self.until();
            whom.renewed(until, self.renewal());
            // This must not overwrite a renewal that came meanwhile.
            if until == self.until() {
                return;
            }
        }
    }

    /// When the leadership ends if it is not renewed.
    pub(crate) fn until(&self) -> Time {
        // First the time, which may be that of the next leadership already once this one is over.
        let until = self.term.until();
        if self.is_over.load(Ordering::Acquire) { Time(0) } else { until }
    }

    /// For how long a renewal is good at most, as the timings are now; none where the node did not say so.
    pub(crate) fn renewal(&self) -> Option<Duration> {
        self.term.renewal()
    }

    /// How long the leadership holds if it is not renewed; zero once it has ended.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let handle = node.handle();
    /// let leadership = handle.leadership().ok_or("it does not lead")?;
    /// assert!(leadership.remaining() <= handle.timing().lease);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.until().since(clock::now())
    }
}

/// For how long a heartbeat is valid: 9/11 of the lease; without a majority, the time after which a
/// stalled leader counts itself as failed.
fn renewal(settings: &Settings) -> Duration {
    match settings.quorum {
        Quorum::Majority => bounds::certain(settings.timing.lease),
        Quorum::None => settings.timing.stall(),
    }
}

/// The election thread's side of the leadership, for those who act on it.
#[derive(Debug)]
pub struct Feed {
    present: RwLock<Option<Leadership>>,
    changes: Fanout<Change>,
    term: Arc<SharedTerm>,
}

impl Default for Feed {
    fn default() -> Feed {
        let (present, term) = (RwLock::default(), Arc::default());
        Feed { present, changes: Fanout::new(CHANGES), term }
    }
}

impl Feed {
    /// Of one of many names, whose term is this.
    pub(crate) fn of_name(term: &Arc<SharedTerm>) -> Feed {
        let (present, term) = (RwLock::default(), term.clone());
        Feed { present, changes: Fanout::new(CHANGES_OF_A_NAME), term }
    }

    /// The present leadership of this member.
    pub fn leadership(&self) -> Option<Leadership> {
        self.present.read().clone().filter(Leadership::is_valid)
    }

    /// A receiver of all changes from now on.
    pub fn subscribe(&self) -> Subscription<Change> {
        self.changes.subscribe()
    }

    /// Tells all receivers.
    pub fn tell(&self, change: &Change) {
        self.changes.tell(change);
    }

    /// How many changes receivers missed.
    pub fn missed(&self) -> u64 {
        self.changes.missed()
    }

    /// Takes over the present state of the core, before any message leaves.
    pub fn update(&self, core: &Core, now: Time) {
        let leads = core.phase() == Phase::Leading;
        self.show(leads.then(|| Term {
            epoch: core.view().epoch.0,
            until: core.believable_until(now),
            renewal: Some(renewal(core.settings())),
            now,
        }));
    }

    /// Takes over the epoch that this member leads in, and until when that holds; none if it does not lead.
    pub(crate) fn show(&self, leading: Option<Term>) {
        let before = self.present.read().as_ref().map(|present| present.epoch);
        match &leading {
            Some(term) if before == Some(term.epoch) => return self.term.renew(term),
            Some(term) => {
                self.lead(None);
                self.term.begin(term);
            }
            None => {}
        }
        self.lead(leading.map(|term| term.epoch));
    }

    /// Takes over the epoch alone, for as long as its term says.
    pub(crate) fn lead(&self, epoch: Option<u64>) {
        let before = self.present.upgradable_read();
        if before.as_ref().map(|present| present.epoch) == epoch {
            return;
        }
        if let Some(present) = &*before {
            present.is_over.store(true, Ordering::Release);
        }
        let (is_over, term) = (Arc::default(), self.term.clone());
        let leadership = epoch.map(|epoch| Leadership { epoch, is_over, term });
        *parking_lot::RwLockUpgradableReadGuard::upgrade(before) = leadership;
    }
}

mod term;

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, MemberList};
    use crate::core::settings::Timing;
    use crate::core::types::NodeId;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Shows a leadership of this epoch with so many seconds left, and renewals that are good for so many.
    fn show(feed: &Feed, epoch: u64, left: u64, renewal: u64) {
        let now = clock::now();
        let renewal = Some(seconds(renewal));
        feed.show(Some(Term { epoch, until: now + seconds(left), renewal, now }));
    }

    #[test]
    fn what_a_receiver_that_does_not_read_misses_is_counted() {
        let feed = Feed::default();
        let slow = feed.subscribe();
        let change = Change::Leading { epoch: 7 };
        (0..1024).for_each(|_| feed.tell(&change));
        assert_eq!(feed.missed(), 0);
        (0..3).for_each(|_| feed.tell(&change));
        assert_eq!((feed.missed(), slow.len()), (3, 1024));
        assert_eq!(slow.recv(), Ok(change));
    }

    #[test]
    fn longer_renewals_count_from_the_first_that_is_good_for_long() {
        let feed = Feed::default();
        show(&feed, 7, 900, 900);
        let leadership = feed.leadership().unwrap();
        for (left, renewal, counts) in [
            (900, 900, 900),
            (900, 9000, 900),
            (6749, 9000, 900),
            (6750, 9000, 9000),
            (100, 9000, 9000), // overdue, and no new one
            (100, 900, 900),
        ] {
            show(&feed, 7, left, renewal);
            assert_eq!(leadership.renewal(), Some(seconds(counts)), "{left} of {renewal}");
        }
    }

    #[test]
    fn the_leadership_of_an_epoch_ends_with_it() {
        let feed = Feed::default();
        show(&feed, 7, 60, 60);
        let first = feed.leadership().unwrap();
        show(&feed, 8, 60, 60);
        let second = feed.leadership().unwrap();
        assert!((first.epoch(), first.is_valid(), first.remaining()) == (7, false, Duration::ZERO));
        assert_eq!(first.until(), Time(0));
        assert!(second.epoch() == 8 && second.is_valid() && second.remaining() > seconds(30));
        feed.show(None);
        assert!(!second.is_valid() && feed.leadership().is_none());
        show(&feed, 9, 0, 60);
        assert!(feed.leadership().is_none(), "its time is over already");
    }

    #[test]
    fn a_name_that_is_lost_stays_so_when_the_others_are_renewed() {
        let (term, begin) = (Arc::<SharedTerm>::default(), clock::now());
        let feeds = [(); 2].map(|()| Feed::of_name(&term));
        let renew = |left| {
            let (until, renewal) = (begin + seconds(left), Some(seconds(60)));
            term.renew(&Term { epoch: 0, until, renewal, now: begin });
            (until, renewal, true)
        };
        let first = renew(60);
        feeds.iter().for_each(|feed| feed.lead(Some(7)));
        let [lost, held] = feeds.each_ref().map(|feed| feed.leadership().unwrap());
        let listeners = [&lost, &held].map(|leadership| {
            let (leadership, heard) = (leadership.clone(), Default::default());
            Arc::new(Listener { leadership, heard })
        });
        lost.tell(&listeners[0]);
        held.tell(&listeners[1]);
        feeds[0].lead(None);
        let second = renew(90);
        assert!(!lost.is_valid() && feeds[0].leadership().is_none());
        assert!(held.is_valid() && held.until() == second.0);
        let heard = listeners.map(|listener| listener.heard.lock().clone());
        assert_eq!(heard, [vec![first], vec![first, second]]);
        feeds[0].lead(Some(8));
        assert!(!lost.is_valid() && feeds[0].leadership().is_some_and(|it| it.epoch() == 8));
    }

    /// What a listener heard, and whether the list of listeners was free meanwhile.
    #[derive(Debug)]
    struct Listener {
        leadership: Leadership,
        heard: parking_lot::Mutex<Vec<(Time, Option<Duration>, bool)>>,
    }

    impl Renewed for Listener {
        fn renewed(&self, until: Time, renewal: Option<Duration>) {
            let is_free = self.leadership.term.is_free();
            self.heard.lock().push((until, renewal, is_free));
        }
    }

    #[test]
    fn a_listener_hears_the_present_end_and_each_renewal_until_it_is_dropped() {
        let (feed, begin) = (Feed::default(), clock::now());
        let show = |left| {
            let until = begin + seconds(left);
            feed.show(Some(Term { epoch: 7, until, renewal: Some(seconds(60)), now: begin }));
            (until, Some(seconds(60)), true)
        };
        let first = show(60);
        let leadership = feed.leadership().unwrap();
        let listener = || {
            let (leadership, heard) = (leadership.clone(), Default::default());
            Arc::new(Listener { leadership, heard })
        };
        let (one, other) = (listener(), listener());
        leadership.tell(&one);
        let second = show(90);
        leadership.tell(&other);
        assert_eq!(*one.heard.lock(), [first, second]);
        assert_eq!(*other.heard.lock(), [second]);
        assert!(leadership.until() == second.0 && leadership.remaining() > seconds(60));
        drop(one);
        show(95);
        leadership.tell(&listener());
        assert_eq!(leadership.term.listeners(), 2, "the first is forgotten");
    }

    #[test]
    fn a_heartbeat_is_good_for_less_than_the_lease_or_until_a_stall() {
        let timing = Timing {
            heartbeat: seconds(1),
            failure: seconds(20),
            message: seconds(2),
            lease: seconds(11),
        };
        let members = MemberList::new(ListVersion::default(), Vec::new()).into();
        let mut settings = Settings::new("c", NodeId::default(), members, timing);
        assert_eq!(renewal(&settings), seconds(9));
        settings.quorum = Quorum::None;
        assert_eq!(renewal(&settings), seconds(16));
    }
}

//! The published snapshot: what the election thread shows the rest of the process.
//!
//! The election thread carries it on after each turn; readers take it as a whole, and keep what they took. It carries
//! its own expiry, so that a stalled node does not keep answering "I lead".

mod apart;
mod calls;
mod changes;
mod measures;
mod snapshot;
mod view;
mod watched;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use electd_facts::hint::ClusterFlags;
use electd_facts::locks::LocksView;
use electd_record::delays::MeasuredDelays;

use super::clock;
use super::failures::Failures;
use super::fanout::Fanout;
use super::leadership::Feed;
use super::locks::hands::Hands;
use super::locks::seen::LocksSeen;
use super::locks::{LockName, Urls};
use super::members::only_lags;
use super::problems::Sight;

use super::status::Status;
use super::words;
use crate::core::membership::MemberList;
use crate::core::message::Liveness;
use crate::core::settings::{LONGEST_PROMISE, Preempt, Quorum, Settings, Timing};
use crate::core::types::{Drain, Incarnation, NodeId, Pause, Task, Time};
use crate::core::{Core, Phase};
use crate::flight::tape::Taped;
use crate::net::{Other, Peers};
use crate::rank;
use crate::realtime::Realtime;
use crate::recorder::Recorded;
use crate::store::Pace;
use crate::tls::Security;
use crossbeam::channel::{Receiver, Sender, bounded};
use jiff::Timestamp;
use parking_lot::RwLock;

use calls::Calls;
pub use measures::LateRenewal;
use measures::Measures;
use snapshot::{KnownMember, Snapshot};
use watched::WatchedStatus;

/// For how long it is a problem that a renewal came late.
const SHOWN: Duration = Duration::from_secs(600);

/// Shared by the election thread and all readers.
pub struct Published {
    settings: Settings,
    /// The members that the file lists.
    file: RwLock<Arc<MemberList>>,
    /// The peers of the network, which may be where the file says.
    pub peers: Peers,
    incarnation: Incarnation,
    started: Time,
    snapshot: RwLock<Arc<Snapshot>>,
    /// When the election thread turned last.
    turned: AtomicU64,
    /// Rings where there is something new to look at.
    news: (Sender<()>, Receiver<()>),
    /// A word whenever [`Published::led_epoch`] or [`Published::leads_on`] says something else.
    pub(super) turns: Fanout<()>,
    watched: RwLock<Arc<WatchedStatus>>,
    pub calls: Calls,
    pub measures: Measures,
    /// The leadership, for those who act on it.
    pub feed: Feed,
    /// What the election thread shows of the locks.
    pub locks: Arc<RwLock<LocksSeen>>,
    /// What became of them.
    pub hands: Arc<Hands>,
    /// Where the work of this host is reached.
    pub urls: Arc<Urls>,
    /// What the election thread took and did in elections.
    pub recorded: Recorded,
    /// All that it took and put out of late.
    pub taped: Taped,
    /// Whether the threads of the election run in real time.
    pub realtime: Realtime,
    /// The failures of this node's job.
    pub failures: Failures,
    security: OnceLock<Security>,
    /// The flags by which commands reach this cluster, for what the node says.
    flags: OnceLock<ClusterFlags>,
    /// The longest that anybody asked to hold it, in nanoseconds.
    longest_hold: AtomicU64,
}

impl Published {
    pub fn new(
        core: &Core,
        file: Arc<MemberList>,
        sample: &rank::SampleResult,
        pace: Arc<Pace>,
        realtime: Realtime,
    ) -> Published {
        let now = clock::now();
        let peers = Peers::default();
        peers.set_filed(addresses(&file));
        Published {
            settings: core.settings().clone(),
            peers,
            file: RwLock::new(file),
            incarnation: core.incarnation(),
            started: now,
            snapshot: RwLock::new(Arc::new(Snapshot::new(core, sample, now))),
            turned: AtomicU64::new(now.0),
            news: bounded(1),
            turns: Fanout::new(1),
            watched: RwLock::default(),
            calls: Calls::default(),
            measures: Measures::new(core, pace),
            feed: Feed::default(),
            locks: Arc::default(),
            hands: Arc::new(Hands::new(core.incarnation().0)),
            urls: Arc::default(),
            recorded: Recorded::new(now),
            taped: Taped::default(),
            realtime,
            failures: Failures::default(),
            security: OnceLock::new(),
            flags: OnceLock::new(),
            longest_hold: AtomicU64::new(0),
        }
    }

    /// Commands reach this cluster by these flags.
    pub fn reached_by(&self, flags: ClusterFlags) {
        let _ = self.flags.set(flags); // a node has one file
    }

    /// The flags by which commands reach this cluster.
    pub fn flags(&self) -> &ClusterFlags {
        self.flags.get_or_init(ClusterFlags::default)
    }

    /// Notes that a holder may keep the leadership for this long after its end is requested.
    pub fn held_for(&self, most: Duration) {
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        self.longest_hold.fetch_max(nanos, Ordering::Relaxed);
    }

    /// For how long the leadership may be held after its end is wanted.
    pub fn longest_hold(&self) -> Duration {
        Duration::from_nanos(self.longest_hold.load(Ordering::Relaxed))
    }

    /// Connections use what this has at present.
    pub fn secure(&self, security: Security) {
        let _ = self.security.set(security); // a node has one
    }

    /// When the certificate ends, if there is one.
    pub fn certificate_end(&self) -> Option<Timestamp> {
        Some(self.security.get()?.now()?.end())
    }

    /// Why an operator keeps this node from leading.
    pub fn drain(&self) -> Option<Drain> {
        self.snapshot.read().drain.clone()
    }

    /// Whether this member is eligible and neither leads nor elects, while another member could lead.
    pub fn could_stand_back(&self) -> bool {
        let (snapshot, own) = (self.snapshot.read().clone(), self.settings.id);
        let idle = snapshot.phase == Phase::Following;
        let may_lead = |known: &&KnownMember| known.eligible && known.status == Liveness::Alive;
        let (own, others): (Vec<&KnownMember>, Vec<&KnownMember>) =
            snapshot.members.iter().filter(may_lead).partition(|known| known.id == own);
        idle && !own.is_empty() && !others.is_empty()
    }

    /// The leader and epoch that this member follows, if nothing but an order to hand over keeps it from leading, and it
    /// would not preempt that leader.
    pub fn led_since_resigned(&self) -> Option<(NodeId, u64)> {
        let snapshot = self.snapshot.read();
        let stands_back = snapshot.drain.is_some() || self.failures.present().is_some();
        let is_resigned = snapshot.has_resigned && !stands_back;
        let may_stay = is_resigned && self.settings.preempt == Preempt::Never;
        let leader = snapshot.leader.filter(|leader| *leader != self.settings.id)?;
        may_stay.then_some((leader, snapshot.epoch.0))
    }

    /// Whether the cluster is paused.
    pub fn pause(&self) -> Pause {
        self.snapshot.read().pause
    }

    /// The task handed out last; none where none was.
    pub fn task(&self) -> Option<Task> {
        let task = self.snapshot.read().task.clone();
        Some(task).filter(|task| !task.content.is_empty())
    }

    /// The timings that count.
    pub fn timing(&self) -> Timing {
        self.snapshot.read().timing
    }

    /// Whether these timings may replace the present ones while the others keep theirs.
    ///
    /// # Errors
    /// With a voter that is too far from them.
    pub fn check_timing(&self, timing: &Timing) -> Result<(), String> {
        let (snapshot, own) = (self.snapshot.read().clone(), self.settings.id);
        if self.settings.quorum != Quorum::Majority || !snapshot.list.is_voter(own) {
            return Ok(());
        }
        let live = snapshot
            .members
            .iter()
            .filter(|known| snapshot.list.is_voter(known.id) && known.status == Liveness::Alive);
        // Of this node no timings are known there.
        let others: Vec<_> = live.filter_map(|known| Some((known.id, known.timing?[3]))).collect();
        let lease = |timing: &Timing| timing.nanos()[3];
        let (present, next) = (lease(&snapshot.timing), lease(timing));
        match apart::too_far(&others, snapshot.list.majority(), present, next) {
            None => Ok(()),
            Some((id, theirs)) => Err(format!(
                "timing: lease {:?} and the {:?} of {} are more than {LONGEST_PROMISE} times apart, so that \
                 one would not vote for the other: change the timings in smaller steps, on all members each time",
                timing.lease,
                Duration::from_nanos(theirs),
                snapshot.list.name(id)
            )),
        }
    }

    /// Carries the snapshot on: in its place, or in a copy while a reader holds it. For the election thread alone.
    pub fn carry_on<T>(&self, change: impl FnOnce(&mut Snapshot) -> T) -> T {
        let mut snapshot = self.snapshot.write();
        let before = snapshot.led();
        let done = change(Arc::make_mut(&mut snapshot));
        let is_same = snapshot.led() == before;
        drop(snapshot);
        if !is_same {
            self.turns.tell(&());
        }
        done
    }

    /// Tells the thread "watch" that there is something new. Never waits.
    pub fn ring(&self) {
        let _ = self.news.0.try_send(()); // full: it has yet to look at something earlier
    }

    /// The bell that [`Published::ring`] rings.
    pub fn news(&self) -> Receiver<()> {
        self.news.1.clone()
    }

    /// What the threads beside the election thread found last.
    pub fn watched(&self) -> Arc<WatchedStatus> {
        self.watched.read().clone()
    }

    /// Shows what such a thread found.
    pub fn show(&self, change: impl FnOnce(&mut WatchedStatus)) {
        change(Arc::make_mut(&mut self.watched.write()));
    }

    /// A job of this epoch was ended, as no renewal of the leadership came in time.
    pub fn note_late_renewal(&self, epoch: u64) {
        self.measures.tally.late_renewals.inc();
        let (at, at_ms) = (clock::now(), clock::wall_clock_ms());
        *self.measures.late.lock() = Some(LateRenewal { epoch, at, at_ms });
    }

    /// The last time that this happened.
    pub fn late_renewal(&self) -> Option<LateRenewal> {
        *self.measures.late.lock()
    }

    /// The input of a check for problems besides the status.
    pub fn sight(&self) -> Sight {
        let (snapshot, now) = (self.snapshot.read().clone(), clock::now());
        let (list, failure) = (&snapshot.list, snapshot.timing.failure);
        let own = snapshot.timing.nanos();
        let timings = snapshot.members.iter().filter_map(|known| {
            let theirs = known.timing.filter(|theirs| *theirs != own)?;
            Some((list.name(known.id), words::timing(theirs)))
        });
        let mut rejected = snapshot.rejections.recent(list, now, failure);
        rejected.extend(self.measures.handshakes.recent(list, now, failure));
        let counters = &self.measures.counters;
        Sight {
            refused: list.iter().any(|member| counters.is_refused(member.id)),
            rejected,
            timings: timings.collect(),
            locks: self.locks.read().differing.iter().map(|id| list.name(*id)).collect(),
            late: self.late_renewal().filter(|late| now.since(late.at) < SHOWN),
            settled: now.since(self.started) > failure,
            file_lags: only_lags(list, &self.file.read()),
            ..Sight::default()
        }
    }

    /// The members that might be expected to dial this node, and do not: its name and its address of each.
    pub fn silent(&self) -> Vec<Other> {
        let snapshot = self.snapshot.read().clone();
        let members = snapshot.silent.iter().filter_map(|id| snapshot.list.get(*id));
        members.map(|member| (member.name.clone(), member.address.clone())).collect()
    }

    /// Takes the members that the file lists since it was edited.
    pub fn file_lists(&self, file: Arc<MemberList>) {
        self.peers.set_filed(addresses(&file));
        *self.file.write() = file;
    }

    /// Notes that the election thread turned.
    pub fn turned(&self, now: Time) {
        self.turned.store(now.0, Ordering::Relaxed);
    }

    /// How long ago the election thread turned.
    pub fn since_turn(&self, now: Time) -> Duration {
        now.since(Time(self.turned.load(Ordering::Relaxed)))
    }

    /// Whether the election thread turned within `failure`.
    pub fn is_live(&self) -> bool {
        self.since_turn(clock::now()) < self.timing().failure
    }

    /// This member.
    pub fn own(&self) -> NodeId {
        self.settings.id
    }

    /// The members of the cluster.
    pub fn members(&self) -> Arc<MemberList> {
        self.snapshot.read().list.clone()
    }

    /// What the election thread shows of the locks.
    pub fn locks_seen(&self) -> LocksSeen {
        self.locks.read().clone()
    }

    /// The locks of the cluster, or the one of this name.
    pub fn locks_view(&self, name: Option<&LockName>) -> LocksView {
        let is_majority = self.settings.quorum == Quorum::Majority;
        let (seen, list) = (self.locks_seen(), self.members());
        let mut view = seen.view(name, is_majority, self.leader(), &list);
        self.hands.show(&mut view);
        self.urls.show(&mut view, &list.name(self.own()));
        view
    }

    /// The status, with how many locks there are: no view of each of them is made for that.
    pub fn with_locks(&self, status: Status) -> Status {
        let (seen, list) = (self.locks_seen(), self.members());
        let (locks_held, locks_unheld) = (seen.held(&list), seen.unheld());
        Status { locks_held, locks_unheld, locks_version: seen.version(), ..status }
    }

    /// How late the election thread was of late, and how long round trips took.
    pub fn delays(&self) -> MeasuredDelays {
        let list = self.members();
        let own = list.name(self.own());
        self.measures.delays.told(own, clock::now(), |id| list.name(id))
    }

    /// The leader that this member names.
    pub fn leader(&self) -> Option<NodeId> {
        self.snapshot.read().leader
    }

    /// Whether nothing is about to end the leadership of the leader, as far as this member knows.
    pub fn leads_on(&self) -> bool {
        self.snapshot.read().led().1
    }

    /// The epoch that a leader leads in, as far as this member sees.
    pub fn led_epoch(&self) -> Option<u64> {
        self.snapshot.read().led().0
    }
}

/// Where each member of a list is.
fn addresses(list: &MemberList) -> BTreeMap<NodeId, String> {
    list.iter().map(|member| (member.id, member.address.clone())).collect()
}

#[cfg(test)]
pub(super) mod tests;

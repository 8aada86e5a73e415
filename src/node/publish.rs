//! The published snapshot: what the election thread shows the rest of the process.
//!
//! The election thread carries it on after each turn; readers take it as a whole, and keep what they took. It carries
//! its own expiry, so that a stalled node does not keep answering "I lead".

mod apart;
mod changes;
mod snapshot;
mod view;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::clock;
use super::events::EventLog;
use super::failures::Failures;
use super::handle::{CommandError, Outcome};
use super::handshakes::Handshakes;
use super::history::Entry;
use super::leaderless::Leaderless;
use super::leadership::Feed;
use super::problems::Sight;
use super::round_trips::RoundTrips;
use super::status::{HealthStatus, Problem};
use super::tally::Tally;
use super::words;
use crate::core::membership::{Member, MemberList};
use crate::core::message::Liveness;
use crate::core::settings::{LONGEST_PROMISE, Preempt, Quorum, Settings, Timing};
use crate::core::types::{Drain, Incarnation, NodeId, Pause, Task, Time};
use crate::core::{Core, Phase};
use crate::net::Counters;
use crate::rank;
use crate::store::Pace;
use crate::tls::Security;
use crossbeam::channel::{Receiver, Sender, bounded};
use jiff::Timestamp;
use parking_lot::RwLock;

use snapshot::{Known, Snapshot};

/// Called when this member was removed.
type Call = Box<dyn Fn() + Send + Sync>;

/// Reads the configuration again.
type Reload = Box<dyn Fn() -> Result<String, CommandError> + Send + Sync>;

/// Shared by the election thread and all readers.
pub struct Published {
    settings: Settings,
    /// The members that the file lists.
    file: RwLock<Arc<MemberList>>,
    removed: AtomicBool,
    on_removal: OnceLock<Call>,
    on_reload: OnceLock<Reload>,
    incarnation: Incarnation,
    started: Time,
    counters: Arc<Counters>,
    /// How long the latest durable writes took.
    pace: Arc<Pace>,
    snapshot: RwLock<Arc<Snapshot>>,
    /// When the election thread turned last.
    turned: AtomicU64,
    /// Rings where there is something new to look at.
    news: (Sender<()>, Receiver<()>),
    /// The problems that the thread "watch" found last.
    problems: RwLock<Arc<Vec<Problem>>>,
    /// The last result of the health check; none if there is no check.
    health: RwLock<Option<HealthStatus>>,
    events: Arc<EventLog>,
    /// The leaderships, oldest first.
    history: RwLock<Arc<Vec<Entry>>>,
    /// Since when no leader is known, and why, if none is.
    leaderless: RwLock<Option<Leaderless>>,
    tally: Arc<Tally>,
    /// The leadership, for those who act on it.
    pub feed: Feed,
    pub round_trips: RoundTrips,
    /// The refusals before a hello.
    pub handshakes: Handshakes,
    /// The failures of this node's job.
    pub failures: Failures,
    security: OnceLock<Security>,
    /// The longest that anybody asked to hold it, in nanoseconds.
    longest_hold: AtomicU64,
}

impl Published {
    pub fn new(
        core: &Core,
        file: Arc<MemberList>,
        sample: &rank::Outcome,
        pace: Arc<Pace>,
    ) -> Published {
        let now = clock::now();
        Published {
            settings: core.settings().clone(),
            file: RwLock::new(file),
            removed: AtomicBool::new(false),
            on_removal: OnceLock::new(),
            on_reload: OnceLock::new(),
            incarnation: core.incarnation(),
            started: now,
            counters: Arc::new(Counters::default()),
            tally: Arc::new(Tally::new(pace.histogram())),
            pace,
            snapshot: RwLock::new(Arc::new(Snapshot::new(core, sample, now))),
            turned: AtomicU64::new(now.0),
            news: bounded(1),
            problems: RwLock::default(),
            health: RwLock::default(),
            events: Arc::new(EventLog::new(core.incarnation().0)),
            history: RwLock::default(),
            leaderless: RwLock::default(),
            feed: Feed::default(),
            round_trips: RoundTrips::default(),
            handshakes: Handshakes::new(core.members().clone()),
            failures: Failures::default(),
            security: OnceLock::new(),
            longest_hold: AtomicU64::new(0),
        }
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

    /// The counters of the network.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// Why an operator keeps this node from leading.
    pub fn drain(&self) -> Option<Drain> {
        self.snapshot.read().drain.clone()
    }

    /// Whether this member is eligible and neither leads nor elects, while another member could lead.
    pub fn could_stand_back(&self) -> bool {
        let (snapshot, own) = (self.snapshot.read().clone(), self.settings.id);
        let idle = snapshot.phase == Phase::Following;
        let may_lead = |known: &&Known| known.eligible && known.status == Liveness::Alive;
        let (own, others): (Vec<&Known>, Vec<&Known>) =
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
    pub fn may_take(&self, timing: &Timing) -> Result<(), String> {
        let (snapshot, own) = (self.snapshot.read().clone(), self.settings.id);
        let votes = |id| snapshot.list.get(id).is_some_and(Member::votes);
        if self.settings.quorum != Quorum::Majority || !votes(own) {
            return Ok(());
        }
        let live = snapshot
            .members
            .iter()
            .filter(|known| known.id != own && votes(known.id) && known.status == Liveness::Alive);
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
        change(Arc::make_mut(&mut self.snapshot.write()))
    }

    /// Tells the thread "watch" that there is something new. Never waits.
    pub fn ring(&self) {
        let _ = self.news.0.try_send(()); // full: it has yet to look at something earlier
    }

    /// The bell that [`Published::ring`] rings.
    pub fn news(&self) -> Receiver<()> {
        self.news.1.clone()
    }

    /// The events of this node.
    pub fn events(&self) -> &Arc<EventLog> {
        &self.events
    }

    /// The counts of this node.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// The leaderships, oldest first.
    pub fn history(&self) -> Arc<Vec<Entry>> {
        self.history.read().clone()
    }

    /// Shows who led when.
    pub fn show_history(&self, history: Arc<Vec<Entry>>) {
        *self.history.write() = history;
    }

    /// Since when no leader is known, and why, as the thread "watch" saw it last.
    pub fn shown_leaderless(&self) -> Option<Leaderless> {
        self.leaderless.read().clone()
    }

    /// Shows since when no leader is known, and why, if none is.
    pub fn show_leaderless(&self, leaderless: Option<Leaderless>) {
        *self.leaderless.write() = leaderless;
    }

    /// The last result of the health check.
    pub fn health(&self) -> Option<HealthStatus> {
        self.health.read().clone()
    }

    /// Shows what the health check found.
    pub fn show_health(&self, health: Option<HealthStatus>) {
        *self.health.write() = health;
    }

    /// Shows what is wrong.
    pub fn show_problems(&self, problems: Vec<Problem>) {
        *self.problems.write() = Arc::new(problems);
    }

    /// Why the state cannot be written, if that is so.
    pub fn storage_trouble(&self) -> Option<String> {
        self.pace.trouble()
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
        rejected.extend(self.handshakes.recent(list, now, failure));
        Sight {
            rejected,
            timings: timings.collect(),
            settled: now.since(self.started) > failure,
            ..Sight::default()
        }
    }

    /// Takes the members that the file lists since it was edited.
    pub fn file_lists(&self, file: Arc<MemberList>) {
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

    /// The leader that this member names.
    pub fn leader(&self) -> Option<NodeId> {
        self.snapshot.read().leader
    }

    /// The epoch that a leader leads in, as far as this member sees.
    pub fn led_epoch(&self) -> Option<u64> {
        let snapshot = self.snapshot.read();
        snapshot.leader.map(|_| snapshot.epoch.0)
    }

    /// Whether this member was removed.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    /// Notes that this member was removed, and tells those that wait for that.
    pub fn removed(&self) {
        self.removed.store(true, Ordering::SeqCst);
        if let Some(call) = self.on_removal.get() {
            call();
        }
    }

    /// Notes how the configuration is read again.
    pub fn on_reload(&self, call: Reload) {
        let _ = self.on_reload.set(call); // the first stays
    }

    /// Reads the configuration again.
    pub fn reload(&self) -> Result<Outcome, CommandError> {
        let what = "this node was not started from a file";
        let call = self.on_reload.get().ok_or_else(|| CommandError::Refused(what.to_owned()))?;
        call().map(Outcome::plain)
    }

    /// Calls this when this member was removed, once or twice.
    pub fn on_removal(&self, call: Call) {
        let call = self.on_removal.get_or_init(|| call);
        if self.is_removed() {
            call();
        }
    }
}

#[cfg(test)]
mod tests;

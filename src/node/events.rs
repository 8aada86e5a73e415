//! The changes of a node as a list of events, for `GET /events` and for programs that embed a member.
//! The thread "watch" fills the list, and no reader delays that thread.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use electd_facts::hold::LockChange;

use super::fanout::{Fanout, Subscription};
use super::history::HistoryEntry;
use super::status::LeaderlessStatus;

/// How many of the latest events are kept for those who come back.
pub const KEPT: usize = 1024;

/// The same of the changes of locks.
const KEPT_OF_LOCKS: usize = 4096;

/// How many events may wait for one subscriber.
const QUEUE: usize = 256;

/// What happened. The names are part of electd's interface.
///
/// ```
/// use electd::node::events::EventKind;
///
/// assert_eq!(EventKind::MemberDown.name(), "member_down");
/// ```
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, IntoStaticStr, Ord, PartialEq, PartialOrd, Serialize,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// This node leads.
    Leading,
    /// This node follows a leader, or another one than before.
    Following,
    /// This node knows no leader: it starts, elects or waits.
    NoLeader,
    /// A member answers.
    MemberUp,
    /// A member does not answer any more.
    MemberDown,
    /// A problem began.
    Problem,
    /// A problem is over.
    ProblemOver,
    /// This node is to take over from the leader.
    Takeover,
    /// This node was removed from the cluster, and ends.
    Removed,
    /// This node ends.
    Stopping,
}

impl EventKind {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The permanent name of an event: the incarnation of the node, and a number that counts the events of
/// that incarnation from 1. Written as `START-NUMBER`, such as `3-17`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The number of the node's start, its incarnation.
    pub start: u64,
    /// Counts from 1; 0 stands before the first event.
    pub number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.number)
    }
}

impl FromStr for EventId {
    type Err = String;

    fn from_str(text: &str) -> Result<EventId, String> {
        let parts = text.trim().split_once('-');
        let parts =
            parts.and_then(|(start, number)| Some((start.parse().ok()?, number.parse().ok()?)));
        let (start, number) = parts
            .ok_or_else(|| format!("\"{text}\" is no id of an event; write one such as 3-17"))?;
        Ok(EventId { start, number })
    }
}

/// One change of what a node sees.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::Handle;
///
/// let events = node.handle().events();
/// let json = events.after("1-0".parse()?, 1).iter().map(|event| serde_json::json!(**event)).collect::<Vec<_>>();
/// println!("{json:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its permanent name, such as `3-17`.
    pub id: String,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    pub event: EventKind,
    /// The node that tells it, by name.
    pub node: String,
    /// The state before, if the state changed.
    pub from: Option<String>,
    /// The state of the node afterwards.
    pub state: String,
    /// The word of the halting algorithm for that state; null with the others.
    pub halting: Option<String>,
    /// The leader known afterwards, by name.
    pub leader: Option<String>,
    /// The epoch known afterwards.
    pub epoch: u64,
    /// Since when this node knows no leader, and why; null if it knows one afterwards.
    #[serde(default)]
    pub leaderless: Option<LeaderlessStatus>,
    /// For how long this node had heard no leader before, in milliseconds, if it knows one by this; null otherwise, and if
    /// it missed how the leadership before ended.
    #[serde(default)]
    pub leaderless_ms: Option<u64>,
    /// The leadership that begins by this, as this node saw it; left out of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leadership: Option<HistoryEntry>,
    /// The member that it is about, by name: of `member_up` and `member_down`, and the leader of `takeover`.
    pub member: Option<String>,
    /// Why, in words.
    pub reason: String,
}

/// What a log of events keeps.
pub trait Logged: Serialize {
    /// It gets its permanent name.
    fn name_it(&mut self, id: EventId);
    /// That name.
    fn id(&self) -> &str;
    /// What happened, as one word.
    fn kind(&self) -> &'static str;
    /// The lock that it is about, if it is about one.
    fn lock(&self) -> Option<&str> {
        None
    }
}

impl Logged for Event {
    fn name_it(&mut self, id: EventId) {
        self.id = id.to_string();
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn kind(&self) -> &'static str {
        self.event.name()
    }
}

impl Logged for LockChange {
    fn name_it(&mut self, id: EventId) {
        self.id = id.to_string();
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn kind(&self) -> &'static str {
        self.event.into()
    }

    fn lock(&self) -> Option<&str> {
        Some(&self.lock)
    }
}

/// Called when there are new events; it must not wait.
type EventCallback = Box<dyn Fn() + Send + Sync>;

/// The latest events of a node, and those who want to hear of new ones.
///
/// ```
/// use electd::node::events::EventLog;
///
/// let log = EventLog::new(3); // the node's third start
/// let events = log.subscribe();
/// assert!(events.try_recv().is_err());
/// assert_eq!(log.last().to_string(), "3-0");
/// ```
pub struct EventLog<E = Event> {
    start: u64,
    /// How many of the latest are kept.
    most: usize,
    inner: Mutex<Inner<E>>,
    subscribers: Fanout<Arc<E>>,
    /// How many readers by a connection were cut off.
    cut: AtomicU64,
}

struct Inner<E> {
    kept: VecDeque<Arc<E>>,
    /// The number of the event that came last.
    last: u64,
    calls: Vec<EventCallback>,
}

impl EventLog {
    /// The log of this start of a node, without an event.
    #[must_use]
    pub fn new(start: u64) -> EventLog {
        EventLog::keeping(start, KEPT)
    }
}

impl EventLog<LockChange> {
    /// The same of locks that change hands: of a host that dies it may hold all.
    #[must_use]
    pub fn of_locks(start: u64) -> EventLog<LockChange> {
        EventLog::keeping(start, KEPT_OF_LOCKS)
    }
}

impl<E> fmt::Debug for EventLog<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").field("start", &self.start).finish_non_exhaustive()
    }
}

impl<E: Logged> EventLog<E> {
    fn keeping(start: u64, most: usize) -> EventLog<E> {
        let inner = Mutex::new(Inner { kept: VecDeque::new(), last: 0, calls: Vec::new() });
        EventLog { start, most, inner, subscribers: Fanout::new(QUEUE), cut: AtomicU64::new(0) }
    }

    /// Adds events, which get their ids here. Never waits for a reader: an event for a subscriber whose
    /// queue is full is dropped and counted.
    pub fn push(&self, events: impl IntoIterator<Item = E>) {
        let mut inner = self.inner.lock();
        let before = inner.last;
        for mut event in events {
            inner.last += 1;
            event.name_it(EventId { start: self.start, number: inner.last });
            let event = Arc::new(event);
            self.subscribers.tell(&event);
            if inner.kept.len() == self.most {
                inner.kept.pop_front();
            }
            inner.kept.push_back(event);
        }
        if inner.last > before {
            inner.calls.iter().for_each(|call| call());
        }
    }

    /// The id of the event that came last.
    ///
    /// ```
    /// use electd::node::events::EventLog;
    ///
    /// assert_eq!(EventLog::new(7).last().to_string(), "7-0", "the seventh start, and nothing yet");
    /// ```
    #[must_use]
    pub fn last(&self) -> EventId {
        EventId { start: self.start, number: self.inner.lock().last }
    }

    /// The kept events after this one, at most this many. After an event of an earlier incarnation come
    /// all events of the present one.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// let events = node.handle().events();
    /// let read = events.last();
    /// assert!(events.after(read, 10).len() <= 10); // what came since
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn after(&self, id: EventId, most: usize) -> Vec<Arc<E>> {
        let inner = self.inner.lock();
        let first_kept = inner.last - inner.kept.len() as u64; // the number before it
        let read = if id.start == self.start { id.number } else { 0 };
        let skip = usize::try_from(read.saturating_sub(first_kept)).unwrap_or(usize::MAX);
        inner.kept.iter().skip(skip).take(most).cloned().collect()
    }

    /// New events from now on. At most 256 wait; those that come while as many wait are left out and
    /// counted. To unsubscribe, drop it.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// let events = node.handle().events().subscribe();
    /// for event in events.try_iter() {
    ///     println!("{}", event.reason);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Subscription<Arc<E>> {
        self.subscribers.subscribe()
    }

    /// Calls this whenever there are new events, for as long as the log lives. It must not wait.
    pub fn on_news(&self, call: impl Fn() + Send + Sync + 'static) {
        self.inner.lock().calls.push(Box::new(call));
    }

    /// A reader that comes by a connection did not take its events in time, and was cut off.
    pub(crate) fn count_cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    /// How many events did not reach a subscriber whose queue was full, and how many readers of `GET /events` were cut
    /// off because they did not read.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.subscribers.missed() + self.cut.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! A name that a program of this process wants: the program's end of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam::channel::bounded;

use super::order::LockOrder;
use super::orders::ENDING;
use super::request::{LockRefused, LockRequest};
use super::side::BEHIND;
use super::urls::{GivenUrl, UrlOf};
use crate::config::LocksConfig;
use crate::core::locks::periods::OncePer;
use crate::core::locks::table::LockName;
use crate::core::locks::word::LockWant;
use crate::core::types::Time;
use crate::net::NoAnswer;
use crate::node::clock;
use crate::node::command::{CommandError, unanswered};
use crate::node::fanout::Subscription;
use crate::node::inbox::{InboxEvent, Queue};
use crate::node::leadership::{Change, Feed, Leadership};
use crate::node::running::{ANSWER, NodeHandle};

/// A name that this member wants, and holds from time to time. Dropped, the name is given back once all holds have ended,
/// and the member wants it no more.
pub struct WantedLock {
    name: LockName,
    number: u64,
    feed: Arc<Feed>,
    pub(super) node: NodeHandle,
    since: Time,
}

/// Delays the giving back of a lock until it is dropped, for at most the time that it was taken for.
#[derive(Debug)]
pub struct NamedHold {
    number: u64,
    hold: u64,
    events: Queue,
}

impl NodeHandle {
    /// Where the work of this member is reached while it leads, or holds this lock, until the result is dropped.
    pub(crate) fn reached_at(&self, of: UrlOf, url: String) -> GivenUrl {
        self.published.urls.give(of, url)
    }

    /// This member wants the name from now on, until the result is dropped. All members that want it are its candidates,
    /// and one of them holds it at a time.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::leadership::Change;
    /// use electd::node::locks::{LockName, LockWant};
    ///
    /// let backup = node.handle().lock(LockName::new("backup")?, LockWant { weight: 1, prefer: 0 })?;
    /// let changes = backup.changes(); // before the first look, so that nothing is missed
    /// while backup.leadership().is_none() {
    ///     if let Ok(Change::Leading { epoch }) = changes.recv() {
    ///         println!("holds {}, under token {epoch}", backup.name());
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the cluster has no majority, the name is wanted by this node already, or too many are.
    pub fn lock(&self, name: LockName, want: LockWant) -> Result<WantedLock, LockRefused> {
        self.want_lock(name, want, None)
    }

    pub(super) fn want_lock(
        &self,
        name: LockName,
        want: LockWant,
        once: Option<OncePer>,
    ) -> Result<WantedLock, LockRefused> {
        let number = draw();
        let (answer, answered) = bounded(1);
        let request = LockRequest::Want { number, name: name.clone(), want, once, answer };
        self.events.send_timeout(InboxEvent::Lock(request), ANSWER).map_err(refused)?;
        let feed = self.end.answer(&answered, Some(ANSWER)).map_err(refused)??;
        Ok(WantedLock { name, number, feed, node: self.clone(), since: clock::now() })
    }

    /// Goes by this section of the configuration from now on.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let config = electd::config::load(&node.config())?;
    /// node.handle().set_locks(config.locks)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the election thread does not answer, since it is stopping.
    pub fn set_locks(&self, config: LocksConfig) -> Result<(), CommandError> {
        let (done, is_done) = bounded(1);
        let request = LockRequest::Configure { config, done };
        self.events.send_timeout(InboxEvent::Lock(request), ANSWER).map_err(unanswered)?;
        self.end.answer(&is_done, Some(ANSWER)).map_err(unanswered)
    }

    /// Has the leader spread the locks anew, and answers once it has begun to. Returns that in words.
    pub(in crate::node) fn rebalance_locks(
        &self,
        timeout: Duration,
    ) -> Result<String, CommandError> {
        let (answer, answered) = bounded(1);
        let request = LockRequest::Rebalance { timeout, answer };
        self.events.send_timeout(InboxEvent::Lock(request), timeout).map_err(unanswered)?;
        self.end.answer(&answered, Some(timeout + ANSWER)).map_err(unanswered)?
    }

    /// Has the cluster do something with a lock, and waits for the outcome. Returns it in words.
    pub(in crate::node) fn order_lock(
        &self,
        name: LockName,
        order: LockOrder,
        timeout: Duration,
    ) -> Result<String, CommandError> {
        let (answer, answered) = bounded(1);
        let request = LockRequest::Order { name, order, timeout, answer };
        self.events.send_timeout(InboxEvent::Lock(request), timeout).map_err(unanswered)?;
        self.end.answer(&answered, Some(timeout + ENDING)).map_err(unanswered)?
    }
}

/// A number that nothing else of this process has.
fn draw() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

fn refused(why: NoAnswer) -> LockRefused {
    match why {
        NoAnswer::Late => LockRefused::Unanswered,
        NoAnswer::Never => LockRefused::Stopping,
    }
}

impl WantedLock {
    /// When this member began to want it.
    pub(crate) fn since(&self) -> Time {
        self.since
    }

    /// For how long it is if its work failed.
    const BACK: Duration = Duration::from_secs(30);

    /// The name.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// A receiver of what happens from now on: [`Change::Leading`], with the token as its epoch, when this member holds the
    /// name; [`Change::Ending`] when it is to give the name back; [`Change::NotLeading`] when it holds it no more.
    #[must_use]
    pub fn changes(&self) -> Subscription<Change> {
        self.feed.subscribe()
    }

    /// What this member holds now, if it does; its epoch is the fencing token.
    #[must_use]
    pub fn leadership(&self) -> Option<Leadership> {
        self.feed.leadership()
    }

    /// Delays the giving back until the hold is dropped, but for at most this long once it is wanted. So take it first,
    /// then ask [`WantedLock::leadership`], then begin to work.
    ///
    /// # Errors
    /// If the name is about to be given back, or the election thread does not answer.
    pub fn hold_for(&self, most: Duration) -> Result<NamedHold, CommandError> {
        let (number, hold) = (self.number, draw());
        let (held, holds) = bounded(1);
        let request = InboxEvent::Lock(LockRequest::Hold { number, hold, most, held });
        let NodeHandle { events, end, published } = &self.node;
        published.held_for(most);
        events.send_timeout(request, ANSWER).map_err(unanswered)?;
        let taken = NamedHold { number, hold, events: events.clone() }; // dropped, and undone, without an answer
        end.answer(&holds, Some(ANSWER)).map(|()| taken).map_err(|none| match none {
            NoAnswer::Never if !end.has_come() => {
                CommandError::NotNow(format!("the lock {} is about to be given back", self.name))
            }
            none => unanswered(none),
        })
    }

    /// Gives the name back once all holds have ended: another candidate gets it, and without one this member again. It
    /// wants the name on, behind the others for a while.
    pub fn give_back(&self) {
        self.yield_for(BEHIND);
    }

    /// The work under this name failed: as [`WantedLock::give_back`], for longer.
    pub fn stand_back(&self, reason: &str) {
        log::warn!(event = "lock_stands_back", lock = self.name.as_str(); "lock {}: {reason}", self.name);
        self.yield_for(WantedLock::BACK);
    }

    /// The work of this period, for which this member held the name, ended with this code: the name is given back once all
    /// holds have ended. After another code than 0 other candidates come first for a while.
    pub fn end_run(&self, code: u8) {
        let behind = if code == 0 { Duration::ZERO } else { WantedLock::BACK };
        let request = LockRequest::EndRun { number: self.number, code, behind };
        let _ = self.node.events.send(InboxEvent::Lock(request)); // the election thread may have ended
    }

    fn yield_for(&self, behind: Duration) {
        let request = LockRequest::GiveBack { number: self.number, behind };
        let _ = self.node.events.send(InboxEvent::Lock(request)); // the election thread may have ended
    }
}

impl fmt::Debug for WantedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.leadership().map(|held| held.epoch());
        f.debug_struct("WantedLock").field("name", &self.name).field("token", &token).finish()
    }
}

impl Drop for WantedLock {
    fn drop(&mut self) {
        let request = LockRequest::Unwant { number: self.number };
        let _ = self.node.events.send(InboxEvent::Lock(request)); // the election thread may have ended
    }
}

impl Drop for NamedHold {
    fn drop(&mut self) {
        let request = LockRequest::LetGo { number: self.number, hold: self.hold };
        let _ = self.events.send(InboxEvent::Lock(request)); // the election thread may have ended
    }
}

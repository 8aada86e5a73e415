//! The handle of a running node: commands, and the leadership of its member.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam::channel::bounded;
use electd_facts::{hint::ClusterFlags, hold::LockChange, locks::LocksView, unable};
use electd_record::delays::MeasuredDelays;

use super::command::{members_after, unanswered};
use super::events::EventLog;
use super::fanout::Subscription;
use super::handle::{Command, CommandError, Handle, Outcome};
use super::history::HistoryEntry;
use super::inbox::{CommandOrder, InboxEvent, Queue};
use super::leadership::{Change, Leadership};
use super::locks::LockName;
use super::members;
use super::moving;
use super::publish::Published;
use super::status::Status;
use super::tally::Tally;
use super::words;
use crate::config::Config;
use crate::core;
use crate::core::message::{Done, Refusal};
use crate::core::settings::Timing;
use crate::net::{NoAnswer, ThreadEnd};
use crate::trace::record::Record;

/// How long the election thread may take to answer.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// The handle of a [`Node`](super::Node).
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::Handle;
///
/// let handle = node.handle();
/// let elsewhere = handle.clone(); // for another thread
/// assert_eq!(handle.status().epoch, elsewhere.status().epoch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NodeHandle {
    pub(super) published: Arc<Published>,
    pub(super) events: Queue,
    /// The end of the election thread.
    pub(super) end: ThreadEnd,
}

impl NodeHandle {
    /// A receiver of the changes of this member's leadership from now on, directly from the election thread.
    /// [`Handle::events`](super::handle::Handle::events) has all other changes too, a little later.
    ///
    /// A receiver that falls behind by 1,024 changes misses the later ones.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::leadership::Change;
    /// use std::time::Duration;
    ///
    /// let handle = node.handle();
    /// let changes = handle.leadership_changes();
    /// let hold = handle.hold_for(Duration::from_millis(50))?;
    /// # let resigning = std::thread::spawn({ let handle = handle.clone(); move || {
    /// #     use electd::node::handle::{Command, Handle};
    /// #     handle.command(Command::Drain { length: None, reason: String::new(), force: false }, Duration::from_secs(5))
    /// # }});
    /// # drop(hold);
    /// # let _ = resigning.join();
    /// if let Ok(Change::Ending { within }) = changes.try_recv() {
    ///     println!("the work has to end within {within:?}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn leadership_changes(&self) -> Subscription<Change> {
        self.published.feed.subscribe()
    }

    /// The leadership of this member, if it leads now.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// if let Some(leadership) = node.handle().leadership() {
    ///     println!("leads in epoch {}", leadership.epoch());
    /// }
    /// # assert!(node.handle().leadership().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn leadership(&self) -> Option<Leadership> {
        self.published.feed.leadership()
    }

    /// MeasuredDelays the release of this member's leadership until the hold is dropped, but for at most 10 s once the
    /// release is wanted. See [`NodeHandle::hold_for`].
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let handle = node.handle();
    /// let hold = handle.hold()?; // first, so that the leadership cannot be handed over in between
    /// if let Some(leadership) = handle.leadership() {
    ///     println!("writes in epoch {}", leadership.epoch());
    /// }
    /// drop(hold); // from now on another member may lead
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the election thread does not answer, since it is stopping.
    pub fn hold(&self) -> Result<Hold, CommandError> {
        self.hold_for(Duration::from_secs(10))
    }

    /// MeasuredDelays the release of this member's leadership until the hold is dropped, but for at most this long once the
    /// release is wanted.
    ///
    /// The hold is in force from the return of this call. So take it first, then ask [`NodeHandle::leadership`], then
    /// begin to work. Of several holds the longest counts.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use std::time::Duration;
    ///
    /// let hold = node.handle().hold_for(Duration::from_secs(1))?;
    /// drop(hold);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a release is wanted and waits for other holds, or the election thread does not answer, since it is
    /// stopping.
    pub fn hold_for(&self, most: Duration) -> Result<Hold, CommandError> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let (held, holds) = bounded(1);
        self.published.held_for(most);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        self.events
            .send_timeout(InboxEvent::Held { number, most, held }, ANSWER)
            .map_err(unanswered)?;
        let events = self.events.clone();
        let hold = Hold { number, events }; // dropped, and undone, without an answer
        self.end.answer(&holds, Some(ANSWER)).map(|()| hold).map_err(|none| match none {
            NoAnswer::Never if !self.end.has_come() => {
                CommandError::NotNow("the leadership is about to end".to_owned())
            }
            none => unanswered(none),
        })
    }
}

/// MeasuredDelays the release of the leadership until it is dropped, for at most the time that it was taken for.
///
/// While a member holds, a leadership that it resigns, that is preempted, or that ends because the node stops, ends
/// only after the last hold is dropped; [`Change::Ending`] says when that is wanted. A hold does not delay the end of
/// a leadership that is *lost*: then the work has to end before [`Leadership::remaining`] is over.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// {
///     let _hold = node.handle().hold()?;
///     assert!(node.handle().leadership().is_some());
/// } // dropped here: the leadership may be released
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hold {
    number: u64,
    events: Queue,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.events.send(InboxEvent::Unheld { number: self.number }); // the election thread may have ended
    }
}

impl NodeHandle {
    /// The work of this member failed soon after its start: the member hands over, and leads only if no other can, for 30 s
    /// after the first failure and twice as long after each further one, up to 32 min. That is kept over restarts, shown as the
    /// problem `job`, and ended by [`Command::Undrain`]. Waits for the disk.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// node.handle().stand_back("the database does not answer");
    /// assert!(node.handle().status().failure.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stand_back(&self, reason: &str) {
        let failure = self.published.failures.add(reason);
        let _ = self.events.send_timeout(InboxEvent::StandBack, Duration::from_secs(1)); // the watch repeats it
        self.published.failures.store(&failure);
        self.published.ring();
    }

    /// The work of this member was ended in this epoch, as no renewal of the leadership came in time: that is counted, shown
    /// as the problem `renewal` for ten minutes, and noted in the history.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// node.handle().note_late_renewal(1);
    /// assert_eq!(node.handle().tally().late_renewals.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn note_late_renewal(&self, epoch: u64) {
        self.published.note_late_renewal(epoch);
        self.published.ring();
    }

    /// The timings in force: those of the start, or of the last reload.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let timing = node.handle().timing();
    /// assert!(timing.failure >= timing.heartbeat * 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.published.timing()
    }

    /// Whether these timings could replace the present ones while this node runs: see [`NodeHandle::retime`].
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let handle = node.handle();
    /// assert_eq!(handle.check_timing(&handle.timing()), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// With the member whose lease is too far from the new one, in words.
    pub fn check_timing(&self, timing: &Timing) -> Result<(), String> {
        self.published.check_timing(timing)
    }

    /// How the running member list differs from the members of this configuration, and what to do; none if both are the
    /// same.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let config = electd::config::load(&node.config())?;
    /// assert_eq!(node.handle().differs_from(&config), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn differs_from(&self, config: &Config) -> Option<String> {
        let (counts, file) = (self.published.members(), members::of_file(config));
        members::against_file(&counts, &file, config.quorum)
    }

    /// Takes these timings from now on. They have to be those of a valid configuration. No leadership ends because of
    /// that: promises by the older timings last as long as they were made for.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let (handle, file) = (node.handle(), node.config());
    /// let text = std::fs::read_to_string(&file)?.replacen('{', r#"{"timing": {"failure": "2s"},"#, 1);
    /// let config = electd::config::parse(&text, &file)?;
    /// handle.check_timing(&config.timing)?;
    /// handle.retime(config.timing)?;
    /// assert_eq!(handle.timing(), config.timing);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the election thread does not answer, since it is stopping.
    pub fn retime(&self, timing: Timing) -> Result<(), CommandError> {
        let (done, is_done) = bounded(1);
        self.events.send_timeout(InboxEvent::Timed { timing, done }, ANSWER).map_err(unanswered)?;
        self.end.answer(&is_done, Some(ANSWER)).map_err(unanswered)
    }

    pub(super) fn order(
        &self,
        command: core::OperatorCommand,
        timeout: Duration,
    ) -> Result<Result<Done, Refusal>, CommandError> {
        self.order_meanwhile(command, timeout, || ())
    }

    /// The same, and calls this while the command is carried out.
    pub(super) fn order_meanwhile(
        &self,
        command: core::OperatorCommand,
        timeout: Duration,
        meanwhile: impl FnOnce(),
    ) -> Result<Result<Done, Refusal>, CommandError> {
        let (answer, answered) = bounded(1);
        let order = InboxEvent::Order(CommandOrder { command, answer });
        let sent = self.events.send_timeout(order, timeout);
        meanwhile();
        sent.map_err(unanswered)?;
        self.end.answer(&answered, Some(timeout)).map_err(unanswered)
    }
}

impl Handle for NodeHandle {
    fn status(&self) -> Status {
        self.published.with_locks(self.published.status())
    }

    fn flags(&self) -> ClusterFlags {
        self.published.flags().clone()
    }

    fn is_live(&self) -> bool {
        self.published.is_live()
    }

    fn tally(&self) -> Arc<Tally> {
        self.published.measures.tally.clone()
    }

    fn events(&self) -> Arc<EventLog> {
        self.published.measures.events.clone()
    }

    fn history(&self) -> Arc<Vec<HistoryEntry>> {
        self.published.watched().history.clone()
    }

    fn delays(&self) -> MeasuredDelays {
        self.published.delays()
    }

    fn locks(&self) -> Arc<LocksView> {
        Arc::new(self.published.locks_view(None))
    }

    fn lock_view(&self, name: &LockName) -> LocksView {
        self.published.locks_view(Some(name)).of(name.as_str())
    }

    fn lock_events(&self) -> Arc<EventLog<LockChange>> {
        self.published.hands.events.clone()
    }

    fn record(&self) -> Record {
        self.published.record()
    }

    fn recording(&self) -> String {
        self.published.recording()
    }

    fn task(&self) -> Option<Vec<u8>> {
        self.published.task().map(|task| task.content.to_vec())
    }

    fn command(&self, command: Command, timeout: Duration) -> Result<Outcome, CommandError> {
        if let Command::Set { members, force: false } = &command {
            moving::await_answers(members, &self.status())?;
        }
        if let Command::Lock { name, order } = command {
            return self.order_lock(name, order, timeout).map(Outcome::plain);
        }
        if command == Command::RebalanceLocks {
            return self.rebalance_locks(timeout).map(Outcome::plain);
        }
        let (members, drained) = (self.published.members(), self.published.drain());
        let Some(order) = command.for_core(&members, self.published.leader(), drained.clone())?
        else {
            return self.published.calls.reload().map(Outcome::plain);
        };
        let (own, names) = (self.published.own(), members_after(&members, &order));
        let act = words::act(&order);
        let again = drained.and_then(|_| words::drained_again(&order)).unwrap_or_default();
        match self.carry_out(order, timeout)? {
            Ok(Done::Undrained) => {
                self.published.failures.clear();
                Ok(Outcome::of(&Done::Undrained, own, &names))
            }
            Ok(done @ Done::Drained { .. }) => {
                let Outcome { sentence, successor } = Outcome::of(&done, own, &names);
                Ok(Outcome { sentence: sentence + &again, successor })
            }
            Ok(Done::Leads(id)) => {
                Ok(Outcome::plain(words::leads_already(&names.name(id), &self.status())))
            }
            Ok(done) => Ok(Outcome::of(&done, own, &names)),
            Err(Refusal::CannotLead(id)) => {
                Err(CommandError::Refused(unable::words(&names.name(id), &self.status())))
            }
            Err(reason) => Err(words::refusal(&reason, act, &members)),
        }
    }
}

#[cfg(test)]
mod tests;

//! The interface of a running node for other parts and programs: its status, and its commands.

use std::sync::Arc;
use std::time::Duration;

use electd_facts::hint::ClusterFlags;
use electd_facts::hold::LockChange;
use electd_facts::locks::LocksView;
use electd_record::delays::MeasuredDelays;

use super::events::EventLog;
use super::history::HistoryEntry;
use super::locks::LockName;
use super::status::Status;
use super::tally::Tally;
use crate::trace::record::Record;

pub use super::command::{Command, CommandError, Outcome};

/// A running node, as its HTTP interface and embedding programs see it. Cheap to clone; never holds up the election
/// thread.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::Handle;
///
/// /// For a node, and for its stand-in in tests.
/// fn leader(node: &impl Handle) -> Option<String> {
///     node.status().leader.map(|leader| leader.name)
/// }
/// assert_eq!(leader(&node.handle()).as_deref(), Some("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Handle: Clone + Send + Sync + 'static {
    /// One atomic view of the node. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// let status = node.handle().status();
    /// assert_eq!((status.state.as_str(), status.failures_tolerated), ("leading", 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn status(&self) -> Status;

    /// Whether the election thread took a turn within `failure`.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// assert!(node.handle().is_live());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn is_live(&self) -> bool;

    /// The counters of the node. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// println!("missed its turn {} times", node.handle().tally().stalls.get());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn tally(&self) -> Arc<Tally>;

    /// The node's log of events. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// for event in node.handle().events().after("1-0".parse()?, 100) {
    ///     println!("{}: {}", event.id, event.reason);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn events(&self) -> Arc<EventLog>;

    /// Which member led when, oldest first, at most 1,000 entries. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// for leadership in node.handle().history().iter() {
    ///     println!("{} led in epoch {}", leadership.leader, leadership.epoch);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn history(&self) -> Arc<Vec<HistoryEntry>>;

    /// How late its election thread was of late, and how long round trips took, for `electd tune`. Never waits for the
    /// election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// for slot in node.handle().delays().slots {
    ///     println!("{} microseconds late at most", slot.late_us);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn delays(&self) -> MeasuredDelays;

    /// What this node took and did in its last elections, for `electd trace`. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// for entry in node.handle().record().entries {
    ///     println!("{} ns: {} {}", entry.at_ns, entry.what, entry.label);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn record(&self) -> Record;

    /// The same with all that its core took and put out of late, as the file that `electd replay` takes. Never waits for
    /// the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::flight::document::Recording;
    /// use electd::node::handle::Handle;
    ///
    /// let recording = Recording::read(node.handle().recording().as_bytes())?;
    /// assert!(recording.replay()?.is_same(), "the same core does the same again");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn recording(&self) -> String;

    /// The last task that a leader handed out; none if there was none. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// assert_eq!(node.handle().task(), None, "only the halting algorithm has one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn task(&self) -> Option<Vec<u8>>;

    /// The locks of the cluster, as this node knows them. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// for lock in &node.handle().locks().locks {
    ///     println!("{}: {:?}", lock.name, lock.holder);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn locks(&self) -> Arc<LocksView> {
        Arc::default()
    }

    /// The same of the lock of this name alone, which costs less: any name has one.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    /// use electd::node::locks::LockName;
    ///
    /// let lock = node.handle().lock_view(&LockName::new("backup")?);
    /// assert_eq!(lock.locks.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn lock_view(&self, name: &LockName) -> LocksView {
        self.locks().of(name.as_str())
    }

    /// The node's log of locks that changed hands. Never waits for the election thread.
    fn lock_events(&self) -> Arc<EventLog<LockChange>> {
        Arc::new(EventLog::of_locks(0))
    }

    /// The flags by which commands reach this cluster, for the commands that its verdict names.
    fn flags(&self) -> ClusterFlags {
        ClusterFlags::default()
    }

    /// Gives the node a command and waits for its outcome, for at most this long, and longer for the end of a
    /// leadership that a hold delays.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::{Command, Handle};
    /// use std::time::Duration;
    ///
    /// let outcome = node.handle().command(Command::Elect, Duration::from_secs(5))?;
    /// println!("{}", outcome.sentence);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the command is wrong, the state of the cluster forbids it, or there is no answer in time.
    fn command(&self, command: Command, timeout: Duration) -> Result<Outcome, CommandError>;
}

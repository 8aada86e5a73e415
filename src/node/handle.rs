//! What others hold of a running node: its status, and a way to give it a command.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::events::EventLog;
use super::history::Entry;
use super::status::Status;
use super::tally::Tally;
use crate::core::membership::Member;

/// A command to a node, from its HTTP interface or from a program that embeds it.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, Handle};
/// use std::time::Duration;
///
/// let drain = Command::Drain { length: Some(Duration::from_secs(3600)), reason: "new disk".into() };
/// match node.handle().command(drain, Duration::from_secs(5)) {
///     Ok(outcome) => println!("{}", outcome.sentence),
///     Err(error) => println!("{error}"), // nobody could succeed it
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Call an election. A no-op while one is under way.
    Elect,
    /// The leader hands over, to the member named if any. Passed on to the leader by any node, and answered when
    /// its leadership has ended: a hold may delay that.
    Resign {
        /// The name of the member that is to lead next.
        to: Option<String>,
    },
    /// The leader hands over to this member, whatever its rank, and nobody preempts that: until it stops leading, or
    /// [`Command::EndSwitchover`]. Passed on to the leader by any node, and answered when its leadership has ended.
    Switchover {
        /// The name of the member that is to lead.
        to: String,
    },
    /// The leader that a switchover chose is preempted again as any other. Passed on to it by any node.
    EndSwitchover,
    /// The leader adds this member. Passed on to the leader by any node.
    Add(Member),
    /// The leader removes a member; itself after it has handed over. Passed on to it by any node.
    Remove {
        /// The name of the member.
        name: String,
        /// Even if no majority is left, or nobody who may lead.
        force: bool,
    },
    /// This node does not lead any more, restarts included. If it leads, it hands over first, and the answer
    /// waits for that.
    Drain {
        /// For how long; without it until [`Command::Undrain`].
        length: Option<Duration>,
        /// The operator's words, at most 200 bytes.
        reason: String,
    },
    /// This node may lead again, if it was drained or has resigned.
    Undrain,
    /// The whole cluster: nobody preempts, and no leader hands over for its health; a dead one is replaced. Passed
    /// on to the leader by any node.
    Pause {
        /// For how long; without it until [`Command::Resume`].
        length: Option<Duration>,
    },
    /// The cluster is not paused any more. Passed on to the leader by any node.
    Resume,
    /// This node reads its configuration again.
    Reload,
    /// The leader of the halting algorithm hands out this task, of at most 64 KiB.
    HandOut {
        /// Any bytes.
        task: Vec<u8>,
    },
}

/// What a command achieved, in words and for programs.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, Handle, Outcome};
/// use std::time::Duration;
///
/// let Outcome { sentence, successor } = node.handle().command(Command::Undrain, Duration::from_secs(5))?;
/// println!("{sentence}; next is {}", successor.unwrap_or("nobody".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// One sentence.
    pub sentence: String,
    /// Who was asked to start the next election, by name.
    pub successor: Option<String>,
}

impl Outcome {
    /// One sentence, and nobody who is asked for more.
    pub(super) fn plain(sentence: String) -> Outcome {
        Outcome { sentence, successor: None }
    }
}

/// Why a command was not carried out.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, CommandError, Handle};
/// use std::time::Duration;
///
/// let resign = Command::Resign { to: Some("nobody".into()) };
/// let error = node.handle().command(resign, Duration::from_secs(5)).unwrap_err();
/// assert!(matches!(error, CommandError::Invalid(_)), "there is no such member");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The request itself is wrong, such as the name of no member.
    #[error("{0}")]
    Invalid(String),
    /// The cluster's state does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The node, or the leader it asked, did not answer in time.
    #[error("{0}")]
    Unanswered(String),
}

/// A running node, as its HTTP interface and embedding programs see it. Cheap to clone; never
/// holds up the election thread.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::Handle;
///
/// /// For a node, and for whatever stands in for one in tests.
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

    /// Whether the election thread turned within `failure`.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// assert!(node.handle().is_live());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn is_live(&self) -> bool;

    /// What was counted on the node. Never waits for the election thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// println!("missed its turn {} times", node.handle().tally().stalls.get());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn tally(&self) -> Arc<Tally>;

    /// What changes on the node. Never waits for the election thread.
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

    /// Who led when, oldest first, at most 1,000. Never waits for the election thread.
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
    fn history(&self) -> Arc<Vec<Entry>>;

    /// The task that the leader handed out last; none where none was. Never waits for the election
    /// thread.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// assert_eq!(node.handle().task(), None, "only the halting algorithm has one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn task(&self) -> Option<Vec<u8>>;

    /// Gives the node a command and waits for its outcome, at most this long; and longer for the end of a
    /// leadership that is held.
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
    /// When the command is wrong, refused by the state of the cluster, or not answered in time.
    fn command(&self, command: Command, timeout: Duration) -> Result<Outcome, CommandError>;
}

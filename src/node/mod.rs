//! A running node: it starts and joins the threads that the crate's first page lists, and hands out its handle.

// Only the program shows and does all of this.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

mod alerts;
pub(crate) mod attendance;
pub mod certificates;
pub mod checked;
mod clock;
mod command;
mod countdown;
pub mod edited;
mod election;
pub(crate) mod endings;
mod error;
pub mod events;
#[doc(hidden)]
pub mod example;
mod failures;
mod fanout;
pub mod handle;
mod handshakes;
pub mod history;
mod holding;
mod inbox;
mod leaderless;
pub mod leadership;
mod leading;
pub mod locks;
#[cfg(test)]
pub(crate) mod logged;
pub mod members;
mod moving;
mod notes;
mod prepare;
pub mod problems;
mod publish;
pub mod ranked;
mod release;
pub(crate) mod retries;
mod running;
pub mod status;
mod story;
mod surroundings;
pub mod tally;
mod threads;
mod watch;
mod words;

use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::bounded;

use crate::config::Config;
use crate::core::settings::Quorum;
use crate::core::{self, Core};
use crate::realtime::Realtime;

pub use attendance::certify_death;
pub(crate) use attendance::{Attendance, Attended};
use certificates::Certificates;
use checked::Checks;
pub use clock::now;
pub(crate) use clock::{moment, moment_of, since_boot, wall_clock_ms};
use edited::{Edited, PresentConfig};
pub use electd_record::delays;
pub use error::StartError;
pub use fanout::Subscription;
pub use holding::while_holding;
use inbox::{InboxEvent, Queue};
pub use leading::{Lead, WorkEnd, while_leading};
pub use prepare::Start;
use prepare::{accepted, attend, listen, own_address, restore, restore_locks, settings};
use publish::Published;
use ranked::Ranks;
pub use running::NodeHandle;
use surroundings::Surroundings;
use threads::ElectionThread;
use watch::WatchThread;

/// How many events may wait for the election thread before readers wait.
const EVENTS: usize = 256;

/// A running node. It runs until [`Node::stop`], or until it is dropped, which does the same.
///
/// ```
/// use electd::config;
/// use electd::node::{Node, handle::Handle};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = config::load("cluster.json".as_ref())?;
/// let node = Node::start(&config, "a")?;
/// println!("{}", node.handle().status().state);
/// node.stop();
/// # Ok(()) }
/// ```
pub struct Node {
    handle: NodeHandle,
    /// None once it has stopped.
    thread: Option<ElectionThread>,
    ranks: Ranks,
    checks: Checks,
    /// None until all else has started.
    watch: Option<WatchThread>,
    certificates: Certificates,
    present: PresentConfig,
    attendance: Attendance,
}

impl Node {
    /// Starts the member with this name, with the task that it was handed last.
    ///
    /// ```
    /// use electd::node::{Node, StartError};
    ///
    /// # fn start(config: &electd::config::Config) {
    /// match Node::start(config, "a") {
    ///     Err(StartError::Store(error)) => println!("its state cannot be used: {error}"),
    ///     started => started.unwrap().stop(),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the state cannot be used or the address cannot be listened on.
    pub fn start(config: &Config, name: &str) -> Result<Node, StartError> {
        Node::start_with(config, name, Start::default())
    }

    /// Starts the member with this name, with more than what the configuration says.
    ///
    /// ```
    /// use electd::node::{Node, Start};
    ///
    /// # fn run(config: &electd::config::Config) -> Result<(), Box<dyn std::error::Error>> {
    /// let node = Node::start_with(config, "a", Start { bootstrap: true, ..Start::default() })?;
    /// node.stop();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the state cannot be used, the address cannot be listened on, or the task is longer
    /// than [`Task::LONGEST`](crate::core::types::Task::LONGEST) or not for this algorithm.
    pub fn start_with(config: &Config, name: &str, start: Start) -> Result<Node, StartError> {
        Node::start_attended(config, name, start, Attended::by_program())
    }

    /// The same, with or without a coroner.
    pub(crate) fn start_attended(
        config: &Config,
        name: &str,
        start: Start,
        attended: Attended,
    ) -> Result<Node, StartError> {
        let own = config.member(name).ok_or_else(|| StartError::NoMember(name.to_owned()))?;
        let task = start.task.map(|task| accepted(config, task)).transpose()?;
        if start.bootstrap && config.quorum == Quorum::None {
            return Err(StartError::NoVote);
        }
        let certificates = Certificates::load(config, own)?;
        let address = own_address(config, own)?;
        let mut settings = settings(config, own);
        settings.bootstrap = start.bootstrap;
        let (store, restored) = restore(config, own, &settings, task)?;
        let locks = restore_locks(config, own, &restored)?;
        alerts::introduce(config, own, restored.incarnation);
        certificates.introduce();
        let (file, flags) = (settings.members.clone(), members::flags_for(&config.file));
        if let Some(differs) = members::against_file(&restored.record.members, &file, config.quorum)
        {
            log::warn!(event = "config_differs"; "{differs}");
        }
        let (sender, events) = bounded(EVENTS);
        let realtime = Realtime::begin(config.realtime);
        let queue = Queue::new(sender, realtime.clone());
        // Before anybody can dial: the first hello tells the rank.
        let surroundings = Surroundings::new(config, name);
        let started = ranked::start(own, queue.clone(), &surroundings);
        let (sampler, sample) = started.map_err(StartError::Thread)?;
        settings.value = sample.as_ref().ok().map(|sample| sample.value);
        let socket = listen(config, own, address, &mut settings)?;
        let start = restored.incarnation;
        let attendance = attend((config, own), attended, &mut settings, start, &socket);
        let attendance = attendance.map_err(StartError::Thread)?;
        let seed = settings.instance;
        let core = Core::new(clock::now(), settings, restored, seed);
        let published = Arc::new(Published::new(&core, file, &sample, store.pace(), realtime));
        published.reached_by(flags);
        surroundings.set_published(published.clone());
        published.secure(certificates.security());
        let state = config.state_dir(name);
        published.failures.open(&state);
        if published.failures.present().is_some() {
            let _ = queue.try_send(InboxEvent::StandBack); // the first event of an empty queue, before any hello
        }
        let secured = (socket.clone(), certificates.security());
        let started =
            threads::start(config, (core, store, locks), secured, (queue, events), published);
        let (handle, thread) = started.map_err(StartError::Thread)?;
        let present = PresentConfig::new(config.clone().into());
        let ranks = Ranks::new(sampler, handle.events.clone(), surroundings.clone());
        let checks = Checks::new(handle.published.clone(), handle.events.clone(), surroundings);
        // From here on it may lead: if the rest fails, it is dropped, and hands over.
        let (thread, watch) = (Some(thread), None);
        let mut node =
            Node { handle, thread, ranks, checks, watch, certificates, present, attendance };
        let edited = Edited::new(node.present.clone(), name);
        let observed = (edited, node.certificates.clone(), node.attendance.clone());
        let watch = WatchThread::start(node.handle.clone(), socket, state, observed);
        node.watch = Some(watch.map_err(StartError::Thread)?);
        if let Some(health) = &own.health {
            node.checks.start(health).map_err(StartError::Thread)?;
        }
        Ok(node)
    }

    /// The coroner of this node, or why it has none.
    #[cfg(feature = "cli")]
    pub(crate) fn attendance(&self) -> Attendance {
        self.attendance.clone()
    }

    /// A handle for those who watch and command this node.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::Handle;
    ///
    /// let handle = node.handle();
    /// std::thread::spawn(move || println!("{}", handle.status().state)).join().unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> NodeHandle {
        self.handle.clone()
    }

    /// Calls this once when the member has been removed from the cluster: the election has ended
    /// then, and the node is to be stopped.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let (removed, is_removed) = std::sync::mpsc::channel();
    /// node.on_removal(move || _ = removed.send(()));
    /// assert!(is_removed.try_recv().is_err(), "it belongs to the cluster");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_removal(&self, call: impl Fn() + Send + Sync + 'static) {
        self.handle.published.calls.on_removal(Box::new(call));
    }

    /// The handle that changes the rank while the node runs.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let config = electd::config::load(&node.config())?;
    /// let own = config.member("a").ok_or("the file does not list it")?;
    /// node.ranks().replace(own)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ranks(&self) -> Ranks {
        self.ranks.clone()
    }

    /// The handle that changes the health check while the node runs.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// node.checks().replace(None)?; // without a check from now on
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checks(&self) -> Checks {
        self.checks.clone()
    }

    /// The handle that changes the certificates while the node runs.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// let config = electd::config::load(&node.config())?;
    /// let own = config.member("a").ok_or("the file does not list it")?;
    /// let prepared = node.certificates().prepare(own)?;
    /// assert!(!node.certificates().take(prepared), "its connections are plain");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// The running configuration; code that makes a change take effect updates it.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// assert_eq!(node.present().lock().cluster, "example");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn present(&self) -> PresentConfig {
        self.present.clone()
    }

    /// Calls this for [`Command::Reload`](handle::Command::Reload): it reads the configuration again,
    /// and says what took effect, or why nothing did.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// use electd::node::handle::{Command, Handle};
    /// use std::time::Duration;
    ///
    /// node.on_reload(|| Ok("nothing to change".to_owned()));
    /// let outcome = node.handle().command(Command::Reload, Duration::from_secs(5))?;
    /// assert_eq!(outcome.sentence, "nothing to change");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_reload(
        &self,
        call: impl Fn() -> Result<String, handle::CommandError> + Send + Sync + 'static,
    ) {
        self.handle.published.calls.on_reload(Box::new(call));
    }

    /// Whether this member has been removed from the cluster.
    ///
    /// ```
    /// # let node = electd::node::example::leader()?;
    /// assert!(!node.is_removed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.handle.published.calls.is_removed()
    }

    /// Hands over if it leads, closes all connections and, last, the listener, and joins all
    /// threads.
    ///
    /// ```
    /// # fn end(node: electd::node::Node) {
    /// node.stop(); // the others know immediately that it no longer leads
    /// # }
    /// ```
    pub fn stop(self) {
        self.stop_meanwhile(|| ());
    }

    /// The same, and calls this while it hands over: the others wait for nothing that is done here.
    pub(crate) fn stop_meanwhile(mut self, meanwhile: impl FnOnce()) {
        self.end(meanwhile);
    }

    fn end(&mut self, meanwhile: impl FnOnce()) {
        let Some(thread) = self.thread.take() else { return };
        let timeout = Duration::from_secs(1) + self.handle.published.longest_hold(); // of all holders
        if self.is_removed() {
            meanwhile();
        } else if self
            .handle
            .order_meanwhile(core::OperatorCommand::Stop, timeout, meanwhile)
            .is_err()
        {
            log::warn!("the election thread did not answer in time");
        }
        match thread.join() {
            Ok((net, store)) => {
                self.attendance.dismiss();
                net.stop();
                store.stop();
            }
            Err(_) => log::error!("the election thread panicked"),
        }
        self.ranks.stop();
        self.checks.stop();
        let _ = self.watch.take().map(WatchThread::stop); // none if the start failed
    }
}

/// A node that nobody has a hand on any more must not lead on: neither work nor a signal would end it.
impl Drop for Node {
    fn drop(&mut self) {
        self.end(|| ());
    }
}

#[cfg(test)]
mod tests;

//! Hooks: a program that runs for each change that this node sees, one run after the other.
//!
//! The thread "hooks" reads the node's logs of events, so that a program that hangs delays no other
//! thread. A node without a hook has no such thread. If changes come faster than the program runs, only
//! the newest of each kind waits; the others are counted.

pub(super) mod news;

use std::env;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};
use electd_facts::hold::LockChange;
use log::{info, warn};
use parking_lot::Mutex;
use rustix::fs::{Access, access};

use super::hook::{self, HookEnd, LOOK};
use crate::config::HooksConfig;
use crate::node::events::{EventId, EventLog};
use crate::node::handle::Handle;
use crate::node::tally::Tally;
use crate::rank::aside::{Aside, GONE, NoResult};
use crate::rank::children;

use news::{HookNews, WaitingNews};

const STACK: usize = 256 * 1024;

/// How many events are taken note of in one look: all that a log keeps.
const MOST: usize = usize::MAX;

/// Whether this process may run a program: a path, or a name that is looked for in PATH.
#[must_use]
pub fn can_run(program: &Path) -> bool {
    let runs = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if program.components().count() > 1 {
        return runs(program);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| runs(&folder.join(program)))
}

/// The hook of a node, and the thread that runs it.
pub struct Hooks(Arc<HooksState>);

/// The handle by which other threads speak to it. Cheap to clone.
#[derive(Clone)]
pub struct HooksHandle(Arc<HooksState>);

struct HooksState {
    config: Mutex<Option<HooksConfig>>,
    /// When nothing is run any more.
    end: Mutex<Option<Instant>>,
    ring: Sender<()>,
    rings: Receiver<()>,
    log: Arc<EventLog>,
    locks: Arc<EventLog<LockChange>>,
    tally: Arc<Tally>,
    cluster: String,
    /// None before the first hook.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl HooksHandle {
    /// Has another program run from now on, or none. The first one is told the events from now on, a later one those
    /// that wait too.
    ///
    /// # Errors
    /// When it is the first one, and its thread cannot be had: then it does not run.
    pub fn replace(&self, config: Option<HooksConfig>) -> io::Result<()> {
        self.0.replace(config, false)
    }
}

impl HooksState {
    /// The first program is told the events from now on, or all since the start of the node.
    fn replace(
        self: &Arc<HooksState>,
        config: Option<HooksConfig>,
        since_start: bool,
    ) -> io::Result<()> {
        let mut thread = self.thread.lock();
        let stops = self.end.lock().is_some();
        let first = thread.is_none() && config.is_some() && !stops;
        *self.config.lock() = config; // before the thread looks
        if first {
            let worker = Worker::new(self, since_start);
            let builder = thread::Builder::new().name("hooks".to_owned()).stack_size(STACK);
            let spawned = builder.spawn(move || worker.run());
            *thread = Some(spawned.inspect_err(|_| *self.config.lock() = None)?);
        }
        Ok(())
    }
}

impl Hooks {
    /// Has this program run, which is told all events since the start of the node.
    ///
    /// # Errors
    /// When the thread cannot be had.
    pub fn start(
        node: &impl Handle,
        cluster: &str,
        config: Option<HooksConfig>,
    ) -> io::Result<Hooks> {
        let (ring, rings) = bounded(1);
        let (log, bell) = (node.events(), ring.clone());
        log.on_news(move || _ = bell.try_send(())); // full: it has yet to look
        let (locks, bell) = (node.lock_events(), ring.clone());
        locks.on_news(move || _ = bell.try_send(()));
        let shared = Arc::new(HooksState {
            config: Mutex::default(),
            end: Mutex::default(),
            ring,
            rings,
            log,
            locks,
            tally: node.tally(),
            cluster: cluster.to_owned(),
            thread: Mutex::default(),
        });
        shared.replace(config, true)?;
        Ok(Hooks(shared))
    }

    /// The handle by which others speak to the thread.
    #[must_use]
    pub fn handle(&self) -> HooksHandle {
        HooksHandle(self.0.clone())
    }

    /// After the node has stopped, the program runs for the changes that wait, for at most the time of
    /// one run; then the thread ends.
    pub fn stop(self) {
        let Hooks(shared) = self;
        let timeout = shared.config.lock().as_ref().map_or(Duration::ZERO, |it| it.timeout);
        *shared.end.lock() = Some(Instant::now() + timeout);
        let _ = shared.ring.try_send(()); // full: it has yet to look
        let thread = shared.thread.lock().take(); // and nobody waits for this lock meanwhile
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread of the hooks panicked; this is a defect");
        }
    }
}

/// The thread's own state.
struct Worker {
    shared: Arc<HooksState>,
    /// The event that was seen last, and the change of a lock.
    seen: (EventId, EventId),
    waiting: WaitingNews,
    /// The runs of the program. If one hangs in the system, the events wait.
    runs: Aside<HookEnd>,
}

impl Worker {
    fn new(shared: &Arc<HooksState>, since_start: bool) -> Worker {
        let after = |last: EventId| if since_start { EventId { number: 0, ..last } } else { last };
        let seen = (after(shared.log.last()), after(shared.locks.last()));
        let (waiting, runs) = (WaitingNews::default(), Aside::new("hook"));
        Worker { shared: shared.clone(), seen, waiting, runs }
    }

    fn run(mut self) {
        loop {
            let end = *self.shared.end.lock();
            self.look();
            let config = self.shared.config.lock().clone();
            let over = end.is_some_and(|end| end <= Instant::now());
            let has_next = self.waiting.count() > 0;
            if self.runs.is_busy() && !over && (has_next || end.is_none()) {
                let _ = self.shared.rings.recv_timeout(LOOK);
                continue;
            }
            let next = self.waiting.next();
            match (config, next) {
                (Some(_), Some(_)) if over => {
                    self.count("left_out", self.waiting.count() as u64 + 1);
                    return;
                }
                (Some(config), Some(news)) => self.tell(&config, &news),
                (None, Some(_)) => self.waiting.clear(),
                (_, None) if end.is_some() => return,
                // The ring lives as long as this thread.
                (_, None) => _ = self.shared.rings.recv(),
            }
        }
    }

    /// Takes note of new events.
    fn look(&mut self) {
        let (seen, seen_locks) = &mut self.seen;
        let (new, changes) =
            (self.shared.log.after(*seen, MOST), self.shared.locks.after(*seen_locks, MOST));
        let left_out = self.waiting.take(seen, new) + self.waiting.take(seen_locks, changes);
        if left_out > 0 && self.shared.config.lock().is_some() {
            self.count("left_out", left_out);
            info!(event = "hook"; "the hook is not told {left_out} changes: newer ones of their kind came meanwhile");
        }
    }

    /// Runs the program for an event.
    fn tell(&mut self, config: &HooksConfig, news: &HookNews) {
        let (what, name) = (news.name(), config.program.display());
        let ended = self.run_for(config, news);
        match &ended {
            HookEnd::Well => {}
            HookEnd::Badly(how) => warn!(event = "hook"; "the hook {name} for {what} {how}"),
            HookEnd::Late(after) => {
                warn!(event = "hook"; "the hook {name} for {what} took longer than {after:?} and was killed");
            }
            HookEnd::Hangs(after) => {
                warn!(event = "hook"; "the hook {name} for {what} took longer than {after:?}, and KILL does not end it: it hangs in the system, and the next ones wait for that");
            }
            HookEnd::NotRun(error) => {
                warn!(event = "hook"; "the hook {name} for {what} cannot be run: {error}");
            }
        }
        self.count(ended.name(), 1);
    }

    /// Waits for a run no longer than it may take, whatever the system does with it.
    fn run_for(&mut self, config: &HooksConfig, news: &HookNews) -> HookEnd {
        let (begin, shared) = (Instant::now(), self.shared.clone());
        let due = begin + config.timeout;
        let is_over = |more: Duration| {
            let end = shared.end.lock().map_or(due, |end| end.min(due));
            Instant::now() >= end + more
        };
        loop {
            let (config, news, shared) = (config.clone(), news.clone(), self.shared.clone());
            let end = move || *shared.end.lock();
            let cluster = self.shared.cluster.clone();
            match self.runs.begin(move || hook::run(&config, &news, &cluster, &end)) {
                Ok(()) => break,
                Err(NoResult::NoThread(error))
                    if children::is_passing(&error) && !is_over(Duration::ZERO) =>
                {
                    thread::sleep(LOOK);
                }
                Err(none) => return HookEnd::NotRun(none.to_string()),
            }
        }
        while !is_over(GONE) {
            if let Some(ended) = self.runs.wait(LOOK) {
                return ended;
            }
        }
        HookEnd::Hangs(begin.elapsed().min(config.timeout))
    }

    fn count(&self, result: &str, more: u64) {
        self.shared.tally.hooks.get_or_create(&vec![("result", result.to_owned())]).inc_by(more);
    }
}

#[cfg(test)]
mod tests;

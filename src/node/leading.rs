//! For a program whose work is to act while it leads: a member that runs around that work.

use std::cell::Cell;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, after, bounded, never};
use crossbeam::select;
use parking_lot::Mutex;

use super::command::CommandError;
use super::endings::SignalWatch;
use super::fanout::Subscription;
use super::leadership::{Change, Leadership};
use super::retries::Retries;
use super::running::Hold;
use super::{Node, NodeHandle, StartError};
use crate::config::Config;

/// How often [`Lead::goes_on`] looks at the clock: a leadership that is lost ends by it, without a word.
const LOOK: Duration = Duration::from_millis(10);

/// Until the leadership is looked at again that could not be held.
const NOT_HELD: Duration = Duration::from_millis(20);

/// Runs the member of this name, and `work` in the calling thread each time that it leads, until TERM or INT comes or the
/// member is removed from the cluster.
///
/// The leadership is held while `work` runs: if an operator or a higher member wants it, [`Lead::goes_on`] turns false, and
/// another member leads only after `work` has returned, or after 10 s. If the leadership is *lost*, as in a partition,
/// nobody waits: `work` must not go on for longer than until the next step after `goes_on` is false. Work that began
/// before another member leads can still arrive later; send [`Lead::epoch`] with it, so that the resource can refuse it.
///
/// How `work` ends says what follows:
///
/// - After `goes_on` was false, `work` begins again as soon as the member leads and nobody wants the leadership: in the same
///   epoch too, if the end was not needed after all.
/// - If `work` returns `()` or `Ok` by itself, it is done: the member leads on without it, until it leads in another epoch.
/// - If `work` returns an error by itself, it begins again after 1 s at first and 1 min at most. If it fails within 60 s twice in a
///   row, the member stands back: see [`NodeHandle::stand_back`].
/// - If `work` panics, the member hands over and stops, and the panic goes on to the caller.
///
/// A signal that the program ignores stays ignored. After the return TERM and INT do again what they did before the first call: if
/// the program had no handler for them then, they end it. So a program that wants handlers of its own registers them first.
///
/// ```no_run
/// use electd::config;
/// use electd::node::while_leading;
/// use std::time::Duration;
///
/// let config = config::load("cluster.json".as_ref())?;
/// while_leading(&config, "a", |lead| {
///     while lead.goes_on(Duration::from_secs(1)) {
///         println!("one step of the work, in epoch {}", lead.epoch());
///     }
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the member cannot start.
pub fn while_leading<W: WorkEnd>(
    config: &Config,
    name: &str,
    work: impl FnMut(&Lead<'_>) -> W,
) -> Result<(), StartError> {
    run_around(config, name, |handle, _, stopping| {
        lead_on(handle, stopping, work);
        Ok(())
    })
}

/// Runs the member of this name around something, which ends once the receiver is closed: by TERM or INT, a removal of the
/// member, or the stopper.
pub(super) fn run_around(
    config: &Config,
    name: &str,
    run: impl FnOnce(&NodeHandle, &WorkStopper, &Receiver<()>) -> Result<(), StartError>,
) -> Result<(), StartError> {
    let (stop, stopping) = WorkStopper::new();
    let stop_by_signal = stop.clone();
    // Before the node starts, so that no signal is lost. Dropped last, also if the work panics.
    let _endings = SignalWatch::call(move || stop_by_signal.now()).map_err(StartError::Thread)?;
    let node = Node::start(config, name)?;
    let stop_by_removal = stop.clone();
    node.on_removal(move || stop_by_removal.now());
    run(&node.handle(), &stop, &stopping)?;
    node.stop();
    Ok(())
}

/// How the work of [`while_leading`] and [`while_holding`](super::while_holding) ends: by `()`, or by a `Result` whose error says why it failed.
///
/// ```
/// use electd::node::WorkEnd;
///
/// assert_eq!(().failure(), None);
/// let end: Result<(), String> = Err("no database".to_owned());
/// assert_eq!(end.failure(), Some("no database".to_owned()));
/// ```
pub trait WorkEnd {
    /// Why the work failed, in words; none if it did not.
    fn failure(self) -> Option<String>;
}

impl WorkEnd for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: Display> WorkEnd for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// What a member has from time to time, and runs work in: the leadership of its cluster, or a lock.
pub(super) trait Tenure {
    /// Delays its end until it is dropped.
    type Hold;
    /// Whether work that returns by itself is done for good.
    const ENDS_WITH_WORK: bool;

    fn changes(&self) -> Subscription<Change>;
    fn leadership(&self) -> Option<Leadership>;
    fn hold(&self) -> Result<Self::Hold, CommandError>;
    /// The work fails here again and again: another member is to try.
    fn stand_back(&self, why: &str);
}

impl Tenure for NodeHandle {
    type Hold = Hold;
    const ENDS_WITH_WORK: bool = false;

    fn changes(&self) -> Subscription<Change> {
        self.leadership_changes()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.leadership()
    }

    fn hold(&self) -> Result<Hold, CommandError> {
        self.hold()
    }

    fn stand_back(&self, why: &str) {
        self.stand_back(why);
    }
}

/// Runs the work in each leadership until the member is to stop.
pub(super) fn lead_on<H: Tenure, W: WorkEnd>(
    held: &H,
    stopping: &Receiver<()>,
    mut work: impl FnMut(&Lead<'_>) -> W,
) {
    let changes = &held.changes();
    let (mut done, mut retries) = (None, Retries::new());
    loop {
        while changes.try_recv().is_ok() {} // what came before the hold does not concern the work
        let mut pause = None;
        if held.leadership().is_some_and(|it| Some(it.epoch()) != done) {
            pause = Some(NOT_HELD);
            // The hold comes first, so that the leadership is not handed over in between.
            if let Ok(_hold) = held.hold()
                && let Some(leadership) = held.leadership()
            {
                let (epoch, is_asked) = (leadership.epoch(), Cell::new(false));
                let began = Instant::now();
                let end = work(&Lead { leadership, changes, stopping, is_asked: &is_asked });
                match end.failure() {
                    _ if is_asked.get() => {}
                    None if H::ENDS_WITH_WORK => return,
                    None => (done, retries, pause) = (Some(epoch), Retries::new(), None),
                    Some(why) => pause = Some(failed(held, &mut retries, began, &why)),
                }
            }
        }
        let news = if pause.is_none() { Receiver::clone(changes) } else { never() };
        let again = pause.map_or_else(never, after);
        select! {
            recv(stopping) -> _ => return,
            recv(news) -> change => if change.is_err() { return },
            recv(again) -> _ => {}
        }
    }
}

/// The work that began then failed. Has another member lead where that happens again and again; returns how long to wait.
fn failed(held: &impl Tenure, retries: &mut Retries, began: Instant, why: &str) -> Duration {
    let ran = began.elapsed();
    log::warn!("the work failed after {ran:.1?}: {why}");
    let (moves, wait) = retries.failed(ran);
    if moves {
        held.stand_back(why);
    }
    wait
}

/// Ends the work and the member: it closes the channel that both look at.
#[derive(Clone)]
pub(super) struct WorkStopper(Arc<Mutex<Option<Sender<()>>>>);

impl WorkStopper {
    /// With the channel.
    pub(super) fn new() -> (WorkStopper, Receiver<()>) {
        let (running, stopping) = bounded(0);
        (WorkStopper(Arc::new(Mutex::new(Some(running)))), stopping)
    }

    pub(super) fn now(&self) {
        self.0.lock().take();
    }
}

/// A leadership, of the cluster or of a name, in which the work of [`while_leading`] and
/// [`while_holding`](super::while_holding) runs.
#[derive(Debug)]
pub struct Lead<'r> {
    leadership: Leadership,
    changes: &'r Receiver<Change>,
    stopping: &'r Receiver<()>,
    /// Whether the work was asked to end.
    is_asked: &'r Cell<bool>,
}

impl Lead<'_> {
    /// The epoch of the leadership, or the token of the lock: with a majority, a fencing token.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.leadership.epoch()
    }

    /// Waits this long, or until the work has to end; zero only asks. Returns whether the work may go on.
    #[must_use = "the work has to end if this is false"]
    pub fn goes_on(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let is_to_end = select! {
                recv(self.changes) -> change => !matches!(change, Ok(Change::Leading { .. })),
                recv(self.stopping) -> _ => true,
                default(left.min(LOOK)) => false,
            };
            if is_to_end || !self.leadership.is_valid() {
                self.is_asked.set(true);
                return false;
            }
            if left.is_zero() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests;

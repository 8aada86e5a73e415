//! A lock that an engine decides on, as a job needs it: a third kind of leader, beside a node of this process and one of
//! another.
//!
//! The thread "engine" wants the lock, takes it, renews it and shows until when it holds. That counts from before a request
//! was sent, by the node's clock, and is 9/11 of the time that the engine was asked for, as of a lease between members: the
//! clocks of both may go apart by so much. The guard of a job goes by that, whatever becomes of this process.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use electd_engine::{Engine, EngineError, EngineHolder, LockAnswer};
use log::{info, warn};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};
use uuid::Uuid;

pub use electd_engine::{EnginePace, holder, host};

use super::equipment::Equipment;
use super::leader::Leader;
use crate::calls::{Named, THREAD};
use crate::core::types::Time;
use crate::node::leadership::{Change, Feed, Leadership, Term};
use crate::node::now;

/// An order to the thread.
enum EngineOrder {
    /// A job has ended.
    Ended,
    /// Another is to have the lock, if another wants it.
    GiveBack,
    /// This process ends.
    Over,
}

#[derive(Default)]
struct EngineState {
    feed: Feed,
    /// How many jobs run.
    holds: Mutex<usize>,
    /// The holder of the lock, as far as this process knows.
    other: Mutex<Option<EngineHolder>>,
    /// Why the engine was of no use the last time.
    trouble: Mutex<Option<EngineError>>,
}

impl EngineState {
    /// Ends the leadership, unless a job runs.
    fn end_unheld(&self) -> bool {
        let holds = self.holds.lock();
        if *holds == 0 {
            self.feed.show(None);
        }
        *holds == 0
    }
}

/// A lock that an engine decides on.
pub struct EngineLock {
    state: Arc<EngineState>,
    orders: Sender<EngineOrder>,
    thread: Option<JoinHandle<()>>,
}

impl EngineLock {
    /// Wants this lock from now on. Returns once the engine has been asked for the first time.
    ///
    /// # Errors
    /// If it refuses, or does not answer, unless its answer is waited for.
    pub fn start(
        engine: Box<dyn Engine>,
        pace: EnginePace,
        waits: bool,
    ) -> Result<EngineLock, EngineError> {
        let state = Arc::new(EngineState::default());
        let ((orders, ordered), (tell, known)) = (unbounded(), bounded(1));
        let own = state.clone();
        let work = move || {
            let (known, owed) = (Some(tell), None);
            Work { engine, state: own, pace, orders: ordered, known, owed }.run();
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work).named(THREAD);
        let thread = thread.map_err(|error| EngineError::Unreachable(error.to_string()))?;
        let lock = EngineLock { state, orders, thread: Some(thread) };
        match known.recv() {
            Ok(Err(EngineError::Unreachable(why))) if waits => warn!("{why}; waiting for it"),
            Ok(Err(error)) => return Err(error),
            _ => {}
        }
        Ok(lock)
    }

    /// Why the engine is of no use now, if it is not.
    #[must_use]
    pub fn trouble(&self) -> Option<EngineError> {
        self.state.trouble.lock().clone()
    }

    /// The holder of the lock, as far as this process knows.
    #[must_use]
    pub fn other(&self) -> Option<EngineHolder> {
        self.state.other.lock().clone()
    }
}

impl Drop for EngineLock {
    /// Gives the lock back.
    fn drop(&mut self) {
        let _ = self.orders.send(EngineOrder::Over);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // its patience has a bound
        }
    }
}

/// Keeps the lock from being given back until it is dropped. The lock ends all the same if it is not renewed in time.
pub struct EngineHold {
    state: Arc<EngineState>,
    orders: Sender<EngineOrder>,
}

impl Drop for EngineHold {
    fn drop(&mut self) {
        *self.state.holds.lock() -= 1;
        let _ = self.orders.send(EngineOrder::Ended);
    }
}

impl Leader for EngineLock {
    type Hold = EngineHold;

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        self.state.feed.subscribe()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.state.feed.leadership()
    }

    fn hold(&self, _: Duration) -> Option<EngineHold> {
        let mut holds = self.state.holds.lock();
        self.state.feed.leadership()?;
        *holds += 1;
        Some(EngineHold { state: self.state.clone(), orders: self.orders.clone() })
    }

    /// The guard locks a file that nobody else knows: it is the engine that keeps another job from beginning.
    fn equip(&self, _: &mut EngineHold) -> io::Result<Equipment> {
        let file = memfd_create(c"electd-job", MemfdFlags::CLOEXEC).named("memfd_create")?;
        let file = File::from(file);
        file.try_lock().map_err(io::Error::from)?;
        Ok(Equipment::unattended(file))
    }

    fn hand_over(&self) {
        let _ = self.orders.send(EngineOrder::GiveBack);
    }

    fn stand_back(&self, reason: &str) {
        warn!("the lock is given back: {reason}");
        self.hand_over();
    }

    fn is_gone(&self) -> bool {
        false // it goes on for as long as this process
    }
}

/// What comes next, when a lock is not held any more.
enum AfterLock {
    /// It is wanted again, after this time.
    WantedAfter(Duration),
    /// Nothing: this process ends.
    Nothing,
}

/// The thread.
struct Work {
    engine: Box<dyn Engine>,
    state: Arc<EngineState>,
    pace: EnginePace,
    orders: Receiver<EngineOrder>,
    /// Where the first answer is waited for.
    known: Option<Sender<Result<(), EngineError>>>,
    /// A wish that is over, and of which the engine may not know that.
    owed: Option<String>,
}

impl Work {
    fn run(mut self) {
        loop {
            let nonce = Uuid::new_v4().simple().to_string();
            let wish = holder(&nonce[..8]);
            let taken = self.want(&wish);
            let next =
                taken.map_or(AfterLock::Nothing, |(token, until)| self.keep(&wish, token, until));
            self.owed = Some(wish);
            self.give_back();
            match next {
                AfterLock::WantedAfter(pause) if !self.is_over_within(pause) => {}
                _ => return,
            }
        }
    }

    /// Gives up what an earlier wish has, or may have, as a request may have been carried out without an answer. Tells
    /// whether nothing is left of it: it would be in the way of the next one.
    fn give_back(&mut self) -> bool {
        let Some(wish) = &self.owed else { return true };
        let released = self.engine.release(wish);
        if self.note(released).is_some() {
            self.owed = None;
        }
        self.owed.is_none()
    }

    /// Until the lock is taken: its token, and until when. None if this process ends.
    fn want(&mut self, wish: &str) -> Option<(u64, Time)> {
        loop {
            let mut pause = self.pace.between_looks();
            if !self.give_back() {
                if self.is_over_within(pause) {
                    return None;
                }
                continue;
            }
            let sent = now();
            let taken = self.engine.take(wish);
            match self.note(taken) {
                Some(LockAnswer::Held(token)) => {
                    let until = sent + self.pace.renewal();
                    *self.state.other.lock() = None;
                    if now() < until {
                        self.show(token, until);
                        self.state.feed.tell(&Change::Leading { epoch: token });
                        self.tell_known(Ok(()));
                        return Some((token, until));
                    }
                }
                Some(LockAnswer::Other(other)) => {
                    pause = other.left.map_or(pause, |left| pause.min(left));
                    *self.state.other.lock() = Some(other);
                    self.tell_known(Ok(()));
                }
                None => {}
            }
            if self.is_over_within(pause.max(Duration::from_millis(5))) {
                return None;
            }
        }
    }

    /// Until the lock is not held any more.
    fn keep(&mut self, wish: &str, token: u64, mut until: Time) -> AfterLock {
        let mut due = now() + self.pace.between_renewals();
        let mut ends = false;
        while now() < until {
            let pause = if ends { until } else { until.min(due) }.since(now());
            match self.orders.recv_timeout(pause) {
                Ok(EngineOrder::Over) | Err(RecvTimeoutError::Disconnected) => {
                    self.state.end_unheld();
                    return AfterLock::Nothing;
                }
                Ok(order) => {
                    ends |= matches!(order, EngineOrder::GiveBack);
                    // A job that does not end costs the lock, and no more: it is not renewed.
                    if ends && self.state.end_unheld() {
                        self.state.feed.tell(&Change::NotLeading);
                        return AfterLock::WantedAfter(self.pace.ttl);
                    }
                }
                Err(RecvTimeoutError::Timeout) if ends => {}
                Err(RecvTimeoutError::Timeout) => {
                    let sent = now();
                    let renewed = self.engine.renew(wish);
                    match self.note(renewed) {
                        Some(true) if now() < until => {
                            until = sent + self.pace.renewal();
                            self.show(token, until);
                            due = sent + self.pace.between_renewals();
                        }
                        None => due = now() + self.pace.between_looks(),
                        Some(false) => break,
                        Some(true) => {}
                    }
                }
            }
        }
        self.state.feed.show(None);
        self.state.feed.tell(&Change::NotLeading);
        warn!("the lock is lost");
        while *self.state.holds.lock() > 0 {
            match self.orders.recv() {
                Ok(EngineOrder::Ended | EngineOrder::GiveBack) => {}
                Ok(EngineOrder::Over) | Err(_) => return AfterLock::Nothing,
            }
        }
        AfterLock::WantedAfter(Duration::ZERO)
    }

    fn show(&self, token: u64, until: Time) {
        let renewal = Some(self.pace.renewal());
        self.state.feed.show(Some(Term { epoch: token, until, renewal, now: now() }));
    }

    /// The answer, if there is one. Says once what is wrong, and once that it is well again.
    fn note<T>(&mut self, answer: Result<T, EngineError>) -> Option<T> {
        match answer {
            Ok(answer) => {
                if self.state.trouble.lock().take().is_some() {
                    info!("the engine of the lock answers again");
                }
                Some(answer)
            }
            Err(error) => {
                let before = self.state.trouble.lock().replace(error.clone());
                if self.known.is_none() && before.is_none() {
                    warn!("{error}");
                }
                self.tell_known(Err(error));
                None
            }
        }
    }

    fn tell_known(&mut self, what: Result<(), EngineError>) {
        if let Some(known) = self.known.take() {
            let _ = known.send(what); // its caller may have ended
        }
    }

    /// Waits for this long. Tells whether this process ends, and not later than it is known.
    fn is_over_within(&self, pause: Duration) -> bool {
        let end = now() + pause;
        loop {
            match self.orders.recv_timeout(end.since(now())) {
                Ok(EngineOrder::Over) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Work that may hang in the system, on a thread of its own: whoever needs its result waits for a limited time.
//!
//! KILL does not end a program that waits for a file system which does not answer: neither its start nor its end comes. So
//! whatever runs a program, or looks at a file system, does that here. What hangs ends with this process, or when the
//! system answers again.

use std::fmt;
use std::io;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, bounded};

/// How long a program may take to be gone after KILL.
pub const GONE: Duration = Duration::from_secs(1);

/// Does work of one kind, one after the other: at most one hangs.
pub struct Aside<T> {
    name: &'static str,
    running: Option<(Receiver<T>, JoinHandle<()>)>,
}

/// Why there is no result.
#[derive(Debug)]
pub enum NoResult {
    /// There is no thread for it.
    NoThread(io::Error),
    /// It took longer than this, and goes on.
    Late(Duration),
    /// What was begun earlier goes on.
    Busy,
}

impl fmt::Display for NoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoResult::NoThread(error) => {
                write!(f, "cannot be run: no thread can be started: {error}")
            }
            NoResult::Late(limit) => {
                write!(f, "took longer than {limit:?} and hangs in the system")
            }
            NoResult::Busy => f.write_str("still hangs in the system, since an earlier time"),
        }
    }
}

impl<T: Send + 'static> Aside<T> {
    /// One whose thread has this name.
    pub fn new(name: &'static str) -> Aside<T> {
        Aside { name, running: None }
    }

    /// Does this, and waits for at most this long and a bit, in which a program that is late is gone.
    ///
    /// # Errors
    /// When there is no result by then.
    pub fn run(
        &mut self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        self.begin(work)?;
        self.wait(limit + GONE).ok_or(NoResult::Late(limit))
    }

    /// Begins this.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn begin(&mut self, work: impl FnOnce() -> T + Send + 'static) -> Result<(), NoResult> {
        if self.running.is_some() && self.wait(Duration::ZERO).is_none() {
            return Err(NoResult::Busy);
        }
        let (tell, result) = bounded(1);
        let builder = thread::Builder::new().name(self.name.to_owned());
        let thread = builder.spawn(move || _ = tell.send(work())).map_err(NoResult::NoThread)?;
        self.running = Some((result, thread));
        Ok(())
    }

    /// The result of what was begun, if it comes within this time.
    pub fn wait(&mut self, time: Duration) -> Option<T> {
        let (result, thread) = self.running.take()?;
        match result.recv_timeout(time) {
            Ok(result) => {
                let _ = thread.join(); // it has nothing more to do
                Some(result)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.running = Some((result, thread));
                None
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => None, // not reached
            },
        }
    }

    /// Whether something was begun that has no result yet.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.running.as_ref().is_some_and(|(result, _)| result.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far longer than anything here takes.
    const LONG: Duration = Duration::from_secs(100);

    #[test]
    fn what_hangs_is_given_up_and_nothing_more_is_begun_until_it_has_ended() {
        let mut aside = Aside::new("aside");
        assert_eq!(aside.run(LONG, || 7).unwrap(), 7);
        let (release, hangs) = bounded::<()>(0);
        let late = aside.run(Duration::ZERO, move || hangs.recv().map_or(1, |()| 2));
        assert!(matches!(late, Err(NoResult::Late(Duration::ZERO))), "{late:?}");
        assert!(aside.is_busy());
        assert!(matches!(aside.run(LONG, || 8), Err(NoResult::Busy)));
        drop(release);
        assert_eq!(aside.wait(LONG), Some(1));
        assert!(!aside.is_busy() && aside.wait(LONG).is_none(), "each result comes once");
        assert_eq!(aside.run(LONG, || 9).unwrap(), 9);
    }

    #[test]
    fn a_result_that_came_too_late_is_no_later_one() {
        let mut aside = Aside::new("aside");
        let (release, hangs) = bounded::<()>(0);
        assert!(aside.run(Duration::ZERO, move || hangs.recv().is_ok()).is_err());
        drop(release);
        crate::testing::within::within(LONG, "it has ended", || !aside.is_busy());
        assert!(aside.run(LONG, || true).unwrap());
    }

    #[test]
    fn why_there_is_no_result_is_told_in_words() {
        let late = NoResult::Late(Duration::from_secs(2));
        assert_eq!(late.to_string(), "took longer than 2s and hangs in the system");
        let none = NoResult::NoThread(io::Error::other("so"));
        assert_eq!(none.to_string(), "cannot be run: no thread can be started: so");
    }
}

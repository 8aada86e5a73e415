//! A thread that takes samples or runs a check, and its end.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, Receiver};

use super::stop::{Stop, Stopper};

/// How long a stop waits for a sample or a check under way. One that hangs in the system ends with the
/// process.
pub const GRACE: Duration = Duration::from_millis(300);

/// The handle of the thread.
#[derive(Debug)]
pub struct Running {
    name: &'static str,
    stopper: Stopper,
    /// Ends with the thread.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Starts the thread, which has to end when the [`Stop`] says so.
    ///
    /// # Errors
    /// When the system has no thread or no file left.
    pub fn start(
        name: &'static str,
        work: impl FnOnce(Stop) + Send + 'static,
    ) -> io::Result<Running> {
        let (stopper, stop) = Stop::new()?;
        let (end, ended) = channel::bounded(0);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _end = end; // dropped at the end
            work(stop);
        })?;
        Ok(Running { name, stopper, ended, thread })
    }

    /// Ends the thread, and a program that runs.
    pub fn stop(self) {
        let Running { name, stopper, ended, thread } = self;
        drop(stopper);
        if ended.recv_timeout(GRACE) == Err(channel::RecvTimeoutError::Timeout) {
            log::warn!(
                "a program or a sample of the thread {name} hangs; it ends with this process"
            );
        } else if thread.join().is_err() {
            log::error!("the {name} thread panicked");
        }
    }
}

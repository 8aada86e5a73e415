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
pub struct ProbeThread {
    name: &'static str,
    stopper: Stopper,
    /// Ends with the thread.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl ProbeThread {
    /// Starts the thread, which has to end when the [`Stop`] says so.
    ///
    /// # Errors
    /// When the system has no thread or no file left.
    pub fn start(
        name: &'static str,
        work: impl FnOnce(Stop) + Send + 'static,
    ) -> io::Result<ProbeThread> {
        let (stopper, stop) = Stop::new()?;
        let (end, ended) = channel::bounded(0);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _end = end; // dropped at the end
            work(stop);
        })?;
        Ok(ProbeThread { name, stopper, ended, thread })
    }

    /// Ends the thread, and a program that runs.
    pub fn stop(self) {
        let ProbeThread { name, stopper, ended, thread } = self;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use super::*;
    use crate::rank::stop::Woken;

    #[test]
    fn a_stop_waits_for_what_ends_and_leaves_what_hangs() {
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = has_ended.clone();
        let running = ProbeThread::start("ends", move |stop| {
            let far = Instant::now() + Duration::from_secs(1000);
            let is_named = thread::current().name() == Some("ends");
            let is_stopped = stop.wait(&[], far).is_ok_and(|woken| woken == Woken::Stopped);
            ends.store(is_named && is_stopped, Ordering::SeqCst);
        });
        let begun = Instant::now();
        running.unwrap().stop();
        let is_late = begun.elapsed() >= GRACE; // on a busy host
        assert!(is_late || has_ended.load(Ordering::SeqCst), "it was stopped, and has ended");

        let (release, hangs) = channel::bounded::<()>(0);
        let running = ProbeThread::start("hangs", move |_| _ = hangs.recv());
        let begun = Instant::now();
        running.unwrap().stop();
        let waited = begun.elapsed();
        assert!(
            (Duration::from_millis(300)..Duration::from_secs(20)).contains(&waited),
            "{waited:?}"
        );
        assert!(release.send_timeout((), Duration::from_secs(20)).is_ok(), "it hangs still");
    }
}

//! For a program with several works, each of which runs on one host at a time: a member that wants a lock for each.

use std::panic;
use std::thread;
use std::time::Duration;

use crossbeam::channel::Receiver;

use super::StartError;
use super::command::CommandError;
use super::fanout::Subscription;
use super::leadership::{Change, Leadership};
use super::leading::{Lead, Tenure, WorkEnd, WorkStopper, lead_on, run_around};
use super::locks::{LockName, LockWant, NamedHold, WantedLock};
use crate::calls::{Named, THREAD};
use crate::config::Config;

/// All names of such a program are alike.
const WANT: LockWant = LockWant { weight: 1, prefer: 0 };

/// How long the work under a name may delay that the name is given back.
const MOST: Duration = Duration::from_secs(10);

/// Runs the member of this name, and `work` each time that the member holds one of these locks, in a thread for each
/// lock. Returns once TERM or INT comes, the member is removed from the cluster, or the work of all locks is done.
///
/// All members that want a lock are its candidates, and one of them holds it at a time; the names spread over the
/// members. The lock is held while `work` runs: if an operator moves it, [`Lead::goes_on`] turns false, and another
/// member holds it only after `work` has returned, or after 10 s. If the lock is *lost*, as in a partition, nobody
/// waits: `work` must not go on for longer than until the next step after `goes_on` is false. Send [`Lead::epoch`], the
/// token, with each write, so that the resource can refuse what comes late.
///
/// How `work` ends says what follows for its lock; the other locks do not notice:
///
/// - After `goes_on` was false, `work` begins again as soon as the member holds the lock again.
/// - If `work` returns `()` or `Ok` by itself, it is done: the member gives the lock back and wants it no more.
/// - If `work` returns an error by itself, it begins again after 1 s at first and 1 min at most. If it fails within
///   60 s twice in a row, another candidate gets the lock: see [`WantedLock::stand_back`].
/// - If `work` panics, the other works are asked to end, the member gives all back and stops, and the panic goes on to
///   the caller.
///
/// The signals are those of [`while_leading`](super::while_leading).
///
/// ```no_run
/// use electd::config;
/// use electd::node::{locks::LockName, while_holding};
/// use std::time::Duration;
///
/// let config = config::load("cluster.json".as_ref())?;
/// let names = [LockName::new("mail")?, LockName::new("billing")?];
/// while_holding(&config, "a", names, |name, lead| {
///     while lead.goes_on(Duration::from_secs(1)) {
///         println!("one step of {name}, under token {}", lead.epoch());
///     }
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the member cannot start, or does not take a name into those that it wants.
pub fn while_holding<W: WorkEnd>(
    config: &Config,
    name: &str,
    locks: impl IntoIterator<Item = LockName>,
    work: impl Fn(&LockName, &Lead<'_>) -> W + Sync,
) -> Result<(), StartError> {
    run_around(config, name, |handle, stop, stopping| {
        let want = |name: LockName| {
            handle.lock(name.clone(), WANT).map_err(|why| StartError::Lock { name, why })
        };
        let wanted = locks.into_iter().map(want).collect::<Result<Vec<WantedLock>, _>>()?;
        hold_all(wanted, stop, stopping, &work)
    })
}

/// Works under each of these names in a thread of its own, until all of these have ended.
fn hold_all<W: WorkEnd>(
    wanted: Vec<WantedLock>,
    stop: &WorkStopper,
    stopping: &Receiver<()>,
    work: &(impl Fn(&LockName, &Lead<'_>) -> W + Sync),
) -> Result<(), StartError> {
    thread::scope(|scope| {
        let start = |lock: WantedLock| {
            let builder = thread::Builder::new().name(format!("lock {}", lock.name()));
            let hold = move || {
                let _others = StopsIfPanicking(stop);
                lead_on(&lock, stopping, |lead| work(lock.name(), lead));
            };
            builder.spawn_scoped(scope, hold).named(THREAD).map_err(StartError::Thread)
        };
        let threads: Result<Vec<_>, _> = wanted.into_iter().map(start).collect();
        let threads = threads.inspect_err(|_| stop.now())?;
        for thread in threads {
            if let Err(panicked) = thread.join() {
                panic::resume_unwind(panicked);
            }
        }
        Ok(())
    })
}

/// Ends all works if the thread that has it panics.
struct StopsIfPanicking<'s>(&'s WorkStopper);

impl Drop for StopsIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.now();
        }
    }
}

impl Tenure for WantedLock {
    type Hold = NamedHold;
    const ENDS_WITH_WORK: bool = true;

    fn changes(&self) -> Subscription<Change> {
        self.changes()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.leadership()
    }

    fn hold(&self) -> Result<NamedHold, CommandError> {
        self.hold_for(MOST)
    }

    fn stand_back(&self, why: &str) {
        self.stand_back(why);
    }
}

#[cfg(test)]
mod tests;

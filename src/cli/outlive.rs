//! A thread that outlives the others when the process is killed, so that the other members hear of the death earlier.
//!
//! The kernel closes the descriptors of a killed process once the last thread that shares their table has ended, and
//! takes the memory apart once the last thread of all has: usually that is the same thread, and the memory goes first,
//! which takes longer than all else. This thread has a table of its own. If it is the last, the connections are closed
//! before the memory is taken apart. Nothing relies on that: without this thread, or if it ends earlier, the
//! connections are closed after the memory, as those of any other process.

use std::thread;

use crossbeam::channel::{Sender, bounded};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::SigSet;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setpriority_process};

/// How many events the thread waits for. The kernel undoes one wait after the other before it ends the thread: some
/// hundred microseconds, in which all others end.
const WAITS: u64 = 1000;

/// The last priority: where the threads have to share a processor, the others end first.
const LAST: i32 = 19;

const STACK: usize = 64 * 1024;

/// Starts the thread "memory". What the process has opened before stays open until the thread ends, so this comes
/// first.
pub fn start() {
    let (ready, made_ready) = bounded(1);
    let builder = thread::Builder::new().name("memory".to_owned()).stack_size(STACK);
    if builder.spawn(move || outlive(&ready)).is_ok() {
        let _ = made_ready.recv(); // an error: the system gives it no table of its own
    }
}

fn outlive(ready: &Sender<()>) {
    // A handler of a signal writes into a descriptor that is not in the table of this thread.
    if SigSet::all().thread_block().is_err() || unshare(CloneFlags::CLONE_FILES).is_err() {
        return;
    }
    let _ = ready.send(());
    let _ = setpriority_process(None, LAST); // of this thread alone
    wait_for_ever();
}

/// Returns only if the system refuses to wait.
fn wait_for_ever() {
    let Ok(event) = eventfd(0, EventfdFlags::CLOEXEC) else { return };
    let most = getrlimit(Resource::Nofile).current.unwrap_or(WAITS).min(WAITS);
    let mut waits: Vec<_> = (0..most).map(|_| PollFd::new(&event, PollFlags::IN)).collect();
    while matches!(poll(&mut waits, None), Ok(_) | Err(Errno::INTR)) {}
}

//! Real-time scheduling and locked memory for what a heartbeat passes: the threads of the election and of the network.
//!
//! The kernel runs these threads before all ordinary ones of the host, and keeps their code and data in memory. So a busy
//! host is not taken for a dead one, however short `failure` is. What such a thread starts, threads and processes alike,
//! is scheduled ordinarily (SCHED_RESET_ON_FORK).

pub mod probe;
mod refused;

use std::sync::Arc;

use audio_thread_priority::{
    RtPriorityHandle, demote_current_thread_from_real_time, promote_current_thread_to_real_time,
    set_rt_priority,
};
use electd_facts::status::RealtimeStatus;
use parking_lot::Mutex;
use rustix::mm::{MlockAllFlags, mlockall};

/// The priority of these threads, of 1 to 99: above all ordinary processes, and below what the kernel itself and tools
/// for audio and clocks run at.
const PRIORITY: u8 = 10;

/// What the library asks for beside the calling thread, and ignores on Linux.
const NO_AUDIO: (u32, u32) = (0, 48_000);

/// A node's wish to run in real time. The default is none: its threads then are as all others. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Realtime(Option<Arc<RealtimeRefusals>>);

/// What the system refused, in words.
#[derive(Debug, Default)]
struct RealtimeRefusals {
    memory: Option<String>,
    scheduling: Mutex<Option<String>>,
}

impl Realtime {
    /// Locks the memory of the process, if that is wanted. The threads follow, each by [`Realtime::enter`]; what they will
    /// be refused is known from here on, so that the first who asks is told all of it.
    pub fn begin(is_wanted: bool) -> Realtime {
        Realtime(is_wanted.then(|| {
            let memory = refused::memory().or_else(|| Some(refused::lock(&lock_memory().err()?)));
            let scheduling = Mutex::new(try_scheduling().err());
            Arc::new(RealtimeRefusals { memory, scheduling })
        }))
    }

    /// Has the calling thread run in real time from now on. If the system refuses that, the thread goes on as it is.
    pub fn enter(&self) {
        let Some(refused) = &self.0 else { return };
        if let Err(why) = promote() {
            *refused.scheduling.lock() = Some(why);
        }
    }

    /// Has the calling thread run in real time while it does this, as far as the system lets it.
    pub fn meanwhile<T>(&self, work: impl FnOnce() -> T) -> T {
        let handle = self.0.as_ref().and_then(|_| promote().ok());
        let done = work();
        if let Some(handle) = handle
            && let Err(error) = demote_current_thread_from_real_time(handle)
        {
            log::warn!(event = "realtime"; "a thread stays in real time: {error}");
        }
        done
    }

    /// Whether it holds; none if it is not wanted.
    pub fn status(&self) -> Option<RealtimeStatus> {
        let RealtimeRefusals { memory, scheduling } = &**self.0.as_ref()?;
        let refused = in_words([scheduling.lock().clone(), memory.clone()]);
        Some(RealtimeStatus { holds: refused.is_none(), refused })
    }
}

/// What the system would refuse this process, in words; nothing if it can run in real time. Leaves all as it is.
pub fn refusal() -> Option<String> {
    in_words([try_scheduling().err(), refused::memory()])
}

fn in_words(refused: [Option<String>; 2]) -> Option<String> {
    let refused: Vec<String> = refused.into_iter().flatten().collect();
    (!refused.is_empty()).then(|| refused.join("; "))
}

/// Tries it in a thread of its own, which ends.
fn try_scheduling() -> Result<(), String> {
    let tried = std::thread::Builder::new().spawn(|| promote().map(|_| ()));
    let tried =
        tried.map_err(|error| format!("no thread can be started to try it: {error}"))?.join();
    tried.unwrap_or_else(|_| Err("the trial ended".to_owned()))
}

/// Gives the calling thread SCHED_FIFO, and its children ordinary scheduling.
fn promote() -> Result<RtPriorityHandle, String> {
    set_rt_priority(Some(PRIORITY));
    let (frames, rate) = NO_AUDIO;
    promote_current_thread_to_real_time(frames, rate).map_err(|error| {
        let error = error.to_string(); // "AudioThreadPriorityError: ", what it did, and the error of the system
        let error = error.rsplit(": ").next().unwrap_or_default();
        refused::scheduling(error, PRIORITY, refused::highest_priority())
    })
}

/// Reads all that is mapped now into memory, as the program itself, and keeps it there. What is mapped later stays from
/// its first use on: most of the stack of a thread is never used, and would fill the memory. The second call also takes what
/// other threads mapped during the first, which takes a while.
fn lock_memory() -> rustix::io::Result<()> {
    mlockall(MlockAllFlags::CURRENT)?;
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)
}

#[cfg(test)]
mod tests;

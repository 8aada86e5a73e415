//! Notices when the machine did not run this process: docs/exec.md excepts a host that is so busy that neither electd nor
//! the guard gets the processor in time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::events::{nanos, now};

const BEAT: Duration = Duration::from_millis(5);

/// A shorter pause is no news.
const STILL: u64 = 20_000_000;

/// A time in which this process was not run.
type Pause = (u64, u64);

pub struct Pulse {
    pauses: Arc<Mutex<Vec<Pause>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    pub fn start() -> Pulse {
        let (pauses, over): (Arc<Mutex<Vec<Pause>>>, Arc<AtomicBool>) = Default::default();
        let (own, ended) = (pauses.clone(), over.clone());
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let before = now();
                thread::sleep(BEAT);
                let after = now();
                if after - before > nanos(BEAT) + STILL {
                    own.lock().unwrap().push((before, after));
                }
            }
        });
        Pulse { pauses, over, thread: Some(thread) }
    }

    /// The longest time between these moments for which the machine did not run us.
    pub fn longest(&self, from: u64, until: u64) -> Duration {
        let pauses = self.pauses.lock().unwrap();
        let near = pauses.iter().filter(|(begin, end)| *begin < until && *end > from);
        Duration::from_nanos(near.map(|(begin, end)| end - begin).max().unwrap_or(0))
    }

    /// Whether the machine ran us all the time for this long, but for pauses shorter than this.
    pub fn was_steady(&self, time: Duration, pause: Duration) -> bool {
        self.longest(now().saturating_sub(nanos(time)), now()) < pause
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // its panic was shown
        }
    }
}

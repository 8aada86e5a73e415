//! TERM and INT while a member runs around the work of a program, and what they do there before and after.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::{Handle, Signals};

use crate::calls::{Named, THREAD};

const SIGNALS: [i32; 2] = [SIGTERM, SIGINT];

/// Those who heed the signals in this process. A handler stays for as long as the process lives: without anybody who heeds it,
/// a signal would do nothing any more.
static HEEDING: Mutex<Heeding> = Mutex::new(Heeding { count: 0, nobody: None });

struct Heeding {
    count: usize,
    /// Whether there is nobody. Signals for which the program had no handler then do what the system does. None at first.
    nobody: Option<Arc<AtomicBool>>,
}

impl Heeding {
    fn nobody(&mut self) -> io::Result<Arc<AtomicBool>> {
        if let Some(nobody) = &self.nobody {
            return Ok(nobody.clone());
        }
        let nobody = Arc::new(AtomicBool::new(true));
        let caught = signal_mask("SigCgt:").unwrap_or(u64::MAX);
        for signal in heeded(&SIGNALS).into_iter().filter(|signal| !has(caught, *signal)) {
            register_conditional_default(signal, nobody.clone())?;
        }
        Ok(self.nobody.insert(nobody).clone())
    }
}

/// Calls a function for each of the signals that this process does not ignore, until it is dropped.
pub(super) struct SignalWatch {
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalWatch {
    pub fn call(call: impl Fn() + Send + 'static) -> io::Result<SignalWatch> {
        let mut heeding = HEEDING.lock();
        let nobody = heeding.nobody()?; // first: it looks which handlers the program has
        let mut signals = Signals::new(heeded(&SIGNALS)).named("sigaction, socketpair")?;
        let handle = signals.handle();
        let builder = thread::Builder::new().name("signals".to_owned());
        let thread = builder.spawn(move || signals.forever().for_each(|_| call())).named(THREAD)?;
        heeding.count += 1;
        nobody.store(false, Ordering::SeqCst);
        Ok(SignalWatch { signals: handle, thread: Some(thread) })
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        let mut heeding = HEEDING.lock();
        heeding.count -= 1;
        if let (0, Some(nobody)) = (heeding.count, &heeding.nobody) {
            nobody.store(true, Ordering::SeqCst);
        }
        drop(heeding);
        self.signals.close();
        let _ = self.thread.take().map(JoinHandle::join); // it has no result
    }
}

/// Those of these signals that this process does not ignore.
#[must_use]
pub fn heeded(signals: &[i32]) -> Vec<i32> {
    let ignored = signal_mask("SigIgn:").unwrap_or_default();
    signals.iter().copied().filter(|signal| !has(ignored, *signal)).collect()
}

fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

/// What the system shows under this name of the signals of this process, a bit for each; none if it does not.
pub(crate) fn signal_mask(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

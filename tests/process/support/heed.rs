//! Has the processes of a test heed the signals that it sends them.

use std::sync::{Arc, Once};

use electd::exec::signals::heeded;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

/// Has what this process starts heed signals, even if this process was started to ignore them, as by `nohup`, or in the
/// background of a script: a signal with a handler, even one that does nothing, is not ignored by what a process starts.
pub fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            if heeded(&[signal]).is_empty() {
                signal_hook::flag::register(signal, Arc::default()).unwrap();
            }
        }
    });
}

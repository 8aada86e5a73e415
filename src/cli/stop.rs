//! The signals that end an `electd exec`, and what it runs; and how it ends then.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use crossbeam::channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::error::{CliError, SIGNALS};
use super::exit::Exit;
use crate::exec::{orphans, signals};

/// A channel that the first signal that ends this process closes, and the number of that signal.
pub(super) fn stop_at_signals() -> Result<(Receiver<()>, Arc<AtomicI32>), CliError> {
    let internal = CliError::internal(SIGNALS);
    let ends = [vec![SIGTERM], signals::heeded(&[SIGINT, SIGQUIT, SIGHUP])].concat();
    let mut heard = Signals::new([ends, vec![orphans::SIGNAL]].concat()).map_err(internal)?;
    orphans::adopt();
    let (sender, stopping) = bounded(0);
    let number = Arc::new(AtomicI32::new(0));
    let stored = number.clone();
    let work = move || {
        let mut sender = Some(sender);
        for signal in heard.forever() {
            if signal == orphans::SIGNAL {
                orphans::reap();
            } else if let Some(sender) = sender.take() {
                stored.store(signal, Ordering::SeqCst); // before the channel closes
                drop(sender);
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(work)
        .map_err(CliError::internal("start the thread of signals"))?;
    Ok((stopping, number))
}

/// This process ends with the code of its command; or, if none ran, by this signal, as a shell has it.
pub(super) fn with_code(code: Option<u8>, signal: i32) -> Result<(), CliError> {
    let code = code.unwrap_or_else(|| 128 + u8::try_from(signal).unwrap_or(0));
    if code == 0 { Ok(()) } else { Err(CliError::silent(Exit::Command(code))) }
}

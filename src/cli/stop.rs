//! The signals that end an `electd exec`, and what it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use crossbeam::channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::error::{CliError, SIGNALS};
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

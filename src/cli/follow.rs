//! What the commands share that follow nodes until Ctrl-C.

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam::channel::{self, Receiver};
use rustix::event::{PollFd, PollFlags, poll};

use super::error::CliError;
use super::exit::Exit;

/// The pause between two tries to reach a node.
pub const PAUSE: Duration = Duration::from_millis(250);
/// News that waits to be printed.
pub const QUEUE: usize = 64;

/// Signals Ctrl-C, and that nobody reads stdout any more.
pub fn ends() -> Result<Receiver<()>, CliError> {
    let (end, ends) = channel::bounded(1);
    let interrupt = end.clone();
    // If the channel is full, the end is signalled already.
    let on_interrupt = move || {
        let _ = interrupt.try_send(());
    };
    ctrlc::set_handler(on_interrupt).map_err(|error| {
        CliError::new(Exit::Internal, format!("cannot watch for Ctrl-C: {error}"))
    })?;
    spawn("stdout", move || {
        // With no events asked for, poll returns on an error or a hang-up alone. Without this, the watch of a quiet
        // cluster would outlive its reader.
        let stdout = io::stdout();
        while poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None)
            == Err(rustix::io::Errno::INTR)
        {}
        let _ = end.try_send(());
    })?;
    Ok(ends)
}

pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| CliError::new(Exit::Internal, format!("no thread: {error}")))
}

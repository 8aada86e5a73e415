//! The keeper: a process that outlives the demo and cleans up after it, whatever ended it, KILL too.
//!
//! It is started as `electd demo --keeper [FOLDER]` with a pipe from the demo as its stdin. When the pipe ends, so has the
//! demo, and the kernel ends the nodes with it. It has no part in the signals of the terminal.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;

use crate::cli::error::CliError;
use crate::cli::keyboard;
use crate::rank::children;

/// How long killed nodes may still write into the folder.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The keeper of a running demo. Dropping it has it clean up, and waits for that.
pub struct DemoKeeper(Child);

impl DemoKeeper {
    /// Starts it, with the folder that it is to remove.
    pub fn start(folder: Option<&Path>) -> Result<DemoKeeper, CliError> {
        let child = children::this_program().and_then(|mut command| {
            command.args(["demo", "--keeper"]).args(folder).process_group(0);
            command.stdin(Stdio::piped()).spawn()
        });
        child.map(DemoKeeper).map_err(CliError::internal("start the keeper of the demo"))
    }
}

impl Drop for DemoKeeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Waits for the end of the demo; then makes the terminal as it was, and removes the folder.
pub fn keep(folder: Option<&Path>) {
    // One of them, TTOU, would stop a process in the background that changes the terminal.
    let _ = SigSet::all().thread_block();
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    keyboard::cooked();
    let begin = Instant::now();
    while let Some(Err(error)) = folder.map(fs::remove_dir_all)
        && error.kind() != ErrorKind::NotFound
        && begin.elapsed() < TIMEOUT
    {
        thread::sleep(PAUSE);
    }
}

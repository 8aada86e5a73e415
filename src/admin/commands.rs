//! Commands in progress. A thread gives each to the node, which may take two seconds to answer. Commands are rare, so
//! no thread waits for the next one.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{self, Receiver, Sender};
use serde_json::json;

use crate::node::handle::{Command, CommandError, Handle};

use super::limits;
use super::poller::Bell;
use super::response::Response;

/// Enough for a command and its answer, which are both on the heap.
const STACK: usize = 256 * 1024;

/// The threads that carry out commands.
pub struct Commands {
    bell: Arc<Bell>,
    done: Sender<(u64, Response)>,
    outcomes: Receiver<(u64, Response)>,
    threads: Vec<JoinHandle<()>>,
    under_way: usize,
}

impl Commands {
    /// No command yet. The bell rings when there is an outcome.
    pub fn new(bell: Arc<Bell>) -> Commands {
        let (done, outcomes) = channel::bounded(limits::COMMANDS);
        Commands { bell, done, outcomes, threads: Vec::new(), under_way: 0 }
    }

    /// Whether no command is in progress.
    pub fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Gives the node a command of the connection with this number.
    ///
    /// # Errors
    /// The answer, if there are too many or the system has no thread left.
    pub fn start<H: Handle>(
        &mut self,
        number: u64,
        command: Command,
        handle: &H,
    ) -> Result<(), Response> {
        if self.under_way >= limits::COMMANDS {
            let sentence = "too many commands are under way; try again in a moment";
            return Err(Response::error(503, sentence));
        }
        self.join_ended();
        let (handle, done, bell) = (handle.clone(), self.done.clone(), Arc::clone(&self.bell));
        let work = move || {
            // The client waits without a limit, so there has to be an outcome in any case. There is room for as many
            // outcomes as commands, and the other end outlives this.
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| carry_out(command, &handle)));
            let defect = "the command ended in a panic; this is a defect, please report it";
            let response = outcome.unwrap_or_else(|_| Response::error(500, defect));
            let _ = done.send((number, response));
            drop(handle);
            bell.ring();
        };
        let thread = thread::Builder::new().name("admin-command".to_owned()).stack_size(STACK);
        let thread = thread.spawn(work).map_err(|error| {
            log::warn!("no thread for an admin command: {error}");
            Response::error(503, format!("no thread for the command: {error}; try again"))
        })?;
        self.threads.push(thread);
        self.under_way += 1;
        Ok(())
    }

    /// An outcome, and the connection that it is for.
    pub fn next_outcome(&mut self) -> Option<(u64, Response)> {
        let outcome = self.outcomes.try_recv().ok()?;
        self.under_way -= 1;
        Some(outcome)
    }

    /// Waits for all threads.
    pub fn join(self) {
        self.threads.into_iter().for_each(join);
    }

    fn join_ended(&mut self) {
        let (ended, live): (Vec<_>, Vec<_>) =
            self.threads.drain(..).partition(JoinHandle::is_finished);
        self.threads = live;
        ended.into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        log::error!("an admin command's thread panicked; this is a defect");
    }
}

/// Gives the node a command. Returns the outcome in words.
fn carry_out<H: Handle>(command: Command, handle: &H) -> Response {
    let id = match &command {
        Command::Add(member) => Some(member.id.to_string()),
        _ => None,
    };
    match handle.command(command, limits::COMMAND) {
        Ok(outcome) => Response::json(
            200,
            &match id {
                Some(id) => json!({ "result": outcome.sentence, "id": id }),
                None => json!({ "result": outcome.sentence, "successor": outcome.successor }),
            },
        ),
        Err(CommandError::Invalid(sentence)) => Response::error(400, sentence),
        Err(CommandError::Refused(sentence)) => Response::error(409, sentence),
        Err(CommandError::Unanswered(sentence)) => Response::error(503, sentence),
    }
}

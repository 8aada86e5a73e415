//! The guard: a process between electd and the command that electd runs while it leads. It holds the addresses, too.
//!
//! It is started as `electd guard` with its task ([`task`]) as arguments and a connection to electd as its stdin,
//! usually before the node leads: it starts the process that becomes the command (`guarded.rs`), and waits. The first
//! order makes it begin, and brings the alarms of TERM and KILL (`alarms.rs`) and the locked file that it holds until
//! its end (`equipment.rs`); without an order it ends and has done nothing. electd postpones the alarms as long as the
//! leadership is renewed, and the guard sleeps. The guard ends the command (`work.rs`) when an alarm goes off, so that
//! it does not depend on an electd that runs or answers, when a later order says that the leadership ends, and when the
//! connection ends, since electd has ended then. It ends with the command's exit code as soon as no process of the
//! command is left. TERM, INT, QUIT and HUP do not end it: TERM may be meant for the whole unit, and the kernel sends
//! HUP to a frozen guard whose electd has died.
//!
//! Where electd has made a cgroup for the command (`src/host/cgroup`), what becomes the command waits in it, and one
//! write ends all of it, wherever it went. Its removal is the proof that nothing is left.
//!
//! Nothing whose time somebody else decides stands between an alarm and its signal: the first signals need no
//! look at `/proc`, and the guard says nothing that its stderr does not take at once.
//!
//! Where the node has a coroner (`src/host/coroner`), the first order brings a line to it: the guard says when the job
//! begins, and at its end that nothing of the job is left. Until then the death of the node is not certified.
//!
//! The guard adds the addresses before the command begins, and removes them when no process of the
//! command is left, or when none should be left, if KILL does not end one. A guard without a command
//! removes them when KILL is due, or immediately in a clean handover, since nothing needs time to end.

mod ends;
mod running;
pub mod task;
mod work;

use std::ffi::OsString;
use std::io;
use std::process::{ExitCode, Stdio};

use rustix::process::Signal;
use signal_hook::low_level::emulate_default_handler;

use super::guarded::{GUARDED, become_command};
use super::order::{GuardWord, LastWord};
use super::stderr::say;
use super::tree;
use ends::{Ended, Failed, GONE};
use task::GuardTask;
use work::Guard;

use crate::cgroup::{Cgroup, VARIABLE, refused};
use crate::coroner::guards::Registered;
use crate::local::pair;
use crate::rank::children;

/// The hidden argument that makes `electd` a guard.
pub const GUARD: &str = "guard";

/// The hidden argument that makes `electd` give a lock back to its engine. The URL and the token follow.
pub const GIVE_BACK: &str = "give-back";

/// A guard that cannot hold its addresses ends by this signal: every exit code may be the command's.
pub const NO_ADDRESS: Signal = Signal::USR2;

/// A guard that ended its job by a deadline, without having been told to, ends itself by this signal.
/// electd cannot derive that from the clock, since it may renew the leadership at that very moment.
pub const BY_DEADLINE: Signal = Signal::USR1;

/// A guard that failed for a reason of its own ends by this signal, and has sent the reason to electd.
pub const FAILED: Signal = Signal::ALARM;

/// The longest reason of a guard that failed, in characters: it fits into a word.
const LONGEST_REASON: usize = 500;

/// Runs this process as a guard, or as what becomes a command, if it was started as one.
#[must_use]
pub fn if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    if word == GUARD {
        Some(guard(arguments.collect()))
    } else if word == GUARDED {
        Some(become_command(arguments.collect()))
    } else {
        None
    }
}

fn guard(arguments: Vec<OsString>) -> ExitCode {
    let (mut cgroup, mut registered, mut lock) = (None, None, None);
    let prepared = GuardTask::read(arguments).and_then(|task| {
        cgroup = made_for(&task)?;
        Ok(task)
    });
    let (ended, is_clean) = match prepared {
        Ok(task) => work(task, &mut cgroup, &mut registered, &mut lock),
        Err(error) => (Err(error.into()), true),
    };
    // At most what waits to become the command is there still, which has begun nothing.
    let is_removed = cgroup.iter().all(|cgroup| cgroup.end(GONE).unwrap_or(false));
    if ended.is_err() {
        let _ = tree::kill_all(GONE, |_| false, |_, _| ());
    }
    // The lock of the job is held until this process ends: who finds it free can rely on this word.
    let is_clean = is_clean && is_removed && tree::is_childless();
    match registered {
        Some(registered) if is_clean => registered.leave_clean(),
        Some(registered) => registered.leave_unclean(),
        None => {}
    }
    let last = if is_clean { LastWord::Clean } else { LastWord::Unclean };
    let tell = |word: GuardWord| pair::say(io::stdin(), &word, &[]);
    let electd = tell(GuardWord::Last(last));
    if let (Err(_), Some(lock), true) = (electd, lock, is_clean) {
        give_back(&lock);
    }
    match ended {
        Ok(Ended::With(code)) => ExitCode::from(code),
        Ok(Ended::ByDeadline) => end_by(BY_DEADLINE),
        Err(error) => {
            say(&error.to_string());
            match error {
                Failed::Address(_) => end_by(NO_ADDRESS),
                Failed::Late { .. } => end_by(BY_DEADLINE),
                Failed::Guard(_) => {
                    let reason = error.to_string().chars().take(LONGEST_REASON).collect();
                    let _ = tell(GuardWord::Failed(reason)); // electd may have ended
                    end_by(FAILED)
                }
            }
        }
    }
}

/// The cgroup that electd has made for the command. None without one, or where the command goes on without.
fn made_for(task: &GuardTask) -> io::Result<Option<Cgroup>> {
    let Ok(path) = std::env::var(VARIABLE) else { return Ok(None) };
    let made = Cgroup::at(&path).map_err(refused);
    made.map(Some).or_else(|refused| task.go_without(refused).map(|()| None))
}

/// A lock that an engine has given: the URL and the token.
type GivenLock = (String, u64);

/// Has a process of its own give the lock back, as electd has ended, which would have. If that fails, it is free later.
fn give_back((url, token): &GivenLock) {
    let given = children::this_program().and_then(|mut program| {
        program.args([GIVE_BACK, url, &token.to_string()]).stdin(Stdio::null()).spawn()
    });
    if let Err(error) = given {
        say(&format!("the lock is not given back: {error}"));
    }
}

/// Ends this process.
fn end_by(signal: Signal) -> ExitCode {
    let _ = emulate_default_handler(signal.as_raw());
    ExitCode::from(70) // not reached
}

/// All that it was started for, and by which lock of an engine. Tells how that ended, and whether nothing is left of it
/// besides processes.
fn work(
    task: GuardTask,
    cgroup: &mut Option<Cgroup>,
    registered: &mut Option<Registered>,
    lock: &mut Option<GivenLock>,
) -> (Result<Ended, Failed>, bool) {
    let has_address = !task.addresses.is_empty();
    let engine = Some(task.engine.clone()).filter(|url| !url.is_empty());
    match Guard::start(task, cgroup, registered) {
        Ok(Some(guard)) => {
            *lock = engine.map(|url| (url, guard.epoch()));
            guard.run()
        }
        Ok(None) => (Ok(Ended::With(0)), true),
        Err(error) => {
            let is_clean = error.is_clean(has_address);
            (Err(error), is_clean)
        }
    }
}

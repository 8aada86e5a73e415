//! Child processes: each ends with the benchmark, however the benchmark ends, and its output is stamped
//! with the time of arrival.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, set_parent_process_death_signal, waitid,
};

use crate::network;

/// The roles in which this executable starts itself again. All of these processes end with their
/// parent.
pub enum Role {
    /// Goes into a namespace, if its name is not empty, and becomes the program given after it.
    Guarded(Vec<OsString>),
    Echo,
    Survivor,
    Victim,
}

const MARK: &str = "--as";

impl Role {
    pub fn of_this_process() -> Option<Role> {
        let mut arguments = env::args_os().skip(1);
        if arguments.next()? != MARK {
            return None; // cargo says --bench
        }
        match arguments.next()?.to_str()? {
            "guarded" => Some(Role::Guarded(arguments.collect())),
            "echo" => Some(Role::Echo),
            "survivor" => Some(Role::Survivor),
            "victim" => Some(Role::Victim),
            _ => None,
        }
    }

    /// Plays the role; those of a floor are given.
    pub fn play(self, echo: fn(), survive: fn(), wait_for_death: fn()) {
        set_parent_process_death_signal(Some(Signal::KILL)).expect("Linux has this");
        match self {
            Role::Guarded(program) => {
                let [home, program, arguments @ ..] = &program[..] else {
                    panic!("which program?");
                };
                if let Some(home) = home.to_str().filter(|home| !home.is_empty()) {
                    network::enter(home);
                }
                let error = Command::new(program).args(arguments).exec();
                panic!("cannot run {}: {error}", program.display());
            }
            Role::Echo => echo(),
            Role::Survivor => survive(),
            Role::Victim => wait_for_death(),
        }
    }
}

/// A command that starts this executable in a role. The guard lasts while the thread that starts
/// it does, so let that be the main one.
pub fn command(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this executable has a path"));
    command.args([MARK, role]).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Sends a signal to a child that has not been waited for.
pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a child can be signalled");
}

/// Whether a child that has not been waited for has ended.
pub fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = waitid(WaitId::Pid(Pid::from_child(child)), look);
    ended.expect("a child can be looked at").is_some()
}

/// Kills a child and waits for its end.
pub fn end(child: &mut Child) {
    let _ = child.kill(); // it may have ended by itself
    let _ = child.wait();
}

/// One thread that hands on each line with the time at which it came, until the other end closes.
pub fn watch(
    source: impl Read + Send + 'static,
    mut hand_on: impl FnMut(Instant, &str) + Send + 'static,
) {
    thread::spawn(move || {
        let mut source = BufReader::new(source);
        let mut line = String::new();
        while source.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            hand_on(Instant::now(), line.trim_end());
            line.clear();
        }
    });
}

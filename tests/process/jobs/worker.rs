//! The command that the nodes of a test run while they lead: it regularly writes that it lives to one
//! file for all. It is this test program itself, started with the name of one "test".

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{WaitOptions, getpid, set_child_subreaper, setsid, wait};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::SIGTERM;

use crate::support::breathe;

/// The variable with the file that it writes to; by it a process of a job is known.
pub const FILE: &str = "ELECTD_TEST_JOB_FILE";
/// The variable that says how it behaves.
pub const MANNER: &str = "ELECTD_TEST_JOB_MANNER";

/// The variable with the arguments of the command that a parent runs, as JSON.
const COMMAND: &str = "ELECTD_TEST_COMMAND";

/// One of those below, as the file beside that of the lines says when the command begins: so a test decides which kind of
/// command each of its faults meets.
pub const DRAWN: &str = "drawn";
/// Ends at TERM.
pub const POLITE: &str = "polite";
/// Does not.
pub const STUBBORN: &str = "stubborn";
/// Leaves its process group, its session and its parent, and does not end at TERM either.
pub const ASTRAY: &str = "astray";
/// Those that the failovers of a job draw from.
pub const MANNERS: [&str; 3] = [POLITE, STUBBORN, ASTRAY];
/// Has many processes below it, and one that left all as above. Does not end at TERM either.
pub const CROWD: &str = "crowd";
/// The variable that says how many.
pub const MEMBERS: &str = "ELECTD_TEST_JOB_MEMBERS";
/// The first line of a command.
pub const BEGIN: &str = "begin";
/// Its further lines.
const LIVES: &str = "lives";
/// Its last line, if it is not killed.
pub const END: &str = "end";

/// How the processes of the last one are called that it starts in turn.
const CHILD: &str = "child";
pub const GRANDCHILD: &str = "grandchild";

/// The command for the nodes to run.
pub fn command() -> Vec<String> {
    let program = env::current_exe().unwrap().display().to_string();
    let test = ["jobs::worker::is_what_the_nodes_run", "--exact", "--ignored", "--nocapture"];
    [program].into_iter().chain(test.map(str::to_owned)).collect()
}

#[test]
#[ignore = "a node of another test runs it"]
fn is_what_the_nodes_run() {
    let (Ok(file), Ok(manner)) = (env::var(FILE), env::var(MANNER)) else { return };
    let manner = if manner == DRAWN { drawn(&file) } else { manner };
    match manner.as_str() {
        ASTRAY => {
            let mut lines = Writer::of(&file);
            lines.write(BEGIN);
            lines.write(ASTRAY);
            start(CHILD);
            lines.write_on(false);
        }
        CROWD => {
            let mut lines = Writer::of(&file);
            lines.write(BEGIN);
            thread::spawn(move || gather(&file));
            lines.write_on(false);
        }
        CHILD => {
            setsid().unwrap();
            start(GRANDCHILD); // and ends, so that no process below the guard is its parent
        }
        GRANDCHILD => {
            setsid().unwrap();
            Writer::of(&file).write_on(false);
        }
        manner => {
            let mut lines = Writer::of(&file);
            lines.write(BEGIN);
            lines.write(manner);
            lines.write_on(manner == POLITE);
        }
    }
}

/// Starts many processes, and tells by a file when all are there.
#[expect(clippy::zombie_processes, reason = "they end with this process")]
fn gather(file: &str) {
    start(CHILD);
    for _ in 0..env::var(MEMBERS).unwrap().parse().unwrap() {
        let mut idle = Command::new("sleep");
        idle.arg("100000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    }
    let [node, epoch] = ["ELECTD_NODE", "ELECTD_EPOCH"].map(|name| env::var(name).unwrap());
    File::create(full(file, &node, epoch)).unwrap();
}

/// The file that is there once all processes of a command are.
pub fn full(file: &str, node: &str, epoch: impl Display) -> String {
    format!("{file}.{node}.{epoch}")
}

/// The file with the manner of the next command, beside that of the lines.
pub fn manner_file(lines: &str) -> String {
    format!("{lines}.manner")
}

fn drawn(lines: &str) -> String {
    std::fs::read_to_string(manner_file(lines)).unwrap()
}

/// A process of this session that runs this command, and gets what the command leaves behind when it dies: the
/// kernel does not wake a frozen process whose new parent could do so.
pub fn parent_of(command: &Command) -> Command {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let mut parent = Command::new(env::current_exe().unwrap());
    parent
        .args(["jobs::worker::is_the_parent_of_a_command", "--exact", "--ignored", "--nocapture"])
        .env(COMMAND, serde_json::to_string(&words).unwrap())
        .stdin(Stdio::null());
    parent
}

#[test]
#[ignore = "another test runs it"]
fn is_the_parent_of_a_command() {
    let Ok(words) = env::var(COMMAND) else { return };
    let words: Vec<String> = serde_json::from_str(&words).unwrap();
    set_child_subreaper(Some(getpid())).unwrap();
    let mut child = Command::new(&words[0]).args(&words[1..]).spawn().unwrap();
    child.wait().unwrap();
    while wait(WaitOptions::empty()).is_ok() {} // the guard is in another process group
}

#[expect(clippy::zombie_processes, reason = "the guard reaps what this process leaves behind")]
fn start(manner: &str) {
    let [program, arguments @ ..] = &command()[..] else { unreachable!() };
    let mut child = Command::new(program);
    child.args(arguments).env(MANNER, manner).stdin(Stdio::null()).stdout(Stdio::null());
    child.spawn().unwrap();
}

/// Writes lines "TIME NODE EPOCH WHAT", in CLOCK_BOOTTIME.
struct Writer {
    out: File,
    who: String,
}

impl Writer {
    fn of(file: &str) -> Writer {
        let [node, epoch] = ["ELECTD_NODE", "ELECTD_EPOCH"].map(|name| env::var(name).unwrap());
        let out = File::options().append(true).open(file).unwrap();
        Writer { out, who: format!("{node} {epoch}") }
    }

    fn write(&mut self, what: &str) {
        let time = clock_gettime(ClockId::Boottime);
        let nanos = time.tv_sec * 1_000_000_000 + time.tv_nsec;
        self.out.write_all(format!("{nanos} {} {what}\n", self.who).as_bytes()).unwrap();
    }

    /// About each millisecond until the end, which is at TERM for a polite one, and with the test for each.
    fn write_on(&mut self, polite: bool) {
        let told = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, told.clone()).unwrap();
        while !(polite && told.load(Ordering::Relaxed)) {
            self.write(LIVES);
            if self.out.try_lock_shared().is_ok() {
                return; // nobody reads it any more
            }
            breathe();
        }
        self.write(END);
    }
}

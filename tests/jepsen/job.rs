//! The command that runs on the leader: this program again. Every process of it appends to one file that it lives, and with
//! which epoch. The file is the resource that fencing protects: the lines are in the order in which they arrived. One
//! process of each job also holds a lock that only one host may hold.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use electd::core::random::Random;
use rustix::process::setsid;
use signal_hook::consts::SIGTERM;

use crate::events::now;

/// The first argument of a process that is a job; its manner and the number of the job follow.
pub const MODE: &str = "job";
/// The variable with the path of the file.
pub const LEDGER: &str = "JEPSEN_LEDGER";

/// Ends at TERM, at once or a little later.
const POLITE: &str = "polite";
/// Does not.
const STUBBORN: &str = "stubborn";
/// Leaves its process group, its session and its parent, and does not end at TERM either.
const ASTRAY: &str = "astray";
/// Has many children, which do not end at TERM.
const CROWD: &str = "crowd";
/// How a process is called that another one of these starts.
const CHILD: &str = "child";
const GRANDCHILD: &str = "grandchild";

const CHILDREN: usize = 12;

const EVERY: Duration = Duration::from_millis(2);

/// The words of a line.
pub const BEGIN: &str = "begin";
pub const LIVES: &str = "lives";
pub const BARRED: &str = "barred";
/// The last word of a line that is whole.
pub const END: &str = "end";

/// The arguments of a job.
pub fn draw(random: &mut Random, slot: usize) -> [String; 3] {
    let manners = [POLITE, STUBBORN, ASTRAY, CROWD];
    let manner = manners[crate::plan::usize(random.below(4))];
    [MODE.to_owned(), manner.to_owned(), slot.to_string()]
}

pub fn run(manner: &str, slot: &str) {
    let mut writer = Writer::new(slot);
    match manner {
        CHILD => {
            setsid().expect("it leads no group");
            start(GRANDCHILD, slot); // and ends, so that nothing below the guard is its parent
            return;
        }
        GRANDCHILD => {
            setsid().expect("it leads no group");
            return writer.work(false, None);
        }
        _ => writer.write(BEGIN),
    }
    let witness = writer.witness();
    match manner {
        ASTRAY => start(CHILD, slot),
        CROWD => (0..CHILDREN).for_each(|_| idle()),
        _ => {}
    }
    writer.work(manner == POLITE, witness);
}

#[expect(clippy::zombie_processes, reason = "the guard reaps what this process leaves behind")]
fn start(manner: &str, slot: &str) {
    let mut child = Command::new(env::current_exe().expect("it has a path"));
    child.args([MODE, manner, slot]).stdin(Stdio::null());
    child.spawn().expect("it can be started");
}

/// A process that writes nothing.
#[expect(clippy::zombie_processes, reason = "the guard reaps what this process leaves behind")]
fn idle() {
    let mut child = Command::new("sh");
    child.args(["-c", "trap '' TERM; sleep 1000; :"]).stdin(Stdio::null());
    child.spawn().expect("sh can be started");
}

struct Writer {
    ledger: File,
    path: String,
    /// The node, the epoch, the number of the job and this process.
    own: String,
    slot: String,
}

impl Writer {
    fn new(slot: &str) -> Writer {
        let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("no {name}"));
        let path = variable(LEDGER);
        let ledger = File::options().append(true).open(&path).expect("the ledger is there");
        let (node, epoch) = (variable("ELECTD_NODE"), variable("ELECTD_EPOCH"));
        let own = format!("{node} {epoch} {slot} {}", process::id());
        Writer { ledger, path, own, slot: slot.to_owned() }
    }

    fn write(&mut self, what: &str) {
        // What a process writes while it is killed may be cut off anywhere: the next line begins a line of its own.
        let line = format!("\n{} {} {what} {END}\n", now(), self.own);
        self.ledger.write_all(line.as_bytes()).expect("the ledger can be written");
    }

    /// Takes the lock of this job, or says which process has it.
    fn witness(&mut self) -> Option<File> {
        let path = format!("{}.lock-{}", self.path, self.slot);
        let options = &mut File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let mut file = file.expect("the lock can be opened");
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).expect("the lock can be written");
                file.write_all(self.own.as_bytes()).expect("the lock can be written");
                Some(file)
            }
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let node = holder.split(' ').next().filter(|node| !node.is_empty());
                self.write(&format!("{BARRED} {}", node.unwrap_or("unknown")));
                None
            }
            Err(TryLockError::Error(error)) => panic!("{path}: {error}"),
        }
    }

    /// Writes until it is killed, or a little longer than TERM if it is polite.
    fn work(&mut self, polite: bool, _witness: Option<File>) {
        let told = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, told.clone()).expect("TERM can be handled");
        let mut more = now() % 40;
        loop {
            self.write(LIVES);
            sleep(EVERY);
            if polite && told.load(Ordering::Relaxed) {
                let Some(left) = more.checked_sub(1) else { return };
                more = left;
            }
        }
    }
}

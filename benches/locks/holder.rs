//! What `benches/locks/main.py` runs on each host: a member that wants names, or a job of a lock. Each line that it prints has the time
//! by CLOCK_BOOTTIME, which all hosts of one machine share.
//!
//! ```text
//! holder node FILE MEMBER NAME...      held NAME TOKEN NANOS, lost NAME TOKEN NANOS, leads EPOCH NANOS
//! holder job FILE                      appends to the file: NAME TOKEN NANOS MEMBER, every 10 ms
//! ```

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crossbeam::channel::Select;
use electd::config;
use electd::node::leadership::Change;
use electd::node::locks::{LockName, LockWant, WantedLock};
use electd::node::{Node, certify_death, now};

/// How many names one thread follows.
const NAMES: usize = 64;

/// How often a job writes.
const STEP: Duration = Duration::from_millis(10);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // All that it does for a name ends with this process.
    if let Some(code) = certify_death() {
        return Ok(code);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["node", file, member, names @ ..] => node(file.as_ref(), member, names)?,
        ["job", file] => job(file)?,
        _ => return Err("say node or job".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn node(file: &Path, member: &str, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let node = Node::start(&config::load(file)?, member)?;
    let handle = node.handle();
    let leads = handle.leadership_changes();
    let leading = handle.clone();
    thread::spawn(move || {
        if let Some(first) = leading.leadership() {
            println!("leads {} {}", first.epoch(), now().0);
        }
        for change in leads.iter() {
            if let Change::Leading { epoch } = change {
                println!("leads {epoch} {}", now().0);
            }
        }
    });
    let want = |name: &&str| -> Result<WantedLock, Box<dyn Error>> {
        Ok(handle.lock(LockName::new(name)?, LockWant { weight: 1, prefer: 0 })?)
    };
    let wanted = names.iter().map(want).collect::<Result<Vec<_>, _>>()?;
    println!("ready {}", now().0);
    let mut wanted = wanted.into_iter().peekable();
    while wanted.peek().is_some() {
        let some: Vec<WantedLock> = wanted.by_ref().take(NAMES).collect();
        thread::Builder::new().stack_size(64 * 1024).spawn(move || follow(&some))?;
    }
    loop {
        thread::park();
    }
}

/// Prints when each of these names is held, and when it is held no more.
fn follow(locks: &[WantedLock]) {
    let changes: Vec<_> = locks.iter().map(WantedLock::changes).collect();
    let mut select = Select::new();
    for changes in &changes {
        select.recv(changes);
    }
    let mut last = vec![None; locks.len()];
    let mut lines = Vec::new();
    for (lock, last) in locks.iter().zip(&mut last) {
        *last = lock.leadership().map(|held| held.epoch());
        lines.extend(last.map(|token| format!("held {} {token} {}\n", lock.name(), now().0)));
    }
    loop {
        // All that is there first: to print takes time.
        print!("{}", std::mem::take(&mut lines).concat());
        let _ = std::io::stdout().flush(); // whoever reads may have ended
        select.ready();
        for ((lock, changes), last) in locks.iter().zip(&changes).zip(&mut last) {
            for change in changes.try_iter() {
                let (what, token) = match change {
                    Change::Leading { epoch } if *last != Some(epoch) => {
                        *last = Some(epoch);
                        ("held", epoch)
                    }
                    Change::NotLeading => ("lost", last.take().unwrap_or_default()),
                    _ => continue,
                };
                lines.push(format!("{what} {} {token} {}\n", lock.name(), now().0));
            }
        }
    }
}

fn job(file: &str) -> Result<(), Box<dyn Error>> {
    let [name, token, member] =
        ["LOCK", "EPOCH", "NODE"].map(|it| env::var(format!("ELECTD_{it}")));
    let (name, token, member) = (name?, token?, member?);
    let mut file = File::options().append(true).create(true).open(file)?;
    loop {
        file.write_all(format!("{name} {token} {} {member}\n", now().0).as_bytes())?;
        thread::sleep(STEP);
    }
}

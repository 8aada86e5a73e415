//! What `electd exec` tells a person at a terminal while it waits for its node to lead.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{RecvTimeoutError, bounded};

use electd_facts::locks::LocksView;

use crate::admin::client::Client;
use crate::admin::control;
use crate::config::Config;
use crate::core::locks::table::LockName;
use crate::exec::period::PeriodWish;

use super::print;

/// A person needs no words for a wait that is no longer than this.
const MOMENT: Duration = Duration::from_secs(1);

/// How long the node may take to say who leads.
const ANSWER: Duration = Duration::from_secs(1);

/// Beside which node a command runs, and by what.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    pub config: &'a Config,
    /// The name of the node.
    pub name: &'a str,
    /// Without one it is the leadership of the node.
    pub lock: Option<&'a LockName>,
    /// With a lock: if it runs once in each period.
    pub period: Option<PeriodWish>,
}

/// Does this work. If this member does not lead, or hold the lock, after a moment, a line on stderr says that it waits, and who leads: to a
/// person at a terminal alone, as a script may read stderr, and cron mails it.
pub fn say_while<T>(
    place: Beside<'_>,
    leads: impl Fn() -> bool + Send,
    work: impl FnOnce() -> T,
) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (over, ended) = bounded::<()>(0);
        let tell = move || {
            if ended.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) && !leads() {
                print::message(&format!("electd: {}", words(place)));
            }
        };
        // Without a thread it waits in silence.
        let _ = thread::Builder::new().name("waits".to_owned()).spawn_scoped(scope, tell);
        let done = work();
        drop(over);
        done
    })
}

/// What the node of this host says of the lock; nothing if the command runs by its leadership.
pub fn locks(Beside { config, name, lock, .. }: Beside<'_>) -> Option<LocksView> {
    let address = control::address(&config.state_dir(name));
    Client::within(Some(ANSWER), None).lock(&address, lock?.as_str()).ok()
}

/// The leader that the node of this host knows.
fn leader(Beside { config, name, .. }: Beside<'_>) -> Option<String> {
    let address = control::address(&config.state_dir(name));
    let status = Client::within(Some(ANSWER), None).status(&address).ok()?;
    status.leader.map(|leader| leader.name)
}

fn words(place: Beside<'_>) -> String {
    match place.lock {
        Some(lock) => for_lock(place.name, lock.as_str(), locks(place)),
        None => for_leadership(place.name, leader(place).as_deref()),
    }
}

fn for_lock(name: &str, lock: &str, locks: Option<LocksView>) -> String {
    let why = locks.map(|locks| format!(": {}", locks.standing(lock))).unwrap_or_default();
    format!("waiting until {name} holds the lock {lock}{why}")
}

fn for_leadership(name: &str, leader: Option<&str>) -> String {
    match leader {
        Some(leader) => format!("{leader} leads: waiting until {name} does"),
        None => format!("no leader is known: waiting until {name} leads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_hears_who_leads() {
        assert_eq!(for_leadership("a", Some("b")), "b leads: waiting until a does");
        assert_eq!(for_leadership("a", None), "no leader is known: waiting until a leads");
        assert_eq!(for_lock("a", "backup", None), "waiting until a holds the lock backup");
        let nobody = "waiting until a holds the lock backup: nobody holds it";
        assert_eq!(for_lock("a", "backup", Some(LocksView::default())), nobody);
    }
}

//! What `electd exec` tells a person at a terminal while it waits for its node to lead.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{RecvTimeoutError, bounded};

use crate::admin::client::Client;
use crate::admin::control;
use crate::config::Config;

use super::print;

/// A person needs no words for a wait that is no longer than this.
const MOMENT: Duration = Duration::from_secs(1);

/// How long the node may take to say who leads.
const ANSWER: Duration = Duration::from_secs(1);

/// Does this work. If this member does not lead after a moment, a line on stderr says that it waits, and who leads: to a
/// person at a terminal alone, as a script may read stderr, and cron mails it.
pub fn say_while<T>(
    (config, name): (&Config, &str),
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
                print::message(&format!(
                    "electd: {}",
                    words(name, leader(config, name).as_deref())
                ));
            }
        };
        // Without a thread it waits in silence.
        let _ = thread::Builder::new().name("waits".to_owned()).spawn_scoped(scope, tell);
        let done = work();
        drop(over);
        done
    })
}

/// The leader that the node of this host knows.
fn leader(config: &Config, name: &str) -> Option<String> {
    let address = control::address(&config.state_dir(name));
    let status = Client::within(Some(ANSWER), None).status(&address).ok()?;
    status.leader.map(|leader| leader.name)
}

fn words(name: &str, leader: Option<&str>) -> String {
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
        assert_eq!(words("a", Some("b")), "b leads: waiting until a does");
        assert_eq!(words("a", None), "no leader is known: waiting until a leads");
    }
}

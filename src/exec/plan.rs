//! The command that runs while a node leads: its options, and how it ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use super::address::spec::Address;
use super::deadlines::Deadlines;

/// The command to run and the addresses to hold, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program and its arguments; no shell reads them. None with addresses alone.
    pub command: Vec<OsString>,
    /// The addresses that the host has meanwhile.
    pub addresses: Vec<Address>,
    /// Give up if this node has not come to lead within this time.
    pub wait: Option<Duration>,
    /// The time from TERM to KILL in a clean handover.
    pub stop_after: Duration,
    /// The program that is run whenever the command has ended.
    pub cleanup: Option<PathBuf>,
    /// Whether the command has a cgroup of its own.
    pub cgroup: CgroupUse,
    /// Another member leads only once the lease has ended, even if this process has died.
    pub is_leased: bool,
    /// Whether a command that ended by itself is started again.
    pub restart: Restart,
    /// Whether the leadership moves on when the command has ended by itself.
    pub moves: bool,
    /// Whether the command is run again after it was ended for its leadership.
    pub returns: bool,
    /// When a job is ended if the leadership is not renewed, where the node does not say for how long a renewal is good.
    pub deadlines: Deadlines,
    /// The lock that the command runs by; without one it is the leadership of the node.
    pub lock: Option<String>,
    /// The URL of the engine that decides on the lock, if one does: where the guard gives it back after the death of electd.
    pub engine: Option<String>,
    /// How often it runs by that lock in each period; without it there are no periods.
    pub period: Option<PeriodRuns>,
    /// The name of the cluster.
    pub cluster: String,
    /// The name of this member.
    pub node: String,
}

impl Plan {
    /// What the guard holds and runs, in words.
    pub fn words(&self) -> String {
        let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        let holds = (!addresses.is_empty()).then(|| format!("holds {}", addresses.join(", ")));
        let runs = self.command.first().map(|program| format!("runs {}", program.display()));
        holds.into_iter().chain(runs).collect::<Vec<_>>().join(" and ")
    }

    /// The epoch of the leadership, or the lock and its token, in words.
    pub fn term(&self, epoch: u64) -> String {
        match &self.lock {
            Some(lock) => format!("lock {lock}, token {epoch}"),
            None => format!("epoch {epoch}"),
        }
    }

    /// Gives a program what it, and all that it starts, find in their environment. What an electd that runs this one has left
    /// there goes.
    pub fn surround(&self, command: &mut Command) {
        let leader = self.lock.is_none().then_some(&*self.node);
        for (name, value) in [
            ("ELECTD_CLUSTER", Some(&*self.cluster)),
            ("ELECTD_NODE", Some(&*self.node)),
            ("ELECTD_LEADER", leader),
            ("ELECTD_LOCK", self.lock.as_deref()),
        ] {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

/// Whether a command has a cgroup of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CgroupUse {
    /// If electd may make one: as root, or in a unit with Delegate=yes.
    #[default]
    Auto,
    /// It has; without one it does not run.
    Always,
    /// It has none.
    Never,
}

/// Whether a command that ended by itself is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// It is not.
    #[default]
    Never,
    /// It is if its exit code is not 0.
    OnFailure,
    /// It always is.
    Always,
}

/// How often a command runs in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodRuns {
    /// Once.
    Once,
    /// Until it ended with 0.
    UntilDone,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecEnd {
    /// The command ended by itself, with this exit code.
    Command(u8),
    /// The node did not come to lead in time.
    NotGained,
    /// The leadership ended, and the command for it.
    Lost,
    /// An address could not be held.
    NoAddress,
    /// This host could not run the command, or its guard failed; the reason was logged.
    Failed,
    /// The node has ended.
    NodeGone {
        /// Whether the command has run beside it.
        has_run: bool,
    },
    /// It was to stop; with the exit code of the command, if that ran.
    Stopped(Option<u8>),
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::node::leadership::{Feed, Leadership, Term};
    use crate::node::now;

    /// One of nothing, with a lease.
    pub fn plan() -> Plan {
        Plan {
            command: Vec::new(),
            addresses: Vec::new(),
            wait: None,
            stop_after: Duration::from_secs(1000),
            cleanup: None,
            cgroup: CgroupUse::Never,
            is_leased: true,
            restart: Restart::Never,
            moves: false,
            returns: false,
            deadlines: Deadlines::of_renewal(Duration::from_secs(80)),
            lock: None,
            engine: None,
            period: None,
            cluster: "hc".to_owned(),
            // The program of the tests, started as a guard, would run other tests: this is no option of it.
            node: "--no-guard".to_owned(),
        }
    }

    /// A leadership of epoch 7 that is good for this long.
    pub fn leadership(left: Duration, renewal: Option<Duration>) -> Leadership {
        let (feed, now) = (Feed::default(), now());
        feed.show(Some(Term { epoch: 7, until: now + left, renewal, now }));
        feed.leadership().unwrap()
    }
}

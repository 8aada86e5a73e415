//! What a guard is to do, as the arguments that it is started with: `NODE RISK LIMIT CLEANUP CGROUP ENGINE
//! [ADDRESS ...] -- [CMD ...]`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::super::address::spec::Address;
use super::super::plan::{CgroupUse, Plan};
use super::super::stderr::say;

/// Between the addresses and the command.
const SEPARATOR: &str = "--";

/// How the two kinds of leadership are called.
const LEASED: &str = "leased";
const UNLEASED: &str = "unleased";

/// What the command does where the host refuses the cgroup that electd has made for it.
const NEEDED: &str = "needed";
const WANTED: &str = "wanted";

/// What a guard is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardTask {
    /// The name of the node, for whoever lists processes.
    pub node: String,
    /// Another member leads only once the lease has ended, even if electd has died.
    pub is_leased: bool,
    /// The longest time from TERM to KILL once electd has ended, and for the cleanup.
    pub limit: Duration,
    /// The program that runs whenever the command has ended; empty for none.
    pub cleanup: PathBuf,
    /// The command does not run without a cgroup of its own.
    pub needs_cgroup: bool,
    /// The URL of the engine that decides on the lock of the command, as in [`Plan`]; empty for none.
    pub engine: String,
    /// The addresses to hold.
    pub addresses: Vec<Address>,
    /// The command, and its arguments; none with addresses alone.
    pub command: Vec<OsString>,
}

impl GuardTask {
    /// Of this plan.
    pub fn of(plan: &Plan) -> GuardTask {
        GuardTask {
            node: plan.node.clone(),
            is_leased: plan.is_leased,
            limit: plan.stop_after,
            cleanup: plan.cleanup.clone().unwrap_or_default(),
            needs_cgroup: plan.cgroup == CgroupUse::Always,
            engine: plan.engine.clone().unwrap_or_default(),
            addresses: plan.addresses.clone(),
            command: plan.command.clone(),
        }
    }

    /// The arguments that say so.
    pub fn arguments(&self) -> Vec<OsString> {
        let kind = if self.is_leased { LEASED } else { UNLEASED };
        let limit = self.limit.as_millis().to_string();
        let cgroup = if self.needs_cgroup { NEEDED } else { WANTED };
        let mut arguments: Vec<OsString> =
            vec![self.node.clone().into(), kind.into(), limit.into(), self.cleanup.clone().into()];
        arguments.extend([cgroup.into(), self.engine.clone().into()]);
        arguments.extend(self.addresses.iter().map(|address| address.to_string().into()));
        arguments.push(SEPARATOR.into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// What these arguments say.
    ///
    /// # Errors
    /// With the argument that cannot be read.
    pub fn read(arguments: Vec<OsString>) -> io::Result<GuardTask> {
        let mut arguments = arguments.into_iter();
        let mut next = |what: &str| {
            arguments
                .next()
                .ok_or_else(|| io::Error::other(format!("the guard was not told {what}")))
        };
        let node = next("for which node")?.to_string_lossy().into_owned();
        let is_leased = next("whether there is a lease")? == LEASED;
        let limit = next("the time to stop")?;
        let millis = limit.to_str().and_then(|word| word.parse().ok());
        let millis = millis.ok_or_else(|| io::Error::other(format!("{limit:?} is no limit")))?;
        let cleanup = next("whether there is a cleanup")?.into();
        let needs_cgroup = next("whether a cgroup is needed")? == NEEDED;
        let engine = next("whether an engine decides")?.to_string_lossy().into_owned();
        let mut rest: Vec<OsString> = arguments.collect();
        let end = rest.iter().position(|argument| argument == SEPARATOR).unwrap_or(rest.len());
        let command = rest.split_off((end + 1).min(rest.len()));
        let addresses = rest.iter().take(end).map(|argument| {
            let text = argument.to_string_lossy();
            text.parse().map_err(|error| io::Error::other(format!("{text}: {error}")))
        });
        let addresses = addresses.collect::<io::Result<Vec<Address>>>()?;
        let limit = Duration::from_millis(millis);
        Ok(GuardTask { node, is_leased, limit, cleanup, needs_cgroup, engine, addresses, command })
    }

    /// Goes on without a cgroup, and says why, unless the command needs one.
    ///
    /// # Errors
    /// The same that the host has refused.
    pub fn go_without(&self, refused: io::Error) -> io::Result<()> {
        if self.needs_cgroup {
            return Err(refused);
        }
        say(&refused.to_string());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let full = GuardTask {
            node: "node-1".to_owned(),
            is_leased: true,
            limit: Duration::from_millis(1500),
            cleanup: "./clean up".into(),
            needs_cgroup: true,
            engine: "etcd://h/a".to_owned(),
            addresses: vec!["10.0.0.9/24%eth0".parse().unwrap()],
            command: ["sh", "--", "-c"].map(OsString::from).to_vec(),
        };
        let little = GuardTask {
            is_leased: false,
            cleanup: PathBuf::new(),
            needs_cgroup: false,
            engine: String::new(),
            addresses: Vec::new(),
            command: Vec::new(),
            ..full.clone()
        };
        let words = "node-1|leased|1500|./clean up|needed|etcd://h/a|10.0.0.9/24%eth0|--|sh|--|-c";
        for (task, words) in [(full, words), (little, "node-1|unleased|1500||wanted||--")] {
            let arguments = task.arguments();
            assert_eq!(GuardTask::read(arguments.clone()).unwrap(), task);
            assert_eq!(arguments.join("|".as_ref()), words);
        }
    }

    #[test]
    fn an_argument_that_is_missing_or_cannot_be_read_is_named() {
        let words = ["node-1", LEASED, "1500", "", WANTED, ""];
        let refused = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            GuardTask::read(words).expect_err("it is refused").to_string()
        };
        for (known, missing) in [
            "for which node",
            "whether there is a lease",
            "the time to stop",
            "whether there is a cleanup",
            "whether a cgroup is needed",
            "whether an engine decides",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(refused(&words[..known]), format!("the guard was not told {missing}"));
        }
        assert_eq!(refused(&["node-1", LEASED, "soon", ""]), "\"soon\" is no limit");
        let address = [&words[..], &["lo", "--"]].concat();
        assert!(refused(&address).starts_with("lo: write it as 10.0.0.9/24%eth0"));
        assert!(GuardTask::read(words.map(OsString::from).to_vec()).unwrap().command.is_empty());
    }
}

//! What a guard is to do, as the arguments that it is started with: `LOCK RISK LIMIT CLEANUP REGISTER
//! INCARNATION [ADDRESS ...] -- [CMD ...]`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::super::address::spec::Address;
use super::super::plan::Plan;
use crate::coroner::guards::Register;

/// Between the addresses and the command.
const SEPARATOR: &str = "--";

/// How the two kinds of leadership are called.
const LEASED: &str = "leased";
const UNLEASED: &str = "unleased";

/// What a guard is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The file that it locks while anything of the job runs.
    pub lock: PathBuf,
    /// Another member leads only once the lease has ended, even if electd has died.
    pub is_leased: bool,
    /// The longest time from TERM to KILL once electd has ended, and for the cleanup.
    pub limit: Duration,
    /// The program that runs whenever the command has ended; empty for none.
    pub cleanup: PathBuf,
    /// Where it registers before anything begins; nowhere where the node has no coroner.
    pub register: Option<Register>,
    /// The addresses to hold.
    pub addresses: Vec<Address>,
    /// The command, and its arguments; none with addresses alone.
    pub command: Vec<OsString>,
}

impl Task {
    /// Of this plan.
    pub fn of(plan: &Plan) -> Task {
        Task {
            lock: plan.lock.clone(),
            is_leased: plan.is_leased,
            limit: plan.stop_after,
            cleanup: plan.cleanup.clone().unwrap_or_default(),
            register: plan.register.clone(),
            addresses: plan.addresses.clone(),
            command: plan.command.clone(),
        }
    }

    /// The arguments that say so.
    pub fn arguments(&self) -> Vec<OsString> {
        let kind = if self.is_leased { LEASED } else { UNLEASED };
        let limit = self.limit.as_millis().to_string();
        let mut arguments: Vec<OsString> =
            vec![self.lock.clone().into(), kind.into(), limit.into(), self.cleanup.clone().into()];
        let register = self.register.as_ref();
        arguments.push(register.map(|at| at.socket.clone()).unwrap_or_default().into());
        arguments.push(register.map_or(0, |at| at.incarnation).to_string().into());
        arguments.extend(self.addresses.iter().map(|address| address.to_string().into()));
        arguments.push(SEPARATOR.into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// What these arguments say.
    ///
    /// # Errors
    /// With the argument that cannot be read.
    pub fn read(arguments: Vec<OsString>) -> io::Result<Task> {
        let mut arguments = arguments.into_iter();
        let mut next = |what: &str| {
            arguments
                .next()
                .ok_or_else(|| io::Error::other(format!("the guard was not told {what}")))
        };
        let lock = next("which lock to take")?.into();
        let is_leased = next("whether there is a lease")? == LEASED;
        let limit = next("the time to stop")?;
        let millis = limit.to_str().and_then(|word| word.parse().ok());
        let millis = millis.ok_or_else(|| io::Error::other(format!("{limit:?} is no limit")))?;
        let cleanup = next("whether there is a cleanup")?.into();
        let socket = PathBuf::from(next("where to register")?);
        let word = next("for which incarnation")?;
        let incarnation = word.to_str().and_then(|word| word.parse().ok());
        let incarnation =
            incarnation.ok_or_else(|| io::Error::other(format!("{word:?} is no incarnation")))?;
        let register = (!socket.as_os_str().is_empty()).then_some(Register { socket, incarnation });
        let mut rest: Vec<OsString> = arguments.collect();
        let end = rest.iter().position(|argument| argument == SEPARATOR).unwrap_or(rest.len());
        let command = rest.split_off((end + 1).min(rest.len()));
        let addresses = rest.iter().take(end).map(|argument| {
            let text = argument.to_string_lossy();
            text.parse().map_err(|error| io::Error::other(format!("{text}: {error}")))
        });
        let addresses = addresses.collect::<io::Result<Vec<Address>>>()?;
        let limit = Duration::from_millis(millis);
        Ok(Task { lock, is_leased, limit, cleanup, register, addresses, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let full = Task {
            lock: "/a b/job.lock".into(),
            is_leased: true,
            limit: Duration::from_millis(1500),
            cleanup: "./clean up".into(),
            register: Some(Register { socket: "/a b/guards.sock".into(), incarnation: 7 }),
            addresses: vec!["10.0.0.9/24%eth0".parse().unwrap()],
            command: ["sh", "--", "-c"].map(OsString::from).to_vec(),
        };
        let little = Task {
            is_leased: false,
            cleanup: PathBuf::new(),
            register: None,
            addresses: Vec::new(),
            command: Vec::new(),
            ..full.clone()
        };
        let words =
            "/a b/job.lock|leased|1500|./clean up|/a b/guards.sock|7|10.0.0.9/24%eth0|--|sh|--|-c";
        for (task, words) in [(full, words), (little, "/a b/job.lock|unleased|1500|||0|--")] {
            let arguments = task.arguments();
            assert_eq!(Task::read(arguments.clone()).unwrap(), task);
            assert_eq!(
                arguments.join("|".as_ref()),
                words,
                "as an electd of another version says it"
            );
        }
    }

    #[test]
    fn an_argument_that_is_missing_or_cannot_be_read_is_named() {
        let words = ["job.lock", LEASED, "1500", "", "", "7"];
        let refused = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            Task::read(words).expect_err("it is refused").to_string()
        };
        for (known, missing) in [
            "which lock to take",
            "whether there is a lease",
            "the time to stop",
            "whether there is a cleanup",
            "where to register",
            "for which incarnation",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(refused(&words[..known]), format!("the guard was not told {missing}"));
        }
        assert_eq!(refused(&["job.lock", LEASED, "soon", "", "", "7"]), "\"soon\" is no limit");
        assert_eq!(refused(&["job.lock", LEASED, "1", "", "", "-7"]), "\"-7\" is no incarnation");
        let address = [&words[..], &["lo", "--"]].concat();
        assert!(refused(&address).starts_with("lo: write it as 10.0.0.9/24%eth0"));
        assert!(Task::read(words.map(OsString::from).to_vec()).unwrap().command.is_empty());
    }
}

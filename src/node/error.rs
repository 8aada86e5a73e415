//! Why a node did not start, in words.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::locks::{LockName, LockRefused};
use crate::core::types::Task;
use crate::store::StoreError;
use crate::tls::BadFile;

/// The coroner has the address of a member that died.
const OF_CORONER: &str = "; or a member died there, and \"electd coroner\" leaves the address to a start by its user once \
    its job has ended; TERM ends it sooner";

/// Why a node did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The config has no such member.
    #[error("the config has no member named \"{0}\"")]
    NoMember(String),
    /// The durable state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The certificates of this member cannot be used.
    #[error(transparent)]
    Tls(#[from] BadFile),
    /// The address of this member cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}{}",
        if source.kind() == io::ErrorKind::AddrInUse { OF_CORONER } else { "" }
    )]
    Listen {
        /// The name of the member.
        name: String,
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The address of this member means loopback on its own host, and others are on other hosts.
    #[error("the others cannot dial {name}: {why}")]
    Hidden {
        /// Its name.
        name: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A task was given, and the algorithm has none.
    #[error("a task is handed out by the algorithm \"halting\" only, and this cluster has \"{0}\"")]
    NoTask(&'static str),
    /// A task was given that is too long.
    #[error("the task has {0} bytes; the most is {most}", most = Task::LONGEST)]
    TaskTooLong(usize),
    /// `--bootstrap` was given, but members do not vote in this cluster.
    #[error(
        "a bootstrap is for the first start with quorum \"majority\"; this cluster has \"none\""
    )]
    NoVote,
    /// A bootstrap was asked for where the cluster has begun.
    #[error(
        "{name} knows its cluster already, by its state in {}: start it without --bootstrap, which is for \
         the first start only. Kept in a unit file, it would let the node vote after it lost its state, \
         and with it what it promised",
        .folder.display()
    )]
    Bootstrapped {
        /// Its name.
        name: String,
        /// Where its state is.
        folder: PathBuf,
    },
    /// This member was removed from the cluster in an earlier life.
    #[error(
        "{name} was removed from the cluster; to come back, it is added under a fresh id, and \
         starts without {folder}"
    )]
    Removed {
        /// Its name.
        name: String,
        /// Where its state is.
        folder: PathBuf,
    },
    /// The system has no thread left, or refuses another call that a node needs.
    #[error("this node cannot run here: {0}")]
    Thread(#[source] io::Error),
    /// A program wants a lock that this node does not take into those that it wants.
    #[error("the lock {name}: {why}")]
    Lock {
        /// The name of the lock.
        name: LockName,
        /// Why.
        why: LockRefused,
    },
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_reason_tells_what_is_wrong_and_what_to_do() {
        let (name, folder) = (|| "a".to_owned(), || PathBuf::from("/data/a"));
        let lost = || io::Error::other("no room");
        let bad = BadFile {
            key: "tls.ca",
            file: "/ca.pem".into(),
            what: "holds no certificate".to_owned(),
            is_unread: false,
        };
        let address = "10.0.0.1:7100".to_owned();
        for (error, told) in [
            (StartError::NoMember(name()), "the config has no member named \"a\""),
            (StartError::Tls(bad), "tls.ca /ca.pem: holds no certificate"),
            (
                StartError::Listen { name: name(), address: address.clone(), source: lost() },
                "cannot listen on 10.0.0.1:7100: no room",
            ),
            (
                StartError::Listen {
                    name: name(),
                    address,
                    source: io::ErrorKind::AddrInUse.into(),
                },
                "cannot listen on 10.0.0.1:7100: address in use; or a member died there, and \"electd coroner\" leaves the \
                 address to a start by its user once its job has ended; TERM ends it sooner",
            ),
            (
                StartError::Hidden { name: name(), why: "it means loopback".to_owned() },
                "the others cannot dial a: it means loopback",
            ),
            (
                StartError::NoTask("ring"),
                "a task is handed out by the algorithm \"halting\" only, and this cluster has \"ring\"",
            ),
            (StartError::TaskTooLong(70_000), "the task has 70000 bytes; the most is 65536"),
            (
                StartError::NoVote,
                "a bootstrap is for the first start with quorum \"majority\"; this cluster has \"none\"",
            ),
            (
                StartError::Bootstrapped { name: name(), folder: folder() },
                "a knows its cluster already, by its state in /data/a: start it without --bootstrap, which is for the \
                 first start only. Kept in a unit file, it would let the node vote after it lost its state, and with \
                 it what it promised",
            ),
            (
                StartError::Removed { name: name(), folder: folder() },
                "a was removed from the cluster; to come back, it is added under a fresh id, and starts without \
                 /data/a",
            ),
            (StartError::Thread(lost()), "this node cannot run here: no room"),
            (
                StartError::Lock {
                    name: LockName::new("mail").unwrap(),
                    why: LockRefused::QuorumNone,
                },
                "the lock mail: locks need `\"quorum\": \"majority\"`",
            ),
        ] {
            assert_eq!(error.to_string(), told);
        }
        let store = || StoreError::Folder { dir: Path::new("/data/a").to_owned(), source: lost() };
        assert_eq!(StartError::from(store()).to_string(), store().to_string());
    }
}

//! How far the last dial of each peer came that led to no connection, for those who ask why a peer does not answer.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use parking_lot::Mutex;
use rustix::io::Errno;

use crate::calls;
use crate::core::types::NodeId;
use crate::limits::MORE_FILES;

/// How the last dial of each peer failed. A peer is in it until a dial succeeds.
#[derive(Debug, Default)]
pub struct Dials(Mutex<BTreeMap<NodeId, FailedDial>>);

/// How a dial failed.
#[derive(Debug)]
pub(super) struct FailedDial {
    /// Why, with the remedy in words.
    pub why: String,
    /// Whether the host refused the connection: it can be reached, and no process listens there.
    pub is_refused: bool,
}

impl Dials {
    /// Why the last dial of this peer failed; none if it is connected, or was not dialed yet.
    pub fn failed(&self, peer: NodeId) -> Option<String> {
        self.0.lock().get(&peer).map(|failed| failed.why.clone())
    }

    /// Whether the host of this peer refused the last dial, so that it can be reached.
    pub fn is_refused(&self, peer: NodeId) -> bool {
        self.0.lock().get(&peer).is_some_and(|failed| failed.is_refused)
    }

    pub(super) fn record(&self, peer: NodeId, failed: FailedDial) {
        self.0.lock().insert(peer, failed);
    }

    /// A peer is connected, or is not dialed any more.
    pub(super) fn forget(&self, peer: NodeId) {
        self.0.lock().remove(&peer);
    }
}

/// Why the name of a peer has no address.
pub(super) fn unresolved(address: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => {
            format!("the name service does not tell the address of {address}: look at it")
        }
        _ => format!("{address} does not resolve here: {error}; correct it, or the name service"),
    }
}

/// Why there is no connection to this address.
pub(super) fn unconnected(address: &str, error: &io::Error) -> String {
    match error.kind() {
        _ if wants_descriptors(error) => out_of_descriptors(),
        ErrorKind::ConnectionRefused => {
            format!("{address} refuses connections: start it, or look at where it listens")
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            format!("nothing answers at {address}: look at its host, the network and the firewalls")
        }
        _ => format!("no connection to {address}: {error}"),
    }
}

/// Why a peer, whose host took the connection, does not say a thing at this step.
pub(super) fn unanswered(what: &str, error: &io::Error) -> String {
    let how = match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "is not answered".to_owned(),
        _ => format!("fails: {error}"),
    };
    format!(
        "it takes connections, and {what} {how}: look whether its process hangs, and whether large packets pass (the MTU)"
    )
}

/// Whether the system refuses another file descriptor.
pub(super) fn wants_descriptors(error: &io::Error) -> bool {
    let code = calls::errno(error);
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// What to do about that.
pub(super) fn out_of_descriptors() -> String {
    format!("this node may not open more files, sockets included: {MORE_FILES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ends_a_dial_is_told_with_the_remedy() {
        let os = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        let name = |kind: ErrorKind| unresolved("b:1", &kind.into());
        let no_files = format!("this node may not open more files, sockets included: {MORE_FILES}");
        let silent = "nothing answers at b:1: look at its host, the network and the firewalls";
        let taken = |how: &str| {
            format!(
                "it takes connections, and the hello {how}: look whether its process hangs, and whether large packets \
                 pass (the MTU)"
            )
        };
        for (told, words) in [
            (
                name(ErrorKind::TimedOut),
                "the name service does not tell the address of b:1: look at it",
            ),
            (
                name(ErrorKind::NotFound),
                "b:1 does not resolve here: entity not found; correct it, or the name service",
            ),
            (unconnected("b:1", &os(Errno::MFILE)), &no_files),
            (unconnected("b:1", &os(Errno::NFILE)), &no_files),
            (
                unconnected("b:1", &os(Errno::CONNREFUSED)),
                "b:1 refuses connections: start it, or look at where it listens",
            ),
            (unconnected("b:1", &os(Errno::TIMEDOUT)), silent),
            (unconnected("b:1", &os(Errno::AGAIN)), silent),
            (
                unconnected("b:1", &os(Errno::HOSTUNREACH)),
                "no connection to b:1: No route to host (os error 113)",
            ),
            (unanswered("the hello", &os(Errno::AGAIN)), &taken("is not answered")),
            (unanswered("the hello", &ErrorKind::TimedOut.into()), &taken("is not answered")),
            (
                unanswered("the hello", &os(Errno::CONNRESET)),
                &taken("fails: Connection reset by peer (os error 104)"),
            ),
        ] {
            assert_eq!(told, words);
        }
        assert!(MORE_FILES.starts_with("raise the limit"), "{MORE_FILES}");
    }

    #[test]
    fn each_peer_has_its_own_failed_dial_until_it_is_connected() {
        let [a, b] = [1, 2].map(|number| NodeId(uuid::Uuid::from_u128(number)));
        let dials = Dials::default();
        let because = |why: &str, is_refused| FailedDial { why: why.to_owned(), is_refused };
        dials.record(a, because("one", true));
        dials.record(b, because("two", true));
        dials.record(a, because("three", false));
        let failed = || [a, b].map(|peer| dials.failed(peer));
        assert_eq!([a, b].map(|peer| dials.is_refused(peer)), [false, true]);
        assert_eq!(failed(), [Some("three".to_owned()), Some("two".to_owned())]);
        dials.forget(a);
        assert_eq!(failed(), [None, Some("two".to_owned())]);
    }
}

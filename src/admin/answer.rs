//! The answer of a node, or why there is none, in words.

use std::io::{self, ErrorKind};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::control::{self, WHO_MAY};
use crate::limits::plain_json;

/// Why there is no answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// The connection failed, or the answer did not come in time.
    #[error("no answer from {address}: {reason}")]
    NoAnswer {
        /// The admin address that was asked.
        address: String,
        /// What happened.
        reason: String,
    },
    /// The node has no address to ask.
    #[error("it has no \"admin\" address in the configuration")]
    NotServed,
    /// The node answered that it does not do it.
    #[error("{sentence}")]
    Refused {
        /// The HTTP status code.
        code: u16,
        /// Whether the same may succeed later.
        passes: bool,
        /// The node's own words.
        sentence: String,
    },
    /// Another node answered than the one that was meant.
    #[error("{0}")]
    Other(String),
    /// Something else than electd answers there.
    #[error("{address} does not answer like electd: {reason}; is it the admin address of a node?")]
    Stranger {
        /// The admin address that was asked.
        address: String,
        /// What is odd about it.
        reason: String,
    },
}

#[derive(Deserialize)]
struct RefusalBody {
    error: String,
    #[serde(default)]
    try_again: bool,
}

/// The content of an answer with this code, without characters that would disguise what people read of it.
pub(super) fn understand<T: DeserializeOwned>(
    address: &str,
    code: u16,
    text: &str,
) -> Result<T, ClientError> {
    understand_as_it_is(address, code, &if code == 200 { plain_json(text) } else { text.into() })
}

/// The content of an answer with this code, byte for byte.
pub(super) fn understand_as_it_is<T: DeserializeOwned>(
    address: &str,
    code: u16,
    text: &str,
) -> Result<T, ClientError> {
    let stranger = |reason: String| ClientError::Stranger { address: address.to_owned(), reason };
    if code == 200 {
        return serde_json::from_str(text).map_err(|error| stranger(error.to_string()));
    }
    match serde_json::from_str(text) {
        Ok(RefusalBody { error, try_again: passes }) => {
            let sentence = error.replace('\n', "\n  "); // none of its lines stands for one of ours
            Err(ClientError::Refused { code, passes, sentence })
        }
        Err(_) => Err(stranger(format!("HTTP status {code}"))),
    }
}

/// What it means that no answer comes: to a question.
pub(super) const FROZEN: &str = "silent for too long; it may be frozen";

/// The same: to a command.
pub(super) const UNKNOWN: &str = "no answer in time; it may be frozen, and whether it carried the command out is not \
                                  known";

/// The same: to a command that may end a leadership, which waits for what runs for the leader.
pub(super) const STILL_WAITS: &str = "no answer in time: it may still be waiting for the leader's job to end, and the \
                                      outcome is not known";

/// A node that was asked, for the words about why it gave no answer.
#[derive(Clone, Copy)]
pub(super) struct SilentNode<'a> {
    /// Its address.
    pub address: &'a str,
    /// How long a connection to it could take.
    pub connect: Duration,
    /// What it means that no answer comes.
    pub silence: &'a str,
}

impl SilentNode<'_> {
    /// There is no connection to it.
    pub fn not_reached(&self, error: &io::Error) -> ClientError {
        let is_socket = control::of_address(self.address).is_some();
        let reason = match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                "connection refused, so nobody answers HTTP there".to_owned()
            }
            ErrorKind::PermissionDenied => format!("this user may not open it: {WHO_MAY}"),
            ErrorKind::WouldBlock | ErrorKind::TimedOut if is_socket => self.silence.to_owned(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("no connection within {:?}", self.connect)
            }
            ErrorKind::InvalidInput => "not an address; write HOST:PORT".to_owned(),
            _ => return self.not_answered(error),
        };
        self.no_answer(reason)
    }

    /// The connection to it brought no answer.
    pub fn not_answered(&self, error: &io::Error) -> ClientError {
        let is_socket = control::of_address(self.address).is_some();
        let reason = match error.kind() {
            ErrorKind::InvalidData => {
                let (address, reason) = (self.address.to_owned(), error.to_string());
                return ClientError::Stranger { address, reason };
            }
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                if is_socket =>
            {
                "the node closed the connection".to_owned()
            }
            // A member hangs up on whoever does not speak its own protocol.
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                "the connection was closed; is it the `address` of a member? give its `admin`"
                    .to_owned()
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut if is_socket => self.silence.to_owned(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("connected, and {}", self.silence)
            }
            _ => error.to_string(),
        };
        self.no_answer(reason)
    }

    fn no_answer(&self, reason: String) -> ClientError {
        ClientError::NoAnswer { address: self.address.to_owned(), reason }
    }
}

/// A node that told its events so far does so no longer.
pub(super) fn no_more_events(address: &str, error: &io::Error) -> ClientError {
    let reason = match error.kind() {
        ErrorKind::UnexpectedEof => "the node closed the connection".to_owned(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => FROZEN.to_owned(),
        _ => error.to_string(),
    };
    ClientError::NoAnswer { address: address.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this error means of a node at this address.
    fn told(address: &str, kind: ErrorKind, is_reached: bool) -> String {
        let asked = SilentNode { address, connect: Duration::from_secs(1), silence: FROZEN };
        let error = io::Error::new(kind, "odd");
        let told = if is_reached { asked.not_answered(&error) } else { asked.not_reached(&error) };
        told.to_string()
    }

    #[test]
    fn why_a_node_gives_no_answer_is_told_by_where_it_was_asked_and_how_far_that_came() {
        let (admin, socket) = ("h:7201", "unix:/s");
        let refused = "connection refused, so nobody answers HTTP there";
        let hung_up =
            "the connection was closed; is it the `address` of a member? give its `admin`";
        let closed = "the node closed the connection";
        let forbidden = "this user may not open it: run this as the node's user, or as root, or as a user of control_group";
        let connected = format!("connected, and {FROZEN}");
        for (address, kind, is_reached, reason) in [
            (admin, ErrorKind::ConnectionRefused, false, refused),
            (admin, ErrorKind::NotFound, false, refused),
            (socket, ErrorKind::ConnectionRefused, false, refused),
            (socket, ErrorKind::NotFound, false, refused),
            (socket, ErrorKind::PermissionDenied, false, forbidden),
            (admin, ErrorKind::TimedOut, false, "no connection within 1s"),
            (admin, ErrorKind::WouldBlock, false, "no connection within 1s"),
            (socket, ErrorKind::TimedOut, false, FROZEN),
            (socket, ErrorKind::WouldBlock, false, FROZEN),
            (admin, ErrorKind::InvalidInput, false, "not an address; write HOST:PORT"),
            (admin, ErrorKind::UnexpectedEof, false, hung_up), // in the TLS handshake
            (socket, ErrorKind::BrokenPipe, false, closed),
            (admin, ErrorKind::UnexpectedEof, true, hung_up),
            (admin, ErrorKind::ConnectionReset, true, hung_up),
            (admin, ErrorKind::BrokenPipe, true, hung_up),
            (socket, ErrorKind::UnexpectedEof, true, closed),
            (socket, ErrorKind::ConnectionReset, true, closed),
            (socket, ErrorKind::BrokenPipe, true, closed),
            (admin, ErrorKind::WouldBlock, true, &connected),
            (admin, ErrorKind::TimedOut, true, &connected),
            (socket, ErrorKind::WouldBlock, true, FROZEN),
            (socket, ErrorKind::TimedOut, true, FROZEN),
            (admin, ErrorKind::ConnectionRefused, true, "odd"),
            (admin, ErrorKind::Other, true, "odd"),
            (admin, ErrorKind::Other, false, "odd"),
        ] {
            let expected = format!("no answer from {address}: {reason}");
            assert_eq!(told(address, kind, is_reached), expected, "{kind:?}");
        }
        let stranger =
            "h:7201 does not answer like electd: odd; is it the admin address of a node?";
        assert_eq!(told(admin, ErrorKind::InvalidData, true), stranger);
    }

    #[test]
    fn what_an_answer_says_goes_by_its_code() {
        let told = |code, text| understand::<u64>("h:1", code, text);
        assert_eq!(told(200, "7"), Ok(7));
        let sentence = "no leader is known".to_owned();
        let refused = Err(ClientError::Refused { code: 409, passes: false, sentence });
        assert_eq!(told(409, r#"{"error": "no leader is known"}"#), refused);
        let no_json = "expected value at line 1 column 1";
        for (code, text, reason) in [
            (200, "<html>", no_json),
            (404, "<html>", "HTTP status 404"),
            (502, "{}", "HTTP status 502"),
            (201, "7", "HTTP status 201"),
        ] {
            let (address, reason) = ("h:1".to_owned(), reason.to_owned());
            assert_eq!(told(code, text), Err(ClientError::Stranger { address, reason }));
        }
    }

    #[test]
    fn why_a_node_tells_no_more_events_is_told() {
        for (kind, reason) in [
            (ErrorKind::UnexpectedEof, "the node closed the connection"),
            (ErrorKind::WouldBlock, "silent for too long; it may be frozen"),
            (ErrorKind::TimedOut, "silent for too long; it may be frozen"),
            (ErrorKind::Other, "odd"),
        ] {
            let told = no_more_events("h:1", &io::Error::new(kind, "odd")).to_string();
            assert_eq!(told, format!("no answer from h:1: {reason}"), "{kind:?}");
        }
    }

    #[test]
    fn what_went_wrong_is_one_sentence() {
        let sentence = "no leader is known".to_owned();
        let other = "node-2 answers there".to_owned();
        for (error, words) in [
            (ClientError::NotServed, "it has no \"admin\" address in the configuration"),
            (ClientError::Refused { code: 409, passes: false, sentence }, "no leader is known"),
            (ClientError::Other(other), "node-2 answers there"),
        ] {
            assert_eq!(error.to_string(), words);
        }
        let unknown = "no answer in time; it may be frozen, and whether it carried the command out is not known";
        let waits = "no answer in time: it may still be waiting for the leader's job to end, and the outcome is not \
                     known";
        assert_eq!([UNKNOWN, STILL_WAITS], [unknown, waits]);
    }
}

//! The answer of a node, or why there is none, in words.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use ureq::{Timeout, http};

use super::control::WHO_MAY;

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
struct Refusal {
    error: String,
}

/// The content of an answer with this code.
pub(super) fn understand<T: DeserializeOwned>(
    address: &str,
    code: u16,
    text: &str,
) -> Result<T, ClientError> {
    let stranger = |reason: String| ClientError::Stranger { address: address.to_owned(), reason };
    if code == 200 {
        return serde_json::from_str(text).map_err(|error| stranger(error.to_string()));
    }
    match serde_json::from_str(text) {
        Ok(Refusal { error }) => Err(ClientError::Refused { code, sentence: error }),
        Err(_) => Err(stranger(format!("HTTP status {code}"))),
    }
}

/// What it means that no answer comes: to a question.
pub(super) const FROZEN: &str = "silent for too long; it may be frozen";

/// The same: to a command.
pub(super) const UNKNOWN: &str = "no answer in time; it may be frozen, and whether it carried the command out is not \
                                  known: look at `electd status`";

/// The same: to a command that may end a leadership, which waits for what runs for the leader.
pub(super) const STILL_WAITS: &str = "no answer in time: it may still be waiting for the leader's job to end, and the \
                                      outcome is not known: look at `electd status`";

/// Why a conversation failed that used a control socket, or whose answer is read as it comes; `silence` says what it
/// means that no answer comes.
pub(super) fn socket_error(address: &str, error: &io::Error, silence: &str) -> ClientError {
    let reason = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => REFUSED.to_owned(),
        io::ErrorKind::PermissionDenied => {
            format!("this user may not open it: {}", WHO_MAY)
        }
        io::ErrorKind::UnexpectedEof => "the node closed the connection".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => silence.to_owned(),
        io::ErrorKind::InvalidData => {
            let (address, reason) = (address.to_owned(), error.to_string());
            return ClientError::Stranger { address, reason };
        }
        _ => error.to_string(),
    };
    ClientError::NoAnswer { address: address.to_owned(), reason }
}

const REFUSED: &str = "connection refused, so no node runs there";

/// Why a conversation over plain TCP failed; `silence` says what it means that no answer comes.
pub(super) fn in_words(error: &ureq::Error, connect: Duration, silence: &str) -> String {
    match error {
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => REFUSED.to_owned(),
            // A member hangs up on whoever does not speak its own protocol.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "the connection was closed; is it the `address` of a member? give its `admin`"
                    .to_owned()
            }
            _ => error.to_string(),
        },
        ureq::Error::Timeout(Timeout::Connect) => {
            format!("no connection within {connect:?}")
        }
        ureq::Error::Timeout(_) => format!("connected, and {silence}"),
        ureq::Error::HostNotFound => "the name of the host is not known".to_owned(),
        ureq::Error::Http(error) if error.is::<http::header::InvalidHeaderValue>() => {
            "a header cannot hold the token: write one line of printable ASCII characters"
                .to_owned()
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            "not an address; write HOST:PORT".to_owned()
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_address_is_told_from_a_token_that_no_header_can_hold() {
        let words = |error: http::Error| in_words(&error.into(), Duration::ZERO, FROZEN);
        let address = http::Uri::try_from("http://a b/").unwrap_err();
        assert_eq!(words(address.into()), "not an address; write HOST:PORT");
        let header = http::HeaderValue::from_str("Bearer a\nb").unwrap_err();
        assert!(words(header.into()).contains("the token"));
    }
}

//! The answer of a node, or why there is none, in words.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use ureq::Timeout;

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

/// Why a conversation failed that used a control socket, or whose answer is read as it comes.
pub(super) fn socket_error(address: &str, error: &io::Error) -> ClientError {
    let reason = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => REFUSED.to_owned(),
        io::ErrorKind::PermissionDenied => {
            "it belongs to another user: run this as the node's user, or as root".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "the node closed the connection".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "silent for too long; it may be frozen".to_owned()
        }
        io::ErrorKind::InvalidData => {
            let (address, reason) = (address.to_owned(), error.to_string());
            return ClientError::Stranger { address, reason };
        }
        _ => error.to_string(),
    };
    ClientError::NoAnswer { address: address.to_owned(), reason }
}

const REFUSED: &str = "connection refused, so no node runs there";

/// Why a conversation over plain TCP failed.
pub(super) fn in_words(error: &ureq::Error, connect: Duration) -> String {
    match error {
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => REFUSED.to_owned(),
            _ => error.to_string(),
        },
        ureq::Error::Timeout(Timeout::Connect) => {
            format!("no connection within {connect:?}")
        }
        ureq::Error::Timeout(_) => {
            "connected, and silent for too long; it may be frozen".to_owned()
        }
        ureq::Error::HostNotFound => "the name of the host is not known".to_owned(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            "not an address; write HOST:PORT".to_owned()
        }
        error => error.to_string(),
    }
}

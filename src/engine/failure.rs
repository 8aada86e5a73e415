//! Why a question to an engine has no answer, before it is judged what that means.

use std::io::{self, ErrorKind};

use super::EngineError;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine says so.
    Error {
        /// The code of its protocol.
        code: String,
        words: String,
    },
    /// There is none until somebody changes something.
    Refused(String),
    /// There is none now, or none that can be used.
    Silent(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Silent(match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "it does not answer in time".to_owned(),
            ErrorKind::UnexpectedEof => "it ended the connection".to_owned(),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                format!("its answer cannot be used: {error}")
            }
            _ => error.to_string(),
        })
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Unreachable(why) => Failure::Silent(why),
            EngineError::Usage(why) | EngineError::Refused(why) => Failure::Refused(why),
        }
    }
}

/// An answer that cannot be used.
pub(crate) fn odd(why: &str) -> Failure {
    io::Error::new(ErrorKind::InvalidData, why).into()
}

//! Between the core's messages and frames of JSON.

use thiserror::Error;

use super::frame::{Frame, frame};
use super::schema as wire;
use crate::core::limits::shown;
use crate::core::message as core;
use crate::core::message::{Envelope, PROTOCOL_VERSION, Rejection};

/// Why a payload could not be understood, in one line that is safe to log.
#[derive(Debug, Error)]
#[error("not a message of protocol {PROTOCOL_VERSION}: {0}")]
pub struct DecodeError(String);

/// The longest reason, in characters.
const REASON: usize = 160;

/// The reason may quote the payload, which is whatever the other side sent.
impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> DecodeError {
        DecodeError(shown(&error.to_string(), REASON))
    }
}

/// The first words of a dialer: a hello, or what must be refused before it becomes one.
#[derive(Debug, PartialEq)]
pub enum Opening {
    /// A hello in terms of this version.
    Hello(core::Hello),
    /// The dialer speaks of what this version does not know.
    Reject(Rejection),
}

/// The answer to a hello.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// Taken.
    Welcome(core::Hello),
    /// Refused.
    Reject(Rejection),
}

/// The frame of a dialer's first words.
#[must_use]
pub fn encode_hello(hello: &core::Hello) -> Frame {
    encode(&wire::Hello::from(hello))
}

/// The frame that takes a hello.
#[must_use]
pub fn encode_welcome(welcome: &core::Hello) -> Frame {
    encode(&wire::Reply::Welcome(Box::new(welcome.into())))
}

/// The frame that refuses a hello.
#[must_use]
pub fn encode_rejection(reason: &Rejection) -> Frame {
    encode(&wire::Reply::Reject(reason.into()))
}

/// The frame of a message.
#[must_use]
pub fn encode_message(envelope: &Envelope) -> Frame {
    encode(&wire::Envelope {
        epoch: envelope.epoch.into(),
        incarnation: envelope.incarnation.into(),
        message: (&envelope.message).into(),
    })
}

/// Reads a dialer's first words.
///
/// # Errors
/// When the payload is no hello of any version.
pub fn decode_opening(payload: &[u8]) -> Result<Opening, DecodeError> {
    #[derive(serde::Deserialize)]
    struct Version {
        protocol: u32,
    }
    let Version { protocol } = serde_json::from_slice(payload)?;
    if protocol != PROTOCOL_VERSION {
        let reason = Rejection::Protocol { ours: PROTOCOL_VERSION, theirs: protocol };
        return Ok(Opening::Reject(reason));
    }
    let hello: wire::Hello = serde_json::from_slice(payload)?;
    Ok(hello.try_into().map_or_else(Opening::Reject, Opening::Hello))
}

/// Reads the answer to a hello.
///
/// # Errors
/// When the payload is no answer.
pub fn decode_reply(payload: &[u8]) -> Result<Reply, DecodeError> {
    Ok(match serde_json::from_slice(payload)? {
        wire::Reply::Welcome(hello) => {
            (*hello).try_into().map_or_else(Reply::Reject, Reply::Welcome)
        }
        wire::Reply::Reject(reason) => Reply::Reject(reason.into()),
    })
}

/// Reads a message.
///
/// # Errors
/// When the payload is no message.
pub fn decode_message(payload: &[u8]) -> Result<Envelope, DecodeError> {
    let wire: wire::Envelope = serde_json::from_slice(payload)?;
    Ok(Envelope {
        epoch: wire.epoch.into(),
        incarnation: wire.incarnation.into(),
        message: wire.message.into(),
    })
}

/// All of our types serialize: they hold no maps with odd keys and no foreign code.
fn encode(value: &impl serde::Serialize) -> Frame {
    frame(&serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::{Kind, Message};
    use crate::wire::samples::{envelope, every_message, every_rejection, hello};

    #[test]
    fn every_message_comes_back_as_it_was() {
        let kinds: Vec<Kind> = every_message().iter().map(Message::kind).collect();
        assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind)), "a kind is missing here");
        for message in every_message() {
            let envelope = envelope(message);
            let frame = encode_message(&envelope);
            assert_eq!(decode_message(&frame[4..]).unwrap(), envelope);
        }
    }

    #[test]
    fn the_first_words_come_back_as_they_were() {
        let opening = decode_opening(&encode_hello(&hello())[4..]).unwrap();
        assert_eq!(opening, Opening::Hello(hello()));
        let reply = decode_reply(&encode_welcome(&hello())[4..]).unwrap();
        assert_eq!(reply, Reply::Welcome(hello()));
        for reason in every_rejection() {
            let reply = decode_reply(&encode_rejection(&reason)[4..]).unwrap();
            assert_eq!(reply, Reply::Reject(reason));
        }
    }

    /// What is written here is what members of other versions read.
    #[test]
    fn frames_are_written_as_they_always_were() {
        let messages =
            every_message().into_iter().map(|message| encode_message(&envelope(message)));
        let rejections = every_rejection().into_iter().map(|reason| encode_rejection(&reason));
        let greetings = [encode_hello(&hello()), encode_welcome(&hello())];
        let frames = greetings.into_iter().chain(rejections).chain(messages);
        let lines = frames.map(|frame| String::from_utf8(frame[4..].to_vec()).unwrap());
        insta::assert_snapshot!("frames", lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_version_that_leaves_none_above_it_is_refused() {
        for version in [[u64::MAX, 1], [1, u64::MAX]] {
            for message in [
                format!(r#"{{"listed":{{"version":{version:?}}}}}"#),
                format!(r#"{{"trial":{{"number":1,"epoch":1,"list":{version:?}}}}}"#),
                format!(r#"{{"claim":{{"number":1,"epoch":1,"lease_ns":1,"list":{version:?}}}}}"#),
            ] {
                let bytes = format!(r#"{{"epoch":1,"incarnation":1,"message":{message}}}"#);
                assert!(decode_message(bytes.as_bytes()).is_err(), "{message}");
                let good = bytes.replace(&u64::MAX.to_string(), "2");
                assert!(decode_message(good.as_bytes()).is_ok(), "{good}");
            }
        }
    }

    #[test]
    fn the_reason_is_one_line_whatever_the_payload_holds() {
        let odd = "\\u001b[2J\\n\\u0000".repeat(1000);
        let bytes = format!(r#"{{"epoch":1,"incarnation":1,"message":{{"{odd}":1}}}}"#);
        let error = decode_message(bytes.as_bytes()).unwrap_err().to_string();
        assert!(error.len() < 8 * REASON && !error.contains(char::is_control), "{error:?}");
        assert!(error.contains("unknown variant `\\u{1b}[2J\\n\\u{0}"), "{error}");
    }

    #[test]
    fn a_hello_of_another_version_is_refused_in_words_whatever_else_it_holds() {
        let opening = decode_opening(br#"{"protocol": 9, "who": "knows"}"#).unwrap();
        let reason = Rejection::Protocol { ours: PROTOCOL_VERSION, theirs: 9 };
        assert_eq!(opening, Opening::Reject(reason));
        assert!(decode_opening(b"GET / HTTP/1.1").is_err());
    }
}

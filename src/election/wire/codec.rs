//! Converts between the core's messages and frames of JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use strum::VariantArray;
use thiserror::Error;

use super::frame::{Frame, frame};
use super::greeting as wire;
use crate::core::death::DeathCertificate;
use crate::core::message as core;
use crate::core::message::{Envelope, Kind, Rejection};
use crate::core::protocol::Protocols;
use crate::limits::shown;

/// Why a payload could not be understood, in one line that is safe to log.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// It breaks the rules.
    #[error("not a message of protocol {version}: {0}", version = Protocols::OURS.highest)]
    Broken(String),
    /// A message of a kind that only a later version knows.
    #[error("no message of protocol {version}, but of a later one: \"{0}\"", version = Protocols::OURS.highest)]
    Unknown(String),
}

/// The longest reason, in characters.
const REASON: usize = 160;

/// The longest name of a kind that is shown.
const NAME: usize = 40;

/// The reason may quote the payload, which can be anything.
impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> DecodeError {
        DecodeError::Broken(shown(&error.to_string(), REASON))
    }
}

/// The first message of a dialer: a hello, or what must be refused before it becomes one.
#[derive(Debug, PartialEq)]
pub enum Opening {
    /// A hello in terms of this version.
    Hello(core::Hello),
    /// The dialer uses words that this version does not know.
    Reject(Rejection),
}

/// The answer to a hello.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// Taken.
    Welcome(core::Hello),
    /// Refused.
    Reject(Rejection),
    /// The node that listened there has died.
    Dead(DeathCertificate),
}

/// The frame of a dialer's hello.
#[must_use]
pub fn encode_hello(hello: &core::Hello) -> Frame {
    encode(&wire::Hello::from(hello))
}

/// The frame that accepts a hello.
#[must_use]
pub fn encode_welcome(welcome: &core::Hello) -> Frame {
    encode(&wire::ReplyFrame::Welcome(Box::new(welcome.into())))
}

/// The frame that refuses a hello.
#[must_use]
pub fn encode_rejection(reason: &Rejection) -> Frame {
    encode(&wire::ReplyFrame::Reject(reason.clone()))
}

/// The frame that a coroner answers every dial with.
#[must_use]
pub fn encode_dead(certificate: &DeathCertificate) -> Frame {
    encode(&wire::ReplyFrame::Dead(*certificate))
}

/// The frame of a message.
#[must_use]
pub fn encode_message(envelope: &Envelope) -> Frame {
    encode(envelope)
}

/// Reads a dialer's first message.
///
/// # Errors
/// If the payload is no hello of any version.
pub fn decode_opening(payload: &[u8]) -> Result<Opening, DecodeError> {
    #[derive(Deserialize)]
    struct Window {
        protocol: u32,
        highest: Option<u32>,
    }
    let Window { protocol, highest } = serde_json::from_slice(payload)?;
    if let Err((ours, theirs)) = Protocols::OURS.shared(wire::protocols(protocol, highest)) {
        return Ok(Opening::Reject(Rejection::Protocol { ours, theirs }));
    }
    let hello: wire::Hello = serde_json::from_slice(payload)?;
    Ok(hello.try_into().map_or_else(Opening::Reject, Opening::Hello))
}

/// Reads the answer to a hello.
///
/// # Errors
/// If the payload is no answer.
pub fn decode_reply(payload: &[u8]) -> Result<Reply, DecodeError> {
    Ok(match serde_json::from_slice(payload)? {
        wire::ReplyFrame::Welcome(hello) => {
            (*hello).try_into().map_or_else(Reply::Reject, Reply::Welcome)
        }
        wire::ReplyFrame::Reject(reason) => Reply::Reject(reason),
        wire::ReplyFrame::Dead(certificate) => Reply::Dead(certificate),
    })
}

/// Reads a message.
///
/// # Errors
/// If the payload is no message, or a message that this version does not know.
pub fn decode_message(payload: &[u8]) -> Result<Envelope, DecodeError> {
    serde_json::from_slice(payload).map_err(|error| unknown(payload).unwrap_or(error.into()))
}

/// Whether it is a message of a later version: an object with one key, which no message has here. (C5)
fn unknown(payload: &[u8]) -> Option<DecodeError> {
    #[derive(Deserialize)]
    struct UnknownShape<'a> {
        #[serde(borrow)]
        message: BTreeMap<Cow<'a, str>, IgnoredAny>,
    }
    let UnknownShape { message } = serde_json::from_slice(payload).ok()?;
    let (name, _) = message.first_key_value().filter(|_| message.len() == 1)?;
    let known = Kind::VARIANTS.iter().any(|kind| kind.name() == name);
    (!known).then(|| DecodeError::Unknown(shown(name, NAME)))
}

/// All of our types serialize: they hold no maps with odd keys and no foreign code.
fn encode(value: &impl serde::Serialize) -> Frame {
    frame(&serde_json::to_vec(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::message::{Done, Refusal};
    use crate::wire::samples::{
        certificate, envelope, every_message, every_outcome, every_rejection, hello,
    };

    #[test]
    fn every_message_comes_back_as_it_was() {
        let sampled: Vec<Kind> = every_message().iter().map(Kind::from).collect();
        let missing: Vec<_> =
            Kind::VARIANTS.iter().filter(|kind| !sampled.contains(kind)).collect();
        assert!(missing.is_empty(), "src/election/wire/samples.rs has no sample of {missing:?}");
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
        let reply = decode_reply(&encode_dead(&certificate())[4..]).unwrap();
        assert_eq!(reply, Reply::Dead(certificate()));
        for reason in every_rejection() {
            let reply = decode_reply(&encode_rejection(&reason)[4..]).unwrap();
            assert_eq!(reply, Reply::Reject(reason));
        }
    }

    #[test]
    fn a_hello_tells_the_version_if_that_is_one_short_line() {
        let newer = core::Hello { version: Some("0.2.0".into()), ..hello() };
        let read = |bytes: &[u8]| decode_opening(&bytes[4..]);
        assert_eq!(read(&encode_hello(&newer)).ok(), Some(Opening::Hello(newer)));
        let hostile = core::Hello { version: Some("0.2\n".into()), ..hello() };
        assert!(read(&encode_hello(&hostile)).is_err());
    }

    /// Members of other versions read what is written here.
    #[test]
    fn frames_are_written_as_they_always_were() {
        let messages =
            every_message().into_iter().map(|message| encode_message(&envelope(message)));
        let rejections = every_rejection().into_iter().map(|reason| encode_rejection(&reason));
        let greetings =
            [encode_hello(&hello()), encode_welcome(&hello()), encode_dead(&certificate())];
        let frames = greetings.into_iter().chain(rejections).chain(messages);
        let lines = frames.map(|frame| String::from_utf8(frame[4..].to_vec()).unwrap());
        insta::assert_snapshot!("frames", lines.collect::<Vec<_>>().join("\n"));
    }

    /// So are the outcomes of commands, which a member passes on and another answers.
    #[test]
    fn outcomes_are_written_as_they_always_were_and_come_back() {
        let lines = every_outcome().into_iter().map(|outcome| {
            let line = serde_json::to_string(&outcome).unwrap();
            let read: Result<Done, Refusal> = serde_json::from_str(&line).unwrap();
            assert_eq!(read, outcome);
            line
        });
        insta::assert_snapshot!("outcomes", lines.collect::<Vec<_>>().join("\n"));
    }

    /// The JSON that members of this version wrote; never to be regenerated.
    const PROTOCOL_5: &str = include_str!("recorded/protocol-5.jsonl");

    /// What version 9 added to it.
    const PROTOCOL_9: &str = include_str!("recorded/protocol-9.jsonl");

    #[test]
    fn what_earlier_versions_wrote_is_read_for_ever() {
        for line in PROTOCOL_5.lines().chain(PROTOCOL_9.lines()) {
            let bytes = line.as_bytes();
            let opening = matches!(decode_opening(bytes), Ok(Opening::Hello(_)));
            let read = opening || decode_reply(bytes).is_ok() || decode_message(bytes).is_ok();
            assert!(read, "{line}");
        }
        let hello = decode_opening(PROTOCOL_5.lines().next().unwrap().as_bytes()).unwrap();
        let Opening::Hello(hello) = hello else { panic!("{hello:?}") };
        assert_eq!(hello.protocols, Protocols { lowest: 5, highest: 5 });
    }

    #[test]
    fn what_an_earlier_version_never_wrote_is_not_said_to_it() {
        for message in every_message().iter().filter(|message| message.since() == 5) {
            let key = format!(r#""message":{{"{}":"#, Kind::from(message).name());
            assert!(
                PROTOCOL_5.contains(&key),
                "{message:?} is of a later version: say so in since()"
            );
        }
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

    /// Rule C5.
    #[test]
    fn every_kind_of_message_is_known_and_another_is_told_from_a_broken_one() {
        for message in every_message() {
            let frame = encode_message(&envelope(message));
            assert!(unknown(&frame[4..]).is_none(), "{}", String::from_utf8_lossy(&frame[4..]));
        }
        let said = |message: &str| {
            let bytes = format!(r#"{{"epoch":1,"incarnation":1,"message":{message},"more":2}}"#);
            decode_message(bytes.as_bytes()).unwrap_err()
        };
        assert!(
            matches!(said(r#"{"to_come":[1]}"#), DecodeError::Unknown(name) if name == "to_come")
        );
        for broken in [
            r#"{"a":1,"b":2}"#,
            r#"{"vote":1,"grant":2}"#,
            r#"{"grant":{}}"#,
            r#"{"grant":"#,
            "7",
            "{}",
        ] {
            assert!(matches!(said(broken), DecodeError::Broken(_)), "{broken}");
        }
    }

    #[test]
    fn the_reason_is_one_line_whatever_the_payload_holds() {
        let odd = "\\u001b[2J\\n\\u0000".repeat(1000);
        let bytes = format!(r#"{{"epoch":1,"incarnation":1,"message":{{"{odd}":1}}}}"#);
        let error = decode_message(bytes.as_bytes()).unwrap_err();
        assert!(matches!(error, DecodeError::Unknown(_)));
        let text = error.to_string();
        assert!(text.len() < 8 * REASON && !text.contains(char::is_control), "{text:?}");
        assert!(text.contains("later one: \"\\u{1b}[2J\\n\\u{0}"), "{text}");
    }

    /// A log shows it whole, and no payload fills the disk with it.
    #[test]
    fn a_reason_is_told_as_far_as_it_is_of_use() {
        let ours = Protocols::OURS.highest;
        for (length, shown) in [(40, "x".repeat(40)), (41, "x".repeat(40) + "...")] {
            let bytes = format!(r#"{{"message":{{"{}":1}}}}"#, "x".repeat(length));
            let told = decode_message(bytes.as_bytes()).unwrap_err().to_string();
            let words = format!("no message of protocol {ours}, but of a later one: \"{shown}\"");
            assert_eq!(told, words);
        }
        let told =
            decode_reply(format!("\"{}\"", "x".repeat(1000)).as_bytes()).unwrap_err().to_string();
        let reason = told.strip_prefix(&format!("not a message of protocol {ours}: ")).unwrap();
        assert!(reason.len() == 163 && reason.ends_with("x..."), "{reason}");
    }

    #[test]
    fn a_hello_of_another_version_is_refused_in_words_whatever_else_it_holds() {
        let opening = decode_opening(br#"{"protocol": 99, "who": "knows"}"#).unwrap();
        let reason = Rejection::Protocol { ours: Protocols::OURS.highest, theirs: 99 };
        assert_eq!(opening, Opening::Reject(reason));
        let opening = decode_opening(br#"{"protocol": 2, "highest": 4}"#).unwrap();
        let reason = Rejection::Protocol { ours: Protocols::OURS.lowest, theirs: 4 };
        assert_eq!(opening, Opening::Reject(reason));
        assert!(decode_opening(b"GET / HTTP/1.1").is_err());
    }

    /// An electd that does not know this reason reads a setting that differs.
    #[test]
    fn a_number_that_cannot_have_come_about_is_sent_as_a_setting_that_differs() {
        let key = "epoch".to_owned();
        let frame = encode_rejection(&Rejection::Beyond { key, most: 7, told: 9 });
        let sent: Value = serde_json::from_slice(&frame[4..]).unwrap();
        let differs = json!({"key": "epoch", "ours": "at most 7", "theirs": "9"});
        assert_eq!(sent, json!({"reject": {"disagreement": differs}}));
        for (ours, theirs) in [("at most x", "9"), ("at most 7", "x"), ("7", "9")] {
            let reject =
                json!({"reject": {"disagreement": {"key": "k", "ours": ours, "theirs": theirs}}});
            let (key, ours, theirs) = ("k".to_owned(), ours.to_owned(), theirs.to_owned());
            let reason = Rejection::Disagreement { key, ours, theirs };
            let reply = decode_reply(reject.to_string().as_bytes()).unwrap();
            assert_eq!(reply, Reply::Reject(reason));
        }
    }

    /// Such as those of a later version, in a rolling upgrade that goes on to use it.
    #[test]
    fn a_hello_with_a_word_that_this_version_does_not_know_is_refused_with_those_that_it_knows() {
        let good: Value = serde_json::from_slice(&encode_hello(&hello())[4..]).unwrap();
        for (key, ours) in
            [("algorithm", "bully or halting or ring"), ("quorum", "none or majority")]
        {
            let mut hello = good.clone();
            hello[key] = "other".into();
            let (key, ours, theirs) = (key.to_owned(), ours.to_owned(), "other".to_owned());
            let reason = Rejection::Disagreement { key, ours, theirs };
            let opening = decode_opening(hello.to_string().as_bytes()).unwrap();
            assert_eq!(opening, Opening::Reject(reason.clone()));
            let reply = decode_reply(json!({ "welcome": hello }).to_string().as_bytes()).unwrap();
            assert_eq!(reply, Reply::Reject(reason));
        }
    }
}

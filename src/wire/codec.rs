//! Between the core's messages and frames of JSON.

use thiserror::Error;

use super::frame::{Frame, frame};
use super::schema as wire;
use crate::core::message as core;
use crate::core::message::{Envelope, PROTOCOL_VERSION, Rejection};
use crate::core::types::{Epoch, Incarnation};

/// Why a payload could not be understood.
#[derive(Debug, Error)]
#[error("not a message of protocol {PROTOCOL_VERSION}: {0}")]
pub struct DecodeError(#[from] serde_json::Error);

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
        epoch: envelope.epoch.0,
        incarnation: envelope.incarnation.0,
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
        epoch: Epoch(wire.epoch),
        incarnation: Incarnation(wire.incarnation),
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
    use crate::core::membership::{Change, ListVersion, Member, MemberList};
    use crate::core::message::{
        Ballot, Candidate, Done, Forwarded, Kind, Lap, Liveness, MemberReport, Message, Opinion,
        Refusal, Run, Taken, View,
    };
    use crate::core::types::{NodeId, Rank, Role, Task, TaskVersion};
    use std::sync::Arc;

    fn id(n: u128) -> NodeId {
        NodeId(uuid::Uuid::from_u128(n))
    }

    fn every_message() -> Vec<Message> {
        let (epoch, round, number) = (Epoch(7), Epoch(8), 9);
        let rank = Rank { value: -3, id: id(4) };
        let lease = std::time::Duration::from_millis(400);
        let list = ListVersion { epoch, counter: 2 };
        let member = Member {
            id: id(6),
            name: "node-6".into(),
            address: "host:7101".into(),
            admin: Some("host:7201".into()),
            role: Role::Witness,
        };
        let present = MemberList::new(list, vec![member.clone()]).with_removed(vec![id(2)]);
        let removed = Done::Removed { id: id(2), stored: true, handed_over: false };
        let taken = Refusal::Taken { what: Taken::Admin, by: id(1) };
        let (incarnation, status, stands) = (Incarnation(2), Liveness::Suspected, false);
        let members = [MemberReport { id: id(1), incarnation, status, stands, value: -7 }].into();
        let done = Done::Resigned { epoch, successor: Some(id(2)) };
        let run = Run { epoch: round, initiator: id(3) };
        let candidate = Candidate { stands: true, rank, incarnation: Incarnation(5) };
        let version = TaskVersion { epoch, counter: 3 };
        let task = Task { version, content: (*b"any \xff\0 bytes").into() };
        let outranked = Refusal::Outranked { to: id(1), by: id(2) };
        vec![
            Message::Election { round, rank, stands: true },
            Message::Answer { round },
            Message::Coordinator { epoch, rank },
            Message::Heartbeat { epoch, number, rank, lease, settled: list, members },
            Message::Trial { number, epoch, list },
            Message::Opinion {
                number,
                opinion: Opinion::YesIf { released: round, wait: lease },
                epoch,
            },
            Message::Opinion { number, opinion: Opinion::Yes, epoch },
            Message::Claim { number, epoch, lease, list },
            Message::Grant { incarnation: Incarnation(3), number, epoch },
            Message::Refuse { number, opinion: Opinion::No { wait: lease }, epoch },
            Message::Acknowledge { incarnation: Incarnation(6), epoch, number, rank, stands: true },
            Message::View(View { epoch, leader: Some(rank) }),
            Message::Preempt { epoch, rank, votes: vec![id(3), id(4)] },
            Message::Lower { round },
            Message::AreYouThere { number, under: Some(epoch), rank, stands: true },
            Message::AreYouNormal { number, epoch },
            Message::Halt { number, round, rank, incumbent: true },
            Message::Elected { number, round, task: task.version },
            Message::Task(task.clone()),
            Message::Ready { number, round, task },
            Message::Reply { number, accepted: false },
            Message::Ballot(Ballot { run, candidate, hops: 3 }),
            Message::Lap(Lap { run, leader: candidate, hops: 4 }),
            Message::Probe { number },
            Message::Alive { number },
            Message::Freed { leader: rank.id, epoch },
            Message::Release { epoch, successor: None, stands: false },
            Message::List { list: Arc::new(present) },
            Message::Listed { version: list },
            Message::Forward { number, command: Forwarded::Resign { to: Some(id(3)) } },
            Message::Forward { number, command: Forwarded::Change(Change::Add(member)) },
            Message::Forward {
                number,
                command: Forwarded::Change(Change::Remove { id: id(3), force: true }),
            },
            Message::Outcome { number, result: Ok(Done::Added(id(3))) },
            Message::Outcome { number, result: Ok(removed) },
            Message::Outcome { number, result: Err(taken) },
            Message::Outcome { number, result: Ok(done) },
            Message::Outcome { number, result: Err(outranked) },
        ]
    }

    #[test]
    fn every_message_comes_back_as_it_was() {
        let kinds: Vec<Kind> = every_message().iter().map(Message::kind).collect();
        assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind)), "a kind is missing here");
        for message in every_message() {
            let envelope = Envelope { epoch: Epoch(1), incarnation: Incarnation(2), message };
            let frame = encode_message(&envelope);
            assert_eq!(decode_message(&frame[4..]).unwrap(), envelope);
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

    #[test]
    fn a_hello_of_another_version_is_refused_in_words_whatever_else_it_holds() {
        let opening = decode_opening(br#"{"protocol": 9, "who": "knows"}"#).unwrap();
        let reason = Rejection::Protocol { ours: PROTOCOL_VERSION, theirs: 9 };
        assert_eq!(opening, Opening::Reject(reason));
        assert!(decode_opening(b"GET / HTTP/1.1").is_err());
    }
}

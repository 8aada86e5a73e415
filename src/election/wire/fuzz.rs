//! Input for the fuzzer of connections between members, and the checks of what a member accepts.

use std::fmt::Debug;

use serde_json::Value;

use super::codec::DecodeError;
use super::frame::MAX_FRAME;
use super::samples::{certificate, envelope, every_message, every_outcome, every_rejection, hello};
use super::tables::MOST_NOTED;
use super::{
    Frame, Opening, Reply, decode_message, decode_opening, decode_reply, encode_dead, encode_hello,
    encode_message, encode_rejection, encode_welcome, read_frame,
};
use crate::core::locks::table::MOST_NAMES;
use crate::core::membership::{MOST_MEMBERS, MOST_REMOVED};
use crate::core::message::Message;
use crate::core::settings::Timing;
use crate::core::types::Task;
use crate::limits::{GREATEST, disguises, is_cluster_name, is_line, is_name, is_reason};

/// Streams of frames: one for each good frame, and one of all of them.
pub fn streams() -> Vec<Vec<u8>> {
    let messages = every_message().into_iter().map(|message| encode_message(&envelope(message)));
    let rejections = every_rejection().into_iter().map(|reason| encode_rejection(&reason));
    let greetings = [encode_hello(&hello()), encode_welcome(&hello()), encode_dead(&certificate())];
    let frames = greetings.into_iter().chain(rejections).chain(messages);
    let mut streams: Vec<Vec<u8>> = frames.map(|frame| frame.to_vec()).collect();
    streams.push(streams.concat());
    streams
}

/// Hellos, and the answers to them.
pub fn greetings() -> Vec<Vec<u8>> {
    payloads(&[encode_hello(&hello()), encode_welcome(&hello()), encode_dead(&certificate())])
        .chain(payloads(&every_rejection().iter().map(encode_rejection).collect::<Vec<_>>()))
        .collect()
}

/// A message of each kind, and each outcome of a command.
pub fn messages() -> Vec<Vec<u8>> {
    let outcomes = every_outcome().into_iter().map(|result| Message::Outcome { number: 9, result });
    let frame = |message| encode_message(&envelope(message));
    payloads(&every_message().into_iter().chain(outcomes).map(frame).collect::<Vec<_>>()).collect()
}

fn payloads(frames: &[Frame]) -> impl Iterator<Item = Vec<u8>> {
    frames.iter().map(|frame| frame[4..].to_vec())
}

/// Reads frames until there are no more, and checks each as every kind of payload.
pub fn check_stream(bytes: &[u8]) {
    let (mut from, mut payload) = (bytes, Vec::new());
    while read_frame(&mut from, &mut payload).is_ok() {
        assert!(payload.len() <= MAX_FRAME, "a frame of {} bytes was read", payload.len());
        check_greeting(&payload);
        check_message(&payload);
    }
}

/// A hello, or the answer to one.
pub fn check_greeting(payload: &[u8]) {
    match decode_opening(payload) {
        Ok(opening @ Opening::Hello(_)) => {
            let Opening::Hello(hello) = &opening else { return };
            comes_back(&encode_hello(hello), decode_opening, &opening);
        }
        // The refusal is this member's own message, and its dialer has to understand it.
        Ok(Opening::Reject(reason)) => {
            comes_back(&encode_rejection(&reason), decode_reply, &Reply::Reject(reason));
        }
        Err(why) => is_shown(&why),
    }
    match decode_reply(payload) {
        Ok(reply) => {
            let frame = match &reply {
                Reply::Welcome(welcome) => encode_welcome(welcome),
                Reply::Reject(reason) => encode_rejection(reason),
                Reply::Dead(certificate) => encode_dead(certificate),
            };
            comes_back(&frame, decode_reply, &reply);
        }
        Err(why) => is_shown(&why),
    }
}

/// A message.
pub fn check_message(payload: &[u8]) {
    match decode_message(payload) {
        Ok(envelope) => comes_back(&encode_message(&envelope), decode_message, &envelope),
        Err(why) => is_shown(&why),
    }
}

/// A member can send on what it accepted: it fits into a frame, reads the same again, and keeps to all bounds.
fn comes_back<T: Debug + PartialEq>(
    frame: &Frame,
    decode: fn(&[u8]) -> Result<T, DecodeError>,
    taken: &T,
) {
    let mut payload = Vec::new();
    read_frame(&mut &frame[..], &mut payload).expect("what is taken fits into a frame");
    assert_eq!(&decode(&payload).expect("what is taken is taken again"), taken);
    let json = serde_json::from_slice(&payload).expect("it was read just now");
    keeps_to_bounds("", &json);
}

/// The bounds of the configuration, checked in the JSON alone: this shares no code with the decoder except what a
/// name or a line is. A value in a list has the key of the list.
fn keeps_to_bounds(key: &str, value: &Value) {
    let kept = match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => match key {
            // Members compare or show them, and count nothing on from them.
            "instance" | "bytes" | "live" | "needed" => number.is_u64(),
            "rank" | "value" => number.is_i64(),
            "timing" | "lease_ns" | "wait_ns" => {
                number.as_u64().is_some_and(|nanos| u128::from(nanos) <= Timing::LONGEST.as_nanos())
            }
            _ => number.as_u64().is_some_and(|number| number <= GREATEST),
        },
        Value::String(text) => match key {
            "content" => text.len() <= Task::LONGEST.div_ceil(3) * 4,
            "cluster" => is_cluster_name(text),
            "name" => is_name(text),
            // The longest name of a host, with a port.
            "address" | "admin" => text.len() <= 260 && !text.contains(disguises),
            "reason" => is_reason(text),
            _ => is_line(text),
        },
        Value::Array(list) => {
            list.iter().for_each(|value| keeps_to_bounds(key, value));
            let most = match key {
                "removed" => MOST_REMOVED,
                "held" | "wants" | "released" | "once" | "ended" | "differ" | "freed" => MOST_NAMES,
                "noted" | "notes" | "to" => MOST_NOTED,
                _ => MOST_MEMBERS,
            };
            list.len() <= most
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| keeps_to_bounds(key, value));
            true
        }
    };
    assert!(kept, "\"{key}\" is beyond its bound: {value}");
}

/// A refusal is logged: one line, and not a long one.
fn is_shown(why: &DecodeError) {
    let words = why.to_string();
    assert!(words.len() < 2000 && !words.contains(disguises), "{words:?}");
}

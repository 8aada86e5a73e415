//! What each field of each frame may hold: every value of every sample is replaced by odd ones, one at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::samples::{certificate, envelope, every_message, every_outcome, every_rejection, hello};
use super::{
    Frame, decode_message, decode_opening, decode_reply, encode_dead, encode_hello, encode_message,
    encode_rejection, encode_welcome,
};
use crate::core::message::{Hello, Message};

type IsRead = fn(&[u8]) -> bool;

/// The samples with all that may be left out, each with the reader of its kind.
fn frames() -> Vec<(Frame, IsRead)> {
    let opening: IsRead = |bytes| decode_opening(bytes).is_ok();
    let reply: IsRead = |bytes| decode_reply(bytes).is_ok();
    let message: IsRead = |bytes| decode_message(bytes).is_ok();
    let hello = Hello { version: Some("0.2.0".into()), ..hello() };
    let outcomes = every_outcome().into_iter().map(|result| Message::Outcome { number: 9, result });
    let messages = every_message().into_iter().chain(outcomes);
    let mut frames = vec![(encode_hello(&hello), opening), (encode_welcome(&hello), reply)];
    frames.push((encode_dead(&certificate()), reply));
    frames.extend(every_rejection().iter().map(|reason| (encode_rejection(reason), reply)));
    frames.extend(messages.map(|it| (encode_message(&envelope(it)), message)));
    frames
}

/// The values that are tried in place of one, by name.
fn odd_ones(value: &Value) -> Vec<(&'static str, Value)> {
    match value {
        Value::Null => vec![],
        Value::Bool(_) => vec![("1", json!(1))],
        Value::Number(_) => vec![
            ("-1", json!(-1)),
            ("a day", json!(86_400_000_000_000_u64)),
            ("a day and a bit", json!(86_400_000_000_001_u64)),
            ("2^32", json!(1_u64 << 32)),
            ("2^62", json!(1_u64 << 62)),
            ("2^62 + 1", json!((1_u64 << 62) + 1)),
        ],
        Value::String(_) => vec![
            ("1", json!(1)),
            ("two lines", json!("a\nb")),
            ("300 letters", json!("x".repeat(300))),
            ("a word", json!("word")),
        ],
        Value::Array(list) => {
            let one = list.first().cloned().unwrap_or_default();
            vec![
                ("64 entries", json!(vec![one.clone(); 64])),
                ("65 entries", json!(vec![one.clone(); 65])),
                ("257 entries", json!(vec![one; 257])),
            ]
        }
        Value::Object(map) => {
            let mut more = map.clone();
            more.insert("to_come".to_owned(), json!([1]));
            vec![("one key more", Value::Object(more))]
        }
    }
}

/// Every frame like this one with one value changed or left out: where, how, and the whole.
fn altered(whole: &Value) -> Vec<(String, &'static str, Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), String::new())]; // a pointer, and the same without numbers
    while let Some((pointer, name)) = open.pop() {
        let value = whole.pointer(&pointer).unwrap();
        for (how, odd) in odd_ones(value).into_iter().chain([("null", Value::Null)]) {
            let mut other = whole.clone();
            *other.pointer_mut(&pointer).unwrap() = odd;
            found.push((name.clone(), how, other));
        }
        if let Value::Object(map) = value {
            for key in map.keys() {
                let mut other = whole.clone();
                other.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(key);
                found.push((format!("{name}.{key}"), "left out", other));
                open.push((format!("{pointer}/{key}"), format!("{name}.{key}")));
            }
        }
        for at in 0..value.as_array().map_or(0, Vec::len) {
            open.push((format!("{pointer}/{at}"), format!("{name}[]")));
        }
    }
    found
}

/// Members of other versions rely on what may be missing, and a hostile one finds no field without a bound.
#[test]
fn what_each_field_may_hold_is_read_and_nothing_else() {
    let mut taken: BTreeMap<String, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for (frame, is_read) in frames() {
        let whole: Value = serde_json::from_slice(&frame[4..]).unwrap();
        assert!(is_read(whole.to_string().as_bytes()), "{whole}");
        for (place, how, other) in altered(&whole) {
            let is_taken = is_read(other.to_string().as_bytes());
            taken.entry(place).or_default()[usize::from(!is_taken)].insert(how);
        }
    }
    let list = |of: &BTreeSet<&str>| of.iter().copied().collect::<Vec<_>>().join(", ");
    let lines = taken.iter().map(|(place, [read, refused])| {
        let place = place.trim_start_matches('.');
        format!("{place}\n  read: {}\n  refused: {}", list(read), list(refused))
    });
    insta::assert_snapshot!("fields", lines.collect::<Vec<_>>().join("\n"));
}

/// A peer can read all that is written: what is longer is cut.
#[test]
fn a_time_is_written_as_far_as_it_is_read() {
    let day = 86_400_000_000_000;
    let timing = Message::Timing { timing: [1, day, day + 1, u64::MAX] };
    let read = decode_message(&encode_message(&envelope(timing))[4..]).unwrap();
    assert_eq!(read.message, Message::Timing { timing: [1, day, day, day] });
    let read = decode_opening(&encode_hello(&Hello { timing: [day + 1; 4], ..hello() })[4..]);
    assert_eq!(read.unwrap(), super::Opening::Hello(Hello { timing: [day; 4], ..hello() }));
}

//! What a fuzzer feeds with bytes: each decoder of what comes from outside, with good bytes to begin with, and
//! with what has to hold of all that the decoder takes. The program of fuzz/ does it (`make fuzz`).
//!
//! A target panics where something does not hold: a value beyond its bounds was taken, or what was taken is not
//! read again as what it is. Each room says in its own `fuzz.rs` what that means there.

use electd_election::wire;

use crate::config;
use crate::store;

/// A decoder, as the fuzzer sees it.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// How it is asked for.
    pub name: &'static str,
    /// Good bytes of every kind.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Judges what the decoder makes of these bytes.
    pub check: fn(&[u8]),
}

macro_rules! targets {
    ($($(#[$cfg:meta])* $name:literal: $seeds:path, $check:path;)*) => {
        /// All of them.
        pub const TARGETS: &[FuzzTarget] =
            &[$($(#[$cfg])* FuzzTarget { name: $name, seeds: $seeds, check: $check },)*];
    };
}

targets! {
    "frames": wire::fuzz::streams, wire::fuzz::check_stream;
    "hello": wire::fuzz::greetings, wire::fuzz::check_greeting;
    "messages": wire::fuzz::messages, wire::fuzz::check_message;
    "state": store::fuzz::seeds, store::fuzz::check;
    "config": config::fuzz::seeds, config::fuzz::check;
    #[cfg(feature = "http")]
    "requests": crate::admin::fuzz::requests, crate::admin::fuzz::check_request;
    #[cfg(feature = "http")]
    "answers": crate::admin::fuzz::answers, crate::admin::fuzz::check_answer;
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::limits::GREATEST;

    /// The fuzzer goes on from what is good. Each byte in turn is another: a short search without a fuzzer.
    #[test]
    fn all_that_the_fuzzer_begins_with_is_judged_and_so_is_each_byte_off() {
        for FuzzTarget { name, seeds, check } in TARGETS {
            let seeds = seeds();
            assert!(!seeds.is_empty(), "{name} has none");
            for mut seed in seeds {
                check(&seed);
                for at in (0..seed.len()).step_by(seed.len().div_ceil(64)) {
                    for byte in [0, b'"', b'9', 0xff] {
                        let good = std::mem::replace(&mut seed[at], byte);
                        check(&seed);
                        seed[at] = good;
                    }
                }
            }
        }
    }

    /// Each value of each good document in turn is far too great, too long, or in disguise. Texts also have each
    /// length near a bound: what the decoder takes there, these checks have to know as good.
    #[test]
    fn no_value_in_any_place_is_taken_beyond_its_bound() {
        for FuzzTarget { seeds, check, .. } in TARGETS {
            let documents =
                seeds().into_iter().filter_map(|seed| serde_json::from_slice(&seed).ok());
            for good in documents.collect::<Vec<Value>>() {
                for place in places(&good, "") {
                    for odd in at_bounds(good.pointer(&place).unwrap()) {
                        let mut document = good.clone();
                        *document.pointer_mut(&place).unwrap() = odd;
                        check(&serde_json::to_vec_pretty(&document).unwrap());
                    }
                }
            }
        }
    }

    /// Every place in a value, itself included, as a JSON pointer.
    fn places(value: &Value, at: &str) -> Vec<String> {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(list) => {
                list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
            }
            _ => Vec::new(),
        };
        let below =
            below.into_iter().flat_map(|(key, value)| places(value, &format!("{at}/{key}")));
        [at.to_owned()].into_iter().chain(below).collect()
    }

    /// Values that a place with this one may have by its type: beyond every bound, or near one of a text.
    fn at_bounds(value: &Value) -> Vec<Value> {
        match value {
            Value::Null | Value::Number(_) => vec![(GREATEST + 1).into(), u64::MAX.into()],
            Value::String(text) => {
                let near = [16, 32, 64, 128, 200, 256, 260].into_iter().flat_map(|n| [n, n + 1]);
                let longer = near.map(|n| format!("{text:A<n$}").into());
                longer.chain(["a\u{202e}b".into(), "A".repeat(120_000).into()]).collect()
            }
            Value::Array(list) => vec![list.iter().cycle().take(1000).cloned().collect()],
            Value::Bool(_) | Value::Object(_) => Vec::new(),
        }
    }
}

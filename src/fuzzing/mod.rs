//! What a fuzzer feeds with bytes: each decoder of what comes from outside, with good bytes to begin with, and
//! with what has to hold of all that the decoder takes. The program of fuzz/ does it (`make fuzz`).
//!
//! A target panics where something does not hold: a value beyond its bounds was taken, or what was taken is not
//! read again as what it is. Each room says in its own `fuzz.rs` what that means there.

use crate::config;
use crate::store;
use crate::wire;

/// A decoder, as the fuzzer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
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
        pub const TARGETS: &[Target] =
            &[$($(#[$cfg])* Target { name: $name, seeds: $seeds, check: $check },)*];
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
    use super::*;

    /// The fuzzer goes on from what is good. Each byte in turn is another: a short search without a fuzzer.
    #[test]
    fn all_that_the_fuzzer_begins_with_is_judged_and_so_is_each_byte_off() {
        for Target { name, seeds, check } in TARGETS {
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
}

//! The bounds of input from the wire: a frame that breaks one is no message, and so it changes nothing. The limits
//! themselves are those of the configuration ([`crate::limits`]).

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::core::settings::Timing;
use crate::limits::{GREATEST, is_cluster_name, is_line, is_reason};

/// An epoch, round, counter, incarnation or number of a message: never above [`GREATEST`], so that
/// there is always a number above it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
pub struct Number(u64);

impl TryFrom<u64> for Number {
    type Error = String;

    fn try_from(number: u64) -> Result<Number, String> {
        // (X2)
        if number > GREATEST {
            return Err(format!("the number {number} is above {GREATEST}, the greatest"));
        }
        Ok(Number(number))
    }
}

impl Number {
    pub fn get(self) -> u64 {
        self.0
    }
}

/// Reads a number. A member keeps its own numbers within the bound as it makes them.
pub fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Number::deserialize(from).map(Number::get)
}

/// Reads a number, or null.
pub fn bounded_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Option::<Number>::deserialize(from).map(|number| number.map(Number::get))
}

/// A length of time in nanoseconds: never above [`Timing::LONGEST`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
struct Nanos(u64);

const MOST_NANOS: u64 = Timing::LONGEST.as_nanos() as u64;

impl TryFrom<u64> for Nanos {
    type Error = String;

    fn try_from(nanos: u64) -> Result<Nanos, String> {
        if nanos > MOST_NANOS {
            return Err(format!("{nanos} nanoseconds are more than {:?}", Timing::LONGEST));
        }
        Ok(Nanos(nanos))
    }
}

/// A length of time, in nanoseconds. A longer one than [`Timing::LONGEST`] is cut when it is written.
pub mod nanos {
    use super::*;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(MOST_NANOS).min(MOST_NANOS))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Nanos::deserialize(from).map(|nanos| Duration::from_nanos(nanos.0))
    }
}

/// Several lengths of time, which the core keeps in nanoseconds too.
pub mod nanos_each {
    use super::*;

    pub fn serialize<S: Serializer>(times: &[u64; 4], to: S) -> Result<S::Ok, S::Error> {
        times.map(|nanos| nanos.min(MOST_NANOS)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; 4], D::Error> {
        <[Nanos; 4]>::deserialize(from).map(|times| times.map(|nanos| nanos.0))
    }
}

/// 32 bytes, as 64 hexadecimal digits.
pub mod hex {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        to.serialize_str(&digits)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let digits = String::deserialize(from)?;
        let refusal = || D::Error::custom("no 64 hexadecimal digits");
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refusal());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[2 * at..2 * at + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| refusal())?;
        }
        Ok(bytes)
    }
}

/// Reads a word or a short text that is logged and shown: one short line without disguise.
pub fn line<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    text(from, is_line, "a text that is not one short line")
}

/// Reads such a text that may be missing.
pub fn optional_line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    line(from).map(Some)
}

/// Reads the reason of a drain.
pub fn reason<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    text(from, is_reason, "a reason that is too long, or no line")
}

/// Reads the origin of a connection: the address of an interface, and a port.
pub fn origin<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let is_origin = |text: &str| text.parse::<SocketAddr>().is_ok();
    text(from, is_origin, "a connection from where none comes from")
}

/// Reads the name of a cluster.
pub fn cluster_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    text(from, is_cluster_name, "a cluster with a name that is none")
}

fn text<'de, D: Deserializer<'de>>(
    from: D,
    is_good: impl Fn(&str) -> bool,
    refusal: &str,
) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if is_good(&text) { Ok(text) } else { Err(D::Error::custom(refusal)) }
}

/// Reads a list of at most `MOST` entries, and no further.
pub fn at_most<'de, D, T, L, const MOST: usize>(from: D) -> Result<L, D::Error>
where
    L: From<Vec<T>>,
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Entries<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Entries<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
            write!(to, "a list of at most {MOST} entries")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() == MOST {
                    return Err(A::Error::custom(format!("a list of more than {MOST} entries")));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    from.deserialize_seq(Entries::<T, MOST>(PhantomData)).map(L::from)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    /// Rule X2.
    #[test]
    fn numbers_and_times_leave_room_above_them() {
        for (number, good) in
            [(0, true), (GREATEST, true), (GREATEST + 1, false), (u64::MAX, false)]
        {
            assert_eq!(read::<Number>(&number.to_string()).is_ok(), good, "{number}");
            let json: Value = number.into();
            assert_eq!(bounded(&json).is_ok(), good, "{number}");
            assert_eq!(bounded_if_any(&json).is_ok(), good, "{number}");
        }
        for (nanos, good) in [(0, true), (MOST_NANOS, true), (MOST_NANOS + 1, false)] {
            assert_eq!(read::<Nanos>(&nanos.to_string()).is_ok(), good, "{nanos}");
        }
        let written = nanos::serialize(&Duration::MAX, serde_json::value::Serializer).unwrap();
        assert_eq!(written, MOST_NANOS, "what is written can be read");
        let why = |json: u64| bounded(&Value::from(json)).unwrap_err().to_string();
        let above = "the number 4611686018427387905 is above 4611686018427387904, the greatest";
        assert_eq!(why(GREATEST + 1), above);
        let long = nanos::deserialize(&Value::from(MOST_NANOS + 1)).unwrap_err().to_string();
        assert_eq!(long, "86400000000001 nanoseconds are more than 86400s");
        for odd in ["-1", "1.5", "\"1\"", "null"] {
            assert!(read::<Number>(odd).is_err() && read::<Nanos>(odd).is_err(), "{odd}");
        }
    }

    type Text = fn(Value) -> serde_json::Result<String>;

    fn is_read(json: &str, text: Text) -> bool {
        text(serde_json::from_str(json).unwrap()).is_ok()
    }

    #[test]
    fn no_text_breaks_a_line_and_no_list_is_longer_than_it_may_be() {
        assert!(is_read("\"after 30s\"", line) && is_read("\"a b\"", cluster_name));
        for odd in [
            "\"a\\u0000b\"",
            "\"a\\nb\"",
            "\"a\\u202eb\"",
            "1",
            &format!("\"{}\"", "x".repeat(129)),
        ] {
            assert!(!is_read(odd, line) && !is_read(odd, cluster_name), "{odd}");
        }
        for odd in ["\"host:7101\"", "\"[::1]:71\\u202e01\"", "\"127.0.0.1\""] {
            assert!(!is_read(odd, origin), "{odd}");
        }
        assert!(is_read("\"[::1]:7101\"", origin));
        assert!(is_read(&format!("\"{}\"", "x".repeat(128)), line));
        let refusals: [(Text, &str); 4] = [
            (line, "a text that is not one short line"),
            (
                |text| optional_line(text).map(Option::unwrap_or_default),
                "a text that is not one short line",
            ),
            (origin, "a connection from where none comes from"),
            (cluster_name, "a cluster with a name that is none"),
        ];
        for (text, refusal) in refusals {
            assert_eq!(text("a\nb".into()).unwrap_err().to_string(), refusal);
        }
        #[derive(Debug, Deserialize)]
        struct Few(#[serde(deserialize_with = "at_most::<_, _, _, 2>")] Vec<u8>);
        assert_eq!(read::<Few>("[1, 2]").unwrap().0, [1, 2]);
        let error = read::<Few>("[1, 2, 3, \"and what comes is not read\"]").unwrap_err();
        assert!(error.contains("more than 2 entries"), "{error}");
    }

    #[test]
    fn thirty_two_bytes_are_read_from_64_digits_and_from_nothing_else() {
        let read = |digits: &str| hex::deserialize(Value::from(digits));
        assert_eq!(read(&"0a".repeat(32)).unwrap(), [10; 32]);
        assert_eq!(read(&"fF".repeat(32)).unwrap(), [255; 32]);
        for odd in
            ["0".repeat(63), "0".repeat(65), "+1".repeat(32), "g0".repeat(32), "\u{e4}".repeat(32)]
        {
            let why = read(&odd).unwrap_err().to_string();
            assert_eq!(why, "no 64 hexadecimal digits", "{odd}");
        }
    }
}

//! The bounds of what comes over the wire: a frame that breaks one is no message, and so it changes
//! nothing. The limits themselves are those of the configuration ([`crate::core::limits`]).

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::core::limits::{GREATEST, is_cluster_name, is_line};
use crate::core::settings::Timing;
use crate::core::types::{self, Epoch, Incarnation};

/// An epoch, round, counter, incarnation or number of a message: never above [`GREATEST`], so that
/// there is always a number above it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct Number(u64);

impl TryFrom<u64> for Number {
    type Error = String;

    fn try_from(number: u64) -> Result<Number, String> {
        if number > GREATEST {
            return Err(format!("the number {number} is above {GREATEST}, the greatest"));
        }
        Ok(Number(number))
    }
}

/// Conversions of what is bounded where it is made. This side only writes it.
macro_rules! numbers {
    ($($type:ident),*) => {$(
        impl From<$type> for Number {
            fn from(number: $type) -> Number {
                Number(number.0)
            }
        }

        impl From<Number> for $type {
            fn from(number: Number) -> $type {
                $type(number.0)
            }
        }
    )*};
}

numbers!(Epoch, Incarnation);

impl Number {
    /// A number that this member made itself.
    pub fn of(number: u64) -> Number {
        Number(number)
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

/// Reads a number that is bounded where it is read only.
pub fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Number::deserialize(from).map(Number::get)
}

/// A length of time in nanoseconds: never above [`Timing::LONGEST`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct Nanos(u64);

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

/// A longer time than anybody waits for is cut.
impl From<Duration> for Nanos {
    fn from(time: Duration) -> Nanos {
        Nanos(u64::try_from(time.as_nanos()).unwrap_or(MOST_NANOS).min(MOST_NANOS))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

impl From<Nanos> for u64 {
    fn from(nanos: Nanos) -> u64 {
        nanos.0
    }
}

/// Makes a type for a text that is judged when it is read.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident if $is:expr, else $refusal:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(pub String);

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<$name, &'static str> {
                $is(&text).then_some($name(text)).ok_or($refusal)
            }
        }
    };
}

text! {
    /// A word or a short text that is logged and shown: one line that reads as what it is.
    Line if is_line, else "a text that is not one short line"
}

text! {
    /// Where a connection came from: the address of an interface, and a port.
    Origin if is_origin, else "a connection from where none comes from"
}

text! {
    /// The name of a cluster.
    ClusterName if is_cluster_name, else "a cluster with a name that is none"
}

fn is_origin(text: &str) -> bool {
    text.parse::<SocketAddr>().is_ok()
}

/// Reads a list of at most `MOST` entries, and no further.
pub fn at_most<'de, D, T, const MOST: usize>(from: D) -> Result<Vec<T>, D::Error>
where
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

    from.deserialize_seq(Entries::<T, MOST>(PhantomData))
}

/// The version of a member list or of a task: an epoch and a counter.
pub type Version = [Number; 2];

pub fn version(version: types::Version) -> Version {
    [version.epoch.into(), Number::of(version.counter)]
}

pub fn version_of([epoch, counter]: Version) -> types::Version {
    types::Version { epoch: epoch.into(), counter: counter.get() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_and_times_leave_room_above_them() {
        for (number, good) in
            [(0, true), (GREATEST, true), (GREATEST + 1, false), (u64::MAX, false)]
        {
            assert_eq!(read::<Number>(&number.to_string()).is_ok(), good, "{number}");
        }
        for (nanos, good) in [(0, true), (MOST_NANOS, true), (MOST_NANOS + 1, false)] {
            assert_eq!(read::<Nanos>(&nanos.to_string()).is_ok(), good, "{nanos}");
        }
        assert_eq!(Nanos::from(Duration::MAX).0, MOST_NANOS, "what is written can be read");
        for odd in ["-1", "1.5", "\"1\"", "null"] {
            assert!(read::<Number>(odd).is_err() && read::<Nanos>(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn no_text_breaks_a_line_and_no_list_is_longer_than_it_may_be() {
        assert!(read::<Line>("\"after 30s\"").is_ok() && read::<ClusterName>("\"a b\"").is_ok());
        for odd in [
            "\"a\\u0000b\"",
            "\"a\\nb\"",
            "\"a\\u202eb\"",
            "1",
            &format!("\"{}\"", "x".repeat(129)),
        ] {
            assert!(read::<Line>(odd).is_err() && read::<ClusterName>(odd).is_err(), "{odd}");
        }
        for odd in ["\"host:7101\"", "\"[::1]:71\\u202e01\"", "\"127.0.0.1\""] {
            assert!(read::<Origin>(odd).is_err(), "{odd}");
        }
        assert!(read::<Origin>("\"[::1]:7101\"").is_ok());
        #[derive(Debug, Deserialize)]
        struct Few(#[serde(deserialize_with = "at_most::<_, _, 2>")] Vec<u8>);
        assert_eq!(read::<Few>("[1, 2]").unwrap().0, [1, 2]);
        let error = read::<Few>("[1, 2, 3, \"and what comes is not read\"]").unwrap_err();
        assert!(error.contains("more than 2 entries"), "{error}");
    }
}

//! A list that is read only as far as it may be long, so that what claims to be a record takes no more memory than one.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

/// A node keeps 1.5 MiB of its entries, and each takes more than 48 bytes of it.
const MOST_ENTRIES: usize = 32 * 1024;

/// Reads the entries of a record, unless they are more than any node has.
pub fn entries<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Entries<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST_ENTRIES} entries")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() == MOST_ENTRIES {
                    return Err(A::Error::invalid_length(MOST_ENTRIES + 1, &self));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_seq(Entries(PhantomData))
}

#[cfg(test)]
mod tests {
    use crate::trace::record::Record;

    #[test]
    fn no_more_entries_are_read_than_a_node_has() {
        let read = |count: usize| {
            serde_json::from_str::<Record>(&format!(
                r#"{{"entries": [{}]}}"#,
                vec!["{}"; count].join(",")
            ))
        };
        assert_eq!(read(32_768).unwrap().entries.len(), 32_768);
        let error = read(32_769).unwrap_err().to_string();
        let told = "invalid length 32769, expected a list of at most 32768 entries";
        assert!(error.starts_with(told), "{error}");
        let error = serde_json::from_str::<Record>(r#"{"entries": 7}"#).unwrap_err().to_string();
        let told = "invalid type: integer `7`, expected a list of at most 32768 entries";
        assert!(error.starts_with(told), "{error}");
    }
}

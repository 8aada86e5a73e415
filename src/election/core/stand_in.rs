//! The content of a task in a flight: its length and its checksum alone, as it may be long, and nobody's business. What
//! is read back is a stand-in of that length, the same for the same content. Nothing in the core depends on more.

use std::iter;
use std::sync::Arc;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

/// More than anybody can give a node.
const LONGEST: u64 = 64 * 1024 * 1024;

pub fn serialize<S: Serializer>(content: &[u8], to: S) -> Result<S::Ok, S::Error> {
    (content.len() as u64, crc32fast::hash(content)).serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
    let (length, sum) = <(u64, u32)>::deserialize(from)?;
    let length = usize::try_from(length.min(LONGEST + 1)).unwrap_or_default();
    if length as u64 > LONGEST {
        return Err(D::Error::custom("a task that is too long"));
    }
    Ok(iter::repeat(sum.to_le_bytes()).flatten().take(length).collect())
}

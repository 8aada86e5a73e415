//! Nodes that run different versions of electd.

use std::collections::BTreeMap;

use super::status::Status;
use super::words::some_of;

/// What to do about it.
pub const REMEDY: &str = "no harm while an upgrade is under way: finish it on every node";

/// The versions of these nodes with who runs each, in words, if they differ.
#[must_use]
pub fn words<'a>(answers: impl Iterator<Item = &'a Status>) -> Option<String> {
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for status in answers {
        all.entry(version(status)).or_default().push(status.node.name.clone());
    }
    let each = all.iter().map(|(version, nodes)| format!("{version} ({})", some_of(nodes)));
    (all.len() > 1).then(|| each.collect::<Vec<_>>().join(", "))
}

/// The version of a node, as it is shown.
#[must_use]
pub fn version(status: &Status) -> &str {
    if status.version.is_empty() { "older" } else { &status.version }
}

//! Where the text of a file lists the members: for whoever writes the file anew and keeps the rest of it.

use std::ops::Range;

use super::json::JsonNode;
use super::{comments, entry};
use electd_election::core::membership::Member;

/// The places of a file's members in its text.
#[derive(Debug)]
pub struct WrittenMembers {
    /// The whole list, brackets included.
    pub list: Range<usize>,
    /// Each member with its entry.
    pub entries: Vec<(Member, Range<usize>)>,
}

impl WrittenMembers {
    /// Finds the members in the text of a file; none if it lists none.
    #[must_use]
    pub fn find(text: &str) -> Option<WrittenMembers> {
        let text = &*comments::blanked(text);
        let place = |node: JsonNode<'_>| {
            let start = node.offset(text);
            start..start + node.text().len()
        };
        let keys = JsonNode::parse(text).ok()?.entries()?;
        let (_, list) =
            keys.into_iter().find(|(key, _)| key.string().as_deref() == Some("members"))?;
        let entry =
            |node: JsonNode<'_>| Some((entry::parse(node.text().as_bytes()).ok()?, place(node)));
        let entries = list.items()?.into_iter().filter_map(entry).collect();
        Some(WrittenMembers { list: place(list), entries })
    }
}

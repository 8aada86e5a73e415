//! JSON in which every value knows its place in the file.
//!
//! serde_json checks the whole text once and lends out slices of it ([`RawValue`]); the beginning of a
//! slice is its place. So we can report a wrong value with line and column however late we find it,
//! duplicate keys are still visible, and one wrong type does not hide the next.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One value of the document, or one key of an object: a slice of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonNode<'t>(&'t RawValue);

impl<'t> JsonNode<'t> {
    /// Checks the syntax of a whole document, nothing but white space behind it.
    pub(super) fn parse(text: &'t str) -> serde_json::Result<JsonNode<'t>> {
        serde_json::from_str(text).map(JsonNode)
    }

    /// How many bytes of the document come before this value.
    pub(super) fn offset(self, document: &'t str) -> usize {
        self.0.get().as_ptr().addr().saturating_sub(document.as_ptr().addr())
    }

    /// The value as it is written.
    pub(super) fn text(self) -> &'t str {
        self.0.get()
    }

    /// The kind of value, in words.
    pub(super) fn kind(self) -> &'static str {
        match self.text().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// The content of a string; none if it is no string, or holds half a surrogate pair.
    pub(super) fn string(self) -> Option<String> {
        self.read::<Cow<'t, str>>().map(Cow::into_owned)
    }

    /// The content of a boolean.
    pub(super) fn boolean(self) -> Option<bool> {
        self.read()
    }

    /// The values of a list.
    pub(super) fn items(self) -> Option<Vec<JsonNode<'t>>> {
        let items: Vec<&RawValue> = self.read()?;
        Some(items.into_iter().map(JsonNode).collect())
    }

    /// The keys and values of an object in the order of the file, repeated keys included.
    pub(super) fn entries(self) -> Option<Vec<(JsonNode<'t>, JsonNode<'t>)>> {
        self.read::<ObjectEntries<'t>>().map(|entries| entries.0)
    }

    fn read<T: Deserialize<'t>>(self) -> Option<T> {
        serde_json::from_str(self.text()).ok()
    }
}

/// The key-value pairs of an object, before anybody looked for repeated keys.
struct ObjectEntries<'t>(Vec<(JsonNode<'t>, JsonNode<'t>)>);

impl<'de> Deserialize<'de> for ObjectEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = ObjectEntries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry()? {
            entries.push((JsonNode(key), JsonNode(value)));
        }
        Ok(ObjectEntries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_value_knows_its_offset() {
        let text = " {\n \"a\": [1, \"b\"],\n \"\\u0061\": true }";
        let entries = JsonNode::parse(text).unwrap().entries().unwrap();
        let (first, second) = (entries[0], entries[1]);
        assert_eq!(first.0.offset(text), text.find("\"a\"").unwrap());
        assert_eq!(first.1.items().unwrap()[1].offset(text), text.find("\"b\"").unwrap());
        assert_eq!(second.0.string().as_deref(), Some("a"), "escapes are decoded, repeats kept");
        assert_eq!(second.1.boolean(), Some(true));
    }

    #[test]
    fn what_is_not_one_json_document_is_refused() {
        for text in
            ["", "{} x", "{} {}", "{\"a\": 1,}", "{'a': 1}", "[1", "// c\n{}", "{\"a\": 01}"]
        {
            assert!(JsonNode::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_no_string() {
        assert_eq!(JsonNode::parse(r#""\ud800""#).unwrap().string(), None);
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(JsonNode::parse(&text).unwrap().items().is_some());
    }
}

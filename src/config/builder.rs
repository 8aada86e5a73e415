//! A configuration made in code.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Config, ConfigErrors, parse};

/// Makes a configuration without a file. It has the keys, defaults and checks of the file: docs/reference.md.
///
/// ```
/// use electd_config::Builder;
/// use serde_json::json;
///
/// let config = Builder::new("shop", "majority", "/var/lib/shop")
///     .member("a", "018db8ac-db45-4792-a0b9-9560d9932c98", "10.0.0.1:7101")
///     .member("b", "6810b99e-43f6-4461-9022-87f37f50ffb1", "10.0.0.2:7101")
///     .member("c", "e221bfb7-6f2b-4e19-916e-ada26e47ceab", "10.0.0.3:7101")
///     .set("timing", json!({"failure": "1s"}))
///     .build()?;
/// assert_eq!(config.members.len(), 3);
/// let refused = Builder::new("shop", "most", "/var/lib/shop").build().unwrap_err();
/// assert!(refused.to_string().contains("quorum cannot be \"most\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    keys: Map<String, Value>,
    members: Vec<Value>,
}

impl Builder {
    /// A cluster of this name, with this quorum ("majority" or "none"), whose members keep their state in this folder.
    pub fn new(cluster: &str, quorum: &str, data_dir: impl AsRef<Path>) -> Builder {
        let keys = Map::new();
        let data_dir = data_dir.as_ref().to_string_lossy().into_owned();
        let builder = Builder { keys, members: Vec::new() };
        builder.set("cluster", cluster).set("quorum", quorum).set("data_dir", data_dir)
    }

    /// Adds a member with this id, a version 4 UUID that stays the same at every start, and the address that the others
    /// dial.
    pub fn member(self, name: &str, id: &str, address: &str) -> Builder {
        self.member_with(json!({ "name": name, "id": id, "address": address }))
    }

    /// Adds a member with all keys of its entry in the file.
    pub fn member_with(mut self, entry: Value) -> Builder {
        self.members.push(entry);
        self
    }

    /// Sets a key of the file.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Builder {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// The configuration.
    ///
    /// # Errors
    ///
    /// With all problems, as of a file.
    pub fn build(self) -> Result<Config, ConfigErrors> {
        let text = Value::from(self.set_members()).to_string();
        parse(&text, Path::new("(made in code)"))
    }

    fn set_members(self) -> Map<String, Value> {
        let members = self.members.clone();
        self.set("members", members).keys
    }
}

//! One member's entry that comes while the cluster runs, by HTTP.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use electd_election::core::membership::Member;
use electd_election::core::types::{NodeId, Role};
use electd_election::limits::MemberError;

/// The entry as it is in the file. Settings that only the member itself needs stay in its own file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FiledEntry {
    name: String,
    id: Option<Uuid>,
    address: String,
    admin: Option<String>,
    #[serde(default)]
    role: ConfigRole,
    #[serde(default, rename = "listen")]
    _listen: Option<Value>,
    #[serde(default, rename = "admin_listen")]
    _admin_listen: Option<Value>,
    #[serde(default, rename = "rank")]
    _rank: Option<Value>,
    #[serde(default, rename = "hooks")]
    _hooks: Option<Value>,
    #[serde(default, rename = "health")]
    _health: Option<Value>,
    #[serde(default, rename = "tls")]
    _tls: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ConfigRole {
    #[default]
    Member,
    Witness,
    Observer,
}

/// Reads and validates the JSON of one member's entry. Without an id it gets a fresh one.
///
/// # Errors Says what is wrong, with which value, and what to do.
pub fn parse(json: &[u8]) -> Result<Member, String> {
    let example = r#"{"name": "node-4", "address": "10.0.0.4:7101"}"#;
    let entry: FiledEntry = object(json)
        .map_err(|error| format!("no member's entry: {error}; send one, such as {example}"))?;
    let FiledEntry { name, id, address, admin, role, .. } = entry;
    let id = NodeId(id.unwrap_or_else(Uuid::new_v4));
    let role = match role {
        ConfigRole::Member => Role::Member,
        ConfigRole::Witness => Role::Witness,
        ConfigRole::Observer => Role::Observer,
    };
    let member = Member { id, name, address, admin, role };
    match member.judge() {
        Ok(_) => Ok(member),
        Err(MemberError::Id(id)) => {
            Err(format!("\"id\": \"{id}\" is not a version 4 UUID: leave it out to get one"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Reads JSON that has to be an object; serde alone would take a list for one.
///
/// # Errors Says what is wrong with it.
pub fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err("it is no object".to_owned());
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_the_file_is_taken_and_gets_an_id_if_it_has_none() {
        let member = |id: Uuid, admin: Option<&str>, role| Member {
            id: NodeId(id),
            name: "n4".to_owned(),
            address: "h:1".to_owned(),
            admin: admin.map(str::to_owned),
            role,
        };
        let plain = parse(br#" {"name": "n4", "address": "h:1"}"#).unwrap();
        assert_eq!(plain.id.0.get_version_num(), 4);
        assert_ne!(plain.id, parse(br#"{"name": "n4", "address": "h:1"}"#).unwrap().id);
        assert_eq!(plain, member(plain.id.0, None, Role::Member));
        let id = "5b1d4a36-6a1c-4ac8-9d5c-6a2f2b1f0c11";
        for role in [Role::Member, Role::Witness, Role::Observer] {
            let full = format!(
                r#"{{"name": "n4", "id": "{id}", "address": "h:1", "listen": "0.0.0.0:1", "admin": "h:2",
                "admin_listen": "0.0.0.0:2", "role": "{}", "rank": {{"priority": 3}},
                "health": {{"command": ["true"]}}, "hooks": {{"on_change": ["true"]}},
                "tls": {{"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}}}}"#,
                role.name()
            );
            assert_eq!(
                parse(full.as_bytes()),
                Ok(member(Uuid::parse_str(id).unwrap(), Some("h:2"), role))
            );
        }
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_said_with_key_and_value() {
        let told = [
            "",
            "{",
            r#"{"name": "a/b", "address": "h:1"}"#,
            r#"{"name": "n4"}"#,
            r#"{"address": "h:1"}"#,
            r#"{"name": "n4", "address": "h"}"#,
            r#"{"name": "n4", "address": "0.0.0.0:1"}"#,
            r#"{"name": "n4", "address": "h:1", "admin": "h:0"}"#,
            r#"{"name": "n4", "address": "h:1", "admin": "h:1"}"#,
            r#"["n4", null, "h:1", null]"#,
            r#"{"name": "n4", "address": "h:1", "role": "boss"}"#,
            r#"{"name": "n4", "address": "h:1", "port": 1}"#,
            r#"{"name": "n4", "address": "h:1", "id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}"#,
        ]
        .map(|json| format!("{json}\n{}\n", parse(json.as_bytes()).unwrap_err()));
        insta::assert_snapshot!("refused", told.join("\n"));
    }
}

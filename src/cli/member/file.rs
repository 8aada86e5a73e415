//! The configuration file with the members of the running cluster.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::config::{self, WrittenMembers};
use crate::core::membership::Member;
use crate::core::types::Role;
use crate::node::status::MemberStatus;

/// The text of this file, with these members in place of those that it lists. The entry of a member whose name, addresses
/// and role did not change stays as it is written, with its other keys; so does all else in the file.
///
/// # Errors
///
/// If the file cannot be read, or is no configuration with these members.
pub fn with_members(file: &Path, members: &[MemberStatus]) -> Result<String, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let written = WrittenMembers::find(&text).ok_or("the file has no list of members")?;
    let row = |member: &MemberStatus| {
        let entry = written.entries.iter().find(|(entry, _)| is_same(entry, member));
        entry.map_or_else(|| new_row(member), |(_, place)| text[place.clone()].to_owned())
    };
    let place = |member: &&MemberStatus| {
        let is_of = |(entry, _): &(Member, _)| entry.id.0.to_string() == member.id;
        written.entries.iter().position(is_of).unwrap_or(usize::MAX)
    };
    let mut in_order: Vec<&MemberStatus> = members.iter().collect();
    in_order.sort_by_key(place); // as in the file, new ones last
    let rows = in_order.into_iter().map(row).collect::<Vec<_>>().join(",\n    ");
    let (before, after) = (&text[..written.list.start], &text[written.list.end..]);
    let text = format!("{before}[\n    {rows}\n  ]{after}");
    config::parse(&text, file).map_err(|errors| errors.to_string())?;
    Ok(text)
}

fn is_same(entry: &Member, member: &MemberStatus) -> bool {
    let Member { id, name, address, admin, role } = entry;
    let own = (member.id.as_str(), &member.name, &member.address, &member.admin);
    (id.0.to_string().as_str(), name, address, admin) == own && role.name() == member.role
}

fn new_row(member: &MemberStatus) -> String {
    let MemberStatus { id, name, address, admin, role, .. } = member;
    let mut row = format!(
        "{{\"name\": {}, \"id\": {}, \"address\": {}",
        json!(name),
        json!(id),
        json!(address)
    );
    if let Some(admin) = admin {
        row += &format!(", \"admin\": {}", json!(admin));
    }
    if member.part() != Some(Role::Member) {
        row += &format!(", \"role\": {}", json!(role));
    }
    row + "}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::member;

    const FILE: &str = r#"{ // of the shop
  "cluster": "shop", "quorum": "none", "data_dir": "data",
  "members": [
    {"name": "b", "id": "00000000-0000-4000-8000-000000000002", "address": "h:2", "rank": {"priority": 7}},
    {"name": "c", "id": "00000000-0000-4000-8000-000000000003", "address": "h:3"}, // to go
    {"name": "d", "id": "00000000-0000-4000-8000-000000000004", "address": "h:4"},
    {"name": "e", "id": "00000000-0000-4000-8000-000000000005", "address": "h:5"}
  ],
  "rank": {"by": "priority", "priority": 0} // all alike, but one
}
"#;

    fn at(name: &str, number: u8, address: &str) -> MemberStatus {
        let (id, address) =
            (format!("00000000-0000-4000-8000-00000000000{number}"), address.into());
        MemberStatus { id, address, ..member(name) }
    }

    #[test]
    fn the_file_gets_the_members_of_the_cluster_and_keeps_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cluster.json");
        fs::write(&file, FILE).unwrap();
        let moved = MemberStatus { admin: Some("h:10".to_owned()), ..at("d", 4, "h:9") };
        let watches = MemberStatus { role: "observer".to_owned(), ..at("e", 5, "h:5") };
        let members = [at("a", 1, "h:1"), at("b", 2, "h:2"), watches, moved];
        let text = with_members(&file, &members).unwrap();
        let (begin, end) = (FILE.split("[\n").next().unwrap(), FILE.split("\n  ]").nth(1).unwrap());
        let rows = r#"[
    {"name": "b", "id": "00000000-0000-4000-8000-000000000002", "address": "h:2", "rank": {"priority": 7}},
    {"name": "d", "id": "00000000-0000-4000-8000-000000000004", "address": "h:9", "admin": "h:10"},
    {"name": "e", "id": "00000000-0000-4000-8000-000000000005", "address": "h:5", "role": "observer"},
    {"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "h:1"}
  ]"#;
        assert_eq!(text, format!("{begin}{rows}{end}"));
        let twice = [at("a", 1, "h:1"), at("a", 2, "h:2")];
        let error = with_members(&file, &twice).unwrap_err();
        assert!(error.contains("is taken by members[0].name"), "{error}");
        let none = with_members(Path::new("/there/is/none"), &members).unwrap_err();
        assert_eq!(none, "/there/is/none: No such file or directory (os error 2)");
        let quoted = MemberStatus {
            role: "witness".to_owned(),
            admin: Some("h:1".to_owned()),
            ..at("a", 1, "h:\"")
        };
        let row = r#"{"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "h:\"", "admin": "h:1", "role": "witness"}"#;
        assert_eq!(new_row(&quoted), row);
        fs::write(&file, "{}").unwrap();
        assert_eq!(with_members(&file, &members).unwrap_err(), "the file has no list of members");
    }

    #[test]
    fn an_entry_stays_as_it_is_written_if_nothing_of_it_changed() {
        let written = WrittenMembers::find(FILE).unwrap();
        let (entry, _) = &written.entries[1];
        let same = at("c", 3, "h:3");
        assert!(is_same(entry, &same));
        let changes: [fn(&mut MemberStatus); 5] = [
            |it| it.name = "x".to_owned(),
            |it| it.id = "00000000-0000-4000-8000-000000000009".to_owned(),
            |it| it.address = "h:9".to_owned(),
            |it| it.admin = Some("h:9".to_owned()),
            |it| it.role = "witness".to_owned(),
        ];
        for change in changes {
            let mut other = same.clone();
            change(&mut other);
            assert!(!is_same(entry, &other), "{other:?}");
        }
    }
}

//! The configuration file with the members of the running cluster.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::config::{self, WrittenMembers};
use crate::core::membership::Member;
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
    if role != "member" {
        row += &format!(", \"role\": {}", json!(role));
    }
    row + "}"
}

//! The JSON of the member list. A list, or a member alone, is read only if it is one that a cluster can have.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use super::bounds::at_most;
use super::mirror::mirrors;
use crate::core::membership as core;
use crate::core::membership::{ListVersion, MOST_MEMBERS, MOST_REMOVED, Member, MemberList};
use crate::core::types::{self, NodeId};

mirrors! { ListJson => core::MemberList, ListedMember => core::Member, Role => types::Role }

#[derive(Serialize, Deserialize)]
struct ListJson<'a> {
    version: ListVersion,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_MEMBERS>")]
    members: Vec<Cow<'a, Member>>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_REMOVED>")]
    removed: Cow<'a, [NodeId]>,
}

impl ListJson<'_> {
    fn serialize<S: Serializer>(list: &MemberList, to: S) -> Result<S::Ok, S::Error> {
        let members = list.iter().map(Cow::Borrowed).collect();
        let list = ListJson { version: list.version(), members, removed: list.removed().into() };
        Serialize::serialize(&list, to)
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MemberList, D::Error> {
        let ListJson { version, members, removed } = Deserialize::deserialize(from)?;
        let members = members.into_iter().map(Cow::into_owned).collect();
        let list = MemberList::new(version, members).with_removed(removed.into_owned());
        list.judge().map_err(D::Error::custom)?;
        Ok(list)
    }
}

/// A member of a list, which is judged with the list.
#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Member")]
struct ListedMember {
    id: NodeId,
    name: String,
    address: String,
    admin: Option<String>,
    role: types::Role,
}

/// Reads a member that comes without a list.
pub fn judged<'de, D: Deserializer<'de>>(from: D) -> Result<Member, D::Error> {
    let member = Member::deserialize(from)?;
    member.judge().map_err(D::Error::custom)?;
    Ok(member)
}

/// Reads some members that come without a list.
pub fn judged_each<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Member>, D::Error> {
    let members: Vec<Member> = at_most::<_, _, _, MOST_MEMBERS>(from)?;
    members.iter().try_for_each(|member| member.judge().map(drop).map_err(D::Error::custom))?;
    Ok(members)
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Role", rename_all = "snake_case")]
enum Role {
    Member,
    Witness,
    Observer,
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::core::membership::{ListVersion, MembershipChange};
    use crate::core::types::Epoch;
    use crate::wire::frame::MAX_FRAME;

    const GOOD: &str = r#"{"version": [3, 1], "removed": [], "members": [
        {"id": "00000000-0000-4000-8000-000000000001", "name": "a", "address": "a:1",
         "admin": null, "role": "member"},
        {"id": "00000000-0000-4000-8000-000000000002", "name": "b", "address": "b:1",
         "admin": "b:2", "role": "witness"}]}"#;

    #[test]
    fn a_list_with_one_id_twice_or_a_version_that_leaves_none_above_is_refused() {
        assert!(serde_json::from_str::<MemberList>(GOOD).is_ok());
        let twice = GOOD.replace("000000000002", "000000000001");
        assert!(serde_json::from_str::<MemberList>(&twice).is_err());
        let late = GOOD.replace("[3, 1]", &format!("[3, {}]", u64::MAX));
        assert!(serde_json::from_str::<MemberList>(&late).is_err());
        let named = GOOD.replace(r#""name": "a""#, r#""name": "a\u0000""#);
        let error = serde_json::from_str::<MemberList>(&named).unwrap_err().to_string();
        assert!(error.starts_with(r#"member 1: "name": "a\u{0}" is not a name"#), "{error}");
    }

    #[test]
    fn no_more_members_and_removed_ones_are_read_than_a_list_holds() {
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let read = |members: usize, removed: usize| {
            let member = |number| {
                let (id, role) = (id(number), "member");
                format!(
                    r#"{{"id": "{id}", "name": "n{number}", "address": "h{number}:1", "admin": null, "role": "{role}"}}"#
                )
            };
            let members: Vec<String> = (0..members).map(member).collect();
            let removed: Vec<String> =
                (100..100 + removed).map(|it| format!("\"{}\"", id(it))).collect();
            let (members, removed) = (members.join(","), removed.join(","));
            let json =
                format!(r#"{{"version": [3, 1], "members": [{members}], "removed": [{removed}]}}"#);
            let list = serde_json::from_str::<MemberList>(&json).map_err(|error| error.to_string());
            list.map(|list| (list.iter().len(), list.removed().len()))
        };
        assert_eq!(read(64, 256), Ok((64, 256)));
        for (members, removed, why) in
            [(65, 0, "a list of more than 64 entries"), (1, 257, "a list of more than 256 entries")]
        {
            let told = read(members, removed).unwrap_err();
            assert!(told.starts_with(why), "{told}");
        }
    }

    /// The longest list of the longest names leaves a hello more than three quarters of a frame.
    #[test]
    fn a_full_list_fits_into_a_frame() {
        let mut list =
            MemberList::new(ListVersion { epoch: Epoch(u64::MAX), counter: u64::MAX }, Vec::new());
        for number in 0..=(2 * MOST_MEMBERS + 256) as u128 {
            let id = NodeId(Uuid::from_u128(number));
            let (name, address) = ("n".repeat(63), format!("{}:65535", "h".repeat(253)));
            let admin = Some(address.clone());
            let member = Member { id, name, address, admin, role: types::Role::Observer };
            list = list.changed(list.version(), &MembershipChange::Add(member));
            if number >= MOST_MEMBERS as u128 {
                let id = NodeId(Uuid::from_u128(number - MOST_MEMBERS as u128));
                list = list.changed(list.version(), &MembershipChange::Remove { id, force: false });
            }
        }
        assert_eq!(list.iter().len(), MOST_MEMBERS);
        let length = serde_json::to_vec(&list).unwrap().len();
        assert!((MAX_FRAME / 8..MAX_FRAME / 4).contains(&length), "{length}");
    }
}

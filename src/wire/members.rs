//! The member list on the wire, and the changes of it that are passed on.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::bounds::{Version, at_most, version, version_of};
use crate::core::limits::{ListError, MemberError};
use crate::core::membership::{MOST_MEMBERS, MOST_REMOVED, Member, MemberList};
use crate::core::types::{NodeId, Role};

/// A whole member list. It is read only if it is one that a cluster can have.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "ListJson", try_from = "ListJson")]
pub struct List(MemberList);

/// One member. It is read only if it is one that a cluster can have.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "EntryJson", try_from = "EntryJson")]
pub struct Entry(pub(super) Member);

#[derive(Debug, Serialize, Deserialize)]
struct ListJson {
    version: Version,
    #[serde(deserialize_with = "at_most::<_, _, MOST_MEMBERS>")]
    members: Vec<EntryJson>,
    #[serde(deserialize_with = "at_most::<_, _, MOST_REMOVED>")]
    removed: Vec<Uuid>,
}

#[derive(Debug, Serialize, Deserialize)]
struct EntryJson {
    id: Uuid,
    name: String,
    address: String,
    admin: Option<String>,
    role: RoleWord,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoleWord {
    Member,
    Witness,
    Observer,
}

impl From<&MemberList> for List {
    fn from(list: &MemberList) -> List {
        List(list.clone())
    }
}

impl From<List> for MemberList {
    fn from(list: List) -> MemberList {
        list.0
    }
}

impl From<List> for ListJson {
    fn from(List(list): List) -> ListJson {
        ListJson {
            version: version(list.version()),
            members: list.iter().cloned().map(EntryJson::from).collect(),
            removed: list.removed().iter().map(|id| id.0).collect(),
        }
    }
}

impl TryFrom<ListJson> for List {
    type Error = ListError;

    fn try_from(list: ListJson) -> Result<List, ListError> {
        let members = list.members.into_iter().map(Into::into).collect();
        let list = MemberList::new(version_of(list.version), members)
            .with_removed(list.removed.into_iter().map(NodeId).collect());
        list.judge().map(|()| List(list))
    }
}

impl From<Entry> for EntryJson {
    fn from(entry: Entry) -> EntryJson {
        entry.0.into()
    }
}

impl TryFrom<EntryJson> for Entry {
    type Error = MemberError;

    fn try_from(entry: EntryJson) -> Result<Entry, MemberError> {
        let member = Member::from(entry);
        member.judge().map(|_| Entry(member))
    }
}

impl From<Member> for EntryJson {
    fn from(member: Member) -> EntryJson {
        let Member { id, name, address, admin, role } = member;
        let role = match role {
            Role::Member => RoleWord::Member,
            Role::Witness => RoleWord::Witness,
            Role::Observer => RoleWord::Observer,
        };
        EntryJson { id: id.0, name, address, admin, role }
    }
}

impl From<EntryJson> for Member {
    fn from(entry: EntryJson) -> Member {
        let EntryJson { id, name, address, admin, role } = entry;
        let role = match role {
            RoleWord::Member => Role::Member,
            RoleWord::Witness => Role::Witness,
            RoleWord::Observer => Role::Observer,
        };
        Member { id: NodeId(id), name, address, admin, role }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{Change, ListVersion};
    use crate::core::types::Epoch;
    use crate::wire::frame::MAX_FRAME;

    const GOOD: &str = r#"{"version": [3, 1], "removed": [], "members": [
        {"id": "00000000-0000-4000-8000-000000000001", "name": "a", "address": "a:1",
         "admin": null, "role": "member"},
        {"id": "00000000-0000-4000-8000-000000000002", "name": "b", "address": "b:1",
         "admin": "b:2", "role": "witness"}]}"#;

    #[test]
    fn a_list_with_one_id_twice_or_a_version_that_leaves_none_above_is_refused() {
        assert!(serde_json::from_str::<List>(GOOD).is_ok());
        let twice = GOOD.replace("000000000002", "000000000001");
        assert!(serde_json::from_str::<List>(&twice).is_err());
        let late = GOOD.replace("[3, 1]", &format!("[3, {}]", u64::MAX));
        assert!(serde_json::from_str::<List>(&late).is_err());
        let named = GOOD.replace(r#""name": "a""#, r#""name": "a\u0000""#);
        let error = serde_json::from_str::<List>(&named).unwrap_err().to_string();
        assert!(error.starts_with(r#"member 1: "name": "a\u{0}" is not a name"#), "{error}");
    }

    /// The longest list of the longest names leaves a hello more than half of a frame.
    #[test]
    fn a_full_list_fits_into_a_frame() {
        let mut list =
            MemberList::new(ListVersion { epoch: Epoch(u64::MAX), counter: u64::MAX }, Vec::new());
        for number in 0..=(2 * MOST_MEMBERS + 256) as u128 {
            let id = NodeId(Uuid::from_u128(number));
            let (name, address) = ("n".repeat(63), format!("{}:65535", "h".repeat(253)));
            let admin = Some(address.clone());
            let member = Member { id, name, address, admin, role: Role::Observer };
            list = list.changed(list.version(), &Change::Add(member));
            if number >= MOST_MEMBERS as u128 {
                let id = NodeId(Uuid::from_u128(number - MOST_MEMBERS as u128));
                list = list.changed(list.version(), &Change::Remove { id, force: false });
            }
        }
        assert_eq!(list.iter().len(), MOST_MEMBERS);
        let length = serde_json::to_vec(&List::from(&list)).unwrap().len();
        assert!((MAX_FRAME / 3..MAX_FRAME / 2).contains(&length), "{length}");
    }
}

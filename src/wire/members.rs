//! The member list on the wire, and the changes of it that are passed on.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::schema::{Forwarded, bounded_version};
use super::values::{version, version_of};
use crate::core::membership::{Change, MOST_MEMBERS, Member, MemberList};
use crate::core::message as core;
use crate::core::types::{NodeId, Role};

/// A whole member list.
#[derive(Debug, Serialize, Deserialize)]
pub struct List {
    #[serde(deserialize_with = "bounded_version")]
    version: [u64; 2],
    #[serde(deserialize_with = "distinct")]
    members: Vec<Entry>,
    removed: Vec<Uuid>,
}

/// One member.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
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

fn distinct<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Entry>, D::Error> {
    let entries = Vec::<Entry>::deserialize(from)?;
    let mut ids: Vec<Uuid> = entries.iter().map(|entry| entry.id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < entries.len() || entries.len() > MOST_MEMBERS {
        return Err(D::Error::custom("members with one id, or too many"));
    }
    Ok(entries)
}

impl From<&MemberList> for List {
    fn from(list: &MemberList) -> List {
        List {
            version: version(list.version()),
            members: list.iter().map(Entry::from).collect(),
            removed: list.removed().iter().map(|id| id.0).collect(),
        }
    }
}

impl From<List> for MemberList {
    fn from(list: List) -> MemberList {
        let members = list.members.into_iter().map(Into::into).collect();
        MemberList::new(version_of(list.version), members)
            .with_removed(list.removed.into_iter().map(NodeId).collect())
    }
}

impl From<&Member> for Entry {
    fn from(member: &Member) -> Entry {
        let Member { id, name, address, admin, role } = member.clone();
        let role = match role {
            Role::Member => RoleWord::Member,
            Role::Witness => RoleWord::Witness,
            Role::Observer => RoleWord::Observer,
        };
        Entry { id: id.0, name, address, admin, role }
    }
}

impl From<Entry> for Member {
    fn from(entry: Entry) -> Member {
        let Entry { id, name, address, admin, role } = entry;
        let role = match role {
            RoleWord::Member => Role::Member,
            RoleWord::Witness => Role::Witness,
            RoleWord::Observer => Role::Observer,
        };
        Member { id: NodeId(id), name, address, admin, role }
    }
}

impl From<core::Forwarded> for Forwarded {
    fn from(command: core::Forwarded) -> Forwarded {
        match command {
            core::Forwarded::Resign { to } => Self::Resign { to: to.map(|id| id.0) },
            core::Forwarded::Change(Change::Add(member)) => {
                Self::Add { member: Entry::from(&member) }
            }
            core::Forwarded::Change(Change::Remove { id, force }) => {
                Self::Remove { id: id.0, force }
            }
        }
    }
}

impl From<Forwarded> for core::Forwarded {
    fn from(command: Forwarded) -> core::Forwarded {
        match command {
            Forwarded::Resign { to } => Self::Resign { to: to.map(NodeId) },
            Forwarded::Add { member } => Self::Change(Change::Add(member.into())),
            Forwarded::Remove { id, force } => {
                Self::Change(Change::Remove { id: NodeId(id), force })
            }
        }
    }
}

impl From<core::Taken> for super::schema::Taken {
    fn from(what: core::Taken) -> Self {
        match what {
            core::Taken::Id => Self::Id,
            core::Taken::Name => Self::Name,
            core::Taken::Address => Self::Address,
            core::Taken::Admin => Self::Admin,
        }
    }
}

impl From<super::schema::Taken> for core::Taken {
    fn from(what: super::schema::Taken) -> Self {
        use super::schema::Taken as T;
        match what {
            T::Id => Self::Id,
            T::Name => Self::Name,
            T::Address => Self::Address,
            T::Admin => Self::Admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::ListVersion;
    use crate::core::types::Epoch;
    use crate::wire::frame::MAX_FRAME;

    const GOOD: &str = r#"{"version": [3, 1], "removed": [], "members": [
        {"id": "00000000-0000-0000-0000-000000000001", "name": "a", "address": "a:1",
         "admin": null, "role": "member"},
        {"id": "00000000-0000-0000-0000-000000000002", "name": "b", "address": "b:1",
         "admin": "b:2", "role": "witness"}]}"#;

    #[test]
    fn a_list_with_one_id_twice_or_a_version_that_leaves_none_above_is_refused() {
        assert!(serde_json::from_str::<List>(GOOD).is_ok());
        let twice = GOOD.replace("000000000002", "000000000001");
        assert!(serde_json::from_str::<List>(&twice).is_err());
        let late = GOOD.replace("[3, 1]", &format!("[3, {}]", u64::MAX));
        assert!(serde_json::from_str::<List>(&late).is_err());
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

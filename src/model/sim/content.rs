//! A member list as an outsider reads it: ids, roles, addresses, a version. The checker counts
//! voters and majorities from this and asks the core for neither.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Role};

/// The version of a list: the epoch of the leader that made it, and a counter.
pub(super) type ListNumber = (u64, u64);

/// The content of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub version: ListNumber,
    members: BTreeMap<NodeId, (Role, String)>,
    removed: BTreeSet<NodeId>,
}

/// The version of a list.
pub(super) fn number(list: &MemberList) -> ListNumber {
    let version = list.version();
    (version.epoch.0, version.counter)
}

impl Content {
    pub fn of(list: &MemberList) -> Content {
        let entry = |(id, role, address): (NodeId, Role, &String)| (id, (role, address.clone()));
        let members = list.iter().map(|member| (member.id, member.role, &member.address));
        Content {
            version: number(list),
            members: members.map(entry).collect(),
            removed: list.removed().iter().copied().collect(),
        }
    }

    pub fn has(&self, id: NodeId) -> bool {
        self.members.contains_key(&id)
    }

    /// Whether a member was removed, as far as this list remembers it.
    pub fn has_removed(&self, id: NodeId) -> bool {
        self.removed.contains(&id)
    }

    /// All who vote: full members and witnesses, and no observer.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> {
        self.members.iter().filter_map(|(id, (role, _))| match role {
            Role::Member | Role::Witness => Some(*id),
            Role::Observer => None,
        })
    }

    /// Whether the voters for which this holds are more than all other voters together.
    pub fn is_majority(&self, holds: impl Fn(NodeId) -> bool) -> bool {
        let (with, without): (Vec<_>, Vec<_>) = self.voters().partition(|id| holds(*id));
        with.len() > without.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, Member};
    use crate::core::types::Epoch;
    use uuid::Uuid;

    fn list(roles: &[Role]) -> MemberList {
        let member = |(at, role): (usize, &Role)| Member {
            id: NodeId(Uuid::from_u128(at as u128)),
            name: at.to_string(),
            address: at.to_string(),
            admin: None,
            role: *role,
        };
        let version = ListVersion { epoch: Epoch(3), counter: 1 };
        MemberList::new(version, roles.iter().enumerate().map(member).collect())
    }

    #[test]
    fn a_majority_is_more_than_all_other_voters() {
        let voters = |roles: &[Role], of: &[u128]| {
            let holds = |id: NodeId| of.contains(&id.0.as_u128());
            Content::of(&list(roles)).is_majority(holds)
        };
        let five = [Role::Member, Role::Witness, Role::Member, Role::Observer, Role::Member];
        assert!(!voters(&five, &[0, 1]) && voters(&five, &[0, 1, 2]), "four vote");
        assert!(!voters(&five, &[0, 3, 1]), "an observer does not");
        assert!(!voters(&five[..2], &[0]) && voters(&five[..2], &[0, 1]));
        assert!(voters(&five[..1], &[0]) && !voters(&[Role::Observer], &[0]));
        assert!(!voters(&five, &[7, 8, 9]), "strangers");
    }

    #[test]
    fn it_says_what_the_list_says() {
        let list = list(&[Role::Member]).with_removed(vec![NodeId(Uuid::from_u128(9))]);
        let content = Content::of(&list);
        assert_eq!(content.version, (3, 1));
        assert!(content.has(NodeId(Uuid::from_u128(0))) && !content.has_removed(NodeId::default()));
        assert!(content.has_removed(NodeId(Uuid::from_u128(9))));
    }
}

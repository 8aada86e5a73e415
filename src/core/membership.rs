//! The member list: who belongs to the cluster, in id order.

use super::types::{Epoch, NodeId, Role};

/// One entry of the member list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its identity for life.
    pub id: NodeId,
    /// Its name for people.
    pub name: String,
    /// Where other members dial it, host:port.
    pub address: String,
    /// What it is for.
    pub role: Role,
}

/// The version of a member list: the epoch of the leader that stamped it, and a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListVersion {
    /// The epoch of the leader that made the change.
    pub epoch: Epoch,
    /// Counts the changes.
    pub counter: u64,
}

/// All members, sorted by id, with the version of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberList {
    version: ListVersion,
    members: Vec<Member>,
}

impl MemberList {
    /// A list of these members, in any order; the ids must be distinct.
    #[must_use]
    pub fn new(version: ListVersion, mut members: Vec<Member>) -> MemberList {
        members.sort_by_key(|member| member.id);
        MemberList { version, members }
    }

    /// The version of this list.
    #[must_use]
    pub fn version(&self) -> ListVersion {
        self.version
    }

    /// All members in id order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Member> + ExactSizeIterator {
        self.members.iter()
    }

    /// The member with this id.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Member> {
        self.position(id).map(|at| &self.members[at])
    }

    /// The member at this place of the list.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&Member> {
        self.members.get(place)
    }

    /// The member with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Where a member stands in the list: its place in id order.
    #[must_use]
    pub fn position(&self, id: NodeId) -> Option<usize> {
        self.members.binary_search_by_key(&id, |member| member.id).ok()
    }

    /// The name of a member, or its id where it is not listed.
    #[must_use]
    pub fn name(&self, id: NodeId) -> String {
        self.get(id).map_or_else(|| id.to_string(), |member| member.name.clone())
    }
}

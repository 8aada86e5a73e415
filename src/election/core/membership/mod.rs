//! The member list: who belongs to the cluster, in id order.

pub(super) mod change;
pub(super) mod known;
pub(super) mod own;
pub(super) mod replication;

use serde::{Deserialize, Serialize};

use super::address::HostPort;
use super::types::{NodeId, Role, Version};

/// One entry of the member list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Member {
    /// Its identity for life.
    pub id: NodeId,
    /// Its name for people.
    pub name: String,
    /// The address that other members dial, host:port.
    pub address: String,
    /// The address of its HTTP, host:port; none if it serves none.
    pub admin: Option<String>,
    pub role: Role,
}

impl Member {
    /// Whether it votes, in mode majority.
    pub fn votes(&self) -> bool {
        self.role != Role::Observer
    }

    /// Whether it may ever lead.
    pub fn may_lead(&self) -> bool {
        self.role == Role::Member
    }

    /// Whether this is its address, for members or for HTTP: the two never share one.
    pub fn is_at(&self, address: &str) -> bool {
        let same = |own: &str| match (HostPort::parse(own), HostPort::parse(address)) {
            (Ok(own), Ok(address)) => own == address,
            _ => own == address,
        };
        same(&self.address) || self.admin.as_deref().is_some_and(same)
    }
}

/// A change of the member list: of its members one at a time, or of their names and addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MembershipChange {
    Add(Member),
    Remove {
        id: NodeId,
        /// Removes it even if the live voters are no majority afterwards.
        force: bool,
    },
    /// These members have these names and addresses from now on. All ids and roles stay, and so do the voters. (M11)
    Set(Vec<Member>),
}

/// The version of a member list.
pub type ListVersion = Version;

/// The most members of a cluster: each is connected to each, and a hello names all of them in one frame. As many have
/// agreed on two cores, which 80 never did.
pub const MOST_MEMBERS: usize = 64;

/// How many removed members a list remembers, so that a removed member that was away is told. (M9)
pub const MOST_REMOVED: usize = 256;

/// All members, sorted by id, with the version of the list. Lists compare by version first; equal versions compare in
/// some way that is the same everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct MemberList {
    version: ListVersion,
    members: Vec<Member>,
    /// The members that were removed last, the latest at the end.
    removed: Vec<NodeId>,
}

impl MemberList {
    /// A list of these members, in any order; the ids must be distinct.
    pub fn new(version: ListVersion, mut members: Vec<Member>) -> MemberList {
        members.sort_by_key(|member| member.id);
        MemberList { version, members, removed: Vec::new() }
    }

    /// The same list, which remembers that these members were removed.
    #[must_use]
    pub fn with_removed(self, removed: Vec<NodeId>) -> MemberList {
        MemberList { removed, ..self }
    }

    /// The same members, in a list of this version.
    #[must_use]
    pub fn stamped(&self, version: ListVersion) -> MemberList {
        MemberList { version, ..self.clone() }
    }

    /// The list after this change.
    #[must_use]
    pub fn changed(&self, version: ListVersion, change: &MembershipChange) -> MemberList {
        let (mut members, mut removed) = (self.members.clone(), self.removed.clone());
        match change {
            MembershipChange::Add(member) => members.push(member.clone()),
            MembershipChange::Remove { id, .. } => {
                members.retain(|member| member.id != *id);
                removed.push(*id);
            }
            MembershipChange::Set(entries) => {
                for entry in entries {
                    if let Ok(at) = members.binary_search_by_key(&entry.id, |member| member.id) {
                        members[at] = Member { role: members[at].role, ..entry.clone() };
                    }
                }
            }
        }
        let excess = removed.len().saturating_sub(MOST_REMOVED);
        removed.drain(..excess);
        MemberList::new(version, members).with_removed(removed)
    }

    /// The members that were removed last.
    pub fn removed(&self) -> &[NodeId] {
        &self.removed
    }

    /// The members that vote, in mode majority.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> {
        self.iter().filter(|member| member.votes()).map(|member| member.id)
    }

    /// Whether this is one of them.
    pub fn is_voter(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(Member::votes)
    }

    /// How many voters are a majority.
    pub fn majority(&self) -> usize {
        self.voters().count() / 2 + 1
    }

    /// Whether this list replaces another. Without a majority the two sides of a partition may make different lists
    /// of the same version; of the lists of two files neither is newer.
    pub fn supersedes(&self, other: &MemberList) -> bool {
        self.version.counter > 0 && self > other
    }

    pub fn version(&self) -> ListVersion {
        self.version
    }

    /// A hash of the ids and roles: two lists that differ in these have different hashes, almost certainly (FNV-1a,
    /// 64 bits).
    pub fn digest(&self) -> u64 {
        let bytes = self.members.iter().flat_map(|member| {
            let role = member.role.name().as_bytes();
            member.id.0.as_bytes().iter().chain(role)
        });
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// All members in id order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Member> + ExactSizeIterator {
        self.members.iter()
    }

    pub fn get(&self, id: NodeId) -> Option<&Member> {
        self.position(id).map(|at| &self.members[at])
    }

    /// The member at this place of the list.
    pub fn at(&self, place: usize) -> Option<&Member> {
        self.members.get(place)
    }

    pub fn named(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The place of a member in the list, in id order.
    pub fn position(&self, id: NodeId) -> Option<usize> {
        self.members.binary_search_by_key(&id, |member| member.id).ok()
    }

    /// The name of a member, or its id if it is not listed.
    pub fn name(&self, id: NodeId) -> String {
        self.get(id).map_or_else(|| id.to_string(), |member| member.name.clone())
    }
}

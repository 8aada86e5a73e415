//! The invariants of the member lists: with a majority they never diverge, and no change is lost that
//! was reported as done.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::content::{Content, ListNumber};
use crate::core::message::Done;
use crate::core::types::NodeId;

/// All lists that were ever seen, as an outsider reads them.
#[derive(Debug)]
pub(super) struct MemberLists {
    /// Whether a majority keeps them together.
    majority: bool,
    known: BTreeMap<ListNumber, Rc<Content>>,
    disks: Vec<KnownDisk>,
    added: Vec<NodeId>,
    removed: Vec<NodeId>,
}

/// The checker's knowledge of one disk.
#[derive(Clone, Copy, Debug, Default)]
struct KnownDisk {
    /// The version on it.
    version: ListNumber,
    /// The greatest that was ever on it.
    greatest: ListNumber,
}

impl MemberLists {
    pub fn new(nodes: usize, majority: bool) -> MemberLists {
        MemberLists {
            majority,
            known: BTreeMap::new(),
            disks: vec![KnownDisk::default(); nodes],
            added: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// A process has this list. Returns what is wrong: a version always has the same content. The lists
    /// of files are no versions.
    pub fn taken(&mut self, list: &Rc<Content>) -> Result<(), String> {
        let version @ (epoch, counter) = list.version;
        if !self.majority || version == (0, 0) {
            return Ok(());
        }
        if self.known.entry(version).or_insert_with(|| list.clone()) == list {
            Ok(())
        } else {
            Err(format!("has another list {epoch}.{counter} than others had"))
        }
    }

    /// This version is on a disk: it is never older than the one before.
    pub fn stored(&mut self, at: usize, version: ListNumber) -> Result<(), String> {
        let disk = &mut self.disks[at];
        let before = std::mem::replace(&mut disk.version, version);
        disk.greatest = disk.greatest.max(version);
        if version < before {
            let ((epoch, counter), (older, count)) = (before, version);
            return Err(format!("has stored list {older}.{count} over {epoch}.{counter}"));
        }
        Ok(())
    }

    /// The disk of a member forgot something.
    pub fn forgot(&mut self, at: usize) {
        self.disks[at].version = ListNumber::default();
    }

    /// The caller that asked for a change hears that it is done. With a majority, most voters of a list
    /// with the change must have such a list on their disks. A removal that was forced and that no
    /// majority has stored is not promised to last.
    pub fn done(
        &mut self,
        done: Done,
        place: impl Fn(NodeId) -> Option<usize>,
    ) -> Result<(), String> {
        let (id, adds) = match done {
            Done::Added(id) => (id, true),
            Done::Removed { id, stored: true, .. } => (id, false),
            _ => return Ok(()),
        };
        if adds { &mut self.added } else { &mut self.removed }.push(id);
        let has = |id, version| {
            let disk = place(id).map(|at| self.disks[at]);
            disk.is_some_and(|disk| disk.greatest >= version)
        };
        let lasts = |list: &Rc<Content>| {
            let made = if adds { list.has(id) } else { list.has_removed(id) };
            made && list.is_majority(|voter| has(voter, list.version))
        };
        if self.majority && !self.known.values().any(lasts) {
            return Err(format!("tells that the change of {id} is done before a majority has it"));
        }
        Ok(())
    }

    /// A leader has all changes that were done, as far as later changes did not undo them: an id that
    /// was removed is never added again.
    pub fn lead(&self, list: &Content) -> Result<(), String> {
        if !self.majority {
            return Ok(());
        }
        let (epoch, counter) = list.version;
        let lacks = |id: &&NodeId| !list.has(**id) && !list.has_removed(**id);
        if let Some(id) = self.added.iter().find(lacks) {
            return Err(format!(
                "leads with list {epoch}.{counter}, which lacks {id}, who was added"
            ));
        }
        if let Some(id) = self.removed.iter().find(|id| list.has(**id)) {
            return Err(format!(
                "leads with list {epoch}.{counter}, which has {id}, who was removed"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, Member, MemberList, MembershipChange};
    use crate::core::types::{Epoch, Role};
    use uuid::Uuid;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn place(id: NodeId) -> Option<usize> {
        usize::try_from(id.0.as_u128()).ok()
    }

    fn version(counter: u64) -> ListVersion {
        ListVersion { epoch: Epoch(1), counter }
    }

    fn members(counter: u64, members: &[u128]) -> MemberList {
        let member = |number: &u128| Member {
            id: id(*number),
            name: number.to_string(),
            address: number.to_string(),
            admin: None,
            role: Role::Member,
        };
        MemberList::new(version(counter), members.iter().map(member).collect())
    }

    fn list(counter: u64, of: &[u128]) -> Rc<Content> {
        Rc::new(Content::of(&members(counter, of)))
    }

    fn without(list: &MemberList, counter: u64, member: u128) -> Rc<Content> {
        let change = MembershipChange::Remove { id: id(member), force: false };
        Rc::new(Content::of(&list.changed(version(counter), &change)))
    }

    #[test]
    fn a_version_has_one_content() {
        for majority in [true, false] {
            let mut lists = MemberLists::new(1, majority);
            assert_eq!(lists.taken(&list(1, &[1, 2])), Ok(()));
            assert_eq!(lists.taken(&list(1, &[1, 2])), Ok(()));
            assert_eq!(lists.taken(&list(2, &[1])), Ok(()));
            assert_eq!(lists.taken(&list(1, &[1])).is_err(), majority);
        }
    }

    #[test]
    fn a_disk_does_not_go_back() {
        let mut lists = MemberLists::new(2, true);
        assert_eq!(lists.stored(0, (1, 2)), Ok(()));
        assert_eq!(lists.stored(1, (1, 1)), Ok(()), "another disk");
        assert!(lists.stored(0, (1, 1)).is_err());
    }

    #[test]
    fn what_was_done_stays_until_it_is_undone() {
        let mut lists = MemberLists::new(3, true);
        let forced = Done::Removed { id: id(1), stored: false, handed_over: false };
        assert_eq!(lists.done(forced, place), Ok(()));
        assert_eq!(lists.lead(&list(1, &[1])), Ok(()), "it was forced");
        let _ = lists.done(Done::Added(id(2)), place);
        assert!(lists.lead(&list(1, &[1])).is_err());
        let removed = without(&members(1, &[1, 2]), 2, 2);
        assert_eq!(lists.lead(&removed), Ok(()), "a later change");
        let done = Done::Removed { id: id(2), stored: true, handed_over: false };
        let _ = lists.done(done, place);
        assert!(lists.lead(&list(3, &[1, 2])).is_err());
    }

    #[test]
    fn a_change_is_done_when_most_voters_of_a_list_with_it_have_stored_it() {
        let mut lists = MemberLists::new(4, true);
        let removal = || Done::Removed { id: id(3), stored: true, handed_over: false };
        lists.taken(&list(1, &[0, 1, 2, 3])).unwrap();
        lists.taken(&without(&members(1, &[0, 1, 2, 3]), 2, 3)).unwrap();
        for (disk, counter) in [(0, 2), (1, 1), (3, 2)] {
            lists.stored(disk, (1, counter)).unwrap();
        }
        assert!(lists.done(removal(), place).is_err(), "one of three; the removed has no say");
        lists.stored(1, (1, 2)).unwrap();
        assert_eq!(lists.done(removal(), place), Ok(()));
        assert!(lists.done(Done::Added(id(1)), place).is_ok(), "it was there before");
        assert!(MemberLists::new(4, false).done(removal(), place).is_ok(), "nothing is promised");
    }
}

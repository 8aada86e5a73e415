//! What must hold of the member lists: with a majority they never diverge, and no change is lost
//! that was said to be done.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::Done;
use crate::core::types::NodeId;

/// All lists that were ever seen.
#[derive(Debug)]
pub(super) struct Lists {
    /// Whether a majority keeps them together.
    majority: bool,
    known: BTreeMap<ListVersion, Arc<MemberList>>,
    /// The version on each disk.
    durable: Vec<ListVersion>,
    added: Vec<NodeId>,
    removed: Vec<NodeId>,
}

impl Lists {
    pub fn new(nodes: usize, majority: bool) -> Lists {
        Lists {
            majority,
            known: BTreeMap::new(),
            durable: vec![ListVersion::default(); nodes],
            added: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// A process has this list. Tells what is wrong: one version has one content, for ever. The
    /// lists of files are no versions.
    pub fn taken(&mut self, list: &Arc<MemberList>) -> Result<(), String> {
        let version = list.version();
        if !self.majority || version == ListVersion::default() {
            return Ok(());
        }
        let known = self.known.entry(version).or_insert_with(|| list.clone());
        if Arc::ptr_eq(known, list) || known == list {
            return Ok(());
        }
        Err(format!("has another list {version} than others had"))
    }

    /// This version is on a disk: it is never older than the one before.
    pub fn stored(&mut self, at: usize, version: ListVersion) -> Result<(), String> {
        let before = std::mem::replace(&mut self.durable[at], version);
        if version < before {
            return Err(format!("has stored list {version} over {before}"));
        }
        Ok(())
    }

    /// Whoever asked for a change was told that it is done. A removal that was forced and that no
    /// majority has stored is not promised to last.
    pub fn done(&mut self, done: Done) {
        match done {
            Done::Added(id) => self.added.push(id),
            Done::Removed { id, stored: true, .. } => self.removed.push(id),
            _ => {}
        }
    }

    /// Whoever leads has all changes that were done, as far as later ones did not undo them: an id
    /// that was removed is never added again.
    pub fn lead(&self, list: &MemberList) -> Result<(), String> {
        if !self.majority {
            return Ok(());
        }
        let version = list.version();
        let lacks = |id: &&NodeId| list.get(**id).is_none() && !list.removed().contains(id);
        if let Some(id) = self.added.iter().find(lacks) {
            return Err(format!("leads with list {version}, which lacks {id}, who was added"));
        }
        if let Some(id) = self.removed.iter().find(|id| list.get(**id).is_some()) {
            return Err(format!("leads with list {version}, which has {id}, who was removed"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{Change, Member};
    use crate::core::types::{Epoch, Role};
    use uuid::Uuid;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn list(counter: u64, members: &[u128]) -> Arc<MemberList> {
        let member = |number: &u128| Member {
            id: id(*number),
            name: number.to_string(),
            address: number.to_string(),
            admin: None,
            role: Role::Member,
        };
        let version = ListVersion { epoch: Epoch(1), counter };
        Arc::new(MemberList::new(version, members.iter().map(member).collect()))
    }

    #[test]
    fn a_version_has_one_content() {
        for majority in [true, false] {
            let mut lists = Lists::new(1, majority);
            assert_eq!(lists.taken(&list(1, &[1, 2])), Ok(()));
            assert_eq!(lists.taken(&list(1, &[1, 2])), Ok(()));
            assert_eq!(lists.taken(&list(2, &[1])), Ok(()));
            assert_eq!(lists.taken(&list(1, &[1])).is_err(), majority);
        }
    }

    #[test]
    fn a_disk_does_not_go_back() {
        let mut lists = Lists::new(2, true);
        let [first, second] = [1, 2].map(|counter| list(counter, &[]).version());
        assert_eq!(lists.stored(0, second), Ok(()));
        assert_eq!(lists.stored(1, first), Ok(()), "another disk");
        assert!(lists.stored(0, first).is_err());
    }

    #[test]
    fn what_was_done_stays_until_it_is_undone() {
        let mut lists = Lists::new(1, true);
        lists.done(Done::Removed { id: id(1), stored: false, handed_over: false });
        assert_eq!(lists.lead(&list(1, &[1])), Ok(()), "it was forced");
        lists.done(Done::Added(id(2)));
        assert!(lists.lead(&list(1, &[1])).is_err());
        let version = list(2, &[]).version();
        let change = Change::Remove { id: id(2), force: false };
        let without = list(1, &[1, 2]).changed(version, &change);
        assert_eq!(lists.lead(&without), Ok(()), "a later change");
        lists.done(Done::Removed { id: id(2), stored: true, handed_over: false });
        assert!(lists.lead(&list(3, &[1, 2])).is_err());
    }
}

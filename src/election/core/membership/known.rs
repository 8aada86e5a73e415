//! A member's knowledge of the member list besides its content: the members that have stored it, and the change in
//! progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use crate::core::types::{NodeId, Pause, Role, Time};

/// The most strangers that said hello and are remembered.
const MOST_STRANGERS: usize = 16;

/// The member that gets the outcome of a change, and the number of the command there: it passed the command on, or is
/// the leader itself.
pub type CommandAsker = (NodeId, u64);

/// The change that the leader is making.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wanted {
    pub change: MembershipChange,
    /// The member that still waits for the outcome.
    pub asker: Option<CommandAsker>,
    /// Whether the list has changed; before, the leader confirms the list that it found.
    pub made: bool,
}

/// The member list as this member knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Membership {
    own: NodeId,
    list: Arc<MemberList>,
    /// The greatest version that this member heard of.
    newest: ListVersion,
    /// Whether nothing can undo the present list any more, as far as is known: with a majority, the leader made it in
    /// its own epoch and a majority has stored it.
    committed: bool,
    /// Leading: the members that have stored the present list, if this leader made it.
    stored: BTreeSet<NodeId>,
    /// The last list that named this member, if the present one does not: the removal is stored only after another
    /// member has stored it.
    last_named: Option<Arc<MemberList>>,
    /// Leading: the change in progress.
    wanted: Option<Wanted>,
    /// The members of the present list whose last refusal said that this member was removed.
    removed_by: BTreeSet<NodeId>,
    /// When strangers last said hello: a member that is about to be added runs already.
    strangers: BTreeMap<NodeId, Time>,
    /// With a majority: this member was removed from the cluster.
    removed: bool,
    /// Whether the cluster is paused, as far as this member knows.
    pause: Pause,
}

impl Membership {
    /// A member that starts with this list.
    pub fn new(own: NodeId, list: Arc<MemberList>, pause: Pause) -> Membership {
        Membership { own, list, pause, ..Membership::default() }
    }

    pub fn pause(&self) -> &Pause {
        &self.pause
    }

    pub fn adopt_pause(&mut self, pause: Pause) {
        self.pause = pause;
    }

    pub fn list(&self) -> &Arc<MemberList> {
        &self.list
    }

    pub fn version(&self) -> ListVersion {
        self.list.version()
    }

    /// The role of this member; none if it is not listed.
    pub fn role(&self) -> Option<Role> {
        self.list.get(self.own).map(|member| member.role)
    }

    /// Takes another list, which no member is known to have stored.
    pub fn adopt(&mut self, list: Arc<MemberList>) {
        let before = std::mem::replace(&mut self.list, list);
        if self.role().is_some() {
            self.last_named = None;
        } else if before.get(self.own).is_some() {
            self.last_named = Some(before);
        }
        self.hear_of(self.version());
        self.stored.clear();
        self.removed_by.clear();
        self.committed = false;
    }

    /// A member has a list of this version.
    pub fn hear_of(&mut self, version: ListVersion) {
        self.newest = self.newest.max(version);
    }

    pub fn newest(&self) -> ListVersion {
        self.newest
    }

    /// Nothing can undo the present list any more.
    pub fn commit(&mut self) {
        self.committed = true;
    }

    pub fn is_committed(&self) -> bool {
        self.committed
    }

    /// The version of the present list, if it is committed; before, the least of all.
    pub fn committed(&self) -> ListVersion {
        if self.committed { self.version() } else { ListVersion::default() }
    }

    /// The leader says which list is committed.
    pub fn hear_committed(&mut self, version: ListVersion) {
        self.committed |= version == self.version() && version != ListVersion::default();
    }

    /// This member has stored the present list.
    pub fn store(&mut self, member: NodeId) {
        self.stored.insert(member);
    }

    pub fn has_stored(&self, member: NodeId) -> bool {
        self.stored.contains(&member)
    }

    /// The members that have stored the present list.
    pub fn stored(&self) -> impl Iterator<Item = NodeId> {
        self.stored.iter().copied()
    }

    /// Whether a remaining member has stored the present list; with a majority a voter, since other members cannot
    /// pass a list on. (M5)
    pub fn is_kept(&self, majority: bool) -> bool {
        let keeps = |member: &Member| member.votes() || !majority;
        self.stored().any(|id| self.list.get(id).is_some_and(keeps))
    }

    /// The list for the disk. If a leader removes itself, it may be the only member that knows this while the others
    /// still need its vote: it could not start from a list that does not name it. (M5)
    pub fn to_store(&self, majority: bool) -> &Arc<MemberList> {
        self.last_named.as_ref().filter(|_| !self.is_kept(majority)).unwrap_or(&self.list)
    }

    /// Whether this member removed itself, by a list that it made.
    pub fn has_removed_itself(&self) -> bool {
        self.last_named.is_some()
    }

    pub fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
    }

    /// This leader wants this change.
    pub fn want(&mut self, change: MembershipChange, asker: CommandAsker) {
        self.wanted = Some(Wanted { change, asker: Some(asker), made: false });
    }

    /// The list has changed as wanted.
    pub fn made(&mut self) {
        if let Some(wanted) = &mut self.wanted {
            wanted.made = true;
        }
    }

    /// The change is done, or dropped. Returns the member that still waits for it.
    pub fn end_change(&mut self) -> Option<CommandAsker> {
        self.wanted.take().and_then(|wanted| wanted.asker)
    }

    /// The asker has waited too long for the change. Returns the asker, and whether the change was made. A change
    /// that was made continues.
    pub fn change_expired(&mut self) -> Option<(CommandAsker, bool)> {
        let wanted = self.wanted.as_mut()?;
        let (asker, made) = (wanted.asker.take(), wanted.made);
        self.wanted.take_if(|wanted| !wanted.made);
        asker.map(|asker| (asker, made))
    }

    /// A peer refused this member, as removed or for another reason, or accepts it.
    pub fn record_refusal(&mut self, by: NodeId, as_removed: bool) {
        if as_removed {
            self.removed_by.insert(by);
            if self.list.get(self.own).is_none() {
                self.store(by); // this member removed itself, and that one has stored it
            }
        } else {
            self.removed_by.remove(&by);
        }
    }

    /// Whether the last refusals of more than half of the other voters said that this member was removed.
    pub fn is_removed_by_most(&self) -> bool {
        let others: Vec<NodeId> = self.list.voters().filter(|id| *id != self.own).collect();
        let said = others.iter().filter(|id| self.removed_by.contains(*id)).count();
        said > others.len() / 2
    }

    /// This member was removed, and nothing can undo that. (M7)
    pub fn leave(&mut self) {
        self.removed = true;
    }

    pub fn has_left(&self) -> bool {
        self.removed
    }

    /// A stranger said hello.
    pub fn record_stranger(&mut self, id: NodeId, now: Time) {
        if self.strangers.len() >= MOST_STRANGERS && !self.strangers.contains_key(&id) {
            let oldest = self.strangers.iter().min_by_key(|(_, at)| **at).map(|(id, _)| *id);
            oldest.map(|id| self.strangers.remove(&id));
        }
        self.strangers.insert(id, now);
    }

    /// Whether a stranger said hello recently.
    pub fn met_stranger_within(&self, limit: Duration, id: NodeId, now: Time) -> bool {
        self.strangers.get(&id).is_some_and(|at| now.since(*at) < limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Epoch;
    use uuid::Uuid;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    /// The fourth is an observer.
    fn list(counter: u64, members: impl IntoIterator<Item = u128>) -> Arc<MemberList> {
        let member = |number| Member {
            id: id(number),
            name: format!("m{number}"),
            address: format!("h:{number}"),
            admin: None,
            role: if number == 4 { Role::Observer } else { Role::Member },
        };
        let version = ListVersion { epoch: Epoch(1), counter };
        Arc::new(MemberList::new(version, members.into_iter().map(member).collect()))
    }

    /// Rule M5.
    #[test]
    fn who_removed_itself_stores_the_list_that_named_it_until_another_voter_has_the_new_one() {
        let mut known = Membership::new(id(1), list(1, 1..=4), Pause::default());
        let (before, after) = (known.list().clone(), list(2, 2..=4));
        known.store(id(2));
        known.commit();
        known.adopt(after.clone());
        assert!(known.has_removed_itself() && known.role().is_none());
        assert!(!known.is_committed() && !known.has_stored(id(2)), "that was the old list");
        assert_eq!(known.to_store(true), &before);
        known.store(id(1));
        known.store(id(4));
        assert_eq!((known.to_store(true), known.to_store(false)), (&before, &after));
        known.store(id(3));
        assert_eq!(known.to_store(true), &after);
    }

    #[test]
    fn a_change_that_was_made_goes_on_when_nobody_waits_for_it_any_more() {
        let mut known = Membership::new(id(1), list(1, 1..=3), Pause::default());
        let (change, asker) = (MembershipChange::Remove { id: id(3), force: false }, (id(2), 7));
        known.want(change.clone(), asker);
        assert_eq!(known.change_expired(), Some((asker, false)));
        assert_eq!(known.wanted(), None);
        known.want(change, asker);
        known.made();
        assert_eq!(known.change_expired(), Some((asker, true)));
        assert!(known.wanted().is_some());
        assert_eq!((known.change_expired(), known.end_change()), (None, None));
    }

    #[test]
    fn more_than_half_of_the_other_voters_have_to_say_that_it_was_removed() {
        let mut known = Membership::new(id(1), list(1, (1..=3).chain(5..=6)), Pause::default());
        for voter in [2, 3] {
            known.record_refusal(id(voter), true);
            assert!(!known.is_removed_by_most());
        }
        known.record_refusal(id(5), true);
        assert!(known.is_removed_by_most());
        known.record_refusal(id(2), false);
        assert!(!known.is_removed_by_most());
    }
}

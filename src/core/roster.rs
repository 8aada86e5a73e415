//! What a member knows of the member list besides its content: who has stored it, and the change
//! that is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::durable::Then;
use super::leadership::Lease;
use super::membership::{Change, ListVersion, MOST_MEMBERS, Member, MemberList};
use super::message::{Refusal, Taken};
use super::phase::Phase;
use super::planted::Fault;
use super::state::State;
use super::types::{NodeId, Time};

/// How many strangers that said hello are remembered.
const MOST_KNOCKS: usize = 16;

/// Who is told how a change ended: the member that passed the command on, or the leader itself,
/// and its number there.
pub type Asker = (NodeId, u64);

/// The change that the leader is making.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    pub change: Change,
    /// Who still waits for the outcome.
    pub asker: Option<Asker>,
    /// The list has changed; before, the leader confirms the one that it found.
    pub made: bool,
}

/// What is known of the spreading of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roster {
    /// The greatest version that was heard of.
    pub newest: ListVersion,
    /// The present list cannot be undone any more, as far as is known: with a majority one that the
    /// leader stamped itself and that a majority has stored.
    pub settled: bool,
    /// Leading: who has stored the present list, as far as it was stamped by this leader.
    pub stored: BTreeSet<NodeId>,
    /// The last list that named this member, if the present one does not: that is in no record before
    /// another has stored it.
    pub last_named: Option<Arc<MemberList>>,
    /// Leading: the change under way.
    pub wanted: Option<Wanted>,
    /// Those of the present list that refused this member last as one that was removed.
    pub removed_by: BTreeSet<NodeId>,
    /// When strangers said hello last: those that are about to be added run already.
    pub knocks: BTreeMap<NodeId, Time>,
}

impl Roster {
    /// Notes that a stranger said hello.
    pub fn knocked(&mut self, id: NodeId, now: Time) {
        if self.knocks.len() >= MOST_KNOCKS && !self.knocks.contains_key(&id) {
            let oldest = self.knocks.iter().min_by_key(|(_, at)| **at).map(|(id, _)| *id);
            oldest.map(|id| self.knocks.remove(&id));
        }
        self.knocks.insert(id, now);
    }

    fn knocked_within(&self, limit: Duration, id: NodeId, now: Time) -> bool {
        self.knocks.get(&id).is_some_and(|at| now.since(*at) < limit)
    }
}

impl State {
    /// Whether this member leads, and not by a list of a later epoch than its own: then it is outdated,
    /// and what it stamped would be older than what it has.
    pub(super) fn leads_by_list(&self) -> bool {
        self.leads() && self.members.version().epoch <= self.view.epoch
    }

    /// Whether the leader stamped its present list itself, in its own epoch.
    pub(super) fn stamped_own_list(&self) -> bool {
        self.members.version().epoch == self.view.epoch
    }

    /// Whether the leader may change its list: with a majority only one that it stamped itself and
    /// that a majority has stored: then no older change can come back. And that majority is bound by
    /// what it promised, whatever the last change kept of an older one.
    pub(super) fn may_change_list(&self) -> bool {
        let own = self.stamped_own_list();
        let (majority, length) = (self.majority(), self.settings.timing.lease);
        let settled = |lease: &Lease| lease.is_settled(majority, length);
        let bound = self.lease.as_ref().is_some_and(settled);
        let confirmed = match own {
            true => self.is_list_stored(),
            false => Fault::NoConfirmation.is_planted(),
        };
        !self.needs_majority() || (bound && confirmed)
    }

    /// Whether enough have stored the present list, which this leader stamped.
    pub(super) fn is_list_stored(&self) -> bool {
        let stored = &self.roster.stored;
        if !self.needs_majority() {
            return stored.contains(&self.id());
        }
        stored.iter().filter(|id| self.is_voter(**id)).count() >= self.majority()
    }

    /// Whether one that remains a member has stored the present list.
    pub(super) fn is_list_kept(&self) -> bool {
        self.roster.stored.iter().any(|id| self.members.get(*id).is_some())
    }

    /// The record that is to make the present list durable, until it has.
    pub(super) fn list_record(&self) -> Option<u64> {
        self.records.awaited_by(|then| *then == Then::List)
    }

    /// The list for the disk. A leader that removes itself may be the only one that knows of it, and its
    /// vote still be needed by the others: it could not start by a list that does not name it.
    pub(super) fn list_to_store(&self) -> &Arc<MemberList> {
        let kept = self.is_list_kept() || Fault::OwnRemovalStored.is_planted();
        let last_named = self.roster.last_named.as_ref().filter(|_| !kept);
        last_named.unwrap_or(&self.members)
    }

    /// The version of the next list that this leader makes: above all that it knows of, but for those of
    /// later epochs, and above its own in any case.
    pub(super) fn next_version(&self) -> ListVersion {
        let (newest, own) = (self.roster.newest.counter, self.members.version().counter);
        ListVersion { epoch: self.view.epoch, counter: newest.max(own).saturating_add(1) }
    }

    /// The version of the present list, if it is settled; before, the least of all.
    pub(super) fn settled_list(&self) -> ListVersion {
        let settled = self.roster.settled.then(|| self.members.version());
        settled.unwrap_or_default()
    }

    /// Whether nothing can bring back an older list than the present one, as far as is known: who is
    /// not in it may be told so.
    pub(super) fn is_list_settled(&self) -> bool {
        if self.needs_majority() { self.roster.settled } else { self.list_record().is_none() }
    }

    /// Whether this member leaves the cluster on the word of this member and of those that said the same.
    /// With a majority one alone does not end it, but for the leader that it follows: half of the other
    /// voters and one more do. A member that removed itself only waits for one that has stored that.
    pub(super) fn believes_removal(&self, by: NodeId) -> bool {
        let own = self.id();
        let voters = self.members.iter().filter(|member| member.votes() && member.id != own);
        let others: Vec<NodeId> = voters.map(|voter| voter.id).collect();
        let said = others.iter().filter(|id| self.roster.removed_by.contains(id)).count();
        let listed = self.members.get(own).is_some();
        let enough = said > others.len() / 2;
        !self.needs_majority() || !listed || self.follows(by) || enough
    }

    /// With a majority: whether the list that this member tells may be taken. It has to be reached at the
    /// address by which the present list knows it, so that no stray connection speaks for it; and who
    /// follows a leader takes its list from nobody else. Where nobody leads, any such member hands over a
    /// newer list, as those that have it may be unable to lead.
    pub(super) fn may_tell_list(&self, from: NodeId) -> bool {
        let reached = self.detector.is_within_reach(from);
        let led_by_another = self.phase == Phase::Following && !self.follows(from);
        let believed = !self.needs_majority() || Fault::StrangersList.is_planted();
        believed || (reached && !led_by_another)
    }

    /// Why the leader does not make this change, if there is a reason.
    pub(super) fn refuses_change(&self, change: &Change, now: Time) -> Option<Refusal> {
        if self.roster.wanted.is_some() {
            return Some(Refusal::ChangeUnderWay);
        }
        let after = self.members.changed(self.members.version(), change);
        match change {
            Change::Add(new) => {
                let taken = self.members.iter().find_map(|old| {
                    let same = [
                        (Taken::Id, old.id == new.id),
                        (Taken::Name, old.name == new.name),
                        (Taken::Address, old.is_at(&new.address)),
                        (Taken::Admin, new.admin.as_ref().is_some_and(|admin| old.is_at(admin))),
                    ];
                    same.into_iter().find(|(_, same)| *same).map(|(what, _)| (what, old.id))
                });
                match taken {
                    Some((what, by)) => Some(Refusal::Taken { what, by }),
                    None if self.members.removed().contains(&new.id) => {
                        Some(Refusal::WasRemoved(new.id))
                    }
                    None if after.iter().len() > MOST_MEMBERS => Some(Refusal::ListFull),
                    None => self.lost_quorum(&after, now),
                }
            }
            Change::Remove { id, .. } if self.members.get(*id).is_none() => {
                Some(Refusal::NotMember(*id))
            }
            Change::Remove { id, force } => {
                if !after.iter().any(Member::may_lead) {
                    Some(Refusal::LastCandidate) // nothing could ever be changed again
                } else if *id == self.id() && !self.is_connected() {
                    Some(Refusal::LastMember)
                } else {
                    self.lost_quorum(&after, now).filter(|_| !force)
                }
            }
        }
    }

    /// Whether another member is connected, and learns what this one changes.
    fn is_connected(&self) -> bool {
        self.detector.iter().any(|(_, peer)| peer.connected())
    }

    /// The live voters have to be a majority of the new list. A newcomer that runs counts: it has
    /// been refused as a stranger just now.
    fn lost_quorum(&self, after: &MemberList, now: Time) -> Option<Refusal> {
        if !self.needs_majority() {
            return None;
        }
        let limit = self.settings.timing.failure * 3;
        let lives = |id: NodeId| {
            id == self.id()
                || self.detector.is_alive(id)
                || self.roster.knocked_within(limit, id, now)
        };
        let live = after.iter().filter(|member| member.votes() && lives(member.id)).count();
        let needed = after.majority();
        (live < needed).then_some(Refusal::LosesQuorum { live, needed })
    }
}

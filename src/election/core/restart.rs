//! The restart rule: the state that a process starts with, from its last record and its file.
//!
//! It is one pure function, so that the node, the simulator, the exhaustive search and the tests of the rules start
//! their members alike. The caller reads the record, makes [`Restored::record`] durable before the process says its
//! first hello, and hands the result to the core.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use thiserror::Error;

use super::durable::{Durable, Started, VoterRecord, first_reserve};
use super::membership::{ListVersion, Member, MemberList};
use super::planted::Fault;
use super::settings::{Quorum, Settings};
use super::types::{Epoch, Incarnation, NodeId, Pause, Task, Time};

/// What an earlier incarnation of this member left on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeptState {
    pub incarnation: Incarnation,
    pub durable: Durable,
}

/// The state that a process starts with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Restored {
    pub incarnation: Incarnation,
    /// The record that has to be durable, together with that number, before the first hello. Its member list may
    /// differ from that of the file.
    pub record: Durable,
    /// No round of an earlier incarnation was above this; own rounds start above it.
    pub floor: Epoch,
    /// The voter's record of an earlier incarnation: this one waits until its promises have expired.
    pub vote: Option<VoterRecord>,
}

impl Restored {
    /// The same, of a start at this time.
    pub(super) fn started(&self, at: Time) -> Started {
        let Durable { epoch, leader, vote: wrote, reserved, .. } = self.record;
        Started { at, found: self.vote, floor: self.floor, epoch, leader, wrote, reserved }
    }
}

/// Why no process may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoStart {
    /// The member list in force does not name this member.
    #[error("the stored member list, version {version}, does not name {id}")]
    Removed { id: NodeId, version: ListVersion },
    /// The operator asked for a bootstrap, but the store knows its cluster. (Q5)
    #[error("this store knows its cluster: a bootstrap is for the first start")]
    Bootstrapped,
}

/// The state that a process of this member starts with. `file` is its configuration, with the members of the file;
/// `given` is a task that the operator wants to hand out.
///
/// # Errors
/// If this member does not belong to the cluster any more, or is to bootstrap a cluster that has begun.
pub fn restart(
    kept: Option<&KeptState>,
    file: &Settings,
    given: Option<Task>,
) -> Result<Restored, NoStart> {
    let last = kept.map(|kept| &kept.durable);
    let members = counting_members(last, &file.members, file.quorum);
    if members.get(file.id).is_none() || last.is_some_and(|last| last.removed) {
        return Err(NoStart::Removed { id: file.id, version: members.version() });
    }
    if file.bootstrap && last.is_some_and(Durable::knows_its_cluster) {
        return Err(NoStart::Bootstrapped);
    }
    let last = last.cloned().unwrap_or_default();
    let (epoch, floor) = (last.epoch, last.reserved);
    let vote = last.vote.map(|vote| vote.found(floor));
    let task = match given {
        Some(task) if kept.is_some() => task.given_over(&last.task, epoch),
        given => given.unwrap_or(last.task),
    };
    let record = Durable {
        reserved: first_reserve(epoch.max(floor)),
        members,
        task,
        vote: (file.quorum == Quorum::Majority)
            .then(|| VoterRecord::first(vote, file.timing.lease)),
        drain: last.drain.filter(|_| !Fault::DrainForgotten.is_planted()),
        pause: if Fault::PauseForgotten.is_planted() { Pause::default() } else { last.pause },
        ..last
    };
    let incarnation = kept.map(|kept| kept.incarnation).unwrap_or_default().next();
    Ok(Restored { incarnation, record, floor, vote })
}

/// The member list whose ids and roles are in force: that of the record, or that of the file.
///
/// A list that a leader changed always wins over the file. With a majority so does one that never changed, as soon as
/// this member has taken part in a vote by it: two files that name different voters may have majorities without a
/// common voter. Before that nothing was promised, and a file may still be corrected. (M10)
pub fn whose_members<'a>(
    last: Option<&'a Durable>,
    file: &'a Arc<MemberList>,
    quorum: Quorum,
) -> &'a Arc<MemberList> {
    let counts = |last: &&Durable| {
        let changed = last.members.version() > ListVersion::default();
        let votes = quorum == Quorum::Majority && !Fault::FileWins.is_planted();
        let voted = votes && last.vote.is_some_and(|vote| vote.has_voted());
        changed || (voted && last.members.iter().len() > 0)
    };
    last.filter(counts).map_or(file, |last| &last.members)
}

/// The member list in force at a start, with names and addresses. For a list that never changed, those of the file
/// are newer than the stored ones.
pub fn counting_members(
    last: Option<&Durable>,
    file: &Arc<MemberList>,
    quorum: Quorum,
) -> Arc<MemberList> {
    let list = whose_members(last, file, quorum);
    let changed = list.version() > ListVersion::default();
    if changed || list.digest() == file.digest() {
        return if changed { list.clone() } else { file.clone() };
    }
    let entry = |stored: &Member| match file.get(stored.id) {
        Some(written) => Member { role: stored.role, ..written.clone() },
        None => stored.clone(),
    };
    let removed = list.removed().to_vec();
    let list = MemberList::new(list.version(), list.iter().map(entry).collect());
    Arc::new(list.with_removed(removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::core::settings::Timing;
    use crate::core::types::Role;
    use std::time::Duration;
    use uuid::Uuid;

    const SECOND: Duration = Duration::from_secs(1);

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    /// Members 1 to this one, at this host.
    fn list(counter: u64, last: u128, host: &str) -> Arc<MemberList> {
        let member = |number| Member {
            id: id(number),
            name: format!("{host}-{number}"),
            address: format!("{host}:{number}"),
            admin: None,
            role: Role::Member,
        };
        let version = ListVersion { counter, ..ListVersion::default() };
        Arc::new(MemberList::new(version, (1..=last).map(member).collect()))
    }

    fn file(quorum: Quorum, members: &Arc<MemberList>) -> Settings {
        let timing = Timing { heartbeat: SECOND, failure: SECOND, message: SECOND, lease: SECOND };
        Settings { quorum, ..Settings::new("c", id(1), members.clone(), timing) }
    }

    fn kept(members: &Arc<MemberList>, informed: bool) -> KeptState {
        let vote = Some(VoterRecord { informed, ..VoterRecord::default() });
        let (epoch, reserved, leader) = (Epoch(7), Epoch(9), Some(id(2)));
        let members = members.clone();
        let durable = Durable { epoch, reserved, leader, members, vote, ..Durable::default() };
        KeptState { incarnation: Incarnation(3), durable }
    }

    #[test]
    fn what_was_claimed_or_promised_goes_on_and_the_start_is_counted() {
        let members = list(0, 3, "a");
        let mut before = kept(&members, true);
        before.durable.vote = Some(VoterRecord { promised: SECOND * 9, ..VoterRecord::default() });
        before.durable.met = [(id(2), Incarnation(8))].into();
        let start = restart(Some(&before), &file(Quorum::Majority, &members), None).unwrap();
        let Restored { incarnation, record, floor, vote } = start;
        assert_eq!((record.met, record.leader), (before.durable.met, Some(id(2))));
        assert_eq!((incarnation, record.epoch, floor), (Incarnation(4), Epoch(7), Epoch(9)));
        assert_eq!(vote, before.durable.vote, "it stopped in order");
        assert!(record.reserved > floor);
        assert_eq!(record.vote.map(|vote| vote.promised), Some(SECOND * 9));
        let first = restart(None, &file(Quorum::Majority, &members), None).unwrap();
        assert_eq!(first.vote, None, "an empty store");
        assert_eq!(first.record.vote.map(|vote| vote.promised), Some(SECOND));
    }

    /// Rule Q13.
    #[test]
    fn who_crashed_may_have_voted_in_each_epoch_of_its_reserve() {
        let members = list(0, 3, "a");
        let mut before = kept(&members, true);
        let written = before.durable.vote.unwrap_or_default();
        let forgot_after = |(behind, forgot)| {
            before.durable.vote = Some(VoterRecord { behind, forgot: Epoch(forgot), ..written });
            let start = restart(Some(&before), &file(Quorum::Majority, &members), None).unwrap();
            let (found, next) = (start.vote.unwrap(), start.record.vote.unwrap());
            assert_eq!((found.behind, next.behind), (behind, true));
            assert_eq!(found.forgot, next.forgot);
            next.forgot
        };
        let forgot = [(true, 0), (true, 12), (false, 0), (false, 5)].map(forgot_after);
        assert_eq!(forgot, [9, 12, 0, 5].map(Epoch));
    }

    /// "The voters of a stored record win over those of the file, from the first vote on." (M10)
    #[test]
    fn with_a_majority_who_has_voted_keeps_its_voters_whatever_its_file_says() {
        let (five, three) = (list(0, 5, "old"), list(0, 3, "new"));
        let start = |quorum, voted| {
            restart(Some(&kept(&five, voted)), &file(quorum, &three), None).unwrap().record.members
        };
        let members = start(Quorum::Majority, true);
        let addresses: Vec<&str> = members.iter().map(|member| &*member.address).collect();
        assert_eq!(addresses, ["new:1", "new:2", "new:3", "old:4", "old:5"]);
        assert_eq!(start(Quorum::Majority, false), three, "a file may be corrected until then");
        assert_eq!(start(Quorum::None, true), three);
    }

    #[test]
    fn roles_are_kept_as_well() {
        let stored = list(0, 2, "a");
        let mut written: Vec<Member> = stored.iter().cloned().collect();
        written[1].role = Role::Observer;
        let written = Arc::new(MemberList::new(ListVersion::default(), written));
        let start = restart(Some(&kept(&stored, true)), &file(Quorum::Majority, &written), None);
        assert_eq!(start.unwrap().record.members, stored);
    }

    #[test]
    fn a_list_that_was_changed_wins_whole_and_who_is_not_in_it_does_not_start() {
        let (changed, written) = (list(4, 5, "old"), list(0, 3, "new"));
        for quorum in Quorum::ALL {
            let start = restart(Some(&kept(&changed, false)), &file(quorum, &written), None);
            assert_eq!(start.unwrap().record.members, changed);
            let without = Settings { id: id(6), ..file(quorum, &written) };
            let refused = restart(Some(&kept(&changed, false)), &without, None);
            let version = changed.version();
            assert_eq!(refused, Err(NoStart::Removed { id: id(6), version }));
        }
    }

    /// "`--bootstrap` over a store that already knows its cluster is refused": left in the service file, it would let
    /// a voter vote that has lost its store. (Q5)
    #[test]
    fn a_bootstrap_is_for_a_cluster_that_has_not_begun() {
        let members = list(0, 3, "a");
        let file = Settings { bootstrap: true, ..file(Quorum::Majority, &members) };
        assert!(restart(None, &file, None).is_ok());
        assert!(restart(Some(&kept(&members, false)), &file, None).is_ok());
        let begun = [kept(&members, true), kept(&list(1, 3, "a"), false)];
        for kept in begun {
            assert_eq!(restart(Some(&kept), &file, None), Err(NoStart::Bootstrapped));
        }
    }

    /// Rule M7.
    #[test]
    fn who_was_removed_does_not_start_whatever_its_list_says() {
        let members = list(0, 3, "a");
        let mut before = kept(&members, true);
        before.durable.removed = true;
        let refused = restart(Some(&before), &file(Quorum::Majority, &members), None);
        assert!(matches!(refused, Err(NoStart::Removed { .. })), "{refused:?}");
    }
}

//! An operator's changes to the file and the disk of a member while its process is down.

use std::sync::Arc;

use uuid::Uuid;

use super::super::counters::Counter;
use super::super::members;
use super::broken::{BrokenWorld, Upkeep};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::settings::Quorum;
use crate::core::types::{NodeId, Role};

impl BrokenWorld {
    /// Does it to a member whose process is down. Nothing is done that no configuration may say.
    pub(super) fn upkeep(&mut self, node: usize, what: Upkeep) {
        let place = |at: usize| self.world.id(at);
        match what {
            Upkeep::None => {}
            Upkeep::Drop(other) => {
                let dropped = place(other);
                self.edit(node, |list| list.retain(|member| member.id != dropped));
            }
            Upkeep::Recast(other, role) => {
                let recast = place(other);
                let cast = |list: &mut Vec<Member>| {
                    let found = list.iter_mut().find(|member| member.id == recast);
                    found.into_iter().for_each(|member| member.role = role);
                };
                self.edit(node, cast);
            }
            Upkeep::Ghost => self.edit(node, |list| {
                list.retain(|member| member.id != ghost().id);
                list.push(ghost());
            }),
            Upkeep::Rename(other) => {
                let renamed = place(other);
                self.rename(node, renamed);
            }
            Upkeep::Wipe | Upkeep::RollBack => self.lose(node, what),
            Upkeep::Swap => self.foreign[node] = true, // a store is that of one id
        }
    }

    /// Edits the file of a member: it still lists this member itself, and one that may lead. With a majority the
    /// guarantee assumes that all begin with one list of voters, so it is edited once its member has voted by that.
    fn edit(&mut self, node: usize, edit: impl FnOnce(&mut Vec<Member>)) {
        let (own, before) = (self.world.id(node), self.world.nodes[node].settings.members.clone());
        let has_voted = self.world.nodes[node].disk.has_voted();
        if self.world.setup.quorum == Quorum::Majority && !has_voted {
            return;
        }
        let mut members: Vec<Member> = before.iter().cloned().collect();
        edit(&mut members);
        let list = MemberList::new(ListVersion::default(), members);
        if list.get(own).is_none() || !list.iter().any(Member::may_lead) || list == *before {
            return;
        }
        self.world.faults.count(Counter::Edited);
        self.world.say(node, || format!("its file is edited: {:016x}", list.digest()));
        self.edited[node] = true;
        self.world.nodes[node].settings.members = Arc::new(list);
    }

    /// Gives a member another name and another address in the file of the given member.
    fn rename(&mut self, node: usize, renamed: NodeId) {
        let settings = &mut self.world.nodes[node].settings;
        let mut members: Vec<Member> = settings.members.iter().cloned().collect();
        if let Some(member) = members.iter_mut().find(|member| member.id == renamed) {
            member.name += "-renamed";
            member.address = format!("moved-{}", member.address);
            settings.members = Arc::new(MemberList::new(ListVersion::default(), members));
            self.world.faults.count(Counter::Renamed);
        }
    }

    /// Has the disk of a member forget something. With a majority the guarantee assumes that disks keep what they
    /// synced; what is promised all the same is that a member which comes back with less than the
    /// others remember is refused. So the others have met its latest start when it happens, and it happens to
    /// less than half of the voters, of those in the member's own file as well; and to none whose file was edited, as
    /// all are to begin with one list of voters.
    fn lose(&mut self, node: usize, what: Upkeep) {
        let world = &mut self.world;
        let disk = &world.nodes[node].disk;
        if world.setup.quorum == Quorum::Majority {
            let (id, latest) = (world.id(node), disk.incarnation());
            let knows = |at: usize| {
                let core = world.nodes[at].core.as_ref();
                let peer = core.and_then(|core| core.detector().get(id));
                peer.is_some_and(|peer| peer.incarnation() == latest)
            };
            let lost = |list: &MemberList| {
                let lost = (0..world.nodes.len()).filter(|at| self.lost[*at]);
                lost.filter(|at| list.get(world.id(*at)).is_some()).count()
            };
            // By its file, too: that may list only itself, as the others were added later.
            let is_few = |list: &MemberList| (lost(list) + 1) * 2 < list.voters().count();
            let few = is_few(members::newest_list(world, true))
                && is_few(&world.nodes[node].settings.members);
            let remembered = world.others(node).all(|at| self.lost[at] || knows(at));
            if !few || !remembered || self.edited[node] {
                return;
            }
        }
        let (disk, counter) = (
            &mut self.world.nodes[node].disk,
            match what {
                Upkeep::Wipe => Counter::Wiped,
                _ => Counter::RolledBack,
            },
        );
        let done = match what {
            Upkeep::Wipe => disk.wipe(),
            _ => disk.roll_back(),
        };
        if done {
            self.lost[node] = true;
            self.world.faults.count(counter);
            self.world.checker.forgot(node);
            self.world.say(node, || format!("its disk is {what:?}"));
        }
    }
}

/// A voter that does not exist.
fn ghost() -> Member {
    Member {
        id: NodeId(Uuid::from_u128(u128::MAX)),
        name: "ghost".to_owned(),
        address: "nowhere:7101".to_owned(),
        admin: None,
        role: Role::Member,
    }
}

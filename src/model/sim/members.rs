//! The members of a cluster to which some are added, and from which some are removed.

use std::sync::Arc;
use std::time::Duration;

use super::counters::Counter;
use super::node::Node;
use super::setup::TIMING;
use super::world::World;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::{Done, Refusal};
use crate::core::settings::Quorum;
use crate::core::types::NodeId;
use crate::core::{Core, Phase};

/// How a change ended.
pub(super) fn answered(world: &mut World, node: usize, result: Result<Done, Refusal>) {
    match result {
        Ok(done) => {
            world.faults.count(Counter::Changed);
            let nodes = &world.nodes;
            let place = |id| nodes.iter().position(|node| node.settings.id == id);
            let judged = world.checker.lists.done(done, place);
            world.checker.judged(world.now, node, judged);
        }
        Err(_) => world.faults.count(Counter::Refused),
    }
}

/// The newest list among the founders, the members by a list of theirs, and so on: a removed member
/// does not count, nor does a newcomer that led alone before it was added. Until the first change
/// this is the list of the files. The lists of disks without a process count if the caller says so.
pub(super) fn newest_list(world: &World, disks: bool) -> &Arc<MemberList> {
    if !world.changes {
        return &world.founders;
    }
    let mut belong = Vec::with_capacity(world.nodes.len());
    belong.extend(world.founders.iter().filter_map(|member| world.place(member.id)));
    let (mut read, mut last) = (0, &world.founders);
    while let Some(at) = belong.get(read).copied() {
        let list = world.nodes[at].present_list();
        if !Arc::ptr_eq(list, last) {
            for place in list.iter().filter_map(|member| world.place(member.id)) {
                if !belong.contains(&place) {
                    belong.push(place);
                }
            }
        }
        (read, last) = (read + 1, list); // most have the same list, which is read once
    }
    let counts = |(at, node): &(usize, &Node)| {
        let (id, list) = (node.settings.id, node.present_list());
        let changed = list.version() > ListVersion::default();
        changed && (disks || node.core.is_some()) && belong.contains(at) && list.get(id).is_some()
    };
    let lists = world.nodes.iter().enumerate().filter(counts).map(|(_, node)| node.present_list());
    lists.max_by_key(|list| list.version()).unwrap_or(&world.founders)
}

/// The live members of the newest list that is known to one of them, but for those that were left
/// behind. Asked for once an event: it takes a look at all lists.
pub(super) fn members_alive(world: &World) -> Vec<(usize, &Core)> {
    let list = newest_list(world, false);
    let mut alive = Vec::with_capacity(world.nodes.len());
    let belongs = |core: &Core| list.get(core.id()).is_some();
    alive.extend(
        world.live().filter(|(_, core)| belongs(core) && !was_left_behind(world, core, list)),
    );
    alive
}

/// With a majority: whether a member was away while all other voters that it knew were removed. It
/// believes no stranger about that, so an operator has to act (docs/membership.md).
fn was_left_behind(world: &World, core: &Core, newest: &Arc<MemberList>) -> bool {
    let known = core.members();
    let mut others = known.iter().filter(|other| other.votes() && other.id != core.id());
    world.setup.quorum == Quorum::Majority
        && !Arc::ptr_eq(known, newest)
        && newest.version() > known.version()
        && others.all(|other| newest.get(other.id).is_none())
}

/// Whether the members that do not agree can no longer talk to each other. Without a quorum each
/// side of a partition makes its own changes, and a stranger to the other side stays one; so does a
/// newcomer whose file names no member that is left. Each leader is followed by all live members of
/// its list, which have that list; or the leader, or a follower, is a stranger to some live member
/// of its own list.
pub(super) fn are_estranged(world: &World) -> bool {
    let live = |id: NodeId| world.nodes[world.place(id)?].core.as_ref();
    let peers = |core: &Core| core.members().iter().filter_map(|m| live(m.id)).collect::<Vec<_>>();
    let view = |core: &Core| (core.leader(), core.view().epoch, core.members().clone());
    let agrees = |core: &Core| {
        core.phase() == Phase::Leading && peers(core).iter().all(|peer| view(peer) == view(core))
    };
    let is_stranger =
        |core: &Core| peers(core).iter().any(|peer| peer.members().get(core.id()).is_none());
    let is_done = |core: &Core| {
        let leader = core.leader().and_then(|leader| live(leader.id));
        is_stranger(core) || leader.is_some_and(|leader| agrees(leader) || is_stranger(leader))
    };
    world.changes
        && world.setup.quorum == Quorum::None
        && world.live().all(|(_, core)| is_done(core))
}

/// How long the last change may keep a cluster from agreeing: who asked for it waits this long,
/// and a stranger that was refused looks around.
pub(super) fn changing(world: &World) -> Duration {
    if world.changes { TIMING.failure * 5 } else { Duration::ZERO }
}

//! Whether a leader is promised in a world that stays broken.
//!
//! With a majority: where more than half of the voters live, are connected with each other in both
//! directions, can write their disks, have lost nothing, and one of them may lead. Whatever the others are
//! and do, it must not keep these from having a leader. Without one: where anybody lives that may lead and can
//! write its disk; with the ring, one that is linked with at least half of the others.

use super::super::members;
use super::super::world::World;
use super::broken::BrokenWorld;
use crate::core::Core;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::settings::{AlgorithmKind, Quorum};

/// So many steps the search takes at most: in a world where more is needed, nothing is promised.
const STEPS: u32 = 2000;

/// The least share of the time with a leader, in thousandths.
const LEAST: u128 = 950;

/// The same with a majority, beside one member that comes and goes for ever: it spoils some elections in their midst.
const LEAST_BESIDE_UNSTEADY: u128 = 750;

/// The same with a majority, if the best member is hasty: it loses each of its elections, and backs off.
const LEAST_BESIDE_HASTY: u128 = 600;

/// The same without a majority, where two of those that live cannot talk to each other: leaders on both sides of a
/// dead link take turns.
const LEAST_BY_TURNS: u128 = 750;

/// The same where there are several such links.
const LEAST_BY_MORE_TURNS: u128 = 400;

impl BrokenWorld {
    /// The least share of the time with a leader, in thousandths, if one is promised.
    pub(super) fn least(&self) -> u128 {
        match (self.world.setup.quorum, self.apart()) {
            (Quorum::Majority, _) if self.hasty.is_some() => LEAST_BESIDE_HASTY,
            (Quorum::Majority, _) if self.unsteady.is_some() => LEAST_BESIDE_UNSTEADY,
            (Quorum::Majority, _) | (Quorum::None, 0) => LEAST,
            (Quorum::None, 1) => LEAST_BY_TURNS,
            (Quorum::None, _) => LEAST_BY_MORE_TURNS,
        }
    }

    /// With a majority: whether a member may lose an election, once. Its disk hangs or fails now and
    /// then, and it notices that as it writes its vote.
    pub(super) fn may_lose_election(&self) -> bool {
        let ill = |at: usize| {
            let drive = &self.world.nodes[at].drive;
            (drive.stuck || drive.fails > 0) && may_lead(&self.world, at)
        };
        let majority = self.world.setup.quorum == Quorum::Majority;
        majority && self.world.live().any(|(at, _)| ill(at))
    }

    /// How many pairs of those that live cannot talk to each other in both directions.
    pub(super) fn apart(&self) -> usize {
        let world = &self.world;
        let live: Vec<usize> = world.live().map(|(at, _)| at).collect();
        let with = |at: usize| {
            live.iter().filter(move |other| at < **other && !are_linked(world, at, **other)).count()
        };
        live.iter().map(|at| with(*at)).sum()
    }

    pub(super) fn is_promised(&self) -> bool {
        self.healthy().is_some()
    }

    /// The members to whom a leader is promised, in words.
    pub(super) fn promise_in_words(&self) -> String {
        let names = self.healthy().unwrap_or_default();
        names.iter().map(|at| format!("node-{}", at + 1)).collect::<Vec<_>>().join(" ")
    }

    /// The members to whom a leader is promised, if there are any.
    fn healthy(&self) -> Option<Vec<usize>> {
        let world = &self.world;
        let hasty = |at: usize| self.hasty.as_ref().is_some_and(|(hasty, _)| *hasty == at);
        let steady = |at: usize| !self.is_unsteady(at) && !hasty(at);
        let sound = |at: &usize| is_sound(world, *at) && !self.lost[*at] && steady(*at);
        let all: Vec<usize> = (0..world.nodes.len()).filter(sound).collect();
        match world.setup.quorum {
            Quorum::None => {
                let differ = self.edited.iter().any(|edited| *edited);
                // A newcomer waits to be added to the cluster that it knows of.
                let list = members::newest_list(world, true);
                let leads = |at: &usize| {
                    let is_member = list.get(world.id(*at)).is_some() && self.was_added(*at);
                    is_member && may_lead(world, *at) && is_within_ring(world, *at)
                };
                all.into_iter().find(leads).filter(|_| !differ).map(|at| vec![at])
            }
            // A first start needs all voters once, or --bootstrap.
            Quorum::Majority if !self.informed => None,
            Quorum::Majority => {
                let group =
                    self.majority(all.into_iter().filter(|at| self.may_vote(*at)).collect());
                // Beside a member that comes and goes all others have to be well.
                let least = self.unsteady.as_ref().map_or(0, |_| world.nodes.len() - 1);
                group.filter(|group| group.len() >= least)
            }
        }
    }

    /// Whether this is no newcomer, or a newcomer that has taken a changed list. Its file alone does
    /// not make it a member.
    fn was_added(&self, at: usize) -> bool {
        let world = &self.world;
        let changed = world.nodes[at].present_list().version() > ListVersion::default();
        !world.setup.newcomers.contains(&at) || changed
    }

    /// Whether a voter knows the state of the cluster. A newcomer learns it from a leader that counts
    /// its vote, or from all other voters; until then it votes for nobody.
    fn may_vote(&self, at: usize) -> bool {
        let world = &self.world;
        !world.setup.newcomers.contains(&at) || world.nodes[at].disk.has_voted()
    }

    /// Whether all live members agree: in each group of fully connected members to which a leader is
    /// promised, the running members name one of the group. The check says nothing if some links within
    /// a group are dead, where connections may last or not although a dial fails, nor if a disk or a
    /// file is faulty or a member comes and goes.
    pub(super) fn is_agreed(&self) -> bool {
        let world = &self.world;
        let live: Vec<usize> = world.live().map(|(at, _)| at).collect();
        let ill = |at: &usize| {
            !is_sound(world, *at) || self.lost[*at] || self.edited[*at] || self.foreign[*at]
        };
        let group = |at: usize| {
            let linked = |other: &usize| *other == at || are_linked(world, at, *other);
            live.iter().copied().filter(linked).collect::<Vec<_>>()
        };
        let mut groups: Vec<Vec<usize>> = live.iter().map(|at| group(*at)).collect();
        let dead = |one: usize, other: usize| {
            world.link_faults.is_cut(one, other) && world.link_faults.is_cut(other, one)
        };
        let half = |one: usize, other: usize| !are_linked(world, one, other) && !dead(one, other);
        let halves =
            live.iter().any(|at| live.iter().any(|other| at != other && half(*at, *other)));
        let whole = |at: &usize| group(*at).iter().all(|other| group(*other) == group(*at));
        if world.changes
            || self.unsteady.is_some()
            || self.hasty.is_some()
            || halves
            || live.iter().any(ill)
            || !live.iter().all(whole)
        {
            return true;
        }
        groups.sort_unstable();
        groups.dedup();
        let healthy = self.healthy().unwrap_or_default();
        let promised = |group: &&Vec<usize>| match world.setup.quorum {
            Quorum::None => group.iter().any(|at| may_lead(world, *at)),
            Quorum::Majority => healthy.first().is_some_and(|at| group.contains(at)),
        };
        groups.iter().filter(promised).all(|group| {
            let names = |at: &usize| world.nodes[*at].core.as_ref().and_then(Core::leader);
            let leader = group.first().and_then(names);
            let within = leader.and_then(|leader| world.place(leader.id));
            within.is_some_and(|at| group.contains(&at) && world.nodes[at].leads())
                && group.iter().all(|at| names(at).map(|l| l.id) == leader.map(|l| l.id))
        })
    }

    /// Those of them that are a fully connected majority.
    fn majority(&self, all: Vec<usize>) -> Option<Vec<usize>> {
        let world = &self.world;
        // Of the newest list, and of that of everybody who has an older one.
        let mut lists = vec![members::newest_list(world, true)];
        for list in all.iter().map(|at| world.nodes[*at].present_list()) {
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
        let votes = |list: &MemberList, at: usize| list.is_voter(world.id(at));
        let enough = |some: &[usize]| {
            let voters = |list: &&MemberList| some.iter().filter(|at| votes(list, **at)).count();
            lists.iter().all(|list| voters(&list.as_ref()) >= list.majority())
                && some.iter().any(|at| may_lead(world, *at))
        };
        let first = lists[0];
        let all = all.into_iter().filter(|at| votes(first, *at)).collect();
        let linked = |one: usize, other: usize| are_linked(world, one, other);
        clique(all, &linked, &enough, &mut STEPS.clone())
    }
}

/// Whether a member runs and its disk writes.
fn is_sound(world: &World, at: usize) -> bool {
    let node = &world.nodes[at];
    node.core.is_some() && node.pause.is_none() && !node.drive.stuck && node.drive.fails == 0
}

/// Whether a member that runs may be elected.
fn may_lead(world: &World, at: usize) -> bool {
    let node = &world.nodes[at];
    let core = node.core.as_ref();
    let listed = core.and_then(|core| core.members().get(core.id()));
    listed.is_some_and(Member::may_lead)
        && node.settings.value.is_some()
        && core.is_some_and(|core| !core.has_resigned())
}

/// Whether enough of those that live can hand a ballot back to this member: no ring goes around dead links that leave
/// a member to fewer than half of the others.
fn is_within_ring(world: &World, at: usize) -> bool {
    let others = || world.live().filter(|(other, _)| *other != at);
    let linked = others().filter(|(other, _)| are_linked(world, at, *other)).count();
    world.setup.algorithm != AlgorithmKind::Ring || 2 * linked >= others().count()
}

/// Whether each of two members can dial the other, and all arrives that they say.
fn are_linked(world: &World, one: usize, other: usize) -> bool {
    [(one, other), (other, one)].into_iter().all(|(from, to)| {
        world.terrain.blocked(from, to).is_none() && !world.link_faults.is_cut(from, to)
    })
}

/// Some of these that are all linked with each other, and enough. Enough members stay enough with more.
fn clique(
    all: Vec<usize>,
    linked: &impl Fn(usize, usize) -> bool,
    enough: &impl Fn(&[usize]) -> bool,
    steps: &mut u32,
) -> Option<Vec<usize>> {
    *steps = steps.checked_sub(1)?;
    if !enough(&all) {
        return None;
    }
    let apart =
        |at: &usize| all.iter().filter(|other| *other != at && !linked(*at, **other)).count();
    let lonely = all.iter().copied().max_by_key(apart)?;
    if apart(&lonely) == 0 {
        return Some(all);
    }
    let without = all.iter().copied().filter(|at| *at != lonely).collect();
    clique(without, linked, enough, steps).or_else(|| {
        let with = all.iter().copied().filter(|at| *at == lonely || linked(*at, lonely)).collect();
        clique(with, linked, enough, steps)
    })
}

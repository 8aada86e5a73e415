//! A run in a world that stays broken: the world, what is ill in it, and what happens to it.

use std::time::Duration;

use super::super::node::Death;
use super::super::plan::InjectedFault;
use super::super::terrain::Blocked;
use super::super::world::World;
use super::unsteady::Unsteady;
use crate::core::random::Random;
use crate::core::types::{Role, Time};

/// The time, in `failure`, for which nothing is broken at first, if a run begins well.
pub(super) const WELL: u32 = 6;

/// The events of a chapter happen within this many `failure`.
pub(super) const DOINGS: u32 = 4;

/// This many `failure` later a member has to lead.
pub(super) const SETTLING: u32 = 16;

/// A lasting fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ill {
    /// This member has a wrong address of that one.
    Address(usize, usize, Blocked),
    /// Nobody can dial this member, which dials all others.
    Port(usize, Blocked),
    /// Nothing passes between these two.
    Link(usize, usize),
    /// Everything that the first member sends to the second is lost.
    Way(usize, usize),
    /// The writes of this disk take a time between these two.
    Slow(usize, Duration, Duration),
    /// This disk writes nothing any more.
    Stuck(usize),
    /// One in this many writes of this disk fails.
    Fails(usize, u64),
    /// This member's host is gone for good.
    Gone(usize),
}

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// From now on this is ill.
    Ill(Ill),
    /// A process is started, where it can be.
    Start(usize),
    /// A process ends, and this is done to its file or disk; it is started later on its own.
    Stop(usize, Death, Upkeep),
    /// Anything that may happen to a process; whether right after a command.
    Fault(usize, InjectedFault, bool),
}

/// What happens, and when.
pub(super) type StayPlan = Vec<(Time, Doing)>;

/// The actions. A list that names a member twice, or no member that may lead, is no configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upkeep {
    /// Nothing: it was a restart.
    None,
    /// The file no longer lists this member.
    Drop(usize),
    /// It lists one that does not exist.
    Ghost,
    /// It gives this member another role.
    Recast(usize, Role),
    /// It gives this member another name and another address.
    Rename(usize),
    /// The disk is emptied.
    Wipe,
    /// The disk goes back to what an earlier start found on it.
    RollBack,
    /// The disk of another member is put in its place.
    Swap,
}

impl Upkeep {
    pub fn draw(random: &mut Random, nodes: usize) -> Upkeep {
        let other = random.below(nodes as u64) as usize;
        match random.below(12) {
            0 | 1 => Upkeep::Drop(other),
            2 => Upkeep::Ghost,
            3 | 4 => {
                let roles = [Role::Member, Role::Witness, Role::Observer];
                Upkeep::Recast(other, roles[random.below(3) as usize])
            }
            5 => Upkeep::Rename(other),
            6 => Upkeep::Wipe,
            7 => Upkeep::RollBack,
            8 => Upkeep::Swap,
            _ => Upkeep::None,
        }
    }
}

/// One run.
pub(super) struct BrokenWorld {
    pub world: World,
    pub random: Random,
    /// The members whose disk lost or forgot something, by their places.
    pub lost: Vec<bool>,
    /// The members whose host is permanently gone.
    pub gone: Vec<bool>,
    /// The members that have the disk of another.
    pub foreign: Vec<bool>,
    /// The members whose file names other members, or other roles, than the files of the rest.
    pub edited: Vec<bool>,
    /// Whether all voters met once while nothing was broken, or were started with `--bootstrap`.
    pub informed: bool,
    /// Whether longer timings were tried once.
    pub tried: bool,
    /// The only lasting fault, if it is one at the worst place, and the member that was to lead.
    pub worst: Option<(Ill, usize)>,
    /// The hasty member, if there is one, and what is ill beside it.
    pub hasty: Option<(usize, Vec<Ill>)>,
    /// The member that comes and goes for ever, if one does.
    pub unsteady: Option<Unsteady>,
    /// How much longer than usual all takes: some members have longer timings.
    pub stretch: u32,
}

impl BrokenWorld {
    /// Whether this member comes and goes for ever.
    pub fn is_unsteady(&self, node: usize) -> bool {
        self.unsteady.as_ref().is_some_and(|own| own.node == node)
    }
}

//! The faults and orders of a run: when they come, and which member they hit.

use std::time::Duration;

use super::counters::Counter;
use super::link_faults::{Disturbance, Links};
use super::node::Death;
use crate::core::random::Random;
use crate::core::settings::Timing;
use crate::core::types::Time;

/// All that is done to a cluster. What a fault does is in `faults.rs`, and when it comes in what draws it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InjectedFault {
    /// A process is started, and its host if that is gone.
    Start,
    /// A process dies after this many further outputs.
    Die(Death, u64),
    /// A host comes back without its process.
    HostReturns,
    /// A process is called although nothing has happened.
    Tick,
    /// The process does nothing for a while; named to be ended.
    Pause(u32),
    /// The member's clock steps forward.
    Step(Duration),
    /// A disk writes nothing for this long.
    StallDisk(Duration),
    /// Messages on some links suffer; named to be ended, and whether it is one more in a row.
    Begin(u32, Disturbance, LinkShape, bool),
    /// The disturbance or the pause of this name ends.
    End(u32),
    /// The connections between the member and another break. The flags say whether the dialer and the
    /// accepter notice, and whether the dialer does so immediately.
    Break {
        other: usize,
        dialer: bool,
        at_once: bool,
        accepter: bool,
    },
    /// The member's attribute has changed, or cannot be had.
    Sample(Option<i64>),
    /// The check of a member passes or fails from now on.
    Check(bool),
    /// The file of a member says these timings, and its process reads that again.
    Retime(Timing),
    /// An operator asks for something; to resign to the member at this place.
    Elect,
    Resign(Option<usize>),
    Stop,
    /// An operator drains a member by force, or undrains it.
    Drain(bool),
    /// An operator asks that a member be drained, which the leader judges.
    AskDrain,
    /// An operator asks this member that the one at this place have another address, with this number in it.
    Move(usize, u64),
    /// The coroner of a member ends, and its process goes on.
    CoronerEnds,
    /// An operator asks this member that the cluster be paused, or resumed.
    PauseCluster(bool),
    /// An operator asks this member that the one at this place lead, or that a switchover end.
    SwitchOver(Option<usize>),
    /// An operator asks that the member at this place be added.
    Add(usize),
    /// An operator asks that the member at this place be removed; the present leader where none is named.
    Remove {
        who: Option<usize>,
        force: bool,
    },
    /// The present leader is given a task of this content.
    HandOut(u64),
    /// The member gets a certificate of any earlier death; or one of a present leader that nobody issued.
    Replay,
    Forge,
    /// This, to a member that is found when it happens; to the named member if none fits.
    Aimed(FaultTarget, Box<InjectedFault>),
    /// This, to a present leader; to the named member if nobody leads.
    OfLeader(Box<InjectedFault>),
}

/// The faults with their times and members, in order of time.
pub(super) type FaultPlan = Vec<(Time, usize, InjectedFault)>;

/// The kind of member that a fault hits; the member is found when the fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultTarget {
    /// One that leads.
    Leader,
    /// One that takes part in an election, or awaits its outcome.
    Candidate,
    /// One that lives and does not lead.
    Follower,
    /// One whose process is gone.
    Dead,
}

/// Which links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkShape {
    /// All.
    All,
    /// Those between members with different digits.
    Groups([u8; 8]),
    /// The member's own.
    Own(LinkDirection),
    /// Those of the member and another to and from the rest.
    With(usize),
    /// That between the member and another.
    Pair(usize, LinkDirection),
    /// Any.
    Some(u64),
}

/// Which of the two directions of links, as the member sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkDirection {
    Both,
    In,
    Out,
}

impl LinkDirection {
    fn draw(random: &mut Random) -> LinkDirection {
        match random.below(4) {
            0 => LinkDirection::In,
            1 => LinkDirection::Out,
            _ => LinkDirection::Both,
        }
    }

    /// Whether a link leads this way.
    fn leads(self, member: usize, from: usize, to: usize) -> bool {
        (self != LinkDirection::In && from == member)
            || (self != LinkDirection::Out && to == member)
    }
}

impl LinkShape {
    /// Draws the shape of a cut.
    pub fn draw(random: &mut Random, nodes: usize) -> LinkShape {
        let other = random.below(nodes as u64) as usize;
        match random.below(8) {
            0 | 1 => {
                let groups = 2 + random.below(2);
                LinkShape::Groups(std::array::from_fn(|_| random.below(groups) as u8))
            }
            2 | 3 => LinkShape::Own(LinkDirection::draw(random)),
            4 => LinkShape::With(other),
            5 | 6 => LinkShape::Pair(other, LinkDirection::draw(random)),
            _ => LinkShape::Some(random.draw()),
        }
    }

    pub fn kind(self) -> Counter {
        match self {
            LinkShape::All | LinkShape::Groups(_) | LinkShape::With(_) => Counter::Splits,
            LinkShape::Own(LinkDirection::Both) => Counter::Isolated,
            LinkShape::Own(_) | LinkShape::Pair(_, LinkDirection::In | LinkDirection::Out) => {
                Counter::OneWay
            }
            LinkShape::Pair(..) | LinkShape::Some(_) => Counter::Partial,
        }
    }

    pub fn links(self, nodes: usize, member: usize) -> Links {
        Links::among(nodes, |from, to| match self {
            LinkShape::All => true,
            LinkShape::Groups(digits) => digits[from % 8] != digits[to % 8],
            LinkShape::Own(way) => way.leads(member, from, to),
            LinkShape::With(other) => {
                let inside = |at| at == member || at == other;
                inside(from) != inside(to)
            }
            LinkShape::Pair(other, way) => {
                way.leads(member, from, to) && (from == other || to == other)
            }
            LinkShape::Some(draw) => draw.rotate_right((from * 8 + to) as u32) & 1 == 1,
        })
    }

    /// Whether a cut of this shape cuts the member off.
    pub fn beheads(self) -> bool {
        matches!(self, LinkShape::Own(_) | LinkShape::With(_))
    }
}

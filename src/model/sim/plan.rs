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
pub(super) enum Fault {
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
    Begin(u32, Disturbance, Shape, bool),
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
    Aimed(Aim, Box<Fault>),
    /// This, to a present leader; to the named member if nobody leads.
    OfLeader(Box<Fault>),
}

/// The faults with their times and members, in order of time.
pub(super) type Plan = Vec<(Time, usize, Fault)>;

/// The kind of member that a fault hits; the member is found when the fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
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
pub(super) enum Shape {
    /// All.
    All,
    /// Those between members with different digits.
    Groups([u8; 8]),
    /// The member's own.
    Own(Way),
    /// Those of the member and another to and from the rest.
    With(usize),
    /// That between the member and another.
    Pair(usize, Way),
    /// Any.
    Some(u64),
}

/// Which of the two directions of links, as the member sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Both,
    In,
    Out,
}

impl Way {
    fn draw(random: &mut Random) -> Way {
        match random.below(4) {
            0 => Way::In,
            1 => Way::Out,
            _ => Way::Both,
        }
    }

    /// Whether a link leads this way.
    fn leads(self, member: usize, from: usize, to: usize) -> bool {
        (self != Way::In && from == member) || (self != Way::Out && to == member)
    }
}

impl Shape {
    /// Draws the shape of a cut.
    pub fn draw(random: &mut Random, nodes: usize) -> Shape {
        let other = random.below(nodes as u64) as usize;
        match random.below(8) {
            0 | 1 => {
                let groups = 2 + random.below(2);
                Shape::Groups(std::array::from_fn(|_| random.below(groups) as u8))
            }
            2 | 3 => Shape::Own(Way::draw(random)),
            4 => Shape::With(other),
            5 | 6 => Shape::Pair(other, Way::draw(random)),
            _ => Shape::Some(random.draw()),
        }
    }

    pub fn kind(self) -> Counter {
        match self {
            Shape::All | Shape::Groups(_) | Shape::With(_) => Counter::Splits,
            Shape::Own(Way::Both) => Counter::Isolated,
            Shape::Own(_) | Shape::Pair(_, Way::In | Way::Out) => Counter::OneWay,
            Shape::Pair(..) | Shape::Some(_) => Counter::Partial,
        }
    }

    pub fn links(self, nodes: usize, member: usize) -> Links {
        Links::among(nodes, |from, to| match self {
            Shape::All => true,
            Shape::Groups(digits) => digits[from % 8] != digits[to % 8],
            Shape::Own(way) => way.leads(member, from, to),
            Shape::With(other) => {
                let inside = |at| at == member || at == other;
                inside(from) != inside(to)
            }
            Shape::Pair(other, way) => {
                way.leads(member, from, to) && (from == other || to == other)
            }
            Shape::Some(draw) => draw.rotate_right((from * 8 + to) as u32) & 1 == 1,
        })
    }

    /// Whether a cut of this shape cuts the member off.
    pub fn beheads(self) -> bool {
        matches!(self, Shape::Own(_) | Shape::With(_))
    }
}

//! Faults beyond the model: what may happen to the network, the processes and their clocks, drawn
//! from the seed.

use std::time::Duration;

use super::clock::Clock;
use super::draft::Draft;
use super::link_faults::Disturbance;
use super::plan::{InjectedFault, LinkDirection, LinkShape};
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::{Role, Time};

/// The most by which a message is late.
pub(super) const SLOWEST: Duration = Duration::from_millis(2000);

/// The roles of this many members, at least one of which may lead.
pub(super) fn roles(random: &mut Random, nodes: usize) -> Vec<Role> {
    let full = random.below(nodes as u64) as usize;
    let plain = random.below(2) == 0;
    let mut role = |at| match random.below(6) {
        _ if plain || at == full => Role::Member,
        0 | 1 => Role::Witness,
        2 => Role::Observer,
        _ => Role::Member,
    };
    (0..nodes).map(&mut role).collect()
}

/// The clocks of this many nodes, which run at 0.9 to 1.1 of true time.
pub(super) fn clocks(random: &mut Random, nodes: usize) -> Vec<Clock> {
    let extreme = random.below(3) == 0;
    let mut clock = |_| {
        let offset = random.up_to(Duration::from_secs(3600));
        let rate = match random.below(2) {
            slow if extreme => [1100, 900][slow as usize],
            0 => 1000,
            _ => 900 + random.below(201),
        };
        Clock::new(offset, rate)
    };
    (0..nodes).map(&mut clock).collect()
}

/// Adds troubles to a plan.
pub(super) fn add(draft: &mut Draft) {
    let period = TIMING.failure * (2 + draft.random.below(14) as u32);
    for _ in 0..1 + draft.random.below(7) {
        let at = Time(0) + draft.random.up_to(period);
        let node = draft.anyone();
        let leader = draft.random.below(2) == 0;
        Troubles { draft, node, leader }.trouble(at);
    }
}

/// What draws the troubles of one member.
struct Troubles<'a, 'b> {
    draft: &'a mut Draft<'b>,
    node: usize,
    /// Whether they are those of a present leader, if there is one.
    leader: bool,
}

impl Troubles<'_, '_> {
    fn add(&mut self, at: Time, fault: InjectedFault) {
        let fault = if self.leader { InjectedFault::OfLeader(Box::new(fault)) } else { fault };
        self.draft.put(at, self.node, fault);
    }

    fn trouble(&mut self, at: Time) {
        match self.draft.random.below(16) {
            0 => self.exile(at),
            1..6 => {
                let shape = self.shape();
                if self.draft.random.below(5) == 0 {
                    return self.flap(at, shape);
                }
                let length = self.length();
                self.spell(at, length, Disturbance::Cuts(shape.kind()), shape);
            }
            draw @ 6..10 => {
                let one_in = 1 << (1 + self.draft.random.below(5));
                if draw == 6 {
                    return self.lag(at);
                }
                let what = match draw {
                    7 => Disturbance::Slows(self.draft.random.up_to(SLOWEST)),
                    8 => Disturbance::Loses(one_in),
                    _ => Disturbance::Doubles(one_in),
                };
                let all = self.draft.random.below(3) == 0;
                let shape = if all { LinkShape::All } else { self.shape() };
                let length = self.length();
                self.spell(at, length, what, shape);
            }
            10..13 => {
                let breaks = self.draft.breaks();
                self.add(at, breaks);
            }
            13 | 14 => {
                let short = self.draft.random.below(3) == 0;
                let length =
                    if short { self.draft.random.up_to(TIMING.message * 2) } else { self.length() };
                let name = self.draft.name();
                self.add(at, InjectedFault::Pause(name));
                self.draft.end(at + length);
            }
            _ => {
                let by = self.length();
                self.add(at, InjectedFault::Step(by));
            }
        }
    }

    fn shape(&mut self) -> LinkShape {
        LinkShape::draw(self.draft.random, self.draft.nodes)
    }

    /// How long something lasts.
    fn length(&mut self) -> Duration {
        let random = &mut self.draft.random;
        match random.below(4) {
            0 => random.up_to(TIMING.failure),
            1 => random.up_to(TIMING.failure * 10),
            _ => TIMING.failure / 2 + random.up_to(TIMING.failure * 4),
        }
    }

    fn spell(&mut self, at: Time, length: Duration, what: Disturbance, shape: LinkShape) {
        let name = self.draft.name();
        self.add(at, InjectedFault::Begin(name, what, shape, false));
        self.draft.end(at + length);
    }

    /// A member is cut off, and all see immediately that their connections ended: its successor asks as
    /// early as the promises to that member allow.
    fn exile(&mut self, at: Time) {
        let shape = LinkShape::Own(LinkDirection::Both);
        let length = self.length();
        self.spell(at, length, Disturbance::Cuts(shape.kind()), shape);
        for other in 0..self.draft.nodes {
            let (dialer, at_once, accepter) = (true, true, true);
            self.add(at, InjectedFault::Break { other, dialer, at_once, accepter });
        }
    }

    /// Messages to a member are late, and then its own messages are cut: it keeps hearing answers to
    /// what it said long ago.
    fn lag(&mut self, at: Time) {
        let most = self.draft.random.up_to(TIMING.failure);
        let (late, cut) = (self.length(), self.length());
        self.spell(at, late + cut, Disturbance::Slows(most), LinkShape::Own(LinkDirection::In));
        let shape = LinkShape::Own(LinkDirection::Out);
        self.spell(at + late, cut, Disturbance::Cuts(shape.kind()), shape);
    }

    /// A cut that comes and goes.
    fn flap(&mut self, mut at: Time, shape: LinkShape) {
        let what = Disturbance::Cuts(shape.kind());
        for turn in 0..2 + self.draft.random.below(5) {
            let name = self.draft.name();
            self.add(at, InjectedFault::Begin(name, what, shape, turn > 0));
            at = at + self.draft.random.up_to(TIMING.failure * 3 / 2);
            self.draft.end(at);
            at = at + self.draft.random.up_to(TIMING.failure * 3 / 2);
        }
    }
}

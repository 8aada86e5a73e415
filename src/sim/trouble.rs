//! Faults beyond the model: what may happen to the network, the processes and their clocks, drawn
//! from the seed.

use std::time::Duration;

use super::clock::Clock;
use super::link_faults::Disturbance;
use super::node::Death;
use super::plan::Shape;
use super::plan::Trouble;
use super::plan::Way;
use super::plan::{Fault, Plan};
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::settings::Quorum;
use crate::core::types::{Role, Time};
use crate::trace::What;

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
pub(super) fn add(random: &mut Random, nodes: usize, plan: &mut Plan) {
    let period = TIMING.failure * (2 + random.below(14) as u32);
    let mut draw = Draw { random, nodes, plan, last: 0 };
    for _ in 0..1 + draw.random.below(7) {
        let at = Time(0) + draw.random.up_to(period);
        let node = draw.random.below(nodes as u64) as usize;
        let leader = draw.random.below(2) == 0;
        draw.trouble(at, node, leader);
    }
    draw.plan.sort_by_key(|(at, _, _)| *at);
}

/// Now and then all processes die at one moment and restart immediately: the voters that promised a
/// leader something, and that leader, elect again while these promises run.
pub(super) fn add_outage(random: &mut Random, nodes: usize, plan: &mut Plan) {
    if random.below(16) > 0 {
        return;
    }
    let at = Time(0) + random.up_to(TIMING.failure * 10);
    for node in 0..nodes {
        plan.push((at, node, Fault::Die(Death::Killed, 0)));
        plan.push((at + random.up_to(TIMING.message), node, Fault::Start));
    }
    plan.sort_by_key(|(at, _, _)| *at);
}

struct Draw<'a> {
    random: &'a mut Random,
    nodes: usize,
    plan: &'a mut Plan,
    /// The name given last.
    last: u32,
}

impl Draw<'_> {
    fn note(&mut self, at: Time, node: usize, leader: bool, trouble: Trouble) {
        self.plan.push((at, node, Fault::Trouble { leader, trouble }));
    }

    fn trouble(&mut self, at: Time, node: usize, leader: bool) {
        match self.random.below(16) {
            0 => self.exile(at, node, leader),
            1..6 => {
                let shape = Shape::draw(self.random, self.nodes);
                if self.random.below(5) == 0 {
                    return self.flap(at, node, leader, shape);
                }
                let length = self.length();
                self.spell(at, length, node, leader, (Disturbance::Cuts(shape.kind()), shape));
            }
            draw @ 6..10 => {
                let one_in = 1 << (1 + self.random.below(5));
                if draw == 6 {
                    return self.lag(at, node, leader);
                }
                let what = match draw {
                    7 => Disturbance::Slows(self.random.up_to(SLOWEST)),
                    8 => Disturbance::Loses(one_in),
                    _ => Disturbance::Doubles(one_in),
                };
                let all = self.random.below(3) == 0;
                let shape = if all { Shape::All } else { Shape::draw(self.random, self.nodes) };
                let length = self.length();
                self.spell(at, length, node, leader, (what, shape));
            }
            10..13 => {
                let other = self.random.below(self.nodes as u64) as usize;
                let [dialer, at_once, accepter] = [(); 3].map(|()| self.random.below(2) == 0);
                self.note(at, node, leader, Trouble::Break { other, dialer, at_once, accepter });
            }
            13 | 14 => {
                let short = self.random.below(3) == 0;
                let length =
                    if short { self.random.up_to(TIMING.message * 2) } else { self.length() };
                self.last += 1;
                self.note(at, node, leader, Trouble::Pause(self.last));
                self.note(at + length, node, false, Trouble::End(self.last));
            }
            _ => {
                let by = self.length();
                self.note(at, node, leader, Trouble::Step(by));
            }
        }
    }

    /// How long something lasts.
    fn length(&mut self) -> Duration {
        match self.random.below(4) {
            0 => self.random.up_to(TIMING.failure),
            1 => self.random.up_to(TIMING.failure * 10),
            _ => TIMING.failure / 2 + self.random.up_to(TIMING.failure * 4),
        }
    }

    fn spell(
        &mut self,
        at: Time,
        length: Duration,
        node: usize,
        leader: bool,
        (what, shape): (Disturbance, Shape),
    ) {
        self.last += 1;
        self.note(at, node, leader, Trouble::Begin(self.last, what, shape, false));
        self.note(at + length, node, false, Trouble::End(self.last));
    }

    /// A member is cut off, and all see immediately that their connections ended: its successor asks as
    /// early as the promises to that member allow.
    fn exile(&mut self, at: Time, node: usize, leader: bool) {
        let shape = Shape::Own(Way::Both);
        let length = self.length();
        self.spell(at, length, node, leader, (Disturbance::Cuts(shape.kind()), shape));
        for other in 0..self.nodes {
            let (dialer, at_once, accepter) = (true, true, true);
            self.note(at, node, leader, Trouble::Break { other, dialer, at_once, accepter });
        }
    }

    /// Messages to a member are late, and then its own messages are cut: it keeps hearing answers to
    /// what it said long ago.
    fn lag(&mut self, at: Time, node: usize, leader: bool) {
        let most = self.random.up_to(TIMING.failure);
        let (late, cut) = (self.length(), self.length());
        self.spell(at, late + cut, node, leader, (Disturbance::Slows(most), Shape::Own(Way::In)));
        let shape = Shape::Own(Way::Out);
        self.spell(at + late, cut, node, leader, (Disturbance::Cuts(shape.kind()), shape));
    }

    /// A cut that comes and goes.
    fn flap(&mut self, mut at: Time, node: usize, leader: bool, shape: Shape) {
        let what = Disturbance::Cuts(shape.kind());
        for turn in 0..2 + self.random.below(5) {
            self.last += 1;
            self.note(at, node, leader, Trouble::Begin(self.last, what, shape, turn > 0));
            at = at + self.random.up_to(TIMING.failure * 3 / 2);
            self.note(at, node, false, Trouble::End(self.last));
            at = at + self.random.up_to(TIMING.failure * 3 / 2);
        }
    }
}

/// Lets a trouble happen, to a present leader if there is one and it is aimed at one.
pub(super) fn befall(world: &mut World, node: usize, leader: bool, trouble: Trouble) {
    let leaders: Vec<usize> =
        (0..world.nodes.len()).filter(|at| world.nodes[*at].leads()).collect();
    let node = match leaders.len() {
        0 => node,
        _ if !leader => node,
        many => leaders[world.random.below(many as u64) as usize],
    };
    match trouble {
        Trouble::Begin(id, what, shape, again) => {
            let cuts = matches!(what, Disturbance::Cuts(_));
            world.say(node, || {
                format!("network: {what:?} on {shape:?} as it sees them, from now on")
            });
            world.draw(node, |_| Some(What::Suffers(what.words())));
            let links = shape.links(world.nodes.len(), node);
            let beheads = cuts && leaders.contains(&node) && shape.beheads();
            world.link_faults.begin(id, links, what, (again, beheads));
        }
        Trouble::Pause(id) => world.pause(node, id),
        Trouble::End(id) => {
            world.link_faults.end(id);
            world.resume(|pause| pause == id);
        }
        Trouble::Break { other, dialer, at_once, accepter } if other != node => {
            for (from, to) in [(node, other), (other, node)] {
                world.snap(from, to, dialer.then_some(at_once), accepter);
            }
        }
        Trouble::Break { .. } => {}
        // With a majority promises run by the clocks of the voters, which are assumed to keep time
        // within a tenth. Those that such a step cannot shorten are of the one who leads.
        Trouble::Step(_) if world.setup.quorum == Quorum::Majority && !leaders.contains(&node) => {}
        Trouble::Step(by) => world.step_clock(node, by),
    }
}

//! Operators that edit the timings of members and reload them while they run (`core/retiming.rs`).
//!
//! The files of members say different timings meanwhile, longer ones and shorter ones. Right after a
//! reload members die, are cut off and hang, since a promise of another length is on its way to the
//! disks then.

use std::time::Duration;

use super::aim::Aim;
use super::link_faults::Disturbance;
use super::node::Death;
use super::plan::{Fault, Plan, Shape, Trouble, Way};
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::settings::Timing;
use crate::core::types::Time;

/// One run in this many.
const ONE_IN: u64 = 4;

/// The names of what begins here, which ends by them: those of storms and of all other troubles are smaller.
const NAMES: u32 = 1 << 20;

/// Adds reloads, and what comes right after them, to the plan of one run in four. Only storms have them: the seeds
/// that are recorded with the planted faults are those of other runs, which stay as they are.
pub(super) fn add(random: &mut Random, nodes: usize, plan: &mut Plan) {
    if random.below(ONE_IN) > 0 {
        return;
    }
    let mut draw = Draw { random, nodes, plan, last: NAMES };
    let period = TIMING.failure * (6 + draw.random.below(10) as u32);
    for _ in 0..1 + draw.random.below(4) {
        let at = Time(0) + TIMING.failure + draw.random.up_to(period);
        let timing = timing(draw.random);
        match draw.random.below(4) {
            0 => draw.all(at, timing),
            1 => draw.succession(at, timing),
            _ => draw.one(at, timing),
        }
    }
    draw.plan.sort_by_key(|(at, _, _)| *at);
}

/// Timings that a file may say. `message` is never shorter than what the network takes.
fn timing(random: &mut Random) -> Timing {
    let Timing { heartbeat, failure, message, lease } = TIMING;
    match random.below(8) {
        0 => Timing { lease: failure / 2, ..TIMING },
        1 => Timing { lease: failure, ..TIMING },
        2 => Timing { heartbeat: heartbeat / 2, failure: failure / 2, lease: failure / 2, message },
        3 => Timing { heartbeat: heartbeat * 2, ..TIMING },
        4 => Timing { failure: failure * 16, lease: lease * 12, ..TIMING },
        _ => {
            let times = 2 + random.below(7) as u32;
            Timing {
                heartbeat: heartbeat * times,
                failure: failure * times,
                message: message * (1 + random.below(2) as u32 * (times - 1)),
                lease: lease * times,
            }
        }
    }
}

struct Draw<'a> {
    random: &'a mut Random,
    nodes: usize,
    plan: &'a mut Plan,
    /// The name given last.
    last: u32,
}

impl Draw<'_> {
    /// All members one after the other, as an operator reloads them; now and then one is forgotten.
    fn all(&mut self, mut at: Time, timing: Timing) {
        let slow = self.random.below(2) == 0;
        let first = self.any();
        for place in 0..self.nodes {
            let node = (first + place) % self.nodes;
            if self.random.below(8) > 0 {
                self.plan.push((at, node, Fault::Retime(timing)));
            }
            at = at + self.random.up_to(if slow { TIMING.failure } else { TIMING.message });
        }
        self.aftermath(at);
    }

    /// One member, and perhaps once more within a heartbeat.
    fn one(&mut self, at: Time, timing: Timing) {
        let aim = self.aim();
        self.note(at, aim, Fault::Retime(timing));
        if self.random.below(3) == 0 {
            let (again, aim) = (self::timing(self.random), self.aim());
            let soon = at + self.random.up_to(TIMING.heartbeat);
            self.note(soon, aim, Fault::Retime(again));
        }
        self.aftermath(at);
    }

    /// The leader promises itself and asks for more while some disks hang. Some members that answered
    /// restart immediately, and the leader is cut off: the restarted members may elect another with
    /// those that did not answer.
    fn succession(&mut self, at: Time, timing: Timing) {
        for node in 0..self.nodes {
            if self.random.below(2) == 0 {
                let length = self.random.up_to(TIMING.failure);
                self.plan.push((at, node, Fault::StallDisk(length)));
            }
        }
        self.note(at, Aim::Leader, Fault::Retime(timing));
        let mut dies = at + self.random.up_to(TIMING.message * 4);
        self.cut_off(dies);
        for _ in 0..1 + self.random.below(3) {
            self.restart(dies, Aim::Follower);
            dies = dies + self.random.up_to(TIMING.message);
        }
        if self.random.below(2) == 0 {
            self.restart(dies, Aim::Leader);
        }
    }

    /// Some leaders, candidates or voters restart, hang or are cut off.
    fn aftermath(&mut self, at: Time) {
        for _ in 0..self.random.below(4) {
            let (when, aim) = (at + self.random.up_to(TIMING.message * 3), self.aim());
            match self.random.below(4) {
                0 | 1 => self.restart(when, aim),
                2 => {
                    self.last += 1;
                    let length = self.random.up_to(TIMING.failure * 2);
                    self.note(when, aim, trouble(Trouble::Pause(self.last)));
                    self.plan.push((when + length, 0, trouble(Trouble::End(self.last))));
                }
                _ => self.cut_off(when),
            }
        }
    }

    /// A leader is cut off for a while. In one direction others may hear it, or it them.
    fn cut_off(&mut self, at: Time) {
        self.last += 1;
        let way = [Way::Both, Way::Out, Way::In][self.random.below(3) as usize];
        let shape = Shape::Own(way);
        let cut = Trouble::Begin(self.last, Disturbance::Cuts(shape.kind()), shape, false);
        let length = TIMING.failure + self.random.up_to(TIMING.failure * 4);
        self.note(at, Aim::Leader, trouble(cut));
        self.plan.push((at + length, 0, trouble(Trouble::End(self.last))));
    }

    /// A process dies and restarts immediately.
    fn restart(&mut self, at: Time, aim: Aim) {
        self.note(at, aim, Fault::Die(Death::Killed, 0));
        let back = at + self.random.up_to(TIMING.message);
        self.note(back, Aim::Dead, Fault::Start);
    }

    fn any(&mut self) -> usize {
        self.random.below(self.nodes as u64) as usize
    }

    fn aim(&mut self) -> Aim {
        [Aim::Leader, Aim::Leader, Aim::Candidate, Aim::Follower][self.random.below(4) as usize]
    }

    fn note(&mut self, at: Time, aim: Aim, fault: Fault) {
        let named = self.any();
        self.plan.push((at, named, Fault::Aimed(aim, Box::new(fault))));
    }
}

fn trouble(trouble: Trouble) -> Fault {
    Fault::Trouble { leader: false, trouble }
}

impl World {
    /// How much longer it may take until all agree: the longest promise expires by the slowest clock,
    /// and waits in an election that began with older timings keep these.
    pub(super) fn retiming(&self) -> Duration {
        self.longest.map_or(Duration::ZERO, |longest| {
            (longest.lease + longest.failure * 2 + longest.t2() * 2) * 10 / 9
        })
    }
}

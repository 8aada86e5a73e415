//! Storms: many faults within one or two `failure`, aimed at the members that lead, are candidates or
//! vote at that very moment. Storms find defects that need three or four rare events in a row.

use std::time::Duration;

use super::aim::Aim;
use super::link_faults::Disturbance;
use super::node::Death;
use super::plan::{Fault, Plan, Shape, Trouble, Way, Wish};
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::Time;

/// The names of what storms begin, which end by them: all other troubles have smaller ones.
const NAMES: u32 = 1 << 16;

/// Adds storms to a plan.
/// The members stay the same where no newcomers are given.
pub(super) fn add(random: &mut Random, nodes: usize, newcomers: Option<&[usize]>, plan: &mut Plan) {
    let mut at = Time(0) + TIMING.failure + random.up_to(TIMING.failure * 4);
    let mut storm = Storm { random, nodes, newcomers, plan, last: NAMES };
    for _ in 0..1 + storm.random.below(3) {
        let length = TIMING.failure / 2 + storm.random.up_to(TIMING.failure * 3 / 2);
        for _ in 0..8 + storm.random.below(24) {
            let when = at + storm.random.up_to(length);
            storm.gust(when);
        }
        if newcomers.is_some() && storm.random.below(2) == 0 {
            storm.succession(at);
        }
        at = at + length + storm.random.up_to(TIMING.failure * 4);
    }
    storm.plan.sort_by_key(|(at, _, _)| *at);
}

struct Storm<'a> {
    random: &'a mut Random,
    nodes: usize,
    /// The members outside of the first list; none if no member comes or goes.
    newcomers: Option<&'a [usize]>,
    plan: &'a mut Plan,
    /// The name given last.
    last: u32,
}

impl Storm<'_> {
    /// One fault, and its end.
    fn gust(&mut self, at: Time) {
        match self.random.below(16) {
            0..4 => self.crash(at),
            4..7 => {
                self.last += 1;
                let (aim, length) = (self.aim(), self.length());
                self.note(at, aim, trouble(Trouble::Pause(self.last)));
                self.end(at + length);
            }
            7..10 => {
                self.last += 1;
                let shape = Shape::draw(self.random, self.nodes);
                let cut = Trouble::Begin(self.last, Disturbance::Cuts(shape.kind()), shape, false);
                let (aim, length) = (self.aim(), self.length());
                self.note(at, aim, trouble(cut));
                self.end(at + length);
            }
            10 => {
                let other = self.random.below(self.nodes as u64) as usize;
                let [dialer, at_once, accepter] = [(); 3].map(|()| self.random.below(2) == 0);
                let aim = self.aim();
                self.note(at, aim, trouble(Trouble::Break { other, dialer, at_once, accepter }));
            }
            11 | 12 => match self.newcomers {
                Some(newcomers) => self.change(at, newcomers),
                None => self.crash(at),
            },
            13 => {
                let to = self.random.below(self.nodes as u64) as usize;
                let to = Some(to).filter(|_| self.random.below(2) == 0);
                self.note(at, Aim::Leader, Fault::Resign(to));
            }
            14 => {
                let aim = self.aim();
                self.note(at, aim, Fault::Elect);
            }
            _ => {
                let (aim, length) = (self.aim(), self.length());
                self.note(at, aim, Fault::StallDisk(length));
            }
        }
    }

    /// A process dies, and most often one is back soon.
    fn crash(&mut self, at: Time) {
        let death = if self.random.below(4) == 0 { Death::Vanished } else { Death::Killed };
        let outputs = if self.random.below(2) == 0 { 0 } else { self.random.below(12) };
        let aim = self.aim();
        self.note(at, aim, Fault::Die(death, outputs));
        let back = self.length();
        self.note(at + back, Aim::Dead, Fault::Start);
    }

    /// Members are added and removed, some right after each other.
    fn change(&mut self, mut at: Time, newcomers: &[usize]) {
        for _ in 0..1 + self.random.below(3) {
            let someone = self.random.below(self.nodes as u64) as usize;
            let newcomer = self.random.below(newcomers.len() as u64) as usize;
            let wish = match newcomers.get(newcomer) {
                Some(newcomer) if self.random.below(2) == 0 => Wish::Add(*newcomer),
                _ => Wish::Remove { who: Some(someone), force: false },
            };
            self.note(at, Aim::Leader, Fault::Change(wish));
            at = at + self.random.up_to(TIMING.message * 2);
        }
    }

    /// The leader dies; while one candidate cannot talk to all others, the next leader removes two of
    /// those that elected it, a third restarts, and the candidate pauses and then continues its own
    /// election.
    fn succession(&mut self, at: Time) {
        let mut one = || self.random.below(self.nodes as u64) as usize;
        let [candidate, first, second, removed, also, voter] = [(); 6].map(|()| one());
        let death = if self.random.below(2) == 0 { Death::Killed } else { Death::Vanished };
        self.note(at, Aim::Leader, Fault::Die(death, 0));
        for other in [first, second] {
            self.last += 1;
            let shape = Shape::Pair(other, Way::Both);
            let cut = Trouble::Begin(self.last, Disturbance::Cuts(shape.kind()), shape, false);
            let when = at + self.random.up_to(TIMING.message);
            self.plan.push((when, candidate, trouble(cut)));
            self.end(at + TIMING.failure * 3);
        }
        let mut when = at + TIMING.failure * u32::from(death == Death::Vanished) + TIMING.message;
        for who in [removed, also] {
            when = when + self.random.up_to(TIMING.failure / 2);
            let wish = Wish::Remove { who: Some(who), force: false };
            self.note(when, Aim::Leader, Fault::Change(wish));
        }
        when = when + self.random.up_to(TIMING.message * 3);
        self.plan.push((when, voter, Fault::Die(Death::Killed, 0)));
        self.plan.push((when + self.random.up_to(TIMING.message), voter, Fault::Start));
        self.last += 1;
        let pauses = when + self.random.up_to(TIMING.message * 3);
        self.plan.push((pauses, candidate, trouble(Trouble::Pause(self.last))));
        let length = TIMING.stall() / 2 + self.random.up_to(TIMING.stall() / 2);
        self.end(pauses + length);
    }

    fn aim(&mut self) -> Aim {
        [Aim::Leader, Aim::Candidate, Aim::Follower][self.random.below(3) as usize]
    }

    /// How long it lasts: most are over before anybody has noticed.
    fn length(&mut self) -> Duration {
        match self.random.below(3) {
            0 => self.random.up_to(TIMING.message),
            1 => self.random.up_to(TIMING.stall()),
            _ => self.random.up_to(TIMING.failure * 2),
        }
    }

    fn note(&mut self, at: Time, aim: Aim, fault: Fault) {
        let named = self.random.below(self.nodes as u64) as usize;
        self.plan.push((at, named, Fault::Aimed(aim, Box::new(fault))));
    }

    fn end(&mut self, at: Time) {
        self.plan.push((at, 0, trouble(Trouble::End(self.last))));
    }
}

fn trouble(trouble: Trouble) -> Fault {
    Fault::Trouble { leader: false, trouble }
}

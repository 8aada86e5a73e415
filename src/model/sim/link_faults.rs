//! The present disturbances of the simulated network: cuts, slow links, and links that lose or double
//! messages. Without any, the network delivers everything within the model's time.

use std::time::Duration;

use super::counters::{Counter, Faults};
use crate::core::random::Random;
use crate::trace::length;

/// The most members that a disturbed network has.
pub(super) const MOST: usize = 32;

/// A set of directed links between members: for each member, the receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links([u32; MOST]);

impl Links {
    /// The links for which this holds, from one place to another.
    pub fn among(nodes: usize, holds: impl Fn(usize, usize) -> bool) -> Links {
        let mut links = Links::default();
        for from in 0..nodes.min(MOST) {
            for to in (0..nodes.min(MOST)).filter(|to| *to != from && holds(from, *to)) {
                links.0[from] |= 1 << to;
            }
        }
        links
    }

    fn has(self, from: usize, to: usize) -> bool {
        from < MOST && to < MOST && self.0[from] >> to & 1 == 1
    }
}

/// The effect of a disturbance on its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// Nothing arrives. Counted as this kind, once it stopped something.
    Cuts(Counter),
    /// A message takes up to this much longer.
    Slows(Duration),
    /// One in this many messages is dropped.
    Loses(u64),
    /// One in this many messages is delivered twice.
    Doubles(u64),
}

impl Disturbance {
    /// In few words, for a drawing.
    pub fn words(self) -> String {
        match self {
            Disturbance::Cuts(_) => "links are cut".to_owned(),
            Disturbance::Slows(by) => format!("links are slow, by up to {}", length(by)),
            Disturbance::Loses(_) => "links lose messages".to_owned(),
            Disturbance::Doubles(_) => "links double messages".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Front {
    id: u32,
    links: Links,
    what: Disturbance,
    /// Whether it is one more of several in a row.
    again: bool,
    /// Whether it cuts off one who led when it began.
    beheads: bool,
    met: bool,
}

/// All disturbances at present.
#[derive(Debug, Default)]
pub(super) struct LinkFaults(Vec<Front>);

impl LinkFaults {
    pub fn begin(
        &mut self,
        id: u32,
        links: Links,
        what: Disturbance,
        (again, beheads): (bool, bool),
    ) {
        self.0.push(Front { id, links, what, again, beheads, met: false });
    }

    pub fn end(&mut self, id: u32) {
        self.0.retain(|front| front.id != id);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether a cut keeps what one member sends from another. Nothing is counted: nothing was sent.
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        let cuts = |front: &&Front| matches!(front.what, Disturbance::Cuts(_));
        self.0.iter().filter(cuts).any(|front| front.links.has(from, to))
    }

    /// Whether what is on its way from one member to another does not arrive.
    pub fn cuts(&mut self, from: usize, to: usize, faults: &mut Faults) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut cut = false;
        for front in &mut self.0 {
            let Disturbance::Cuts(kind) = front.what else { continue };
            if front.links.has(from, to) {
                cut = true;
                if !std::mem::replace(&mut front.met, true) {
                    faults.count(kind);
                    faults.add(Counter::Flaps, u64::from(front.again));
                    faults.add(Counter::Beheaded, u64::from(front.beheads));
                }
            }
        }
        faults.add(Counter::Stopped, u64::from(cut));
        cut
    }

    /// By how much what is sent now is late.
    pub fn lag(&self, from: usize, to: usize, random: &mut Random) -> Duration {
        let mut lag = Duration::ZERO;
        for front in self.0.iter().filter(|front| front.links.has(from, to)) {
            if let Disturbance::Slows(most) = front.what {
                lag = lag.max(random.up_to(most));
            }
        }
        lag
    }

    /// How many copies of a message arrive that is sent now. Messages that are sent all the time would hardly
    /// leave any to the rest.
    pub fn copies(
        &self,
        (from, to): (usize, usize),
        regular: bool,
        random: &mut Random,
        faults: &mut Faults,
    ) -> usize {
        let mut copies = 1;
        for front in self.0.iter().filter(|front| front.links.has(from, to)) {
            match front.what {
                Disturbance::Loses(one_in) if random.below(one_in) == 0 => {
                    faults.count(Counter::Lost);
                    return 0;
                }
                Disturbance::Doubles(one_in)
                    if copies == 1 && random.below(if regular { one_in } else { 2 }) == 0 =>
                {
                    faults.count(Counter::Doubled);
                    copies = 2;
                }
                _ => {}
            }
        }
        copies
    }
}

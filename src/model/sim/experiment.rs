//! A cluster that has a leader, and what becomes of it when somebody kills, freezes or cuts off its members, as
//! `electd lab` shows it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::clock::millis;
use super::counts::MessageCounts;
use super::deeds::{self, Cuts, Deed};
use super::drawing::Drawing;
use super::drops::Drops;
use super::members;
use super::network;
use super::node::Node;
use super::orders;
use super::settle;
use super::setup::{Delays, FaultSet, Setup};
use super::world::World;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{Epoch, Time};
use crate::core::{Core, Phase};
use crate::trace::{Detail, DrawnEvent, DrawnWhat};

/// How long the members have to elect their first leader and to come to rest.
const BEFORE: Duration = Duration::from_secs(3);
/// The most events of the world, so that a run takes a second or so of a processor.
const MOST_STEPS: u32 = 400_000;
/// The most events that are drawn.
const MOST_EVENTS: usize = 5000;

/// A cluster and what is done to it.
///
/// ```
/// use std::time::Duration;
/// use electd_election::core::settings::AlgorithmKind;
/// use electd_model::sim::{Deed, Experiment};
///
/// let kill = (Duration::from_millis(100), Deed::Kill(3));
/// let experiment = Experiment { deeds: vec![kill], ..Experiment::new(AlgorithmKind::Bully, 3) };
/// let observed = experiment.run().expect("it ends");
/// assert_eq!(observed.members[0].leader, Some(2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many members there are; the last leads at first.
    pub nodes: usize,
    /// What a leader needs.
    pub quorum: Quorum,
    /// How long messages take.
    pub delays: Delays,
    /// The seed of all random choices.
    pub seed: u64,
    /// What is done, and when, in the order of time.
    pub deeds: Vec<(Duration, Deed)>,
    /// The messages that are lost: sender, receiver, and the place among all from one to the other, from 1 on.
    pub lost: BTreeSet<(usize, usize, u64)>,
    /// When it ends.
    pub until: Duration,
}

/// Why there is nothing to be seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// What was to be done cannot be done then.
    #[error("{1}")]
    Idle(
        /// The place of the deed.
        usize,
        /// Why.
        &'static str,
    ),
    /// Too much happens.
    #[error("too much happens until {0} ms: end it earlier, or take fewer members")]
    Endless(
        /// By when, in milliseconds.
        u64,
    ),
    /// An invariant did not hold, or nobody came to lead before it began.
    #[error("this is a defect of electd: {0}")]
    Breach(String),
}

/// What was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOutcome {
    /// What happened.
    pub events: Vec<DrawnEvent>,
    /// The elections, until all live members followed one leader in a new epoch; last what was sent since.
    pub elections: Vec<Elected>,
    /// The members in the end.
    pub members: Vec<ObservedMember>,
    /// For how long nobody led, as far as any client could know.
    pub leaderless: Duration,
    /// For how long two or more did.
    pub rivalled: Duration,
}

/// An election, or what was sent without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elected {
    /// When all followed the leader; the end of the run if there was no election.
    pub at: Time,
    /// The leader, by its number, and its epoch; none if they do not agree.
    pub leader: Option<(usize, Epoch)>,
    /// Whether the epoch is another than before.
    pub is_new: bool,
    /// The numbers of the members that lived then, and were not frozen.
    pub alive: Vec<usize>,
    /// Its messages.
    pub messages: MessageCounts,
}

/// A member in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMember {
    /// Its phase; none if its process does not run.
    pub phase: Option<Phase>,
    /// The leader that it names, by its number.
    pub leader: Option<usize>,
    /// The epoch of that.
    pub epoch: Epoch,
    /// Whether its process does nothing.
    pub frozen: bool,
}

/// A run under way.
struct ExperimentRun {
    world: World,
    /// When it began.
    began: Time,
    steps: u32,
    cuts: Cuts,
    elections: Vec<Elected>,
    /// The messages that are part of an election that has ended.
    counted: MessageCounts,
    /// The last epoch on which all agreed.
    epoch: Epoch,
}

impl Experiment {
    /// A cluster to which nothing is done for a second.
    #[must_use]
    pub fn new(algorithm: AlgorithmKind, nodes: usize) -> Experiment {
        Experiment {
            algorithm,
            nodes,
            quorum: Quorum::None,
            delays: Delays::Lockstep,
            seed: 0,
            deeds: Vec::new(),
            lost: BTreeSet::new(),
            until: Duration::from_secs(1),
        }
    }

    /// Lives through it.
    ///
    /// # Errors
    /// If something cannot be done when it is to be, or too much happens.
    pub fn run(&self) -> Result<ExperimentOutcome, ExperimentError> {
        let mut run = self.begin()?;
        for (place, (after, deed)) in self.deeds.iter().enumerate() {
            run.go_on(*after)?;
            deeds::perform(&mut run.world, &mut run.cuts, deed)
                .map_err(|why| ExperimentError::Idle(place, why))?;
        }
        run.go_on(self.until)?;
        Ok(run.end())
    }

    /// The cluster with its leader.
    fn begin(&self) -> Result<ExperimentRun, ExperimentError> {
        let mut world = World::new(Setup {
            quorum: self.quorum,
            bootstrap: self.quorum == Quorum::Majority,
            trust_refused: self.quorum == Quorum::None,
            faults: FaultSet::All,
            delays: self.delays,
            seed: self.seed,
            ..Setup::plain(self.algorithm, vec![Some(0); self.nodes])
        });
        for node in 0..self.nodes {
            orders::start(&mut world, node);
            network::dial_all(&mut world, node);
        }
        let (elections, counted) = (Vec::new(), MessageCounts::default());
        let cuts = Cuts::default();
        let epoch = Epoch(0);
        let mut run =
            ExperimentRun { world, began: Time(0), steps: 0, cuts, elections, counted, epoch };
        run.go_on(BEFORE)?;
        let Some(Elected { leader: Some((leader, epoch)), .. }) = run.elections.pop() else {
            return Err(ExperimentError::Breach("nobody leads before it begins".to_owned()));
        };
        let world = &mut run.world;
        (run.began, run.steps, run.counted) = (world.now, 0, world.sent);
        run.elections.clear();
        let at = |number: usize| number.wrapping_sub(1); // no member is numbered 0
        let lost = self.lost.iter().map(|(from, to, place)| (at(*from), at(*to), *place));
        world.drops = Drops::of(lost.collect());
        world.setup.detail = Some(Detail::Election);
        world.drawing = Some(Drawing::default());
        let (label, reason) = (format!("leads in epoch {epoch}"), "it led before".to_owned());
        world.draw(leader - 1, |_| {
            Some(DrawnWhat::Becomes { phase: Phase::Leading, label, reason })
        });
        world.begin_uptime();
        Ok(run)
    }
}

impl ExperimentRun {
    /// Goes on until this long after the begin.
    fn go_on(&mut self, after: Duration) -> Result<(), ExperimentError> {
        let until = self.began + after;
        while self.world.step(until) {
            if let Some(breach) = self.world.checker.breach.take() {
                return Err(ExperimentError::Breach(breach));
            }
            self.steps += 1;
            self.world.lines.clear();
            let drawn = self.world.drawing.as_ref().map_or(0, Drawing::len);
            if self.steps > MOST_STEPS || drawn > MOST_EVENTS {
                let passed = self.world.now.since(self.began);
                return Err(ExperimentError::Endless(millis(Time(0) + passed) as u64));
            }
            self.count(false);
        }
        self.world.now = until;
        Ok(())
    }

    /// Notes an election that has ended; at the end also one that has not.
    fn count(&mut self, at_end: bool) {
        let world = &self.world;
        if world.sent.total() == self.counted.total() || (world.in_flight > 0 && !at_end) {
            return;
        }
        let mut alive = members::members_alive(world);
        let is_awake =
            |core: &Core| world.place(core.id()).is_some_and(|at| world.nodes[at].pause.is_none());
        alive.retain(|(_, core)| is_awake(core));
        let agreed = settle::agreed(world, &alive);
        let is_new = agreed.is_some_and(|(_, epoch)| epoch != self.epoch);
        if !is_new && !at_end {
            return; // they ask for a leader that they name still, or tell each other of it
        }
        self.epoch = agreed.map_or(self.epoch, |(_, epoch)| epoch);
        self.elections.push(Elected {
            at: shifted(world.now, self.began),
            leader: agreed.map(|(leader, epoch)| (leader + 1, epoch)),
            is_new,
            alive: alive.iter().map(|(at, _)| at + 1).collect(),
            messages: world.sent.since(&self.counted),
        });
        self.counted = world.sent;
    }

    fn end(mut self) -> ExperimentOutcome {
        self.count(true);
        let (mut world, began) = (self.world, self.began);
        let now = world.now;
        let (led, rivalled) =
            world.uptime.take().map_or_else(Default::default, |mut uptime| uptime.totals(now));
        let members = world.nodes.iter().map(|node| member(&world, node)).collect();
        let mut events = world.drawing.unwrap_or_default().finish(now);
        for event in &mut events {
            event.time = shifted(event.time, began);
            match &mut event.what {
                DrawnWhat::Sends { arrives: time, .. } | DrawnWhat::Waited { since: time, .. } => {
                    *time = shifted(*time, began);
                }
                _ => {}
            }
        }
        let leaderless = now.since(began).saturating_sub(led);
        ExperimentOutcome { events, elections: self.elections, members, leaderless, rivalled }
    }
}

/// A time as the reader counts it, from the begin on.
fn shifted(time: Time, began: Time) -> Time {
    Time(time.0.saturating_sub(began.0))
}

fn member(world: &World, node: &Node) -> ObservedMember {
    let core = node.core.as_ref();
    let leader = core.and_then(Core::leader).and_then(|leader| world.place(leader.id));
    ObservedMember {
        phase: core.map(Core::phase),
        leader: leader.map(|place| place + 1),
        epoch: core.map_or(node.disk.epoch(), |core| core.view().epoch),
        frozen: node.pause.is_some(),
    }
}

#[cfg(test)]
mod tests;

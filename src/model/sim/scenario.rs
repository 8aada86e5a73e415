//! Elections with chosen initiators, as `electd simulate` shows them.
//!
//! Members 1 to N are connected and know each other as alive before time 0; the greater
//! attribute ranks higher, then the greater number. Only the initiators start, at time 0. The run ends when the election is over:
//! all live members name the same live leader and no message of the election is on its way.

use std::collections::BTreeSet;
use std::time::Duration;

use super::drawing::Drawing;
use super::links::id;
use super::members;
use super::node::Death;
use super::orders;
use super::settle;
use super::setup::MOST_NODES;
use super::setup::{Delays, Setup, TIMING, majority};
use super::world::World;
use super::{MessageCounts, SimError};
use crate::core::detector::ConnectionId;
use crate::core::message::{Envelope, Message};
use crate::core::settings::{AlgorithmKind, PowerOn, Preempt, Quorum, RankKind, Timing};
use crate::core::types::{Epoch, Incarnation, Rank, Task, Time};
use crate::core::{CommandId, Input, OperatorCommand, Redial};
use crate::trace::{self, Detail, DrawnWhat, TraceLine};

/// An election to be run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many members there are.
    pub nodes: usize,
    /// The attribute of each, by which they are ranked; empty where the number alone ranks.
    pub attributes: Vec<i64>,
    /// What a leader needs.
    pub quorum: Quorum,
    /// Ring: whether the run of a greater initiator ends that of a lesser one.
    pub hierarchy: bool,
    /// The members that call the election at time 0, by number; the lowest live member if empty.
    pub initiators: Vec<usize>,
    /// The members that died just before, by number; the best of them led.
    pub crashed: Vec<usize>,
    /// Whether all others know of these deaths.
    pub detected: bool,
    /// How long messages take.
    pub delays: Delays,
    /// From which the delays are drawn.
    pub seed: u64,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// How an election ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioOutcome {
    /// The number of the leader.
    pub leader: usize,
    /// Its epoch.
    pub epoch: Epoch,
    /// The member that led before, and died.
    pub old_leader: Option<usize>,
    /// The messages of the election.
    pub messages: MessageCounts,
    /// When the election was over.
    pub time: Time,
    /// What happened.
    pub trace: Vec<TraceLine>,
    /// The same as values, to be drawn.
    pub events: Vec<trace::DrawnEvent>,
}

impl Scenario {
    /// A scenario in lock-step, in which all members live and the lowest calls the election.
    #[must_use]
    pub fn new(nodes: usize) -> Scenario {
        Scenario {
            algorithm: AlgorithmKind::default(),
            nodes,
            attributes: Vec::new(),
            quorum: Quorum::None,
            hierarchy: true,
            initiators: Vec::new(),
            crashed: Vec::new(),
            detected: false,
            delays: Delays::Lockstep,
            seed: 0,
            trace: false,
        }
    }

    /// Runs the election to its end.
    ///
    /// # Errors
    /// When the scenario makes no sense, or its election does not end.
    pub fn run(&self) -> Result<ScenarioOutcome, SimError> {
        let initiators = self.initiators()?;
        let dead = self.places("crash", &self.crashed)?;
        let mut world = self.world(&dead);
        world.connect_all();
        self.remember(&mut world, &dead);
        world.setup.detail = self.trace.then_some(Detail::Election);
        world.drawing = self.trace.then(Drawing::default);
        if let Some(leader) = self.led(&dead) {
            world.draw(leader, |_| Some(DrawnWhat::Led));
        }
        for node in &dead {
            world.die(*node, if self.detected { Death::Killed } else { Death::Vanished });
        }
        if self.time_out(&initiators, &dead) {
            return self.finish(world, &dead);
        }
        for node in initiators {
            let (id, command) = (CommandId(0), OperatorCommand::Elect);
            world.tell(Duration::ZERO, node, Input::Command { id, command });
        }
        self.finish(world, &dead)
    }

    /// The places of the initiators, once the scenario is known to make sense.
    fn initiators(&self) -> Result<BTreeSet<usize>, SimError> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(SimError::Nodes { nodes: self.nodes });
        }
        if !self.attributes.is_empty() && self.attributes.len() != self.nodes {
            let (given, nodes) = (self.attributes.len(), self.nodes);
            return Err(SimError::Attributes { given, nodes });
        }
        if !self.hierarchy && self.algorithm != AlgorithmKind::Ring {
            return Err(SimError::Hierarchy { algorithm: self.algorithm });
        }
        let crashed = self.places("crash", &self.crashed)?;
        let initiators = self.places("initiators", &self.initiators)?;
        if let Some(dead) = initiators.intersection(&crashed).next() {
            return Err(SimError::DeadInitiator { node: dead + 1 });
        }
        let (left, needed) = (self.nodes - crashed.len(), majority(self.nodes));
        if self.quorum == Quorum::Majority && 0 < left && left < needed {
            return Err(SimError::Minority { left, nodes: self.nodes, majority: needed });
        }
        if !initiators.is_empty() {
            return Ok(initiators);
        }
        let lowest = (0..self.nodes).find(|node| !crashed.contains(node));
        lowest.map(|node| BTreeSet::from([node])).ok_or(SimError::AllDead)
    }

    fn places(&self, list: &'static str, numbers: &[usize]) -> Result<BTreeSet<usize>, SimError> {
        let mut places = BTreeSet::new();
        for number in numbers {
            if !(1..=self.nodes).contains(number) {
                return Err(SimError::NoSuchNode { list, node: *number, nodes: self.nodes });
            }
            if !places.insert(number - 1) {
                return Err(SimError::Twice { list, node: *number });
            }
        }
        Ok(places)
    }

    /// The rank of the node at this place.
    fn rank(&self, place: usize) -> (i64, usize) {
        (self.attributes.get(place).copied().unwrap_or(0), place)
    }

    /// The leader before the run: the best of the crashed.
    fn led(&self, dead: &BTreeSet<usize>) -> Option<usize> {
        dead.iter().copied().max_by_key(|place| self.rank(*place))
    }

    fn world(&self, dead: &BTreeSet<usize>) -> World {
        // Where a lower member led, preemption cannot have been on.
        let best = (0..self.nodes).max_by_key(|place| self.rank(*place));
        let lower_led = self.led(dead).is_some_and(|leader| Some(leader) != best);
        let preempt = if lower_led { Preempt::Never } else { Preempt::Always };
        let by_id = self.attributes.is_empty();
        let values = (0..self.nodes).map(|place| Some(self.rank(place).0));
        let mut world = World::new(Setup {
            rank: if by_id { RankKind::Id } else { RankKind::Priority },
            quorum: self.quorum,
            bootstrap: self.quorum == Quorum::Majority,
            hierarchy: self.hierarchy,
            preempt,
            power_on: PowerOn::Wait,
            timing: self.timing(dead),
            delays: self.delays,
            disk: TIMING.message,
            seed: self.seed, // and no detail: the set-up is not part of the run
            ..Setup::plain(self.algorithm, values.collect())
        });
        for node in 0..self.nodes {
            orders::start(&mut world, node);
        }
        world
    }

    /// Halting: if all survivors initiate and none knows of the death, they all miss the coordinator
    /// simultaneously, and call it before they call an election (procedure Timeout). A single initiator
    /// calls the election itself, as the literature counts it.
    fn time_out(&self, initiators: &BTreeSet<usize>, dead: &BTreeSet<usize>) -> bool {
        let all = initiators.len() > 1 && initiators.len() + dead.len() == self.nodes;
        self.algorithm == AlgorithmKind::Halting && all && !dead.is_empty() && !self.detected
    }

    /// A halting election whose organizer asks many dead ones in turn takes longer than others
    /// would wait for their coordinator; but only the initiators are to start.
    fn timing(&self, dead: &BTreeSet<usize>) -> Timing {
        let initiators = self.initiators().unwrap_or_default();
        let alone = self.algorithm == AlgorithmKind::Halting && !self.time_out(&initiators, dead);
        let each = 2 + u32::try_from(dead.len()).unwrap_or(u32::MAX);
        let failure = if alone { TIMING.failure * each } else { TIMING.failure };
        Timing { failure, ..TIMING }
    }

    /// The best of the crashed members led before the run: the others follow it or, if the deaths are
    /// known, have just learned of them while nobody leads.
    fn remember(&self, world: &mut World, dead: &BTreeSet<usize>) {
        let Some(leader) = self.led(dead) else { return };
        let rank = Rank { value: self.rank(leader).0, id: world.id(leader) };
        let epoch = Epoch(0);
        world.checker.record_leader(epoch, rank.id);
        for node in (0..self.nodes).filter(|node| !dead.contains(node)) {
            if !self.detected {
                let connection = inbound(world, node, leader);
                for message in coming_to_lead(self.algorithm, epoch, rank) {
                    let envelope = Envelope { epoch, incarnation: Incarnation(1), message };
                    let input = Input::Message { connection, from: rank.id, envelope };
                    world.learn(node, input);
                }
                world.arm(node);
                continue;
            }
            for peer in dead {
                let connection = inbound(world, node, *peer);
                let (peer, redial) = (world.id(*peer), Redial::Refused);
                world.give(node, Input::Ended { connection, peer, redial });
            }
        }
    }

    /// Runs until the election is over.
    fn finish(
        &self,
        mut world: World,
        dead: &BTreeSet<usize>,
    ) -> Result<ScenarioOutcome, SimError> {
        // Nobody but the initiators begins before that.
        let unnoticed = self.timing(dead).failure;
        let limit = Time(0) + unnoticed + longest(world.nodes.len());
        while world.step(limit) {
            if let Some(breach) = world.checker.breach.take() {
                return Err(SimError::Breach(breach));
            }
            if world.in_flight == 0
                && let Some((leader, epoch)) =
                    settle::agreed(&world, &members::members_alive(&world))
            {
                let old_leader = self.led(dead).map(|place| place + 1);
                let (messages, time) = (world.sent, world.now);
                let (trace, drawing) = (world.lines, world.drawing.unwrap_or_default());
                let events = drawing.finish(world.now);
                return Ok(ScenarioOutcome {
                    leader: leader + 1,
                    epoch,
                    old_leader,
                    messages,
                    time,
                    trace,
                    events,
                });
            }
        }
        Err(SimError::Endless { time: limit })
    }
}

/// The messages that a member got from a new leader.
fn coming_to_lead(algorithm: AlgorithmKind, epoch: Epoch, rank: Rank) -> Vec<Message> {
    let (number, round, task) = (0, epoch, Task::default());
    match algorithm {
        AlgorithmKind::Halting => vec![
            Message::Halt { number, round, rank, incumbent: false },
            Message::Elected { number, round, task: task.version },
            Message::Ready { number, round, task },
        ],
        AlgorithmKind::Bully | AlgorithmKind::Ring => vec![Message::Coordinator { epoch, rank }],
    }
}

/// The connection on which a peer speaks to a node.
fn inbound(world: &mut World, node: usize, peer: usize) -> ConnectionId {
    id(world.network.link(peer, node).accepted.unwrap_or_default())
}

/// No election takes longer: a hundred `failure`s, and one more for each member, as each may have to
/// find the dead members by itself.
fn longest(nodes: usize) -> Duration {
    TIMING.failure * (100 + nodes as u32)
}

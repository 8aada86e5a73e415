//! The simulated world: nodes, their disks and the network between them, moved on event by
//! event. Everything follows from the seed.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::agenda::{Agenda, SimulatedEvent, Transit};
use super::checker::InvariantChecker;
use super::clock::Clock;
use super::coroners::SimulatedCoroners;
use super::counters::Faults;
use super::counts::MessageCounts;
use super::drawing::Drawing;
use super::drops::Drops;
use super::flights::Flights;
use super::jobs::Jobs;
use super::link_faults::LinkFaults;
use super::links::SimulatedNetwork;
use super::names::WantedNames;
use super::node::Node;
use super::questions::Questions;
use super::setup::{Delays, Setup, TIMING};
use super::terrain::Terrain;
use super::uptime::Uptime;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::random::Random;
use crate::core::settings::{Settings, Timing};
use crate::core::types::{NodeId, Time};
use crate::core::{CommandId, Core, Input, Output};
use crate::trace::{Detail, TraceLine};

/// The time of every message in lock-step.
const STEP: Duration = Duration::from_millis(10);

/// More events than any run has; a thousand nodes in one election make two million.
const MOST_STEPS: u64 = 20_000_000;

/// The changes that are asked for have this number; nothing else has.
pub(super) const CHANGE: CommandId = CommandId(2);

/// All nodes and the traffic between them.
#[derive(Debug)]
pub(super) struct World {
    pub now: Time,
    pub random: Random,
    pub setup: Setup,
    /// All that may ever belong to the cluster.
    pub members: Arc<MemberList>,
    /// The first list.
    pub founders: Arc<MemberList>,
    /// Whether members come and go.
    pub changes: bool,
    pub nodes: Vec<Node>,
    pub network: SimulatedNetwork,
    pub link_faults: LinkFaults,
    /// Single messages that are to be lost.
    pub drops: Drops,
    pub terrain: Terrain,
    /// Measures for how long a member leads, if that matters.
    pub uptime: Option<Uptime>,
    /// The jobs, which run only on hosts that lead, if there are any.
    pub jobs: Option<Jobs>,
    /// The names that members want, if they want any.
    pub names: Option<WantedNames>,
    /// The coroners of the hosts, if they have any.
    pub coroners: Option<SimulatedCoroners>,
    /// The longest of the timings that members were reloaded with, if any were.
    pub longest: Option<Timing>,
    /// The counters of its faults.
    pub faults: Faults,
    agenda: Agenda,
    steps: u64,
    /// Room for what a process answers, kept from one input to the next.
    pub outputs: Vec<Output>,
    pub checker: InvariantChecker,
    pub questions: Questions,
    /// How many messages of each kind were sent.
    pub sent: MessageCounts,
    /// How many of an election's messages are on their way.
    pub in_flight: u64,
    pub lines: Vec<TraceLine>,
    /// The same as values, if it is drawn.
    pub drawing: Option<Drawing>,
    /// What the processes took and put out, if that is recorded.
    pub flights: Option<Flights>,
    #[cfg(test)]
    pub records: Option<super::records::OwnRecords>,
}

/// The id of the node at this place: version 4, ascending.
fn node_id(at: usize) -> NodeId {
    let number = at as u128 + 1;
    NodeId(Uuid::from_u128((number << 96) | 0x4000_8000_0000_0000_0000 | number))
}

impl World {
    pub fn new(setup: Setup) -> World {
        let member = |at| Member {
            id: node_id(at),
            name: format!("node-{}", at + 1),
            address: format!("host-{}:7101", at + 1),
            admin: None,
            role: setup.roles.get(at).copied().unwrap_or_default(),
        };
        let size = setup.values.len();
        let list = |places: &dyn Fn(usize) -> bool| {
            let members = (0..size).filter(|at| places(*at)).map(member);
            Arc::new(MemberList::new(ListVersion::default(), members.collect()))
        };
        let is_new = |at: usize| setup.newcomers.contains(&at);
        let (members, founders) = (list(&|_| true), list(&|at| !is_new(at)));
        let named = |at: usize| {
            if is_new(at) { list(&|other| other == at || !is_new(other)) } else { founders.clone() }
        };
        let settings = |(at, (member, value)): (usize, (&Member, &Option<i64>))| Settings {
            algorithm: setup.algorithm,
            quorum: setup.quorum,
            preempt: setup.preempt,
            rank: setup.rank,
            value: *value,
            hierarchy: setup.hierarchy,
            trust_refused: setup.trust_refused,
            bootstrap: setup.bootstrap && !is_new(at),
            power_on: setup.power_on,
            ..Settings::new("simulated", member.id, named(at), setup.timing)
        };
        let clocks = setup.clocks.iter().copied().chain(std::iter::repeat(Clock::default()));
        let nodes = members.iter().zip(&setup.values).enumerate().map(settings).zip(clocks);
        World {
            now: Time(0),
            random: Random::new(setup.seed),
            nodes: nodes.map(|(settings, clock)| Node::new(settings, clock)).collect(),
            network: SimulatedNetwork::new(size),
            link_faults: LinkFaults::default(),
            drops: Drops::default(),
            terrain: Terrain::default(),
            uptime: None,
            jobs: None,
            names: None,
            coroners: None,
            longest: None,
            faults: Faults::default(),
            agenda: Agenda::default(),
            steps: 0,
            outputs: Vec::new(),
            checker: InvariantChecker::new(&setup),
            questions: Questions::new(size),
            sent: MessageCounts::default(),
            in_flight: 0,
            lines: Vec::new(),
            // A play tells its story by lines alone.
            drawing: (setup.detail == Some(Detail::All)).then(Drawing::default),
            flights: None,
            #[cfg(test)]
            records: None,
            changes: false,
            founders,
            members,
            setup,
        }
    }

    pub fn timing(&self) -> Timing {
        self.setup.timing
    }

    pub fn id(&self, node: usize) -> NodeId {
        self.nodes[node].settings.id
    }

    /// The place of a member, which its id tells (`node_id`).
    pub fn place(&self, id: NodeId) -> Option<usize> {
        let at = usize::try_from(id.0.as_u128() >> 96).ok()?.checked_sub(1)?;
        self.nodes.get(at).filter(|node| node.settings.id == id).map(|_| at)
    }

    pub fn others(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.nodes.len()).filter(move |other| *other != node)
    }

    pub fn live(&self) -> impl Iterator<Item = (usize, &Core)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(at, node)| node.core.as_ref().map(|core| (at, core)))
    }

    /// How long the next message takes, its processing included.
    pub fn delay(&mut self) -> Duration {
        match self.setup.delays {
            Delays::Lockstep => STEP,
            // Most are fast, so that orders vary; some take almost as long as they may.
            Delays::Short => self.random.up_to(TIMING.message / 20),
            Delays::Random if self.random.below(2) == 0 => self.random.up_to(TIMING.message / 20),
            Delays::Random => self.random.up_to(TIMING.message),
        }
    }

    /// How long the next message takes between two members.
    pub fn travel(&mut self, from: usize, to: usize) -> Duration {
        let lag = self.link_faults.lag(from, to, &mut self.random);
        self.delay() + lag
    }

    pub fn schedule(&mut self, at: Time, event: SimulatedEvent) {
        self.agenda.schedule(at, event);
    }

    /// Goes on to the next event, if there is one until then.
    pub fn next_event(&mut self, until: Time) -> Option<SimulatedEvent> {
        self.agenda.next().filter(|at| *at <= until)?;
        let (at, event) = self.agenda.take()?;
        self.now = at;
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.checker.fail(at, "it goes on and on");
        }
        Some(event)
    }

    /// Has a process told something, if it lives until then.
    pub fn tell(&mut self, after: Duration, node: usize, input: Input) {
        let incarnation = self.nodes[node].incarnation;
        self.schedule(
            self.now + after,
            SimulatedEvent::Input { node, incarnation, input: Box::new(input) },
        );
    }

    pub(super) fn transit(&mut self, after: std::time::Duration, transit: Transit) {
        self.schedule(self.now + after, SimulatedEvent::Transit(transit));
    }
}

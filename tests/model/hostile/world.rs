//! Members with real cores, a network between them, and one member that consists only of its messages.
//!
//! The network delivers everything, in order on each connection and within half of `message`, unless a
//! link is cut: then it loses what is sent there. Disks write within a few milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use electd_election::core::detector::ConnectionId;
use electd_election::core::message::{Envelope, Hello, Message};
use electd_election::core::random::Random;
use electd_election::core::restart::restart;
use electd_election::core::settings::{Settings, Timing};
use electd_election::core::types::{NodeId, Time};
use electd_election::core::{Core, Input, Output, Phase, Redial};

pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
    lease: Duration::from_millis(400),
};

/// The longest time that a message, or a dial, is under way.
const TRAVEL: Duration = Duration::from_millis(25);

/// Between the end of a connection and the next dial.
const BACK_OFF: Duration = Duration::from_millis(40);

/// A message from one end of a connection to the other, or an event at one member.
#[derive(Debug)]
enum Event {
    Tick(usize),
    Dial { from: usize, to: usize },
    Hello { connection: u64, hello: Box<Hello> },
    Welcome { connection: u64, hello: Box<Hello> },
    Message { connection: u64, envelope: Envelope },
    Ended { connection: u64, at_dialer: bool },
    Persisted { at: usize, number: u64 },
}

/// A connection, which carries messages from the dialer alone.
#[derive(Clone, Copy, Debug)]
struct Connection {
    from: usize,
    to: usize,
    /// When what was sent last arrives.
    last: Time,
}

/// The lying member, as the world calls it: its input and its messages.
pub trait Liar {
    /// Its first bytes when it dials.
    fn hello(&mut self, to: usize) -> Hello;
    /// A member tells it something.
    fn hears(&mut self, from: usize, envelope: &Envelope);
}

/// All members, by their places.
pub struct World<L> {
    pub now: Time,
    pub random: Random,
    pub liar: L,
    /// The place of the liar.
    pub hostile: usize,
    /// Whether the process of the liar runs.
    pub hostile_runs: bool,
    /// The cores of the others.
    pub cores: BTreeMap<usize, Core>,
    ids: Vec<NodeId>,
    events: BTreeMap<(Time, u64), Event>,
    ticks: BTreeMap<usize, Time>,
    connections: BTreeMap<u64, Connection>,
    /// The connection on which one end speaks to the other; none while it dials.
    links: BTreeMap<(usize, usize), Option<u64>>,
    /// When each member's disk has written all that it was given.
    written: BTreeMap<usize, Time>,
    /// Pairs between which nothing arrives.
    pub cuts: BTreeSet<(usize, usize)>,
    /// The outputs of the members since the last look: the member, and the output.
    pub outputs: Vec<(usize, Output)>,
    /// What members heard meanwhile about the end of a leadership: the member, the sender, and the
    /// message.
    pub heard: Vec<(usize, (NodeId, Message))>,
    count: u64,
}

/// A core that starts for the first time.
pub fn first_start(settings: Settings, seed: u64) -> Core {
    let restored = restart(None, &settings, None).unwrap();
    Core::new(Time(0), settings, restored, seed)
}

impl<L: Liar> World<L> {
    pub fn new(settings: Vec<Settings>, hostile: usize, liar: L, mut random: Random) -> World<L> {
        let ids = settings.iter().map(|settings| settings.id).collect();
        let others = settings.into_iter().enumerate().filter(|(at, _)| *at != hostile);
        let cores: BTreeMap<usize, Core> =
            others.map(|(at, settings)| (at, first_start(settings, random.draw()))).collect();
        let mut world = World {
            now: Time(0),
            random,
            liar,
            hostile,
            hostile_runs: true,
            cores,
            ids,
            events: BTreeMap::new(),
            ticks: BTreeMap::new(),
            connections: BTreeMap::new(),
            links: BTreeMap::new(),
            written: BTreeMap::new(),
            cuts: BTreeSet::new(),
            outputs: Vec::new(),
            heard: Vec::new(),
            count: 0,
        };
        for from in 0..world.ids.len() {
            for to in (0..world.ids.len()).filter(|to| *to != from) {
                world.dial_after(Duration::ZERO, from, to);
            }
            world.tick_when_due(from);
        }
        world
    }

    pub fn id(&self, at: usize) -> NodeId {
        self.ids[at]
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }

    /// The others that lead now, as each would publish it.
    pub fn leaders(&self) -> Vec<usize> {
        let leads = |core: &Core| {
            core.phase() == Phase::Leading
                && core.lease_until().is_none_or(|until| self.now < until)
        };
        self.cores.iter().filter(|(_, core)| leads(core)).map(|(at, _)| *at).collect()
    }

    /// Lets the next event happen, if there is one before this time; or lets time pass until then.
    pub fn step(&mut self, until: Time) -> bool {
        let Some((&(at, _), _)) = self.events.first_key_value() else { return false };
        if at > until {
            self.now = until;
            return false;
        }
        let Some((_, event)) = self.events.pop_first() else { return false };
        self.now = at;
        self.happen(event);
        true
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn travel(&mut self) -> Duration {
        Duration::from_micros(100) + self.random.up_to(TRAVEL)
    }

    fn dial_after(&mut self, pause: Duration, from: usize, to: usize) {
        if self.links.insert((from, to), None).is_none_or(|link| link.is_some()) {
            let travel = self.travel();
            self.schedule(self.now + pause + travel, Event::Dial { from, to });
        }
    }

    fn tick_when_due(&mut self, at: usize) {
        let Some(due) = self.cores.get(&at).and_then(Core::deadline) else { return };
        let due = due.max(self.now);
        if self.ticks.get(&at).is_none_or(|planned| due < *planned) {
            self.ticks.insert(at, due);
            self.schedule(due, Event::Tick(at));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            // An earlier tick replaced this one.
            Event::Tick(at) if self.ticks.get(&at) != Some(&self.now) => {}
            Event::Tick(at) => {
                self.ticks.remove(&at);
                self.give(at, Input::Tick);
            }
            Event::Persisted { at, number } => self.give(at, Input::Persisted { number }),
            Event::Dial { from, to } => self.dial(from, to),
            Event::Hello { connection, hello } => self.greeted(connection, *hello),
            Event::Welcome { connection, hello } => {
                let Some(&Connection { from, to, .. }) = self.connections.get(&connection) else {
                    return;
                };
                self.links.insert((from, to), Some(connection));
                self.give(from, Input::Welcomed { peer: self.id(to), welcome: *hello });
            }
            Event::Message { connection, envelope } => self.arrives(connection, envelope),
            Event::Ended { connection, at_dialer } => self.ended(connection, at_dialer),
        }
    }

    fn dial(&mut self, from: usize, to: usize) {
        if self.links.get(&(from, to)) != Some(&None) {
            return;
        }
        self.links.remove(&(from, to));
        if self.is_gone(from) {
            return;
        }
        if self.is_gone(to) {
            self.give(from, Input::Refused { peer: self.id(to) });
            return self.dial_after(BACK_OFF * 5, from, to);
        }
        if self.cuts.contains(&(from, to)) || self.cuts.contains(&(to, from)) {
            return self.dial_after(BACK_OFF, from, to);
        }
        self.count += 1;
        let connection = self.count;
        self.connections.insert(connection, Connection { from, to, last: self.now });
        self.links.insert((from, to), None);
        if from == self.hostile {
            let hello = Box::new(self.liar.hello(to));
            self.send(connection, |connection| Event::Hello { connection, hello });
        } else {
            self.give(from, Input::Dialed { peer: self.id(to), attempt: connection });
        }
    }

    fn is_gone(&self, at: usize) -> bool {
        at == self.hostile && !self.hostile_runs
    }

    /// An accepter gets the hello.
    fn greeted(&mut self, connection: u64, hello: Hello) {
        let Some(&Connection { from, to, .. }) = self.connections.get(&connection) else { return };
        if to == self.hostile {
            let welcome = Box::new(self.liar.hello(from));
            return self
                .back(connection, |connection| Event::Welcome { connection, hello: welcome });
        }
        let address = format!("host-{from}");
        self.give(to, Input::Hello { connection: ConnectionId(connection), address, hello });
    }

    fn arrives(&mut self, connection: u64, envelope: Envelope) {
        let Some(&Connection { from, to, .. }) = self.connections.get(&connection) else { return };
        if to == self.hostile {
            return self.liar.hears(from, &envelope);
        }
        let (connection, from) = (ConnectionId(connection), self.id(from));
        if let Message::Release { .. } | Message::Freed { .. } = envelope.message {
            self.heard.push((to, (from, envelope.message.clone())));
        }
        self.give(to, Input::Message { connection, from, envelope });
    }

    /// An end of a connection sees that the other end has closed it.
    fn ended(&mut self, connection: u64, at_dialer: bool) {
        let Some(Connection { from, to, .. }) = self.connections.remove(&connection) else {
            return;
        };
        let redial = if self.is_gone(from) { Redial::Refused } else { Redial::Accepted };
        if at_dialer {
            let link = self.links.get(&(from, to)).copied();
            if link == Some(Some(connection)) || link == Some(None) {
                self.links.remove(&(from, to));
                self.give(from, Input::Lost { peer: self.id(to) });
                self.dial_after(BACK_OFF, from, to);
            }
        } else {
            let (connection, peer) = (ConnectionId(connection), self.id(from));
            self.give(to, Input::Ended { connection, peer, redial });
        }
    }

    /// Hands a member an input, and carries out what it wants.
    pub fn give(&mut self, at: usize, input: Input) {
        let Some(core) = self.cores.get_mut(&at) else { return };
        let mut out = Vec::new();
        core.handle(self.now, input, &mut out);
        for output in out {
            self.carry_out(at, &output);
            self.outputs.push((at, output));
        }
        self.tick_when_due(at);
    }

    fn carry_out(&mut self, at: usize, output: &Output) {
        match output {
            Output::Hello { attempt, hello, .. } => {
                let hello = Box::new(hello.clone());
                self.send(*attempt, |connection| Event::Hello { connection, hello });
            }
            Output::Welcome { connection, welcome, .. } => {
                let hello = Box::new(welcome.clone());
                self.back(connection.0, |connection| Event::Welcome { connection, hello });
            }
            Output::Reject { connection, .. } | Output::Close { connection } => {
                self.back(connection.0, |connection| Event::Ended { connection, at_dialer: true });
            }
            Output::Send { to, envelope } => {
                for to in to.iter().filter_map(|id| self.place(*id)).collect::<Vec<_>>() {
                    self.say(at, to, envelope.clone());
                }
            }
            Output::Disconnect { peer } => {
                if let Some(peer) = self.place(*peer) {
                    self.disconnect(at, peer);
                }
            }
            Output::Dial { peer } => {
                if let Some(peer) = self.place(*peer)
                    && !self.links.contains_key(&(at, peer))
                {
                    self.dial_after(Duration::ZERO, at, peer);
                }
            }
            Output::Persist { number, .. } => {
                let written = self.now + self.random.up_to(Duration::from_millis(5));
                let last = self.written.entry(at).or_default();
                *last = written.max(*last); // one record after another
                let written = *last;
                self.schedule(written, Event::Persisted { at, number: *number });
            }
            _ => {}
        }
    }

    /// One end says something to the other, if it is connected.
    pub fn say(&mut self, from: usize, to: usize, envelope: Envelope) {
        if let Some(Some(connection)) = self.links.get(&(from, to)).copied()
            && !self.cuts.contains(&(from, to))
        {
            self.send(connection, |connection| Event::Message { connection, envelope });
        }
    }

    /// A dialer's messages arrive in order.
    fn send(&mut self, number: u64, event: impl FnOnce(u64) -> Event) {
        let travel = self.now + self.travel();
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.last = connection.last.max(travel);
        let at = connection.last;
        self.schedule(at, event(number));
    }

    /// The accepter's answer, or that it has closed the connection.
    fn back(&mut self, number: u64, event: impl FnOnce(u64) -> Event) {
        let at = self.now + self.travel();
        self.schedule(at, event(number));
    }

    /// One of the two ends their connections, and dials again.
    pub fn disconnect(&mut self, at: usize, peer: usize) {
        let between = |connection: &Connection| {
            let Connection { from, to, .. } = *connection;
            (from, to) == (at, peer) || (from, to) == (peer, at)
        };
        let open = self.connections.iter().filter(|(_, connection)| between(connection));
        for (number, from) in open.map(|(number, open)| (*number, open.from)).collect::<Vec<_>>() {
            // The other end learns of it.
            self.back(number, |connection| Event::Ended { connection, at_dialer: from == peer });
        }
        self.links.remove(&(at, peer));
        self.dial_after(BACK_OFF, at, peer);
    }

    /// The process of the liar ends: connections end, and dials are refused.
    pub fn end_hostile(&mut self) {
        self.hostile_runs = false;
        let hostile = self.hostile;
        let of = |connection: &Connection| [connection.from, connection.to].contains(&hostile);
        let open = self.connections.iter().filter(|(_, connection)| of(connection));
        for (number, from) in open.map(|(number, open)| (*number, open.from)).collect::<Vec<_>>() {
            self.back(number, |connection| Event::Ended { connection, at_dialer: from != hostile });
        }
    }
}

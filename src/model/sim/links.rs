//! The links and connections of the simulated network, and what became of each.

use std::time::Duration;

use super::agenda::{LinkWithToken, Payload};
use crate::core::detector::ConnectionId;
use crate::core::types::Time;

/// The first pause between two dials; it doubles up to `failure`.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// How long a dial to a host that does not answer takes.
pub(super) const DIAL_TIMEOUT: Duration = Duration::from_millis(400);

/// All links and connections.
#[derive(Debug)]
pub(super) struct SimulatedNetwork {
    size: usize,
    links: Vec<Link>,
    connections: Vec<SimulatedConnection>,
}

/// One member's state of its connection to another.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub state: LinkState,
    /// Changes with every state, so that what was meant for an earlier one is not done.
    token: u64,
    pub attempt: u64,
    pub pause: Duration,
    /// An order to dial waits until the present attempt has ended.
    pub redial: bool,
    /// The connection that the other side has welcomed.
    pub accepted: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkState {
    BackingOff,
    Dialing,
    /// Open to this incarnation of the other process; the core is asked what to say.
    Opened(u64),
    /// Has said hello.
    Greeting(usize),
    /// Has said hello, and is to be closed again.
    Doomed(usize),
    Up(usize),
}

#[derive(Debug)]
pub(super) struct SimulatedConnection {
    pub from: usize,
    pub to: usize,
    /// The incarnation of the process that accepted it.
    pub incarnation: u64,
    /// Nothing arrives before what was sent earlier.
    pub ready: Time,
    /// The accepter has closed it.
    pub shut: bool,
    /// The dialer would see its end if it looked.
    pub ended: bool,
    pub fate: Fate,
    /// The bytes that met a cut and are sent repeatedly, and since when none came through.
    pub stuck: Vec<Payload>,
    pub troubled: Option<Time>,
}

/// The state of a connection on the way between its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Whole,
    /// The accepter's end is gone: what arrives is answered with a reset.
    Reset,
    /// Everything sent on it vanishes.
    Hole,
}

impl SimulatedNetwork {
    pub fn new(size: usize) -> SimulatedNetwork {
        let link = Link {
            state: LinkState::BackingOff,
            token: 0,
            attempt: 0,
            pause: FIRST_PAUSE,
            redial: false,
            accepted: None,
        };
        SimulatedNetwork { size, links: vec![link; size * size], connections: Vec::new() }
    }

    pub fn link(&mut self, from: usize, to: usize) -> &mut Link {
        &mut self.links[from * self.size + to]
    }

    pub fn connection(&mut self, at: usize) -> &mut SimulatedConnection {
        &mut self.connections[at]
    }

    /// The dialer and the accepter of a connection.
    pub fn ends(&self, connection: usize) -> (usize, usize) {
        let connection = &self.connections[connection];
        (connection.from, connection.to)
    }

    pub fn enter(&mut self, from: usize, to: usize, state: LinkState) -> LinkWithToken {
        let link = self.link(from, to);
        link.state = state;
        link.token += 1;
        LinkWithToken { from, to, token: link.token }
    }

    pub fn matches_link(&mut self, pair: LinkWithToken) -> bool {
        self.link(pair.from, pair.to).token == pair.token
    }

    /// A connection to this incarnation of a process.
    pub fn connect(&mut self, from: usize, to: usize, incarnation: u64) -> usize {
        self.connections.push(SimulatedConnection {
            from,
            to,
            incarnation,
            ready: Time(0),
            shut: false,
            ended: false,
            fate: Fate::Whole,
            stuck: Vec::new(),
            troubled: None,
        });
        self.connections.len() - 1
    }
}

/// A connection's number as the core knows it.
pub(super) fn id(connection: usize) -> ConnectionId {
    ConnectionId(connection as u64)
}

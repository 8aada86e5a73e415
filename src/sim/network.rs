//! The simulated network: one connection per ordered pair of members, as in the real network.
//!
//! The dialer says HELLO and then only writes; the accepter answers and then only reads. The bytes of
//! one connection arrive in order. This file has what the processes do; `transit.rs` and
//! `half_open.rs` have what happens on the way, `arrival.rs` what comes to its ends.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::agenda::{Event, Payload, Transit};
use super::counters::Counter;
use super::links::FIRST_PAUSE;
use super::links::Fate;
use super::links::LinkState;
use super::links::PATIENCE;
use super::node::Death;
use super::world::World;
use crate::core::Input;
use crate::core::detector::ConnectionId;
use crate::core::membership::MemberList;
use crate::core::message::{Envelope, Hello, Kind, Rejection};
use crate::core::types::Time;

impl World {
    /// A new process dials all others.
    pub(super) fn dial_all(&mut self, from: usize) {
        let known = |to: &usize| self.dials(from, *to);
        let peers: Vec<usize> = self.others(from).filter(known).collect();
        for to in peers {
            self.network.link(from, to).pause = FIRST_PAUSE;
            self.dial_now(from, to);
        }
    }

    /// Whether a process dials another: its list has it.
    pub(super) fn dials(&self, from: usize, to: usize) -> bool {
        self.nodes[from].peers.get(self.id(to)).is_some()
    }

    pub(super) fn dial_now(&mut self, from: usize, to: usize) {
        let pair = self.network.enter(from, to, LinkState::Resting);
        self.transit(Duration::ZERO, Transit::Dial(pair));
    }

    /// Waits out the back-off before the next dial.
    pub(super) fn rest(&mut self, from: usize, to: usize) {
        let failure = self.nodes[from].settings.timing.failure;
        let link = self.network.link(from, to);
        if std::mem::take(&mut link.redial) {
            link.pause = FIRST_PAUSE;
            return self.dial_now(from, to);
        }
        let pause = link.pause;
        link.pause = (pause * 2).min(failure);
        let wait = pause / 2 + self.random.up_to(pause / 2);
        let pair = self.network.enter(from, to, LinkState::Resting);
        self.transit(wait, Transit::Dial(pair));
    }

    pub(super) fn say_hello(&mut self, from: usize, to: usize, attempt: u64, hello: Hello) {
        let link = self.network.link(from, to);
        if let LinkState::Opened(incarnation) = link.state
            && link.attempt == attempt
        {
            let connection = self.network.connect(from, to, incarnation);
            self.network.enter(from, to, LinkState::Greeting(connection));
            self.put(connection, Payload::Hello(Box::new(hello)));
            self.transit(PATIENCE, Transit::NoReply(connection));
        }
    }

    pub(super) fn welcome(&mut self, connection: ConnectionId, welcome: Hello) {
        let at = connection.0 as usize;
        let (from, to) = self.ends(at);
        self.network.link(from, to).accepted = Some(at);
        let delay = self.travel(to, from);
        if self.network.connection(at).fate == Fate::Reset {
            return self.transit(delay, Transit::Redial(at)); // it ended before it was welcomed
        }
        self.transit(delay, Transit::Reply(at, Ok(Box::new(welcome))));
    }

    pub(super) fn reject(&mut self, connection: ConnectionId, reason: Rejection) {
        let at = connection.0 as usize;
        let (from, to) = self.ends(at);
        let delay = self.travel(to, from);
        self.transit(delay, Transit::Reply(at, Err(Box::new(reason))));
    }

    /// Sends to one member, or drops what cannot be sent. Tells when it will arrive.
    pub(super) fn send(
        &mut self,
        from: usize,
        to: usize,
        envelope: &Rc<Envelope>,
        elects: bool,
    ) -> Option<Time> {
        let LinkState::Up(connection) = self.network.link(from, to).state else { return None };
        if self.network.connection(connection).ended {
            self.transit(Duration::ZERO, Transit::Broken(connection));
            return None;
        }
        let regular = matches!(envelope.message.kind(), Kind::Heartbeat | Kind::Acknowledge);
        let links = (from, to);
        let copies = self.link_faults.copies(links, regular, &mut self.random, &mut self.faults);
        if copies == 0 {
            self.say(from, || format!("what it sends to node-{} is lost", to + 1));
        }
        let message = |elects| Payload::Message { envelope: envelope.clone(), elects };
        if copies > 1 {
            // The copy comes whenever it likes, if its connection lives until then.
            let at = self.now + self.random.up_to(self.timing().failure * 2);
            self.note(at, Event::Transit(Transit::Arrives(connection, message(false))));
        }
        (copies > 0).then(|| self.put(connection, message(elects)))
    }

    /// Writes on a connection, in order. Returns when the bytes will arrive.
    pub(super) fn put(&mut self, connection: usize, payload: Payload) -> Time {
        let (from, to) = self.ends(connection);
        let arrival = self.now + self.travel(from, to);
        let ready = &mut self.network.connection(connection).ready;
        *ready = arrival.max(*ready);
        let at = *ready;
        let late = at.since(self.now) > self.timing().message;
        self.faults.add(Counter::Delayed, u64::from(late));
        self.note(at, Event::Transit(Transit::Arrives(connection, payload)));
        at
    }

    pub(super) fn ends(&mut self, connection: usize) -> (usize, usize) {
        let connection = self.network.connection(connection);
        (connection.from, connection.to)
    }

    /// The accepter closes a connection.
    pub(super) fn shut(&mut self, connection: usize) {
        let (from, to) = self.ends(connection);
        self.network.connection(connection).shut = true;
        let accepted = &mut self.network.link(from, to).accepted;
        accepted.take_if(|at| *at == connection);
        let delay = self.travel(to, from);
        self.transit(delay, Transit::Closed(connection));
    }

    /// A member closes its connections to and from another.
    pub(super) fn disconnect(&mut self, node: usize, peer: usize) {
        if let Some(connection) = self.network.link(peer, node).accepted {
            self.shut(connection);
        }
        match self.network.link(node, peer).state {
            LinkState::Up(connection) => self.hang_up(node, peer, connection),
            LinkState::Greeting(connection) => {
                self.network.link(node, peer).state = LinkState::Doomed(connection);
            }
            _ => {}
        }
    }

    /// The dialer closes a connection, and dials again after a back-off.
    pub(super) fn hang_up(&mut self, node: usize, peer: usize, connection: usize) {
        self.put(connection, Payload::End);
        let lost = Input::Lost { peer: self.id(peer) };
        self.tell(Duration::ZERO, node, lost);
        self.rest(node, peer);
    }

    /// Dials a member now; an order that comes during a dial waits for its end.
    pub(super) fn dial(&mut self, node: usize, peer: usize) {
        let link = self.network.link(node, peer);
        match link.state {
            LinkState::Resting => {
                link.pause = FIRST_PAUSE;
                self.dial_now(node, peer);
            }
            LinkState::Dialing | LinkState::Greeting(_) | LinkState::Doomed(_) => {
                link.redial = true;
            }
            LinkState::Opened(_) | LinkState::Up(_) => {}
        }
    }

    /// A process is gone, and with it its ends of all connections. If its host lives, it closes
    /// them, after what was sent on them.
    pub(super) fn cut_off(&mut self, node: usize, death: Death) {
        for peer in self.others(node) {
            let own = self.network.link(node, peer).state;
            if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) = own
                && death == Death::Killed
            {
                self.put(at, Payload::End);
            }
            self.network.enter(node, peer, LinkState::Resting);
            self.network.link(node, peer).redial = false;
            let theirs = self.network.link(peer, node);
            theirs.accepted = None;
            if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) =
                theirs.state
                && death == Death::Killed
            {
                let delay = self.travel(node, peer);
                self.transit(delay, Transit::Closed(at));
            }
        }
    }

    pub(super) fn transit(&mut self, after: std::time::Duration, transit: Transit) {
        self.note(self.now + after, Event::Transit(transit));
    }

    /// A process has another list from now on: it dials the new members and drops those that are gone.
    pub(super) fn take_list(&mut self, node: usize, list: Arc<MemberList>) {
        let before = std::mem::replace(&mut self.nodes[node].peers, list.clone());
        for peer in self.others(node) {
            let id = self.id(peer);
            match (before.get(id).is_some(), list.get(id).is_some()) {
                (false, true) => {
                    self.network.link(node, peer).pause = FIRST_PAUSE;
                    self.dial_now(node, peer);
                }
                (true, false) => self.let_go(node, peer),
                _ => {}
            }
        }
    }

    /// Sends what is queued for a peer, and closes all connections with it.
    fn let_go(&mut self, node: usize, peer: usize) {
        if let Some(connection) = self.network.link(peer, node).accepted {
            self.shut(connection);
        }
        if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) =
            self.network.link(node, peer).state
        {
            self.put(at, Payload::End);
        }
        self.network.enter(node, peer, LinkState::Resting);
        self.network.link(node, peer).redial = false;
    }

    /// Whether nothing comes through this way.
    pub(super) fn cuts(&mut self, from: usize, to: usize) -> bool {
        self.link_faults.cuts(from, to, &mut self.faults)
    }

    /// Whether it comes through one way or the other, so that nothing is acknowledged.
    pub(super) fn is_cut(&mut self, one: usize, other: usize) -> bool {
        let (there, back) = (self.cuts(one, other), self.cuts(other, one));
        there || back
    }
}

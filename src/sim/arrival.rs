//! What comes to an end of a connection: what arrives for a process is taken by it, and a dialer sees the end.

use std::rc::Rc;

use super::agenda::{Event, Payload, Transit};
use super::links::{LinkState, id};
use super::world::World;
use crate::core::Input;

/// The result of a dial.
pub(super) enum Door {
    /// A process of this incarnation.
    Open(u64),
    /// A host without the process.
    Closed,
    /// Nothing.
    Gone,
}

impl World {
    pub(super) fn door(&self, node: usize) -> Door {
        let node = &self.nodes[node];
        match (&node.core, node.host) {
            (Some(_), _) => Door::Open(node.incarnation),
            (None, true) => Door::Closed,
            (None, false) => Door::Gone,
        }
    }

    /// The accepter's process takes what arrived, when it is there to do so.
    pub(super) fn hand_over(&mut self, at: usize, payload: Payload) {
        let (_, to) = self.ends(at);
        if self.nodes[to].pause.is_none() {
            return self.taken(at, payload);
        }
        self.wait_for_process(Event::Transit(Transit::Taken(at, payload)));
    }

    pub(super) fn taken(&mut self, at: usize, payload: Payload) {
        let connection = self.network.connection(at);
        let (from, to, incarnation, shut) =
            (connection.from, connection.to, connection.incarnation, connection.shut);
        match self.door(to) {
            Door::Gone => self.transit(self.timing().failure, Transit::Broken(at)),
            Door::Open(present) if present == incarnation => match payload {
                Payload::Hello(hello) => {
                    let address = format!("host-{}", from + 1);
                    self.give(to, Input::Hello { connection: id(at), address, hello: *hello });
                }
                Payload::Message { envelope, .. } => {
                    let envelope = Rc::unwrap_or_clone(envelope);
                    self.draw_arrival(from, to, &envelope.message);
                    self.hears(to, from, &envelope.message);
                    self.hears_unknown(to, &envelope.message);
                    let from = self.id(from);
                    self.give(to, Input::Message { connection: id(at), from, envelope });
                }
                Payload::End if shut => {}
                Payload::End => {
                    let delay = self.travel(to, from);
                    self.transit(delay, Transit::Redial(at));
                }
            },
            // The process that accepted it is gone: its host resets the connection.
            Door::Open(_) | Door::Closed => {
                let delay = self.travel(to, from);
                self.transit(delay, Transit::Closed(at));
            }
        }
    }

    /// A dialer that waits for its welcome sees the end immediately; a dialer that only writes sees it
    /// when it checks: at the next send, or after `failure`.
    pub(super) fn closed(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        self.network.connection(at).ended = true;
        match self.network.link(from, to).state {
            LinkState::Up(up) if up == at => {
                let after = self.random.up_to(self.timing().failure);
                self.transit(after, Transit::Broken(at));
            }
            _ => self.broken(at),
        }
    }

    pub(super) fn broken(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        match self.network.link(from, to).state {
            LinkState::Up(up) if up == at => {
                self.rest(from, to);
                self.give(from, Input::Lost { peer: self.id(to) });
            }
            LinkState::Greeting(up) | LinkState::Doomed(up) if up == at => self.rest(from, to),
            _ => {}
        }
    }
}

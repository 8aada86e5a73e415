//! What comes to an end of a connection: what arrives for a process is taken by it, and a dialer sees the end.

use std::rc::Rc;

use super::agenda::{Payload, SimulatedEvent, Transit};
use super::links::{LinkState, id};
use super::named;
use super::network;
use super::speech;
use super::waiting;
use super::world::World;
use crate::core::Input;

/// The result of a dial.
pub(super) enum Port {
    /// A process of this incarnation.
    Open(u64),
    /// A host without the process, where a coroner listens, or is about to.
    Coroner,
    /// A host without the process.
    Closed,
    /// Nothing.
    Gone,
}

pub(super) fn port(world: &World, node: usize) -> Port {
    let coroners = world.coroners.as_ref();
    let listens = coroners.is_some_and(|coroners| coroners.listens(node, world.now));
    let node = &world.nodes[node];
    match (&node.core, node.host) {
        (Some(_), _) => Port::Open(node.incarnation),
        (None, true) if listens => Port::Coroner,
        (None, true) => Port::Closed,
        (None, false) => Port::Gone,
    }
}

/// The accepter's process takes what arrived, when it is there to do so.
pub(super) fn deliver(world: &mut World, at: usize, payload: Payload) {
    let (_, to) = world.network.ends(at);
    if world.nodes[to].pause.is_none() {
        return taken(world, at, payload);
    }
    waiting::wait_for_process(world, SimulatedEvent::Transit(Transit::Taken(at, payload)));
}

pub(super) fn taken(world: &mut World, at: usize, payload: Payload) {
    let connection = world.network.connection(at);
    let (from, to, incarnation, shut) =
        (connection.from, connection.to, connection.incarnation, connection.shut);
    match port(world, to) {
        Port::Gone => world.transit(world.timing().failure, Transit::Broken(at)),
        Port::Open(present) if present == incarnation => match payload {
            Payload::Hello(hello) => {
                let address = format!("host-{}", from + 1);
                world.give(to, Input::Hello { connection: id(at), address, hello: *hello });
            }
            Payload::Message { envelope, .. } => {
                let envelope = Rc::unwrap_or_clone(envelope);
                if is_present(world, at) {
                    speech::hears(world, to, from, &envelope);
                }
                speech::hears_unknown(world, to, &envelope.message);
                let from = world.id(from);
                world.give(to, Input::Message { connection: id(at), from, envelope });
            }
            Payload::Locks(word) => {
                let from = world.id(from);
                named::hear(world, to, from, &word);
            }
            Payload::End if shut => {}
            Payload::End => {
                let delay = world.travel(to, from);
                world.transit(delay, Transit::Redial(at));
            }
        },
        // The process that accepted it is gone: its host resets the connection.
        Port::Open(_) | Port::Coroner | Port::Closed => {
            let delay = world.travel(to, from);
            world.transit(delay, Transit::Closed(at));
        }
    }
}

/// Whether the accepter takes messages of this connection: it has neither closed it nor accepted another one of this dialer
/// since.
fn is_present(world: &World, at: usize) -> bool {
    let (from, to) = world.network.ends(at);
    let core = world.nodes[to].core.as_ref();
    let dialer = core.and_then(|core| core.detector().get(world.id(from)));
    dialer.is_some_and(|dialer| dialer.lines.inbound() == Some(id(at)))
}

/// A dialer that waits for its welcome sees the end immediately; a dialer that only writes sees it
/// when it checks: at the next send, or after `failure`.
pub(super) fn closed(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    world.network.connection(at).ended = true;
    match world.network.link(from, to).state {
        LinkState::Up(up) if up == at => {
            let after = world.random.up_to(world.timing().failure);
            world.transit(after, Transit::Broken(at));
        }
        _ => broken(world, at),
    }
}

pub(super) fn broken(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    match world.network.link(from, to).state {
        LinkState::Up(up) if up == at => {
            network::back_off(world, from, to);
            world.give(from, Input::Lost { peer: world.id(to) });
        }
        LinkState::Greeting(up) | LinkState::Doomed(up) if up == at => {
            network::back_off(world, from, to)
        }
        _ => {}
    }
}

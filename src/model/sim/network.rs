//! The simulated network: one connection per ordered pair of members, as in the real network.
//!
//! The dialer says HELLO and then only writes; the accepter answers and then only reads. The bytes of
//! one connection arrive in order. This file has what the processes do; `transit.rs` and
//! `half_open.rs` have what happens on the way, `arrival.rs` what comes to its ends.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::agenda::{Payload, SimulatedEvent, Transit};
use super::counters::Counter;
use super::links::DIAL_TIMEOUT;
use super::links::FIRST_PAUSE;
use super::links::Fate;
use super::links::LinkState;
use super::node::Death;
use super::world::World;
use crate::core::Input;
use crate::core::detector::ConnectionId;
use crate::core::membership::MemberList;
use crate::core::message::{Envelope, Hello, Kind, Rejection};
use crate::core::types::Time;

/// A new process dials all others.
pub(super) fn dial_all(world: &mut World, from: usize) {
    let known = |to: &usize| dials(world, from, *to);
    let peers: Vec<usize> = world.others(from).filter(known).collect();
    for to in peers {
        world.network.link(from, to).pause = FIRST_PAUSE;
        dial_now(world, from, to);
    }
}

/// Whether a process dials another: its list has it.
pub(super) fn dials(world: &World, from: usize, to: usize) -> bool {
    world.nodes[from].peers.get(world.id(to)).is_some()
}

pub(super) fn dial_now(world: &mut World, from: usize, to: usize) {
    let pair = world.network.enter(from, to, LinkState::BackingOff);
    world.transit(Duration::ZERO, Transit::Dial(pair));
}

/// Waits out the back-off before the next dial.
pub(super) fn back_off(world: &mut World, from: usize, to: usize) {
    let failure = world.nodes[from].settings.timing.failure;
    let link = world.network.link(from, to);
    if std::mem::take(&mut link.redial) {
        link.pause = FIRST_PAUSE;
        return dial_now(world, from, to);
    }
    let pause = link.pause;
    link.pause = (pause * 2).min(failure);
    let wait = pause / 2 + world.random.up_to(pause / 2);
    let pair = world.network.enter(from, to, LinkState::BackingOff);
    world.transit(wait, Transit::Dial(pair));
}

pub(super) fn say_hello(world: &mut World, from: usize, to: usize, attempt: u64, hello: Hello) {
    let link = world.network.link(from, to);
    if let LinkState::Opened(incarnation) = link.state
        && link.attempt == attempt
    {
        let connection = world.network.connect(from, to, incarnation);
        world.network.enter(from, to, LinkState::Greeting(connection));
        put(world, connection, Payload::Hello(Box::new(hello)));
        world.transit(DIAL_TIMEOUT, Transit::NoReply(connection));
    }
}

pub(super) fn welcome(world: &mut World, connection: ConnectionId, welcome: Hello) {
    let at = connection.0 as usize;
    let (from, to) = world.network.ends(at);
    world.network.link(from, to).accepted = Some(at);
    let delay = world.travel(to, from);
    if world.network.connection(at).fate == Fate::Reset {
        return world.transit(delay, Transit::Redial(at)); // it ended before it was welcomed
    }
    world.transit(delay, Transit::Reply(at, Ok(Box::new(welcome))));
}

pub(super) fn reject(world: &mut World, connection: ConnectionId, reason: Rejection) {
    let at = connection.0 as usize;
    let (from, to) = world.network.ends(at);
    let delay = world.travel(to, from);
    world.transit(delay, Transit::Reply(at, Err(Box::new(reason))));
}

/// A message that was sent.
pub(super) struct Sent {
    /// When it will arrive, or would.
    pub arrives: Time,
    /// Whether it was chosen to be lost.
    pub is_lost: bool,
}

/// Sends to one member, or drops what cannot be sent.
pub(super) fn send(
    world: &mut World,
    from: usize,
    to: usize,
    envelope: &Rc<Envelope>,
    elects: bool,
) -> Option<Sent> {
    let LinkState::Up(connection) = world.network.link(from, to).state else { return None };
    if world.network.connection(connection).ended {
        world.transit(Duration::ZERO, Transit::Broken(connection));
        return None;
    }
    if world.drops.takes((from, to), &envelope.message) {
        let arrives = world.now + world.travel(from, to);
        return Some(Sent { arrives, is_lost: true });
    }
    let regular = matches!(envelope.message.kind(), Kind::Heartbeat | Kind::Acknowledge);
    let links = (from, to);
    let copies = world.link_faults.copies(links, regular, &mut world.random, &mut world.faults);
    if copies == 0 {
        world.say(from, || format!("what it sends to node-{} is lost", to + 1));
    }
    let message = |elects| Payload::Message { envelope: envelope.clone(), elects };
    if copies > 1 {
        // The copy comes whenever it likes, if its connection lives until then.
        let at = world.now + world.random.up_to(world.timing().failure * 2);
        world.schedule(at, SimulatedEvent::Transit(Transit::Arrives(connection, message(false))));
    }
    (copies > 0).then(|| {
        let arrives = put(world, connection, message(elects));
        Sent { arrives, is_lost: false }
    })
}

/// Writes on a connection, in order. Returns when the bytes will arrive.
pub(super) fn put(world: &mut World, connection: usize, payload: Payload) -> Time {
    let (from, to) = world.network.ends(connection);
    let arrival = world.now + world.travel(from, to);
    let ready = &mut world.network.connection(connection).ready;
    *ready = arrival.max(*ready);
    let at = *ready;
    let late = at.since(world.now) > world.timing().message;
    world.faults.add(Counter::Delayed, u64::from(late));
    world.schedule(at, SimulatedEvent::Transit(Transit::Arrives(connection, payload)));
    at
}

/// The accepter closes a connection.
pub(super) fn shut(world: &mut World, connection: usize) {
    let (from, to) = world.network.ends(connection);
    world.network.connection(connection).shut = true;
    let accepted = &mut world.network.link(from, to).accepted;
    accepted.take_if(|at| *at == connection);
    let delay = world.travel(to, from);
    world.transit(delay, Transit::Closed(connection));
}

/// A member closes its connections to and from another.
pub(super) fn disconnect(world: &mut World, node: usize, peer: usize) {
    if let Some(connection) = world.network.link(peer, node).accepted {
        shut(world, connection);
    }
    match world.network.link(node, peer).state {
        LinkState::Up(connection) => hang_up(world, node, peer, connection),
        LinkState::Greeting(connection) => {
            world.network.link(node, peer).state = LinkState::Doomed(connection);
        }
        _ => {}
    }
}

/// The dialer closes a connection, and dials again after a back-off.
pub(super) fn hang_up(world: &mut World, node: usize, peer: usize, connection: usize) {
    put(world, connection, Payload::End);
    let lost = Input::Lost { peer: world.id(peer) };
    world.tell(Duration::ZERO, node, lost);
    back_off(world, node, peer);
}

/// Dials a member now; an order that comes during a dial waits for its end.
pub(super) fn dial(world: &mut World, node: usize, peer: usize) {
    let link = world.network.link(node, peer);
    match link.state {
        LinkState::BackingOff => {
            link.pause = FIRST_PAUSE;
            dial_now(world, node, peer);
        }
        LinkState::Dialing | LinkState::Greeting(_) | LinkState::Doomed(_) => {
            link.redial = true;
        }
        LinkState::Opened(_) | LinkState::Up(_) => {}
    }
}

/// A process is gone, and with it its ends of all connections. If its host lives, it closes
/// them, after what was sent on them.
pub(super) fn cut_off(world: &mut World, node: usize, death: Death) {
    for peer in world.others(node) {
        let own = world.network.link(node, peer).state;
        if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) = own
            && death == Death::Killed
        {
            put(world, at, Payload::End);
        }
        world.network.enter(node, peer, LinkState::BackingOff);
        world.network.link(node, peer).redial = false;
        let theirs = world.network.link(peer, node);
        theirs.accepted = None;
        if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) = theirs.state
            && death == Death::Killed
        {
            let delay = world.travel(node, peer);
            world.transit(delay, Transit::Closed(at));
        }
    }
}

/// A process has another list from now on: it dials the new members and drops those that are gone.
pub(super) fn adopt_list(world: &mut World, node: usize, list: Arc<MemberList>) {
    let before = std::mem::replace(&mut world.nodes[node].peers, list.clone());
    for peer in world.others(node) {
        let id = world.id(peer);
        match (before.get(id).is_some(), list.get(id).is_some()) {
            (false, true) => {
                world.network.link(node, peer).pause = FIRST_PAUSE;
                dial_now(world, node, peer);
            }
            (true, false) => let_go(world, node, peer),
            _ => {}
        }
    }
}

/// Sends what is queued for a peer, and closes all connections with it.
fn let_go(world: &mut World, node: usize, peer: usize) {
    if let Some(connection) = world.network.link(peer, node).accepted {
        shut(world, connection);
    }
    if let LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at) =
        world.network.link(node, peer).state
    {
        put(world, at, Payload::End);
    }
    world.network.enter(node, peer, LinkState::BackingOff);
    world.network.link(node, peer).redial = false;
}

/// Whether nothing comes through this way.
pub(super) fn cuts(world: &mut World, from: usize, to: usize) -> bool {
    world.link_faults.cuts(from, to, &mut world.faults)
}

/// Whether it comes through one way or the other, so that nothing is acknowledged.
pub(super) fn is_cut(world: &mut World, one: usize, other: usize) -> bool {
    let (there, back) = (cuts(world, one, other), cuts(world, other, one));
    there || back
}

//! Connections in trouble: what meets a cut is sent again until it comes through or its sender
//! gives up, and connections break with what is on its way.
//!
//! A real node's kernel gives up a connection on which nothing is acknowledged for `failure` (TCP's
//! user timeout); the dialer sees that at its next send, or when it looks after `failure`. The
//! accepter only reads: it notices nothing, until the dialer says hello again.

use super::agenda::{Payload, Transit};
use super::arrival;
use super::counters::Counter;
use super::links::{Fate, LinkState};
use super::network;
use super::world::World;

/// Something arrives, if its connection lives and no cut is on its way.
pub(super) fn come_through(world: &mut World, at: usize, payload: Payload) -> Option<Payload> {
    let (from, to) = world.network.ends(at);
    let failure = world.timing().failure;
    match world.network.connection(at).fate {
        Fate::Whole => {}
        fate => {
            world.faults.count(Counter::Tails);
            if fate == Fate::Reset {
                let delay = world.travel(to, from);
                world.transit(delay, Transit::Closed(at));
            } else {
                world.transit(failure, Transit::Broken(at));
            }
            return None;
        }
    }
    let (there, back) = (network::cuts(world, from, to), network::cuts(world, to, from));
    let now = world.now;
    let connection = world.network.connection(at);
    if (there || back) && connection.troubled.is_none() {
        connection.troubled = Some(now);
        world.transit(world.timing().message * 4, Transit::Retry(at));
    }
    let connection = world.network.connection(at);
    if there || !connection.stuck.is_empty() {
        connection.stuck.push(payload);
        return None;
    }
    Some(payload)
}

/// Bytes that a cut stopped are sent again, or given up.
pub(super) fn retry(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    let failure = world.timing().failure;
    let connection = world.network.connection(at);
    let whole = connection.fate == Fate::Whole;
    let Some(since) = connection.troubled.filter(|_| whole) else { return };
    let left = (since + failure).since(world.now);
    if !network::is_cut(world, from, to) {
        let connection = world.network.connection(at);
        connection.troubled = None;
        for payload in std::mem::take(&mut connection.stuck) {
            arrival::deliver(world, at, payload);
        }
    } else if left.is_zero() {
        break_connection(world, at, Fate::Hole);
        world.faults.count(Counter::HalfOpen);
        arrival::closed(world, at);
    } else {
        world.transit(left, Transit::Retry(at));
    }
}

/// The accepter's end of a connection was closed, which the dialer's host learns if it can.
pub(super) fn tell_dialer_of_end(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    if world.network.connection(at).fate == Fate::Hole {
        return;
    }
    if network::cuts(world, to, from) {
        let again = world.timing().message * 4;
        let jitter = world.random.up_to(again);
        return world.transit(again + jitter, Transit::Closed(at));
    }
    arrival::closed(world, at);
}

/// Breaks a connection with all that is on its way. The flags say whether its ends notice, and
/// whether the dialer notices immediately or only when it looks.
pub(super) fn snap(
    world: &mut World,
    from: usize,
    to: usize,
    dialer: Option<bool>,
    accepter: bool,
) {
    let (LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at)) =
        world.network.link(from, to).state
    else {
        return;
    };
    if world.network.connection(at).fate != Fate::Whole {
        return;
    }
    break_connection(world, at, if accepter { Fate::Reset } else { Fate::Hole });
    let unseen = dialer.is_none() || !accepter;
    world.faults.add(Counter::HalfOpen, u64::from(unseen));
    match dialer {
        Some(true) => world.transit(std::time::Duration::ZERO, Transit::Broken(at)),
        Some(false) => arrival::closed(world, at),
        None => {}
    }
    let shut = world.network.connection(at).shut;
    if accepter && !shut && world.network.link(from, to).accepted == Some(at) {
        let delay = world.delay();
        world.transit(delay, Transit::Redial(at));
    }
}

fn break_connection(world: &mut World, at: usize, fate: Fate) {
    let (from, to) = world.network.ends(at);
    let connection = world.network.connection(at);
    connection.fate = fate;
    let lost = std::mem::take(&mut connection.stuck).len();
    world.faults.count(Counter::Broken);
    world.faults.add(Counter::Tails, lost as u64);
    world.suffers(from, || format!("its connection to node-{} breaks", to + 1));
}

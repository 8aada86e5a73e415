//! The events in the simulated network between one process and another.

use super::agenda::LinkWithToken;
use super::agenda::Payload;
use super::agenda::SimulatedEvent;
use super::agenda::Transit;
use super::arrival;
use super::arrival::Port;
use super::coroners::CertificateWay;
use super::counters::Counter;
use super::half_open;
use super::links::{DIAL_TIMEOUT, Fate, LinkState, id};
use super::network;
use super::speech;
use super::terrain::Blocked;
use super::world::World;
use crate::core::death::DeathCertificate;
use crate::core::message::{Hello, Rejection};
use crate::core::protocol::Protocols;
use crate::core::types::Time;
use crate::core::{Input, Redial};

pub(super) fn move_on(world: &mut World, transit: Transit) {
    match transit {
        Transit::Dial(pair)
        | Transit::Dialed(pair)
        | Transit::Refused(pair)
        | Transit::TimedOut(pair)
        | Transit::Certified(pair, _)
        | Transit::Opened(pair, _)
            if !world.network.matches_link(pair) => {}
        Transit::Dial(pair) if !network::dials(world, pair.from, pair.to) => {}
        Transit::Dial(pair) => {
            let pair = world.network.enter(pair.from, pair.to, LinkState::Dialing);
            let delay = world.travel(pair.from, pair.to);
            world.transit(delay, Transit::Dialed(pair));
        }
        Transit::Dialed(pair) => dialed(world, pair),
        Transit::Opened(pair, incarnation) => opened(world, pair, incarnation),
        Transit::Refused(pair) => {
            network::back_off(world, pair.from, pair.to);
            world.give(pair.from, Input::Refused { peer: world.id(pair.to) });
        }
        Transit::TimedOut(pair) => network::back_off(world, pair.from, pair.to),
        Transit::Certified(pair, certificate) => {
            network::back_off(world, pair.from, pair.to);
            world.faults.count(Counter::Proofs);
            world.give(pair.from, Input::Dead(certificate));
        }
        Transit::Arrives(connection, payload) => arrives(world, connection, payload),
        Transit::Reply(connection, answer) => reply(world, connection, answer),
        Transit::Taken(connection, payload) => arrival::taken(world, connection, payload),
        Transit::Retry(connection) => half_open::retry(world, connection),
        Transit::Closed(connection) => half_open::tell_dialer_of_end(world, connection),
        Transit::NoReply(connection) => no_reply(world, connection),
        Transit::Broken(connection) => arrival::broken(world, connection),
        Transit::Redial(connection) => redial(world, connection),
    }
}

fn dialed(world: &mut World, pair: LinkWithToken) {
    let delay = world.travel(pair.to, pair.from);
    if network::is_cut(world, pair.from, pair.to) || delay > DIAL_TIMEOUT {
        return world.transit(DIAL_TIMEOUT, Transit::TimedOut(pair));
    }
    if let Some(blocked) = world.terrain.blocked(pair.from, pair.to) {
        world.faults.count(Counter::Astray);
        return match blocked {
            Blocked::Refused => world.transit(delay, Transit::Refused(pair)),
            Blocked::TimesOut => world.transit(DIAL_TIMEOUT, Transit::TimedOut(pair)),
        };
    }
    match arrival::port(world, pair.to) {
        Port::Open(incarnation) => world.transit(delay, Transit::Opened(pair, incarnation)),
        Port::Coroner => match coroner_answers(world, pair.from, pair.to) {
            Some((at, certificate)) => {
                world.schedule(
                    at + delay,
                    SimulatedEvent::Transit(Transit::Certified(pair, certificate)),
                );
            }
            None => world.transit(delay, Transit::TimedOut(pair)),
        },
        Port::Closed => world.transit(delay, Transit::Refused(pair)),
        Port::Gone => world.transit(DIAL_TIMEOUT, Transit::TimedOut(pair)),
    }
}

/// A coroner answers the dial of a process, and when the answer leaves; none that does not know what a certificate is, or
/// gets it later.
fn coroner_answers(world: &mut World, from: usize, to: usize) -> Option<(Time, DeathCertificate)> {
    let knows = world.nodes[from].settings.protocols.highest >= Protocols::OURS.highest;
    let now = world.now;
    let coroners = world.coroners.as_mut()?;
    let (at, certificate) = coroners.answer(to, now).filter(|_| knows)?;
    let way = coroners.way();
    if let CertificateWay::Twice(later) | CertificateWay::Late(later) = way {
        world.faults.count(Counter::Replayed);
        let incarnation = world.nodes[from].incarnation;
        let input = Box::new(Input::Dead(certificate));
        world.schedule(at + later, SimulatedEvent::Input { node: from, incarnation, input });
    }
    (!matches!(way, CertificateWay::Late(_))).then_some((at, certificate))
}

fn opened(world: &mut World, pair: LinkWithToken, incarnation: u64) {
    let LinkWithToken { from, to, .. } = pair;
    world.network.enter(from, to, LinkState::Opened(incarnation));
    let link = world.network.link(from, to);
    link.attempt += 1;
    link.redial = false;
    let attempt = link.attempt;
    world.give(from, Input::Dialed { peer: world.id(to), attempt });
}

fn arrives(world: &mut World, at: usize, payload: Payload) {
    speech::arrived(world, &payload);
    if let Some(payload) = half_open::come_through(world, at, payload) {
        arrival::deliver(world, at, payload);
    }
}

fn reply(world: &mut World, at: usize, reply: Result<Box<Hello>, Box<Rejection>>) {
    let (from, to) = world.network.ends(at);
    let state = world.network.link(from, to).state;
    let doomed = state == LinkState::Doomed(at);
    if !doomed && state != LinkState::Greeting(at) {
        return; // the dialer is gone, or saw the end of the connection
    }
    if world.network.connection(at).fate != Fate::Whole {
        return;
    }
    if network::cuts(world, to, from) {
        return world.transit(world.timing().message * 4, Transit::Reply(at, reply));
    }
    let peer = world.id(to);
    match reply {
        Ok(welcome) => {
            world.network.enter(from, to, LinkState::Up(at));
            world.network.link(from, to).pause = super::links::FIRST_PAUSE;
            world.give(from, Input::Welcomed { peer, welcome: *welcome });
            if doomed && world.network.link(from, to).state == LinkState::Up(at) {
                network::hang_up(world, from, to, at);
            } else {
                world.network.link(from, to).redial = false;
            }
        }
        Err(reason) => {
            network::back_off(world, from, to);
            world.give(from, Input::Rejected { peer, reason: *reason });
        }
    }
}

fn no_reply(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    let state = world.network.link(from, to).state;
    if [LinkState::Greeting(at), LinkState::Doomed(at)].contains(&state) {
        let delay = world.travel(from, to);
        world.transit(delay, Transit::Arrives(at, Payload::End));
        network::back_off(world, from, to);
    }
}

/// The accepter of a connection that ended learns how its redial went.
fn redial(world: &mut World, at: usize) {
    let (from, to) = world.network.ends(at);
    let cut = network::is_cut(world, to, from);
    let blocked = world.terrain.blocked(to, from);
    let (after, redial) = match arrival::port(world, from) {
        // A router may report immediately that the host is unreachable.
        _ if cut && world.random.below(2) == 0 => (world.delay(), Redial::Failed),
        _ if cut || blocked == Some(Blocked::TimesOut) => (DIAL_TIMEOUT, Redial::Failed),
        _ if blocked.is_some() => (world.delay(), Redial::Refused),
        Port::Open(_) => (world.delay(), Redial::Accepted),
        Port::Coroner => {
            let answer = coroner_answers(world, to, from);
            let delay = world.delay();
            if let Some((leaves, certificate)) = answer {
                world.faults.count(Counter::Proofs);
                let incarnation = world.network.connection(at).incarnation;
                let input = Box::new(Input::Dead(certificate));
                world.schedule(
                    leaves + delay,
                    SimulatedEvent::Input { node: to, incarnation, input },
                );
            }
            (world.delay(), Redial::Accepted)
        }
        Port::Closed => (world.delay(), Redial::Refused),
        Port::Gone => (DIAL_TIMEOUT, Redial::Failed),
    };
    let incarnation = world.network.connection(at).incarnation;
    let peer = world.id(from);
    let input = Box::new(Input::Ended { connection: id(at), peer, redial });
    world.schedule(world.now + after, SimulatedEvent::Input { node: to, incarnation, input });
}

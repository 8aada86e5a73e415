//! The events in the simulated network between one process and another.

use super::agenda::Event;
use super::agenda::Pair;
use super::agenda::Payload;
use super::agenda::Transit;
use super::arrival::Door;
use super::counters::Counter;
use super::links::{Fate, LinkState, PATIENCE, id};
use super::terrain::Blocked;
use super::world::World;
use crate::core::message::{Hello, Rejection};
use crate::core::{Input, Redial};

impl World {
    pub(super) fn move_on(&mut self, transit: Transit) {
        match transit {
            Transit::Dial(pair)
            | Transit::Knock(pair)
            | Transit::Refused(pair)
            | Transit::TimedOut(pair)
            | Transit::Opened(pair, _)
                if !self.network.is_present(pair) => {}
            Transit::Dial(pair) if !self.dials(pair.from, pair.to) => {}
            Transit::Dial(pair) => {
                let pair = self.network.enter(pair.from, pair.to, LinkState::Dialing);
                let delay = self.travel(pair.from, pair.to);
                self.transit(delay, Transit::Knock(pair));
            }
            Transit::Knock(pair) => self.knock(pair),
            Transit::Opened(pair, incarnation) => self.opened(pair, incarnation),
            Transit::Refused(pair) => {
                self.rest(pair.from, pair.to);
                self.give(pair.from, Input::Refused { peer: self.id(pair.to) });
            }
            Transit::TimedOut(pair) => self.rest(pair.from, pair.to),
            Transit::Arrives(connection, payload) => self.arrives(connection, payload),
            Transit::Reply(connection, reply) => self.reply(connection, reply),
            Transit::Taken(connection, payload) => self.taken(connection, payload),
            Transit::Retry(connection) => self.retry(connection),
            Transit::Closed(connection) => self.tell_dialer_of_end(connection),
            Transit::NoReply(connection) => self.no_reply(connection),
            Transit::Broken(connection) => self.broken(connection),
            Transit::Redial(connection) => self.redial(connection),
        }
    }

    fn knock(&mut self, pair: Pair) {
        let delay = self.travel(pair.to, pair.from);
        if self.is_cut(pair.from, pair.to) || delay > PATIENCE {
            return self.transit(PATIENCE, Transit::TimedOut(pair));
        }
        if let Some(blocked) = self.terrain.blocked(pair.from, pair.to) {
            self.faults.count(Counter::Astray);
            return match blocked {
                Blocked::Refused => self.transit(delay, Transit::Refused(pair)),
                Blocked::TimesOut => self.transit(PATIENCE, Transit::TimedOut(pair)),
            };
        }
        match self.door(pair.to) {
            Door::Open(incarnation) => self.transit(delay, Transit::Opened(pair, incarnation)),
            Door::Closed => self.transit(delay, Transit::Refused(pair)),
            Door::Gone => self.transit(PATIENCE, Transit::TimedOut(pair)),
        }
    }

    fn opened(&mut self, pair: Pair, incarnation: u64) {
        let Pair { from, to, .. } = pair;
        self.network.enter(from, to, LinkState::Opened(incarnation));
        let link = self.network.link(from, to);
        link.attempt += 1;
        link.redial = false;
        let attempt = link.attempt;
        self.give(from, Input::Dialed { peer: self.id(to), attempt });
    }

    fn arrives(&mut self, at: usize, payload: Payload) {
        self.arrived(&payload);
        if let Some(payload) = self.come_through(at, payload) {
            self.hand_over(at, payload);
        }
    }

    fn reply(&mut self, at: usize, reply: Result<Box<Hello>, Box<Rejection>>) {
        let (from, to) = self.ends(at);
        let state = self.network.link(from, to).state;
        let doomed = state == LinkState::Doomed(at);
        if !doomed && state != LinkState::Greeting(at) {
            return; // the dialer is gone, or saw the end of the connection
        }
        if self.network.connection(at).fate != Fate::Whole {
            return;
        }
        if self.cuts(to, from) {
            return self.transit(self.timing().message * 4, Transit::Reply(at, reply));
        }
        let peer = self.id(to);
        match reply {
            Ok(welcome) => {
                self.network.enter(from, to, LinkState::Up(at));
                self.network.link(from, to).pause = super::links::FIRST_PAUSE;
                self.give(from, Input::Welcomed { peer, welcome: *welcome });
                if doomed && self.network.link(from, to).state == LinkState::Up(at) {
                    self.hang_up(from, to, at);
                } else {
                    self.network.link(from, to).redial = false;
                }
            }
            Err(reason) => {
                self.rest(from, to);
                self.give(from, Input::Rejected { peer, reason: *reason });
            }
        }
    }

    fn no_reply(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        let state = self.network.link(from, to).state;
        if [LinkState::Greeting(at), LinkState::Doomed(at)].contains(&state) {
            let delay = self.travel(from, to);
            self.transit(delay, Transit::Arrives(at, Payload::End));
            self.rest(from, to);
        }
    }

    /// The accepter of a connection that ended learns how its redial went.
    fn redial(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        let cut = self.is_cut(to, from);
        let blocked = self.terrain.blocked(to, from);
        let (after, redial) = match self.door(from) {
            // A router may report immediately that the host is unreachable.
            _ if cut && self.random.below(2) == 0 => (self.delay(), Redial::Failed),
            _ if cut || blocked == Some(Blocked::TimesOut) => (PATIENCE, Redial::Failed),
            _ if blocked.is_some() => (self.delay(), Redial::Refused),
            Door::Open(_) => (self.delay(), Redial::Accepted),
            Door::Closed => (self.delay(), Redial::Refused),
            Door::Gone => (PATIENCE, Redial::Failed),
        };
        let incarnation = self.network.connection(at).incarnation;
        let peer = self.id(from);
        let input = Box::new(Input::Ended { connection: id(at), peer, redial });
        self.note(self.now + after, Event::Input { node: to, incarnation, input });
    }
}

//! Connections in trouble: what meets a cut is sent again until it comes through or its sender
//! gives up, and connections break with what is on its way.
//!
//! A real node's kernel gives up a connection on which nothing is acknowledged for `failure` (TCP's
//! user timeout); the dialer sees that at its next send, or when it looks after `failure`. The
//! accepter only reads: it notices nothing, until the dialer says hello again.

use super::agenda::{Payload, Transit};
use super::counters::Counter;
use super::links::{Fate, LinkState};
use super::world::World;

impl World {
    /// Something arrives, if its connection lives and no cut is on its way.
    pub(super) fn come_through(&mut self, at: usize, payload: Payload) -> Option<Payload> {
        let (from, to) = self.ends(at);
        let failure = self.timing().failure;
        match self.network.connection(at).fate {
            Fate::Whole => {}
            fate => {
                self.faults.count(Counter::Tails);
                if fate == Fate::Reset {
                    let delay = self.travel(to, from);
                    self.transit(delay, Transit::Closed(at));
                } else {
                    self.transit(failure, Transit::Broken(at));
                }
                return None;
            }
        }
        let (there, back) = (self.cuts(from, to), self.cuts(to, from));
        let now = self.now;
        let connection = self.network.connection(at);
        if (there || back) && connection.troubled.is_none() {
            connection.troubled = Some(now);
            self.transit(self.timing().message * 4, Transit::Retry(at));
        }
        let connection = self.network.connection(at);
        if there || !connection.stuck.is_empty() {
            connection.stuck.push(payload);
            return None;
        }
        Some(payload)
    }

    /// Bytes that a cut stopped are sent again, or given up.
    pub(super) fn retry(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        let failure = self.timing().failure;
        let connection = self.network.connection(at);
        let whole = connection.fate == Fate::Whole;
        let Some(since) = connection.troubled.filter(|_| whole) else { return };
        let left = (since + failure).since(self.now);
        if !self.is_cut(from, to) {
            let connection = self.network.connection(at);
            connection.troubled = None;
            for payload in std::mem::take(&mut connection.stuck) {
                self.hand_over(at, payload);
            }
        } else if left.is_zero() {
            self.break_connection(at, Fate::Hole);
            self.faults.count(Counter::HalfOpen);
            self.closed(at);
        } else {
            self.transit(left, Transit::Retry(at));
        }
    }

    /// The accepter's end of a connection was closed, which the dialer's host learns if it can.
    pub(super) fn tell_dialer_of_end(&mut self, at: usize) {
        let (from, to) = self.ends(at);
        if self.network.connection(at).fate == Fate::Hole {
            return;
        }
        if self.cuts(to, from) {
            let again = self.timing().message * 4;
            let jitter = self.random.up_to(again);
            return self.transit(again + jitter, Transit::Closed(at));
        }
        self.closed(at);
    }

    /// Breaks a connection with all that is on its way. The flags say whether its ends notice, and
    /// whether the dialer notices immediately or only when it looks.
    pub(super) fn snap(&mut self, from: usize, to: usize, dialer: Option<bool>, accepter: bool) {
        let (LinkState::Up(at) | LinkState::Greeting(at) | LinkState::Doomed(at)) =
            self.network.link(from, to).state
        else {
            return;
        };
        if self.network.connection(at).fate != Fate::Whole {
            return;
        }
        self.break_connection(at, if accepter { Fate::Reset } else { Fate::Hole });
        let unseen = dialer.is_none() || !accepter;
        self.faults.add(Counter::HalfOpen, u64::from(unseen));
        match dialer {
            Some(true) => self.transit(std::time::Duration::ZERO, Transit::Broken(at)),
            Some(false) => self.closed(at),
            None => {}
        }
        let shut = self.network.connection(at).shut;
        if accepter && !shut && self.network.link(from, to).accepted == Some(at) {
            let delay = self.delay();
            self.transit(delay, Transit::Redial(at));
        }
    }

    fn break_connection(&mut self, at: usize, fate: Fate) {
        let (from, to) = self.ends(at);
        let connection = self.network.connection(at);
        connection.fate = fate;
        let lost = std::mem::take(&mut connection.stuck).len();
        self.faults.count(Counter::Broken);
        self.faults.add(Counter::Tails, lost as u64);
        self.suffers(from, || format!("its connection to node-{} breaks", to + 1));
    }
}

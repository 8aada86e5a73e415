//! The places of a server, one for each connection: how many there are, and who gives up a place when none is free.
//!
//! It is a client that keeps its thread waiting, of the host with the most connections, and there the one that has made no
//! progress for longest. So whoever comes with a whole request gets an answer, however many come meanwhile, and whoever
//! takes its events keeps its stream. A host that floods the port takes places from itself, and if all come from one host,
//! as they do behind a proxy, the newest and the busy stay.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, Shutdown};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use socket2::Socket;

use super::limits;
use crate::net::Waiter;

/// A client host, as far as addresses distinguish hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientHost(IpAddr);

impl ClientHost {
    /// The host with this address. An IPv6 host may have any of 2^64 addresses, so the last 64 bits do not count.
    pub fn of(address: IpAddr) -> ClientHost {
        ClientHost(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address => address,
        })
    }
}

/// The places of a server.
#[derive(Default)]
pub struct ClientPlaces {
    state: Mutex<TakenPlaces>,
    /// A connection has ended, or waits for its client from now on, or the server stops.
    changed: Condvar,
    /// There are new events, or the place of a stream is lost.
    streams: Condvar,
}

#[derive(Default)]
struct TakenPlaces {
    /// The connections, by their numbers.
    taken: BTreeMap<u64, TakenPlace>,
    /// The last number that was given.
    last: u64,
    /// How often there were new events.
    news: u64,
    is_closing: bool,
}

/// A place that is taken.
struct TakenPlace {
    host: ClientHost,
    socket: Arc<Socket>,
    /// When the connection last made progress: it was accepted, a request was complete, or events were sent.
    since: Instant,
    /// Whether its thread waits for the client.
    waits: bool,
    /// Whether it has lost its place, and its thread is about to end.
    is_leaving: bool,
    purpose: ConnectionUse,
}

/// What a connection is used for at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionUse {
    /// Questions.
    Questions,
    /// A command, which the node carries out.
    Command,
    /// A stream of events.
    Stream,
    /// A question to another member.
    Peer,
    /// A question for an election, for which other members are asked.
    Election,
}

impl ConnectionUse {
    /// How many connections may be used for it at the same time.
    fn most(self) -> usize {
        match self {
            ConnectionUse::Questions => limits::CONNECTIONS,
            ConnectionUse::Command => limits::COMMANDS,
            ConnectionUse::Stream => limits::STREAMS,
            ConnectionUse::Peer => limits::PEERS,
            ConnectionUse::Election => limits::ELECTIONS,
        }
    }
}

impl TakenPlaces {
    /// The connections that have not lost their places.
    fn staying(&self) -> impl Iterator<Item = &TakenPlace> {
        self.taken.values().filter(|taken| !taken.is_leaving)
    }

    /// Whether this connection has lost its place, or the server stops.
    fn is_over(&self, number: u64) -> bool {
        self.is_closing || self.taken.get(&number).is_none_or(|taken| taken.is_leaving)
    }

    /// The connection that gives up its place first, if any can.
    fn first_to_go(&self) -> Option<u64> {
        let mut shares = BTreeMap::<ClientHost, usize>::new();
        self.staying().for_each(|taken| *shares.entry(taken.host).or_default() += 1);
        let can_go = self.taken.iter().filter(|(_, taken)| taken.waits && !taken.is_leaving);
        let first = can_go
            .max_by_key(|(number, taken)| (shares[&taken.host], Reverse((taken.since, *number))));
        first.map(|(number, _)| *number)
    }
}

impl ClientPlaces {
    /// Ends a connection.
    fn evict(&self, state: &mut TakenPlaces, number: u64) {
        if let Some(taken) = state.taken.get_mut(&number) {
            taken.is_leaving = true;
            let _ = taken.socket.shutdown(Shutdown::Both); // the client may have ended it
            self.streams.notify_all();
        }
    }

    /// Gives a newcomer a place, and ends another connection if there are too many. Waits while none of them can be
    /// ended, and while many that were ended are still there: both take no longer than this program takes to answer.
    pub fn admit(&self, socket: Socket, client: IpAddr) -> Place<'_> {
        let mut state = self.state.lock();
        state.last += 1;
        let number = state.last;
        let newcomer = TakenPlace {
            host: ClientHost::of(client),
            socket: Arc::new(socket),
            since: Instant::now(),
            waits: false,
            is_leaving: false,
            purpose: ConnectionUse::Questions,
        };
        let socket = newcomer.socket.clone();
        state.taken.insert(number, newcomer);
        while !state.is_closing && state.staying().count() > limits::CONNECTIONS {
            match state.first_to_go() {
                Some(first) => self.evict(&mut state, first),
                None => self.changed.wait(&mut state),
            }
        }
        while !state.is_closing && state.taken.len() > limits::CONNECTIONS + limits::LEAVING {
            self.changed.wait(&mut state);
        }
        Place { places: self, number, socket }
    }

    /// Ends the connection that is the first to go, if any can, for want of what it takes.
    pub fn make_room(&self) {
        let mut state = self.state.lock();
        if let Some(first) = state.first_to_go() {
            self.evict(&mut state, first);
        }
    }

    /// Wakes the threads of the streams: there are new events.
    pub fn tell_news(&self) {
        self.state.lock().news += 1;
        self.streams.notify_all();
    }

    /// How often there were new events.
    pub fn news(&self) -> u64 {
        self.state.lock().news
    }

    /// Whether the server stops.
    pub fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// The server stops: whoever has sent a request is answered, and nobody else is waited for.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closing = true;
        for taken in state.taken.values() {
            let _ = taken.socket.shutdown(Shutdown::Read); // the client may have ended it
        }
        self.changed.notify_all();
        self.streams.notify_all();
    }

    /// Waits until all connections have ended, and after this time ends those that still wait for their clients.
    pub fn clear(&self, grace: Duration) {
        let mut state = self.state.lock();
        let end = Instant::now() + grace;
        while !state.taken.is_empty() && !self.changed.wait_until(&mut state, end).timed_out() {}
        while !state.taken.is_empty() {
            while let Some(first) = state.first_to_go() {
                self.evict(&mut state, first);
            }
            self.changed.wait(&mut state);
        }
    }
}

/// The place of a connection, for its thread. Free again when it is dropped.
pub struct Place<'a> {
    places: &'a ClientPlaces,
    number: u64,
    socket: Arc<Socket>,
}

impl Place<'_> {
    /// The client's socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Does something that waits for the client. Meanwhile the connection may be ended to make room for another.
    pub fn wait<T>(&self, call: impl FnOnce() -> T) -> T {
        self.set_waiting(true);
        let done = call();
        self.set_waiting(false);
        done
    }

    /// Waits until there are more news than so many, or its place is lost, or for this long.
    pub fn wait_for_news(&self, seen: u64, limit: Duration) {
        let mut state = self.places.state.lock();
        let end = Instant::now() + limit;
        while state.news == seen
            && !state.is_over(self.number)
            && !self.places.streams.wait_until(&mut state, end).timed_out()
        {}
    }

    fn set_waiting(&self, waits: bool) {
        self.change(|taken| taken.waits = waits);
        if waits {
            self.places.changed.notify_all();
        }
    }

    /// The connection has made progress: a request was complete, or the client has got events.
    pub fn make_progress(&self) {
        self.change(|taken| taken.since = Instant::now());
    }

    /// Uses the connection for this from now on; false if as many are used for it as may be.
    pub fn begin(&self, purpose: ConnectionUse) -> bool {
        let mut state = self.places.state.lock();
        let used = state.staying().filter(|taken| taken.purpose == purpose).count();
        let is_free = used < purpose.most();
        if let Some(taken) = state.taken.get_mut(&self.number).filter(|_| is_free) {
            taken.purpose = purpose;
        }
        is_free
    }

    /// Uses the connection for questions again.
    pub fn end(&self) {
        self.change(|taken| taken.purpose = ConnectionUse::Questions);
    }

    /// Whether the connection has lost its place, or the server stops.
    pub fn is_over(&self) -> bool {
        self.places.state.lock().is_over(self.number)
    }

    fn change(&self, change: impl FnOnce(&mut TakenPlace)) {
        if let Some(taken) = self.places.state.lock().taken.get_mut(&self.number) {
            change(taken);
        }
    }
}

impl Waiter for &Place<'_> {
    fn wait<T>(&self, call: impl FnOnce() -> T) -> T {
        Place::wait(self, call)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.places.state.lock().taken.remove(&self.number);
        self.places.changed.notify_all();
    }
}

#[cfg(test)]
pub mod tests;

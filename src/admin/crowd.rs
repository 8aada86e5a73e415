//! All connections, with an index of what the server needs quickly: the next deadline, the connection to close when
//! there are too many, and the one to close when they keep too much memory.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use super::connection::Connection;
use super::limits;
use super::poller::{Interest, Poller};
use super::shares::{Host, Shares};

/// The connections, by their numbers.
pub struct Crowd {
    /// The most connections.
    most: usize,
    members: HashMap<u64, Box<Member>>,
    /// The last number that was given.
    last: u64,
    deadlines: BTreeSet<(Instant, u64)>,
    /// The connections that may be closed.
    shares: Shares,
    /// Of these, the connections that keep memory.
    laden: Shares,
    memory: usize,
}

/// A connection, and its entries in the lists.
struct Member {
    connection: Connection,
    host: Host,
    noted: Noted,
}

#[derive(Clone, Copy)]
struct Noted {
    interest: Interest,
    since: Option<Instant>,
    deadline: Option<Instant>,
    memory: usize,
}

impl Noted {
    const NOTHING: Noted =
        Noted { interest: Interest::Nothing, since: None, deadline: None, memory: 0 };

    fn of(connection: &Connection) -> Noted {
        Noted {
            interest: connection.interest(),
            since: connection.since(),
            deadline: connection.deadline(),
            memory: connection.memory(),
        }
    }

    /// When it last made progress, if it keeps memory.
    fn laden(self) -> Option<Instant> {
        self.since.filter(|_| self.memory > 0)
    }
}

impl Crowd {
    /// No connection yet.
    pub fn new(most: usize) -> Crowd {
        Crowd {
            most,
            members: HashMap::new(),
            last: 0,
            deadlines: BTreeSet::new(),
            shares: Shares::default(),
            laden: Shares::default(),
            memory: 0,
        }
    }

    /// Adds a connection, and returns its number. The caller notes it after its first turn. A client without an
    /// address is on this host.
    pub fn add(&mut self, connection: Connection, client: Option<IpAddr>) -> u64 {
        self.last += 1;
        let host = Host::of(client.unwrap_or(Ipv4Addr::LOCALHOST.into()));
        let member = Box::new(Member { connection, host, noted: Noted::NOTHING });
        self.members.insert(self.last, member);
        self.last
    }

    /// The connection with this number, if it is still there.
    pub fn get(&mut self, number: u64) -> Option<&mut Connection> {
        self.members.get_mut(&number).map(|member| &mut member.connection)
    }

    /// Updates the lists after a connection made progress.
    pub fn note(&mut self, number: u64, poller: &Poller) {
        let Some(member) = self.members.get_mut(&number) else { return };
        let now = Noted::of(&member.connection);
        let (before, host) = (std::mem::replace(&mut member.noted, now), member.host);
        let (socket, from) = (member.connection.socket(), before.interest);
        let watched = poller.change(socket, number, from, now.interest);
        self.list(number, host, before, now);
        if let Err(error) = watched {
            log::warn!("cannot watch an admin connection, so it is closed: {error}");
            self.remove(number);
        }
    }

    /// Gives a connection away, and watches it no longer.
    pub fn take(&mut self, number: u64, poller: &Poller) -> Option<Connection> {
        let member = self.members.remove(&number)?;
        let (socket, interest) = (member.connection.socket(), member.noted.interest);
        if let Err(error) = poller.change(socket, number, interest, Interest::Nothing) {
            log::warn!("an admin connection is still watched: {error}");
        }
        self.list(number, member.host, member.noted, Noted::NOTHING);
        Some(member.connection)
    }

    /// Closes a connection.
    pub fn remove(&mut self, number: u64) {
        if let Some(member) = self.members.remove(&number) {
            self.list(number, member.host, member.noted, Noted::NOTHING);
        }
    }

    /// Replaces the entries of a connection in the lists.
    fn list(&mut self, number: u64, host: Host, before: Noted, now: Noted) {
        if before.deadline != now.deadline {
            if let Some(at) = before.deadline {
                self.deadlines.remove(&(at, number));
            }
            self.deadlines.extend(now.deadline.map(|at| (at, number)));
        }
        let turn = |since: Option<Instant>| since.map(|since| (since, number));
        self.shares.replace(host, turn(before.since), turn(now.since));
        self.laden.replace(host, turn(before.laden()), turn(now.laden()));
        self.memory = self.memory + now.memory - before.memory;
    }

    /// Whether there are more connections than allowed.
    pub fn is_overfull(&self) -> bool {
        self.members.len() > self.most
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn numbers(&self) -> Vec<u64> {
        self.members.keys().copied().collect()
    }

    /// Closes the connection that is the first to go, if any may be closed.
    pub fn evict(&mut self) {
        if let Some(number) = self.shares.first_to_go() {
            self.remove(number);
        }
    }

    /// Closes connections until they all keep no more memory than allowed.
    pub fn relieve(&mut self) {
        while self.memory > limits::KEPT_BYTES
            && let Some(number) = self.laden.first_to_go()
        {
            self.remove(number);
        }
    }

    /// The next deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// A connection whose deadline has passed.
    pub fn expired(&self, now: Instant) -> Option<u64> {
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, number)| *number)
    }
}

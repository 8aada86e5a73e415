//! The network: connections as inputs of the core, and the core's outputs as frames.
//!
//! One connection per ordered pair of members. The dialer's writer thread says HELLO; then its
//! side only writes. The accepter's reader thread answers and then only reads. With TLS a handshake comes before
//! the HELLO.

mod bind;
mod channel;
mod counters;
mod deadline;
mod dials;
mod failure_time;
mod first_word;
mod greeting;
mod inbound;
mod inbox;
mod line;
mod listener;
mod newcomer;
mod outbound;
mod own;
mod peers;
mod places;
mod refused;
pub mod rejections;
mod threads;
mod writer;

use std::io;
use std::net::TcpStream;
use std::time::Duration;
use std::time::Instant;

use crate::core::{Input, Output};

pub use bind::listen;
pub use counters::Counters;
pub use deadline::{Deadline, Waiter};
use failure_time::FailureTime;
use greeting::Greeter;
use inbound::{Inbound, Reception};
pub use inbox::{Answering, Inbox, NetEvent, NoAnswer, ThreadEnd};
use listener::PeerListener;
use newcomer::Newcomer;
use outbound::Outbound;
pub use own::{MOST_SOCKETS, Other, OwnAddress, OwnListener};
pub use peers::{PeerAddress, Peers};
use places::MemberPlaces;
pub use refused::{Refusals, Who};
pub use writer::NetworkContext;

/// Looks host:port up as a node would, all of them at once. Returns for each what is wrong: it has no address, or has
/// not got one within `limit`.
pub fn look_up(names: &[&str], limit: Duration) -> Vec<Option<io::Error>> {
    let (places, end) = (MemberPlaces::default(), Instant::now() + limit);
    for name in names {
        let _ = places.resolve(name, Duration::ZERO); // asks, and leaves the answer for the next call
    }
    let failure =
        |name: &&str| places.resolve(name, end.saturating_duration_since(Instant::now())).err();
    names.iter().map(failure).collect()
}

/// Connects to host:port within `limit`, once the name service has answered within `name`.
///
/// # Errors
/// When the name has no address, or nobody listens there.
pub fn dial(place: &str, name: Duration, limit: Duration) -> io::Result<TcpStream> {
    deadline::connect(&MemberPlaces::default().resolve(place, name)?, limit)
}

/// The network of one node.
pub struct Net {
    inbound: Inbound,
    outbound: Outbound,
    listener: PeerListener,
    peers: Peers,
    failure_time: FailureTime,
}

impl Net {
    /// Starts the listener on a bound socket, and a writer for each peer.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(
        socket: OwnListener,
        peers: Vec<PeerAddress>,
        failure: Duration,
        surroundings: NetworkContext,
        seed: u64,
    ) -> io::Result<Net> {
        let failure_time = FailureTime::new(failure);
        surroundings.peers.replace(peers.clone());
        let shared = surroundings.clone();
        let outbound = Outbound::start(&peers, &failure_time, shared, seed)?;
        let NetworkContext { inbox, places, peers, security, refusals, counters, realtime } =
            surroundings;
        let greeter = Greeter { peers: peers.clone(), security, refusals };
        let (failure, known) = (failure_time.clone(), peers.clone());
        let reception = Reception {
            peers: known,
            greeter,
            places,
            failure_time: failure,
            inbox,
            counters,
            realtime,
        };
        let listener = PeerListener::start(socket, reception)?;
        Ok(Net { inbound: Inbound::default(), outbound, listener, peers, failure_time })
    }

    /// Dials exactly these peers from now on. A connection to a peer that has another address now stays. Never waits: the
    /// threads of all other peers end by themselves, once they have sent their queues.
    pub fn set_peers(&mut self, peers: Vec<PeerAddress>) {
        self.peers.replace(peers.clone());
        for gone in self.outbound.set_peers(&peers) {
            self.inbound.disconnect(gone);
        }
    }

    /// Another `failure` from now on.
    pub fn set_failure(&self, failure: Duration) {
        self.failure_time.set(failure);
    }

    /// Takes a dialer's hello, to be answered by a later output.
    pub fn admit(&mut self, newcomer: Newcomer) -> Input {
        self.inbound.admit(newcomer)
    }

    /// Carries out an output that concerns the network; gives back any other. A message leaves before the next output
    /// of another kind is carried out, or with [`Net::flush`].
    pub fn carry(&mut self, output: Output) -> Option<Output> {
        if !matches!(output, Output::Send { .. }) {
            self.flush();
        }
        match output {
            Output::Hello { to, attempt, hello } => self.outbound.hello(to, attempt, &hello),
            Output::Welcome { connection, peer, welcome } => {
                self.inbound.welcome(connection, peer, &welcome);
            }
            Output::Reject { connection, reason } => self.inbound.reject(connection, &reason),
            Output::Send { to, envelope } => self.outbound.send(to, &envelope),
            Output::Close { connection } => self.inbound.close(connection),
            Output::Disconnect { peer } => {
                self.inbound.disconnect(peer);
                self.outbound.disconnect(peer);
            }
            Output::Dial { peer } => self.outbound.dial(peer),
            other => return Some(other),
        }
        None
    }

    /// Sends the messages that have not left yet.
    pub fn flush(&mut self) {
        self.outbound.flush();
    }

    /// Sends what is queued, closes all connections and, last, the listener. Joins all threads.
    pub fn stop(self) {
        self.outbound.stop();
        self.listener.stop();
    }
}

#[cfg(test)]
mod tests;

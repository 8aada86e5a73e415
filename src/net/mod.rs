//! The network: connections as inputs of the core, and the core's outputs as frames.
//!
//! One connection per ordered pair of members. The dialer's writer thread says HELLO; then its
//! side only writes. The accepter's reader thread answers and then only reads.

mod bind;
mod counters;
mod deadline;
mod inbound;
mod line;
mod listener;
mod outbound;
mod peers;
mod places;
mod writer;

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use crossbeam::channel::{SendError, Sender};
use std::sync::Arc;

use crate::core::types::NodeId;
use crate::core::{Input, Output};

pub use bind::listen;
pub use counters::Counters;
use inbound::{Inbound, Knock, Reception};
use listener::Listener;
use outbound::Outbound;
use peers::Peers;
use places::Places;

/// No step of a connection's set-up or end takes longer, so that a node stops within a second.
const STEP: Duration = Duration::from_millis(400);

/// A member to dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// The member.
    pub id: NodeId,
    /// Its name, for the names of threads.
    pub name: String,
    /// host:port; a name is resolved at every dial.
    pub address: String,
    /// Whether it ranks above this process, and so leads before it.
    pub higher: bool,
}

/// What the network tells the election thread.
#[derive(Debug)]
pub enum Event {
    /// An input of the core.
    Input(Input),
    /// A dialer's hello, with the means to answer it.
    Knock(Box<Knock>),
}

/// Where events go. The queue is bounded: readers wait when the election thread is behind.
#[derive(Clone)]
pub struct Inbox(Arc<dyn Fn(Event) -> bool + Send + Sync>);

impl Inbox {
    /// An inbox that wraps events into whatever the channel carries.
    pub fn new<T: From<Event> + Send + 'static>(channel: Sender<T>) -> Inbox {
        Inbox(Arc::new(move |event| {
            channel.send(T::from(event)).map_err(|SendError(_)| ()).is_ok()
        }))
    }

    /// Hands an event over. False when the election thread has ended.
    fn send(&self, event: Event) -> bool {
        (self.0)(event)
    }

    fn input(&self, input: Input) -> bool {
        self.send(Event::Input(input))
    }
}

/// The network of one node.
pub struct Net {
    inbound: Inbound,
    outbound: Outbound,
    listener: Listener,
    peers: Peers,
}

impl Net {
    /// Starts the listener on a bound socket, and a writer for each peer.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(
        socket: TcpListener,
        peers: Vec<PeerAddress>,
        failure: Duration,
        inbox: Inbox,
        counters: Arc<Counters>,
        seed: u64,
    ) -> io::Result<Net> {
        let patience = failure.min(STEP);
        let places = Places::default();
        let outbound = Outbound::start(&peers, failure, (&inbox, &places), &counters, seed)?;
        let peers = Peers::new(peers);
        let reception = Reception { peers: peers.clone(), places, patience, inbox, counters };
        let listener = Listener::start(socket, reception)?;
        Ok(Net { inbound: Inbound::default(), outbound, listener, peers })
    }

    /// Dials these from now on, and nobody else. Never waits: the threads of those that are not
    /// among them end by themselves, once they have sent what is queued.
    pub fn set_peers(&mut self, peers: Vec<PeerAddress>) {
        for gone in self.outbound.set_peers(&peers) {
            self.inbound.disconnect(gone);
        }
        self.peers.replace(peers);
    }

    /// Takes a dialer's hello, to be answered by a later output.
    pub fn admit(&mut self, knock: Knock) -> Input {
        self.inbound.admit(knock)
    }

    /// Carries out an output that concerns the network; gives back any other.
    pub fn carry(&mut self, output: Output) -> Option<Output> {
        match output {
            Output::Hello { to, attempt, hello } => self.outbound.hello(to, attempt, &hello),
            Output::Welcome { connection, peer, welcome } => {
                self.inbound.welcome(connection, peer, &welcome);
            }
            Output::Reject { connection, reason } => self.inbound.reject(connection, &reason),
            Output::Send { to, envelope } => self.outbound.send(&to, &envelope),
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

    /// Sends what is queued, closes all connections and, last, the listener. Joins all threads.
    pub fn stop(self) {
        self.outbound.stop();
        self.listener.stop();
    }
}

/// The name of a thread that serves one peer. A zero character would end the process: none is in the
/// name of a member, but a thread without it does not depend on that.
fn thread_name(role: &str, peer: &str) -> String {
    let name = format!("{role}-{peer}");
    name.chars().filter(|c| *c != '\0').collect()
}

/// Renames this thread once it is known whom it serves. Linux takes 15 bytes.
fn name_thread(role: &str, peer: &str) {
    let name = thread_name(role, peer);
    if let Ok(name) = std::ffi::CString::new(name.bytes().take(15).collect::<Vec<_>>()) {
        // Only for the eyes of operators; a thread without a name works as well.
        let _ = rustix::thread::set_name(&name);
    }
}

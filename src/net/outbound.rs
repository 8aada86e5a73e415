//! The election thread's side of the connections to others: it sends, and never waits.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Sender, bounded};
use log::warn;

use super::counters::{Counters, Drop};
use super::line::{Line, line};
use super::patience::Patience;
use super::peers::PeerAddress;
use super::threads::thread_name;
use super::writer::{Control, Surroundings, Writer};
use crate::core::message::{Envelope, Hello};
use crate::core::types::NodeId;
use crate::wire;

/// How many orders may wait; a writer that does not keep up with these is stuck.
const ORDERS: usize = 16;

const WRITER_STACK: usize = 256 * 1024;

pub struct Outbound {
    writers: BTreeMap<NodeId, Handle>,
    /// The writers of members that were removed: they end by themselves.
    leaving: Vec<JoinHandle<()>>,
    patience: Patience,
    surroundings: Surroundings,
    counters: Arc<Counters>,
    seed: u64,
}

struct Handle {
    peer: PeerAddress,
    line: Line,
    orders: Sender<Control>,
    thread: JoinHandle<()>,
}

impl Handle {
    /// Without its line a writer sends what is queued and ends.
    fn let_go(self) -> JoinHandle<()> {
        self.thread
    }
}

impl Outbound {
    pub fn start(
        peers: &[PeerAddress],
        patience: &Patience,
        surroundings: Surroundings,
        counters: &Arc<Counters>,
        seed: u64,
    ) -> io::Result<Outbound> {
        let (patience, counters) = (patience.clone(), counters.clone());
        let (writers, leaving) = (BTreeMap::new(), Vec::new());
        let mut outbound = Outbound { writers, leaving, patience, surroundings, counters, seed };
        peers.iter().try_for_each(|peer| outbound.add(peer))?;
        Ok(outbound)
    }

    /// Starts the writer of a peer.
    fn add(&mut self, peer: &PeerAddress) -> io::Result<()> {
        let (line, backlog) = line(self.counters.clone());
        let (orders, ordered) = bounded(ORDERS);
        self.seed = self.seed.wrapping_add(1);
        let writer = Writer::new(
            peer.clone(),
            self.patience.clone(),
            self.surroundings.clone(),
            (backlog, ordered),
            self.seed,
        );
        let thread = thread::Builder::new()
            .name(thread_name("writer", &peer.name))
            .stack_size(WRITER_STACK)
            .spawn(move || writer.run())?;
        let peer = peer.clone();
        self.writers.insert(peer.id, Handle { peer, line, orders, thread });
        Ok(())
    }

    /// Keeps a writer for exactly these peers. Returns the peers that are gone, or that have moved to
    /// another address. Never waits.
    pub fn set_peers(&mut self, peers: &[PeerAddress]) -> Vec<NodeId> {
        let stays = |known: &PeerAddress| {
            peers.iter().any(|peer| (peer.id, &peer.address) == (known.id, &known.address))
        };
        let gone = self.writers.values().map(|writer| &writer.peer).filter(|peer| !stays(peer));
        let gone: Vec<NodeId> = gone.map(|peer| peer.id).collect();
        self.leaving.retain(|thread| !thread.is_finished());
        for id in &gone {
            self.leaving.extend(self.writers.remove(id).map(Handle::let_go));
        }
        for peer in peers {
            if !self.writers.contains_key(&peer.id)
                && let Err(error) = self.add(peer)
            {
                warn!("cannot start the thread that dials {}: {error}", peer.name);
            }
        }
        gone
    }

    /// Sends a message to each receiver; it is encoded once. The last of them gets it first: with ranks by id it is
    /// the next to lead, and a handover waits for it alone.
    pub fn send(&self, to: &[NodeId], envelope: &Envelope) {
        let frame = wire::encode_message(envelope);
        let kind = envelope.message.kind();
        for writer in to.iter().rev().filter_map(|id| self.writers.get(id)) {
            writer.line.send(kind, &frame);
        }
    }

    pub fn hello(&self, to: NodeId, attempt: u64, hello: &Hello) {
        self.order(to, Control::Hello(attempt, wire::encode_hello(hello)));
    }

    pub fn disconnect(&self, peer: NodeId) {
        self.order(peer, Control::Disconnect);
    }

    pub fn dial(&self, peer: NodeId) {
        self.order(peer, Control::Dial);
    }

    fn order(&self, peer: NodeId, order: Control) {
        if let Some(writer) = self.writers.get(&peer)
            && writer.orders.try_send(order).is_err()
        {
            self.counters.dropped(Drop::QueueFull, 1);
        }
    }

    /// Lets every writer send what is queued, and joins them.
    pub fn stop(self) {
        let threads: Vec<_> = self.writers.into_values().map(Handle::let_go).collect();
        for thread in threads.into_iter().chain(self.leaving) {
            if thread.join().is_err() {
                warn!("a writer thread panicked");
            }
        }
    }
}

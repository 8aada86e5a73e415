//! The election thread's side of the writers: it hands frames over and never waits.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Sender, bounded};
use log::warn;

use super::counters::{Counters, Drop};
use super::writer::{Control, Writer};
use super::{Inbox, PeerAddress};
use crate::core::message::{Envelope, Hello, Kind};
use crate::core::types::NodeId;
use crate::wire::{self, Frame};

/// How many messages may wait for one peer: far more than an election or `failure` sends.
const QUEUE: usize = 128;

/// How many orders may wait; a writer that does not keep up with these is stuck.
const ORDERS: usize = 16;

const WRITER_STACK: usize = 256 * 1024;

pub struct Outbound {
    writers: BTreeMap<NodeId, Handle>,
    counters: Arc<Counters>,
}

struct Handle {
    frames: Sender<(Kind, Frame)>,
    orders: Sender<Control>,
    connected: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Outbound {
    pub fn start(
        peers: &[PeerAddress],
        failure: Duration,
        inbox: &Inbox,
        counters: &Arc<Counters>,
        seed: u64,
    ) -> io::Result<Outbound> {
        let mut writers = BTreeMap::new();
        for (n, peer) in (0..).zip(peers) {
            let (frames, waiting) = bounded(QUEUE);
            let (orders, ordered) = bounded(ORDERS);
            let connected = Arc::new(AtomicBool::new(false));
            let writer = Writer::new(
                peer.clone(),
                failure,
                inbox.clone(),
                counters.clone(),
                connected.clone(),
                (waiting, ordered),
                seed.wrapping_add(n),
            );
            let thread = thread::Builder::new()
                .name(format!("writer-{}", peer.name))
                .stack_size(WRITER_STACK)
                .spawn(move || writer.run())?;
            writers.insert(peer.id, Handle { frames, orders, connected, thread });
        }
        Ok(Outbound { writers, counters: counters.clone() })
    }

    /// Hands a message to each receiver's writer; it is encoded once.
    pub fn send(&self, to: &[NodeId], envelope: &Envelope) {
        let frame = wire::encode_message(envelope);
        let kind = envelope.message.kind();
        for writer in to.iter().filter_map(|id| self.writers.get(id)) {
            if !writer.connected.load(Ordering::Acquire) {
                self.counters.dropped(Drop::NotConnected, 1);
            } else if writer.frames.try_send((kind, frame.clone())).is_err() {
                self.counters.dropped(Drop::QueueFull, 1);
            }
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
        let threads = self.writers.into_values().map(|writer| {
            // Without senders a writer drains its queue and ends.
            drop((writer.frames, writer.orders));
            writer.thread
        });
        for thread in threads.collect::<Vec<_>>() {
            if thread.join().is_err() {
                warn!("a writer thread panicked");
            }
        }
    }
}

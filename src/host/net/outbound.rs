//! The election thread's side of the connections to others: it sends, and never waits.
//!
//! Messages for the same receivers that follow each other within a turn leave together, as one parcel. Where members
//! share a machine, each call of the system may give the processor to a receiver of the call before.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{Sender, bounded};
use log::warn;

use super::counters::{Counters, Drop};
use super::failure_time::FailureTime;
use super::line::{WriterLine, line};
use super::peers::PeerAddress;
use super::writer::{NetworkContext, PeerWriter, WriterOrder};
use crate::calls::{Named, THREAD};
use crate::core::message::{Envelope, Hello, Kind};
use crate::core::types::NodeId;
use crate::wire::{self, Frame};

/// How many orders may wait; a writer that does not keep up with these is stuck.
const ORDERS: usize = 16;

const WRITER_STACK: usize = 256 * 1024;

/// How long a peer waits that has no writer, for lack of a thread.
const AGAIN: Duration = Duration::from_secs(1);

pub struct Outbound {
    writers: BTreeMap<NodeId, WriterHandle>,
    /// The writers of members that were removed: they end by themselves.
    leaving: Vec<JoinHandle<()>>,
    /// The peers for whose writers there was no thread, and when that was tried last.
    lacking: Vec<PeerAddress>,
    tried: Instant,
    /// The last messages to be sent, as long as they have not left.
    parcel: Option<Parcel>,
    failure_time: FailureTime,
    surroundings: NetworkContext,
    counters: Arc<Counters>,
    seed: u64,
}

/// Messages for the same receivers.
struct Parcel {
    to: Vec<NodeId>,
    kinds: Vec<Kind>,
    frames: Frame,
}

struct WriterHandle {
    line: WriterLine,
    orders: Sender<WriterOrder>,
    thread: JoinHandle<()>,
}

impl WriterHandle {
    /// Without its line a writer sends what is queued and ends.
    fn let_go(self) -> JoinHandle<()> {
        self.thread
    }
}

impl Outbound {
    pub fn start(
        peers: &[PeerAddress],
        failure_time: &FailureTime,
        surroundings: NetworkContext,
        seed: u64,
    ) -> io::Result<Outbound> {
        let (failure_time, counters) = (failure_time.clone(), surroundings.counters.clone());
        let (writers, leaving) = (BTreeMap::new(), Vec::new());
        let (lacking, tried, parcel) = (Vec::new(), Instant::now(), None);
        let mut outbound = Outbound {
            writers,
            leaving,
            lacking,
            tried,
            parcel,
            failure_time,
            surroundings,
            counters,
            seed,
        };
        peers.iter().try_for_each(|peer| outbound.add(peer))?;
        Ok(outbound)
    }

    /// Starts the writer of a peer.
    fn add(&mut self, peer: &PeerAddress) -> io::Result<()> {
        let (line, backlog) = line(self.counters.clone());
        let (orders, ordered) = bounded(ORDERS);
        self.seed = self.seed.wrapping_add(1);
        let writer = PeerWriter::new(
            peer.clone(),
            self.failure_time.clone(),
            self.surroundings.clone(),
            (backlog, ordered),
            self.seed,
        );
        let thread = thread::Builder::new()
            .name(format!("writer-{}", peer.name))
            .stack_size(WRITER_STACK)
            .spawn(move || writer.run())
            .named(THREAD)?;
        self.writers.insert(peer.id, WriterHandle { line, orders, thread });
        Ok(())
    }

    /// Keeps a writer for exactly these peers. Returns the peers that are gone. Never waits.
    pub fn set_peers(&mut self, peers: &[PeerAddress]) -> Vec<NodeId> {
        let stays = |known: &NodeId| peers.iter().any(|peer| peer.id == *known);
        let gone: Vec<NodeId> = self.writers.keys().copied().filter(|id| !stays(id)).collect();
        self.leaving.retain(|thread| !thread.is_finished());
        for id in &gone {
            self.leaving.extend(self.writers.remove(id).map(WriterHandle::let_go));
        }
        self.add_all(peers.to_vec());
        gone
    }

    /// Starts the writers of those of these peers that have none.
    fn add_all(&mut self, peers: Vec<PeerAddress>) {
        self.tried = Instant::now();
        self.lacking = peers;
        self.lacking.retain(|peer| !self.writers.contains_key(&peer.id));
        for peer in std::mem::take(&mut self.lacking) {
            if let Err(error) = self.add(&peer) {
                let name = &peer.name;
                warn!("cannot start the thread that dials {name}: {error}; trying again");
                self.lacking.push(peer);
            }
        }
    }

    /// Sends a message to each receiver at the next [`Outbound::flush`]; it is encoded once.
    pub fn send(&mut self, to: Vec<NodeId>, envelope: &Envelope) {
        let (kind, frame) = (envelope.message.kind(), wire::encode_message(envelope));
        match &mut self.parcel {
            Some(parcel) if parcel.to == to => {
                parcel.kinds.push(kind);
                parcel.frames = [&parcel.frames[..], &frame[..]].concat().into();
            }
            _ => {
                self.flush();
                self.parcel = Some(Parcel { to, kinds: vec![kind], frames: frame });
            }
        }
    }

    /// Sends the messages that have not left yet. The last of their receivers gets them first: with ranks by id it is the
    /// next to lead, and a handover waits for it alone.
    pub fn flush(&mut self) {
        if !self.lacking.is_empty() && self.tried.elapsed() > AGAIN {
            let lacking = std::mem::take(&mut self.lacking);
            self.add_all(lacking);
        }
        let Some(Parcel { to, kinds, frames }) = self.parcel.take() else { return };
        for writer in to.iter().rev().filter_map(|id| self.writers.get(id)) {
            writer.line.send(&kinds, &frames);
        }
    }

    pub fn hello(&self, to: NodeId, attempt: u64, hello: &Hello) {
        self.order(to, WriterOrder::Hello(attempt, wire::encode_hello(hello)));
    }

    pub fn disconnect(&self, peer: NodeId) {
        self.order(peer, WriterOrder::Disconnect);
    }

    pub fn dial(&self, peer: NodeId) {
        self.order(peer, WriterOrder::Dial);
    }

    fn order(&self, peer: NodeId, order: WriterOrder) {
        if let Some(writer) = self.writers.get(&peer)
            && writer.orders.try_send(order).is_err()
        {
            self.counters.dropped(Drop::QueueFull, 1);
        }
    }

    /// Lets every writer send what is queued, and joins them.
    pub fn stop(self) {
        let threads: Vec<_> = self.writers.into_values().map(WriterHandle::let_go).collect();
        for thread in threads.into_iter().chain(self.leaving) {
            if thread.join().is_err() {
                warn!("a writer thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use crossbeam::channel::unbounded;
    use uuid::Uuid;

    use super::*;
    use crate::core::message::Message;
    use crate::core::types::{Epoch, Incarnation};
    use crate::net::places::MemberPlaces;
    use crate::net::{Inbox, NetEvent, Peers, Refusals};
    use crate::realtime::Realtime;
    use crate::tls::Security;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn probe() -> Envelope {
        let message = Message::Probe { number: 1 };
        Envelope { epoch: Epoch(1), incarnation: Incarnation(1), message }
    }

    /// Two peers that are not connected, as nobody takes the events of their writers, and the counts.
    fn outbound(listener: &TcpListener) -> (Outbound, Arc<Counters>) {
        outbound_to(unbounded::<NetEvent>().0, listener)
    }

    /// The same, with writers that tell their events to this.
    fn outbound_to(sender: Sender<NetEvent>, listener: &TcpListener) -> (Outbound, Arc<Counters>) {
        let address = listener.local_addr().unwrap().to_string();
        let peer = |place: usize| PeerAddress {
            id: id(place as u128),
            name: place.to_string(),
            address: address.clone(),
        };
        let counters = Arc::new(Counters::default());
        let surroundings = NetworkContext {
            inbox: Inbox::new(sender, super::super::inbox::ThreadEnd::new().1),
            places: MemberPlaces::default(),
            peers: Peers::default(),
            security: Security::new(None),
            refusals: Refusals::new(counters.clone(), |_, _| {}),
            counters: counters.clone(),
            realtime: Realtime::default(),
        };
        let failure_time = FailureTime::new(Duration::from_secs(1));
        let peers = [peer(1), peer(2)];
        let outbound = Outbound::start(&peers, &failure_time, surroundings, 1).unwrap();
        assert_eq!(outbound.seed, 1 + 2, "no two writers dial at the same moments by their seeds");
        (outbound, counters)
    }

    #[test]
    fn messages_for_the_same_receivers_leave_together() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut outbound, counters) = outbound(&listener);
        let left = || counters.drops().map(|(_, count)| count).sum::<u64>(); // into no connection
        let both = || vec![id(1), id(2)];
        outbound.send(both(), &probe());
        outbound.send(both(), &probe());
        assert_eq!(left(), 0, "they wait for more");
        outbound.send(vec![id(2)], &probe());
        assert_eq!(left(), 4, "two messages for two receivers, before one for others");
        outbound.flush();
        outbound.flush();
        assert_eq!(left(), 5, "each leaves once");
        outbound.stop();
        assert_eq!(Arc::strong_count(&counters), 1, "no writer is left");
    }

    /// A member that was added in a moment without threads would never be dialed.
    #[test]
    fn a_peer_for_which_there_is_no_thread_gets_its_writer_as_soon_as_there_is_one() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        use crate::testing::{alone::alone, within::within};

        let this = "a_peer_for_which_there_is_no_thread_gets_its_writer_as_soon_as_there_is_one";
        if alone(&format!("net::outbound::tests::{this}")).is_some() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut outbound, _) = outbound(&listener);
        let peers: Vec<PeerAddress> = [1, 2, 3]
            .map(|place| PeerAddress {
                id: id(place),
                name: place.to_string(),
                address: listener.local_addr().unwrap().to_string(),
            })
            .into();
        let usual = getrlimit(Resource::As);
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        let little = pages * 4096 + WRITER_STACK as u64 / 2; // no room for a stack
        setrlimit(Resource::As, Rlimit { current: Some(little), ..usual }).unwrap();
        outbound.set_peers(&peers);
        setrlimit(Resource::As, usual).unwrap();
        assert!(!outbound.writers.contains_key(&id(3)), "there was no thread");
        let outbound = std::cell::RefCell::new(outbound);
        within(Duration::from_secs(100), "it has its writer", || {
            outbound.borrow_mut().flush();
            outbound.borrow().writers.contains_key(&id(3))
        });
        outbound.into_inner().stop();
    }

    /// Here the election thread takes no event, so that the writers wait for it.
    #[test]
    fn the_orders_that_a_writer_does_not_take_are_counted_and_nobody_waits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, events) = bounded::<NetEvent>(0);
        let (outbound, counters) = outbound_to(sender, &listener);
        let lost =
            || counters.drops().find(|(name, _)| *name == "queue_full").map(|(_, lost)| lost);
        (0..16).for_each(|_| outbound.dial(id(1)));
        assert_eq!(lost(), Some(0));
        outbound.dial(id(1));
        outbound.disconnect(id(1));
        assert_eq!(lost(), Some(2));
        outbound.disconnect(id(2));
        outbound.disconnect(id(3)); // nobody's
        assert_eq!(lost(), Some(2));
        drop(events);
        outbound.stop();
    }

    #[test]
    fn a_peer_that_is_gone_is_not_dialed_any_more_and_one_that_moved_is_dialed_there() {
        let [first, second] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let (mut outbound, counters) = outbound(&first);
        let at = |place: u128, listener: &TcpListener| PeerAddress {
            id: id(place),
            name: "c".to_owned(),
            address: listener.local_addr().unwrap().to_string(),
        };
        let (stays, moved) = (at(1, &first), at(2, &second));
        let peers = outbound.surroundings.peers.clone();
        peers.replace(vec![stays.clone(), moved.clone()]);
        assert_eq!(outbound.set_peers(&[stays.clone(), moved.clone()]), []);
        second.accept().expect("it is dialed there");
        assert_eq!(outbound.set_peers(&[moved]), [stays.id]);
        assert!(outbound.writers.keys().eq(&[id(2)]));
        outbound.stop();
        assert_eq!(Arc::strong_count(&counters), 1, "no writer is left, of those that went too");
    }
}

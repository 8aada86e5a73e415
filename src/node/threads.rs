//! The threads of the election, the store and the network, from the start of a node to its end.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::Receiver;

use super::clock;
use super::election::ElectionLoop;
use super::inbox::{InboxEvent, Queue};
use super::locks::hands::HandsThread;
use super::locks::side::LockSide;
use super::members;
use super::prepare::LocksStart;
use super::publish::Published;
use super::running::NodeHandle;
use crate::calls::{Named, THREAD};
use crate::config::Config;
use crate::core::Core;
use crate::net::{self, Inbox, Net, OwnListener, Refusals, ThreadEnd};
use crate::store::{Store, StoreWriter};
use crate::tls::Security;

/// The thread that the others are joined after.
pub type ElectionThread = JoinHandle<(Net, StoreWriter)>;

/// Starts them.
pub fn start(
    config: &Config,
    (core, store, locks): (Core, Store, LocksStart),
    (socket, security): (OwnListener, Security),
    (queue, events): (Queue, Receiver<InboxEvent>),
    published: Arc<Published>,
) -> io::Result<(NodeHandle, ElectionThread)> {
    let (own, seed) = (core.id(), core.settings().instance);
    let stored = queue.clone();
    let store = StoreWriter::start(store, move |result| {
        let _ = stored.send(InboxEvent::Stored(result)); // the election thread may have ended
    })?;
    let stored = queue.clone();
    let LocksStart { file, record, restored } = locks;
    let locks = StoreWriter::start(file, move |result| {
        let _ = stored.send(InboxEvent::LocksStored(result)); // the election thread may have ended
    })?;
    let (hands, tally) = (published.hands.clone(), published.measures.tally.clone());
    let shown = (published.locks.clone(), HandsThread::start(own, hands, tally)?);
    let locks = LockSide::new(&core, &restored, (locks, record), config.locks.clone(), shown);
    let (answering, end) = ThreadEnd::new();
    let inbox = Inbox::new(queue.urgent.clone(), end.clone());
    let counters = published.measures.counters.clone();
    let peers = members::peers(core.members(), own);
    let shown = published.clone();
    let refusals = Refusals::new(counters.clone(), move |who, fault| {
        shown.measures.handshakes.record(clock::now(), who, &fault);
    });
    let realtime = published.realtime.clone();
    let known = published.peers.clone();
    let surroundings =
        net::NetworkContext::new(inbox, known, security, refusals, counters, realtime);
    let net = Net::start(socket, peers, config.timing.failure, surroundings, seed)?;
    let election =
        ElectionLoop::new(core, net, (store, locks), (events, answering), published.clone());
    let builder = thread::Builder::new().name("election".to_owned());
    let thread = builder.spawn(move || election.run()).named(THREAD)?;
    Ok((NodeHandle { published, events: queue, end }, thread))
}

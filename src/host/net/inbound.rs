//! Connections from other members: one reader thread each.
//!
//! A reader waits for the hello, for the core's answer, and then for messages. It ends with its socket:
//! on end of stream, on an error, on malformed bytes, or when [`Closer::shut`] closes it.

use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use log::{debug, warn};

use super::counters::{Counters, Drop};
use super::deadline::{Deadline, connect};
use super::failure_time::FailureTime;
use super::greeting::Greeter;
use super::inbox::{Inbox, NetEvent};
use super::newcomer::{Closer, HelloAnswer, Newcomer};
use super::peers::Peers;
use super::places::{MemberPlaces, ReaderTask};
use super::threads::name_thread;
use crate::core::death::DeathCertificate;
use crate::core::detector::ConnectionId;
use crate::core::message::{Hello, Rejection};
use crate::core::types::NodeId;
use crate::core::{Input, Redial};
use crate::realtime::Realtime;
use crate::tls::{Secured, Session};
use crate::wire::{self, DecodeError, FrameError, Opening, Reply};

/// A hello must be complete within this time, and with TLS the handshake before it.
pub const HELLO_DEADLINE: Duration = Duration::from_secs(1);

/// What is heard on a redial that was taken.
enum RedialOutcome {
    /// A certificate, which the core judges.
    Dead(DeathCertificate),
    /// Whoever took it has ended.
    Reset,
    /// Nothing that proves anything.
    Nothing,
}

/// The election thread's side of all inbound connections.
#[derive(Default)]
pub struct Inbound {
    unanswered: BTreeMap<ConnectionId, (Arc<Closer>, Sender<HelloAnswer>)>,
    open: BTreeMap<NodeId, (ConnectionId, Arc<Closer>)>,
}

impl Inbound {
    pub fn admit(&mut self, newcomer: Newcomer) -> Input {
        let Newcomer { connection, address, hello, closer, answer } = newcomer;
        self.unanswered.insert(connection, (closer, answer));
        Input::Hello { connection, address, hello }
    }

    pub fn welcome(&mut self, connection: ConnectionId, peer: NodeId, welcome: &Hello) {
        let Some((closer, answer)) = self.unanswered.remove(&connection) else { return };
        closer.welcomed.store(true, Ordering::Relaxed);
        // A reader that gave up meanwhile reports that by Ended, or did so before.
        let _ = answer.send(HelloAnswer::Welcome(peer, wire::encode_welcome(welcome)));
        self.open.insert(peer, (connection, closer));
    }

    pub fn reject(&mut self, connection: ConnectionId, reason: &Rejection) {
        if let Some((_, answer)) = self.unanswered.remove(&connection) {
            let _ = answer.send(HelloAnswer::Reject(wire::encode_rejection(reason)));
        }
    }

    pub fn close(&mut self, connection: ConnectionId) {
        self.open.retain(|_, (open, closer)| {
            if *open == connection {
                closer.shut();
            }
            *open != connection
        });
    }

    pub fn disconnect(&mut self, peer: NodeId) {
        if let Some((_, closer)) = self.open.remove(&peer) {
            closer.shut();
        }
    }
}

/// Shared by all readers.
#[derive(Clone)]
pub struct Reception {
    pub peers: Peers,
    pub greeter: Greeter,
    pub places: MemberPlaces,
    pub failure_time: FailureTime,
    pub inbox: Inbox,
    pub counters: Arc<Counters>,
    pub realtime: Realtime,
}

impl Reception {
    /// The life of a reader thread.
    pub fn serve(&self, connection: ConnectionId, closer: &Arc<Closer>) {
        match self.greet(connection, closer) {
            Some((peer, session)) => self.read(connection, closer, peer, session),
            None => {
                self.counters.dropped(Drop::NoHello, 1);
                closer.evict(); // the listener holds it until the next one comes
            }
        }
    }

    /// Takes the hello and passes the answer on. None if the connection is not to be kept.
    fn greet(
        &self,
        connection: ConnectionId,
        closer: &Arc<Closer>,
    ) -> Option<(NodeId, Option<Session>)> {
        let stream = &closer.stream;
        let address = stream.peer_addr().ok()?;
        let (opening, mut session) = self.greeter.listen(stream, address, HELLO_DEADLINE)?;
        self.realtime.enter(); // only now: a stranger's handshake is no more urgent than a job
        let address = address.to_string();
        let answer = match opening {
            Opening::Hello(hello) => {
                let (answer, answered) = bounded(1);
                let closer = closer.clone();
                let newcomer =
                    Newcomer { connection, address: address.clone(), hello, closer, answer };
                self.ask(newcomer, &answered)?
            }
            Opening::Reject(reason) => {
                debug!("rejected {address}: {reason:?}");
                HelloAnswer::Reject(wire::encode_rejection(&reason))
            }
        };
        let (frame, peer) = match answer {
            HelloAnswer::Welcome(peer, frame) => (frame, Some(peer)),
            HelloAnswer::Reject(frame) => (frame, None),
        };
        let timed = Deadline::new(stream, self.failure_time.step());
        let sent = Secured::new(timed, session.as_mut()).write_all(&frame);
        if let (Err(error), Some(peer)) = (sent, peer) {
            debug!("the welcome did not reach {address}: {error}");
            self.ended(connection, closer, peer);
            return None;
        }
        Some((peer?, session))
    }

    fn ask(&self, newcomer: Newcomer, answered: &Receiver<HelloAnswer>) -> Option<HelloAnswer> {
        if !self.inbox.send(NetEvent::Newcomer(Box::new(newcomer))) {
            return None;
        }
        self.inbox.answer(answered)
    }

    /// Reads messages until the connection ends, then immediately redials: the coroner of a dead peer proves the
    /// death there, and this is the fastest way to know.
    fn read(
        &self,
        connection: ConnectionId,
        closer: &Arc<Closer>,
        peer: NodeId,
        mut session: Option<Session>,
    ) {
        name_thread(&format!("reader-{}", self.name(peer)));
        let (mut payload, mut is_warned) = (Vec::new(), false);
        let mut from = BufReader::new(Secured::new(&closer.stream, session.as_mut()));
        loop {
            match wire::read_frame(&mut from, &mut payload) {
                Ok(()) => {}
                Err(FrameError::Closed) => break,
                Err(error) => {
                    debug!("connection from {}: {error}", self.name(peer));
                    break;
                }
            }
            let envelope = match wire::decode_message(&payload) {
                Ok(envelope) => envelope,
                Err(error @ DecodeError::Unknown(_)) => {
                    self.counters.dropped(Drop::Unknown, 1);
                    if !std::mem::replace(&mut is_warned, true) {
                        warn!("dropped from {}: {error}; upgrade this node", self.name(peer));
                    }
                    continue;
                }
                Err(error) => {
                    warn!("closed the connection from {}: {error}", self.name(peer));
                    self.counters.dropped(Drop::Junk, 1);
                    break;
                }
            };
            self.counters.received(envelope.message.kind());
            if !self.inbox.input(Input::Message { connection, from: peer, envelope }) {
                return;
            }
        }
        self.ended(connection, closer, peer);
    }

    fn ended(&self, connection: ConnectionId, closer: &Arc<Closer>, peer: NodeId) {
        if closer.shut.load(Ordering::Relaxed) {
            return; // by ourselves
        }
        let taken = self.redial(peer);
        let redial = taken.as_ref().map_or_else(|redial| *redial, |_| Redial::Accepted);
        closer.shut.store(true, Ordering::Relaxed); // below: the election thread has better to do
        self.inbox.input(Input::Ended { connection, peer, redial });
        closer.close();
        if let Ok(stream) = taken
            && let Some(_turn) = self.places.take_turn(peer, ReaderTask::Watch)
        {
            match self.hear(&stream) {
                RedialOutcome::Dead(certificate) => _ = self.inbox.input(Input::Dead(certificate)),
                RedialOutcome::Reset if matches!(self.redial(peer), Err(Redial::Refused)) => {
                    self.inbox.input(Input::Refused { peer });
                }
                RedialOutcome::Reset | RedialOutcome::Nothing => {}
            }
        }
    }

    /// Dials a peer; the error says what happened if no process accepted the connection.
    fn redial(&self, peer: NodeId) -> Result<TcpStream, Redial> {
        // A redial takes long only where the host or the name server does not answer: then it fails for
        // those that come meanwhile as well.
        let _turn = self.places.take_turn(peer, ReaderTask::Redial).ok_or(Redial::Failed)?;
        let known = self.peers.get(peer).ok_or(Redial::Failed)?;
        let home = self.peers.home(&known);
        let proves = home.is_some();
        let address = home.unwrap_or(known.address);
        let resolve = || self.places.resolve(&address, self.failure_time.step());
        let place = self.places.of(peer).map(|place| vec![place]);
        let addresses = place.map_or_else(resolve, Ok).map_err(|_| Redial::Failed)?;
        connect(&addresses, self.failure_time.step()).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused if proves => Redial::Refused,
            _ => Redial::Failed,
        })
    }

    /// What is heard on a redial that was taken. A peer that lives waits for a hello meanwhile. A coroner answers at once,
    /// or when nothing of the dead peer's jobs is left. Without one the kernel resets a call that came just before the
    /// listener of a process closed.
    fn hear(&self, stream: &TcpStream) -> RedialOutcome {
        let mut payload = Vec::new();
        let mut timed = Deadline::new(stream, self.failure_time.step());
        match wire::read_frame(&mut timed, &mut payload) {
            Ok(()) => match wire::decode_reply(&payload) {
                Ok(Reply::Dead(certificate)) => RedialOutcome::Dead(certificate),
                _ => RedialOutcome::Nothing,
            },
            Err(FrameError::Io(error)) if error.kind() == ErrorKind::ConnectionReset => {
                RedialOutcome::Reset
            }
            Err(_) => RedialOutcome::Nothing,
        }
    }

    fn name(&self, peer: NodeId) -> String {
        let peers = self.peers.now();
        let known = peers.iter().find(|known| known.id == peer);
        known.map_or_else(|| "?".to_owned(), |peer| peer.name.clone())
    }
}

#[cfg(test)]
mod tests;

//! The connection to another member: one writer thread each.
//!
//! A writer dials, says hello, and then sends what the election thread could not send without blocking
//! ([`WriterLine`](super::line::WriterLine) says which thread sends when). It waits on its queue, on orders of the
//! election thread, and between dials on a back-off; it ends when the election thread drops its queue.
//! When a connection ends, its queue is dropped: the other side may be another process by then.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError};
use crossbeam::select;
use log::debug;
use socket2::{SockRef, TcpKeepalive};

use super::channel::Channel;
use super::counters::Counters;
use super::deadline::{Deadline, STEP, connect};
use super::dials::{FailedDial, unanswered, unconnected, unresolved};
use super::failure_time::FailureTime;
use super::first_word::FirstWord;
use super::inbox::Inbox;
use super::line::Backlog;
use super::peers::{PeerAddress, Peers};
use super::places::MemberPlaces;
use super::refused::{Refusals, Who};
use crate::core::Input;
use crate::core::death::DeathCertificate;
use crate::core::random::Random;
use crate::realtime::Realtime;
use crate::tls::{Secured, Security, Session, TlsFault};
use crate::wire::{self, Frame, FrameError, Reply};

/// The first pause between two dials; it doubles up to `failure`.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The least time between two probes of a connection on which nothing is sent.
const PROBE: Duration = Duration::from_secs(1);

/// An order of the election thread to a writer.
pub enum WriterOrder {
    /// Say this hello, if this dial is still the present one.
    Hello(u64, Frame),
    /// Close the connection.
    Disconnect,
    /// Dial now, without regard to the back-off.
    Dial,
}

/// Shared by all threads of the network of a node.
#[derive(Clone)]
pub struct NetworkContext {
    pub inbox: Inbox,
    pub places: MemberPlaces,
    pub peers: Peers,
    pub security: Security,
    pub refusals: Refusals,
    pub counters: Arc<Counters>,
    pub realtime: Realtime,
}

impl NetworkContext {
    /// Those of a network that has not looked up any name yet.
    pub fn new(
        inbox: Inbox,
        peers: Peers,
        security: Security,
        refusals: Refusals,
        counters: Arc<Counters>,
        realtime: Realtime,
    ) -> NetworkContext {
        let places = MemberPlaces::default();
        NetworkContext { inbox, places, peers, security, refusals, counters, realtime }
    }
}

pub struct PeerWriter {
    peer: PeerAddress,
    failure_time: FailureTime,
    surroundings: NetworkContext,
    backlog: Backlog,
    orders: Receiver<WriterOrder>,
    random: Random,
    attempt: u64,
    /// How many dials led to no connection: where the peer may be at either of two addresses, they take turns.
    failed: usize,
}

/// Why a writer stops what it does.
enum WriterEnd {
    /// The connection ended, or there was none.
    Connection,
    /// The node is stopping.
    Node,
}

impl From<io::Error> for WriterEnd {
    fn from(_: io::Error) -> WriterEnd {
        WriterEnd::Connection
    }
}

impl PeerWriter {
    pub fn new(
        peer: PeerAddress,
        failure_time: FailureTime,
        surroundings: NetworkContext,
        (backlog, orders): (Backlog, Receiver<WriterOrder>),
        seed: u64,
    ) -> PeerWriter {
        let (random, attempt, failed) = (Random::new(seed), 0, 0);
        PeerWriter { peer, failure_time, surroundings, backlog, orders, random, attempt, failed }
    }

    /// The life of a writer thread.
    pub fn run(mut self) {
        self.surroundings.realtime.enter();
        let mut pause = FIRST_PAUSE;
        loop {
            // A dial that vanishes without an answer is part of the pause before the next one.
            let mut since = Instant::now();
            let end = match self.open() {
                Ok(channel) => {
                    let opened = Instant::now();
                    let end = self.write(&channel);
                    self.close(&channel);
                    since = Instant::now();
                    let lasted = since.duration_since(opened);
                    pause = after_connection(lasted, pause, self.failure_time.failure());
                    end
                }
                Err(end) => {
                    self.failed = self.failed.wrapping_add(1);
                    end
                }
            };
            if matches!(end, WriterEnd::Node) {
                break;
            }
            match self.back_off(since, pause) {
                Some(was_ordered) => {
                    pause = after_pause(was_ordered, pause, self.failure_time.failure());
                }
                None => break,
            }
        }
        self.surroundings.counters.dials.forget(self.peer.id);
    }

    /// Waits out the back-off since then, jittered. Tells whether an order to dial ended it; none when the
    /// node is stopping.
    fn back_off(&mut self, since: Instant, pause: Duration) -> Option<bool> {
        let until = since + self.jittered(pause);
        loop {
            match self.orders.recv_deadline(until) {
                Ok(WriterOrder::Dial) => return Some(true),
                Ok(_) => {} // of a connection that is gone
                Err(RecvTimeoutError::Timeout) => return Some(false),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn jittered(&mut self, pause: Duration) -> Duration {
        pause / 2 + self.random.up_to(pause / 2)
    }

    /// Dials and exchanges hellos.
    fn open(&mut self) -> Result<Arc<Channel>, WriterEnd> {
        let peer = self.peer.id;
        self.peer = self.surroundings.peers.get(peer).unwrap_or_else(|| self.peer.clone());
        let NetworkContext { inbox, places, peers, .. } = &self.surroundings;
        let at = peers.addresses(&self.peer);
        let address = &at[self.failed % at.len()];
        let addresses = places.resolve(address, self.failure_time.step());
        let addresses = addresses.inspect_err(|error| self.fails(unresolved(address, error)))?;
        let stream = connect(&addresses, self.failure_time.step()).inspect_err(|error| {
            let is_refused = error.kind() == ErrorKind::ConnectionRefused;
            self.note_failed(FailedDial { why: unconnected(address, error), is_refused });
            let proves = peers.home(&self.peer).as_ref() == Some(address);
            if is_refused && proves {
                inbox.input(Input::Refused { peer });
            }
        })?;
        stream.set_nodelay(true)?;
        self.watch(&stream)?;
        let mut session = self.shake_hands(&stream)?;
        self.attempt += 1;
        let attempt = self.attempt;
        if !inbox.input(Input::Dialed { peer, attempt }) {
            return Err(WriterEnd::Node);
        }
        let hello = self.await_hello()?;
        match self.ask(&stream, session.as_mut(), &hello)? {
            Reply::Welcome(welcome) => {
                self.surroundings.places.set_reached(peer, stream.peer_addr().ok());
                self.surroundings.peers.set_reached(peer, address);
                self.surroundings.counters.dials.forget(peer);
                // A reader may have asked for this name, and not waited for the answer.
                self.surroundings.places.forget(address);
                let channel = Arc::new(Channel::new(stream, session));
                self.backlog.open(&channel); // for what the welcome leads to
                self.surroundings.inbox.input(Input::Welcomed { peer, welcome });
                Ok(channel)
            }
            Reply::Reject(reason) => {
                self.surroundings.counters.dials.forget(peer); // the refusal says more
                self.surroundings.inbox.input(Input::Rejected { peer, reason });
                Err(WriterEnd::Connection)
            }
            Reply::Dead(certificate) => {
                self.report_death(certificate);
                Err(WriterEnd::Connection)
            }
        }
    }

    /// Has the kernel end a connection on which nothing arrives any more: what was sent within `failure`, and also one
    /// that is idle, as a firewall on the way may have forgotten it. The kernel counts idle time in seconds.
    fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        let failure = self.failure_time.failure();
        let probes = TcpKeepalive::new().with_time(failure.max(PROBE)).with_interval(PROBE);
        let socket = SockRef::from(stream);
        socket.set_tcp_keepalive(&probes)?;
        socket.set_tcp_user_timeout(Some(failure.max(STEP)))
    }

    /// With TLS: the handshake, with this member only.
    fn shake_hands(&self, stream: &TcpStream) -> Result<Option<Session>, WriterEnd> {
        let Some(credentials) = self.surroundings.security.now() else { return Ok(None) };
        let timed = Deadline::new(stream, self.failure_time.step());
        let mut first = FirstWord::new(timed);
        let session = Session::dial(&credentials, &self.peer.name, &mut first);
        session.map(Some).map_err(|fault| {
            match first.reply() {
                Some(Reply::Dead(certificate)) => self.report_death(certificate),
                _ => self.refuse(fault),
            }
            WriterEnd::Connection
        })
    }

    /// A coroner answers in the peer's place.
    fn report_death(&self, certificate: DeathCertificate) {
        self.fails("its host certifies its death".to_owned());
        self.surroundings.inbox.input(Input::Dead(certificate));
    }

    /// Notes why this dial led to no connection.
    fn fails(&self, why: String) {
        self.note_failed(FailedDial { why, is_refused: false });
    }

    fn note_failed(&self, failed: FailedDial) {
        self.surroundings.counters.dials.record(self.peer.id, failed);
    }

    /// Tells of what is wrong with the peer, or with this node in its eyes.
    fn refuse(&self, fault: Option<TlsFault>) {
        match fault {
            Some(fault) => {
                self.fails(fault.why.clone());
                if fault.cause.is_of_certificate() {
                    self.surroundings.inbox.input(Input::Untrusted { peer: self.peer.id });
                }
                self.surroundings.refusals.tell(Who::Member(self.peer.id), fault);
            }
            None => {
                debug!("{} broke the TLS handshake off, or is too slow", self.peer.name);
                let slow = ErrorKind::TimedOut.into();
                self.fails(unanswered("the TLS handshake", &slow));
            }
        }
    }

    /// Says the hello, and reads the answer.
    fn ask(
        &self,
        stream: &TcpStream,
        session: Option<&mut Session>,
        hello: &Frame,
    ) -> Result<Reply, WriterEnd> {
        let timed = Deadline::new(stream, self.failure_time.step());
        let mut secured = Secured::new(timed, session);
        let unheard = |error: &io::Error| self.fails(unanswered("the hello", error));
        secured.write_all(hello).inspect_err(unheard)?;
        let mut payload = Vec::new();
        wire::read_frame(&mut secured, &mut payload).map_err(|error| {
            debug!("{} did not answer the hello: {error}", self.peer.name);
            match error {
                // With TLS it judges the certificate only now.
                FrameError::Io(error) => match Session::fault(&error) {
                    Some(fault) => self.refuse(Some(fault)),
                    None => unheard(&error),
                },
                FrameError::Closed | FrameError::TooLong(_) => {
                    let why = "it takes connections, and ends them without an answer to the hello: look at its log";
                    self.fails(why.to_owned());
                }
            }
            WriterEnd::Connection
        })?;
        wire::decode_reply(&payload).map_err(|error| {
            debug!("{} answered the hello with junk: {error}", self.peer.name);
            let why = format!("what answers there is no electd of this kind: {error}");
            self.fails(why);
            WriterEnd::Connection
        })
    }

    /// Waits for the election thread to say what the hello is to tell.
    fn await_hello(&self) -> Result<Frame, WriterEnd> {
        let until = Instant::now() + self.failure_time.step();
        loop {
            match self.orders.recv_deadline(until) {
                Ok(WriterOrder::Hello(attempt, hello)) if attempt == self.attempt => {
                    return Ok(hello);
                }
                Ok(_) => {} // of an earlier dial
                Err(RecvTimeoutError::Timeout) => return Err(WriterEnd::Connection),
                Err(RecvTimeoutError::Disconnected) => return Err(WriterEnd::Node),
            }
        }
    }

    /// Sends what is handed over until the connection or the node ends.
    fn write(&self, channel: &Channel) -> WriterEnd {
        loop {
            select! {
                recv(self.backlog.queue) -> queued => match queued {
                    Ok(queued) => {
                        if let Err(error) = channel.send_all(&queued.unsent, self.failure_time.step()) {
                            debug!("connection to {}: {error}", self.peer.name);
                            return WriterEnd::Connection;
                        }
                        self.backlog.written(&queued);
                    }
                    Err(_) => return WriterEnd::Node,
                },
                recv(self.orders) -> order => match order {
                    Ok(WriterOrder::Disconnect) => return WriterEnd::Connection,
                    Ok(_) => {}
                    // The frames' senders went first: what is queued is sent.
                    Err(_) => {
                        self.flush(channel);
                        return WriterEnd::Node;
                    }
                },
                default(self.failure_time.failure()) => {
                    if channel.ended() {
                        return WriterEnd::Connection;
                    }
                }
            }
        }
    }

    /// The last messages of a node that is stopping.
    fn flush(&self, channel: &Channel) {
        let until = Instant::now() + self.failure_time.step();
        for queued in self.backlog.queue.try_iter() {
            let left = until.saturating_duration_since(Instant::now());
            if channel.send_all(&queued.unsent, left).is_err() {
                return;
            }
            self.backlog.written(&queued);
        }
    }

    /// Ends a connection: says so, and drops what was queued for it.
    fn close(&self, channel: &Channel) {
        self.backlog.close();
        self.surroundings.places.set_reached(self.peer.id, None);
        channel.close();
        self.surroundings.inbox.input(Input::Lost { peer: self.peer.id });
    }
}

/// The next pause after a connection that lasted so long: the first again if it was of use.
fn after_connection(lasted: Duration, pause: Duration, failure: Duration) -> Duration {
    if lasted >= failure { FIRST_PAUSE } else { pause }
}

/// The next pause after this one, which an order to dial ended or not.
fn after_pause(was_ordered: bool, pause: Duration, failure: Duration) -> Duration {
    if was_ordered { FIRST_PAUSE } else { (pause * 2).min(failure) }
}

#[cfg(test)]
mod tests;

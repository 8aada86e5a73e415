//! The connection to another member: one writer thread each.
//!
//! A writer dials, says hello, and then sends what the election thread could not send at once
//! ([`Line`](super::line::Line) says who sends when). It waits on its queue, on orders of the
//! election thread, and between dials on a back-off; it ends when the election thread lets go of
//! its queue. When a connection ends, what was queued for it is dropped: the other side may be
//! another process by then.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError};
use crossbeam::select;
use log::debug;
use socket2::SockRef;

use super::deadline::{Deadline, STEP, connect};
use super::inbox::Inbox;
use super::line::{Backlog, ended};
use super::patience::Patience;
use super::peers::PeerAddress;
use super::places::Places;
use crate::core::Input;
use crate::core::random::Random;
use crate::wire::{self, Frame, Reply};

/// The first pause between two dials; it doubles up to `failure`.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// What the election thread orders a writer to do.
pub enum Control {
    /// Say this hello, if this dial is still the present one.
    Hello(u64, Frame),
    /// Close the connection.
    Disconnect,
    /// Dial now, without regard to the back-off.
    Dial,
}

pub struct Writer {
    peer: PeerAddress,
    patience: Patience,
    places: Places,
    inbox: Inbox,
    backlog: Backlog,
    orders: Receiver<Control>,
    random: Random,
    attempt: u64,
}

/// Why a writer stops what it does.
enum End {
    /// The connection ended, or there was none.
    Connection,
    /// The node is stopping.
    Node,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Connection
    }
}

impl Writer {
    pub fn new(
        peer: PeerAddress,
        patience: Patience,
        (inbox, places): (Inbox, Places),
        (backlog, orders): (Backlog, Receiver<Control>),
        seed: u64,
    ) -> Writer {
        let (random, attempt) = (Random::new(seed), 0);
        Writer { peer, patience, places, inbox, backlog, orders, random, attempt }
    }

    /// The life of a writer thread.
    pub fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            // A dial that vanishes without an answer is part of the pause before the next one.
            let mut since = Instant::now();
            let end = match self.open() {
                Ok(stream) => {
                    let opened = Instant::now();
                    let end = self.write(&stream);
                    self.close(&stream);
                    since = Instant::now();
                    if since.duration_since(opened) >= self.patience.failure() {
                        pause = FIRST_PAUSE; // it was of use
                    }
                    end
                }
                Err(end) => end,
            };
            if matches!(end, End::Node) {
                return;
            }
            match self.rest(since, pause) {
                Some(true) => pause = FIRST_PAUSE,
                Some(false) => pause = (pause * 2).min(self.patience.failure()),
                None => return,
            }
        }
    }

    /// Waits out the back-off since then, jittered. Tells whether an order to dial ended it; none when the
    /// node is stopping.
    fn rest(&mut self, since: Instant, pause: Duration) -> Option<bool> {
        let wait = pause / 2 + self.random.up_to(pause / 2);
        let until = since + wait;
        loop {
            match self.orders.recv_deadline(until) {
                Ok(Control::Dial) => return Some(true),
                Ok(_) => {} // of a connection that is gone
                Err(RecvTimeoutError::Timeout) => return Some(false),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Dials and exchanges hellos.
    fn open(&mut self) -> Result<Arc<TcpStream>, End> {
        let peer = self.peer.id;
        let addresses = self.places.resolve(&self.peer.address, self.patience.step())?;
        let stream = connect(&addresses, self.patience.step()).inspect_err(|error| {
            if error.kind() == ErrorKind::ConnectionRefused {
                self.inbox.input(Input::Refused { peer });
            }
        })?;
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_user_timeout(Some(self.patience.failure().max(STEP)))?;
        self.attempt += 1;
        let attempt = self.attempt;
        if !self.inbox.input(Input::Dialed { peer, attempt }) {
            return Err(End::Node);
        }
        let hello = self.await_hello()?;
        let mut timed = Deadline::new(&stream, self.patience.step());
        timed.write_all(&hello)?;
        let mut payload = Vec::new();
        wire::read_frame(&mut timed, &mut payload).map_err(|error| {
            debug!("{} did not answer the hello: {error}", self.peer.name);
            End::Connection
        })?;
        match wire::decode_reply(&payload) {
            Ok(Reply::Welcome(welcome)) => {
                let stream = Arc::new(stream);
                self.places.note(peer, stream.peer_addr().ok());
                self.places.forget(&self.peer.address); // what a reader asked and did not wait for
                self.backlog.open(&stream); // for what the welcome leads to
                self.inbox.input(Input::Welcomed { peer, welcome });
                Ok(stream)
            }
            Ok(Reply::Reject(reason)) => {
                self.inbox.input(Input::Rejected { peer, reason });
                Err(End::Connection)
            }
            Err(error) => {
                debug!("{} answered the hello with junk: {error}", self.peer.name);
                Err(End::Connection)
            }
        }
    }

    /// Waits for the election thread to say what the hello is to tell.
    fn await_hello(&self) -> Result<Frame, End> {
        let until = Instant::now() + self.patience.step();
        loop {
            match self.orders.recv_deadline(until) {
                Ok(Control::Hello(attempt, hello)) if attempt == self.attempt => return Ok(hello),
                Ok(_) => {} // of an earlier dial
                Err(RecvTimeoutError::Timeout) => return Err(End::Connection),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Node),
            }
        }
    }

    /// Sends what is handed over until the connection or the node ends.
    fn write(&self, stream: &TcpStream) -> End {
        loop {
            select! {
                recv(self.backlog.queue) -> queued => match queued {
                    Ok(queued) => {
                        if let Err(error) = self.put(stream, queued.rest()) {
                            debug!("connection to {}: {error}", self.peer.name);
                            return End::Connection;
                        }
                        self.backlog.written(&queued);
                    }
                    Err(_) => return End::Node,
                },
                recv(self.orders) -> order => match order {
                    Ok(Control::Disconnect) => return End::Connection,
                    Ok(_) => {}
                    // The frames' senders went first: what is queued is sent.
                    Err(_) => {
                        self.flush(stream);
                        return End::Node;
                    }
                },
                default(self.patience.failure()) => {
                    if ended(stream) {
                        return End::Connection;
                    }
                }
            }
        }
    }

    /// The last words of a node that is stopping.
    fn flush(&self, stream: &TcpStream) {
        let mut timed = Deadline::new(stream, self.patience.step());
        for queued in self.backlog.queue.try_iter() {
            if timed.write_all(queued.rest()).is_err() {
                return;
            }
            self.backlog.written(&queued);
        }
    }

    fn put(&self, stream: &TcpStream, frame: &[u8]) -> io::Result<()> {
        if ended(stream) {
            return Err(ErrorKind::ConnectionReset.into());
        }
        Deadline::new(stream, self.patience.step()).write_all(frame)
    }

    /// Ends a connection: says so, and drops what was queued for it.
    fn close(&self, stream: &TcpStream) {
        self.backlog.close();
        self.places.note(self.peer.id, None);
        thread::yield_now(); // to the election that the end may have led to
        let _ = stream.shutdown(Shutdown::Both); // it may have ended by itself
        self.inbox.input(Input::Lost { peer: self.peer.id });
    }
}

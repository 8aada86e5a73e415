//! The thread that owns all connections: it accepts, reads, answers and writes, waits in one place only, and for no
//! client.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{SockAddr, Socket};

use crate::node::events::EventId;
use crate::node::handle::Handle;

use super::commands::Commands;
use super::connection::{Connection, Scratch, Step};
use super::crowd::Crowd;
use super::dispatch::Shared;
use super::limits;
use super::poller::{Bell, Interest, Poller};
use super::ready::Ready;
use super::response::Response;
use super::room::Room;

/// The listening socket's number; connections count from 1.
const LISTENER: u64 = 0;

/// The state of the thread.
pub struct Reactor<H> {
    listener: Socket,
    /// While set, nobody is accepted, since descriptors or memory ran out.
    resting: Option<Instant>,
    poller: Poller,
    shared: Shared<H>,
    crowd: Crowd,
    room: Room,
    commands: Commands,
    ready: Ready,
    /// The connections that get events.
    streams: Vec<u64>,
    /// The last event that was sent to them.
    told: EventId,
    scratch: Box<Scratch>,
    /// When trouble was last logged.
    reported: Option<Instant>,
}

impl<H: Handle> Reactor<H> {
    /// Watches the listening socket. The room limits the connections.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new(listener: Socket, shared: Shared<H>, room: Room) -> io::Result<Reactor<H>> {
        listener.set_nonblocking(true)?;
        let poller = Poller::new()?;
        poller.change(listener.as_fd(), LISTENER, Interest::Nothing, Interest::Read)?;
        let (bell, events) = (poller.bell(), shared.handle().events());
        events.on_news(move || bell.ring());
        Ok(Reactor {
            listener,
            resting: None,
            crowd: Crowd::new(room.connections),
            commands: Commands::new(poller.bell()),
            poller,
            shared,
            room,
            ready: Ready::default(),
            streams: Vec::new(),
            told: events.last(),
            scratch: Box::new([0; limits::HEAD_BYTES]),
            reported: None,
        })
    }

    /// The bell that wakes the thread.
    pub fn bell(&self) -> Arc<Bell> {
        self.poller.bell()
    }

    /// Serves until the interface is closing.
    pub fn run(mut self) {
        while !self.shared.is_closing() {
            self.turn(None);
        }
        self.close();
    }

    /// Waits until there is something to do, and does a part for each connection, so that all make progress.
    fn turn(&mut self, latest: Option<Instant>) {
        let next = [self.crowd.deadline(), self.resting, latest].into_iter().flatten().min();
        let until = if self.ready.is_empty() { next } else { Some(Instant::now()) };
        for number in self.poller.wait(until) {
            match number {
                LISTENER => self.accept(),
                number if self.ready.has(number) => {}
                number => {
                    self.advance(number);
                }
            }
        }
        self.tell_news();
        self.next_in_line();
        while let Some((number, response)) = self.commands.next_outcome() {
            self.conclude(number, &response);
        }
        let now = Instant::now();
        self.expire(now);
        self.crowd.relieve();
        if self.resting.is_some_and(|until| until <= now) && !self.shared.is_closing() {
            self.resting = None;
            self.listen(Interest::Nothing, Interest::Read);
        }
    }

    /// Accepts the clients that wait. The kernel keeps a queue, and a client that finds it full is dropped for a
    /// second: so the queue is emptied in one go.
    fn accept(&mut self) {
        for _ in 0..limits::ACCEPTS {
            match self.listener.accept() {
                Ok((stream, client)) => self.admit(stream, &client),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return self.rest(&error),
                },
            }
        }
    }

    /// Takes a newcomer in. It has waited already, and often its request has come meanwhile: so it is answered
    /// immediately, instead of waiting again behind those that came with it.
    fn admit(&mut self, stream: Socket, client: &SockAddr) {
        // This fails if the client is gone already.
        if let Ok(connection) = Connection::new(stream, self.shared.session()) {
            let number = self.crowd.add(connection, client.as_socket().map(|client| client.ip()));
            self.advance(number);
            self.crowd.relieve();
        }
        if self.crowd.is_overfull() {
            let room = self.room;
            self.report(&format!("all {room} are taken"));
            self.crowd.evict();
        }
    }

    /// A lack of file descriptors or memory does not end with the newcomer, and this thread would spin.
    fn rest(&mut self, error: &io::Error) {
        self.report(&format!("cannot accept an admin connection: {error}"));
        self.crowd.evict();
        self.listen(Interest::Read, Interest::Nothing);
        self.resting = Some(Instant::now() + limits::PAUSE);
    }

    fn listen(&mut self, from: Interest, to: Interest) {
        let watched = self.poller.change(self.listener.as_fd(), LISTENER, from, to);
        if let Err(error) = watched {
            self.report(&format!("cannot watch the admin address: {error}"));
        }
    }

    /// Closes or warns some of the connections whose deadline has passed. A crowd that came together is late
    /// together, and to close so many takes long.
    fn expire(&mut self, now: Instant) {
        for _ in 0..limits::LOT {
            let Some(number) = self.crowd.expired(now) else { return };
            let step = self.crowd.get(number).map(Connection::expire);
            self.follow(number, step.unwrap_or(Step::Gone));
        }
    }

    /// Connections that get events join the line if there are new ones.
    fn tell_news(&mut self) {
        let last = self.shared.handle().events().last();
        if std::mem::replace(&mut self.told, last) != last {
            let (crowd, ready) = (&mut self.crowd, &mut self.ready);
            self.streams.retain(|number| crowd.get(*number).is_some());
            self.streams.iter().for_each(|number| ready.push(*number));
        }
    }

    /// Some of the connections in line make progress, before the sockets are looked at again.
    fn next_in_line(&mut self) {
        let mut left = limits::LOT;
        while left > 0
            && let Some(number) = self.ready.next()
        {
            left -= usize::from(self.advance(number));
        }
    }

    /// Lets a connection make progress; false if it has gone meanwhile.
    fn advance(&mut self, number: u64) -> bool {
        let Some(connection) = self.crowd.get(number) else { return false };
        let step = connection.advance(&self.shared, &mut self.scratch);
        self.follow(number, step);
        true
    }

    fn conclude(&mut self, number: u64, response: &Response) {
        if let Some(connection) = self.crowd.get(number) {
            let step = connection.conclude(response);
            self.follow(number, step);
        }
    }

    /// Takes the next step of a connection.
    fn follow(&mut self, number: u64, step: Step) {
        match step {
            Step::Wait => self.crowd.note(number, &self.poller),
            Step::Again => {
                self.crowd.note(number, &self.poller);
                self.ready.push(number);
            }
            Step::Stream => {
                self.streams.push(number);
                self.ready.push(number); // for the events that it missed
                self.crowd.note(number, &self.poller);
            }
            Step::Gone => self.crowd.remove(number),
            Step::Attach => self.give_away(number),
            Step::Command(command) => {
                let started = self.commands.start(number, command, self.shared.handle());
                self.crowd.note(number, &self.poller);
                if let Err(refusal) = started {
                    self.conclude(number, &refusal);
                }
            }
        }
    }

    /// Gives a connection to the part that attaches processes to the node.
    fn give_away(&mut self, number: u64) {
        let Some(connection) = self.crowd.take(number, &self.poller) else { return };
        let socket = connection.into_socket();
        match socket.set_nonblocking(false) {
            Ok(()) => self.shared.attach(UnixStream::from(OwnedFd::from(socket))),
            Err(error) => self.report(&format!("a connection cannot be given away: {error}")),
        }
    }

    /// Logs trouble, which comes in crowds, once in a while.
    fn report(&mut self, what: &str) {
        if self.reported.is_none_or(|at| at.elapsed() >= limits::REPORT) {
            self.reported = Some(Instant::now());
            log::warn!("{what}; the connections that have not got on for longest give way");
        }
    }

    /// Ends all connections: those that wait for their clients immediately, the others when they have their answers
    /// or after a grace. Waits for commands.
    fn close(mut self) {
        if self.resting.take().is_none() {
            self.listen(Interest::Read, Interest::Nothing);
        }
        // Nobody can connect any more. This fails only on a socket that does not listen.
        let _ = self.listener.shutdown(Shutdown::Both);
        for number in self.crowd.numbers() {
            self.advance(number); // answers the requests that have come
        }
        let end = Instant::now() + limits::GRACE;
        loop {
            for number in self.crowd.numbers() {
                if self.crowd.get(number).is_some_and(|connection| connection.is_idle()) {
                    self.crowd.remove(number);
                }
            }
            let is_late = Instant::now() >= end;
            if self.commands.is_empty() && (self.crowd.is_empty() || is_late) {
                break;
            }
            self.turn(Some(if is_late { Instant::now() + Duration::from_secs(1) } else { end }));
        }
        self.commands.join();
    }
}

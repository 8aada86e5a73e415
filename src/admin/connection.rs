//! One client: its socket, its input, and the output that it has not taken yet. Nothing here waits: each call gets as
//! far as the socket allows, and returns the next step.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Instant;

use socket2::Socket;

use crate::node::handle::{Command, Handle};
use crate::tls::Buffered;

use super::dispatch::{self, Answer, Shared};
use super::inbound::{Asked, Heard, Inbound, Place};
use super::limits;
use super::line::Line;
use super::poller::Interest;
use super::response::{Delivery, Response};
use super::stream::{self, Stream};

/// The buffer into which a client's input is read first; all connections share it.
pub type Scratch = [u8; limits::HEAD_BYTES];

/// A client's connection.
pub struct Connection {
    line: Line,
    inbound: Inbound,
    /// The part of the last answer that the kernel has not taken.
    outbound: Vec<u8>,
    stage: Stage,
    /// Whether no request has been read yet.
    is_first: bool,
    since: Instant,
    deadline: Instant,
}

/// The present use of a connection.
enum Stage {
    /// The client sends its request.
    Open,
    /// The client has asked, and the socket had no room for any part of the answer.
    Asked(Box<Asked>),
    /// A thread carries out its command.
    Command(Delivery),
    /// The client gets events.
    Stream(Stream),
    /// The last answer was given. The server reads and drops the rest of the input: to close with unread bytes would
    /// reset the connection, and the client might lose the answer.
    Leaving,
}

/// The next step of a connection.
#[derive(Debug)]
pub enum Step {
    /// It waits until its socket is ready.
    Wait,
    /// It has more to do, after the others had their turn.
    Again,
    /// The node carries out this command; `conclude` takes the outcome.
    Command(Command),
    /// The client gets events from now on.
    Stream,
    /// Its socket is given away.
    Attach,
    /// The client is gone, or the conversation is over.
    Gone,
}

/// The client is gone.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Gone {
        Gone
    }
}

impl Connection {
    /// A new connection, with TLS if there is a session.
    ///
    /// # Errors
    /// If the socket is unusable.
    pub fn new(stream: Socket, session: Option<Buffered>) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        let since = Instant::now();
        Ok(Connection {
            line: Line::new(stream, session),
            inbound: Inbound::default(),
            outbound: Vec::new(),
            stage: Stage::Open,
            is_first: true,
            since,
            deadline: since + limits::HEAD,
        })
    }

    /// When it last made progress: it was accepted, or a request was complete. None while its command is carried out,
    /// as the client has to get the outcome.
    pub fn since(&self) -> Option<Instant> {
        (!matches!(self.stage, Stage::Command(_))).then_some(self.since)
    }

    /// By when it has to make progress; none while its command is carried out.
    pub fn deadline(&self) -> Option<Instant> {
        (!matches!(self.stage, Stage::Command(_))).then_some(self.deadline)
    }

    /// The bytes of memory that it keeps.
    pub fn memory(&self) -> usize {
        let asked = match &self.stage {
            Stage::Asked(asked) => size_of::<Asked>() + asked.body.capacity(),
            _ => 0,
        };
        self.line.memory() + self.inbound.memory() + self.outbound.capacity() + asked
    }

    /// The events of its socket that matter. A client that sends a request in more than a few parts counts as slow, and
    /// so does one that is leaving.
    pub fn interest(&self) -> Interest {
        match self.stage {
            Stage::Command(_) => Interest::Nothing,
            Stage::Asked(_) => Interest::Write,
            _ if !self.is_told() => Interest::Write,
            Stage::Open if !self.inbound.is_slow() && !self.line.is_amid() => Interest::Read,
            _ => Interest::More,
        }
    }

    /// Whether the kernel has taken all output.
    fn is_told(&self) -> bool {
        self.outbound.is_empty() && !self.line.owes()
    }

    /// Whether it only waits for its client, which has no answer to get.
    pub fn is_idle(&self) -> bool {
        matches!(self.interest(), Interest::Read | Interest::More)
    }

    /// Its socket, for the poller.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.line.socket()
    }

    /// Its socket, for another use.
    pub fn into_socket(self) -> Socket {
        self.line.into_socket()
    }

    /// Makes progress, by one request at most.
    pub fn advance<H: Handle>(&mut self, shared: &Shared<H>, scratch: &mut Scratch) -> Step {
        self.step(shared, scratch).unwrap_or(Step::Gone)
    }

    /// Sends the outcome of its command.
    pub fn conclude(&mut self, response: &Response) -> Step {
        let Stage::Command(delivery) = self.stage else { return Step::Wait };
        self.deadline = Instant::now() + limits::ANSWER;
        self.deliver(response, delivery).unwrap_or(Step::Gone)
    }

    /// The deadline has passed. A client that has begun a request is told which limit it broke.
    pub fn expire(&mut self) -> Step {
        if matches!(self.stage, Stage::Stream(_)) && self.is_told() {
            self.outbound = stream::BEAT.to_vec();
            return self.tell().unwrap_or(Step::Gone);
        }
        let limit = match (&self.stage, self.inbound.place()) {
            (Stage::Open, Place::Head) if self.is_told() => limits::HEAD,
            (Stage::Open, Place::Body) if self.is_told() => limits::BODY,
            _ => return Step::Gone,
        };
        let sentence = format!(
            "the request was not complete within {} ms; send it in one go",
            limit.as_millis()
        );
        self.refuse(&Response::error(408, sentence)).unwrap_or(Step::Gone)
    }

    fn step<H: Handle>(&mut self, shared: &Shared<H>, scratch: &mut Scratch) -> Result<Step, Gone> {
        if let Stage::Stream(_) = self.stage {
            self.read(scratch)?; // drops the client's input, but notices its end
            return self.stream(shared);
        }
        if self.line.is_shaking() {
            self.line.flush()?; // its deadline stays
        } else if !self.is_told() {
            return self.flush();
        }
        match std::mem::replace(&mut self.stage, Stage::Open) {
            Stage::Asked(asked) => self.answer(asked, shared),
            Stage::Open => match self.understand(shared)? {
                Some(step) => Ok(step),
                None if self.read(scratch)? => Ok(self.understand(shared)?.unwrap_or(Step::Wait)),
                None => Ok(Step::Wait),
            },
            Stage::Leaving => {
                self.stage = Stage::Leaving;
                self.read(scratch).map(|_| Step::Wait)
            }
            other @ (Stage::Command(_) | Stage::Stream(_)) => {
                self.stage = other;
                Ok(Step::Wait)
            }
        }
    }

    /// Reads once; returns whether anything came.
    fn read(&mut self, scratch: &mut Scratch) -> Result<bool, Gone> {
        let is_leaving = matches!(self.stage, Stage::Leaving | Stage::Stream(_));
        let room = if is_leaving { scratch.len() } else { self.inbound.room().min(scratch.len()) };
        let was_open = self.line.is_open();
        let read = self.line.read(&mut scratch[..room]);
        if !was_open && self.line.is_open() {
            self.deadline = Instant::now() + limits::HEAD; // its first request has its own time
        }
        match read {
            Ok(0) => Err(Gone),
            Ok(_) if is_leaving => Ok(true),
            Ok(count) => {
                let before = self.inbound.place();
                self.inbound.hear(&scratch[..count]);
                if before == Place::Before && !self.is_first {
                    self.deadline = Instant::now() + limits::HEAD;
                }
                Ok(true)
            }
            Err(error) if is_soon(&error) => Ok(false),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.line.speak_plainly();
                let sentence = "this address serves HTTPS alone: ask for https://";
                self.refuse(&Response::error(400, sentence)).map(|_| false)
            }
            Err(_) => Err(Gone),
        }
    }

    /// Looks for a request in the input; returns the next step, if any.
    fn understand<H: Handle>(&mut self, shared: &Shared<H>) -> Result<Option<Step>, Gone> {
        let before = self.inbound.place();
        let mut heard = self.inbound.next();
        if self.inbound.place() == Place::Body && before != Place::Body {
            self.deadline = Instant::now() + limits::BODY;
        }
        if matches!(heard, Heard::Knock) {
            self.outbound = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
            self.push()?;
            heard = Heard::Part;
        }
        match heard {
            Heard::Asked(asked) => {
                self.is_first = false;
                self.since = Instant::now();
                self.deadline = self.since + limits::ANSWER;
                self.answer(asked, shared).map(Some)
            }
            Heard::Refused(response) => self.refuse(&response).map(Some),
            Heard::Part | Heard::Knock => Ok(None),
        }
    }

    /// Makes the answer to a request and sends it. If the kernel takes nothing of it, it is made again when there is
    /// room: so the answer was true when it left.
    fn answer<H: Handle>(&mut self, asked: Box<Asked>, shared: &Shared<H>) -> Result<Step, Gone> {
        let request = &asked.request;
        let delivery = Delivery {
            head_only: request.method == "HEAD",
            close: request.wants_close() || shared.is_closing(),
            old: request.old,
        };
        match dispatch::answer(request, &asked.body, shared, |name| self.line.proves(name)) {
            Answer::Command(command) => {
                self.stage = Stage::Command(delivery);
                Ok(Step::Command(command))
            }
            Answer::Stream(stream) => {
                self.stage = Stage::Stream(stream);
                self.inbound.clear();
                self.outbound = stream::head();
                self.tell().map(|_| Step::Stream)
            }
            Answer::Attach => Ok(Step::Attach),
            Answer::Now(response) => {
                let whole = response.encode(delivery);
                let length = whole.len();
                self.outbound = whole;
                self.push()?;
                if self.outbound.len() == length {
                    self.outbound = Vec::new();
                    self.stage = Stage::Asked(asked);
                    return Ok(Step::Wait);
                }
                self.stage = if delivery.close { Stage::Leaving } else { Stage::Open };
                self.flush()
            }
        }
    }

    /// Sends the last answer, to something that is no request.
    fn refuse(&mut self, response: &Response) -> Result<Step, Gone> {
        self.deadline = Instant::now() + limits::ANSWER;
        self.deliver(response, Delivery { head_only: false, close: true, old: false })
    }

    fn deliver(&mut self, response: &Response, delivery: Delivery) -> Result<Step, Gone> {
        self.outbound = response.encode(delivery);
        self.stage = if delivery.close { Stage::Leaving } else { Stage::Open };
        self.flush()
    }

    /// Sends the new events, a batch at a time.
    fn stream<H: Handle>(&mut self, shared: &Shared<H>) -> Result<Step, Gone> {
        if !self.is_told() {
            self.push()?;
            if self.is_told() {
                self.deadline = Instant::now() + limits::BEAT;
                return Ok(Step::Again);
            }
        } else if let Stage::Stream(stream) = &mut self.stage {
            self.outbound = stream.next(&shared.handle().events());
            if !self.outbound.is_empty() {
                return self.tell().map(|_| Step::Again);
            }
        }
        Ok(Step::Wait)
    }

    /// Writes the output of a stream. A client that does not take it in time is cut off.
    fn tell(&mut self) -> Result<Step, Gone> {
        self.push()?;
        let time = if self.is_told() { limits::BEAT } else { limits::ANSWER };
        self.deadline = Instant::now() + time;
        Ok(Step::Wait)
    }

    /// Writes the rest of an answer; returns the step after that.
    fn flush(&mut self) -> Result<Step, Gone> {
        self.push()?;
        if !self.is_told() {
            return Ok(Step::Wait);
        }
        let now = Instant::now();
        if matches!(self.stage, Stage::Leaving) {
            self.inbound.clear();
            self.line.shut()?;
            self.deadline = now + limits::LINGER;
            return Ok(Step::Wait);
        }
        match self.inbound.place() {
            // Only a client that waits for "100 Continue" before it sends its body is here now.
            Place::Body => return Ok(Step::Wait),
            Place::Head => self.deadline = now + limits::HEAD,
            Place::Before => self.deadline = now + limits::IDLE,
        }
        Ok(if self.inbound.has_more() || self.line.has_more() { Step::Again } else { Step::Wait })
    }

    /// Writes as much as the kernel takes.
    fn push(&mut self) -> Result<(), Gone> {
        while !self.outbound.is_empty() {
            match self.line.write(&self.outbound) {
                Ok(0) => return Err(Gone),
                Ok(count) if count == self.outbound.len() => self.outbound = Vec::new(),
                Ok(count) => drop(self.outbound.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Gone),
            }
        }
        Ok(self.line.flush()?)
    }
}

/// Whether the same call may do better when the socket is ready.
fn is_soon(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_client_is_slow_while_a_request_in_many_parts_is_not_complete() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut connection = Connection::new(stream.into(), None).unwrap();
        assert_eq!(connection.interest(), Interest::Read);
        for part in "GET /livez HTTP/1.1\r\nHost: n\r\n".as_bytes().chunks(4) {
            connection.inbound.hear(part);
        }
        assert_eq!(connection.interest(), Interest::More);
        connection.inbound.hear(b"\r\n");
        assert!(matches!(connection.inbound.next(), Heard::Asked(_)));
        assert_eq!(connection.interest(), Interest::Read);
    }
}

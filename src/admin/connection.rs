//! One client: its socket, what it has said, and what it has not taken yet. Nothing here waits: each
//! call gets on as far as the socket allows, and says what it wants next.

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

/// What a client says is read into such a space first, which all connections share.
pub type Scratch = [u8; limits::HEAD_BYTES];

/// A client's connection.
pub struct Connection {
    line: Line,
    inbound: Inbound,
    /// What the kernel has not taken of the last answer.
    outbound: Vec<u8>,
    stage: Stage,
    /// Whether no request has been read so far.
    is_first: bool,
    since: Instant,
    deadline: Instant,
}

/// What a connection is for at present.
enum Stage {
    /// The client speaks.
    Open,
    /// It has asked, and there was no room for any part of an answer.
    Asked(Box<Asked>),
    /// A thread carries out its command.
    Command(Delivery),
    /// It is told events.
    Stream(Stream),
    /// The last answer was given. The rest that the client says is read and forgotten: to close with
    /// unread bytes would reset the connection, and the answer may be lost with it.
    Leaving,
}

/// What a connection wants after it got on.
#[derive(Debug)]
pub enum Step {
    /// Its socket has to be ready first.
    Wait,
    /// It has more to do, when others have had their turn.
    Again,
    /// This is to be carried out, and its outcome given to `conclude`.
    Command(Command),
    /// It is told events from now on.
    Stream,
    /// Its socket is to be given away.
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
    /// When the socket is of no use.
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

    /// When it last got on: it was accepted, or a request was complete. None while its command is
    /// carried out, as the client has to learn the outcome.
    pub fn since(&self) -> Option<Instant> {
        (!matches!(self.stage, Stage::Command(_))).then_some(self.since)
    }

    /// When it has to have got on; none while its command is carried out.
    pub fn deadline(&self) -> Option<Instant> {
        (!matches!(self.stage, Stage::Command(_))).then_some(self.deadline)
    }

    /// The bytes that are kept for it.
    pub fn memory(&self) -> usize {
        let asked = match &self.stage {
            Stage::Asked(asked) => size_of::<Asked>() + asked.body.capacity(),
            _ => 0,
        };
        self.line.memory() + self.inbound.memory() + self.outbound.capacity() + asked
    }

    /// What its socket is to be watched for. A client that asked in part only is slow, and so is one on its
    /// way out.
    pub fn interest(&self) -> Interest {
        match self.stage {
            Stage::Command(_) => Interest::Nothing,
            Stage::Asked(_) => Interest::Write,
            _ if !self.is_told() => Interest::Write,
            Stage::Open if self.inbound.place() == Place::Before && !self.line.is_amid() => {
                Interest::Read
            }
            _ => Interest::More,
        }
    }

    /// Whether the kernel has taken all that there was to tell.
    fn is_told(&self) -> bool {
        self.outbound.is_empty() && !self.line.owes()
    }

    /// Whether it waits for its client alone, who has nothing to come.
    pub fn is_idle(&self) -> bool {
        matches!(self.interest(), Interest::Read | Interest::More)
    }

    /// Its socket, for the poller.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.line.socket()
    }

    /// Its socket, to be used by somebody else.
    pub fn into_socket(self) -> Socket {
        self.line.into_socket()
    }

    /// Gets on, by one request at most.
    pub fn advance<H: Handle>(&mut self, shared: &Shared<H>, scratch: &mut Scratch) -> Step {
        self.step(shared, scratch).unwrap_or(Step::Gone)
    }

    /// Gives the outcome of its command.
    pub fn conclude(&mut self, response: &Response) -> Step {
        let Stage::Command(delivery) = self.stage else { return Step::Wait };
        self.deadline = Instant::now() + limits::ANSWER;
        self.deliver(response, delivery).unwrap_or(Step::Gone)
    }

    /// The deadline has passed. A client that has begun a request is told what limit it did not keep.
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
            self.read(scratch)?; // what the client says is forgotten; its end is not
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

    /// Reads once; tells whether anything came.
    fn read(&mut self, scratch: &mut Scratch) -> Result<bool, Gone> {
        let is_leaving = matches!(self.stage, Stage::Leaving | Stage::Stream(_));
        let room = if is_leaving { scratch.len() } else { self.inbound.room().min(scratch.len()) };
        let was_open = self.line.is_open();
        let read = self.line.read(&mut scratch[..room]);
        if !was_open && self.line.is_open() {
            self.deadline = Instant::now() + limits::HEAD; // its first request has a time of its own
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

    /// What has been read may be a request; tells what follows, if anything.
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

    /// Makes the answer to a request and gives it. Where the kernel takes nothing of it, it is made
    /// again when there is room: so what it says was true when it left.
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

    /// Gives the last answer, to what is no request.
    fn refuse(&mut self, response: &Response) -> Result<Step, Gone> {
        self.deadline = Instant::now() + limits::ANSWER;
        self.deliver(response, Delivery { head_only: false, close: true, old: false })
    }

    fn deliver(&mut self, response: &Response, delivery: Delivery) -> Result<Step, Gone> {
        self.outbound = response.encode(delivery);
        self.stage = if delivery.close { Stage::Leaving } else { Stage::Open };
        self.flush()
    }

    /// Tells the events that are new, a lot at a time.
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

    /// Writes what a stream is told. A client that does not take it in time is cut.
    fn tell(&mut self) -> Result<Step, Gone> {
        self.push()?;
        let time = if self.is_told() { limits::BEAT } else { limits::ANSWER };
        self.deadline = Instant::now() + time;
        Ok(Step::Wait)
    }

    /// Writes what is left of an answer; what follows when nothing is left.
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
            // Only a client that waits for a word before its body is there now.
            Place::Body => return Ok(Step::Wait),
            Place::Head => self.deadline = now + limits::HEAD,
            Place::Before => self.deadline = now + limits::IDLE,
        }
        Ok(if self.inbound.has_more() || self.line.has_more() { Step::Again } else { Step::Wait })
    }

    /// Writes what the kernel takes.
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
    fn a_client_is_slow_while_a_part_of_its_request_is_missing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut connection = Connection::new(stream.into(), None).unwrap();
        assert_eq!(connection.interest(), Interest::Read);
        connection.inbound.hear(b"GET /livez HTTP/1.1\r\nHost: n\r\n");
        assert_eq!(connection.interest(), Interest::More);
        connection.inbound.hear(b"\r\n");
        assert!(matches!(connection.inbound.next(), Heard::Asked(_)));
        assert_eq!(connection.interest(), Interest::Read);
    }
}

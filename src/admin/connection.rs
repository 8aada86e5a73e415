//! One client, on a thread of its own: reads a request, answers it, and so on.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::node::handle::{Command, CommandError, Handle};

use super::dispatch::{self, Answer, Shared};
use super::inbound::{Asked, Heard, Inbound, Stage};
use super::limits;
use super::line::Line;
use super::peers;
use super::places::{Place, Purpose};
use super::response::{Delivery, Response};
use super::stream::{self, Stream};

/// How an answer is sent to something that is no request.
const REFUSAL: Delivery = Delivery { head_only: false, close: true, old: false };

/// A client's connection.
struct Connection<'a, H> {
    shared: &'a Shared<H>,
    line: Line<'a>,
    inbound: Inbound,
}

/// The end of a conversation that did not just break off.
enum End {
    /// The client has ended it, or was silent for long enough.
    Silence,
    /// The last answer was given.
    Answered,
    /// A process attaches itself to the node by this connection.
    Attach,
}

/// Serves the client that has this place until it is gone.
pub fn serve<'a, H: Handle>(shared: &'a Shared<H>, place: Place<'a>) {
    let mut connection = Connection { shared, line: Line::new(place), inbound: Inbound::default() };
    match connection.converse() {
        Ok(End::Answered) => {
            // A client that does not end the connection has the answer all the same.
            let _ = connection.line.finish(Instant::now() + limits::LINGER);
        }
        Ok(End::Attach) => match connection.line.into_socket() {
            Ok(socket) => shared.attach(UnixStream::from(OwnedFd::from(socket))),
            Err(error) => log::warn!("a connection cannot be given away: {error}"),
        },
        Ok(End::Silence) | Err(_) => {}
    }
}

impl<H: Handle> Connection<'_, H> {
    /// Answers requests until there are no more.
    ///
    /// # Errors
    /// If the client is gone, or does not take an answer in time.
    fn converse(&mut self) -> io::Result<End> {
        self.line.place().socket().set_nonblocking(true)?;
        let mut until = Instant::now() + limits::REQUEST;
        match self.line.secure(&self.shared.security(), until) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let sentence = "this address serves HTTPS alone: ask for https://";
                return self.send(&Response::error(400, sentence), REFUSAL).map(|()| End::Answered);
            }
            begun => begun?,
        }
        loop {
            let asked = match self.hear(until)? {
                Ok(asked) => asked,
                Err(end) => return Ok(end),
            };
            self.line.place().make_progress();
            if let Some(end) = self.answer(&asked)? {
                return Ok(end);
            }
            until = Instant::now() + limits::IDLE;
            if self.inbound.has_more() {
                // It asks before it has read: others, who may wait for its place or for a processor, come first.
                self.line.place().wait(|| thread::sleep(limits::PIPELINED));
                until = Instant::now() + limits::REQUEST;
            }
        }
    }

    /// The next request, or the end. The time for a request begins with its first byte, unless it is the first.
    fn hear(&mut self, mut until: Instant) -> io::Result<Result<Box<Asked>, End>> {
        let mut buffer = [0; 4096];
        loop {
            match self.inbound.next() {
                Heard::Asked(asked) => return Ok(Ok(asked)),
                Heard::Refused(response) => {
                    return self.send(&response, REFUSAL).map(|()| Err(End::Answered));
                }
                Heard::BodyWanted => {
                    self.line
                        .send(b"HTTP/1.1 100 Continue\r\n\r\n", Instant::now() + limits::ANSWER)?;
                }
                Heard::Part => {}
            }
            let stage = self.inbound.stage();
            let most = self.inbound.room().min(buffer.len());
            match self.line.read(&mut buffer[..most], until) {
                Ok(0) => return Ok(Err(End::Silence)),
                Ok(count) => self.inbound.hear(&buffer[..count]),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error),
                Err(_) if stage == Stage::Before => return Ok(Err(End::Silence)),
                Err(_) => return self.send(&late(), REFUSAL).map(|()| Err(End::Answered)),
            }
            if stage == Stage::Before {
                until = until.min(Instant::now() + limits::REQUEST);
            }
        }
    }

    /// Answers a request; returns the end if it was the last.
    fn answer(&mut self, Asked { request, body }: &Asked) -> io::Result<Option<End>> {
        let answer = dispatch::answer(request, body, self.shared, |name| self.line.proves(name));
        let response = match answer {
            Answer::Now(response) => response,
            Answer::Command(command) => self.carry_out(command),
            Answer::Peer(name) => self.ask_peer(&name),
            Answer::Attach => return Ok(Some(End::Attach)),
            Answer::Stream(stream) if self.line.place().begin(Purpose::Stream) => {
                return self.stream(stream).map(|()| Some(End::Answered));
            }
            Answer::Stream(_) => stream::too_many(),
        };
        let close = request.wants_close() || self.shared.places().is_closing();
        let head_only = request.method == "HEAD";
        self.send(&response, Delivery { head_only, close, old: request.old })?;
        Ok(close.then_some(End::Answered))
    }

    fn send(&mut self, response: &Response, delivery: Delivery) -> io::Result<()> {
        self.line.send(&response.encode(delivery), Instant::now() + limits::ANSWER)
    }

    /// Gives the node a command. Returns the outcome in words.
    fn carry_out(&self, command: Command) -> Response {
        if !self.line.place().begin(Purpose::Command) {
            return Response::error(503, "too many commands are under way; try again in a moment");
        }
        let response = carry_out(command, self.shared.handle());
        self.line.place().end();
        response
    }

    /// What another member shows.
    fn ask_peer(&self, name: &str) -> Response {
        if !self.line.place().begin(Purpose::Peer) {
            return peers::too_many();
        }
        let response = peers::status(name, self.shared.handle(), &self.shared.security());
        self.line.place().end();
        response
    }

    /// Sends events for as long as the client takes them.
    fn stream(&mut self, mut stream: Stream) -> io::Result<()> {
        let log = self.shared.handle().events();
        self.tell(stream::HEAD)?;
        let mut last = Instant::now();
        while !self.line.place().is_over() && !self.line.is_ended() {
            let news = self.shared.places().news();
            let events = stream.next(&log);
            if !events.is_empty() {
                let told = self.tell(&events);
                if told.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut) {
                    log.count_cut();
                }
                told?;
            } else if last.elapsed() >= limits::BEAT {
                self.tell(stream::BEAT)?;
            } else {
                self.line.place().wait_for_news(news, limits::LOOK);
                continue;
            }
            last = Instant::now();
        }
        Ok(())
    }

    fn tell(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.send(bytes, Instant::now() + limits::ANSWER)?;
        self.line.place().make_progress();
        Ok(())
    }
}

/// The answer to a request that did not come in time.
fn late() -> Response {
    let limit = limits::REQUEST.as_millis();
    Response::error(
        408,
        format!("the request was not complete within {limit} ms; send it in one go"),
    )
}

fn carry_out<H: Handle>(command: Command, handle: &H) -> Response {
    let id = match &command {
        Command::Add(member) => Some(member.id.to_string()),
        _ => None,
    };
    match handle.command(command, limits::COMMAND) {
        Ok(outcome) => Response::json(
            200,
            &match id {
                Some(id) => json!({ "result": outcome.sentence, "id": id }),
                None => json!({ "result": outcome.sentence, "successor": outcome.successor }),
            },
        ),
        Err(CommandError::Invalid(sentence)) => Response::error(400, sentence),
        Err(CommandError::Refused(sentence)) => Response::error(409, sentence),
        Err(CommandError::Unanswered(sentence)) => Response::error(503, sentence),
    }
}

//! What every server of HTTP here does with a client: it hears requests, one after the other, each within its time, and
//! sends answers.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::Instant;

use super::inbound::{Asked, Heard, Inbound, Stage};
use super::limits;
use super::line::Line;
use super::places::Place;
use super::response::{Delivery, Response};

/// How an answer is sent to something that is no request.
const REFUSAL: Delivery = Delivery { head_only: false, close: true, old: false };

/// A conversation with a client.
pub struct Talk<'a> {
    /// Its connection.
    pub line: Line<'a>,
    inbound: Inbound,
}

/// Why no further request is heard.
pub enum Over {
    /// The client has ended the connection, or was silent for long enough.
    Silence,
    /// The last answer was given.
    Answered,
}

impl<'a> Talk<'a> {
    /// With the client that has this place.
    pub fn new(place: Place<'a>) -> Talk<'a> {
        Talk { line: Line::new(place), inbound: Inbound::default() }
    }

    /// The next request, or the end. The time for a request begins with its first byte, unless it is the first. What is no
    /// request is answered here.
    ///
    /// # Errors
    /// If the client is gone, or does not take an answer in time.
    pub fn hear(&mut self, mut until: Instant) -> io::Result<Result<Box<Asked>, Over>> {
        let mut buffer = [0; 4096];
        loop {
            match self.inbound.next() {
                Heard::Asked(asked) => {
                    self.line.place().make_progress();
                    return Ok(Ok(asked));
                }
                Heard::Refused(response) => return self.refuse(&response).map(Err),
                Heard::BodyWanted => {
                    self.line
                        .send(b"HTTP/1.1 100 Continue\r\n\r\n", Instant::now() + limits::ANSWER)?;
                }
                Heard::Part => {}
            }
            let stage = self.inbound.stage();
            let most = self.inbound.room().min(buffer.len());
            match self.line.read(&mut buffer[..most], until) {
                Ok(0) => return Ok(Err(Over::Silence)),
                Ok(count) => self.inbound.hear(&buffer[..count]),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error),
                Err(_) if stage == Stage::Before => return Ok(Err(Over::Silence)),
                Err(_) => return self.refuse(&late()).map(Err),
            }
            if stage == Stage::Before {
                until = until.min(Instant::now() + limits::REQUEST);
            }
        }
    }

    /// Until when the next request after an answer is waited for.
    pub fn until_next(&self) -> Instant {
        if !self.inbound.has_more() {
            return Instant::now() + limits::IDLE;
        }
        // It asks before it has read: others, who may wait for its place or for a processor, come first.
        self.line.place().wait(|| thread::sleep(limits::PIPELINED));
        Instant::now() + limits::REQUEST
    }

    /// Sends an answer.
    ///
    /// # Errors
    /// If the client is gone, or does not take it in time.
    pub fn send(&mut self, response: &Response, delivery: Delivery) -> io::Result<()> {
        self.line.send(&response.encode(delivery), Instant::now() + limits::ANSWER)
    }

    /// Answers something that is no request, which is the end.
    ///
    /// # Errors
    /// As [`Talk::send`].
    pub fn refuse(&mut self, response: &Response) -> io::Result<Over> {
        self.send(response, REFUSAL).map(|()| Over::Answered)
    }

    /// Ends the connection after the last answer.
    pub fn finish(self) {
        // A client that does not end the connection has the answer all the same.
        let _ = self.line.finish(Instant::now() + limits::LINGER);
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

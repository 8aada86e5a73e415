//! The conversation on one connection: request after request, each within its deadline.

use std::time::{Duration, Instant};

use crate::node::handle::Handle;

use super::connection::{Connection, Fill};
use super::limits;
use super::request::Request;
use super::response::{Delivery, Response};
use super::routes::{self, Desk};

/// Serves a connection until its client leaves, errs or is late, or until it is taken away.
pub fn serve<H: Handle>(connection: &Connection, desk: &Desk<H>) {
    connection.touch();
    let mut inbound = Inbound { connection, buffer: Vec::new(), first: true };
    loop {
        let close = match inbound.next() {
            Ok(request) => reply(connection, desk, &request),
            Err(Parting::Silent) => return,
            Err(Parting::Refusal(response)) => {
                let delivery = Delivery { head_only: false, close: true, old: false };
                deliver(connection, &response, delivery)
            }
        };
        match close {
            Ok(false) => {}
            Ok(true) => return connection.part(),
            Err(Gone) => return,
        }
    }
}

/// The client is gone, or does not take its answer.
struct Gone;

/// Answers a request; tells whether that was the last answer.
fn reply<H: Handle>(
    connection: &Connection,
    desk: &Desk<H>,
    (request, body): &(Request, Vec<u8>),
) -> Result<bool, Gone> {
    // Being the newest to get on, it is the last to be taken away while its answer is made.
    connection.touch();
    let response = routes::answer(request, body, connection, desk);
    let delivery = Delivery {
        head_only: request.method == "HEAD",
        close: request.wants_close() || desk.wants_close(),
        old: request.old,
    };
    deliver(connection, &response, delivery)
}

fn deliver(connection: &Connection, response: &Response, delivery: Delivery) -> Result<bool, Gone> {
    let deadline = Instant::now() + limits::ANSWER;
    match connection.write(&response.encode(delivery), deadline) {
        Ok(()) => Ok(delivery.close),
        Err(_) => Err(Gone),
    }
}

/// Why no further request comes.
enum Parting {
    /// Nobody is there to be told.
    Silent,
    /// The last answer.
    Refusal(Response),
}

/// The client's side of the conversation. Bytes after a request are the start of the next.
struct Inbound<'a> {
    connection: &'a Connection,
    buffer: Vec<u8>,
    first: bool,
}

impl Inbound<'_> {
    /// The next request, with its body.
    fn next(&mut self) -> Result<(Request, Vec<u8>), Parting> {
        if !self.first && self.buffer.is_empty() {
            self.fill(limits::HEAD_BYTES, Instant::now() + limits::IDLE, None)?;
        }
        self.first = false;
        let request = self.head(Instant::now() + limits::HEAD)?;
        let body = self.body(&request, Instant::now() + limits::BODY)?;
        Ok((request, body))
    }

    fn head(&mut self, deadline: Instant) -> Result<Request, Parting> {
        loop {
            match Request::parse(&self.buffer).map_err(Parting::Refusal)? {
                Some((request, used)) => {
                    self.buffer.drain(..used);
                    return Ok(request);
                }
                None => {
                    let begun = Some(limits::HEAD).filter(|_| !self.buffer.is_empty());
                    self.fill(limits::HEAD_BYTES, deadline, begun)?;
                }
            }
        }
    }

    fn body(&mut self, request: &Request, deadline: Instant) -> Result<Vec<u8>, Parting> {
        let length = request.body_length;
        if request.awaits_continue() && self.buffer.len() < length {
            self.connection
                .write(b"HTTP/1.1 100 Continue\r\n\r\n", deadline)
                .map_err(|_| Parting::Silent)?;
        }
        while self.buffer.len() < length {
            self.fill(limits::BODY_BYTES, deadline, Some(limits::BODY))?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    /// Reads some more. A client that has begun a request is told what limit it did not keep.
    fn fill(
        &mut self,
        limit: usize,
        deadline: Instant,
        begun: Option<Duration>,
    ) -> Result<(), Parting> {
        match self.connection.fill(&mut self.buffer, limit, deadline) {
            Fill::Bytes => Ok(()),
            Fill::Late => Err(begun.map_or(Parting::Silent, |kept| Parting::Refusal(late(kept)))),
            Fill::End => Err(Parting::Silent),
        }
    }
}

fn late(limit: Duration) -> Response {
    Response::error(
        408,
        format!("the request was not complete within {} ms; send it in one go", limit.as_millis()),
    )
}

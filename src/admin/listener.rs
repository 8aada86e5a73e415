//! The client of `GET /events`: reads a node's events as they come.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use crate::node::events::Event;

use super::answer::{ClientError, FROZEN, socket_error};
use super::ask::{self, Patience, host_of};
use super::control;
use crate::tls::Trust;

const CONNECT: Duration = Duration::from_secs(1);
/// A node gives a sign of life every 15 s.
const SILENCE: Duration = Duration::from_secs(20);
/// A line has one event.
const LONGEST_LINE: u64 = 64 * 1024;
/// The lines of the head of an answer.
const HEAD_LINES: usize = 64;

/// A node's events, each as soon as the node sends it.
pub struct Listener {
    address: String,
    lines: BufReader<Box<dyn Read + Send>>,
}

impl Listener {
    /// Listens to the events of the node at this admin address after the one with this id; without an id, to those
    /// from now on.
    ///
    /// # Errors
    /// If nobody answers there, the node refuses, or its version knows no events.
    pub(super) fn open(
        address: &str,
        after: Option<&str>,
        trust: Option<&Trust>,
    ) -> Result<Listener, ClientError> {
        let no_answer = |error: io::Error| socket_error(address, &error, FROZEN);
        let id = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let host = match control::of_address(address) {
            Some(_) => "electd",
            None => host_of(address),
        };
        let question = format!(
            "GET /events HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n{id}\r\n"
        );
        let stream = connect(address, &question, trust).map_err(no_answer)?;
        Listener::hear(address, stream)
    }

    /// Reads the answer of the node at this address.
    pub(super) fn hear(
        address: &str,
        stream: Box<dyn Read + Send>,
    ) -> Result<Listener, ClientError> {
        let mut listener = Listener { address: address.to_owned(), lines: BufReader::new(stream) };
        listener.expect_stream()?;
        Ok(listener)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// If the connection ends, or the node gives no sign of life for 20 s.
    pub fn wait(&mut self) -> Result<Event, ClientError> {
        loop {
            let line = self.line()?;
            // Skips events of a kind that this version does not know.
            if let Some(document) = line.strip_prefix("data:")
                && let Ok(event) = serde_json::from_str(document)
            {
                return Ok(event);
            }
        }
    }

    fn expect_stream(&mut self) -> Result<(), ClientError> {
        let first = self.line()?;
        let code: Option<u16> = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        for _ in 0..HEAD_LINES {
            if self.line()?.is_empty() {
                return match code {
                    Some(200) => Ok(()),
                    Some(code) => {
                        let sentence =
                            format!("{} tells no events: HTTP status {code}", self.address);
                        Err(ClientError::Refused { code, sentence })
                    }
                    None => break,
                };
            }
        }
        let reason = "no answer of HTTP".to_owned();
        Err(ClientError::Stranger { address: self.address.clone(), reason })
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String, ClientError> {
        let mut line = Vec::new();
        let read = (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(_) if line.ends_with(b"\n") => {
                Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
            }
            Ok(_) => Err(socket_error(&self.address, &io::ErrorKind::UnexpectedEof.into(), FROZEN)),
            Err(error) => Err(socket_error(&self.address, &error, FROZEN)),
        }
    }
}

/// Connects and asks.
fn connect(
    address: &str,
    question: &str,
    trust: Option<&Trust>,
) -> io::Result<Box<dyn Read + Send>> {
    if let Some(path) = control::of_address(address) {
        let stream = control::dial(path, CONNECT)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(CONNECT))?;
        (&stream).write_all(question.as_bytes())?;
        return Ok(Box::new(stream));
    }
    let patience = Patience { connect: CONNECT, answer: SILENCE };
    ask::open(host_of(address), question, patience, trust)
}

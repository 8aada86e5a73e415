//! The client of `GET /events`: reads a node's events as they come.

use std::io::{self, BufRead, BufReader, Read};

use super::answer::{ClientError, no_more_events};
use crate::node::events::Event;

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
            Ok(_) => Err(no_more_events(&self.address, &io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(no_more_events(&self.address, &error)),
        }
    }
}

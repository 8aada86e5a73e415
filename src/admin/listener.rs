//! The client of `GET /events`: reads a node's events as they come.

use std::io::{self, BufRead, BufReader, Read};

use super::answer::{ClientError, no_more_events};
use crate::limits::plain_json;
use crate::node::events::Event;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A line has one event.
const LONGEST_LINE: u64 = 64 * 1024;
/// The lines of the head of an answer.
const HEAD_LINES: usize = 64;

/// A node's events, each as soon as the node sends it.
pub struct EventListener<E = Event> {
    address: String,
    lines: BufReader<Box<dyn Read + Send>>,
    events: PhantomData<E>,
}

impl<E: DeserializeOwned> EventListener<E> {
    /// Reads the answer of the node at this address.
    pub(super) fn hear(
        address: &str,
        stream: Box<dyn Read + Send>,
    ) -> Result<EventListener<E>, ClientError> {
        let (address, lines) = (address.to_owned(), BufReader::new(stream));
        let mut listener = EventListener { address, lines, events: PhantomData };
        listener.expect_stream()?;
        Ok(listener)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// If the connection ends, or the node gives no sign of life for 20 s.
    pub fn wait(&mut self) -> Result<E, ClientError> {
        loop {
            let line = self.line()?;
            // Skips events of a kind that this version does not know.
            if let Some(document) = line.strip_prefix("data:")
                && let Ok(event) = serde_json::from_str(&plain_json(document))
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
                        Err(ClientError::Refused { code, passes: false, sentence })
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use serde_json::{Value, json};

    use super::*;
    use crate::node::events::tests::event;

    fn hear(text: &str) -> Result<EventListener, ClientError> {
        EventListener::hear("h:1", Box::new(Cursor::new(text.as_bytes().to_vec())))
    }

    #[test]
    fn events_that_this_version_does_not_know_are_passed_over_and_the_end_is_told() {
        let frame = |event: &Value| format!("id: 1-1\ndata: {event}\n\n");
        let known = json!(event("won"));
        let mut unknown = known.clone();
        unknown["event"] = "of_tomorrow".into();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 500\n\n";
        let all = [head, &frame(&unknown), ": nothing new\n\n", &frame(&known)];
        let mut listener = hear(&all.concat()).unwrap();
        assert_eq!(listener.wait().unwrap().reason, "won");
        let end = listener.wait().unwrap_err().to_string();
        assert_eq!(end, "no answer from h:1: the node closed the connection");
    }

    #[test]
    fn what_is_no_stream_of_events_is_told() {
        let told = |text: &str| hear(text).err().unwrap().to_string();
        let old = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(told(old), "h:1 tells no events: HTTP status 404");
        let odd = "h:1 does not answer like electd: no answer of HTTP; is it the admin address of a node?";
        assert_eq!(told("hello\n\n"), odd);
        assert_eq!(told("HTTP/1.1 ok\n\n"), odd);
        let head = |lines: usize| format!("HTTP/1.1 200 OK\n{}\n", "x\n".repeat(lines));
        assert!(hear(&head(63)).is_ok());
        assert_eq!(told(&head(64)), odd, "a head without an end");
        let end = "no answer from h:1: the node closed the connection";
        assert_eq!(told("HTTP/1.1 200 OK\r\n"), end);
        let line = |length: usize| format!("HTTP/1.1 200 OK\r\n{}\n\n", "x".repeat(length - 1));
        assert!(hear(&line(64 * 1024)).is_ok());
        assert_eq!(told(&line(64 * 1024 + 1)), end, "a line without an end");
    }
}

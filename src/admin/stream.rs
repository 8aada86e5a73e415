//! `GET /events`: a node's events as server-sent events, which browsers and `curl` read as they are.
//!
//! A stream is a place in the node's log of events; the only memory that it needs is the output that its client has
//! not taken yet: at most one batch. A client that does not take a batch in time is cut off; when it comes back with
//! the id of the last event that it read, it misses nothing that is still kept.

use crate::node::events::{Event, EventId, EventLog};

use super::limits;
use super::request::Request;
use super::response::Response;

/// The most events in a batch, and the bytes after which it takes no more.
const LOT: usize = 32;
const LOT_BYTES: usize = 16 * 1024;

/// A sign of life of the stream while nothing happens.
pub const BEAT: &[u8] = b": nothing new\n\n";

/// The head of the stream. The end of the connection is the end of the stream.
pub const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
    X-Accel-Buffering: no\r\nConnection: close\r\n\r\nretry: 500\n\n";

/// The answer to one more client than may have a stream.
pub fn too_many() -> Response {
    let most = limits::STREAMS;
    let sentence = format!(
        "{most} streams of events are open already, which is the most: close one, or ask another node"
    );
    Response::error(503, sentence)
}

/// A client that gets all events.
pub struct Stream {
    /// The last event that was sent to it.
    sent: EventId,
}

impl Stream {
    /// A stream of the events after this one.
    pub fn new(sent: EventId) -> Stream {
        Stream { sent }
    }

    /// The next events as bytes; empty if there is none.
    pub fn next(&mut self, log: &EventLog) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in log.after(self.sent, LOT) {
            if let Ok(id) = event.id.parse() {
                self.sent = id;
            }
            bytes.extend(frame(&event));
            if bytes.len() >= LOT_BYTES {
                break;
            }
        }
        bytes
    }
}

/// The event after which a client wants to listen: the one that it names, or the last one.
///
/// # Errors
/// The answer 400, with words.
pub fn wanted(request: &Request, log: &EventLog) -> Result<EventId, Response> {
    match request.header("last-event-id").filter(|id| !id.is_empty()) {
        Some(id) => id.parse().map_err(|sentence: String| Response::error(400, sentence)),
        None => Ok(log.last()),
    }
}

/// An event as it is sent. JSON has no line break in it.
fn frame(event: &Event) -> Vec<u8> {
    let document = serde_json::json!(event);
    format!("id: {}\nevent: {}\ndata: {document}\n\n", event.id, event.event.name()).into_bytes()
}

//! `GET /events`: a node's events as server-sent events, which browsers and `curl` read as they are.
//!
//! A stream is a place in the node's log of events; the only memory that it needs is the output that its client has
//! not taken yet: at most one batch. A client that does not take a batch in time is cut off; when it comes back with
//! the id of the last event that it read, it misses nothing that is still kept.

use std::time::Instant;

use crate::core::locks::table::LockName;
use crate::limits::quote;
use crate::node::events::{EventId, EventLog, Logged};

use super::limits;
use super::request::Request;
use super::response::Response;

/// The most events in a batch, and the bytes after which it takes no more.
const LOT: usize = 32;
const LOT_BYTES: usize = 16 * 1024;

/// A sign of life of the stream while nothing happens.
const BEAT: &[u8] = b": nothing new\n\n";

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

/// A client that gets all events, or the changes of one lock.
pub struct Stream {
    /// The lock.
    pub lock: Option<LockName>,
    /// The last event that was sent to it.
    sent: EventId,
    /// When it was sent anything last.
    since: Instant,
}

impl Stream {
    /// A stream of the events after this one, which begins now.
    pub fn new(lock: Option<LockName>, sent: EventId, now: Instant) -> Stream {
        Stream { lock, sent, since: now }
    }

    /// What is sent now: the next events or, where there was none for long, a sign of life; else nothing.
    pub fn next<E: Logged>(&mut self, log: &EventLog<E>, now: Instant) -> Vec<u8> {
        let mut bytes = self.events(log);
        if bytes.is_empty() && now.duration_since(self.since) >= limits::BEAT {
            bytes.extend(BEAT);
        }
        if !bytes.is_empty() {
            self.since = now;
        }
        bytes
    }

    fn events<E: Logged>(&mut self, log: &EventLog<E>) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.is_empty() {
            let events = log.after(self.sent, LOT);
            if events.is_empty() {
                break;
            }
            for event in events {
                if let Ok(id) = event.id().parse() {
                    self.sent = id;
                }
                if self.lock.as_ref().is_some_and(|lock| event.lock() != Some(lock.as_str())) {
                    continue;
                }
                bytes.extend(frame(&*event));
                if bytes.len() >= LOT_BYTES {
                    break;
                }
            }
        }
        bytes
    }
}

/// The lock whose changes a client wants to listen to, if it names one.
///
/// # Errors
/// The answer 400, with words.
pub fn lock(request: &Request) -> Result<Option<LockName>, Response> {
    let Some(name) = request.query.strip_prefix("lock=") else { return Ok(None) };
    LockName::new(name).map(Some).map_err(|why| {
        Response::error(400, format!("\"{}\" is no name of a lock: {why}", quote(name)))
    })
}

/// The event after which a client wants to listen: the one that it names, or the last one.
///
/// # Errors
/// The answer 400, with words.
pub fn wanted<E: Logged>(request: &Request, log: &EventLog<E>) -> Result<EventId, Response> {
    match request.header("last-event-id").filter(|id| !id.is_empty()) {
        Some(id) => id.parse().map_err(|sentence: String| Response::error(400, sentence)),
        None => Ok(log.last()),
    }
}

/// An event as it is sent. JSON has no line break in it.
fn frame(event: &impl Logged) -> Vec<u8> {
    let document = serde_json::json!(event);
    format!("id: {}\nevent: {}\ndata: {document}\n\n", event.id(), event.kind()).into_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::node::events::tests::event;

    /// A log of events with these reasons, and a stream of all of them.
    fn log(reasons: &[&str]) -> (EventLog, Stream) {
        let log = EventLog::new(3);
        log.push(reasons.iter().map(|reason| event(reason)));
        (log, Stream::new(None, EventId { start: 3, number: 0 }, Instant::now()))
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    /// How many events come at a time, until there are none.
    fn lots(reasons: &[&str]) -> Vec<usize> {
        let (log, mut stream) = log(reasons);
        let now = stream.since;
        let lots =
            std::iter::from_fn(|| Some(stream.next(&log, now)).filter(|lot| !lot.is_empty()));
        lots.map(|lot| text(&lot).matches("id: 3-").count()).collect()
    }

    #[test]
    fn an_event_is_sent_with_its_id_its_kind_and_its_document() {
        let (log, mut stream) = log(&["it is\ndead", "b"]);
        let now = stream.since;
        let about = r#"{"at_ms":1700000000123,"epoch":7,"event":"no_leader","from":null,"halting":null,"id":"3-1","#;
        let rest = r#""leader":null,"leaderless":null,"leaderless_ms":null,"member":null,"node":"a","reason":"#;
        let one = format!(
            "id: 3-1\nevent: no_leader\ndata: {about}{rest}\"it is\\ndead\",\"state\":\"electing\"}}\n\n"
        );
        let two = one.replace("3-1", "3-2").replace("it is\\ndead", "b");
        assert_eq!(text(&stream.next(&log, now)), one + &two);
        assert_eq!(text(&stream.next(&log, now)), "", "they were sent");
    }

    #[test]
    fn a_lot_has_32_events_or_the_first_that_fill_16_kib() {
        assert_eq!(lots(&["a"; 33]), [32, 1]);
        let length = frame(&*log(&[""]).0.after(EventId { start: 3, number: 0 }, 1)[0]).len();
        let fill = |length_of_all: usize| "a".repeat(length_of_all - length);
        assert_eq!(lots(&[&fill(16 * 1024), "b"]), [1, 1]);
        assert_eq!(lots(&[&fill(16 * 1024 - 1), "b"]), [2]);
    }

    #[test]
    fn a_stream_gives_a_sign_of_life_when_it_has_said_nothing_for_15_s() {
        let (log, mut stream) = log(&[]);
        let (begun, beat) = (stream.since, ": nothing new\n\n");
        let at = |ms| begun + Duration::from_millis(ms);
        for (ms, said) in [(14_999, ""), (15_000, beat), (29_999, ""), (30_001, beat), (45_000, "")]
        {
            assert_eq!(text(&stream.next(&log, at(ms))), said, "{ms}");
        }
        log.push([event("a")]);
        assert!(text(&stream.next(&log, at(45_500))).starts_with("id: 3-1\n"));
        assert_eq!(text(&stream.next(&log, at(60_499))), "");
        assert_eq!(text(&stream.next(&log, at(60_500))), beat);
    }

    #[test]
    fn a_client_listens_after_the_event_that_it_names_or_from_now_on() {
        let (log, _) = log(&["a", "b"]);
        let wanted = |headers: &str| {
            let text = format!("GET /events HTTP/1.1\r\nHost: n\r\n{headers}\r\n");
            wanted(&Request::parse(text.as_bytes()).unwrap().unwrap().0, &log)
        };
        assert_eq!(wanted(""), Ok(EventId { start: 3, number: 2 }));
        assert_eq!(wanted("Last-Event-ID: \r\n"), Ok(EventId { start: 3, number: 2 }));
        assert_eq!(wanted("Last-Event-ID: 3-1\r\n"), Ok(EventId { start: 3, number: 1 }));
        let sentence = "\"yesterday\" is no id of an event; write one such as 3-17";
        assert_eq!(wanted("Last-Event-ID: yesterday\r\n"), Err(Response::error(400, sentence)));
    }

    #[test]
    fn a_stream_passes_a_proxy_and_one_too_many_is_refused_with_words() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
                    X-Accel-Buffering: no\r\nConnection: close\r\n\r\nretry: 500\n\n";
        assert_eq!(text(HEAD), head);
        let sentence = "32 streams of events are open already, which is the most: close one, or ask another node";
        assert_eq!(too_many(), Response::error(503, sentence));
    }
}

//! What every server of HTTP here does with a client: it hears requests, one after the other, each within its time, and
//! sends answers.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::Instant;

use super::inbound::{ClientInput, ClientRequest, RequestRead, RequestStage};
use super::limits;
use super::line::ClientLine;
use super::places::Place;
use super::response::{Delivery, Response};

/// How an answer is sent to something that is no request.
const REFUSAL: Delivery = Delivery { head_only: false, close: true, old: false };

/// A conversation with a client.
pub struct Talk<'a> {
    /// Its connection.
    pub line: ClientLine<'a>,
    inbound: ClientInput,
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
        Talk { line: ClientLine::new(place), inbound: ClientInput::default() }
    }

    /// The next request, or the end. The time for a request begins with its first byte, unless it is the first. What is no
    /// request is answered here.
    ///
    /// # Errors
    /// If the client is gone, or does not take an answer in time.
    pub fn hear(&mut self, mut until: Instant) -> io::Result<Result<Box<ClientRequest>, Over>> {
        let mut buffer = [0; 4096];
        loop {
            match self.inbound.next() {
                RequestRead::Asked(asked) => {
                    self.line.place().make_progress();
                    return Ok(Ok(asked));
                }
                RequestRead::Refused(response) => return self.refuse(&response).map(Err),
                RequestRead::BodyWanted => {
                    self.line
                        .send(b"HTTP/1.1 100 Continue\r\n\r\n", Instant::now() + limits::ANSWER)?;
                }
                RequestRead::Part => {}
            }
            let stage = self.inbound.stage();
            let most = self.inbound.room().min(buffer.len());
            match self.line.read(&mut buffer[..most], until) {
                Ok(0) => return Ok(Err(Over::Silence)),
                Ok(count) => self.inbound.hear(&buffer[..count]),
                Err(error) if error.kind() != ErrorKind::TimedOut => return Err(error),
                Err(_) if stage == RequestStage::Before => return Ok(Err(Over::Silence)),
                Err(_) => return self.refuse(&late()).map(Err),
            }
            if stage == RequestStage::Before {
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::admin::places::{self, ClientPlaces};
    use crate::testing::within::within;

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(20);

    /// A conversation, and the client.
    fn talk(places: &ClientPlaces) -> (Talk<'_>, TcpStream) {
        let (client, place) = places::tests::connected(places);
        place.socket().set_nonblocking(true).unwrap();
        (Talk::new(place), client)
    }

    /// What the client hears up to the end, without the date.
    fn heard(mut client: TcpStream) -> String {
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")).collect()
    }

    #[test]
    fn a_client_may_be_silent_for_30_s_between_two_requests_and_for_2_s_amid_one() {
        let places = ClientPlaces::default();
        let (mut talk, _client) = talk(&places);
        let left = |talk: &Talk<'_>| {
            let before = Instant::now();
            let until = talk.until_next();
            (until - before, until - Instant::now())
        };
        let (longest, shortest) = left(&talk);
        assert!((shortest..=longest).contains(&Duration::from_secs(30)), "{longest:?}");
        talk.inbound.hear(b"G");
        let (longest, shortest) = left(&talk);
        assert!(shortest <= Duration::from_secs(2), "{shortest:?}");
        assert!(longest >= Duration::from_millis(2005), "{longest:?}: others come first");
    }

    /// It has its answer, and asked for more before it read it.
    #[test]
    fn a_client_that_asks_in_one_go_gives_its_place_to_others_between_two_answers() {
        let places = ClientPlaces::default();
        let (mut talk, _client) = talk(&places);
        talk.inbound.hear(b"G");
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !talk.line.place().is_over() && begun.elapsed() < LONG {
                    talk.until_next();
                }
            });
            within(LONG, "it gives way", || {
                places.make_room();
                talk.line.place().is_over()
            });
        });
    }

    /// The time for a request begins with its first byte, however long its client was waited for.
    #[test]
    fn a_request_that_does_not_come_in_time_is_told_so_and_silence_is_not() {
        let places = ClientPlaces::default();
        let (mut silent, client) = talk(&places);
        let now = Instant::now();
        assert!(matches!(silent.hear(now), Ok(Err(Over::Silence))));
        drop(silent);
        assert_eq!(heard(client), "");
        let (mut late, mut client) = talk(&places);
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let begun = Instant::now();
        assert!(matches!(late.hear(begun + LONG), Ok(Err(Over::Answered))));
        let took = begun.elapsed();
        assert!((Duration::from_secs(2)..LONG).contains(&took), "{took:?}");
        drop(late);
        let body =
            "{\"error\":\"the request was not complete within 2000 ms; send it in one go\"}\n";
        let head = "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nContent-Length: 75\r\n\
                    Cache-Control: no-store\r\nConnection: close\r\n\r\n";
        assert_eq!(heard(client), format!("{head}{body}"));
        let (mut ends, client) = talk(&places);
        drop(client);
        assert!(matches!(ends.hear(Instant::now() + LONG), Ok(Err(Over::Silence))));
    }

    #[test]
    fn a_request_is_progress_and_its_body_is_asked_for() {
        let places = ClientPlaces::default();
        let (mut talk, mut client) = talk(&places);
        client
            .write_all(
                b"POST /a HTTP/1.1\r\nHost: n\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
            )
            .unwrap();
        let (other, _stays) = self::talk(&places);
        let asked = std::thread::scope(|scope| {
            let hears = scope.spawn(|| talk.hear(Instant::now() + LONG));
            let mut told = [0; 25];
            client.read_exact(&mut told).unwrap();
            assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
            client.write_all(b"{}").unwrap();
            hears.join().unwrap()
        });
        let Ok(Ok(asked)) = asked else { panic!("it is a request") };
        assert_eq!((asked.request.path.as_str(), &asked.body[..]), ("/a", &b"{}"[..]));
        talk.line.place().wait(|| other.line.place().wait(|| places.make_room()));
        assert!(other.line.place().is_over() && !talk.line.place().is_over());
    }

    /// A reset would take the answer away.
    #[test]
    fn after_the_last_answer_what_a_client_says_is_dropped_for_half_a_second() {
        let places = ClientPlaces::default();
        let (mut talk, mut client) = talk(&places);
        let over = talk.refuse(&Response::error(400, "why"));
        assert!(matches!(over, Ok(Over::Answered)));
        let begun = Instant::now();
        client.write_all(&[b'x'; 5000]).unwrap();
        talk.finish();
        assert!(begun.elapsed() >= Duration::from_millis(500), "it does not end the connection");
        let text = heard(client);
        assert!(text.ends_with("Connection: close\r\n\r\n{\"error\":\"why\"}\n"), "{text}");
    }
}

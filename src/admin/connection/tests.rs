//! One client of a node that a test plays: its place, and the end of its conversation.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::*;
use crate::admin::guard::Access;
use crate::admin::places;
use crate::admin::server::tests::Shows;
use crate::node::events::tests::event;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

/// What the connections to a node share that takes commands from each of them.
fn shared() -> ServerContext<Shows> {
    ServerContext::new(Shows::new("a", &[]), Access::Control(Box::new(drop)))
}

/// A connection to this node, and its client.
fn connected(shared: &ServerContext<Shows>) -> (ClientConnection<'_, Shows>, TcpStream) {
    let (client, place) = places::tests::connected(shared.places());
    (ClientConnection { shared, talk: Talk::new(place) }, client)
}

/// A stream looks by itself as well, once in a second.
#[test]
fn each_event_of_a_node_wakes_the_streams() {
    let shared = shared();
    for happened in 1..3 {
        shared.handle().events.push([event("a")]);
        assert_eq!(shared.places().news(), happened);
    }
}

#[test]
fn a_client_that_takes_its_events_stays_and_one_that_came_later_goes() {
    let shared = shared();
    let ((mut first, mut client), (later, _client)) = (connected(&shared), connected(&shared));
    first.tell(b"event").unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    let [first, later] = [&first, &later].map(|connection| connection.talk.line.place());
    first.wait(|| later.wait(|| shared.places().make_room()));
    assert!(later.is_over() && !first.is_over());
}

/// It is told so with the answer: a client that asks again on this connection would not be heard.
#[test]
fn the_answer_of_a_server_that_stops_ends_the_conversation() {
    let shared = shared();
    let (mut connection, mut client) = connected(&shared);
    client.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let asked = connection.talk.hear(Instant::now() + LONG).unwrap().ok().unwrap();
    assert!(connection.answer(&asked).unwrap().is_none(), "more may follow");
    shared.places().close();
    assert!(matches!(connection.answer(&asked), Ok(Some(ConversationEnd::Over(Over::Answered)))));
    drop(connection);
    let mut heard = String::new();
    client.read_to_string(&mut heard).unwrap();
    let ends: Vec<_> =
        heard.split("HTTP/1.1 200 OK").map(|it| it.contains("Connection: close")).collect();
    assert_eq!(ends, [false, false, true], "{heard}");
}

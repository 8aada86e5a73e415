//! A site that belongs to no node, for a browser on this host: questions by GET alone, whose answers follow from the
//! question.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;

use socket2::Socket;

use super::acceptor::Crew;
use super::limits;
use super::places::{Place, Places};
use super::request::Request;
use super::response::{Delivery, Response};
use super::serving::Serving;
use super::talk::{Over, Talk};

/// Enough for an answer that is worked out on the thread of its client.
const STACK: usize = 4 * 1024 * 1024;

/// Its threads; they give way to nodes on this host.
const CREW: Crew = Crew { name: "site", priority: 5, stack: STACK };

/// A site. Dropping it ends it.
pub(crate) struct Site {
    address: SocketAddr,
    _serving: Serving,
}

impl Site {
    /// Serves at most 64 connections with these answers.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start(
        listener: TcpListener,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> io::Result<Site> {
        let address = listener.local_addr()?;
        let socket = Socket::from(listener);
        socket.set_tcp_nodelay(true)?; // every accepted socket inherits this
        let places = Arc::<Places>::default();
        let serving = Serving::start(CREW, socket, places, move |place| serve(place, &answer))?;
        Ok(Site { address, _serving: serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn serve(place: Place<'_>, answer: &dyn Fn(&Request) -> Response) {
    let mut talk = Talk::new(place);
    if let Ok(Over::Answered) = converse(&mut talk, answer) {
        talk.finish();
    }
}

fn converse(talk: &mut Talk<'_>, answer: &dyn Fn(&Request) -> Response) -> io::Result<Over> {
    talk.line.place().socket().set_nonblocking(true)?;
    let mut until = Instant::now() + limits::REQUEST;
    loop {
        let asked = match talk.hear(until)? {
            Ok(asked) => asked,
            Err(over) => return Ok(over),
        };
        let request = &asked.request;
        let response = judge(request).unwrap_or_else(|| answer(request));
        let close = request.wants_close() || talk.line.place().is_over();
        let head_only = request.method == "HEAD";
        talk.send(&response, Delivery { head_only, close, old: request.old })?;
        if close {
            return Ok(Over::Answered);
        }
        until = talk.until_next();
    }
}

/// The refusal of a request, if it is not for this site.
fn judge(request: &Request) -> Option<Response> {
    if !request.header("host").is_some_and(is_of_this_host) {
        let sentence = "this site is for browsers on its own host: ask for it by http://127.0.0.1 or \
                        http://localhost, with its port";
        return Some(Response::error(403, sentence));
    }
    let is_question = ["GET", "HEAD"].contains(&request.method.as_str());
    (!is_question).then(|| {
        Response::error(405, format!("{} is not taken here; ask by GET", request.method))
            .allowing("GET, HEAD")
    })
}

/// Whether a Host header names this host. A page of a stranger, whose name leads to this host by now, has another.
fn is_of_this_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<u16> {
        let request = Request::parse(text.as_bytes()).unwrap().unwrap().0;
        judge(&request).map(|response| response.code)
    }

    #[test]
    fn it_answers_questions_that_name_this_host() {
        for host in ["127.0.0.1", "127.0.0.1:7400", "localhost:8000", "LOCALHOST", "[::1]:7400"] {
            assert_eq!(code(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), None, "{host}");
        }
        for host in ["evil.example:7400", "10.0.0.1", "localhost.evil", "", "127.0.0.1.evil:7400"] {
            let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(code(&text), Some(403), "{host}");
        }
        assert_eq!(code("GET / HTTP/1.0\r\n\r\n"), Some(403), "it names none");
        assert_eq!(code("POST /run HTTP/1.1\r\nHost: localhost\r\n\r\n"), Some(405));
    }
}

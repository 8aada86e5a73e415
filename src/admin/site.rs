//! A site that belongs to no node, for a browser on this host: questions by GET alone, whose answers follow from the
//! question.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;

use socket2::Socket;

use super::acceptor::Crew;
use super::host;
use super::limits;
use super::places::{ClientPlaces, Place};
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
        let places = Arc::<ClientPlaces>::default();
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
    if !host::is_for_loopback(request) {
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::thread;
    use std::time::Duration;

    use rustix::process::getpriority_process;
    use socket2::SockRef;

    use super::*;

    /// The refusal of a request with this first line and these headers.
    fn judged(text: &str) -> Option<Response> {
        judge(&Request::parse(format!("{text}\r\n\r\n").as_bytes()).unwrap().unwrap().0)
    }

    #[test]
    fn it_answers_questions_that_name_this_host() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:7400",
            "127.9.9.9",
            "localhost:8000",
            "LOCALHOST",
            "[::1]:7400",
            "[::1]",
        ] {
            for method in ["GET", "HEAD"] {
                assert_eq!(judged(&format!("{method} / HTTP/1.1\r\nHost: {host}")), None, "{host}");
            }
        }
        let sentence = "this site is for browsers on its own host: ask for it by http://127.0.0.1 or http://localhost, \
                        with its port";
        let stranger = Some(Response::error(403, sentence));
        for host in [
            "evil.example:7400",
            "10.0.0.1",
            "localhost.evil",
            "",
            "127.0.0.1.evil:7400",
            "localhost:80a",
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: {host}");
            assert_eq!(judged(&text), stranger, "{host}");
        }
        assert_eq!(judged("GET / HTTP/1.0"), stranger, "it names none");
        assert_eq!(judged("POST / HTTP/1.1\r\nHost: evil.example"), stranger);
        let sentence = "POST is not taken here; ask by GET";
        let refused = Some(Response::error(405, sentence).allowing("GET, HEAD"));
        assert_eq!(judged("POST /run HTTP/1.1\r\nHost: localhost"), refused);
    }

    #[test]
    fn a_client_that_says_nothing_is_let_go_after_2_s() {
        let site = Site::start(TcpListener::bind("127.0.0.1:0").unwrap(), |_| unreachable!());
        let site = site.unwrap();
        let mut silent = TcpStream::connect(site.address()).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "it has ended");
    }

    #[test]
    fn a_conversation_goes_on_until_the_client_has_enough_or_the_site_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (own, address) = (listener.try_clone().unwrap(), listener.local_addr().unwrap());
        let priority = getpriority_process(None).unwrap();
        let site = Site::start(listener, move |request| {
            assert_eq!(thread::current().name(), Some("site-client"));
            let lowered = getpriority_process(None).unwrap();
            assert!([5, priority.max(5)].contains(&lowered), "{lowered}");
            Response::bytes(request.path.clone().into_bytes())
        });
        let site = site.unwrap();
        assert_eq!(site.address(), address);
        assert!(SockRef::from(&own).tcp_nodelay().unwrap());
        drop(own);
        let said = |text: &str| {
            let mut client = TcpStream::connect(address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            client.write_all(text.as_bytes()).unwrap();
            let mut heard = String::new();
            client.read_to_string(&mut heard).unwrap();
            let lines = heard.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: "));
            lines.collect::<String>()
        };
        let answer = |rest: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 2\r\n\
                 Cache-Control: no-store\r\n{rest}"
            )
        };
        let host = "HTTP/1.1\r\nHost: localhost\r\n";
        let close = "Connection: close\r\n";
        assert_eq!(
            said(&format!(
                "GET /a {host}\r\nHEAD /b {host}\r\nGET /c {host}{close}\r\nGET /d {host}\r\n"
            )),
            [answer("\r\n/a"), answer("\r\n"), answer(&format!("{close}\r\n/c"))].concat()
        );
        let old = "HTTP/1.0\r\nHost: localhost\r\n";
        let keep = "Connection: keep-alive\r\n";
        assert_eq!(
            said(&format!("GET /a {old}{keep}\r\nGET /b {old}\r\n")),
            [answer(&format!("{keep}\r\n/a")), answer(&format!("{close}\r\n/b"))].concat()
        );
        assert!(said("hello\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
        let mut idle = TcpStream::connect(address).unwrap();
        idle.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        idle.write_all(format!("GET /a {host}\r\n").as_bytes()).unwrap();
        idle.read_exact(&mut [0; 40]).unwrap();
        drop(site);
        let _ = idle.read_to_end(&mut Vec::new());
        assert!(TcpStream::connect(address).is_err());
    }
}

//! A small HTTP client: one question a connection, and never a long wait.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use electd::admin::control;
use serde_json::Value;

/// Long enough for any node that answers at all, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A node's answer.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The sentence of a refusal.
    #[track_caller]
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error in {self:?}")).to_owned()
    }
}

/// Gives one command by the control socket in this state folder.
pub fn tell(state: &Path, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    let stream = control::dial(&control::path(state), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    converse(stream, "electd", method, path, body)
}

/// Asks one question.
pub fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    ask_within(TIMEOUT, address, method, path, body)
}

/// Asks one question of a node that may be gone without a word.
pub fn ask_within(
    time: Duration,
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> io::Result<Answer> {
    let stream = TcpStream::connect_timeout(&address, time)?;
    stream.set_read_timeout(Some(time))?;
    converse(stream, &address.to_string(), method, path, body)
}

fn converse(
    mut stream: impl Read + Write,
    host: &str,
    method: &str,
    path: &str,
    body: &str,
) -> io::Result<Answer> {
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    parse(&answer).ok_or_else(|| io::Error::other(format!("not an answer: {answer:?}")))
}

fn parse(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let code = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { code, body: body.to_owned() })
}

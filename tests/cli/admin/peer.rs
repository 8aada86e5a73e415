//! A client of HTTP that says what a test wants, and reads what comes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::fake::TOKEN;

/// A client's connection. Reads fail after a minute, so that no test hangs.
pub struct Peer(BufReader<TcpStream>);

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The sentence of a refusal.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

impl Peer {
    pub fn connect(address: SocketAddr) -> Peer {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Peer(BufReader::new(stream))
    }

    pub fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Says as much as the server takes; it may close meanwhile.
    pub fn try_say(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// Gives up on a server that reads nothing for this long.
    pub fn limit_writes(&self, timeout: Duration) {
        self.0.get_ref().set_write_timeout(Some(timeout)).unwrap();
    }

    /// Whether the server has closed, looked up without waiting and without reading.
    pub fn is_reset(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let ended = matches!(stream.peek(&mut [0]), Ok(0));
        stream.set_nonblocking(false).unwrap();
        ended
    }

    /// Whether there is an answer, looked up without waiting and without reading.
    pub fn has_answer(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let has_answer = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
        stream.set_nonblocking(false).unwrap();
        has_answer
    }

    /// The next answer; its body is read by its Content-Length.
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.header();
        let length = answer.header("content-length").unwrap().parse().unwrap();
        answer.body = String::from_utf8(self.bytes(length)).unwrap();
        answer
    }

    /// The next bytes, as they are.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The next answer without a body, as to HEAD.
    pub fn header(&mut self) -> Answer {
        let first = self.line();
        let code = first.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {first:?}"));
        let code = code.parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
                None => {
                    return Answer { code, headers, body: String::new() };
                }
            };
        }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the server to close; true if it said nothing more.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset closes as well.
        let _ = self.0.read_to_end(&mut rest);
        rest.is_empty()
    }
}

/// One request on a connection of its own.
pub fn ask(address: SocketAddr, text: &str) -> Answer {
    let mut peer = Peer::connect(address);
    peer.say(text);
    peer.answer()
}

/// All that is answered to this line and these header lines, without the date.
pub fn whole(address: SocketAddr, line: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let text = format!("{line} HTTP/1.1\r\nHost: n\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")).collect()
}

/// An answer of JSON as [`whole`] gives it, with these header lines.
pub fn answer(code: &str, headers: &str, body: &str) -> String {
    let length = body.len() + 1;
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\n{headers}Connection: close\r\n\r\n{body}\n"
    )
}

/// The refusal with this code and this sentence.
pub fn refusal(code: &str, sentence: &str) -> String {
    answer(code, "", &serde_json::json!({ "error": sentence }).to_string())
}

/// `GET path`, on a connection of its own.
pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n"))
}

/// `POST path` with this body and these header lines, and with [`TOKEN`] unless they have another.
pub fn post(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> Answer {
    let mut text = format!("POST {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        text += "Host: node\r\n";
    }
    if !headers.iter().any(|header| header.starts_with("Authorization:")) {
        text += &format!("Authorization: Bearer {TOKEN}\r\n");
    }
    for header in headers {
        text += &format!("{header}\r\n");
    }
    ask(address, &format!("{text}\r\n{body}"))
}

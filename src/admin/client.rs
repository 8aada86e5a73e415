//! The client: asks nodes for their status, and gives them commands.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use electd_facts::held::LocksPage;
use electd_facts::hold::LockChange;
use electd_facts::locks::LocksView;
use electd_record::delays::MeasuredDelays;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::{FROZEN, STILL_WAITS, SilentNode, UNKNOWN, understand, understand_as_it_is};
use super::control;
use super::exchange::{Endless, Exchange};
use super::guard;
use super::listener::EventListener;
use crate::node;
use crate::node::history::History;
use crate::node::status::Status;
use crate::tls::Trust;
use crate::trace::merge::TimedRecord;
use crate::trace::record::Record;

pub use super::answer::ClientError;
pub(crate) use super::exchange::host_of;
pub use super::order::Order;
use super::order::WaitsFor;
#[cfg_attr(not(feature = "cli"), expect(unused_imports))]
pub(crate) use super::order::how_long;

const CONNECT: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(2);
/// A node carries a command out in up to two seconds, and then still has to answer.
const COMMAND_ANSWER: Duration = Duration::from_secs(4);
/// A leader changes the members once promises by the last list are over: four times `failure` at most, and that is seldom above 10 s.
const CHANGE_ANSWER: Duration = Duration::from_secs(60);
/// A leader that hands over first ends its job; a node waits 5 min for that.
const HANDOVER_ANSWER: Duration = Duration::from_secs(310);
/// A node gives a sign of life of its events every 15 s.
const SILENCE: Duration = Duration::from_secs(20);

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Achieved {
    /// One sentence.
    pub result: String,
    /// The name of the member that is to start the next election.
    pub successor: Option<String>,
    /// The id of the member that was added.
    pub id: Option<String>,
}

/// The node that a command is for: any other node refuses the command.
#[derive(Clone, Copy, Debug)]
pub struct Recipient<'a> {
    /// The address to ask.
    pub address: &'a str,
    /// The name of its cluster.
    pub cluster: &'a str,
    /// Its id.
    pub id: &'a str,
}

impl Recipient<'_> {
    /// Asks the node by its control socket for a connection that carries another protocol. Returns the connection, with
    /// the first bytes that were read of it.
    ///
    /// # Errors
    /// If no node answers, another one does, or this process may not ask.
    pub fn upgrade(
        &self,
        protocol: &str,
        timeout: Duration,
    ) -> Result<(UnixStream, Vec<u8>), Refused> {
        let socket = control::of_address(self.address).unwrap_or(Path::new(self.address));
        let question = format!(
            "GET /exec HTTP/1.1\r\nHost: electd\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n{}\r\n",
            self.headers(),
        );
        let failed = |error: io::Error| Refused::of(socket, timeout, &error);
        let mut exchange = Exchange::open(self.address, None, timeout).map_err(failed)?;
        exchange.ask(&question, timeout).map_err(failed)?;
        let head = exchange.head(timeout).map_err(failed)?;
        match head.code {
            101 => Ok((exchange.into_stream(), head.rest)),
            code => Err(Refused::with(code, &exchange.body(head, timeout).unwrap_or_default())),
        }
    }

    /// The header lines that name the node.
    fn headers(&self) -> String {
        let Recipient { cluster, id, .. } = self;
        format!("{}: {cluster}\r\n{}: {id}\r\n", guard::CLUSTER, guard::NODE)
    }
}

/// Why the node gave no connection away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another node answers.
    #[error("{0}")]
    Mismatch(String),
    /// The socket belongs to another user.
    #[error("{0}")]
    Forbidden(String),
    /// No node answers, or it gives no connection away.
    #[error("{0}")]
    NoAnswer(String),
}

impl Refused {
    fn of(socket: &Path, timeout: Duration, error: &io::Error) -> Refused {
        let socket = socket.display();
        match error.kind() {
            ErrorKind::PermissionDenied => {
                Refused::Forbidden(format!("this user may not open {socket}: {}", control::WHO_MAY))
            }
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                Refused::NoAnswer(format!("no node runs on this host: nobody listens on {socket}"))
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Refused::NoAnswer(format!(
                "no answer on {socket} within {timeout:?}: the node may be frozen"
            )),
            _ => Refused::NoAnswer(format!("{socket}: {error}")),
        }
    }

    /// With this answer, whose body says why.
    fn with(code: u16, body: &str) -> Refused {
        let words: Option<Value> = serde_json::from_str(body).ok();
        let words = words.and_then(|words| words["error"].as_str().map(str::to_owned));
        let words = words.unwrap_or_else(|| format!("the node answered HTTP status {code}"));
        if code == 409 { Refused::Mismatch(words) } else { Refused::NoAnswer(words) }
    }
}

/// A client of any number of nodes, at their admin addresses (`host:port`) or their control sockets
/// (`unix:PATH`). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    token: Option<String>,
    /// The time limit of each connection and each answer, if it is not the usual.
    timeout: Option<Duration>,
    /// The certificates, if it speaks HTTPS over TCP.
    trust: Option<Trust>,
}

impl Client {
    /// A client, with the token for commands over TCP, if there is one.
    #[must_use]
    pub fn new(token: Option<String>) -> Client {
        Client::within(None, token)
    }

    /// A client that waits this long for a connection and for an answer; without a time 1 s and 2 s, 4 s for the
    /// answer to a command, and 310 s for that to one that may end a leadership.
    #[must_use]
    pub fn within(timeout: Option<Duration>, token: Option<String>) -> Client {
        Client { token, timeout, trust: None }
    }

    /// The same, which speaks HTTPS over TCP.
    pub(crate) fn secured(self, trust: Option<Trust>) -> Client {
        Client { trust, ..self }
    }

    /// Listens to the events of the node at this address after the one with this id; without an id, to those from now
    /// on.
    ///
    /// # Errors
    /// If nobody answers there, the node refuses, or its version knows no events.
    pub fn listen(&self, address: &str, after: Option<&str>) -> Result<EventListener, ClientError> {
        self.listen_at(address, "events", after)
    }

    /// The same of the changes of the lock of this name.
    ///
    /// # Errors
    /// As [`Client::listen`].
    pub fn listen_to_lock(
        &self,
        address: &str,
        lock: &str,
        after: Option<&str>,
    ) -> Result<EventListener<LockChange>, ClientError> {
        self.listen_at(address, &format!("events?lock={lock}"), after)
    }

    fn listen_at<E: DeserializeOwned>(
        &self,
        address: &str,
        path: &str,
        after: Option<&str>,
    ) -> Result<EventListener<E>, ClientError> {
        let id = after.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let headers = format!("Accept: text/event-stream\r\n{id}");
        let question = question(address, "GET", path, &headers, "");
        let place = SilentNode { address, connect: CONNECT, silence: FROZEN };
        let mut exchange = Exchange::open(address, self.trust.as_ref(), CONNECT)
            .map_err(|error| place.not_reached(&error))?;
        exchange.ask(&question, CONNECT).map_err(|error| place.not_answered(&error))?;
        EventListener::hear(address, Box::new(Endless { exchange, timeout: SILENCE }))
    }

    /// The status of the node at this address.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn status(&self, address: &str) -> Result<Status, ClientError> {
        let began = node::wall_clock_ms();
        let mut status: Status = self.get(address, "status")?;
        status.asked_ms = Some((began, node::wall_clock_ms()));
        Ok(status)
    }

    /// The leaderships that the node at this address knows.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn history(&self, address: &str) -> Result<History, ClientError> {
        self.get(address, "history")
    }

    /// How late the node at this address was of late, and how long round trips took.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn delays(&self, address: &str) -> Result<MeasuredDelays, ClientError> {
        self.get(address, "delays")
    }

    /// A page of the locks that the node at this address knows: the one that begins after this name, or the first.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn locks(&self, address: &str, after: Option<&str>) -> Result<LocksPage, ClientError> {
        let query = after.map(|name| format!("?after={name}")).unwrap_or_default();
        self.get(address, &format!("locks{query}"))
    }

    /// What the node at this address knows of the lock of this name.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn lock(&self, address: &str, name: &str) -> Result<LocksView, ClientError> {
        self.get(address, &format!("locks/{name}"))
    }

    /// Whether the node at this address holds the lock of this name, and may act by it.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn holds(&self, address: &str, name: &str) -> Result<bool, ClientError> {
        let path = format!("locks/{name}/leader");
        let question = question(address, "GET", &path, "Connection: close\r\n", "");
        let (code, text) = self.ask(address, &question, ANSWER, FROZEN)?;
        let understood = if code == 503 { 200 } else { code };
        understand::<LocksView>(address, understood, &text).map(|_| code == 200)
    }

    /// What the node at this address recorded of its elections.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn record(&self, address: &str) -> Result<Record, ClientError> {
        self.get(address, "trace")
    }

    /// The same, to be merged with others. The clock of the node showed what the record says at some time between the
    /// question and the answer.
    ///
    /// # Errors
    /// As [`Client::record`].
    pub fn timed_record(&self, address: &str) -> Result<TimedRecord, ClientError> {
        let before = i128::from(node::now().0);
        let record = self.record(address)?;
        let after = i128::from(node::now().0);
        let ahead_ns = before.midpoint(after) - i128::from(record.now_ns);
        Ok(TimedRecord { record, ahead_ns })
    }

    /// The recording of the node at this address, byte for byte, as `electd replay` reads it.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn recording(&self, address: &str) -> Result<String, ClientError> {
        let question = question(address, "GET", "flight", "Connection: close\r\n", "");
        let (code, text) = self.ask(address, &question, ANSWER, FROZEN)?;
        // Its checksum is of these bytes.
        understand_as_it_is::<Box<RawValue>>(address, code, &text)
            .map(|document| document.get().to_owned())
    }

    fn get<T: DeserializeOwned>(&self, address: &str, path: &str) -> Result<T, ClientError> {
        let question = question(address, "GET", path, "Connection: close\r\n", "");
        self.exchange(address, &question, ANSWER, FROZEN)
    }

    /// Gives this node a command, and names the node in it.
    ///
    /// # Errors
    /// If nobody answers there, or the node refuses.
    pub fn command(&self, to: Recipient<'_>, order: &Order) -> Result<Achieved, ClientError> {
        let Order { method, path, body, waits } = order;
        let (timeout, silence) = answer_timeout(*waits);
        let headers = format!(
            "Connection: close\r\n{}{}Content-Type: application/json\r\nContent-Length: {}\r\n",
            self.authorization(to.address)?,
            to.headers(),
            body.len(),
        );
        let question = question(to.address, method, path, &headers, body);
        self.exchange(to.address, &question, timeout, silence)
    }

    /// The header line with the token, which the control socket does not ask for.
    fn authorization(&self, address: &str) -> Result<String, ClientError> {
        let over_tcp = control::of_address(address).is_none();
        let Some(token) = self.token.as_ref().filter(|_| over_tcp) else {
            return Ok(String::new());
        };
        if token.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Ok(format!("Authorization: Bearer {token}\r\n"));
        }
        let reason = "a header cannot hold the token: write one line of printable ASCII characters";
        Err(ClientError::NoAnswer { address: address.to_owned(), reason: reason.to_owned() })
    }

    /// The answer to a question, which may take this long; and what it means that none comes.
    fn exchange<T: DeserializeOwned>(
        &self,
        address: &str,
        question: &str,
        timeout: Duration,
        silence: &str,
    ) -> Result<T, ClientError> {
        let (code, text) = self.ask(address, question, timeout, silence)?;
        understand(address, code, &text)
    }

    /// The same, as its code and its body.
    fn ask(
        &self,
        address: &str,
        question: &str,
        timeout: Duration,
        silence: &str,
    ) -> Result<(u16, String), ClientError> {
        let [connect, timeout] = [CONNECT, timeout].map(|usual| self.timeout.unwrap_or(usual));
        let place = SilentNode { address, connect, silence };
        let mut exchange = Exchange::open(address, self.trust.as_ref(), connect)
            .map_err(|error| place.not_reached(&error))?;
        let answer = exchange.ask(question, timeout).and_then(|()| exchange.answer(timeout));
        answer.map_err(|error| place.not_answered(&error))
    }
}

/// A request with these header lines.
fn question(address: &str, method: &str, path: &str, headers: &str, body: &str) -> String {
    let host = match control::of_address(address) {
        Some(_) => "electd",
        None => host_of(address),
    };
    format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n{body}")
}

/// How long the answer to a command may take, and what it means that none comes.
fn answer_timeout(waits: WaitsFor) -> (Duration, &'static str) {
    match waits {
        WaitsFor::Leader => (COMMAND_ANSWER, UNKNOWN),
        WaitsFor::Promises => (CHANGE_ANSWER, UNKNOWN),
        WaitsFor::Job => (HANDOVER_ANSWER, STILL_WAITS),
    }
}

#[cfg(test)]
mod tests;

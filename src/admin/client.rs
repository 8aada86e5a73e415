//! The other side: asks nodes for their status, and gives them commands.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;
use ureq::{Agent, Body, RequestBuilder, Timeout, http};

use super::control::{self, Refused};
use super::guard;
use crate::node::history::History;
use crate::node::status::Status;

const CONNECT: Duration = Duration::from_secs(1);
const RESOLVE: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(2);
/// A node carries a command out in up to two seconds, and then has to say so.
const COMMAND_ANSWER: Duration = Duration::from_secs(4);
/// A leader that hands over first ends what it runs; a node waits 5 min for that.
const HANDOVER_ANSWER: Duration = Duration::from_secs(310);
/// More than a cluster's status will ever be; a stranger's page may be larger.
const LARGEST_ANSWER: u64 = 4 * 1024 * 1024;

/// Why there is no answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No connection, or no answer in time.
    #[error("no answer from {address}: {reason}")]
    NoAnswer {
        /// The admin address that was asked.
        address: String,
        /// What happened.
        reason: String,
    },
    /// There is no address to ask at.
    #[error("it has no \"admin\" address in the configuration")]
    NotServed,
    /// A node answered, and does not do it.
    #[error("{sentence}")]
    Refused {
        /// The HTTP status code.
        code: u16,
        /// The node's own words.
        sentence: String,
    },
    /// A node answered that is not the one that was meant.
    #[error("{0}")]
    Other(String),
    /// Something answers there that does not talk like electd.
    #[error("{address} does not answer like electd: {reason}; is it the admin address of a node?")]
    Stranger {
        /// The admin address that was asked.
        address: String,
        /// What is odd about it.
        reason: String,
    },
}

/// What a command achieved.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Achieved {
    /// One sentence.
    pub result: String,
    /// Who was asked to start the next election, by name.
    pub successor: Option<String>,
    /// The id of the member that was added.
    pub id: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// The node that a command is for: it refuses the command if it is another one.
#[derive(Clone, Copy, Debug)]
pub struct Recipient<'a> {
    /// Where it is asked.
    pub address: &'a str,
    /// The name of its cluster.
    pub cluster: &'a str,
    /// Its id.
    pub id: &'a str,
}

impl Recipient<'_> {
    /// Asks for a connection by the control socket at this path that carries another protocol. Gives it with what
    /// was read of that already.
    ///
    /// # Errors
    /// When no node answers, another one does, or this process may not ask.
    pub fn upgrade(
        &self,
        socket: &Path,
        protocol: &str,
        patience: Duration,
    ) -> Result<(UnixStream, Vec<u8>), Refused> {
        let Recipient { cluster, id, .. } = self;
        let question = format!(
            "GET /exec HTTP/1.1\r\nHost: electd\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\
             {}: {cluster}\r\n{}: {id}\r\n\r\n",
            guard::CLUSTER,
            guard::NODE,
        );
        control::upgrade(socket, &question, patience)
    }
}

/// A client of any number of nodes, at their admin addresses (`host:port`) or their control sockets
/// (`unix:PATH`). Keeps connections open between questions; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    token: Option<String>,
    /// For each connection and each answer, if it is not the usual.
    timeout: Option<Duration>,
}

impl Client {
    /// A client, with the token for commands over TCP, if there is one.
    #[must_use]
    pub fn new(token: Option<String>) -> Client {
        Client::within(None, token)
    }

    /// A client that waits this long for a connection and for an answer, if it is to wait for another time than
    /// 1 s and 2 s; for the answer to a command 4 s.
    #[must_use]
    pub fn within(timeout: Option<Duration>, token: Option<String>) -> Client {
        let answer = timeout.unwrap_or(ANSWER);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Admin addresses are dialled directly, whatever http_proxy says.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(timeout.unwrap_or(CONNECT)))
            .timeout_recv_response(Some(answer))
            .timeout_recv_body(Some(answer))
            .max_idle_connections(64)
            .max_idle_connections_per_host(1)
            .build();
        Client { agent: config.new_agent(), token, timeout }
    }

    /// The status of the node at this address.
    ///
    /// # Errors
    /// When nobody answers there, or not as electd does.
    pub fn status(&self, address: &str) -> Result<Status, ClientError> {
        self.get(address, "status")
    }

    /// What the node at this address knows of who led when.
    ///
    /// # Errors
    /// When nobody answers there, or not as electd does.
    pub fn history(&self, address: &str) -> Result<History, ClientError> {
        self.get(address, "history")
    }

    fn get<T: DeserializeOwned>(&self, address: &str, path: &str) -> Result<T, ClientError> {
        if let Some(socket) = control::of_address(address) {
            let question =
                format!("GET /{path} HTTP/1.1\r\nHost: electd\r\nConnection: close\r\n\r\n");
            return self.over_socket(address, socket, &question, ANSWER);
        }
        let request = self.agent.get(url(address, path));
        let request = request.config().timeout_resolve(resolve_timeout(address)).build();
        self.read(address, request.call())
    }

    /// Asks this node to let the leader resign, whichever node it is.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn resign(&self, to: Recipient<'_>, next: Option<&str>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "resign", &json!({ "to": next }).to_string())
    }

    /// Asks this node not to lead any more: for so long, or until it is undrained.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn drain(
        &self,
        to: Recipient<'_>,
        length: Option<&str>,
        reason: &str,
    ) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "drain", &json!({ "for": length, "reason": reason }).to_string())
    }

    /// Asks this node to lead again where it may.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn undrain(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "undrain", "{}")
    }

    /// Asks this node to have the cluster paused: for so long, or until it is resumed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn pause(&self, to: Recipient<'_>, length: Option<&str>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "pause", &json!({ "for": length }).to_string())
    }

    /// Asks this node to have the cluster resumed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn resume(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "resume", "{}")
    }

    /// Asks this node to have a member added, by its entry.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn add(&self, to: Recipient<'_>, entry: &Value) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "members", &entry.to_string())
    }

    /// Asks this node to have a member removed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn remove(
        &self,
        to: Recipient<'_>,
        name: &str,
        force: bool,
    ) -> Result<Achieved, ClientError> {
        let query = if force { "?force=true" } else { "" };
        self.command(to, "DELETE", &format!("members/{name}{query}"), "")
    }

    /// Asks this node to read its configuration again.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses; with code 400 its file has problems.
    pub fn reload(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "reload", "{}")
    }

    /// Gives a command, which says for whom it is.
    fn command(
        &self,
        to: Recipient<'_>,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Achieved, ClientError> {
        let ends = ["resign", "drain"].contains(&path) || method == "DELETE";
        let patience = if ends { HANDOVER_ANSWER } else { COMMAND_ANSWER };
        let address = to.address;
        if let Some(socket) = control::of_address(address) {
            let (length, cluster, id) = (body.len(), to.cluster, to.id);
            let question = format!(
                "{method} /{path} HTTP/1.1\r\nHost: electd\r\nConnection: close\r\n{}: {cluster}\r\n{}: {id}\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
                guard::CLUSTER,
                guard::NODE,
            );
            return self.over_socket(address, socket, &question, patience);
        }
        let answer = if method == "DELETE" {
            self.addressed(self.agent.delete(url(address, path)), to, patience).call()
        } else {
            let request = self.addressed(self.agent.post(url(address, path)), to, patience);
            request.header("Content-Type", "application/json").send(body)
        };
        self.read(address, answer)
    }

    /// A request that may take this long, with the token, and with the node that it is for.
    fn addressed<B>(
        &self,
        request: RequestBuilder<B>,
        to: Recipient<'_>,
        patience: Duration,
    ) -> RequestBuilder<B> {
        let request = request
            .config()
            .timeout_resolve(resolve_timeout(to.address))
            .timeout_recv_response(Some(self.timeout.unwrap_or(patience)))
            .build()
            .header(guard::CLUSTER, to.cluster.as_bytes())
            .header(guard::NODE, to.id);
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn over_socket<T: DeserializeOwned>(
        &self,
        address: &str,
        socket: &Path,
        question: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        let patience = self.timeout.unwrap_or(patience).max(Duration::from_millis(1));
        let (code, text) = control::ask(socket, question, patience, LARGEST_ANSWER)
            .map_err(|error| socket_error(address, &error))?;
        understand(address, code, &text)
    }

    fn read<T: DeserializeOwned>(
        &self,
        address: &str,
        answer: Result<http::Response<Body>, ureq::Error>,
    ) -> Result<T, ClientError> {
        let connect = self.timeout.unwrap_or(CONNECT);
        let no_answer = |error: ureq::Error| ClientError::NoAnswer {
            address: address.to_owned(),
            reason: in_words(&error, connect),
        };
        let mut answer = answer.map_err(no_answer)?;
        let code = answer.status().as_u16();
        let text = answer
            .body_mut()
            .with_config()
            .limit(LARGEST_ANSWER)
            .read_to_string()
            .map_err(no_answer)?;
        understand(address, code, &text)
    }
}

fn url(address: &str, path: &str) -> String {
    let host = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
    format!("http://{host}/{path}")
}

/// A name may take long to resolve, and the limit costs a thread; an address needs neither.
fn resolve_timeout(address: &str) -> Option<Duration> {
    address.parse::<SocketAddr>().is_err().then_some(RESOLVE)
}

fn understand<T: DeserializeOwned>(address: &str, code: u16, text: &str) -> Result<T, ClientError> {
    let stranger = |reason: String| ClientError::Stranger { address: address.to_owned(), reason };
    if code == 200 {
        return serde_json::from_str(text).map_err(|error| stranger(error.to_string()));
    }
    match serde_json::from_str(text) {
        Ok(Refusal { error }) => Err(ClientError::Refused { code, sentence: error }),
        Err(_) => Err(stranger(format!("HTTP status {code}"))),
    }
}

/// Why a conversation by a control socket failed, or one that is read as it comes.
pub(super) fn socket_error(address: &str, error: &io::Error) -> ClientError {
    let reason = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => REFUSED.to_owned(),
        io::ErrorKind::PermissionDenied => {
            "it belongs to another user: run this as the node's user, or as root".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "the node closed the connection".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "silent for too long; it may be frozen".to_owned()
        }
        io::ErrorKind::InvalidData => {
            let (address, reason) = (address.to_owned(), error.to_string());
            return ClientError::Stranger { address, reason };
        }
        _ => error.to_string(),
    };
    ClientError::NoAnswer { address: address.to_owned(), reason }
}

const REFUSED: &str = "connection refused, so no node runs there";

fn in_words(error: &ureq::Error, connect: Duration) -> String {
    match error {
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => REFUSED.to_owned(),
            _ => error.to_string(),
        },
        ureq::Error::Timeout(Timeout::Connect) => {
            format!("no connection within {connect:?}")
        }
        ureq::Error::Timeout(_) => {
            "connected, and silent for too long; it may be frozen".to_owned()
        }
        ureq::Error::HostNotFound => "the name of the host is not known".to_owned(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            "not an address; write HOST:PORT".to_owned()
        }
        error => error.to_string(),
    }
}

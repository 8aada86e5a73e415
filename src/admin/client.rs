//! The other side: asks nodes for their status, and gives them commands.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;
use ureq::{Agent, Body, RequestBuilder, Timeout, http};

use crate::node::status::Status;

const CONNECT: Duration = Duration::from_secs(1);
const RESOLVE: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(2);
/// A node carries a command out in up to two seconds, and then has to say so.
const COMMAND_ANSWER: Duration = Duration::from_secs(4);
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

/// A client of any number of nodes. Keeps connections open between questions; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    token: Option<String>,
}

impl Client {
    /// A client, with the token for commands to nodes on other hosts, if there is one.
    #[must_use]
    pub fn new(token: Option<String>) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Admin addresses are dialled directly, whatever http_proxy says.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_recv_body(Some(ANSWER))
            .max_idle_connections(64)
            .max_idle_connections_per_host(1)
            .build();
        Client { agent: config.new_agent(), token }
    }

    /// The status of the node at this admin address.
    ///
    /// # Errors
    /// When nobody answers there, or not as electd does.
    pub fn status(&self, address: &str) -> Result<Status, ClientError> {
        let answer = self
            .agent
            .get(url(address, "status"))
            .config()
            .timeout_resolve(resolve_timeout(address))
            .build()
            .call();
        read(address, answer)
    }

    /// The status of every node, in the order of the addresses. All are asked at the same time.
    #[must_use]
    pub fn statuses(&self, addresses: &[&str]) -> Vec<Result<Status, ClientError>> {
        thread::scope(|scope| {
            let asked: Vec<_> =
                addresses.iter().map(|address| scope.spawn(move || self.status(address))).collect();
            let panicked = || ClientError::NoAnswer {
                address: String::new(),
                reason: "the thread that asked panicked; this is a defect".to_owned(),
            };
            asked
                .into_iter()
                .map(|asked| asked.join().unwrap_or_else(|_| Err(panicked())))
                .collect()
        })
    }

    /// Asks the node at this admin address to let the leader resign, whichever node it is.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn resign(&self, address: &str, to: Option<&str>) -> Result<Achieved, ClientError> {
        self.post(address, "resign", &json!({ "to": to }))
    }

    /// Asks the node at this admin address to have a member added, by its entry.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn add(&self, address: &str, entry: &Value) -> Result<Achieved, ClientError> {
        self.post(address, "members", entry)
    }

    /// Asks the node at this admin address to have a member removed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn remove(&self, address: &str, name: &str, force: bool) -> Result<Achieved, ClientError> {
        let query = if force { "?force=true" } else { "" };
        let request = self.agent.delete(url(address, &format!("members/{name}{query}")));
        read(address, self.command(request, address).call())
    }

    /// Asks the node at this admin address to read its configuration again.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses; with code 400 its file has problems.
    pub fn reload(&self, address: &str) -> Result<Achieved, ClientError> {
        self.post(address, "reload", &json!({}))
    }

    fn post(&self, address: &str, path: &str, body: &Value) -> Result<Achieved, ClientError> {
        let request = self.agent.post(url(address, path));
        let request = self.command(request, address).header("Content-Type", "application/json");
        read(address, request.send(body.to_string()))
    }

    /// A request that may take as long as a command, with the token.
    fn command<B>(&self, request: RequestBuilder<B>, address: &str) -> RequestBuilder<B> {
        let request = request
            .config()
            .timeout_resolve(resolve_timeout(address))
            .timeout_recv_response(Some(COMMAND_ANSWER))
            .build();
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
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

fn read<T: DeserializeOwned>(
    address: &str,
    answer: Result<http::Response<Body>, ureq::Error>,
) -> Result<T, ClientError> {
    let no_answer = |error: ureq::Error| ClientError::NoAnswer {
        address: address.to_owned(),
        reason: in_words(&error),
    };
    let mut answer = answer.map_err(no_answer)?;
    let code = answer.status().as_u16();
    let text = answer
        .body_mut()
        .with_config()
        .limit(LARGEST_ANSWER)
        .read_to_string()
        .map_err(no_answer)?;
    let stranger = |reason: String| ClientError::Stranger { address: address.to_owned(), reason };
    if code == 200 {
        return serde_json::from_str(&text).map_err(|error| stranger(error.to_string()));
    }
    match serde_json::from_str(&text) {
        Ok(Refusal { error }) => Err(ClientError::Refused { code, sentence: error }),
        Err(_) => Err(stranger(format!("HTTP status {code}"))),
    }
}

fn in_words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => {
                "connection refused, so no node runs there".to_owned()
            }
            _ => error.to_string(),
        },
        ureq::Error::Timeout(Timeout::Connect) => {
            format!("no connection within {} s", CONNECT.as_secs())
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

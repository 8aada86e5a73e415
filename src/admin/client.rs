//! The client: asks nodes for their status, and gives them commands.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::{Agent, Body, RequestBuilder, http};

use super::answer::{FROZEN, STILL_WAITS, UNKNOWN, in_words, socket_error, understand};
use super::ask::{self, Patience};
use super::control::{self, Refused};
use super::guard;
use super::listener::Listener;
use crate::node::history::History;
use crate::node::status::Status;
use crate::tls::Trust;

pub use super::answer::ClientError;
pub(crate) use super::ask::host_of;
pub use super::order::Order;
#[cfg_attr(not(feature = "cli"), expect(unused_imports))]
pub(crate) use super::order::how_long;

const CONNECT: Duration = Duration::from_secs(1);
const RESOLVE: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(2);
/// A node carries a command out in up to two seconds, and then still has to answer.
const COMMAND_ANSWER: Duration = Duration::from_secs(4);
/// A leader that hands over first ends its job; a node waits 5 min for that.
const HANDOVER_ANSWER: Duration = Duration::from_secs(310);
/// More than the status of any cluster needs; a stranger's page may be larger.
const LARGEST_ANSWER: u64 = 4 * 1024 * 1024;

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
    /// Asks the control socket at this path for a connection that carries another protocol. Returns the connection,
    /// with the first bytes that were read of it.
    ///
    /// # Errors
    /// If no node answers, another one does, or this process may not ask.
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
        let answer = timeout.unwrap_or(ANSWER);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The client dials admin addresses directly, whatever http_proxy says.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(timeout.unwrap_or(CONNECT)))
            .timeout_recv_response(Some(answer))
            .timeout_recv_body(Some(answer))
            .max_idle_connections(64)
            .max_idle_connections_per_host(1)
            .build();
        Client { agent: config.new_agent(), token, timeout, trust: None }
    }

    /// The same, which speaks HTTPS over TCP.
    #[cfg_attr(not(feature = "cli"), expect(dead_code))]
    pub(crate) fn secured(self, trust: Option<Trust>) -> Client {
        Client { trust, ..self }
    }

    /// Listens to the events of the node at this address after the one with this id; without an id, to those from now
    /// on.
    ///
    /// # Errors
    /// If nobody answers there, the node refuses, or its version knows no events.
    pub fn listen(&self, address: &str, after: Option<&str>) -> Result<Listener, ClientError> {
        Listener::open(address, after, self.trust.as_ref())
    }

    /// The status of the node at this address.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn status(&self, address: &str) -> Result<Status, ClientError> {
        self.get(address, "status")
    }

    /// The leaderships that the node at this address knows.
    ///
    /// # Errors
    /// If nobody answers there, or not as electd does.
    pub fn history(&self, address: &str) -> Result<History, ClientError> {
        self.get(address, "history")
    }

    fn get<T: DeserializeOwned>(&self, address: &str, path: &str) -> Result<T, ClientError> {
        let silence = (ANSWER, FROZEN);
        if let Some(answer) = self.exchange(address, &format!("GET /{path}"), "", silence) {
            return answer;
        }
        let request = self.agent.get(url(address, path));
        let request = request.config().timeout_resolve(resolve_timeout(address)).build();
        self.read(address, request.call(), FROZEN)
    }

    /// Gives this node a command, and names the node in it.
    ///
    /// # Errors
    /// If nobody answers there, or the node refuses.
    pub fn command(&self, to: Recipient<'_>, order: &Order) -> Result<Achieved, ClientError> {
        let Order { method, path, body, ends_leadership } = order;
        let silence @ (patience, words) = match ends_leadership {
            true => (HANDOVER_ANSWER, STILL_WAITS),
            false => (COMMAND_ANSWER, UNKNOWN),
        };
        let address = to.address;
        let rest = format!(
            "{}: {}\r\n{}: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            guard::CLUSTER,
            to.cluster,
            guard::NODE,
            to.id,
            body.len(),
        );
        if let Some(answer) = self.exchange(address, &format!("{method} /{path}"), &rest, silence) {
            return answer;
        }
        let answer = if *method == "DELETE" {
            self.addressed(self.agent.delete(url(address, path)), to, patience).call()
        } else {
            let request = self.addressed(self.agent.post(url(address, path)), to, patience);
            request.header("Content-Type", "application/json").send(body)
        };
        self.read(address, answer, words)
    }

    /// A request with this time limit, with the token, and with the node that it is for.
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

    /// The answer to a question by the control socket or by HTTPS; none if the address is asked over plain TCP. The
    /// rest is what follows the header lines that all questions have; and the silence is how long no answer may come,
    /// and what that means.
    fn exchange<T: DeserializeOwned>(
        &self,
        address: &str,
        what: &str,
        rest: &str,
        (answer, silence): (Duration, &str),
    ) -> Option<Result<T, ClientError>> {
        let limit = |usual| self.timeout.unwrap_or(usual).max(Duration::from_millis(1));
        let rest = if rest.is_empty() { "\r\n" } else { rest };
        let question = |host: &str, token: &str| {
            format!("{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}{rest}")
        };
        let answered = if let Some(socket) = control::of_address(address) {
            control::ask(socket, &question("electd", ""), limit(answer), LARGEST_ANSWER)
        } else {
            let trust = self.trust.as_ref()?;
            let token =
                self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
            let question = question(host_of(address), &token.unwrap_or_default());
            let patience = Patience { connect: limit(CONNECT), answer: limit(answer) };
            ask::ask(host_of(address), &question, patience, trust, LARGEST_ANSWER)
        };
        Some(match answered {
            Ok((code, text)) => understand(address, code, &text),
            Err(error) => Err(socket_error(address, &error, silence)),
        })
    }

    fn read<T: DeserializeOwned>(
        &self,
        address: &str,
        answer: Result<http::Response<Body>, ureq::Error>,
        silence: &str,
    ) -> Result<T, ClientError> {
        let connect = self.timeout.unwrap_or(CONNECT);
        let no_answer = |error: ureq::Error| ClientError::NoAnswer {
            address: address.to_owned(),
            reason: in_words(&error, connect, silence),
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
    format!("http://{}/{path}", host_of(address))
}

/// To resolve a name may take long, and the limit costs a thread; an address needs neither.
fn resolve_timeout(address: &str) -> Option<Duration> {
    address.parse::<SocketAddr>().is_err().then_some(RESOLVE)
}

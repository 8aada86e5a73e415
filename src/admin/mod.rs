//! HTTP on the admin address and on the control socket: what a node shows of itself, and the commands that it takes.
//!
//! The server reads the published snapshot and posts commands to the node's inbox through
//! [`Handle`](crate::node::handle::Handle); it never locks the core and never holds it up.
//!
//! | file | room |
//! |---|---|
//! | `server`, `serving` | the two servers, from start to end |
//! | `site` | a server that belongs to no node |
//! | `door` | the listening socket of a server |
//! | `acceptor` | the thread that accepts clients, and starts a thread for each |
//! | `places` | the places of the connections, and who has to go when none is free |
//! | `talk` | a conversation with one client: question, answer |
//! | `connection` | the thread of one client of a node |
//! | `line` | its socket with deadlines, and TLS if the address has it |
//! | `inbound` | its input, to requests |
//! | `request` | bytes to a request, or to the answer that refuses them |
//! | `dispatch` | a request to its answer |
//! | `routes` | the paths: what each shows, and which command a request there is |
//! | `views` | what a node shows |
//! | `page` | `GET /`: a page for people, which asks the other paths |
//! | `peers` | `GET /peers/NAME/status`: what another member shows |
//! | `verdict` | `GET /verdict`: the verdict on the cluster, by the answers of all members |
//! | `elections` | `GET /elections/last`: an election, merged from what all members recorded |
//! | `latest` | an answer of all members, for all clients that ask at about the same time |
//! | `guard` | which clients may give commands |
//! | `host` | the names by which a server is asked, and the pages that ask |
//! | `response` | an answer to bytes |
//! | `metrics`, `process` | `GET /metrics`: a node in figures, and its process |
//! | `stream` | `GET /events`: the events of a node, for as long as a client wants |
//! | `control`, `group` | the control socket, for both sides, and the group whose users may use it |
//! | `client`, `exchange` | the client side, for the commands: what they ask, and a question with its answer |
//! | `order`, `answer`, `listener` | a command; an answer, or why there is none, in words; `GET /events` |

mod acceptor;
mod answer;
mod body;
pub mod client;
mod connection;
pub mod control;
mod dispatch;
mod door;
mod elections;
mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub mod group;
mod guard;
mod host;
mod inbound;
mod latest;
mod line;
pub mod listener;
mod locks;
mod metrics;
mod order;
mod page;
mod peers;
mod places;
mod process;
mod redirect;
mod request;
mod response;
mod routes;
mod server;
mod serving;
#[cfg(feature = "cli")]
mod site;
mod stream;
mod talk;
mod verdict;
mod views;

pub use crate::net::listen;
pub use guard::Token;
pub use server::{ControlServer, Server};
#[cfg(feature = "cli")]
pub(crate) use {request::Request, response::Response, site::Site};

/// The limits that keep strangers from taking more than their share.
mod limits {
    use std::time::Duration;

    /// The stack of a thread: enough for a request and its answer, which are both on the heap, and for a status that is nested
    /// as deep as may be, in a build without optimizations.
    pub const STACK: usize = 320 * 1024;
    /// Connections of a server. With one more, one of the others is ended.
    pub const CONNECTIONS: usize = 64;
    /// Of these, the streams of events.
    pub const STREAMS: usize = 32;
    /// Of these, the commands that the node carries out at the same time. None of their connections is ended.
    pub const COMMANDS: usize = 16;
    /// Of these, the questions that the node asks other members at the same time. None of their connections is ended.
    pub const PEERS: usize = 8;
    /// Of these, the questions for elections and verdicts, of which one at a time is found. None of their connections is ended.
    pub const ELECTIONS: usize = 16;
    /// The members that are asked for an election at the same time.
    pub const ASKED_AT_ONCE: usize = 8;
    /// How long members are asked for one.
    pub const GATHERING: Duration = Duration::from_secs(2);
    /// How long a question for one waits for those before it.
    pub const WAIT: Duration = Duration::from_secs(5);
    /// How long a member may take to take a connection, and to answer.
    pub const MEMBER: Duration = Duration::from_secs(1);
    /// How old an election may be that was found for somebody else.
    pub const FRESH: Duration = Duration::from_millis(150);
    /// The same, if it is to be drawn.
    pub const DRAWN: Duration = Duration::from_secs(1);
    /// Connections that were ended to make room, and whose threads are not gone yet.
    pub const LEAVING: usize = 16;
    /// How long a node may take to carry out a command.
    pub const COMMAND: Duration = Duration::from_secs(2);
    /// The longest request line with headers.
    pub const HEAD_BYTES: usize = 16 * 1024;
    /// The most headers in a request.
    pub const HEADERS: usize = 64;
    /// The longest request body.
    pub const BODY_BYTES: usize = 64 * 1024;
    /// From the accept, or from a later request's first byte, to the end of the request. The TLS handshake counts.
    pub const REQUEST: Duration = Duration::from_secs(2);
    /// From an answer to the first byte of the next request.
    pub const IDLE: Duration = Duration::from_secs(30);
    /// Between an answer and the next, for a client that asks several questions in one go.
    pub const PIPELINED: Duration = Duration::from_millis(5);
    /// Between two signs of life of a stream while nothing happens.
    pub const BEAT: Duration = Duration::from_secs(15);
    /// Between two looks whether the client of a stream is still there.
    pub const LOOK: Duration = Duration::from_secs(1);
    /// For the client to take the whole of an answer.
    pub const ANSWER: Duration = Duration::from_secs(2);
    /// How long the server reads and drops a client's input after the last answer.
    pub const LINGER: Duration = Duration::from_millis(500);
    /// How long a stopping server lets answers finish.
    pub const GRACE: Duration = Duration::from_millis(200);
    /// The pause after an accept that failed for lack of a resource, such as a file descriptor.
    pub const PAUSE: Duration = Duration::from_millis(20);
    /// Between two lines in the log about such failures.
    pub const REPORT: Duration = Duration::from_secs(60);
}

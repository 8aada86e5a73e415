//! HTTP on the admin address and on the control socket: what a node shows of itself, and the commands that it takes.
//!
//! The server reads the published snapshot and posts commands to the node's inbox through
//! [`Handle`](crate::node::handle::Handle); it never locks the core and never holds it up.
//!
//! | file | room |
//! |---|---|
//! | `server` | the threads, from start to end |
//! | `reactor` | the thread that owns all connections |
//! | `poller` | epoll: which of them are ready, with the slow ones in their own line |
//! | `crowd` | all connections, their deadlines, and which has to go |
//! | `shares` | which that is: the oldest of the host that has the most |
//! | `room` | the most connections |
//! | `ready` | the line of connections with more than one request |
//! | `connection` | one client: socket, question, answer |
//! | `line` | its socket, and TLS if the address has it |
//! | `inbound` | its input, to requests |
//! | `request` | bytes to a request, or to the answer that refuses them |
//! | `dispatch` | a request to its answer |
//! | `routes` | the paths: what each shows, and which command a request there is |
//! | `views` | what a node shows |
//! | `guard` | which clients may give commands |
//! | `commands` | the commands in progress |
//! | `response` | an answer to bytes |
//! | `metrics`, `process` | `GET /metrics`: a node in figures, and its process |
//! | `stream` | `GET /events`: the events of a node, for as long as a client wants |
//! | `control`, `group` | the control socket, for both sides, and the group whose users may use it |
//! | `client`, `order`, `listener`, `ask`, `answer` | the client side, for the commands |

mod answer;
mod ask;
pub mod client;
mod commands;
mod connection;
pub mod control;
mod crowd;
mod dispatch;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub mod group;
mod guard;
mod inbound;
mod line;
pub mod listener;
mod metrics;
mod order;
mod poller;
mod process;
mod reactor;
mod ready;
mod request;
mod response;
mod room;
mod routes;
mod server;
mod shares;
mod stream;
mod views;

pub use crate::net::listen;
pub use guard::Token;
pub use server::{ControlServer, Server};

/// The limits that keep strangers from taking more than their share.
mod limits {
    use std::time::Duration;

    /// Bytes kept for all connections together: of requests that are not complete, and of answers that are not taken.
    /// With one more, one of those connections is closed.
    pub const KEPT_BYTES: usize = 2 * 1024 * 1024;
    /// Connections to the control socket.
    pub const CONTROL: usize = 256;
    /// Connections with TLS: each takes some kilobytes as long as it lasts.
    pub const SECURED: usize = 2048;
    /// Newcomers accepted, and answered, in one turn, before the present connections.
    pub const ACCEPTS: usize = 128;
    /// Connections with more requests that are answered before the sockets are looked at again, and late connections
    /// that are closed in one turn.
    pub const LOT: usize = 64;
    /// Commands that the node carries out at the same time, each given by a thread. Their connections are never
    /// evicted.
    pub const COMMANDS: usize = 16;
    /// How long a node may take to carry out a command.
    pub const COMMAND: Duration = Duration::from_secs(2);
    /// A request that has come in more parts than this is of a slow client: it waits behind all other slow ones, of
    /// whom there may be thousands.
    pub const PARTS: u8 = 4;
    /// The longest request line with headers.
    pub const HEAD_BYTES: usize = 16 * 1024;
    /// The most headers in a request.
    pub const HEADERS: usize = 64;
    /// The longest request body.
    pub const BODY_BYTES: usize = 64 * 1024;
    /// From the accept, or from a later request's first byte, to the end of its header.
    pub const HEAD: Duration = Duration::from_secs(1);
    /// From the end of the header to the end of the body.
    pub const BODY: Duration = Duration::from_secs(1);
    /// From an answer to the first byte of the next request.
    pub const IDLE: Duration = Duration::from_secs(30);
    /// Between two signs of life of a stream while nothing happens.
    pub const BEAT: Duration = Duration::from_secs(15);
    /// For the client to take the whole of an answer.
    pub const ANSWER: Duration = Duration::from_secs(2);
    /// How long the server reads and drops a client's input after the last answer: to close with unread bytes would
    /// reset the connection, and the client would lose the answer.
    pub const LINGER: Duration = Duration::from_millis(500);
    /// How long a stopping server lets answers finish.
    pub const GRACE: Duration = Duration::from_millis(200);
    /// The pause after an accept that failed for lack of a resource, such as a file descriptor.
    pub const PAUSE: Duration = Duration::from_millis(20);
    /// Between two lines in the log about such failures.
    pub const REPORT: Duration = Duration::from_secs(60);
}

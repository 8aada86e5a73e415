//! HTTP on the admin address: what a node shows of itself, and the commands that it takes.
//!
//! The server reads the published snapshot and posts commands to the node's inbox through
//! [`Handle`](crate::node::handle::Handle); it never locks the core and never holds it up.
//!
//! | file | room |
//! |---|---|
//! | `server` | the accepting thread, its workers, and who has to go when all are taken |
//! | `connection` | one socket: reads and writes with absolute deadlines |
//! | `request` | bytes to a request, or to the answer that refuses them |
//! | `serve` | the conversation on one connection, request after request |
//! | `routes` | a request to its answer |
//! | `guard` | who may command |
//! | `response` | an answer to bytes |
//! | `client` | the other side, for the commands |

pub mod client;
mod connection;
mod guard;
mod request;
mod response;
mod routes;
mod serve;
mod server;

pub use crate::net::listen;
pub use server::Server;

/// The limits that keep strangers from taking more than their share.
mod limits {
    use std::time::Duration;

    /// Connections served at once, each by a thread. One more, and the one that has not got on
    /// for longest goes.
    pub const WORKERS: usize = 64;
    /// Newcomers that wait for a worker to take leave of its client.
    pub const QUEUE: usize = 8;
    /// Nobody is taken away so soon: whoever asks as soon as he is connected is answered,
    /// however many come after him. A storm of newcomers is slowed down to `WORKERS` in this time.
    pub const FAIR: Duration = Duration::from_millis(5);
    /// Commands given to the node at once. Well under `WORKERS`: their connections cannot be
    /// taken away, and a newcomer must always find one that can.
    pub const COMMANDS: usize = 16;
    /// How long a node may take to carry out a command.
    pub const COMMAND: Duration = Duration::from_secs(2);
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
    /// From an answer to the next request's first byte.
    pub const IDLE: Duration = Duration::from_secs(30);
    /// For the whole of an answer to be taken by the client's side.
    pub const ANSWER: Duration = Duration::from_secs(2);
    /// How long the rest of what a client says is read and forgotten after the last answer: to
    /// close with unread bytes would reset the connection, and the client would lose the answer.
    pub const LINGER: Duration = Duration::from_millis(500);
    /// How long a stopping server lets answers finish.
    pub const GRACE: Duration = Duration::from_millis(200);
    /// The pause after an accept that failed for want of something, such as a file descriptor.
    pub const PAUSE: Duration = Duration::from_millis(20);
    /// Between two lines in the log about such failures.
    pub const REPORT: Duration = Duration::from_secs(60);
}

//! The HTTP servers of a node: their threads, from the start to the certain end.
//!
//! | thread | waits on | ends when |
//! |---|---|---|
//! | `admin` | the next client | the server stops, and the threads of its clients have ended |
//! | `admin-client`, one for each client | its client, the node for a command, or new events | its client is gone, is too slow, or lost its place |
//! | `admin-ask`, at most 8 | the answer of another member, for an election that a client asks for | there are all answers, or it took too long |
//! | `control`, `control-client` | the same, for the control socket: a crowd on the admin address is not in its way | as `admin` |

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;

use socket2::Socket;

use crate::node::handle::Handle;
use crate::tls::Security;

use super::acceptor::Crew;
use super::connection;
use super::control::ControlSocket;
use super::dispatch::ServerContext;
use super::door::Door;
use super::guard::{Access, Token};
use super::host::Names;
use super::limits;
use super::serving::Serving;

/// The bytes that the kernel keeps for a client that does not read.
const SEND_BUFFER: usize = 64 * 1024;

/// The priorities of the threads of clients, as nice values: dozens that are busy with a crowd on the admin address keep
/// neither the election thread waiting nor an operator at the control socket.
const ADMIN: Crew = Crew { name: "admin", priority: 5, stack: limits::STACK };
const CONTROL: Crew = Crew { name: "control", priority: 0, stack: limits::STACK };

/// The HTTP server on the admin address of a node. Dropping it stops it too.
pub struct Server {
    address: SocketAddr,
    _serving: Serving,
}

impl Server {
    /// Starts to serve at most 64 connections. A client that knows the token may give commands; without a token nobody
    /// may.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start<H: Handle>(
        listener: TcpListener,
        handle: H,
        token: impl Into<Token>,
    ) -> io::Result<Server> {
        Server::start_secured(listener, handle, token, Security::default(), [])
    }

    /// Starts to serve HTTPS, if this has credentials. Then a client that shows the certificate of a member may give
    /// commands too. It may ask by these names too, beside those of the members.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub(crate) fn start_secured<'a, H: Handle>(
        listener: TcpListener,
        handle: H,
        token: impl Into<Token>,
        security: Security,
        names: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<Server> {
        let address = listener.local_addr()?;
        let socket = Socket::from(listener);
        // Every accepted socket inherits this.
        socket.set_tcp_nodelay(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        let access = Access::Admin { token: token.into(), security, names: Names::new(names) };
        let serving = serve(ADMIN, socket, handle, access)?;
        Ok(Server { address, _serving: serving })
    }

    /// The address of the listening socket, with the port that the system chose if 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops: finishes pending answers, within their time, and joins all threads.
    ///
    /// Waits for a command in progress. Stop the node first: that answers the command, and load balancers see its end
    /// on `GET /leader` rather than a closed port.
    pub fn stop(self) {
        drop(self);
    }
}

/// The HTTP server on the control socket of a node: any client that can open the socket may give commands. Dropping
/// it stops it too.
pub struct ControlServer(Serving);

impl ControlServer {
    /// Starts to serve at most 64 connections. A connection that asks `GET /exec` is given to `attach`, which answers
    /// there and must not wait.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start<H: Handle>(
        control: ControlSocket,
        handle: H,
        attach: impl Fn(UnixStream) + Send + Sync + 'static,
    ) -> io::Result<ControlServer> {
        let access = Access::Control(Box::new(attach));
        serve(CONTROL, Door::File(control), handle, access).map(ControlServer)
    }

    /// Stops, as [`Server::stop`].
    pub fn stop(self) {
        drop(self.0);
    }
}

fn serve<H: Handle>(
    crew: Crew,
    door: impl Into<Door>,
    handle: H,
    access: Access,
) -> io::Result<Serving> {
    let shared = ServerContext::new(handle, access);
    let places = shared.places().clone();
    Serving::start(crew, door, places, move |place| connection::serve(&shared, place))
}

#[cfg(all(test, feature = "tls"))]
pub(super) mod tests;

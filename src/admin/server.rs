//! The HTTP server of a node: its threads, from the start to the certain end.
//!
//! | thread | waits on | ends when |
//! |---|---|---|
//! | `admin` | all its sockets and a bell, in one epoll | the server is closing and pending answers are sent |
//! | `control` | the same, for the control socket: a crowd on the admin address is not in its way | as `admin` |
//! | `admin-command` | the node, at most [`limits::COMMAND`] | its one command is carried out |
//!
//! `admin` owns all connections, and by itself answers the requests that give no command, from the published
//! snapshot. So thousands of slow clients cost a few hundred bytes each and no thread, and nobody waits for one of
//! them. There are at most [`limits::COMMANDS`] of `admin-command`, and none while there is no command.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use socket2::Socket;

use crate::node::handle::Handle;
use crate::tls::Security;

use super::control::Control;
use super::dispatch::Shared;
use super::guard::{Door, Token};
use super::limits;
use super::poller::Bell;
use super::reactor::Reactor;
use super::room::Room;

/// Enough for a request and its answer, which are both on the heap.
const STACK: usize = 256 * 1024;
/// The bytes that the kernel keeps for a client that does not read.
const SEND_BUFFER: usize = 64 * 1024;

/// The HTTP server on the admin address of a node. Dropping it stops it too.
pub struct Server {
    address: SocketAddr,
    _serving: Serving,
}

impl Server {
    /// Starts to serve. A client that knows the token may give commands; without a token nobody may.
    ///
    /// There are at most 10,240 connections, and fewer if this process may not have the descriptors. With one more,
    /// the client host with the most loses one.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start<H: Handle>(
        listener: TcpListener,
        handle: H,
        token: impl Into<Token>,
    ) -> io::Result<Server> {
        Server::start_secured(listener, handle, token, Security::default())
    }

    /// Starts to serve HTTPS, if this has credentials. Then a client that shows the certificate of a member may give
    /// commands too.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub(crate) fn start_secured<H: Handle>(
        listener: TcpListener,
        handle: H,
        token: impl Into<Token>,
        security: Security,
    ) -> io::Result<Server> {
        let room = match security.now() {
            Some(_) => Room::for_at_most(limits::SECURED),
            None => Room::of_this_process(),
        };
        Server::start_in(room, listener, handle, Door::Admin(token.into(), security))
    }

    /// Starts to serve with at most this many connections, for a program that needs its descriptors for something
    /// else.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start_small<H: Handle>(
        connections: usize,
        listener: TcpListener,
        handle: H,
        token: impl Into<Token>,
    ) -> io::Result<Server> {
        let door = Door::Admin(token.into(), Security::default());
        Server::start_in(Room::for_at_most(connections), listener, handle, door)
    }

    fn start_in<H: Handle>(
        room: Room,
        listener: TcpListener,
        handle: H,
        door: Door,
    ) -> io::Result<Server> {
        let address = listener.local_addr()?;
        let socket = Socket::from(listener);
        // Every accepted socket inherits this.
        socket.set_tcp_nodelay(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        let serving = Serving::start("admin", socket, room, handle, door)?;
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
pub struct ControlServer {
    _control: Control,
    _serving: Serving,
}

impl ControlServer {
    /// Starts to serve, with at most 256 connections. A connection that asks `GET /exec` is given to `attach`, which
    /// answers there and must not wait.
    ///
    /// # Errors
    /// If the system has no descriptor or thread left.
    pub fn start<H: Handle>(
        control: Control,
        handle: H,
        attach: impl Fn(UnixStream) + Send + 'static,
    ) -> io::Result<ControlServer> {
        let (socket, room) = (control.socket()?, Room::for_at_most(limits::CONTROL));
        let door = Door::Control(Box::new(attach));
        let serving = Serving::start("control", socket, room, handle, door)?;
        Ok(ControlServer { _control: control, _serving: serving })
    }

    /// Stops, as [`Server::stop`].
    pub fn stop(self) {
        drop(self);
    }
}

/// The thread of a server.
struct Serving {
    closing: Arc<AtomicBool>,
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn start<H: Handle>(
        name: &str,
        listener: Socket,
        room: Room,
        handle: H,
        door: Door,
    ) -> io::Result<Serving> {
        let closing = Arc::new(AtomicBool::new(false));
        let shared = Shared::new(handle, door, Arc::clone(&closing));
        let reactor = Reactor::new(listener, shared, room)?;
        let bell = reactor.bell();
        let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
        let thread = builder.spawn(move || reactor.run())?;
        Ok(Serving { closing, bell, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        self.bell.ring();
        let ended = self.thread.take().map(JoinHandle::join);
        if matches!(ended, Some(Err(_))) {
            log::error!("an admin thread panicked; this is a defect");
        }
    }
}

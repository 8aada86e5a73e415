//! The accepting thread and its workers.
//!
//! | thread | waits on | ends when |
//! |---|---|---|
//! | `admin` | accept | the listening socket is shut down |
//! | `admin-worker-N` | the queue, then one client at a time | the queue is closed; its connection is shut down before |
//!
//! Workers are hired as connections come, at most [`limits::WORKERS`], and stay. When all are
//! taken, the connection that has not got on for longest is shut down (idle, slow to ask, or slow
//! to take its answer), and its worker is the one to take the newcomer: so the newest is never
//! refused, and the accepting thread waits for no client. There is no lock: a worker's connection
//! ends with its last reference, and the accepting thread keeps only weak ones.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender};
use socket2::SockRef;

use crate::node::handle::Handle;

use super::connection::Connection;
use super::limits;
use super::routes::Desk;
use super::serve::serve;

/// Enough for a request and its answer, both of which live on the heap.
const STACK: usize = 256 * 1024;
/// What the kernel keeps for a client that does not read.
const SEND_BUFFER: usize = 64 * 1024;

/// The HTTP server of a node. Dropping it stops it too.
pub struct Server {
    listener: Arc<TcpListener>,
    address: SocketAddr,
    close: Box<dyn Fn() + Send + Sync>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to serve. With a token, other hosts that know it may command too.
    ///
    /// # Errors
    /// When the socket or the thread cannot be had.
    pub fn start<H: Handle>(
        listener: TcpListener,
        handle: H,
        token: Option<String>,
    ) -> io::Result<Server> {
        let address = listener.local_addr()?;
        // Inherited by every accepted socket.
        SockRef::from(&listener).set_tcp_nodelay(true)?;
        SockRef::from(&listener).set_send_buffer_size(SEND_BUFFER)?;
        let listener = Arc::new(listener);
        let desk = Arc::new(Desk::new(handle, token));
        let mut reception = Reception::new(Arc::clone(&desk));
        reception.hire()?;
        let accepting = {
            let listener = Arc::clone(&listener);
            thread::Builder::new()
                .name("admin".to_owned())
                .stack_size(STACK)
                .spawn(move || reception.run(&listener))?
        };
        let close = Box::new(move || desk.close());
        Ok(Server { listener, address, close, accepting: Some(accepting) })
    }

    /// The address that is listened on; with port 0 asked for, the port that was given.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops: answers under way are finished, within [`limits::GRACE`], and all threads joined.
    ///
    /// A command under way is waited for. Stop the node first: that answers it, and load
    /// balancers see its end on `GET /leader` rather than a closed port.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        (self.close)();
        // Unblocks accept with EINVAL. It fails only on a socket that does not listen any more.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        let ended = self.accepting.take().map(JoinHandle::join);
        if matches!(ended, Some(Err(_))) {
            log::error!("the admin thread panicked; this is a defect");
        }
    }
}

/// What the accepting thread holds.
struct Reception<H> {
    desk: Arc<Desk<H>>,
    origin: Instant,
    open: Vec<Weak<Connection>>,
    workers: Vec<JoinHandle<()>>,
    queue: Sender<Arc<Connection>>,
    queued: Receiver<Arc<Connection>>,
    /// Held by each worker; closed when the last has ended.
    working: Sender<()>,
    ended: Receiver<()>,
    /// When trouble was last logged.
    reported: Option<Instant>,
}

impl<H: Handle> Reception<H> {
    fn new(desk: Arc<Desk<H>>) -> Reception<H> {
        let (queue, queued) = channel::bounded(limits::QUEUE);
        let (working, ended) = channel::bounded(0);
        Reception {
            desk,
            origin: Instant::now(),
            open: Vec::new(),
            workers: Vec::new(),
            queue,
            queued,
            working,
            ended,
            reported: None,
        }
    }

    fn run(mut self, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.desk.is_closing() {
                return self.close();
            }
            match accepted {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => self.recover(&error),
            }
        }
    }

    fn admit(&mut self, stream: TcpStream) {
        let has_room = self.has_idle() || self.grow();
        self.desk.set_crowded(!has_room);
        if !has_room {
            self.evict();
        }
        let connection = Arc::new(Connection::new(stream, self.origin));
        self.open.push(Arc::downgrade(&connection));
        // Each in the queue has a worker that is free or taking leave, so that a full queue moves
        // at once. Sending cannot fail: the other end is held here too.
        let _ = self.queue.send(connection);
    }

    /// Whether there are more workers than connections.
    fn has_idle(&mut self) -> bool {
        self.open.retain(|connection| connection.strong_count() > 0);
        self.open.len() < self.workers.len()
    }

    /// Hires one more worker, if there may be one more.
    fn grow(&mut self) -> bool {
        if self.workers.len() >= limits::WORKERS {
            return false;
        }
        let hired = self.hire();
        if let Err(error) = &hired {
            self.report("no thread for an admin connection", error);
        }
        hired.is_ok()
    }

    fn hire(&mut self) -> io::Result<()> {
        let (desk, queued, working) =
            (Arc::clone(&self.desk), self.queued.clone(), self.working.clone());
        let name = format!("admin-worker-{}", self.workers.len() + 1);
        let worker = thread::Builder::new().name(name).stack_size(STACK).spawn(move || {
            queued.iter().for_each(|connection| serve(&connection, &desk));
            drop(working);
        })?;
        self.workers.push(worker);
        Ok(())
    }

    /// Takes away the connection that has not got on for longest, but not sooner than is fair.
    fn evict(&mut self) {
        if let Some((_, waits)) = self.oldest().filter(|(_, waits)| *waits < limits::FAIR) {
            thread::sleep(limits::FAIR - waits);
        }
        if let Some((at, _)) = self.oldest()
            && let Some(connection) = self.open.swap_remove(at).upgrade()
        {
            connection.shutdown(Shutdown::Both);
        }
    }

    /// The connection that has not got on for longest, and for how long.
    fn oldest(&self) -> Option<(usize, Duration)> {
        let waits = |open: &Weak<Connection>| open.upgrade()?.waits();
        let all = self.open.iter().enumerate();
        all.filter_map(|(at, open)| Some((at, waits(open)?))).max_by_key(|(_, waits)| *waits)
    }

    /// After a failed accept. Errors of the newcomer alone are over with it; a want of file
    /// descriptors or memory is not, and would make this loop spin.
    fn recover(&mut self, error: &io::Error) {
        if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
            return;
        }
        self.report("cannot accept an admin connection", error);
        self.evict();
        thread::sleep(limits::PAUSE);
    }

    /// Logs trouble, which comes in crowds, once in a while.
    fn report(&mut self, what: &str, error: &io::Error) {
        if self.reported.is_none_or(|at| at.elapsed() >= limits::REPORT) {
            self.reported = Some(Instant::now());
            log::warn!("{what}: {error}; the oldest connections give way");
        }
    }

    /// Ends the connections, first those that are idle, then, after a grace, all; joins the workers.
    fn close(self) {
        let Reception { open, workers, queue, queued, working, ended, .. } = self;
        drop((queue, queued, working));
        let shut = |how| open.iter().filter_map(Weak::upgrade).for_each(|open| open.shutdown(how));
        shut(Shutdown::Read);
        if ended.recv_timeout(limits::GRACE) == Err(RecvTimeoutError::Timeout) {
            shut(Shutdown::Both);
        }
        for worker in workers {
            if worker.join().is_err() {
                log::error!("an admin worker panicked; this is a defect");
            }
        }
    }
}

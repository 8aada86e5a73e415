//! The listener thread: accepts connections and starts a reader for each.
//!
//! At most [`MOST_UNWELCOMED`] connections may be without a welcome. When one more comes, the
//! oldest of them goes; the newest is never refused.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use log::warn;
use socket2::{SockRef, TcpKeepalive};

use super::inbound::Reception;
use super::newcomer::Closer;
use super::own::OwnListener;
use crate::calls::{Named, THREAD};
use crate::core::detector::ConnectionId;

/// How many connections may wait for their welcome simultaneously.
const MOST_UNWELCOMED: usize = 64;

/// How many readers that were evicted may still be on their way out. On a busy machine a crowd
/// comes faster than they go, and threads must not pile up.
const MOST_LEAVING: usize = 16;

/// The pause after a failed accept, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

pub struct PeerListener {
    socket: OwnListener,
    thread: JoinHandle<()>,
}

impl PeerListener {
    pub fn start(socket: OwnListener, reception: Reception) -> io::Result<PeerListener> {
        let mut acceptor = PeerAcceptor {
            socket: socket.clone(),
            reception: Arc::new(reception),
            readers: Vec::new(),
            last: 0,
        };
        let builder = thread::Builder::new().name("listener".to_owned());
        let thread = builder.spawn(move || acceptor.run()).named(THREAD)?;
        Ok(PeerListener { socket, thread })
    }

    /// Stops accepting, closes all connections and joins their readers.
    pub fn stop(self) {
        self.socket.stop(); // wakes accept
        if self.thread.join().is_err() {
            warn!("the listener thread panicked");
        }
    }
}

struct PeerAcceptor {
    socket: OwnListener,
    reception: Arc<Reception>,
    /// Oldest first.
    readers: Vec<(Arc<Closer>, JoinHandle<()>)>,
    last: u64,
}

impl PeerAcceptor {
    fn run(&mut self) {
        self.reception.realtime.enter();
        while let Some(sockets) = self.socket.sockets() {
            match self.socket.await_dial(&sockets) {
                Ok(dialed) => dialed.iter().for_each(|socket| self.accept(socket)),
                Err(error) => self.fails(&error),
            }
        }
        for (closer, _) in &self.readers {
            closer.shut();
        }
        for (_, reader) in self.readers.drain(..) {
            join(reader);
        }
    }

    fn accept(&mut self, socket: &Arc<TcpListener>) {
        match socket.accept().named("accept") {
            Ok((stream, _)) => self.receive(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {} // the dialer has gone
            Err(_) if !self.socket.is(socket) => {} // it has stopped, or listens elsewhere
            Err(error) => self.fails(&error),
        }
    }

    /// No connection comes in.
    fn fails(&mut self, error: &io::Error) {
        if self.socket.fails(error) {
            warn!("cannot accept a connection: {error}");
        }
        self.make_room(1);
        thread::sleep(ACCEPT_PAUSE);
    }

    fn receive(&mut self, stream: TcpStream) {
        self.make_room(MOST_UNWELCOMED);
        tune(&stream);
        self.last += 1;
        let connection = ConnectionId(self.last);
        let closer = Arc::new(Closer::new(stream));
        let reception = self.reception.clone();
        let own = closer.clone();
        // A reader needs a small stack and has a large one: the C library keeps up to 40 MB of stacks of threads that ended,
        // and a few pages of each stay in memory. With small stacks those of a whole crowd would.
        let builder = thread::Builder::new().name("reader".to_owned());
        match builder.spawn(move || reception.serve(connection, &own)).named(THREAD) {
            Ok(reader) => self.readers.push((closer, reader)),
            Err(error) => warn!("a connection cannot be read: {error}"),
        }
    }

    /// Joins the readers that ended, and shuts the oldest that wait for a welcome until fewer
    /// than `most` are left.
    fn make_room(&mut self, most: usize) {
        let (ended, live): (Vec<_>, Vec<_>) =
            self.readers.drain(..).partition(|(_, reader)| reader.is_finished());
        self.readers = live;
        ended.into_iter().for_each(|(_, reader)| join(reader));
        let unanswered = self.readers.iter().filter(|(closer, _)| !closer.is_welcomed());
        let excess = (unanswered.clone().count() + 1).saturating_sub(most);
        unanswered.take(excess).for_each(|(closer, _)| closer.evict());
        for _ in MOST_LEAVING..excess {
            if let Some(at) = self.readers.iter().position(|(closer, _)| closer.is_evicted()) {
                join(self.readers.remove(at).1); // its socket is shut, so it ends
            }
        }
    }
}

fn join(reader: JoinHandle<()>) {
    if reader.join().is_err() {
        warn!("a reader thread panicked");
    }
}

/// Small messages leave immediately, and the connection of a silent host does not stay forever.
fn tune(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    let tuned = stream.set_nodelay(true).named("setsockopt(TCP_NODELAY)").and_then(|()| {
        SockRef::from(stream).set_tcp_keepalive(&keepalive).named("setsockopt(SO_KEEPALIVE)")
    });
    if let Err(error) = tuned {
        warn!("cannot tune a connection: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system waits two hours by itself before it looks whether the other side is still there.
    #[test]
    fn a_connection_carries_small_messages_at_once_and_ends_with_its_host() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        tune(&stream);
        assert!(stream.nodelay().unwrap());
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let looks =
            (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert_eq!(looks, (Duration::from_secs(10), Duration::from_secs(5)));
    }
}

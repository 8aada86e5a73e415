//! The line to one peer: who may write into its connection, and what waits for it.
//!
//! The invariant: **while nothing is in the backlog only the election thread writes, otherwise only
//! the writer thread.** The backlog counts what was handed to the writer until it is written whole.
//! The election thread alone adds to it, so once it sees none, none comes up behind its back: its
//! bytes follow those before them, and no frame is cut by another.
//!
//! The election thread never waits here: it sends what the socket takes at once, and hands on the
//! rest. The writer locks the connection only to put it there or to take it away; to meet that lock
//! is to have no connection, as the core does not know the new one yet.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::counters::{Counters, Drop};
use crate::core::message::Kind;
use crate::wire::Frame;

/// How many messages may wait for one peer: far more than an election or `failure` sends.
const QUEUE: usize = 128;

/// The election thread's end. Without it the writer sends what is queued and ends.
pub struct Line {
    shared: Arc<Shared>,
    queue: Sender<Queued>,
}

/// The writer's end.
pub struct Backlog {
    shared: Arc<Shared>,
    /// What the election thread could not send at once.
    pub queue: Receiver<Queued>,
}

struct Shared {
    connection: Mutex<Option<Arc<TcpStream>>>,
    /// How many frames are queued or being written by the writer.
    backlog: AtomicUsize,
    counters: Arc<Counters>,
}

/// A frame for the writer.
pub struct Queued {
    kind: Kind,
    frame: Frame,
    /// How many bytes of it have left.
    sent: usize,
}

impl Queued {
    /// What has not left yet.
    pub fn rest(&self) -> &[u8] {
        &self.frame[self.sent..]
    }
}

/// Both ends of a line without a connection.
pub fn line(counters: Arc<Counters>) -> (Line, Backlog) {
    let (queue, queued) = bounded(QUEUE);
    let (connection, backlog) = (Mutex::new(None), AtomicUsize::new(0));
    let shared = Arc::new(Shared { connection, backlog, counters });
    (Line { shared: shared.clone(), queue }, Backlog { shared, queue: queued })
}

impl Line {
    /// Sends a frame at once if it can be, and leaves it to the writer otherwise: so it does with a
    /// connection that failed, which the writer will find. Never waits.
    pub fn send(&self, kind: Kind, frame: &Frame) {
        let Shared { connection, backlog, counters } = &*self.shared;
        let connection = connection.try_lock();
        let Some(stream) = connection.as_ref().and_then(|connection| connection.as_ref()) else {
            return counters.dropped(Drop::NotConnected, 1);
        };
        let idle = backlog.load(Ordering::Acquire) == 0;
        let sent = if idle { send_some(stream, frame) } else { 0 };
        if sent == frame.len() {
            return counters.sent(kind);
        }
        backlog.fetch_add(1, Ordering::Relaxed);
        // There is room for the rest of a frame: nothing was queued before it.
        if self.queue.try_send(Queued { kind, frame: frame.clone(), sent }).is_err() {
            backlog.fetch_sub(1, Ordering::Relaxed);
            counters.dropped(Drop::QueueFull, 1);
        }
    }
}

impl Backlog {
    /// From here on frames are sent into this connection.
    pub fn open(&self, stream: &Arc<TcpStream>) {
        *self.shared.connection.lock() = Some(stream.clone());
    }

    /// This one is written whole.
    pub fn written(&self, queued: &Queued) {
        self.shared.counters.sent(queued.kind);
        self.shared.backlog.fetch_sub(1, Ordering::Release);
    }

    /// Ends the connection for the election thread, and drops what was handed over for it.
    pub fn close(&self) {
        let mut connection = self.shared.connection.lock();
        *connection = None;
        self.queue.try_iter().for_each(drop);
        let dropped = self.shared.backlog.swap(0, Ordering::Relaxed);
        self.shared.counters.dropped(Drop::NotConnected, dropped as u64);
    }
}

/// Sends as much as the socket takes without waiting; nothing if the connection has failed.
fn send_some(stream: &TcpStream, bytes: &[u8]) -> usize {
    if ended(stream) {
        return 0;
    }
    send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0)
}

/// Whether the other side has closed the connection, without waiting. It never writes here, so that
/// shows only to those who look; writing into it would seem to work once.
pub fn ended(stream: &TcpStream) -> bool {
    let mut byte = [0; 1];
    match recv(stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((0, _)) => true,
        Ok(_) => false,
        Err(error) => error != Errno::AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use socket2::SockRef;

    use super::*;

    /// A frame is its number, so many times: any cut or mixture shows. Some end amid a full socket.
    const REPEATED: usize = 25_000;

    /// More of them than the queue and both ends of a connection hold.
    const MANY: u32 = 300;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn frame(number: u32) -> Frame {
        number.to_be_bytes().repeat(REPEATED).into()
    }

    /// A connection that holds little: this side and the peer's.
    fn connection() -> (Arc<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&listener).set_recv_buffer_size(64 * 1024).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        SockRef::from(&near).set_send_buffer_size(64 * 1024).unwrap();
        let far = listener.accept().unwrap().0;
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        (Arc::new(near), far)
    }

    /// A line with a connection, and its other end.
    struct Open {
        counters: Arc<Counters>,
        line: Line,
        backlog: Backlog,
        near: Arc<TcpStream>,
        far: TcpStream,
    }

    fn open() -> Open {
        let counters = Arc::new(Counters::default());
        let (line, backlog) = line(counters.clone());
        let (near, far) = connection();
        backlog.open(&near);
        Open { counters, line, backlog, near, far }
    }

    /// Reads the numbers of all frames until the end, and hands each on.
    fn read(mut far: TcpStream) -> Receiver<u32> {
        let (number, numbers) = bounded(2 * MANY as usize);
        thread::spawn(move || {
            let mut bytes = vec![0; 4 * REPEATED];
            while far.read_exact(&mut bytes).is_ok() {
                let first = u32::from_be_bytes(bytes[..4].try_into().unwrap());
                assert_eq!(bytes[..], frame(first)[..], "a frame is whole");
                number.send(first).unwrap();
            }
        });
        numbers
    }

    /// Sends these in a thread of their own, so that a test fails rather than waits with it.
    fn send_all(line: Line, numbers: std::ops::Range<u32>) -> Line {
        let (done, all) = bounded(1);
        thread::spawn(move || {
            numbers.for_each(|number| line.send(Kind::Heartbeat, &frame(number)));
            done.send(line)
        });
        all.recv_timeout(PATIENCE).expect("to send is not to wait for the peer")
    }

    /// Writes what waits now, as a writer does.
    fn write(backlog: &Backlog, mut stream: &TcpStream) {
        for queued in backlog.queue.try_iter() {
            stream.write_all(queued.rest()).unwrap();
            backlog.written(&queued);
        }
    }

    fn dropped(counters: &Counters, what: &str) -> u32 {
        counters.drops().find(|(name, _)| *name == what).unwrap().1 as u32
    }

    fn sent(counters: &Counters) -> u32 {
        counters.messages().map(|(_, sent, _)| sent).sum::<u64>() as u32
    }

    #[test]
    fn a_peer_that_does_not_read_holds_nobody_up_and_gets_what_was_kept_in_order() {
        let Open { counters, line, backlog, near, far } = open();
        let line = send_all(line, 0..MANY);
        let kept = sent(&counters) + QUEUE as u32;
        assert_eq!(backlog.queue.len(), QUEUE, "both ends of the connection are full");
        assert_eq!(dropped(&counters, "queue_full"), MANY - kept);

        let numbers = read(far);
        write(&backlog, &near);
        line.send(Kind::Heartbeat, &frame(MANY));
        write(&backlog, &near); // the peer may still be behind
        near.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), (0..kept).chain([MANY]).collect::<Vec<_>>());
        assert_eq!(sent(&counters), kept + 1);
    }

    #[test]
    fn what_the_socket_takes_at_once_is_not_for_the_writer_before_and_after_a_backlog() {
        let Open { counters, line, backlog, near, far } = open();
        line.send(Kind::Heartbeat, &frame(0));
        assert!(backlog.queue.is_empty());
        let line = send_all(line, 1..MANY);
        let numbers = read(far);
        write(&backlog, &near);
        let kept = MANY - dropped(&counters, "queue_full");
        assert!(numbers.iter().take(kept as usize).eq(0..kept), "all have arrived");
        line.send(Kind::Heartbeat, &frame(MANY));
        assert!(backlog.queue.is_empty());
        assert_eq!(numbers.recv_timeout(PATIENCE), Ok(MANY));
    }

    #[test]
    fn what_is_sent_while_the_writer_is_at_a_frame_waits_behind_it() {
        let Open { line, backlog, near, far, .. } = open();
        let line = send_all(line, 0..MANY);
        let begun = backlog.queue.try_recv().unwrap();
        backlog.queue.try_iter().for_each(|queued| backlog.written(&queued)); // so to speak
        let numbers = read(far);
        (&*near).write_all(begun.rest()).unwrap();
        line.send(Kind::Heartbeat, &frame(MANY));
        assert_eq!(backlog.queue.len(), 1, "the writer has not said that it is done");
        backlog.written(&begun);
        write(&backlog, &near);
        near.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(numbers.iter().last(), Some(MANY));
    }

    #[test]
    fn frames_stay_whole_and_in_order_while_both_threads_send() {
        let Open { counters, line, backlog, near, far } = open();
        let line = send_all(line, 0..MANY);
        let numbers = read(far);
        let writer = thread::spawn(move || {
            let mut stream = &*near;
            for queued in &backlog.queue {
                stream.write_all(queued.rest()).unwrap();
                backlog.written(&queued);
            }
            near.shutdown(std::net::Shutdown::Write).unwrap();
        });
        // Two arrive for each that is sent, so the backlog shrinks to nothing.
        let mut arrived = Vec::new();
        for number in MANY..MANY + (MANY - dropped(&counters, "queue_full")) / 2 {
            arrived.extend([(); 2].map(|()| numbers.recv_timeout(PATIENCE).expect("it goes on")));
            line.send(Kind::Heartbeat, &frame(number));
        }
        drop(line);
        writer.join().unwrap();
        arrived.extend(numbers.iter());
        assert!(arrived.is_sorted_by(|a, b| a < b), "{arrived:?}");
        assert_eq!(arrived.len(), sent(&counters) as usize);
    }

    #[test]
    fn nothing_of_an_old_connection_reaches_a_new_one() {
        let counters = Arc::new(Counters::default());
        let (line, backlog) = line(counters.clone());
        line.send(Kind::Heartbeat, &frame(0));
        assert_eq!(dropped(&counters, "not_connected"), 1);
        let (old, _silent) = connection();
        backlog.open(&old);
        let line = send_all(line, 0..MANY);
        backlog.queue.try_recv().unwrap();
        backlog.close(); // while the writer is at the first of them
        assert_eq!(dropped(&counters, "not_connected"), 1 + QUEUE as u32);

        let (new, far) = connection();
        backlog.open(&new);
        line.send(Kind::Heartbeat, &frame(MANY));
        assert!(backlog.queue.is_empty());
        new.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(read(far).iter().collect::<Vec<_>>(), [MANY]);
    }

    #[test]
    fn a_connection_that_has_ended_is_left_to_the_writer() {
        let Open { line, backlog, near, far, .. } = open();
        far.shutdown(std::net::Shutdown::Both).unwrap();
        near.peek(&mut [0; 1]).unwrap(); // the end is here
        line.send(Kind::Heartbeat, &frame(0));
        assert!(ended(&near));
        assert_eq!(backlog.queue.try_recv().unwrap().rest().len(), frame(0).len());
    }
}

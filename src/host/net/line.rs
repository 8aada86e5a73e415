//! The line to one peer: which thread may write into its connection, and which frames wait.
//!
//! The invariant: **while nothing is in the backlog only the election thread writes, otherwise only the
//! writer thread.** The backlog counts what was handed to the writer until it is written whole. Only
//! the election thread adds to the backlog, so once it sees an empty backlog, the backlog stays empty
//! until it adds to it: its bytes follow the earlier ones, and no frame cuts another.
//!
//! The election thread never waits here: it sends what the socket takes without blocking, and hands the
//! rest to the writer. The writer locks the connection only to set or remove it; if the election thread
//! finds the lock taken, it treats the peer as not connected, since the core does not know the new
//! connection yet. (I6)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use super::channel::{Channel, Unsent};
use super::counters::{Counters, Drop};
use crate::core::message::Kind;
use crate::wire::Frame;

/// How many parcels of messages may wait for one peer: far more than an election or `failure` sends.
const QUEUE: usize = 128;

/// The election thread's end. Without it the writer sends what is queued and ends.
pub struct WriterLine {
    shared: Arc<LineState>,
    queue: Sender<Queued>,
}

/// The writer's end.
pub struct Backlog {
    shared: Arc<LineState>,
    /// Frames that the election thread could not send without blocking.
    pub queue: Receiver<Queued>,
}

struct LineState {
    connection: Mutex<Option<Arc<Channel>>>,
    /// How many messages are queued or being written by the writer.
    backlog: AtomicUsize,
    counters: Arc<Counters>,
}

/// Frames for the writer.
pub struct Queued {
    kinds: Vec<Kind>,
    /// The bytes that have not left yet.
    pub unsent: Unsent,
}

/// Both ends of a line without a connection.
pub fn line(counters: Arc<Counters>) -> (WriterLine, Backlog) {
    let (queue, queued) = bounded(QUEUE);
    let (connection, backlog) = (Mutex::new(None), AtomicUsize::new(0));
    let shared = Arc::new(LineState { connection, backlog, counters });
    (WriterLine { shared: shared.clone(), queue }, Backlog { shared, queue: queued })
}

impl WriterLine {
    /// Sends the frames of some messages if the socket takes them without blocking, and leaves them to the writer
    /// otherwise. It also leaves a failed connection to the writer, which will notice the failure. Never waits.
    pub fn send(&self, kinds: &[Kind], frames: &Frame) {
        let LineState { connection, backlog, counters } = &*self.shared;
        let count = kinds.len();
        let connection = connection.try_lock();
        let Some(channel) = connection.as_ref().and_then(|connection| connection.as_ref()) else {
            return counters.dropped(Drop::NotConnected, count as u64);
        };
        let idle = backlog.load(Ordering::Acquire) == 0;
        let unsent = if idle { channel.send_some(frames) } else { Unsent::whole(frames) };
        if unsent.is_empty() {
            return counters.sent(kinds);
        }
        backlog.fetch_add(count, Ordering::Relaxed);
        // There is room for the rest of what was begun: nothing was queued before it.
        if self.queue.try_send(Queued { kinds: kinds.to_vec(), unsent }).is_err() {
            backlog.fetch_sub(count, Ordering::Relaxed);
            counters.dropped(Drop::QueueFull, count as u64);
        }
    }
}

impl Backlog {
    /// From here on frames are sent into this connection.
    pub fn open(&self, channel: &Arc<Channel>) {
        *self.shared.connection.lock() = Some(channel.clone());
    }

    /// These are written whole.
    pub fn written(&self, queued: &Queued) {
        self.shared.counters.sent(&queued.kinds);
        self.shared.backlog.fetch_sub(queued.kinds.len(), Ordering::Release);
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

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use socket2::SockRef;

    use super::*;
    use crate::tls::{Secured, Session};

    /// Both ends of a connection over TLS.
    #[cfg(feature = "tls")]
    use crate::tls::tests::sessions;

    #[cfg(not(feature = "tls"))]
    fn sessions(_: &mut TcpStream, _: &mut TcpStream) -> Option<(Session, Session)> {
        None
    }

    /// A frame is its number, repeated, so that any cut or mixture shows. Some frames end when the
    /// socket is full.
    const REPEATED: usize = 25_000;

    /// More of them than the queue and both ends of a connection hold.
    const MANY: u32 = 300;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn frame(number: u32) -> Frame {
        number.to_be_bytes().repeat(REPEATED).into()
    }

    /// A connection that holds little: this side and the peer's.
    fn connection(is_secured: bool) -> (Arc<Channel>, Far) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&listener).set_recv_buffer_size(64 * 1024).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        SockRef::from(&near).set_send_buffer_size(64 * 1024).unwrap();
        let mut far = listener.accept().unwrap().0;
        far.set_read_timeout(Some(TIMEOUT)).unwrap();
        let sessions = if is_secured { sessions(&mut near, &mut far) } else { None };
        let (own, session) = sessions.unzip();
        (Arc::new(Channel::new(near, own)), Far { stream: far, session })
    }

    /// The peer's end.
    struct Far {
        stream: TcpStream,
        session: Option<Session>,
    }

    impl Read for Far {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Secured::new(&self.stream, self.session.as_mut()).read(buffer)
        }
    }

    /// A line with a connection, and its other end.
    struct Open {
        counters: Arc<Counters>,
        line: WriterLine,
        backlog: Backlog,
        near: Arc<Channel>,
        far: Far,
    }

    fn open() -> Open {
        open_over(false)
    }

    fn open_over(tls: bool) -> Open {
        let counters = Arc::new(Counters::default());
        let (line, backlog) = line(counters.clone());
        let (near, far) = connection(tls);
        backlog.open(&near);
        Open { counters, line, backlog, near, far }
    }

    /// Reads the numbers of all frames until the end, and hands each on.
    fn read(mut far: Far) -> Receiver<u32> {
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
    fn send_all(line: WriterLine, numbers: std::ops::Range<u32>) -> WriterLine {
        let (done, all) = bounded(1);
        thread::spawn(move || {
            numbers.for_each(|number| line.send(&[Kind::Heartbeat], &frame(number)));
            done.send(line)
        });
        all.recv_timeout(TIMEOUT).expect("to send is not to wait for the peer")
    }

    /// Writes what waits now, as a writer does.
    fn write(backlog: &Backlog, near: &Channel) {
        for queued in backlog.queue.try_iter() {
            near.send_all(&queued.unsent, TIMEOUT).unwrap();
            backlog.written(&queued);
        }
    }

    fn dropped(counters: &Counters, what: &str) -> u32 {
        counters.drops().find(|(name, _)| *name == what).unwrap().1 as u32
    }

    fn sent(counters: &Counters) -> u32 {
        counters.messages().map(|(_, sent, _)| sent).sum::<u64>() as u32
    }

    /// Rule I6.
    #[test]
    fn a_peer_that_does_not_read_holds_nobody_up_and_gets_what_was_kept_in_order() {
        let Open { counters, line, backlog, near, far } = open();
        let line = send_all(line, 0..MANY);
        let kept = sent(&counters) + 128;
        assert_eq!(backlog.queue.len(), 128, "both ends of the connection are full");
        assert_eq!(dropped(&counters, "queue_full"), MANY - kept);

        let numbers = read(far);
        write(&backlog, &near);
        line.send(&[Kind::Heartbeat], &frame(MANY));
        write(&backlog, &near); // the peer may still be behind
        near.close();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), (0..kept).chain([MANY]).collect::<Vec<_>>());
        assert_eq!(sent(&counters), kept + 1);
    }

    #[test]
    fn what_the_socket_takes_at_once_is_not_for_the_writer_before_and_after_a_backlog() {
        [false, true].into_iter().for_each(at_once);
    }

    fn at_once(tls: bool) {
        let Open { counters, line, backlog, near, far } = open_over(tls);
        line.send(&[Kind::Heartbeat], &frame(0));
        assert!(backlog.queue.is_empty());
        let line = send_all(line, 1..MANY);
        let numbers = read(far);
        write(&backlog, &near);
        let kept = MANY - dropped(&counters, "queue_full");
        assert!(numbers.iter().take(kept as usize).eq(0..kept), "all have arrived");
        // The system may still keep some that arrived, until it has heard so.
        let is_at_once = |number| {
            line.send(&[Kind::Heartbeat], &frame(number));
            let is_at_once = backlog.queue.is_empty();
            write(&backlog, &near);
            assert_eq!(numbers.recv_timeout(TIMEOUT), Ok(number));
            is_at_once
        };
        assert!((MANY..MANY + 100).any(is_at_once));
    }

    #[test]
    fn what_is_sent_while_the_writer_is_at_a_frame_waits_behind_it() {
        let Open { line, backlog, near, far, .. } = open();
        let line = send_all(line, 0..MANY);
        let begun = backlog.queue.try_recv().unwrap();
        backlog.queue.try_iter().for_each(|queued| backlog.written(&queued)); // so to speak
        let numbers = read(far);
        near.send_all(&begun.unsent, TIMEOUT).unwrap();
        line.send(&[Kind::Heartbeat], &frame(MANY));
        assert_eq!(backlog.queue.len(), 1, "the writer has not said that it is done");
        backlog.written(&begun);
        write(&backlog, &near);
        near.close();
        assert_eq!(numbers.iter().last(), Some(MANY));
    }

    #[test]
    fn frames_stay_whole_and_in_order_while_both_threads_send() {
        [false, true].into_iter().for_each(in_order);
    }

    fn in_order(tls: bool) {
        let Open { counters, line, backlog, near, far } = open_over(tls);
        let line = send_all(line, 0..MANY);
        let numbers = read(far);
        let writer = thread::spawn(move || {
            for queued in &backlog.queue {
                near.send_all(&queued.unsent, TIMEOUT).unwrap();
                backlog.written(&queued);
            }
            near.close();
        });
        // Two arrive for each that is sent, so the backlog shrinks to nothing.
        let mut arrived = Vec::new();
        for number in MANY..MANY + (MANY - dropped(&counters, "queue_full")) / 2 {
            arrived.extend([(); 2].map(|()| numbers.recv_timeout(TIMEOUT).expect("it goes on")));
            line.send(&[Kind::Heartbeat], &frame(number));
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
        line.send(&[Kind::Heartbeat], &frame(0));
        assert_eq!(dropped(&counters, "not_connected"), 1);
        let (old, _silent) = connection(false);
        backlog.open(&old);
        let line = send_all(line, 0..MANY);
        backlog.queue.try_recv().unwrap();
        backlog.close(); // while the writer is at the first of them
        assert_eq!(dropped(&counters, "not_connected"), 1 + 128);

        let (new, far) = connection(false);
        backlog.open(&new);
        line.send(&[Kind::Heartbeat], &frame(MANY));
        assert!(backlog.queue.is_empty());
        new.close();
        assert_eq!(read(far).iter().collect::<Vec<_>>(), [MANY]);
    }

    #[test]
    fn messages_that_leave_together_count_each() {
        let Open { counters, line, backlog, near, far } = open();
        let both = [Kind::Coordinator, Kind::Heartbeat];
        let frames: Frame = [frame(0), frame(1)].concat().into();
        line.send(&both, &frames);
        let numbers = read(far);
        write(&backlog, &near); // what the socket did not take
        near.close();
        assert_eq!(sent(&counters), 2);
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [0, 1]);
        backlog.close();
        line.send(&both, &frames);
        assert_eq!(dropped(&counters, "not_connected"), 2);
    }

    #[test]
    fn of_parcels_that_wait_and_of_those_that_do_not_fit_each_message_counts() {
        let Open { counters, line, backlog, near, far } = open();
        let both = [Kind::Coordinator, Kind::Heartbeat];
        (0..MANY).for_each(|number| line.send(&both, &frame(number)));
        let lost = dropped(&counters, "queue_full");
        assert!(lost > 0);
        assert_eq!(sent(&counters) + 2 * 128 + lost, 2 * MANY);
        let _numbers = read(far);
        write(&backlog, &near);
        let left = backlog.shared.backlog.load(Ordering::Relaxed);
        assert_eq!((sent(&counters), left), (2 * MANY - lost, 0));
    }

    /// The writer has the lock then, for which the election thread does not wait.
    #[test]
    fn while_a_connection_is_set_a_message_for_it_is_dropped() {
        let Open { counters, line, backlog, near: _near, far: _far } = open();
        let set = backlog.shared.connection.lock();
        let _line = send_all(line, 0..1);
        assert_eq!((dropped(&counters, "not_connected"), backlog.queue.len()), (1, 0));
        drop(set);
    }

    #[test]
    fn a_connection_that_has_ended_is_left_to_the_writer() {
        let Open { line, backlog, near, far, .. } = open();
        far.stream.shutdown(std::net::Shutdown::Both).unwrap();
        while !near.ended() {
            thread::yield_now(); // the end is on its way
        }
        line.send(&[Kind::Heartbeat], &frame(0));
        let (left, all) = (backlog.queue.try_recv().unwrap().unsent, frame(0).len());
        assert!(!left.is_empty() && left.len() == all);
    }
}

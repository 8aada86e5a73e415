//! A crowd of hostile clients that stays: whoever is thrown out comes back.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Clients crowd a port this often; in between they hold on.
const ROUND: Duration = Duration::from_millis(500);

/// The ways to be a nuisance.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Sends what is no protocol at all.
    Junk,
    /// Announces four gigabytes and sends some of them.
    Huge,
    /// Says nothing.
    Silent,
    /// A byte of something that begins well, every round.
    Trickle,
    /// Ten megabytes of header, as fast as they are taken.
    Headers,
}

const MANNERS: [Manner; 5] =
    [Manner::Junk, Manner::Huge, Manner::Silent, Manner::Trickle, Manner::Headers];

/// Hostile clients on a thread of their own; gone when this is dropped.
pub struct Crowd {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Sets `count` clients on each of these addresses.
    pub fn besiege(addresses: &[SocketAddr], count: usize) -> Crowd {
        let seats = addresses.iter().flat_map(|address| (0..count).map(|n| (*address, n)));
        let mut seats: Vec<Seat> = seats
            .map(|(address, n)| Seat {
                address,
                manner: MANNERS[n % MANNERS.len()],
                sent: 0,
                stream: None,
            })
            .collect();
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(AtomicU64::new(0));
        let (stopped, counted) = (stop.clone(), rounds.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                seats.iter_mut().for_each(Seat::annoy);
                counted.fetch_add(1, Ordering::Relaxed);
                thread::sleep(ROUND);
            }
        });
        Crowd { stop, rounds, thread: Some(thread) }
    }

    /// How often every client has had its turn.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // its panic is not what the test is about
        }
    }
}

/// One client: where it goes, how it behaves, and its connection if it has one.
struct Seat {
    address: SocketAddr,
    manner: Manner,
    sent: usize,
    stream: Option<TcpStream>,
}

impl Seat {
    fn annoy(&mut self) {
        if self.stream.as_ref().is_none_or(is_over) {
            self.sent = 0;
            self.stream = connect(self.address).ok();
        }
        let Some(stream) = &mut self.stream else { return };
        let words = self.manner.words(self.sent);
        // Refused or taken in part, it does not matter: there is another round.
        self.sent += stream.write(&words).unwrap_or(0);
    }
}

impl Manner {
    /// What to send next, after `sent` bytes.
    fn words(self, sent: usize) -> Vec<u8> {
        match self {
            Manner::Junk => (0..64).map(|n| (sent * 31 + n * 97 + 13) as u8).collect(),
            Manner::Huge => [&[0xff; 4][..], &[b'{'; 1000]].concat(),
            Manner::Silent => Vec::new(),
            Manner::Trickle => vec![b"\0\0\x01\0{\"protocol\": 1"[sent % 19]],
            Manner::Headers if sent == 0 => b"GET /status HTTP/1.1\r\nHost: a\r\nX: ".to_vec(),
            Manner::Headers if sent < 10_000_000 => vec![b'a'; 256 * 1024],
            Manner::Headers => Vec::new(),
        }
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Whether the other side has ended the connection. What it said is read and forgotten.
fn is_over(stream: &TcpStream) -> bool {
    let mut answer = [0; 4096];
    let mut stream = stream;
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

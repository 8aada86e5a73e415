//! A crowd of hostile clients that stays: a client that is disconnected comes back.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{DEADLINE, accept};

/// Clients of a siege crowd a port this often; in between they hold on.
pub const ROUND: Duration = Duration::from_millis(500);

/// The ways to be a nuisance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Sends bytes of no protocol.
    Junk,
    /// Announces four gigabytes and sends some of them.
    Huge,
    /// Says nothing.
    Silent,
    /// A byte of something that begins well, every round.
    Trickle,
    /// Ten megabytes of header, as fast as they are taken.
    Headers,
    /// A byte of a header that never ends, every round.
    Drip,
    /// Asks once, and then keeps its connection.
    Hoard,
    /// Asks over and over, and reads no answer.
    Deaf,
    /// Begins a TLS handshake correctly, and sends no more.
    Handshake,
    /// The same, a byte every round.
    TrickledHandshake,
}

/// A request as it should be.
const ASK: &[u8] = b"GET /leader HTTP/1.1\r\nHost: a\r\n\r\n";

/// The start of a header that never ends.
const DRIP: &[u8] = b"GET /leader HTTP/1.1\r\nX: ";

const MANNERS: [Manner; 5] =
    [Manner::Junk, Manner::Huge, Manner::Silent, Manner::Trickle, Manner::Headers];

/// Hostile clients on a thread of their own; gone when this is dropped.
pub struct Crowd {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    open: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Sets `count` clients of several manners on each of these addresses.
    pub fn besiege(addresses: &[SocketAddr], count: usize) -> Crowd {
        Crowd::of(&MANNERS, addresses, count, ROUND)
    }

    /// Sets `count` clients of these manners on each of these addresses, with this pause between two
    /// turns of each.
    pub fn of(
        manners: &[Manner],
        addresses: &[SocketAddr],
        count: usize,
        pause: Duration,
    ) -> Crowd {
        let seats = addresses.iter().flat_map(|address| (0..count).map(|n| (*address, n)));
        let mut seats: Vec<Seat> = seats
            .map(|(address, n)| Seat {
                address,
                manner: manners[n % manners.len()],
                sent: 0,
                stream: None,
            })
            .collect();
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(AtomicU64::new(0));
        let open = Arc::new(AtomicU64::new(0));
        let (stopped, counted, connected) = (stop.clone(), rounds.clone(), open.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                for seat in &mut seats {
                    seat.annoy();
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                }
                let open = seats.iter().filter(|seat| seat.stream.is_some()).count();
                connected.store(open as u64, Ordering::Relaxed);
                counted.fetch_add(1, Ordering::Relaxed);
                thread::sleep(pause);
            }
        });
        Crowd { stop, rounds, open, thread: Some(thread) }
    }

    /// How often every client has had its turn.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// How many clients had a connection at the end of the last round.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
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
        if self.stream.as_ref().is_none_or(|stream| self.manner.is_over(stream)) {
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
    /// The next bytes to send, after `sent` bytes.
    fn words(self, sent: usize) -> Vec<u8> {
        match self {
            Manner::Junk => (0..64).map(|n| (sent * 31 + n * 97 + 13) as u8).collect(),
            Manner::Huge => [&[0xff; 4][..], &[b'{'; 1000]].concat(),
            Manner::Silent => Vec::new(),
            Manner::Trickle => vec![b"\0\0\x01\0{\"protocol\": 1"[sent % 19]],
            Manner::Headers if sent == 0 => b"GET /status HTTP/1.1\r\nHost: a\r\nX: ".to_vec(),
            Manner::Headers if sent < 10_000_000 => vec![b'a'; 256 * 1024],
            Manner::Headers => Vec::new(),
            Manner::Drip if sent < DRIP.len() => vec![DRIP[sent]],
            Manner::Drip => b"x".to_vec(),
            Manner::Hoard if sent > 0 => Vec::new(),
            Manner::Hoard => ASK.to_vec(),
            Manner::Deaf => ASK.repeat(500),
            Manner::Handshake if sent == 0 => client_hello().to_vec(),
            Manner::Handshake => Vec::new(),
            Manner::TrickledHandshake => client_hello().get(sent..=sent).unwrap_or(&[]).to_vec(),
        }
    }
}

impl Manner {
    /// Whether the other side has ended the connection, or evidently no process listens.
    fn is_over(self, stream: &TcpStream) -> bool {
        match self {
            Manner::Deaf => matches!(stream.peek(&mut [0]), Ok(0)) || stream.take_error().is_err(),
            _ => is_over(stream),
        }
    }
}

/// The first bytes of a TLS client, as openssl sends them.
fn client_hello() -> &'static [u8] {
    static WORDS: OnceLock<Vec<u8>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut openssl = Command::new("openssl");
        openssl.args(["s_client", "-tls1_3", "-connect", &address]);
        let quiet = openssl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut openssl = quiet.spawn().expect("openssl is installed");
        let mut stream = accept(&listener);
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut words = vec![0; 5];
        stream.read_exact(&mut words).unwrap();
        words.resize(5 + usize::from(words[3]) * 256 + usize::from(words[4]), 0);
        stream.read_exact(&mut words[5..]).unwrap();
        drop(stream);
        let _ = openssl.kill(); // it may have ended
        openssl.wait().unwrap();
        words
    })
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Whether the other side has ended the connection. Its bytes are read and discarded.
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

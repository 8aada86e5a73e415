//! The floor: what the machine takes for the least that any failover over TCP consists of.
//!
//! A process is killed that holds a connection to another. That one sees the end of the stream,
//! dials again and is refused, makes one round trip with a third, and says so on its stdout. All
//! wait as blocked threads, and it is observed just like the nodes are.
//!
//! Once with one thread a process; and once with the threads of a node: the kernel closes the
//! connections of a killed process when its last thread has ended, and in the survivor the news
//! goes from the thread that reads to one that decides, and from there to one that writes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded, unbounded};

use crate::process;

/// As long as a message of electd.
const MESSAGE: usize = 128;

/// Far longer than any step takes.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The processes that live on from one measurement to the next.
pub struct Floor {
    survivor: Child,
    echo: Child,
    /// Where a victim connects to.
    port: String,
    threads: String,
    lines: Receiver<(Instant, String)>,
}

impl Floor {
    /// With this many threads in each victim; with more than one in the survivor too.
    pub fn start(threads: usize) -> Floor {
        let threads = threads.to_string();
        let (echo, lines) = start("echo", &[]);
        let (_, echo_port) = lines.recv_timeout(TIMEOUT).expect("the echo listens");
        let (survivor, lines) = start("survivor", &[&echo_port, &threads]);
        let (_, port) = lines.recv_timeout(TIMEOUT).expect("the survivor listens");
        Floor { survivor, echo, port, threads, lines }
    }

    /// From just before the kill until the survivor says that all of it is done.
    pub fn measure(&self) -> Duration {
        let (mut victim, _) = start("victim", &[&self.port, &self.threads]);
        self.expect("connected");
        let start = Instant::now();
        victim.kill().expect("the victim can be killed");
        let end = self.expect("done");
        process::end(&mut victim);
        end - start
    }

    fn expect(&self, word: &str) -> Instant {
        let (at, line) = match self.lines.recv_timeout(TIMEOUT) {
            Ok(said) => said,
            Err(error) => panic!("the survivor does not say \"{word}\": {error}"),
        };
        assert_eq!(line, word);
        at
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        process::end(&mut self.survivor);
        process::end(&mut self.echo);
    }
}

fn start(role: &str, arguments: &[&str]) -> (Child, Receiver<(Instant, String)>) {
    let command = &mut process::command(role);
    let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().expect("a child starts");
    let (sender, lines) = unbounded();
    let stdout: ChildStdout = child.stdout.take().expect("it is piped");
    process::watch(stdout, move |at, line| {
        let _ = sender.send((at, line.to_owned())); // the lines of a victim have no receiver
    });
    (child, lines)
}

/// Sends back what it is sent.
pub fn echo() {
    let listener = listen();
    say(&port(&listener).to_string());
    let mut stream = accept(&listener);
    let mut message = [0; MESSAGE];
    while stream.read_exact(&mut message).is_ok() {
        stream.write_all(&message).expect("the survivor is there");
    }
}

/// Outlives one victim after the other.
pub fn survive() {
    let [echo, threads] = arguments();
    let mut echo = dial(echo).expect("the echo listens");
    let mut message = [0; MESSAGE];
    let mut make_round_trip = move || {
        echo.write_all(&message).expect("the echo is there");
        echo.read_exact(&mut message).expect("the echo is there");
        say("done");
    };
    if threads == 1 {
        return watch_victims(make_round_trip);
    }
    let (decide, decided) = bounded(1);
    let (write, written) = bounded(1);
    thread::spawn(move || watch_victims(|| decide.send(()).expect("the next thread lives")));
    thread::spawn(move || decided.iter().try_for_each(|()| write.send(())));
    written.iter().for_each(|()| make_round_trip());
}

/// Takes one victim after the other, and tells when it is proved dead.
fn watch_victims(mut tell: impl FnMut()) {
    let listener = listen();
    say(&port(&listener).to_string());
    let mut message = [0; MESSAGE];
    loop {
        let mut victim = accept(&listener);
        let mut port = [0; 2];
        victim.read_exact(&mut port).expect("the victim says where it listens");
        say("connected");
        assert_eq!(victim.read(&mut message).unwrap_or(0), 0, "the stream ends");
        // The kernel may close a dying process's connections before its listener: a dial between the
        // two is accepted by no process and reset immediately.
        while let Ok(mut taken) = dial(u16::from_be_bytes(port)) {
            let _ = taken.read(&mut message);
        }
        tell();
    }
}

/// Holds a connection and waits for the end.
pub fn wait_for_death() {
    let [survivor, threads] = arguments();
    for _ in 1..threads {
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
    }
    let listener = listen();
    let mut survivor = dial(survivor).expect("the survivor listens");
    survivor.write_all(&port(&listener).to_be_bytes()).expect("the survivor reads");
    let _ = survivor.read(&mut [0; 1]); // it never writes
}

fn listen() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free")
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().expect("somebody dials");
    stream.set_nodelay(true).expect("it can be set");
    stream
}

fn dial(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    if stream.local_addr()? == stream.peer_addr()? {
        // A dial to a port that was just closed can meet itself: no process listens there.
        return Err(std::io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The last arguments: the port of another process, and a number of threads.
fn arguments() -> [u16; 2] {
    let arguments = std::env::args().collect::<Vec<_>>();
    let last = arguments.last_chunk::<2>().expect("there are more");
    [0, 1].map(|at| last[at].parse().expect("it is a number"))
}

/// One line, in one write.
fn say(word: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(format!("{word}\n").as_bytes()); // line-buffered
}

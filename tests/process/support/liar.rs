//! A liar: it is dialed at a member's own address, dials the others, and says on both sides whatever a test
//! has it say, for as long as the test lasts.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::impostor::{Impostor, read, write};
use super::link::{Guise, Link};
use super::{Cluster, ensure, eventually};

/// Between two looks for a dial, or for a connection that has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// A liar's answer to a message: messages, each in an epoch. It gets the member, the member's epoch,
/// and the message.
type Answer = dyn Fn(usize, u64, &Value) -> Vec<(u64, Value)> + Send + Sync;

/// One liar. Its connections end with it.
pub struct Liar {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    incarnation: u64,
    guise: Guise,
    /// By the number of the member that it is said to.
    hellos: BTreeMap<usize, Value>,
    /// The connections on which it speaks.
    speaks: Mutex<BTreeMap<usize, Link>>,
    /// Those on which it is spoken to.
    hears: Mutex<Vec<(usize, Link)>>,
    answer: Box<Answer>,
    ended: AtomicBool,
}

impl Liar {
    /// Takes the place of a member that is down, and speaks to these. Waits until each of them has dialed it
    /// and takes what it says.
    pub fn of(
        cluster: &Cluster,
        number: usize,
        others: &[usize],
        answer: impl Fn(usize, u64, &Value) -> Vec<(u64, Value)> + Send + Sync + 'static,
    ) -> Liar {
        Liar::playing(&Impostor::of(cluster, number), others, answer)
    }

    /// The same, as this impostor speaks.
    pub fn playing(
        impostor: &Impostor<'_>,
        others: &[usize],
        answer: impl Fn(usize, u64, &Value) -> Vec<(u64, Value)> + Send + Sync + 'static,
    ) -> Liar {
        let (cluster, number) = (impostor.cluster, impostor.number);
        cluster.node(number).bury(); // its coroner has the port, if it was killed
        let dialed = TcpListener::bind(cluster.node(number).address).unwrap();
        dialed.set_nonblocking(true).unwrap();
        let shared = Arc::new(Shared {
            incarnation: impostor.incarnation,
            guise: impostor.guise.clone(),
            hellos: others.iter().map(|to| (*to, impostor.hello(*to))).collect(),
            speaks: Mutex::default(),
            hears: Mutex::default(),
            answer: Box::new(answer),
            ended: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        let listens = Arc::clone(&shared);
        threads.push(thread::spawn(move || listens.take_dials(&dialed)));
        for to in others {
            let (dials, to, node) = (Arc::clone(&shared), *to, cluster.node(*to));
            let (name, address) = (node.name.clone(), node.address);
            threads.push(thread::spawn(move || {
                while !dials.ended.load(Ordering::Relaxed) {
                    let _ = dials.speak(to, || dials.guise.dial(&name, address));
                    thread::sleep(PAUSE);
                }
            }));
        }
        let liar = Liar { shared, threads };
        eventually("all hear the liar, and it hears all", || {
            let speaks: Vec<usize> = liar.shared.speaks.lock().keys().copied().collect();
            let hears = liar.heard();
            let all = |some: &[usize]| others.iter().all(|other| some.contains(other));
            ensure(all(&speaks) && all(&hears), || format!("speaks to {speaks:?}, hears {hears:?}"))
        });
        liar
    }

    /// Says a message to a member, if that takes it.
    pub fn say(&self, to: usize, epoch: u64, message: &Value) -> io::Result<()> {
        self.shared.say(to, epoch, message)
    }

    fn heard(&self) -> Vec<usize> {
        self.shared.hears.lock().iter().map(|(from, _)| *from).collect()
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        for stream in self.shared.speaks.lock().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for (_, stream) in &*self.shared.hears.lock() {
            let _ = stream.shutdown(Shutdown::Both); // its reader ends
        }
    }
}

impl Shared {
    /// Takes every dial, each on a thread that ends with the connection.
    fn take_dials(self: &Arc<Shared>, dialed: &TcpListener) {
        while !self.ended.load(Ordering::Relaxed) {
            match dialed.accept() {
                Ok((stream, _)) => {
                    let listener = Arc::clone(self);
                    thread::spawn(move || listener.listen(stream));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Welcomes each dialer, and answers its messages.
    fn listen(&self, stream: TcpStream) -> Option<()> {
        let mut stream = self.guise.take(stream).ok()?;
        let hello = read(&mut stream).ok()?;
        let (from, own) = self.hellos.iter().find(|(_, own)| own["to"] == hello["id"])?;
        write(&mut stream, &json!({"welcome": own})).ok()?;
        stream.set_read_timeout(None).ok()?;
        self.hears.lock().push((*from, stream.clone()));
        while let Ok(frame) = read(&mut stream) {
            let epoch = frame["epoch"].as_u64().unwrap_or_default();
            for (epoch, message) in (self.answer)(*from, epoch, &frame["message"]) {
                let _ = self.say(*from, epoch, &message);
            }
        }
        self.hears.lock().retain(|(other, _)| other != from);
        None
    }

    /// Says hello to a member and keeps the connection until that ends it.
    fn speak(&self, to: usize, dial: impl FnOnce() -> io::Result<Link>) -> io::Result<()> {
        let mut stream = dial()?;
        write(&mut stream, &self.hellos[&to])?;
        if read(&mut stream)?.get("welcome").is_none() {
            return Ok(());
        }
        stream.set_read_timeout(None)?;
        self.speaks.lock().insert(to, stream.clone());
        if self.ended.load(Ordering::SeqCst) {
            let _ = stream.shutdown(Shutdown::Both); // the liar ended while this thread dialed
        }
        let end = read(&mut stream); // nothing is said on it
        self.speaks.lock().remove(&to);
        end.map(drop)
    }

    fn say(&self, to: usize, epoch: u64, message: &Value) -> io::Result<()> {
        let stream = self.speaks.lock().get(&to).cloned();
        let mut stream = stream.ok_or(io::ErrorKind::NotConnected)?;
        let incarnation = self.incarnation;
        write(&mut stream, &json!({"epoch": epoch, "incarnation": incarnation, "message": message}))
    }
}

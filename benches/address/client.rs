//! A client on the bridge: it asks the address each millisecond, and every host answers with its number.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::ADDRESS;
use crate::hosts::{Hosts, enter};

const PORT: u16 = 7777;

/// Between two questions.
const EVERY: Duration = Duration::from_millis(1);

/// A host that answered has the address, if it did so not longer ago.
const FRESH: Duration = Duration::from_millis(200);

/// When a question that was answered had been asked, and by which host it was answered.
type Answers = Arc<Mutex<Vec<(Duration, usize)>>>;

pub struct Client {
    begin: Instant,
    answers: Answers,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Client {
    pub fn start(hosts: &Hosts) -> Client {
        let begin = Instant::now();
        let (answers, over): (Answers, Arc<AtomicBool>) = Default::default();
        let mut threads: Vec<_> = (1..=hosts.size())
            .map(|host| {
                let (home, over) = (hosts.home(host), over.clone());
                thread::spawn(move || answer(&home, host, &over))
            })
            .collect();
        let (home, own, ended) = (hosts.switch(), answers.clone(), over.clone());
        threads.push(thread::spawn(move || ask(&home, begin, &own, &ended)));
        Client { begin, answers, over, threads }
    }

    /// Now.
    pub fn mark(&self) -> Duration {
        self.begin.elapsed()
    }

    /// The host that has the address now.
    pub fn holder(&self) -> Option<usize> {
        let last = self.answers.lock().unwrap().last().copied();
        last.filter(|(asked, _)| self.mark().saturating_sub(*asked) < FRESH).map(|(_, host)| host)
    }

    /// The longest time since then between two answered questions; until now, if there is no later one.
    pub fn longest_gap(&self, since: Duration) -> Duration {
        let answers = self.answers.lock().unwrap();
        let before = since.saturating_sub(FRESH);
        let mut asked: Vec<Duration> =
            answers.iter().map(|(asked, _)| *asked).filter(|asked| *asked >= before).collect();
        asked.push(self.mark());
        asked.sort();
        let gaps = asked.windows(2).filter(|pair| pair[1] >= since).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap_or_default()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// A host: whatever address it is asked on, it answers with its number.
fn answer(home: &str, host: usize, over: &AtomicBool) {
    enter(home);
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    socket.set_read_timeout(Some(FRESH)).unwrap();
    let mut question = [0; 16];
    while !over.load(Ordering::SeqCst) {
        if let Ok((length, from)) = socket.recv_from(&mut question) {
            let mut words = question[..length].to_vec();
            words.push(u8::try_from(host).unwrap());
            let _ = socket.send_to(&words, from); // it may be cut off
        }
    }
}

fn ask(home: &str, begin: Instant, answers: &Answers, over: &AtomicBool) {
    enter(home);
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut words = [0; 32];
    while !over.load(Ordering::SeqCst) {
        let now = u64::try_from(begin.elapsed().as_nanos()).unwrap();
        let _ = socket.send_to(&now.to_le_bytes(), (ADDRESS, PORT)); // no host may have it
        thread::sleep(EVERY);
        while let Ok(9) = socket.recv(&mut words) {
            let asked = u64::from_le_bytes(words[..8].try_into().unwrap());
            answers.lock().unwrap().push((Duration::from_nanos(asked), words[8].into()));
        }
    }
}

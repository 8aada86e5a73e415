//! Records which nodes claim to lead, and when: continually asks every node for `/leader`, while a test
//! changes their network.
//!
//! A node makes its claim at some instant between the question and the answer, which is otherwise
//! unknown. So two claims count as simultaneous only if no choice of instants could put one leadership
//! wholly before the other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use super::http;
use super::network::enter;
use super::node::Node;

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(2);

/// The claims of one node to lead in one epoch.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub node: String,
    pub epoch: u64,
    /// How many claims were seen.
    pub claims: u32,
    /// The question and the answer of the first claim.
    pub first: (Instant, Instant),
    /// Those of the last one.
    pub last: (Instant, Instant),
}

/// A certain fact: two led simultaneously, for at least this long.
#[derive(Clone, Debug)]
pub struct Pair(pub Leadership, pub Leadership, pub Duration);

/// All claims so far.
#[derive(Clone, Debug, Default)]
pub struct Claims(BTreeMap<(String, u64), Leadership>);

/// Asks until it is dropped or asked for what it saw.
pub struct Recorder {
    claims: Arc<Mutex<Claims>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Begins to ask these nodes, each from within its namespace.
    pub fn of(nodes: &[Node]) -> Recorder {
        let (claims, stop) = (Arc::<Mutex<Claims>>::default(), Arc::<AtomicBool>::default());
        let watch = |node: &Node| {
            let (name, admin, home) = (node.name.clone(), node.admin, node.home.clone());
            let (claims, stop) = (claims.clone(), stop.clone());
            thread::spawn(move || {
                enter(&home.expect("it has a namespace"));
                while !stop.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    if let Some(epoch) = claimed(admin) {
                        claims.lock().take(&name, epoch, (asked, Instant::now()));
                    }
                    thread::sleep(PAUSE);
                }
            })
        };
        let threads = nodes.iter().map(watch).collect();
        Recorder { claims, stop, threads }
    }

    /// The observations so far.
    pub fn claims(&self) -> Claims {
        self.claims.lock().clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // its panic is shown already
        }
    }
}

/// The epoch in which the node there says that it leads.
fn claimed(admin: std::net::SocketAddr) -> Option<u64> {
    let answer = http::ask(admin, "GET", "/leader", "").ok()?;
    let status: Value = serde_json::from_str(&answer.body).ok()?;
    (answer.code == 200).then(|| status["epoch"].as_u64())?
}

impl Claims {
    fn take(&mut self, node: &str, epoch: u64, instant: (Instant, Instant)) {
        let leadership = self.0.entry((node.to_owned(), epoch)).or_insert_with(|| Leadership {
            node: node.to_owned(),
            epoch,
            claims: 0,
            first: instant,
            last: instant,
        });
        leadership.claims += 1;
        leadership.last = instant;
    }

    pub fn leaderships(&self) -> impl Iterator<Item = &Leadership> {
        self.0.values()
    }

    /// The claims of this node in this epoch.
    pub fn leadership(&self, node: &str, epoch: u64) -> Option<&Leadership> {
        self.0.get(&(node.to_owned(), epoch))
    }

    /// All pairs of nodes that certainly led simultaneously.
    pub fn pairs(&self) -> Vec<Pair> {
        let leaderships: Vec<&Leadership> = self.leaderships().collect();
        let mut pairs = Vec::new();
        for (at, one) in leaderships.iter().enumerate() {
            let others = leaderships[at + 1..].iter().filter(|other| other.node != one.node);
            pairs.extend(others.filter_map(|other| one.beside(other)));
        }
        pairs
    }
}

impl Leadership {
    /// Whether two leaderships cannot have come one after the other: each was claimed again after a
    /// claim of the other. No node claims an epoch again in which it stepped down, so a leadership
    /// lasts from its first to its last claim.
    fn beside(&self, other: &Leadership) -> Option<Pair> {
        let overlaps = self.last.0 >= other.first.1 && other.last.0 >= self.first.1;
        let (begun, seen) = (self.first.1.max(other.first.1), self.last.0.min(other.last.0));
        let least = seen.saturating_duration_since(begun);
        overlaps.then(|| Pair(self.clone(), other.clone(), least))
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair(one, other, least) = self;
        write!(
            to,
            "{} in epoch {} ({} claims) and {} in epoch {} ({} claims), for at least {least:?}",
            one.node, one.epoch, one.claims, other.node, other.epoch, other.claims
        )
    }
}

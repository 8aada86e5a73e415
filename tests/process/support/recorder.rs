//! Records which nodes claim to lead, and when: continually asks every node for `/leader`, while a test
//! changes their network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use super::claims::Claims;
use super::http;
use super::network::enter;
use super::node::Node;

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(2);

/// Asks until it is dropped or asked for what it saw.
pub struct Recorder {
    claims: Arc<Mutex<Claims>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Begins to ask these nodes, each from within its namespace if it has one.
    pub fn of(nodes: &[Node]) -> Recorder {
        let (claims, stop) = (Arc::<Mutex<Claims>>::default(), Arc::<AtomicBool>::default());
        let watch = |node: &Node| {
            let (name, admin, home) = (node.name.clone(), node.admin, node.home.clone());
            let (claims, stop) = (claims.clone(), stop.clone());
            thread::spawn(move || {
                home.iter().for_each(|home| enter(home));
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

    /// Never two leaders: neither at one instant nor in one epoch. (I4)
    #[track_caller]
    pub fn never_two(&self) {
        let claims = self.claims();
        let pairs: Vec<_> = claims.pairs().iter().map(ToString::to_string).collect();
        assert!(pairs.is_empty(), "two leaders: {pairs:#?}");
        let mut epochs: Vec<u64> = claims.leaderships().map(|led| led.epoch).collect();
        let leaderships = epochs.len();
        epochs.sort_unstable();
        epochs.dedup();
        assert_eq!(epochs.len(), leaderships, "one epoch, two leaders: {claims:?}");
        println!("{leaderships} leaderships, one after another");
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

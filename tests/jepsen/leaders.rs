//! Asks every node of a cluster continually whether it leads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::claims::Claims;
use crate::http;

const PAUSE: Duration = Duration::from_millis(10);

#[derive(Default)]
struct Seen {
    claims: Claims,
    /// The node that claimed last.
    latest: Option<String>,
}

pub struct Leaders {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Leaders {
    /// Begins to ask these nodes by the control sockets in their state folders.
    pub fn of(nodes: impl Iterator<Item = (String, PathBuf)>) -> Leaders {
        let (seen, over): (Arc<Mutex<Seen>>, Arc<AtomicBool>) = Default::default();
        let watch = |(name, state): (String, PathBuf)| {
            let (seen, over) = (seen.clone(), over.clone());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    if let Some(epoch) = claimed(&state) {
                        let mut seen = seen.lock().unwrap();
                        seen.claims.take(&name, epoch, (asked, Instant::now()));
                        seen.latest = Some(name.clone());
                    }
                    thread::sleep(PAUSE);
                }
            })
        };
        let threads = nodes.map(watch).collect();
        Leaders { seen, over, threads }
    }

    /// The node that claimed last that it leads.
    pub fn latest(&self) -> Option<String> {
        self.seen.lock().unwrap().latest.clone()
    }

    pub fn claims(&self) -> Claims {
        self.seen.lock().unwrap().claims.clone()
    }
}

impl Drop for Leaders {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // its panic was shown
        }
    }
}

/// The epoch in which the node says that it leads.
fn claimed(state: &std::path::Path) -> Option<u64> {
    let answer = http::tell(state, "GET", "/leader", "").ok()?;
    let status: Value = serde_json::from_str(&answer.body).ok()?;
    (answer.code == 200).then(|| status["epoch"].as_u64())?
}

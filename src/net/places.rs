//! Where the members are. A name is resolved at every dial, as answers change; but no resolver
//! holds anybody up.
//!
//! A resolver may hang for half a minute, and is likely to when the network is in trouble. So it is
//! asked by a thread of its own, once at a time for each member. And the redial that tells whether a
//! process is gone goes where that process was reached, without asking.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, bounded};
use parking_lot::Mutex;

use crate::core::types::NodeId;

/// Where each member is reached at present, as its writer knows; shared with the readers.
#[derive(Clone, Default)]
pub struct Places(Arc<Mutex<BTreeMap<NodeId, SocketAddr>>>);

impl Places {
    /// The address of the connection to a member, while there is one.
    pub fn of(&self, peer: NodeId) -> Option<SocketAddr> {
        self.0.lock().get(&peer).copied()
    }

    /// A connection to a member has been welcomed, or has ended.
    pub fn note(&self, peer: NodeId, place: Option<SocketAddr>) {
        let mut places = self.0.lock();
        match place {
            Some(place) => places.insert(peer, place),
            None => places.remove(&peer),
        };
    }
}

/// What the system is asked for the addresses of host:port.
type Lookup = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// Resolves the name of one member, again and again.
pub struct Resolver {
    lookup: Lookup,
    /// The question that was not answered in time.
    asked: Option<Question>,
}

struct Question {
    answered: Receiver<io::Result<Vec<SocketAddr>>>,
    thread: JoinHandle<()>,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver { lookup: |name| name.to_socket_addrs().map(Iterator::collect), asked: None }
    }
}

impl Resolver {
    /// The addresses of host:port. A question that is not answered within `limit` is not asked anew:
    /// the next call waits for its answer. Its thread is left alone if nobody calls again.
    ///
    /// # Errors
    /// When the name has no address, or has not got one in time.
    pub fn resolve(&mut self, name: &str, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = name.parse() {
            return Ok(vec![address]);
        }
        let question = match self.asked.take() {
            Some(question) => question,
            None => self.ask(name)?,
        };
        match question.answered.recv_timeout(limit) {
            Ok(answer) => {
                let _ = question.thread.join(); // it has said all
                answer
            }
            Err(RecvTimeoutError::Timeout) => {
                self.asked = Some(question);
                Err(io::Error::new(ErrorKind::TimedOut, format!("{name} is still being resolved")))
            }
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the resolver panicked")),
        }
    }

    fn ask(&self, name: &str) -> io::Result<Question> {
        let (answer, answered) = bounded(1);
        let (lookup, name) = (self.lookup, name.to_owned());
        let builder = thread::Builder::new().name("resolver".to_owned());
        let thread = builder.spawn(move || {
            let _ = answer.send(lookup(&name)); // nobody may wait any more
        })?;
        Ok(Question { answered, thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    #[test]
    fn an_address_needs_no_resolver() {
        let lookup = |_: &str| panic!("it was asked");
        let mut resolver = Resolver { lookup, asked: None };
        let found = resolver.resolve("[::1]:7101", Duration::ZERO).unwrap();
        assert_eq!(found, ["[::1]:7101".parse().unwrap()]);
    }

    #[test]
    fn a_name_is_asked_for_every_time() {
        let found = Resolver::default().resolve("localhost:7101", Duration::from_secs(10)).unwrap();
        assert!(found.iter().all(|at| at.ip().is_loopback() && at.port() == 7101), "{found:?}");
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let lookup = |_: &str| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            Err(ErrorKind::NotFound.into())
        };
        let mut resolver = Resolver { lookup, asked: None };
        for asked in 1..=2 {
            let error = resolver.resolve("db1:7101", Duration::from_secs(10)).unwrap_err();
            assert_eq!((error.kind(), ASKED.load(Ordering::SeqCst)), (ErrorKind::NotFound, asked));
        }
    }

    #[test]
    fn a_resolver_that_hangs_holds_nobody_up_and_is_asked_once() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        static HANGS: Mutex<()> = Mutex::new(());
        let lookup = |_: &str| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            drop(HANGS.lock());
            Ok(vec!["127.0.0.1:7101".parse().unwrap()])
        };
        let mut resolver = Resolver { lookup, asked: None };
        let hangs = HANGS.lock();
        let before = Instant::now();
        for _ in 0..3 {
            let error = resolver.resolve("db1:7101", Duration::from_millis(1)).unwrap_err();
            assert_eq!(error.to_string(), "db1:7101 is still being resolved");
        }
        assert!(before.elapsed() < Duration::from_secs(10), "it is given up");
        drop(hangs);
        let found = resolver.resolve("db1:7101", Duration::from_secs(10)).unwrap();
        assert_eq!((found.len(), ASKED.load(Ordering::SeqCst)), (1, 1));
    }
}

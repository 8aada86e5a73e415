//! Where the members are. A name is resolved at every dial, as answers change; but a slow resolver
//! delays no other thread.
//!
//! A resolver may hang for half a minute, and is likely to when the network is in trouble. So a
//! separate thread asks it, one for each name, and callers that ask meanwhile share the answer. The
//! redial that checks whether a process is gone goes to the address where that process was last
//! reached, without resolving. For each member there is only one redial under way, or a peer that
//! repeatedly connects and disconnects would create a thread each time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::core::types::NodeId;

/// Where each member is reached at present, as its writer knows; shared with the readers.
#[derive(Clone)]
pub struct MemberPlaces {
    reached: Arc<Mutex<BTreeMap<NodeId, SocketAddr>>>,
    busy: Arc<Mutex<BTreeSet<(NodeId, ReaderTask)>>>,
    asked: Arc<Mutex<BTreeMap<String, Arc<ResolverQuestion>>>>,
    lookup: Lookup,
}

/// Tasks that only one reader does at a time for each member, when the member's connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReaderTask {
    /// The redial that tells whether its process is gone.
    Redial,
    /// The wait for an answer to a redial that was taken.
    Watch,
}

/// A reader's turn at a [`ReaderTask`]; it ends when this is dropped.
pub struct ReaderTurn {
    busy: Arc<Mutex<BTreeSet<(NodeId, ReaderTask)>>>,
    key: (NodeId, ReaderTask),
}

impl Drop for ReaderTurn {
    fn drop(&mut self) {
        self.busy.lock().remove(&self.key);
    }
}

/// A lookup of the addresses of host:port.
type Lookup = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// Asks the resolver for the addresses of host:port. An IPv6 address may have a zone, such as `[fe80::1%eth0]:7101`.
///
/// # Errors
/// When the host has no address, or the zone no interface.
pub fn look_up(place: &str) -> io::Result<Vec<SocketAddr>> {
    if let Some((host, port)) = place.strip_prefix('[').and_then(|rest| rest.split_once("]:"))
        && let Ok(port) = port.parse::<u16>()
    {
        return (host, port).to_socket_addrs().map(Iterator::collect);
    }
    place.to_socket_addrs().map(Iterator::collect)
}

/// A question to the resolver, and its answer for all that wait for it.
#[derive(Default)]
struct ResolverQuestion {
    answer: Mutex<Option<ResolverAnswer>>,
    answered: Condvar,
}

/// The addresses, or what is wrong.
type ResolverAnswer = Result<Vec<SocketAddr>, (ErrorKind, String)>;

impl Default for MemberPlaces {
    fn default() -> MemberPlaces {
        MemberPlaces::with(look_up)
    }
}

impl MemberPlaces {
    pub(super) fn with(lookup: Lookup) -> MemberPlaces {
        let (reached, busy, asked) = (Arc::default(), Arc::default(), Arc::default());
        MemberPlaces { reached, busy, asked, lookup }
    }

    /// The address of the connection to a member, while there is one.
    pub fn of(&self, peer: NodeId) -> Option<SocketAddr> {
        self.reached.lock().get(&peer).copied()
    }

    /// A connection to a member has been welcomed, or has ended.
    pub fn set_reached(&self, peer: NodeId, place: Option<SocketAddr>) {
        let mut reached = self.reached.lock();
        match place {
            Some(place) => reached.insert(peer, place),
            None => reached.remove(&peer),
        };
    }

    /// Takes the turn at this step, unless another reader has it.
    pub fn take_turn(&self, peer: NodeId, step: ReaderTask) -> Option<ReaderTurn> {
        let key = (peer, step);
        self.busy.lock().insert(key).then(|| ReaderTurn { busy: self.busy.clone(), key })
    }

    /// The addresses of host:port. If a question is not answered within `limit`, the next call waits
    /// for its answer instead of asking again. Its thread stays alone if there is no further call.
    ///
    /// # Errors
    /// When the name has no address, or has not got one in time.
    pub fn resolve(&self, name: &str, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = name.parse() {
            return Ok(vec![address]);
        }
        let question = self.ask(name)?;
        let mut answer = question.answer.lock();
        question.answered.wait_while_for(&mut answer, |answer| answer.is_none(), limit);
        let found = answer.clone();
        drop(answer);
        self.forget(name);
        let late = || (ErrorKind::TimedOut, format!("{name} is still being resolved"));
        found.unwrap_or_else(|| Err(late())).map_err(|(kind, what)| io::Error::new(kind, what))
    }

    /// The question for this name that is under way, or whose answer came too late for its caller; or a
    /// new one.
    fn ask(&self, name: &str) -> io::Result<Arc<ResolverQuestion>> {
        let mut asked = self.asked.lock();
        if let Some(question) = asked.get(name) {
            return Ok(question.clone());
        }
        let question = Arc::<ResolverQuestion>::default();
        let (lookup, owned, answering) = (self.lookup, name.to_owned(), question.clone());
        thread::Builder::new().name("resolver".to_owned()).spawn(move || {
            let answer = lookup(&owned).map_err(|error| (error.kind(), error.to_string()));
            *answering.answer.lock() = Some(answer);
            answering.answered.notify_all();
        })?;
        asked.insert(name.to_owned(), question.clone());
        Ok(question)
    }

    /// Once this name has its answer, the next call asks again: the answer was used, or is no longer
    /// needed.
    pub fn forget(&self, name: &str) {
        let mut asked = self.asked.lock();
        if asked.get(name).is_some_and(|question| question.answer.lock().is_some()) {
            asked.remove(name);
        }
    }

    /// Whether the next call would get an answer that is there already.
    #[cfg(test)]
    pub(super) fn keeps_an_answer(&self, name: &str) -> bool {
        let asked = self.asked.lock();
        asked.get(name).is_some_and(|question| question.answer.lock().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddrV6;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use crate::testing::within::within;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn an_address_needs_no_resolver() {
        let places = MemberPlaces::with(|_| panic!("it was asked"));
        let found = places.resolve("[::1]:7101", Duration::ZERO).unwrap();
        assert_eq!(found, ["[::1]:7101".parse().unwrap()]);
    }

    /// Without it the system does not know the way to a link-local address.
    #[test]
    fn an_address_keeps_its_zone() {
        let found = look_up("[fe80::1%lo]:7101").unwrap();
        let first = SocketAddrV6::new("fe80::1".parse().unwrap(), 7101, 0, 1);
        assert_eq!(found, [first.into()], "loopback is the first interface of a host");
        assert!(look_up("[fe80::1%none]:7101").is_err());
    }

    #[test]
    fn a_name_is_asked_for_every_time() {
        let found = MemberPlaces::default().resolve("localhost:7101", TIMEOUT).unwrap();
        assert!(found.iter().all(|at| at.ip().is_loopback() && at.port() == 7101), "{found:?}");
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let places = MemberPlaces::with(|name| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            Err(io::Error::new(ErrorKind::NotFound, format!("{name} is nowhere")))
        });
        for asked in 1..=2 {
            let error = places.resolve("db1:7101", TIMEOUT).unwrap_err();
            assert_eq!((error.kind(), ASKED.load(Ordering::SeqCst)), (ErrorKind::NotFound, asked));
            assert_eq!(error.to_string(), "db1:7101 is nowhere");
        }
    }

    #[test]
    fn a_resolver_that_hangs_holds_nobody_up_and_is_asked_once_by_all() {
        static HANGS: Mutex<()> = Mutex::new(());
        let places = MemberPlaces::with(|_| {
            drop(HANGS.lock());
            Ok(vec!["127.0.0.1:7101".parse().unwrap()])
        });
        let hangs = HANGS.lock();
        let asked = || places.ask("db1:7101").unwrap();
        let (before, first) = (Instant::now(), asked());
        for asker in [places.clone(), places.clone(), places.clone()] {
            let error = asker.resolve("db1:7101", Duration::from_millis(1)).unwrap_err();
            assert_eq!(error.to_string(), "db1:7101 is still being resolved");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
        assert!(before.elapsed() < TIMEOUT, "it is given up");
        assert!(Arc::ptr_eq(&first, &asked()), "no other thread asks meanwhile");
        let askers = [(); 8].map(|()| {
            let asker = places.clone();
            thread::spawn(move || asker.resolve("db1:7101", TIMEOUT).unwrap().len())
        });
        // Ours, that of the answer, that of the question under way, and one of each asker.
        let wait = || Arc::strong_count(&first) == 3 + 8;
        within(TIMEOUT, "all wait", wait);
        drop(hangs);
        assert_eq!(askers.map(|asker| asker.join().unwrap()), [1; 8], "all share the answer");
    }

    #[test]
    fn one_reader_at_a_time_redials_a_member() {
        let places = MemberPlaces::default();
        let peer = |number| NodeId(uuid::Uuid::from_u128(number));
        let turn = places.take_turn(peer(1), ReaderTask::Redial);
        assert!(turn.is_some());
        assert!(places.clone().take_turn(peer(1), ReaderTask::Redial).is_none());
        assert!(places.take_turn(peer(1), ReaderTask::Watch).is_some(), "that is another step");
        assert!(places.take_turn(peer(2), ReaderTask::Redial).is_some(), "that is another member");
        drop(turn);
        assert!(places.take_turn(peer(1), ReaderTask::Redial).is_some());
    }

    #[test]
    fn each_member_is_reached_at_its_own_place_while_it_is_connected() {
        let places = MemberPlaces::default();
        let peer = |number| NodeId(uuid::Uuid::from_u128(number));
        let reached = || [1, 2].map(|number| places.clone().of(peer(number)));
        let [one, two, three] = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
            .map(|place| Some(place.parse::<SocketAddr>().unwrap()));
        for (number, place, expected) in
            [(1, one, [one, None]), (2, two, [one, two]), (1, three, [three, two])]
        {
            places.set_reached(peer(number), place);
            assert_eq!(reached(), expected);
        }
        places.set_reached(peer(1), None);
        assert_eq!(reached(), [None, two]);
    }
}

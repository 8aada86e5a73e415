//! The node of this host as `electd exec` sees it: through a connection to its control socket.
//!
//! The thread "node" reads the node's lines; the runner of the command uses that as if the node were in
//! this process.

use std::io::{self, BufReader, Cursor, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use log::warn;
use parking_lot::Mutex;
use thiserror::Error;

use super::address::spec::Address;
use super::clock;
use super::leader::Leader;
use super::words::{self, FromExec, FromNode};
use crate::core::types::Time;
use crate::node::leadership::{Change, Feed, Leadership, Term};
use crate::node::now;

/// How long the node may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The node of this host, as long as the connection lasts.
pub struct Remote {
    shared: Arc<Shared>,
    held: Receiver<bool>,
    resigned: Receiver<Option<String>>,
    /// The name of the lock that the guard takes, in the state folder.
    pub lock: String,
    /// The incarnation of the node, if the guard has to register with its coroner.
    pub coroner: Option<u64>,
    /// Whether the node knows what to do if a command fails.
    takes_failures: bool,
    /// Whether the node stands back since the last command, and so has handed over.
    stands_back: AtomicBool,
    /// The addresses that the node itself holds while it leads.
    pub addresses: Vec<Address>,
}

struct Shared {
    stream: Mutex<UnixStream>,
    feed: Feed,
    gone: AtomicBool,
}

impl Shared {
    fn say(&self, word: &FromExec) {
        if words::write(&*self.stream.lock(), word).is_err() {
            let _ = self.stream.lock().shutdown(Shutdown::Both); // the reader finds it closed
        }
    }
}

/// Why this process cannot run commands beside a node.
#[derive(Debug, Error)]
pub enum Unattached {
    /// When the leadership ends would be another moment here.
    #[error(
        "the node has another clock than this process (time namespaces {node} and {own}), so that the command would \
         not end in time: run both in one time namespace"
    )]
    Clock {
        /// The name of this process's clock.
        own: String,
        /// That of the node's.
        node: String,
    },
    /// The node does not speak this protocol, or has ended the connection.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Remote {
    /// Speaks with a node over this connection, after its answer to the request; `first` is what was read of its
    /// lines already.
    ///
    /// # Errors
    /// When the node has another clock, does not speak this protocol, or ends the connection.
    pub fn start(stream: UnixStream, first: Vec<u8>) -> Result<Remote, Unattached> {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let mut lines = BufReader::new(Cursor::new(first).chain(stream.try_clone()?));
        let Some(FromNode::Welcome { lock, addresses, clock, takes_failures, coroner }) =
            words::read(&mut lines)?
        else {
            return Err(io::Error::other("it did not say which lock to take").into());
        };
        let own = clock::own();
        if let Some(node) = clock.filter(|node| *node != own) {
            return Err(Unattached::Clock { own, node });
        }
        // Nobody can ask this version for an address in a form that it cannot read.
        let addresses = addresses.iter().filter_map(|text| text.parse().ok()).collect();
        let shared = Arc::new(Shared {
            stream: Mutex::new(stream),
            feed: Feed::default(),
            gone: AtomicBool::new(false),
        });
        let stands_back = AtomicBool::new(false);
        // The first state of the node is known before the first question.
        take(words::read(&mut lines)?, &shared.feed);
        shared.stream.lock().set_read_timeout(None)?;
        let ((hold, held), (resign, resigned)) = (bounded(1), bounded(1));
        let own = shared.clone();
        thread::Builder::new().name("node".to_owned()).spawn(move || {
            listen(&mut lines, &own.feed, &hold, &resign);
            own.gone.store(true, Ordering::SeqCst);
            own.feed.show(None);
            own.feed.tell(&Change::NotLeading);
        })?;
        Ok(Remote { shared, held, resigned, lock, coroner, takes_failures, stands_back, addresses })
    }
}

/// Takes note of what the node says, until the connection ends.
fn listen(
    lines: &mut impl io::BufRead,
    feed: &Feed,
    held: &Sender<bool>,
    resigned: &Sender<Option<String>>,
) {
    while let Ok(Some(word)) = words::read(lines) {
        match word {
            FromNode::Held(held_now) => _ = held.try_send(held_now),
            FromNode::Resigned(why) => _ = resigned.try_send(why),
            word => take(Some(word), feed),
        }
    }
}

/// Takes over where the leadership stands.
fn take(word: Option<FromNode>, feed: &Feed) {
    match word {
        Some(FromNode::Leads { epoch, until, renewal }) => {
            let before = feed.leadership().map(|leadership| leadership.epoch());
            let renewal = renewal.map(Duration::from_nanos);
            feed.show(Some(Term { epoch, until: Time(until), renewal, now: now() }));
            if before != Some(epoch) {
                feed.tell(&Change::Leading { epoch });
            }
        }
        Some(FromNode::DoesNotLead) => {
            feed.show(None);
            feed.tell(&Change::NotLeading);
        }
        Some(FromNode::Ending) => feed.tell(&Change::Ending { within: Duration::ZERO }),
        _ => {}
    }
}

/// Delays the release of the node's leadership until it is dropped, or the connection and the guard have ended.
pub struct RemoteHold(Arc<Shared>);

impl Drop for RemoteHold {
    fn drop(&mut self) {
        self.0.say(&FromExec::Ended);
    }
}

impl Leader for Remote {
    type Hold = RemoteHold;

    fn changes(&self) -> Receiver<Change> {
        self.shared.feed.subscribe()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.shared.feed.leadership()
    }

    fn hold(&self, most: Duration) -> Option<RemoteHold> {
        self.stands_back.store(false, Ordering::SeqCst);
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        while self.held.try_recv().is_ok() {} // an answer that came too late
        self.shared.say(&FromExec::Hold { most_ms, registers: true });
        let hold = RemoteHold(self.shared.clone()); // dropped, and undone, if the node does not answer
        (self.held.recv_timeout(ANSWER) == Ok(true)).then_some(hold)
    }

    fn hand_over(&self) {
        if self.stands_back.load(Ordering::SeqCst) {
            return; // or the next leader would hand over in its place
        }
        while self.resigned.try_recv().is_ok() {} // an answer that came too late
        self.shared.say(&FromExec::Resign);
        match self.resigned.recv_timeout(ANSWER) {
            Ok(None) => {}
            Ok(Some(why)) => warn!("the node leads on: {why}"),
            Err(_) => warn!("the node did not say whether it hands over"),
        }
    }

    fn stand_back(&self, reason: &str) {
        if self.takes_failures {
            self.stands_back.store(true, Ordering::SeqCst);
            self.shared.say(&FromExec::Failed { reason: reason.to_owned() });
            let _ = self.resigned.recv_timeout(ANSWER); // this process may end now
        } else {
            self.hand_over();
        }
    }

    fn is_gone(&self) -> bool {
        self.shared.gone.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::logged::logged;

    /// The first line of a node with this clock, which knows what to do if a command fails or does not.
    fn welcome(clock: Option<&str>, takes_failures: bool) -> FromNode {
        let (lock, addresses) = ("exec-1.lock".to_owned(), Vec::new());
        let clock = clock.map(str::to_owned);
        FromNode::Welcome { lock, addresses, clock, takes_failures, coroner: None }
    }

    /// What becomes of the connection to a node that says this first.
    fn start(first: &FromNode) -> Result<Remote, Unattached> {
        let (own, node) = UnixStream::pair().unwrap();
        [first, &FromNode::DoesNotLead].iter().for_each(|word| words::write(&node, word).unwrap());
        Remote::start(own, Vec::new())
    }

    /// A node that answers all that it is asked; and what it hears.
    fn node(takes_failures: bool) -> (Remote, Receiver<FromExec>) {
        let (own, node) = UnixStream::pair().unwrap();
        for word in [welcome(None, takes_failures), FromNode::DoesNotLead] {
            words::write(&node, &word).unwrap();
        }
        let (hears, heard) = bounded(8);
        thread::spawn(move || {
            let mut lines = BufReader::new(node.try_clone().unwrap());
            while let Ok(Some(word)) = words::read(&mut lines) {
                let answer = match word {
                    FromExec::Hold { .. } => Some(FromNode::Held(true)),
                    FromExec::Ended => None,
                    FromExec::Resign | FromExec::Failed { .. } => Some(FromNode::Resigned(None)),
                };
                hears.send(word).unwrap();
                answer.iter().for_each(|answer| words::write(&node, answer).unwrap());
            }
        });
        (Remote::start(own, Vec::new()).unwrap(), heard)
    }

    /// Otherwise the next leader would hand over too, if it leads by then.
    #[test]
    fn a_node_that_stands_back_is_not_asked_to_hand_over_as_well() {
        let (node, heard) = node(true);
        node.stand_back("code 3");
        node.hand_over();
        let reason = "code 3".to_owned();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FromExec::Failed { reason }]);
        drop(node.hold(Duration::from_secs(1)).unwrap());
        node.hand_over();
        let said =
            [FromExec::Hold { most_ms: 1000, registers: true }, FromExec::Ended, FromExec::Resign];
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), said, "another command has run since");
    }

    #[test]
    fn an_older_node_hands_over_where_it_cannot_stand_back() {
        let (node, heard) = node(false);
        node.stand_back("code 3");
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [FromExec::Resign]);
    }

    /// A moment of its leadership would be another one here.
    #[test]
    fn a_node_with_another_clock_or_another_protocol_is_refused() {
        let own = clock::own();
        assert!(start(&welcome(Some(&own), true)).is_ok());
        let refused = |first: &FromNode| start(first).err().expect("it is refused").to_string();
        let told = refused(&welcome(Some("time:[1]"), true));
        assert!(told.contains(&format!("time namespaces time:[1] and {own}")), "{told}");
        assert!(refused(&FromNode::Ending).contains("did not say which lock to take"));
    }

    /// A follower may have nothing to tell for days.
    #[test]
    fn a_node_may_say_nothing_for_as_long_as_it_likes_after_its_first_words() {
        let (node, _heard) = node(true);
        assert_eq!(node.shared.stream.lock().read_timeout().unwrap(), None);
    }

    #[test]
    fn the_leadership_of_a_node_is_known_until_the_connection_ends() {
        let (own, node) = UnixStream::pair().unwrap();
        let say = |word: &FromNode| words::write(&node, word).unwrap();
        let leads = |epoch| {
            let (until, renewal) = ((now() + Duration::from_secs(1000)).0, Some(3));
            say(&FromNode::Leads { epoch, until, renewal });
        };
        say(&welcome(None, true));
        leads(7);
        let remote = Remote::start(own, Vec::new()).unwrap();
        let leadership = remote.leadership().unwrap();
        assert_eq!(leadership.epoch(), 7);
        assert_eq!(leadership.renewal(), Some(Duration::from_nanos(3)));
        let changes = remote.changes();
        leads(7); // a renewal is no change
        leads(8);
        say(&FromNode::Ending);
        say(&FromNode::DoesNotLead);
        drop(node);
        let (leading, within) = (Change::Leading { epoch: 8 }, Duration::ZERO);
        for change in [leading, Change::Ending { within }, Change::NotLeading, Change::NotLeading] {
            assert_eq!(changes.recv_timeout(ANSWER), Ok(change));
        }
        assert!(!leadership.is_valid() && remote.leadership().is_none() && remote.is_gone());
    }

    /// Nobody would say that it ends.
    #[test]
    fn a_leadership_ends_here_with_the_node_that_led() {
        let (own, node) = UnixStream::pair().unwrap();
        let until = (now() + Duration::from_secs(1000)).0;
        for word in [welcome(None, true), FromNode::Leads { epoch: 7, until, renewal: None }] {
            words::write(&node, &word).unwrap();
        }
        let remote = Remote::start(own, Vec::new()).unwrap();
        let (leadership, changes) = (remote.leadership().unwrap(), remote.changes());
        assert!(!remote.is_gone());
        drop(node);
        assert_eq!(changes.recv_timeout(ANSWER), Ok(Change::NotLeading));
        assert!(!leadership.is_valid() && remote.leadership().is_none() && remote.is_gone());
    }

    #[test]
    fn a_node_that_refuses_to_hand_over_or_has_gone_is_told() {
        let (own, far) = UnixStream::pair().unwrap();
        for word in [welcome(None, true), FromNode::DoesNotLead] {
            words::write(&far, &word).unwrap();
        }
        let node = Remote::start(own, Vec::new()).unwrap();
        let refuses = thread::spawn(move || {
            let mut lines = BufReader::new(far.try_clone().unwrap());
            assert_eq!(words::read(&mut lines).unwrap(), Some(FromExec::Resign));
            let why = Some("no other can lead".to_owned());
            words::write(&far, &FromNode::Resigned(why)).unwrap();
            let asked = words::read(&mut lines).unwrap();
            assert_eq!(asked, Some(FromExec::Hold { most_ms: 7000, registers: true }));
            words::write(&far, &FromNode::Held(false)).unwrap();
            assert_eq!(words::read(&mut lines).unwrap(), Some(FromExec::Ended), "in any case");
        });
        assert_eq!(logged(|| node.hand_over()), ["WARN : the node leads on: no other can lead"]);
        assert!(node.hold(Duration::from_secs(7)).is_none());
        refuses.join().unwrap();
        let changes = node.changes();
        while !node.is_gone() && changes.recv_timeout(ANSWER).is_ok() {}
        assert!(node.hold(Duration::from_secs(7)).is_none(), "nobody is there");
        assert_eq!(
            logged(|| node.hand_over()),
            ["WARN : the node did not say whether it hands over"]
        );
    }
}

//! The node of this host as `electd exec` sees it: through a connection to its control socket.
//!
//! The thread "node" reads the node's lines; the runner of the command uses that as if the node were in
//! this process.

use std::io::{self, BufReader, Cursor, Read};
use std::net::Shutdown;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use log::warn;
use parking_lot::Mutex;
use thiserror::Error;

use super::address::spec::Address;
use super::equipment::Equipment;
use super::leader::Leader;
use super::period::LockAsked;
use super::words::{FromExec, FromNode, NoLockCause, Welcome};
use super::{clock, lock};
use crate::calls::{Named, THREAD};
use crate::core::types::Time;
use crate::local::lines::{self, GivenDescriptors, PassedLines};
use crate::node::leadership::{Change, Feed, Leadership, Term};
use crate::node::now;

/// How long the node may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The node of this host, as long as the connection lasts.
pub struct Remote {
    shared: Arc<RemoteState>,
    held: Receiver<HoldAnswer>,
    resigned: Receiver<Option<String>>,
    /// The file that the guard locks, beside an older node, which passes none on.
    lock: Option<PathBuf>,
    /// Whether the node knows what to do if a command fails.
    takes_failures: bool,
    /// Whether the node takes the word that nothing of a command is left.
    takes_clean: bool,
    /// Whether the node counts late renewals.
    takes_late: bool,
    /// Whether the node shows where commands are reached.
    takes_urls: bool,
    /// Whether the node stands back since the last command, and so has handed over.
    stands_back: AtomicBool,
    /// The addresses that the node itself holds while it leads.
    pub addresses: Vec<Address>,
}

/// An answer of the node to [`FromExec::Hold`].
enum HoldAnswer {
    /// The leadership waits for the command, and these descriptors are for its guard.
    Yes(io::Result<Vec<OwnedFd>>),
    No,
    /// No command can begin, for this reason.
    Unable(String),
}

struct RemoteState {
    stream: Mutex<UnixStream>,
    feed: Feed,
    gone: AtomicBool,
    /// Why the node wants the lock no more.
    refused: Mutex<Option<(NoLockCause, String)>>,
}

impl RemoteState {
    fn say(&self, word: &FromExec) {
        if lines::write(&*self.stream.lock(), word).is_err() {
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
    /// The node is of an earlier version.
    #[error("it runs a version of electd that knows no locks: upgrade it")]
    NoLocks,
    /// The node is of an earlier version.
    #[error("it runs a version of electd that knows no --once-per: upgrade it")]
    NoPeriods,
    /// The node does not want the lock.
    #[error("{why}")]
    NotWanted {
        /// As one word.
        cause: NoLockCause,
        /// In words.
        why: String,
    },
    /// The node does not speak this protocol, or has ended the connection.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Remote {
    /// Speaks with a node over this connection, after its answer to the request; `first` is what was read of its
    /// lines already. The node's state is in this folder. With the name of a lock, commands run by that rather than by the
    /// leadership of the node.
    ///
    /// # Errors
    /// When the node has another clock, does not want the lock, does not speak this protocol, or ends the connection.
    pub fn start(
        stream: UnixStream,
        first: Vec<u8>,
        state: &Path,
        by: Option<LockAsked<'_>>,
    ) -> Result<Remote, Unattached> {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let (passed, given) = PassedLines::of(stream.try_clone()?);
        let mut input = BufReader::new(Cursor::new(first).chain(passed));
        let Some(FromNode::Welcome(welcome)) = lines::read(&mut input)? else {
            return Err(io::Error::other("it did not say which lock to take").into());
        };
        let own = clock::own();
        if let Some(node) = welcome.clock.clone().filter(|node| *node != own) {
            return Err(Unattached::Clock { own, node });
        }
        if let Some(asked) = by {
            want(asked, &welcome, &stream, &mut input)?;
        }
        // Nobody can ask this version for an address in a form that it cannot read.
        let addresses = welcome.addresses.iter().filter_map(|text| text.parse().ok()).collect();
        let shared = Arc::new(RemoteState {
            stream: Mutex::new(stream),
            feed: Feed::default(),
            gone: AtomicBool::new(false),
            refused: Mutex::new(None),
        });
        let stands_back = AtomicBool::new(false);
        // The first state of the node is known before the first question.
        take(lines::read(&mut input)?, &shared.feed);
        shared.stream.lock().set_read_timeout(None)?;
        let ((hold, held), (resign, resigned)) = (bounded(1), bounded(1));
        let (own, takes_seen) = (shared.clone(), welcome.takes_seen);
        let reader = thread::Builder::new().name("node".to_owned()).spawn(move || {
            let seen = || {
                if takes_seen {
                    own.say(&FromExec::Seen);
                }
            };
            seen();
            let refused = listen(&mut input, (&own.feed, &seen), (&hold, &given), &resign);
            *own.refused.lock() = refused;
            own.gone.store(true, Ordering::SeqCst);
            own.feed.show(None);
            own.feed.tell(&Change::NotLeading);
        });
        reader.named(THREAD)?;
        let lock = (!welcome.gives).then(|| state.join(welcome.lock));
        Ok(Remote {
            shared,
            held,
            resigned,
            lock,
            takes_failures: welcome.takes_failures,
            takes_clean: welcome.takes_clean,
            takes_late: welcome.takes_late,
            takes_urls: welcome.takes_urls,
            stands_back,
            addresses,
        })
    }

    /// Has the node show where the command is reached.
    pub fn tell_url(&self, url: &str) {
        if self.takes_urls {
            self.shared.say(&FromExec::Url { url: url.to_owned() });
        } else {
            warn!("the node runs a version of electd without --url: it redirects nobody to {url}");
        }
    }
}

impl Remote {
    /// Why the node wants the lock no more, if that is so.
    pub fn refused(&self) -> Option<Unattached> {
        let refused = self.shared.refused.lock().clone();
        refused.map(|(cause, why)| Unattached::NotWanted { cause, why })
    }
}

/// Has the node want this lock, if it knows such. What it says before its answer is about its leadership.
fn want(
    LockAsked { name, period }: LockAsked<'_>,
    welcome: &Welcome,
    stream: &UnixStream,
    input: &mut impl io::BufRead,
) -> Result<(), Unattached> {
    if !welcome.takes_locks {
        return Err(Unattached::NoLocks);
    }
    if period.is_some() && !welcome.takes_periods {
        return Err(Unattached::NoPeriods);
    }
    lines::write(stream, &FromExec::Lock { name: name.to_string(), period })?;
    while let Some(word) = lines::read(input)? {
        match word {
            FromNode::WantsLock => return Ok(()),
            FromNode::NoLock { cause, why } => return Err(Unattached::NotWanted { cause, why }),
            _ => {}
        }
    }
    Err(io::Error::other("it has ended the connection").into())
}

/// Takes note of what the node says, until the connection ends, or the node wants the lock no more: returns why.
fn listen(
    input: &mut impl io::BufRead,
    (feed, seen): (&Feed, &dyn Fn()),
    (held, given): (&Sender<HoldAnswer>, &GivenDescriptors),
    resigned: &Sender<Option<String>>,
) -> Option<(NoLockCause, String)> {
    while let Ok(Some(word)) = lines::read(input) {
        match word {
            FromNode::Held(true) => {
                let given = std::mem::replace(&mut *given.lock(), Ok(Vec::new()));
                let _ = held.try_send(HoldAnswer::Yes(given));
            }
            FromNode::Held(false) => _ = held.try_send(HoldAnswer::No),
            FromNode::NoLock { cause, why } => return Some((cause, why)),
            FromNode::Unable(why) => _ = held.try_send(HoldAnswer::Unable(why)),
            FromNode::Resigned(why) => _ = resigned.try_send(why),
            word => {
                take(Some(word), feed);
                seen();
            }
        }
    }
    None
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
pub struct RemoteHold {
    shared: Arc<RemoteState>,
    /// What the node has passed on for the guard, until the guard gets it.
    given: Option<io::Result<Vec<OwnedFd>>>,
}

impl Drop for RemoteHold {
    fn drop(&mut self) {
        self.shared.say(&FromExec::Ended);
    }
}

impl Leader for Remote {
    type Hold = RemoteHold;

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        self.shared.feed.subscribe()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.shared.feed.leadership()
    }

    fn hold(&self, most: Duration) -> Option<RemoteHold> {
        self.stands_back.store(false, Ordering::SeqCst);
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        while self.held.try_recv().is_ok() {} // an answer that came too late
        self.shared.say(&FromExec::Hold { most_ms, takes: true });
        let mut hold = RemoteHold { shared: self.shared.clone(), given: None }; // dropped, and undone, without an answer
        hold.given = Some(match self.held.recv_timeout(ANSWER) {
            Ok(HoldAnswer::Yes(given)) => given,
            Ok(HoldAnswer::Unable(why)) => Err(io::Error::other(why)),
            Ok(HoldAnswer::No) | Err(_) => return None,
        });
        Some(hold)
    }

    fn equip(&self, hold: &mut RemoteHold) -> io::Result<Equipment> {
        let given = hold.given.take().unwrap_or_else(|| Ok(Vec::new()))?;
        if let Some(lock) = &self.lock {
            return lock::take_made(lock).map(Equipment::unattended);
        }
        let none = || io::Error::other("the node has passed no lock on for the command");
        Equipment::of(given).ok_or_else(none)
    }

    fn release(&self, hold: RemoteHold, is_clean: bool) {
        if is_clean && self.takes_clean {
            self.shared.say(&FromExec::Clean);
        }
        drop(hold);
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

    fn note_late_renewal(&self, epoch: u64) {
        if self.takes_late {
            self.shared.say(&FromExec::Late { epoch });
        }
    }

    fn end_run(&self, code: u8) {
        self.shared.say(&FromExec::Ran { code });
    }

    fn is_gone(&self) -> bool {
        self.shared.gone.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests;

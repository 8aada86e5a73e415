//! The listener of this member: at all that its name means on this host.
//!
//! A name may mean loopback on its own host and another address everywhere else: Debian writes `127.0.1.1 NAME` into
//! /etc/hosts. It may mean addresses of several networks, or of both families, of which the others dial one. A member that
//! is bound to another address than that hears nobody, while it reaches all others. A name may also mean another address
//! than at the start, once the host has moved.

mod address;

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use socket2::SockRef;

use super::bind::listen_on;
use super::dials::{out_of_descriptors, wants_descriptors};
pub use address::{Other, OwnAddress};
use address::{ips, is_elsewhere};

use crate::calls::Named;
use crate::local::passing;

/// How often the names are looked up while a node runs.
const LOOK: Duration = Duration::from_secs(5);

/// The most addresses of a name that a member listens on: one message to the coroner carries all of its sockets.
pub const MOST_SOCKETS: usize = passing::MOST;

/// The listener of this member. Cheap to clone.
#[derive(Clone)]
pub struct OwnListener(Arc<OwnAddressState>);

/// Sockets that listen, one for each address.
pub type Sockets = Arc<[Arc<TcpListener>]>;

struct OwnAddressState {
    own: OwnAddress,
    /// None once it has stopped.
    sockets: Mutex<Option<Sockets>>,
    /// Wakes the thread that accepts.
    change: OwnedFd,
    last_look: Mutex<(Option<Instant>, Option<String>)>,
    /// When and why no connection could be accepted last.
    failed: Mutex<Option<(Instant, String)>>,
    on_move: OnceLock<OnMove>,
}

/// Called with the sockets that this member listens on from now on.
type OnMove = Box<dyn Fn(&Sockets) + Send + Sync>;

impl OwnListener {
    /// Listens on what the address means now, by the sockets that an earlier process left if they listen there.
    ///
    /// # Errors
    /// When it cannot be resolved, or is taken.
    pub fn bind(
        own: OwnAddress,
        limit: Duration,
        left: Vec<TcpListener>,
    ) -> io::Result<OwnListener> {
        let places = own.look_up(limit)?;
        // A socket that listens elsewhere is closed first: it may have the port.
        let left: Vec<TcpListener> =
            left.into_iter().filter(|left| listens_at(left, &places)).collect();
        let is_left = |place: &SocketAddr| {
            left.iter().any(|left| left.local_addr().is_ok_and(|at| at == *place))
        };
        let missing: Vec<SocketAddr> =
            places.iter().filter(|place| !is_left(place)).copied().collect();
        let sockets = match listen_on(&missing, MOST_SOCKETS - left.len().min(MOST_SOCKETS)) {
            Ok(more) => left.into_iter().chain(more).collect(),
            Err(error) if left.is_empty() => return Err(error),
            Err(_) => left, // the next look says why
        };
        OwnListener::of(own, sockets)
    }

    fn of(own: OwnAddress, sockets: Vec<TcpListener>) -> io::Result<OwnListener> {
        let change = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let change = change.named("eventfd")?;
        let sockets = sockets.into_iter().map(ready).collect::<io::Result<_>>()?;
        let sockets = Mutex::new(Some(sockets));
        let (last_look, failed, on_move) = Default::default();
        Ok(OwnListener(Arc::new(OwnAddressState {
            own,
            sockets,
            change,
            last_look,
            failed,
            on_move,
        })))
    }

    /// Calls this from now on with the sockets that take the place of the last ones.
    pub fn on_move(&self, call: impl Fn(&Sockets) + Send + Sync + 'static) {
        let _ = self.0.on_move.set(Box::new(call)); // a node sets it once, at its start
    }

    /// The sockets; none after the stop.
    pub fn sockets(&self) -> Option<Sockets> {
        self.0.sockets.lock().clone()
    }

    /// The first of them.
    #[cfg(test)]
    pub fn socket(&self) -> Option<Arc<TcpListener>> {
        self.sockets()?.first().cloned()
    }

    /// Whether this is still one of the sockets.
    pub(super) fn is(&self, socket: &Arc<TcpListener>) -> bool {
        self.sockets().is_some_and(|now| now.iter().any(|now| Arc::ptr_eq(now, socket)))
    }

    /// Waits until somebody dials one of these, or others take their place. Returns those that are dialed.
    pub(super) fn await_dial(&self, sockets: &Sockets) -> io::Result<Vec<Arc<TcpListener>>> {
        let mut fds = vec![PollFd::new(&self.0.change, PollFlags::IN)];
        fds.extend(sockets.iter().map(|socket| PollFd::new(&**socket, PollFlags::IN)));
        match poll(&mut fds, None) {
            Err(Errno::INTR) => return Ok(Vec::new()),
            polled => polled.named("poll")?,
        };
        if !fds[0].revents().is_empty() {
            let _ = rustix::io::read(&self.0.change, &mut [0; 8]); // it is heeded by now
        }
        let is_dialed = |(fd, _): &(&PollFd, _)| !fd.revents().is_empty();
        let dialed = fds[1..].iter().zip(sockets.iter()).filter(is_dialed);
        Ok(dialed.map(|(_, socket)| socket.clone()).collect())
    }

    /// Wakes the thread that accepts, for the last time.
    pub(super) fn stop(&self) {
        if let Some(sockets) = self.0.sockets.lock().take() {
            sockets.iter().for_each(|socket| close(socket));
        }
        self.wake();
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.0.change, &1_u64.to_ne_bytes()); // if it is full, it is read
    }

    /// No connection could be accepted. Tells whether that is news.
    pub(super) fn fails(&self, error: &io::Error) -> bool {
        let why = if wants_descriptors(error) { out_of_descriptors() } else { error.to_string() };
        let why = format!("this node cannot accept connections: {why}");
        let last = self.0.failed.lock().replace((Instant::now(), why));
        last.is_none_or(|(at, _)| at.elapsed() >= LOOK)
    }

    /// Looks now and then whether the others can still reach this member, and listens elsewhere if this host has
    /// moved. Returns why they cannot, if so. `silent` are those of them that might be expected to dial this member, and
    /// do not. Waits for no name service: an answer counts at the next look.
    #[must_use]
    pub fn look(&self, others: &[Other], silent: &[Other]) -> Option<String> {
        let failed = self.0.failed.lock().clone();
        if let Some((_, why)) = failed.filter(|(at, _)| at.elapsed() < LOOK) {
            return Some(why);
        }
        let mut last = self.0.last_look.lock();
        if last.0.is_none_or(|at| at.elapsed() >= LOOK) {
            let found = self.0.own.look_up(Duration::ZERO);
            if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                return last.1.clone(); // it is being looked up
            }
            let why = self
                .judge(&found.unwrap_or_default(), others)
                .or_else(|| self.0.own.missed_at(&self.bound_here(), silent, Duration::ZERO));
            *last = (Some(Instant::now()), why);
        }
        last.1.clone()
    }

    /// Where it listens.
    fn bound(&self) -> Vec<SocketAddr> {
        let sockets = self.sockets();
        sockets
            .iter()
            .flat_map(|all| all.iter())
            .filter_map(|socket| socket.local_addr().ok())
            .collect()
    }

    /// Where it listens and this host is.
    fn bound_here(&self) -> Vec<IpAddr> {
        let bound = self.bound();
        bound.into_iter().filter(|at| !is_elsewhere(*at)).map(|at| at.ip()).collect()
    }

    /// The same, with what the name means now; nothing if it does not resolve.
    fn judge(&self, found: &[SocketAddr], others: &[Other]) -> Option<String> {
        let bound = ips(&self.bound());
        if bound.iter().any(IpAddr::is_unspecified) {
            return None;
        }
        let is_missing = |at: &&SocketAddr| {
            !bound.contains(&at.ip()) && !at.ip().is_loopback() && !is_elsewhere(**at)
        };
        let stays = |ip: &&IpAddr| found.iter().any(|at| at.ip() == **ip);
        let room = MOST_SOCKETS.saturating_sub(bound.iter().filter(stays).count());
        let missing: Vec<SocketAddr> =
            found.iter().filter(is_missing).take(room).copied().collect();
        if !missing.is_empty() {
            return self.move_to(found, &missing);
        }
        let here = self.bound_here();
        let listen = &self.0.own.listen;
        let first = bound.first()?;
        if here.is_empty() {
            return Some(format!(
                "this node listens on {first}, which this host does not have any more, so that the others cannot dial it: \
                 give the host that address again, or let {listen} mean the one that it has"
            ));
        }
        let is_meant = found.is_empty() || found.iter().any(|at| here.contains(&at.ip()));
        if !is_meant && !here.iter().all(IpAddr::is_loopback) {
            let now = found[0].ip();
            return Some(format!(
                "{listen} means {now} now, which this host does not have, and this node listens on {first}: correct the name"
            ));
        }
        self.0.own.hidden_at(&here, others, Duration::ZERO)
    }

    /// Listens on these too, and no longer on what is not found any more.
    fn move_to(&self, found: &[SocketAddr], missing: &[SocketAddr]) -> Option<String> {
        let listen = &self.0.own.listen;
        let bound = listen_on(missing, MOST_SOCKETS);
        let more: io::Result<Vec<_>> = bound.and_then(|more| more.into_iter().map(ready).collect());
        let more = match more {
            Ok(more) => more,
            Err(error) => {
                return Some(format!(
                    "cannot listen on {}, which {listen} means now: {error}",
                    missing[0]
                ));
            }
        };
        let mut sockets = self.0.sockets.lock();
        let last = sockets.as_ref()?.clone(); // else it has stopped
        let (kept, gone): (Vec<_>, Vec<_>) =
            last.iter().cloned().partition(|socket| is_at(socket, found));
        let now: Sockets = kept.into_iter().chain(more).collect();
        *sockets = Some(now.clone());
        drop(sockets);
        if let Some(call) = self.0.on_move.get() {
            call(&now);
        }
        gone.iter().for_each(|socket| close(socket));
        self.wake(); // the thread that accepts goes on with these
        let names: Vec<String> = missing.iter().map(|at| at.ip().to_string()).collect();
        let rest = if gone.is_empty() { "too" } else { "and no longer on the address before" };
        warn!(event = "moved"; "{listen} means {} now: this node listens there, {rest}", names.join(" and "));
        None
    }
}

/// A socket that never blocks the thread that waits for all of them.
fn ready(socket: TcpListener) -> io::Result<Arc<TcpListener>> {
    socket.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
    Ok(Arc::new(socket))
}

/// Whoever waits there is refused, also if another process has the socket.
fn close(socket: &TcpListener) {
    let _ = SockRef::from(socket).shutdown(Shutdown::Both);
}

/// Whether a socket is at one of these places.
fn is_at(socket: &TcpListener, places: &[SocketAddr]) -> bool {
    socket.local_addr().is_ok_and(|at| places.iter().any(|place| place.ip() == at.ip()))
}

/// Whether a socket that was left listens at one of these places, as this version would have it.
fn listens_at(left: &TcpListener, places: &[SocketAddr]) -> bool {
    let socket = SockRef::from(left);
    let takes_all = |at: SocketAddr| {
        !at.is_ipv6() || !at.ip().is_unspecified() || !socket.only_v6().unwrap_or(true)
    };
    left.local_addr().is_ok_and(|at| places.contains(&at) && takes_all(at))
        && socket.is_listener().unwrap_or(false)
}

#[cfg(test)]
mod tests;

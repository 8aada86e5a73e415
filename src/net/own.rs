//! The address of this member itself: what its name means on this host, and whether the others can reach it there.
//!
//! A name may mean loopback on its own host and another address everywhere else: Debian writes `127.0.1.1 NAME` into
//! /etc/hosts. A member that is bound to such an address hears nobody, while it reaches all others. A name may also
//! mean another address than at the start, once the host has moved.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use socket2::SockRef;

use super::bind::listen_on_any;
use super::dials::{out_of_descriptors, wants_descriptors};
use super::places::Places;

/// How often the names are looked up while a node runs.
const LOOK: Duration = Duration::from_secs(5);

/// Another member: its name, and the address at which it is dialed.
pub type Other = (String, String);

/// Where a member is to listen, as its configuration says.
#[derive(Clone)]
pub struct OwnAddress {
    listen: String,
    /// Where the others dial it.
    address: String,
    places: Places,
}

impl OwnAddress {
    /// A member that listens there, and is dialed at this address.
    #[must_use]
    pub fn new(listen: &str, address: &str) -> OwnAddress {
        let (listen, address) = (listen.to_owned(), address.to_owned());
        OwnAddress { listen, address, places: Places::default() }
    }

    /// What it means on this host, at best something that other hosts can dial.
    ///
    /// # Errors
    /// When the name has no address, or has not got one within `limit`.
    pub fn look_up(&self, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        let mut found = self.places.resolve(&self.listen, limit)?;
        found.sort_by_key(|address| address.ip().is_loopback());
        Ok(found)
    }

    /// Why the others cannot dial it, if it means loopback on this host and one of them is on another host. Those whose
    /// names have no address within `limit` do not count.
    #[must_use]
    pub fn hidden(&self, others: &[Other], limit: Duration) -> Option<String> {
        let found = self.look_up(limit).ok()?;
        self.hidden_at(found.first()?.ip(), others, limit)
    }

    fn hidden_at(&self, bound: IpAddr, others: &[Other], limit: Duration) -> Option<String> {
        if !bound.is_loopback() || self.is_behind_proxy() {
            return None;
        }
        let end = Instant::now() + limit;
        for (_, address) in others {
            let _ = self.places.resolve(address, Duration::ZERO); // asks for all of them at once
        }
        let place = |(name, address): &Other| {
            let left = end.saturating_duration_since(Instant::now());
            let found = self.places.resolve(address, left).unwrap_or_default();
            found.into_iter().find(|at| is_elsewhere(*at)).map(|at| (name.clone(), at.ip()))
        };
        let (other, at) = others.iter().find_map(place)?;
        let OwnAddress { listen, .. } = self;
        let port = listen.rsplit(':').next().unwrap_or_default();
        Some(format!(
            "{listen} is {bound} on this host, which no other host can dial, and {other} is on another, at {at}: give \
             this host's name its true address (Debian writes 127.0.1.1 into /etc/hosts), or add \"listen\": \
             \"0.0.0.0:{port}\" to this member"
        ))
    }

    /// Whether it listens on loopback by intention: the others dial another address, which something passes on.
    fn is_behind_proxy(&self) -> bool {
        let host = self.listen.rsplit_once(':').map_or("", |(host, _)| host);
        let loopback = || self.listen.parse().is_ok_and(|at: SocketAddr| at.ip().is_loopback());
        self.listen != self.address && (host.eq_ignore_ascii_case("localhost") || loopback())
    }
}

/// The listener of this member. Cheap to clone.
#[derive(Clone)]
pub struct OwnListener(Arc<Shared>);

struct Shared {
    own: OwnAddress,
    /// None once it has stopped.
    socket: Mutex<Option<Arc<TcpListener>>>,
    last_look: Mutex<(Option<Instant>, Option<String>)>,
    /// When and why no connection could be accepted last.
    failed: Mutex<Option<(Instant, String)>>,
    on_move: OnceLock<OnMove>,
}

/// Called with the socket that this member listens on from now on.
type OnMove = Box<dyn Fn(&TcpListener) + Send + Sync>;

impl OwnListener {
    /// Listens on what the address means now, by the socket that an earlier process left if that listens there.
    ///
    /// # Errors
    /// When it cannot be resolved, or is taken.
    pub fn bind(
        own: OwnAddress,
        limit: Duration,
        left: Option<TcpListener>,
    ) -> io::Result<OwnListener> {
        let places = own.look_up(limit)?;
        // A socket that listens elsewhere is closed first: it may have the port.
        let left = left.filter(|left| left.local_addr().is_ok_and(|at| places.contains(&at)));
        let left = left.filter(|left| SockRef::from(left).is_listener().unwrap_or(false));
        let socket = left.map_or_else(|| listen_on_any(&places), Ok)?;
        socket.set_nonblocking(false)?;
        let socket = Mutex::new(Some(Arc::new(socket)));
        let (last_look, failed, on_move) = Default::default();
        Ok(OwnListener(Arc::new(Shared { own, socket, last_look, failed, on_move })))
    }

    /// Calls this from now on with each socket that takes the place of the last one.
    pub fn on_move(&self, call: impl Fn(&TcpListener) + Send + Sync + 'static) {
        let _ = self.0.on_move.set(Box::new(call)); // a node sets it once, at its start
    }

    /// The socket; none after the stop.
    pub fn socket(&self) -> Option<Arc<TcpListener>> {
        self.0.socket.lock().clone()
    }

    /// Whether this is still the socket.
    pub(super) fn is(&self, socket: &Arc<TcpListener>) -> bool {
        self.0.socket.lock().as_ref().is_some_and(|now| Arc::ptr_eq(now, socket))
    }

    /// Wakes the thread that accepts, for the last time.
    pub(super) fn stop(&self) {
        if let Some(socket) = self.0.socket.lock().take() {
            let _ = SockRef::from(&*socket).shutdown(Shutdown::Both);
        }
    }

    /// No connection could be accepted. Tells whether that is news.
    pub(super) fn fails(&self, error: &io::Error) -> bool {
        let why = if wants_descriptors(error) { out_of_descriptors() } else { error.to_string() };
        let why = format!("this node cannot accept connections: {why}");
        let last = self.0.failed.lock().replace((Instant::now(), why));
        last.is_none_or(|(at, _)| at.elapsed() >= LOOK)
    }

    /// Looks now and then whether the others can still reach this member, and listens elsewhere if this host has
    /// moved. Returns why they cannot, if so. Waits for no name service: an answer counts at the next look.
    #[must_use]
    pub fn look(&self, others: &[Other]) -> Option<String> {
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
            *last = (Some(Instant::now()), self.judge(&found.unwrap_or_default(), others));
        }
        last.1.clone()
    }

    /// The same, with what the name means now; nothing if it does not resolve.
    fn judge(&self, found: &[SocketAddr], others: &[Other]) -> Option<String> {
        let bound = self.socket()?.local_addr().ok()?;
        let ip = bound.ip();
        if ip.is_unspecified() {
            return None;
        }
        let meant = found.is_empty() || found.iter().any(|at| at.ip() == ip);
        let here = !is_elsewhere(bound);
        if meant && here && !ip.is_loopback() {
            return None;
        }
        let better =
            |at: &&SocketAddr| at.ip() != ip && !at.ip().is_loopback() && !is_elsewhere(**at);
        if let Some(next) = found.iter().find(better) {
            return self.move_to(*next);
        }
        let listen = &self.0.own.listen;
        if !here {
            return Some(format!(
                "this node listens on {ip}, which this host does not have any more, so that the others cannot dial it: \
                 give the host that address again, or let {listen} mean the one that it has"
            ));
        }
        if !meant && !ip.is_loopback() {
            let now = found[0].ip();
            return Some(format!(
                "{listen} means {now} now, which this host does not have, and this node listens on {ip}: correct the name"
            ));
        }
        self.0.own.hidden_at(ip, others, Duration::ZERO)
    }

    fn move_to(&self, next: SocketAddr) -> Option<String> {
        let listen = &self.0.own.listen;
        let socket = match listen_on_any(&[next]) {
            Ok(socket) => Arc::new(socket),
            Err(error) => {
                return Some(format!("cannot listen on {next}, which {listen} means now: {error}"));
            }
        };
        let mut now = self.0.socket.lock();
        let last = now.as_ref()?.clone(); // else it has stopped
        *now = Some(socket.clone());
        drop(now);
        if let Some(call) = self.0.on_move.get() {
            call(&socket);
        }
        let _ = SockRef::from(&*last).shutdown(Shutdown::Both); // the thread that accepts goes on with the next
        warn!(event = "moved"; "{listen} means {} now: this node listens there, and no longer on the address before", next.ip());
        None
    }
}

/// Whether this address belongs to another host, as far as the routes of this one say.
fn is_elsewhere(at: SocketAddr) -> bool {
    if at.ip().is_loopback() || at.ip().is_unspecified() {
        return false;
    }
    let any: IpAddr = match at {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let Ok(socket) = UdpSocket::bind((any, 0)) else { return false };
    // Sends nothing. What a host sends to itself leaves from the address that it goes to.
    match socket.connect(at).and_then(|()| socket.local_addr()) {
        Ok(from) => from.ip() != at.ip(),
        Err(_) => true, // no way leads there
    }
}

#[cfg(test)]
mod tests;

//! What a coroner leaves to the next node of its member: the listening sockets, and the certificate.
//!
//! The next node asks by a socket in the state folder, when it has the lock of that folder and no job of the last node
//! runs. It gets the very sockets that dials wait at, so that none is refused in between. The coroner has ended then.
//!
//! A node of another member, or of the same with another state folder, that finds its address taken asks by a socket whose
//! name is that address, in the network namespace of the address. It gets the same, once the death is certified: it passes
//! the certificate on.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{self, UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::{socket, still};
use crate::core::death::DeathCertificate;
use crate::local::passing::{self, LONGEST};
use crate::local::unix;
use crate::wire::{Reply, decode_reply};

/// The socket in the state folder by which the next node asks.
const FILE: &str = "coroner.sock";

/// The state of the member, in the same folder.
const STATE: &str = "state.json";

/// How the names of the sockets begin by which nodes of other members ask; the address of the coroner follows.
const NAME: &str = "electd-coroner-";

/// How long a coroner may take to answer, and to end.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a coroner may take to notice that its node has died.
const NOTICES: Duration = Duration::from_secs(1);

/// Between two tries to ask it.
const PAUSE: Duration = Duration::from_millis(10);

/// How long one that was killed may take to be gone: it holds the port until then.
const GONE: Duration = Duration::from_secs(20);

/// The length of a frame stands before it.
const PREFIX: usize = 4;

/// What the last node of this member left.
#[derive(Debug, Default)]
pub struct Estate {
    /// The sockets that it listened on.
    pub listeners: Vec<TcpListener>,
    /// The proof of its death, if nothing is left of its jobs.
    pub certificate: Option<DeathCertificate>,
}

impl Estate {
    /// Takes what the coroner in this folder leaves, which has ended then. The caller holds the lock of the folder.
    #[must_use]
    pub fn take(folder: &Path) -> Estate {
        match Estate::ask(folder) {
            Ok(estate) => estate,
            Err(error) => {
                warn!(event = "coroner"; "the coroner of the last process of this member left nothing: {error}");
                Estate::default()
            }
        }
    }

    fn ask(folder: &Path) -> io::Result<Estate> {
        let stream = match unix::connect(&folder.join(FILE), ANSWER) {
            Err(error) if is_of_none(&error) => return Ok(Estate::default()),
            connected => connected?,
        };
        stream.set_read_timeout(Some(ANSWER))?;
        let mut bytes = [0; LONGEST];
        let is_stopped = still::process(&stream)?.is_some_and(still::is_stopped);
        let answer = if is_stopped {
            Err(io::Error::other("it was stopped"))
        } else {
            passing::receive(&stream, &mut bytes)
        };
        // It would hold the port. One that has not answered has had its time.
        let timeout = if answer.is_ok() { ANSWER } else { Duration::ZERO };
        if still::end(&stream, timeout, GONE)? {
            warn!(event = "coroner"; "the coroner of the last process of this member stood still: killed it");
        }
        let (count, given) = answer?;
        Ok(Estate::of(&bytes[..count], given))
    }

    /// Takes what the coroner of any member of this user leaves that keeps one of these addresses. It has ended
    /// then. Waits for a moment for one that has not noticed the death of its node yet.
    #[must_use]
    pub fn take_at(addresses: &[SocketAddr]) -> Estate {
        let begin = Instant::now();
        loop {
            for name in held(addresses) {
                match Estate::ask_at(name) {
                    Err(error) if is_of_none(&error) => {}
                    Err(error) => {
                        warn!(event = "coroner"; "the coroner that has {name} leaves nothing: {error}");
                        return Estate::default();
                    }
                    Ok(estate) => {
                        info!(event = "coroner"; "the coroner of a member that died here had {name}: it leaves that to this node");
                        return estate;
                    }
                }
            }
            if begin.elapsed() > NOTICES {
                return Estate::default();
            }
            thread::sleep(PAUSE);
        }
    }

    fn ask_at(address: SocketAddr) -> io::Result<Estate> {
        let mut stream = UnixStream::connect_addr(&name(address)?)?;
        if !is_trusted(&stream) {
            return Err(io::Error::other("it belongs to another user"));
        }
        stream.set_read_timeout(Some(ANSWER))?;
        let mut bytes = [0; LONGEST];
        let (count, given) =
            passing::receive(&stream, &mut bytes).map_err(|error| match error.kind() {
                ErrorKind::WouldBlock => io::Error::other("something of a job of it may run"),
                _ => error,
            })?;
        let _ = stream.read(&mut [0]); // its end
        Ok(Estate::of(&bytes[..count], given))
    }

    /// What this answer leaves.
    fn of(answer: &[u8], given: Vec<OwnedFd>) -> Estate {
        let certificate = match answer.get(PREFIX + 1..).map(decode_reply) {
            Some(Ok(Reply::Dead(certificate))) => Some(certificate),
            _ => None,
        };
        Estate { listeners: given.into_iter().map(TcpListener::from).collect(), certificate }
    }
}

/// The name of the socket by which nodes of other members ask the coroner that has this address.
fn name(address: SocketAddr) -> io::Result<net::SocketAddr> {
    net::SocketAddr::from_abstract_name(format!("{NAME}{address}"))
}

/// The addresses that coroners have in this network namespace, and whose sockets keep one of these from being bound.
fn held(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let all = fs::read("/proc/net/unix").unwrap_or_default();
    let held = |line: &str| line.split_once(&format!("@{NAME}"))?.1.parse().ok();
    let held: Vec<SocketAddr> = String::from_utf8_lossy(&all).lines().filter_map(held).collect();
    let all_of_port = |one: &SocketAddr| one.ip().is_unspecified();
    let keeps = |one: &SocketAddr, other: &SocketAddr| {
        one.port() == other.port()
            && (one.ip() == other.ip() || all_of_port(one) || all_of_port(other))
    };
    held.into_iter().filter(|held| addresses.iter().any(|wanted| keeps(held, wanted))).collect()
}

/// Whether the process on the other side is of this user, or of root: anybody can take such a name, and ask there.
fn is_trusted(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid() || peer.uid.is_root())
}

/// Whether nobody listens there.
fn is_of_none(error: &io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&error.kind())
}

/// The coroner's side.
pub(super) struct Heirs {
    listener: UnixListener,
    /// Where nodes of other members ask, once the node has died.
    others: Vec<UnixListener>,
    asking: Option<UnixStream>,
    /// Tells of a file that was removed; none where the system has none left.
    changes: Option<OwnedFd>,
}

impl Heirs {
    /// Listens in the folder that this process works in, for the node's user alone.
    pub fn listen() -> io::Result<Heirs> {
        let listener = socket::listen(Path::new(FILE))?;
        Ok(Heirs { listener, others: Vec::new(), asking: None, changes: changes().ok() })
    }

    /// Tells of news of the file, to be waited for after the death.
    pub fn changes(&self) -> Option<BorrowedFd<'_>> {
        self.changes.as_ref().map(AsFd::as_fd)
    }

    /// Whether somebody has removed the state of this member, and no next node is to be expected: the port would be held for
    /// nobody. If the socket alone is gone, the next node asks at the address.
    pub fn are_lost(&self) -> bool {
        let mut events = [0; 4096];
        let has_news = |changes| rustix::io::read(changes, &mut events).is_ok();
        self.changes.as_ref().is_some_and(has_news)
            && [FILE, STATE].iter().all(|file| !Path::new(file).exists())
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// From now on nodes of other members may ask for these sockets.
    pub fn await_others(&mut self, listeners: &[TcpListener]) {
        let listen = |listener: &TcpListener| {
            let others = UnixListener::bind_addr(&name(listener.local_addr()?)?)?;
            others.set_nonblocking(true)?;
            Ok::<_, io::Error>(others)
        };
        // Without one its address is taken for as long as this process lives.
        self.others = listeners.iter().filter_map(|listener| listen(listener).ok()).collect();
    }

    /// Where they ask.
    pub fn others(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.others.iter().map(AsFd::as_fd)
    }

    /// Takes the one in that has asked, if it may.
    pub fn hear_others(&mut self) {
        for other in &self.others {
            if let Ok((stream, _)) = other.accept()
                && is_trusted(&stream)
                && !still::is_closed(&stream)
            {
                self.asking = Some(stream);
            }
        }
    }

    /// Whether one is to be answered.
    pub fn are_waiting(&self) -> bool {
        self.asking.is_some()
    }

    /// Whether a node has asked.
    pub fn have_asked(&mut self) -> bool {
        if let Ok((stream, _)) = self.listener.accept() {
            self.asking = Some(stream);
        }
        self.asking.is_some()
    }

    /// Leaves the listening sockets to the one that asked, and the frame of the certificate, if there is one.
    pub fn leave(self, listeners: Vec<TcpListener>, frame: Option<&[u8]>) -> io::Result<()> {
        let Some(stream) = self.asking else { return Ok(()) };
        let bytes = [&[1], frame.unwrap_or_default()].concat(); // never empty
        for listener in &listeners {
            listener.set_nonblocking(false)?; // an older node takes them so
        }
        let given: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        let sent = passing::send(&stream, &bytes, &given);
        drop(listeners); // before the connection ends: who sees its end can rely on it that the port is free
        sent
    }
}

/// Tells when a file of the folder is removed that this process works in.
fn changes() -> rustix::io::Result<OwnedFd> {
    let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&changes, ".", WatchFlags::DELETE)?;
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::death::Secret;
    use crate::core::types::{Incarnation, NodeId};
    use crate::wire::encode_dead;

    const CERTIFICATE: DeathCertificate = DeathCertificate {
        member: NodeId(uuid::Uuid::from_u128(7)),
        incarnation: Incarnation(3),
        secret: Secret([9; 32]),
    };

    /// Asks, and is left the socket and this frame; what comes of that.
    fn left(frame: Option<&[u8]>) -> Estate {
        let (asks, asked) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let own = UnixListener::bind(folder.path().join(FILE)).unwrap();
        let heirs = Heirs { listener: own, others: Vec::new(), asking: Some(asked), changes: None };
        heirs.leave(vec![listener], frame).unwrap();
        let mut bytes = [0; LONGEST];
        let (count, given) = passing::receive(&asks, &mut bytes).unwrap();
        let estate = Estate::of(&bytes[..count], given);
        let kept = estate.listeners.iter().map(|listener| listener.local_addr().unwrap());
        assert!(kept.eq([address]), "whatever else is left");
        estate
    }

    #[test]
    fn the_next_node_is_left_the_socket_and_the_certificate_if_there_is_one() {
        assert_eq!(left(Some(&encode_dead(&CERTIFICATE))).certificate, Some(CERTIFICATE));
        for none in [None, Some(&b""[..]), Some(b"\0\0\0\x02{}"), Some(b"?")] {
            assert_eq!(left(none).certificate, None, "{none:?}");
        }
    }

    #[test]
    fn where_no_coroner_listens_nothing_is_left_and_nothing_is_amiss() {
        let folder = tempfile::tempdir().unwrap();
        let is_none = |folder: &Path| {
            let Estate { listeners, certificate } = Estate::ask(folder).unwrap();
            listeners.is_empty() && certificate.is_none()
        };
        assert!(is_none(folder.path()), "there was never one");
        drop(UnixListener::bind(folder.path().join(FILE)).unwrap());
        assert!(is_none(folder.path()), "it was killed");
        let no_folder = folder.path().join(FILE).join("deeper");
        assert!(Estate::ask(&no_folder).is_err(), "nobody knows");
    }

    #[test]
    fn a_node_asks_by_a_connection() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(FILE)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut heirs = Heirs { listener, others: Vec::new(), asking: None, changes: None };
        assert!(!heirs.have_asked());
        let asks = UnixStream::connect(folder.path().join(FILE)).unwrap();
        assert!(heirs.have_asked());
        assert!(heirs.have_asked(), "it waits");
        assert!(!heirs.are_lost(), "the system tells of no change");
        drop(asks);
    }
}

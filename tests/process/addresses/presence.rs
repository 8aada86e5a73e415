//! When each host had an address, as a socket in its namespace finds out: it can be bound to that, or not. A host that
//! has none waits until its kernel tells of a change: to look all the time would cost more than all that is tested.

use std::net::{IpAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use crate::support::network::enter;
use crate::support::{Cluster, breathe, ensure, eventually};

/// The groups RTMGRP_IPV4_IFADDR and RTMGRP_IPV6_IFADDR of the kernel: its addresses change.
const CHANGES: u32 = 0x10 | 0x100;

/// How long a host without an address waits for a change, until it looks whether the test is over.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A time during which a host had an address for certain.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub host: usize,
    ip: IpAddr,
    from: Instant,
    until: Instant,
    over: bool,
}

/// Looks all the time whether the hosts have these addresses.
pub struct Presence {
    spans: Arc<Mutex<Vec<Span>>>,
    addresses: Vec<IpAddr>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Presence {
    pub fn of(cluster: &Cluster, addresses: &[&str]) -> Presence {
        let (spans, over): (Arc<Mutex<Vec<Span>>>, Arc<AtomicBool>) = Default::default();
        let addresses: Vec<IpAddr> = addresses.iter().map(|ip| ip.parse().unwrap()).collect();
        let mut threads = Vec::new();
        for host in 1..=cluster.nodes().len() {
            let (spans, over, home) = (spans.clone(), over.clone(), cluster.network().home(host));
            let addresses = addresses.clone();
            threads.push(thread::spawn(move || {
                enter(&home);
                look_on(host, &addresses, &spans, &over);
            }));
        }
        Presence { spans, addresses, over, threads }
    }

    /// All times so far.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    /// The host that has all the addresses now, while no other has any.
    pub fn holder(&self) -> Result<usize, String> {
        let spans = self.spans();
        let now: Vec<&Span> = spans.iter().filter(|span| !span.over).collect();
        let host = now.first().ok_or("no host has an address")?.host;
        let whole = now.len() == self.addresses.len();
        ensure(whole && now.iter().all(|span| span.host == host), || format!("{now:?}"))?;
        Ok(host)
    }

    /// Waits until a host has all the addresses that had none of them before this time.
    pub fn next_holder(&self, after: Instant) -> usize {
        eventually("a host has come to have the addresses", || {
            let host = self.holder()?;
            let spans = self.spans();
            let older = spans.iter().any(|span| !span.over && span.from < after);
            ensure(!older, || format!("host {host} has had them before"))?;
            Ok(host)
        })
    }

    /// Waits until another host than this one has all the addresses. Returns which.
    pub fn moved_from(&self, host: usize) -> usize {
        eventually("another host has the addresses", || {
            let holder = self.holder()?;
            ensure(holder != host, || format!("it is {holder}"))?;
            Ok(holder)
        })
    }

    /// Waits until no host has any of the addresses.
    pub fn until_gone(&self) {
        eventually("the addresses are gone", || {
            let left: Vec<Span> = self.spans().into_iter().filter(|span| !span.over).collect();
            ensure(left.is_empty(), || format!("{left:?}"))
        });
    }

    /// No address was on two hosts at one instant.
    #[track_caller]
    pub fn assert_never_two(&self) {
        let spans = self.spans();
        for (at, one) in spans.iter().enumerate() {
            for other in spans[..at].iter().filter(|other| other.ip == one.ip) {
                let apart = one.until < other.from || other.until < one.from;
                assert!(apart || one.host == other.host, "on two hosts:\n{one:?}\n{other:?}");
            }
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // its panic was shown
        }
    }
}

fn look_on(host: usize, addresses: &[IpAddr], spans: &Mutex<Vec<Span>>, over: &AtomicBool) {
    let changes = changes();
    let mut present: Vec<(IpAddr, Option<usize>)> =
        addresses.iter().map(|ip| (*ip, None)).collect();
    while !over.load(Ordering::SeqCst) {
        present.iter_mut().for_each(|(ip, current)| look(host, *ip, current, spans));
        if present.iter().any(|(_, current)| current.is_some()) {
            breathe(); // when it goes is known only from when it was there
        } else {
            await_change(&changes);
        }
    }
}

/// Looks whether the host has an address; `current` is the place of the span that lasts.
fn look(host: usize, ip: IpAddr, current: &mut Option<usize>, spans: &Mutex<Vec<Span>>) {
    let before = Instant::now();
    let has = UdpSocket::bind((ip, 0)).is_ok();
    let after = Instant::now();
    let mut spans = spans.lock().unwrap();
    match (has, *current) {
        (true, None) => {
            *current = Some(spans.len());
            spans.push(Span { host, ip, from: after, until: after, over: false });
        }
        (true, Some(at)) => spans[at].until = spans[at].until.max(before),
        (false, Some(at)) => {
            spans[at].over = true;
            *current = None;
        }
        (false, None) => {}
    }
}

/// A socket that can be read when an address of this namespace has changed.
fn changes() -> OwnedFd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None).unwrap();
    bind(&socket, &SocketAddrNetlink::new(0, CHANGES)).unwrap();
    socket
}

/// Waits for a change, and takes all there are.
fn await_change(changes: &OwnedFd) {
    let _ = poll(&mut [PollFd::new(changes, PollFlags::IN)], Some(&WAIT));
    while recv(changes, &mut [0; 64], RecvFlags::empty()).is_ok() {}
}

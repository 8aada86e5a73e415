//! Counts of what was sent, received and dropped, and the dials that failed, for the status.

use std::sync::atomic::{AtomicU64, Ordering};

use super::dials::Dials;
use crate::core::message::Kind;
use crate::core::types::NodeId;
use crate::tls::TlsCause;

/// The messages and connections that a node can drop, each with the reason.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Drop {
    /// A message for a peer whose queue was full.
    QueueFull,
    /// A message for a peer that is not connected, or whose connection ended before it was sent.
    NotConnected,
    /// A connection that brought no valid hello.
    NoHello,
    /// A connection that brought something other than a message.
    Junk,
    /// A message of a later version.
    Unknown,
}

const DROPS: [(Drop, &str); 5] = [
    (Drop::QueueFull, "queue_full"),
    (Drop::NotConnected, "not_connected"),
    (Drop::NoHello, "no_hello"),
    (Drop::Junk, "junk"),
    (Drop::Unknown, "unknown"),
];

/// The counters of one node.
#[derive(Debug, Default)]
pub struct Counters {
    sent: [AtomicU64; Kind::ALL.len()],
    received: [AtomicU64; Kind::ALL.len()],
    dropped: [AtomicU64; DROPS.len()],
    refused: [AtomicU64; TlsCause::ALL.len()],
    pub(super) dials: Dials,
}

impl Counters {
    pub(super) fn sent(&self, kinds: &[Kind]) {
        for kind in kinds {
            self.sent[*kind as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn received(&self, kind: Kind) {
        self.received[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self, what: Drop, count: u64) {
        self.dropped[what as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, cause: TlsCause) {
        self.refused[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Why the last dial of this peer failed; none if it is connected, or was not dialed yet.
    pub fn failed_dial(&self, peer: NodeId) -> Option<String> {
        self.dials.failed(peer)
    }

    /// Whether the host of this peer refused the last dial, so that it can be reached.
    pub fn is_refused(&self, peer: NodeId) -> bool {
        self.dials.is_refused(peer)
    }

    /// Each cause to refuse a connection before its hello, with its count.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        TlsCause::ALL
            .iter()
            .map(|cause| (cause.name(), self.refused[*cause as usize].load(Ordering::Relaxed)))
    }

    /// Each kind of message with how many were sent and received.
    pub fn messages(&self) -> impl Iterator<Item = (Kind, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Kind::ALL.iter().map(move |&kind| {
            (kind, read(&self.sent[kind as usize]), read(&self.received[kind as usize]))
        })
    }

    /// Each reason for a drop with its count.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DROPS
            .into_iter()
            .map(|(what, name)| (name, self.dropped[what as usize].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status and the metrics show nothing else of the network.
    #[test]
    fn each_thing_is_counted_under_its_own_name() {
        let counters = Counters::default();
        counters.sent(&[Kind::Heartbeat, Kind::Probe, Kind::Probe]);
        counters.received(Kind::Probe);
        for (times, (what, _)) in (1..).zip(DROPS) {
            counters.dropped(what, times);
        }
        for (times, cause) in (1..).zip(TlsCause::ALL) {
            (0..times).for_each(|_| counters.refused(*cause));
        }
        let counted = counters.messages().filter(|(_, sent, received)| sent + received > 0);
        let counted: Vec<_> = counted.collect();
        let expected = [(Kind::Heartbeat, 1, 0), (Kind::Probe, 2, 1)];
        assert!(
            counted.len() == 2 && expected.iter().all(|it| counted.contains(it)),
            "{counted:?}"
        );
        let dropped: Vec<_> = counters.drops().collect();
        let names = ["queue_full", "not_connected", "no_hello", "junk", "unknown"];
        assert!(dropped.into_iter().eq(names.into_iter().zip(1..)));
        let refused = counters.refusals().zip((1..).zip(TlsCause::ALL));
        for ((name, count), (times, cause)) in refused {
            assert_eq!((name, count), (cause.name(), times));
        }
    }
}

//! Counts and reports connections that were refused before a hello was judged: the core never hears of
//! them, however many there are.

use std::net::IpAddr;
use std::sync::Arc;

use super::counters::Counters;
use crate::core::types::NodeId;
use crate::tls::TlsFault;

/// The other side of a refused connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A dialer that has this id, or claims it.
    Member(NodeId),
    /// Somebody at this address, who has not proved anything.
    Address(IpAddr),
}

/// Counts and reports refusals, from any thread.
#[derive(Clone)]
pub struct Refusals {
    counters: Arc<Counters>,
    tell: Arc<dyn Fn(Who, TlsFault) + Send + Sync>,
}

impl Refusals {
    pub fn new(
        counters: Arc<Counters>,
        tell: impl Fn(Who, TlsFault) + Send + Sync + 'static,
    ) -> Refusals {
        Refusals { counters, tell: Arc::new(tell) }
    }

    /// A connection was refused, by this node or by the other side.
    pub fn tell(&self, who: Who, fault: TlsFault) {
        self.counters.refused(fault.cause);
        (self.tell)(who, fault);
    }
}

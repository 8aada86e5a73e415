//! Where it is told that a connection was refused before a hello was judged: the core never hears of these,
//! however many come.

use std::net::IpAddr;
use std::sync::Arc;

use super::counters::Counters;
use crate::core::types::NodeId;
use crate::tls::Fault;

/// Whom a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Whoever has this id, or says so.
    Member(NodeId),
    /// Somebody at this address, who has not proved anything.
    Address(IpAddr),
}

/// Counts refusals and tells of them, from any thread.
#[derive(Clone)]
pub struct Refusals {
    counters: Arc<Counters>,
    tell: Arc<dyn Fn(Who, Fault) + Send + Sync>,
}

impl Refusals {
    pub fn new(
        counters: Arc<Counters>,
        tell: impl Fn(Who, Fault) + Send + Sync + 'static,
    ) -> Refusals {
        Refusals { counters, tell: Arc::new(tell) }
    }

    /// A connection was refused, by this node or by the other side.
    pub fn tell(&self, who: Who, fault: Fault) {
        self.counters.refused(fault.cause);
        (self.tell)(who, fault);
    }
}

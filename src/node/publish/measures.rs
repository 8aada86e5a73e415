//! What is counted and measured while the node runs, each by its own thread, for status, metrics and events.

use std::sync::Arc;

use crate::core::Core;
use crate::net::Counters;
use crate::node::events::EventLog;
use crate::node::handshakes::Handshakes;
use crate::node::round_trips::RoundTrips;
use crate::node::tally::Tally;
use crate::store::Pace;

pub struct Measures {
    /// Of the network.
    pub counters: Arc<Counters>,
    /// How long the latest durable writes took.
    pub pace: Arc<Pace>,
    pub tally: Arc<Tally>,
    pub events: Arc<EventLog>,
    pub round_trips: RoundTrips,
    /// The refusals before a hello.
    pub handshakes: Handshakes,
}

impl Measures {
    pub fn new(core: &Core, pace: Arc<Pace>) -> Measures {
        Measures {
            counters: Arc::default(),
            tally: Arc::new(Tally::new(pace.histogram())),
            pace,
            events: Arc::new(EventLog::new(core.incarnation().0)),
            round_trips: RoundTrips::default(),
            handshakes: Handshakes::new(core.members().clone()),
        }
    }
}

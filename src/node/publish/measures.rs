//! What is counted and measured while the node runs, each by its own thread, for status, metrics and events.

use std::sync::Arc;

use crate::core::Core;
use crate::core::types::Time;
use crate::net::Counters;
use crate::node::events::EventLog;
use crate::node::handshakes::Handshakes;
use crate::node::round_trips::RoundTrips;
use crate::node::tally::Tally;
use crate::store::Pace;
use parking_lot::Mutex;

/// That a job was ended, as no renewal of the leadership came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateRenewal {
    /// The epoch of the leadership.
    pub epoch: u64,
    pub at: Time,
    /// The same moment in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

pub struct Measures {
    /// Of the network.
    pub counters: Arc<Counters>,
    /// How long the latest durable writes took.
    pub pace: Arc<Pace>,
    pub tally: Arc<Tally>,
    /// The last time that a job was ended, as no renewal came in time.
    pub late: Mutex<Option<LateRenewal>>,
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
            late: Mutex::default(),
            events: Arc::new(EventLog::new(core.incarnation().0)),
            round_trips: RoundTrips::default(),
            handshakes: Handshakes::new(core.members().clone()),
        }
    }
}

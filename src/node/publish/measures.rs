//! What is counted and measured while the node runs, each by its own thread, for status, metrics and events.

use std::sync::Arc;

use crate::core::types::Time;
use crate::core::{Core, Input};
use crate::net::Counters;
use crate::node::events::EventLog;
use crate::node::handshakes::Handshakes;
use crate::node::tally::Tally;
use crate::store::Pace;
use electd_record::delays::DelayLog;
use electd_record::delays::round_trips::RoundTrips;
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
    /// How late the election thread was, and how long the round trips took.
    pub delays: DelayLog,
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
            delays: DelayLog::default(),
            handshakes: Handshakes::new(core.members().clone()),
        }
    }

    /// Notes what the core is about to take, whose next timer is due then.
    pub fn taking(&self, input: &Input, due: Option<Time>, now: Time) {
        if let (Input::Tick, Some(due)) = (input, due) {
            self.delays.late(now.since(due), now);
        }
        if let Some((member, took)) = self.round_trips.received(input, now) {
            self.delays.round_trip(member, took, now);
        }
    }
}

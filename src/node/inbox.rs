//! The inbox of a node's election thread.

use std::time::Duration;

use crossbeam::channel::Sender;

use crate::core::Command;
use crate::core::message::{Done, Refusal};
use crate::core::settings::Timing;
use crate::net::Event as NetEvent;
use crate::rank;
use crate::store::StoreError;

/// An event that the election thread handles.
#[derive(Debug)]
pub enum Event {
    /// The network.
    Net(NetEvent),
    /// The store.
    Stored(Result<u64, StoreError>),
    /// The attribute that this member is ranked by.
    Sampled(rank::Outcome),
    /// Whether the health check finds this member healthy.
    Checked { healthy: bool },
    /// The job of this member failed: it is to lead only if no other can.
    StandBack,
    /// The configuration was read again: the thread takes these timings, and reports that.
    Timed { timing: Timing, done: Sender<()> },
    /// A command.
    Order(Order),
    /// A caller holds the leadership from now on, and gets a report of that.
    Held { number: u64, most: Duration, held: Sender<()> },
    /// The hold with this number ends.
    Unheld { number: u64 },
}

impl From<NetEvent> for Event {
    fn from(event: NetEvent) -> Event {
        Event::Net(event)
    }
}

/// A command, and where its answer goes.
#[derive(Debug)]
pub struct Order {
    pub command: Command,
    pub answer: Sender<Result<Done, Refusal>>,
}

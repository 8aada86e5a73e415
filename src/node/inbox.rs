//! What the election thread of a node waits for.

use std::time::Duration;

use crossbeam::channel::Sender;

use crate::core::Command;
use crate::core::message::{Done, Refusal};
use crate::core::settings::Timing;
use crate::net::Event as NetEvent;
use crate::rank;
use crate::store::StoreError;

/// What the election thread waits for besides time.
#[derive(Debug)]
pub enum Event {
    /// The network.
    Net(NetEvent),
    /// The store.
    Stored(Result<u64, StoreError>),
    /// The attribute that this member is ranked by.
    Sampled(rank::Outcome),
    /// The health check found this member healthy, or not any more.
    Checked { healthy: bool },
    /// The configuration was read again: these timings count from now on; told once they do.
    Timed { timing: Timing, done: Sender<()> },
    /// A command.
    Order(Order),
    /// Somebody holds the leadership from now on, and is told that it does.
    Held { number: u64, most: Duration, held: Sender<()> },
    /// Whoever holds it by this number holds it no more.
    Unheld { number: u64 },
}

impl From<NetEvent> for Event {
    fn from(event: NetEvent) -> Event {
        Event::Net(event)
    }
}

/// A command, with where its answer goes.
#[derive(Debug)]
pub struct Order {
    pub command: Command,
    pub answer: Sender<Result<Done, Refusal>>,
}

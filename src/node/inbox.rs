//! The inbox of a node's election thread.

use std::time::Duration;

use crossbeam::channel::Sender;

use super::locks::request::LockRequest;
use crate::core::OperatorCommand;
use crate::core::message::{Done, Refusal};
use crate::core::settings::Timing;
use crate::net::{NetEvent, NoAnswer};
use crate::rank;
use crate::realtime::Realtime;
use crate::store::StoreError;

/// An event that the election thread handles.
#[derive(Debug)]
pub enum InboxEvent {
    /// The network.
    Net(NetEvent),
    /// The store.
    Stored(Result<u64, StoreError>),
    /// The attribute that this member is ranked by.
    Sampled(rank::SampleResult),
    /// Whether the health check finds this member healthy.
    Checked { healthy: bool },
    /// The job of this member failed: it is to lead only if no other can.
    StandBack,
    /// The configuration was read again: the thread takes these timings, and reports that.
    Timed { timing: Timing, done: Sender<()> },
    /// A command.
    Order(CommandOrder),
    /// A caller holds the leadership from now on, and gets a report of that.
    Held { number: u64, most: Duration, held: Sender<()> },
    /// The hold with this number ends.
    Unheld { number: u64 },
    /// The store of the locks.
    LocksStored(Result<u64, StoreError>),
    /// A program wants something of the locks.
    Lock(LockRequest),
}

impl From<NetEvent> for InboxEvent {
    fn from(event: NetEvent) -> InboxEvent {
        InboxEvent::Net(event)
    }
}

/// A command, and where its answer goes.
#[derive(Debug)]
pub struct CommandOrder {
    pub command: OperatorCommand,
    pub answer: Sender<Result<Done, Refusal>>,
}

/// The way into the inbox for threads that do not run in real time. Cheap to clone.
///
/// They do while they put an event into the queue, if the election thread does. To see why, consider the store: its
/// event wakes the election thread, which takes the processor from the store, and then waits for the lock of the queue,
/// which the store still holds; on a busy host it would wait for milliseconds.
#[derive(Clone, Debug)]
pub struct Queue {
    /// For threads that run in real time already.
    pub urgent: Sender<InboxEvent>,
    realtime: Realtime,
}

impl Queue {
    pub fn new(urgent: Sender<InboxEvent>, realtime: Realtime) -> Queue {
        Queue { urgent, realtime }
    }

    /// False when the election thread has ended.
    pub fn send(&self, event: InboxEvent) -> bool {
        self.realtime.meanwhile(|| self.urgent.send(event).is_ok())
    }

    /// False when the queue is full, or the election thread has ended.
    pub fn try_send(&self, event: InboxEvent) -> bool {
        self.realtime.meanwhile(|| self.urgent.try_send(event).is_ok())
    }

    /// # Errors
    /// When the queue stays full for that long, or the election thread has ended.
    pub fn send_timeout(&self, event: InboxEvent, timeout: Duration) -> Result<(), NoAnswer> {
        let put = || self.urgent.send_timeout(event, timeout).map_err(|error| error.is_timeout());
        let late = |is_late| if is_late { NoAnswer::Late } else { NoAnswer::Never };
        self.realtime.meanwhile(put).map_err(late)
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;

    use super::*;

    #[test]
    fn a_queue_that_stays_full_is_told_from_one_that_nobody_reads_any_more() {
        let (sender, events) = bounded(1);
        let queue = Queue::new(sender, Realtime::default());
        let soon = Duration::from_millis(1);
        assert!(queue.send(InboxEvent::StandBack) && !queue.try_send(InboxEvent::StandBack));
        assert_eq!(queue.send_timeout(InboxEvent::StandBack, soon), Err(NoAnswer::Late));
        assert!(events.recv().is_ok() && queue.try_send(InboxEvent::StandBack));
        assert!(matches!(events.recv(), Ok(InboxEvent::StandBack)));
        assert_eq!(queue.send_timeout(InboxEvent::StandBack, soon), Ok(()));
        drop(events);
        assert_eq!(queue.send_timeout(InboxEvent::StandBack, soon), Err(NoAnswer::Never));
        assert!(!queue.try_send(InboxEvent::StandBack) && !queue.send(InboxEvent::StandBack));
    }
}

//! Tells many receivers the same, and waits for none of them.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;

/// Those who want to hear of something, each with a queue of its own.
#[derive(Debug)]
pub(super) struct Fanout<T> {
    receivers: Mutex<Vec<Sender<T>>>,
    /// How much may wait for one receiver.
    room: usize,
    missed: AtomicU64,
}

impl<T: Clone> Fanout<T> {
    /// Nobody wants to hear yet. So much may wait for each receiver.
    pub fn new(room: usize) -> Fanout<T> {
        Fanout { receivers: Mutex::default(), room, missed: AtomicU64::new(0) }
    }

    /// A receiver of every later message.
    pub fn subscribe(&self) -> Receiver<T> {
        let (sender, receiver) = bounded(self.room);
        self.receivers.lock().push(sender);
        receiver
    }

    /// Tells all receivers. A receiver whose queue is full misses it, which is counted; a receiver that
    /// is gone is forgotten.
    pub fn tell(&self, what: &T) {
        self.receivers.lock().retain(|receiver| match receiver.try_send(what.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        });
    }

    /// How often a receiver missed something.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// How many receivers there were at the last message, plus those added since.
    #[cfg(test)]
    pub fn receivers(&self) -> usize {
        self.receivers.lock().len()
    }
}

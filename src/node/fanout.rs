//! Tells many receivers the same, and waits for none of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;

/// The receivers, by the numbers of their subscriptions.
type Receivers<T> = Mutex<BTreeMap<u64, Sender<T>>>;

/// Those who want to hear of something, each with a queue of its own.
#[derive(Debug)]
pub(super) struct Fanout<T> {
    receivers: Arc<Receivers<T>>,
    /// How much may wait for one receiver.
    room: usize,
    missed: AtomicU64,
}

impl<T: Clone> Fanout<T> {
    /// Nobody wants to hear yet. So much may wait for each receiver.
    pub fn new(room: usize) -> Fanout<T> {
        Fanout { receivers: Arc::default(), room, missed: AtomicU64::new(0) }
    }

    /// A receiver of every later message.
    pub fn subscribe(&self) -> Subscription<T> {
        let (sender, receiver) = bounded(self.room);
        let mut receivers = self.receivers.lock();
        let number = receivers.last_key_value().map_or(0, |(last, _)| last + 1);
        receivers.insert(number, sender);
        Subscription { receiver, number, receivers: Arc::downgrade(&self.receivers) }
    }

    /// Tells all receivers. A receiver whose queue is full misses it, which is counted.
    pub fn tell(&self, what: &T) {
        for receiver in self.receivers.lock().values() {
            if let Err(TrySendError::Full(_)) = receiver.try_send(what.clone()) {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How often a receiver missed something.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// How many receivers there are.
    #[cfg(test)]
    pub fn receivers(&self) -> usize {
        self.receivers.lock().len()
    }
}

/// The receiving end of a queue of its own. It is used as the [`Receiver`] in it, and the queue goes with it: whoever
/// drops it leaves nothing behind, whether or not there is ever anything to send again.
///
/// ```
/// use electd::node::events::EventLog;
///
/// let log = EventLog::new(1);
/// let events = log.subscribe();
/// assert!(events.try_recv().is_err(), "nothing has happened");
/// drop(events); // it is forgotten here, not at the next event
/// ```
pub struct Subscription<T> {
    receiver: Receiver<T>,
    number: u64,
    /// The senders, of which one is its own: they end with the node.
    receivers: Weak<Receivers<T>>,
}

impl<T> Deref for Subscription<T> {
    type Target = Receiver<T>;

    fn deref(&self) -> &Receiver<T> {
        &self.receiver
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        if let Some(receivers) = self.receivers.upgrade() {
            receivers.lock().remove(&self.number);
        }
    }
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("waiting", &self.receiver.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that is never told anything new gets receivers all the same: each job that `exec` runs is one.
    #[test]
    fn a_receiver_that_is_gone_is_forgotten_though_nobody_tells_a_thing() {
        let fanout = Fanout::new(2);
        let stays = fanout.subscribe();
        for _ in 0..100 {
            let [first, second] = [(); 2].map(|()| fanout.subscribe());
            drop(first);
            assert_eq!(fanout.receivers(), 2);
            drop(second);
        }
        assert_eq!(fanout.receivers(), 1);
        [7, 8, 9].iter().for_each(|word| fanout.tell(word));
        assert_eq!((stays.try_iter().collect::<Vec<_>>(), fanout.missed()), (vec![7, 8], 1));
    }

    #[test]
    fn a_receiver_learns_that_nobody_will_tell_a_thing_any_more() {
        let fanout = Fanout::<u8>::new(1);
        let stays = fanout.subscribe();
        drop(fanout);
        assert!(stays.recv().is_err());
        drop(stays);
    }
}

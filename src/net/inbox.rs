//! The way from the network to the election thread.

use std::sync::Arc;

use crossbeam::channel::{SendError, Sender};

use super::knock::Knock;
use crate::core::Input;

/// An event that the network reports to the election thread.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all are inputs: a box would cost each of them"
)]
pub enum Event {
    /// An input of the core.
    Input(Input),
    /// A dialer's hello, with the means to answer it.
    Knock(Box<Knock>),
}

/// Where events go. The queue is bounded: readers wait when the election thread is behind.
#[derive(Clone)]
pub struct Inbox(Arc<dyn Fn(Event) -> bool + Send + Sync>);

impl Inbox {
    /// An inbox that wraps events into whatever the channel carries.
    pub fn new<T: From<Event> + Send + 'static>(channel: Sender<T>) -> Inbox {
        Inbox(Arc::new(move |event| {
            channel.send(T::from(event)).map_err(|SendError(_)| ()).is_ok()
        }))
    }

    /// Hands an event over. False when the election thread has ended.
    pub(super) fn send(&self, event: Event) -> bool {
        (self.0)(event)
    }

    pub(super) fn input(&self, input: Input) -> bool {
        self.send(Event::Input(input))
    }
}

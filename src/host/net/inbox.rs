//! The way from the network to the election thread, and the end of that thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, SendError, Sender, TryRecvError, after, bounded, never};
use crossbeam::select;

use super::newcomer::Newcomer;
use crate::core::Input;

/// An event that the network reports to the election thread.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all are inputs: a box would cost each of them"
)]
pub enum NetEvent {
    /// An input of the core.
    Input(Input),
    /// A dialer's hello, with the means to answer it.
    Newcomer(Box<Newcomer>),
}

/// Where events go. The queue is bounded: readers wait when the election thread is behind.
#[derive(Clone)]
pub struct Inbox {
    put: Arc<dyn Fn(NetEvent) -> bool + Send + Sync>,
    end: ThreadEnd,
}

impl Inbox {
    /// An inbox that wraps events into whatever the channel carries, until the end of the thread that takes them.
    pub fn new<T: From<NetEvent> + Send + 'static>(channel: Sender<T>, end: ThreadEnd) -> Inbox {
        let put = move |event| channel.send(T::from(event)).map_err(|SendError(_)| ()).is_ok();
        Inbox { put: Arc::new(put), end }
    }

    /// Hands an event over. False when the election thread has ended.
    pub(super) fn send(&self, event: NetEvent) -> bool {
        (self.put)(event)
    }

    /// The answer to an event. None when the election thread has ended.
    pub(super) fn answer<T>(&self, answered: &Receiver<T>) -> Option<T> {
        self.end.answer(answered, None).ok()
    }

    pub(super) fn input(&self, input: Input) -> bool {
        self.send(NetEvent::Input(input))
    }
}

/// Held by a thread that takes requests from a queue, for as long as it does.
#[derive(Debug)]
pub struct Answering {
    _until_dropped: Sender<Infallible>,
}

/// The end of that thread. A queue keeps a request that came too late, and with it the way for the answer: whoever
/// waits for an answer waits for this as well.
#[derive(Clone, Debug)]
pub struct ThreadEnd(Receiver<Infallible>);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The thread took the request and gives no answer, or it has ended.
    Never,
    /// The thread still has the request.
    Late,
}

impl ThreadEnd {
    /// The end of a thread, and what that thread has to hold until then.
    #[must_use]
    pub fn new() -> (Answering, ThreadEnd) {
        let (sender, receiver) = bounded(0);
        (Answering { _until_dropped: sender }, ThreadEnd(receiver))
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Waits for an answer: at most this long, and no longer than the thread lives.
    ///
    /// # Errors
    /// When there is none.
    pub fn answer<T>(
        &self,
        answered: &Receiver<T>,
        timeout: Option<Duration>,
    ) -> Result<T, NoAnswer> {
        let late = timeout.map_or_else(never, after);
        select! {
            recv(answered) -> answer => answer.map_err(|_| NoAnswer::Never),
            // The answer may have been the last that the thread did.
            recv(self.0) -> _ => answered.try_recv().map_err(|_| NoAnswer::Never),
            recv(late) -> _ => Err(NoAnswer::Late),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Far longer than anything takes here.
    const TIMEOUT: Duration = Duration::from_secs(600);

    #[test]
    fn a_request_that_stays_in_its_queue_is_answered_by_the_end_of_the_thread() {
        let (queue, requests) = bounded::<Sender<()>>(1);
        let (answering, end) = ThreadEnd::new();
        let (answer, answered) = bounded(1);
        queue.send(answer).unwrap(); // `queue` keeps the request, and with it the way for the answer
        assert_eq!(end.answer(&answered, Some(Duration::from_millis(1))), Err(NoAnswer::Late));
        let waiting = {
            let end = end.clone();
            thread::spawn(move || end.answer(&answered, Some(TIMEOUT)))
        };
        assert!(!end.has_come());
        drop((requests, answering));
        assert_eq!(waiting.join().unwrap(), Err(NoAnswer::Never));
        assert!(end.has_come());
        drop(queue);
    }

    #[test]
    fn an_answer_that_came_before_the_end_counts() {
        let (answering, end) = ThreadEnd::new();
        let (answer, answered) = bounded(1);
        answer.send(7).unwrap();
        drop(answering);
        assert_eq!(end.answer(&answered, None), Ok(7));
    }

    /// As of a request that the core drops.
    #[test]
    fn a_thread_that_lives_may_answer_never() {
        let (_answering, end) = ThreadEnd::new();
        let (answer, answered) = bounded::<()>(1);
        drop(answer);
        assert_eq!(end.answer(&answered, Some(TIMEOUT)), Err(NoAnswer::Never));
        let (events, taken) = bounded::<NetEvent>(1);
        let inbox = Inbox::new(events, end);
        assert_eq!(inbox.answer(&answered), None);
        drop(taken);
        assert!(!inbox.input(Input::Tick));
    }
}

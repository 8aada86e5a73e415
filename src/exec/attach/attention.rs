//! Whether an attached process takes note of what it is told. A frozen one does not: its guard ends the command in time, and then
//! nobody runs it as long as this host leads, or holds the lock.

use std::time::{Duration, Instant};

/// What is known of that.
#[derive(Debug, Default)]
pub(super) struct Attention {
    /// Whether it has ever said that it saw a word. An older `exec` does not.
    answers: bool,
    /// When the first word was told that it has not seen.
    unseen: Option<Instant>,
    /// The epoch that was given up because of this silence.
    given_up: Option<u64>,
}

impl Attention {
    /// It was told something.
    pub fn told(&mut self) {
        self.unseen.get_or_insert_with(Instant::now);
    }

    /// It has seen what it was told.
    pub fn saw(&mut self) {
        *self = Attention { answers: true, ..Attention::default() };
    }

    /// Whether it has seen nothing for longer than this, which is the case once in each epoch.
    pub fn is_lost(&self, epoch: u64, patience: Duration) -> bool {
        let silent = self.unseen.is_some_and(|since| since.elapsed() > patience);
        self.answers && silent && self.given_up != Some(epoch)
    }

    /// This epoch is given up because of it.
    pub fn gives_up(&mut self, epoch: u64) {
        self.given_up = Some(epoch);
    }
}

//! The connections that have more to do although their sockets are silent, such as the rest of many requests that
//! came in one go: in line, each once, so that nobody waits for all requests of one client.

use std::collections::{HashSet, VecDeque};

/// The line of connections, by their numbers.
#[derive(Default)]
pub struct Ready {
    line: VecDeque<u64>,
    waiting: HashSet<u64>,
}

impl Ready {
    /// Puts a connection at the end, if it is not in line.
    pub fn push(&mut self, number: u64) {
        if self.waiting.insert(number) {
            self.line.push_back(number);
        }
    }

    /// Whether a connection is in line.
    pub fn has(&self, number: u64) -> bool {
        self.waiting.contains(&number)
    }

    /// Whether nobody is in line.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Takes the first.
    pub fn next(&mut self) -> Option<u64> {
        let number = self.line.pop_front()?;
        self.waiting.remove(&number);
        Some(number)
    }
}

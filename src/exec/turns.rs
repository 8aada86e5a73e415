//! Of the attached processes that want one lock, one at a time has the node want it: the others would run beside the first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crossbeam::channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::core::locks::table::LockName;

/// The processes that wait for each name, in their order: the first has the turn.
type Queues = BTreeMap<LockName, VecDeque<(u64, Sender<()>)>>;

/// The turns of all names. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct LockTurns(Arc<Mutex<Queues>>);

/// A place in the queue for a name, until it is dropped.
#[derive(Debug)]
pub(super) struct LockTurn {
    turns: LockTurns,
    /// The name.
    pub name: LockName,
    number: u64,
    /// Something comes once, when it is its turn.
    pub comes: Receiver<()>,
}

impl LockTurns {
    /// The last place in the queue for this name. No other place has this number.
    pub fn wait(&self, name: LockName, number: u64) -> LockTurn {
        let (tell, comes) = bounded(1);
        let mut queues = self.0.lock();
        let queue = queues.entry(name.clone()).or_default();
        queue.push_back((number, tell));
        if queue.len() == 1 {
            call_first(queue);
        }
        LockTurn { turns: self.clone(), name, number, comes }
    }
}

fn call_first(queue: &VecDeque<(u64, Sender<()>)>) {
    if let Some((_, tell)) = queue.front() {
        let _ = tell.try_send(()); // full: it has yet to look
    }
}

impl Drop for LockTurn {
    fn drop(&mut self) {
        let mut queues = self.turns.0.lock();
        let Some(queue) = queues.get_mut(&self.name) else { return };
        let was_first = queue.front().is_some_and(|(number, _)| *number == self.number);
        queue.retain(|(number, _)| *number != self.number);
        if was_first {
            call_first(queue);
        }
        if queue.is_empty() {
            queues.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_for_a_name_goes_on_to_the_next_that_still_waits() {
        let turns = LockTurns::default();
        let wait = |name, number| turns.wait(LockName::new(name).unwrap(), number);
        let [first, second, third, other] =
            [("a", 1), ("a", 2), ("a", 3), ("b", 4)].map(|(name, number)| wait(name, number));
        assert_eq!(first.comes.len(), 1);
        let come = |turns: &[&LockTurn]| {
            turns.iter().map(|turn| turn.comes.try_recv().is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(come(&[&first, &second, &third, &other]), [true, false, false, true]);
        let fourth = wait("a", 5);
        drop((second, fourth));
        assert_eq!(come(&[&first, &third]), [false, false]);
        drop(first);
        assert_eq!(come(&[&third, &other]), [true, false]);
        drop((third, other));
        assert!(turns.0.lock().is_empty());
    }
}

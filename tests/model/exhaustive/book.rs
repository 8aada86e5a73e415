//! The states of single processes, each kept once, and what each event made of them.
//!
//! States of the whole cluster differ far more often than those of one process: a turn of the core
//! that was taken before is looked up.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use electd_election::core::Output;
use electd_election::core::types::Time;

use super::process::{Event, Process};

/// Names a state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessKey(u32);

/// Names an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey(u32);

/// The result of an event.
pub struct Turn {
    pub process: ProcessKey,
    pub out: Vec<Output>,
}

/// All states of single processes that were met.
#[derive(Default)]
pub struct Book {
    processes: Vec<Process>,
    process_keys: HashMap<u64, ProcessKey>,
    events: Vec<Event>,
    event_keys: HashMap<Event, EventKey>,
    turns: HashMap<(ProcessKey, EventKey, Time), Rc<Turn>>,
}

/// A 64-bit fingerprint. Two of ten million states have the same one by chance in about one search
/// of 370,000; one of the two would then be left out.
pub fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Book {
    /// The state with this name.
    pub fn process(&self, key: ProcessKey) -> &Process {
        &self.processes[key.0 as usize]
    }

    /// The event with this name.
    pub fn event(&self, key: EventKey) -> &Event {
        &self.events[key.0 as usize]
    }

    /// How many states of single processes were met.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Names a state.
    pub fn enter(&mut self, process: Process) -> ProcessKey {
        let next = ProcessKey(u32::try_from(self.processes.len()).expect("states fit the memory"));
        let key = *self.process_keys.entry(fingerprint(&process)).or_insert(next);
        if key == next {
            self.processes.push(process);
        }
        key
    }

    /// Names an event.
    pub fn name_of(&mut self, event: Event) -> EventKey {
        let next = EventKey(u32::try_from(self.events.len()).expect("events fit the memory"));
        let key = *self.event_keys.entry(event.clone()).or_insert(next);
        if key == next {
            self.events.push(event);
        }
        key
    }

    /// The state of a process after an event with its outputs, or the rule that the event breaks.
    pub fn turn(
        &mut self,
        process: ProcessKey,
        event: EventKey,
        now: Time,
    ) -> Result<Rc<Turn>, String> {
        if let Some(turn) = self.turns.get(&(process, event, now)) {
            return Ok(turn.clone());
        }
        let mut after = self.process(process).clone();
        let out = after.turn(now, self.event(event))?;
        let turn = Rc::new(Turn { process: self.enter(after), out });
        self.turns.insert((process, event, now), turn.clone());
        Ok(turn)
    }
}

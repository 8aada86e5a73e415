//! The events of a drawing by the instants at which they happen.

use std::collections::BTreeMap;

use crate::core::types::Time;
use crate::trace::event::{DrawnEvent, DrawnWhat};

/// What happens at one instant.
#[derive(Default)]
pub(super) struct Instant<'e> {
    /// The messages that arrive, by their place among all events.
    pub arrivals: Vec<usize>,
    /// The waits that are over, with their places.
    pub waits: Vec<(usize, &'e DrawnEvent)>,
    /// The other events, with their places, member by member.
    pub events: Vec<(usize, &'e DrawnEvent)>,
}

/// The instants in order, by their times and whether they are part of the run: what came before it, who led and who
/// died, is an instant of its own.
pub(super) fn of(events: &[DrawnEvent]) -> BTreeMap<(Time, bool), Instant<'_>> {
    let mut instants: BTreeMap<(Time, bool), Instant> = BTreeMap::new();
    let is_before = |event: &DrawnEvent| matches!(event.what, DrawnWhat::Led | DrawnWhat::Dies);
    let before = events.iter().take_while(|event| is_before(event)).count();
    for (at, event) in events.iter().enumerate() {
        let instant = instants.entry((event.time, at >= before)).or_default();
        match &event.what {
            DrawnWhat::Waited { .. } => instant.waits.push((at, event)),
            _ => instant.events.push((at, event)),
        }
        if let DrawnWhat::Sends { arrives, .. } = &event.what {
            instants.entry((*arrives, true)).or_default().arrivals.push(at);
        }
    }
    for ((_, is_in_run), instant) in &mut instants {
        if *is_in_run {
            instant.events.sort_by_key(|(_, event)| event.node); // stable
        }
    }
    instants
}

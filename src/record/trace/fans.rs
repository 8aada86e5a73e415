//! Broadcasts: what a member sends at one time to several others, all in the same words.

use std::collections::BTreeMap;

use super::event::{DrawnEvent, DrawnWhat};

/// To this many at least a message is drawn as a fan, with one label.
const LEAST: usize = 3;

/// The fan of each event, if it is a message of one.
pub struct Fans(Vec<Option<Fan>>);

/// The messages of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fan {
    /// The place of the first of them among the events.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

impl Fans {
    /// The broadcasts among these events.
    pub fn of(events: &[DrawnEvent]) -> Fans {
        let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            if let DrawnWhat::Sends { message, .. } = &event.what {
                let said = (event.time, event.node, &event.causes, &message.label);
                alike.entry(said).or_default().push(at);
            }
        }
        let mut fans = vec![None; events.len()];
        for places in alike.into_values().filter(|places| places.len() >= LEAST) {
            let fan = Fan { first: places[0], count: places.len() };
            places.into_iter().for_each(|at| fans[at] = Some(fan));
        }
        Fans(fans)
    }

    /// The fan that this event is a message of.
    pub fn get(&self, at: usize) -> Option<Fan> {
        self.0.get(at).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Time;
    use crate::trace::event::Caption;

    #[test]
    fn one_message_to_three_others_is_a_fan() {
        let sends = |time: u64, node: usize, label: &str| {
            let message = Caption { label: label.to_owned(), ..Caption::default() };
            let what = DrawnWhat::Sends {
                to: 9,
                message,
                arrives: Time(time + 1),
                lost: false,
                unseen: None,
            };
            DrawnEvent { time: Time(time), node, what, causes: Vec::new() }
        };
        let death =
            DrawnEvent { time: Time(1), node: 1, what: DrawnWhat::Dies, causes: Vec::new() };
        let mut events = vec![sends(1, 0, "HALT 1"), death];
        events.extend([sends(1, 0, "HALT 1"), sends(1, 0, "VIEW 1"), sends(1, 0, "HALT 1")]);
        events.extend([sends(2, 0, "VIEW 1"), sends(1, 1, "VIEW 1")]);
        let fans = Fans::of(&events);
        let fan = Some(Fan { first: 0, count: 3 });
        let found: Vec<_> = (0..8).map(|at| fans.get(at)).collect();
        assert_eq!(found, [fan, None, fan, None, fan, None, None, None]);
    }
}

//! The leaderships that several nodes tell, as one list: for `electd history`.

use std::collections::BTreeMap;

use crate::node::history::{Entry, History as Told};

/// One leadership for each leader and epoch, in order of time. `one_at_a_time` says that the cluster elects by a
/// majority.
pub fn merge(told: &[Told], one_at_a_time: bool) -> Vec<Entry> {
    let mut merged: BTreeMap<(u64, &str), Merged> = BTreeMap::new();
    for Told { node, leaderships } in told {
        for (at, entry) in leaderships.iter().enumerate() {
            let led = merged.entry((entry.epoch, &entry.leader));
            let led = led.or_insert_with(|| Merged::of(entry));
            let is_late = leaderships.get(at + 1).is_some_and(|next| next.cause == "stalled");
            led.take(node, entry, is_late);
        }
    }
    let begins: Vec<(u64, u64)> =
        merged.iter().map(|((epoch, _), led)| (*epoch, led.entry.since_ms)).collect();
    let next = |epoch: u64| {
        begins.iter().filter(|(later, _)| *later > epoch).map(|(_, since_ms)| *since_ms).min()
    };
    let closed = |led: Merged| {
        let next = next(led.entry.epoch);
        led.close(next, one_at_a_time)
    };
    let mut merged: Vec<Entry> = merged.into_values().map(closed).collect();
    merged.sort_by_key(|led| (led.since_ms, led.epoch));
    merged
}

/// A leadership, as far as the nodes have been heard.
struct Merged {
    entry: Entry,
    /// The last end that a node noted late: after it had been frozen.
    late: Option<u64>,
    /// How well those know that told why it began, and how long nobody had led.
    knows: (u8, bool),
    knows_gap: u8,
}

impl Merged {
    fn of(entry: &Entry) -> Merged {
        let entry = Entry { until_ms: None, ..entry.clone() };
        Merged { entry, late: None, knows: (0, false), knows_gap: 0 }
    }

    /// Adds what this node knows of it.
    fn take(&mut self, node: &str, known: &Entry, is_late: bool) {
        let led = &mut self.entry;
        led.since_ms = led.since_ms.min(known.since_ms);
        led.lasts |= known.lasts;
        let until = if is_late { &mut self.late } else { &mut led.until_ms };
        *until = (*until).max(known.until_ms);
        let is_new_leader = known.leader == node;
        let knows = (telling(&known.cause), is_new_leader);
        if knows > self.knows {
            self.knows = knows;
            led.before.clone_from(&known.before);
            led.cause.clone_from(&known.cause);
            let of_itself = known.before.as_deref() == Some(node);
            let reason = &known.reason;
            led.reason = if of_itself { format!("{node}: {reason}") } else { reason.clone() };
        }
        let knows_gap = if known.cause == "start" { 0 } else { 1 + u8::from(is_new_leader) };
        if knows_gap > self.knows_gap {
            self.knows_gap = knows_gap;
            led.leaderless_ms = known.leaderless_ms;
        }
    }

    /// Ends it, at the latest when the next epoch begins, as far as its nodes cannot have known better. With a
    /// majority the leadership was over by then: the lease of the old leader ends before another can win, and a
    /// follower that was cut off notices it later. Without one two members may really have led at once, which is to
    /// be seen; but a leader that was frozen led nobody, and notes its end only when it wakes.
    fn close(self, next: Option<u64>, one_at_a_time: bool) -> Entry {
        let Merged { mut entry, late, .. } = self;
        let bound = next.map(|next| next.max(entry.since_ms));
        let before_next = |end: u64| bound.map_or(end, |bound| end.min(bound));
        entry.until_ms = entry.until_ms.max(late.map(before_next));
        if one_at_a_time && bound.is_some() {
            entry.until_ms = if entry.lasts { bound } else { entry.until_ms.map(before_next) };
            entry.lasts = false;
        }
        if entry.lasts {
            entry.until_ms = None;
        }
        entry
    }
}

/// How much the cause of a leadership tells: why the old leader itself gave up most, such as the order of an operator;
/// that somebody announced an election or handed over little, as that has a cause of its own, which another node may
/// know; and a start nothing.
fn telling(cause: &str) -> u8 {
    match cause {
        "start" => 0,
        "joined" | "leader_released" | "leader_gave_up" | "announced" | "storing" | "overruled"
        | "halted_by" => 1,
        "resigned" | "drained" | "switched_over" | "unhealthy" | "removed" | "stopped" => 3,
        _ => 2,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A leadership as a node tells it; without an end it lasts.
    pub fn entry(
        leader: &str,
        epoch: u64,
        since_ms: u64,
        until_ms: Option<u64>,
        cause: &str,
    ) -> Entry {
        Entry {
            leader: leader.to_owned(),
            epoch,
            since_ms,
            until_ms,
            lasts: until_ms.is_none(),
            before: None,
            cause: cause.to_owned(),
            reason: format!("{cause} by {since_ms}"),
            leaderless_ms: since_ms % 100,
        }
    }

    /// What this node tells.
    pub fn told(node: &str, leaderships: Vec<Entry>) -> Told {
        Told { node: node.to_owned(), leaderships }
    }

    fn spans(merged: &[Entry]) -> Vec<(&str, u64, Option<u64>)> {
        merged.iter().map(|led| (led.leader.as_str(), led.since_ms, led.until_ms)).collect()
    }

    #[test]
    fn a_leader_that_was_frozen_does_not_lead_beside_the_next() {
        let first = |until| entry("c", 1, 1000, Some(until), "start");
        let follower = told("a", vec![first(2000), entry("b", 2, 2300, None, "leader_suspected")]);
        let frozen = told("c", vec![first(9000), entry("b", 2, 9005, None, "stalled")]);
        for one_at_a_time in [true, false] {
            let merged = merge(&[follower.clone(), frozen.clone()], one_at_a_time);
            assert_eq!(spans(&merged), [("c", 1000, Some(2300)), ("b", 2300, None)]);
        }
    }

    #[test]
    fn two_leaders_at_once_are_shown_where_they_can_be() {
        let first = |until| entry("c", 1, 1000, until, "start");
        let side =
            told("a", vec![first(Some(2000)), entry("b", 2, 2300, None, "leader_suspected")]);
        let healed = told("c", vec![first(Some(9000)), entry("b", 2, 9005, None, "overruled")]);
        let merged = merge(&[side.clone(), healed.clone()], false);
        assert_eq!(spans(&merged)[0], ("c", 1000, Some(9000)));
        let merged = merge(&[side.clone(), healed], true);
        assert_eq!(spans(&merged)[0], ("c", 1000, Some(2300)));
        let parted = told("c", vec![first(None)]);
        let lasting = |one_at_a_time| {
            let merged = merge(&[side.clone(), parted.clone()], one_at_a_time);
            merged.iter().map(|led| led.lasts).collect::<Vec<_>>()
        };
        assert_eq!((lasting(false), lasting(true)), (vec![true, true], vec![false, true]));
    }

    #[test]
    fn the_node_that_tells_most_is_believed() {
        let led = |cause: &str| Entry {
            before: Some("c".to_owned()),
            reason: cause.to_owned(),
            ..entry("b", 2, 2042, None, cause)
        };
        let cause = |nodes: [(&str, &str); 3]| {
            let nodes = nodes.map(|(node, cause)| told(node, vec![led(cause)]));
            merge(&nodes, true)[0].reason.clone()
        };
        let nodes = [("a", "leader_suspected"), ("b", "joined"), ("c", "start")];
        assert_eq!(cause(nodes), "leader_suspected");
        let nodes = [("a", "leader_released"), ("b", "leader_released"), ("c", "drained")];
        assert_eq!(cause(nodes), "c: drained", "it speaks of itself");
        let nodes = [("a", "leader_suspected"), ("b", "leader_dead"), ("c", "start")];
        assert_eq!(cause(nodes), "leader_dead", "the new leader knows best");
    }
}

//! Nodes whose clocks differ: then the times of one say nothing about those of another.
//!
//! Each answer bounds the clock of its node: it was read after the question left, and before the answer came.

use std::time::Duration;

use electd_record::trace::length;

use super::status::Status;

/// From which difference on clocks are named.
const MOST_MS: i128 = 1000;

/// What to do about it.
pub const REMEDY: &str = "set them by NTP or PTP; until then do not compare times of two nodes";

/// How far the clock of a node is ahead of that of the process that asked: at least and at most so many milliseconds.
#[derive(Clone, Debug)]
pub struct NodeClock {
    node: String,
    least: i128,
    most: i128,
}

impl NodeClock {
    /// Of the node of this status; none if it does not say what its clock shows.
    #[must_use]
    pub fn of(status: &Status) -> Option<NodeClock> {
        let (clock, (asked, answered)) = (i128::from(status.clock_ms?), status.asked_ms?);
        let (least, most) = (clock - i128::from(answered), clock - i128::from(asked));
        Some(NodeClock { node: status.node.name.clone(), least, most })
    }

    /// By how much this is certainly more than the other; below zero if it may be less.
    fn beyond(&self, other: &NodeClock) -> i128 {
        self.least - other.most
    }
}

/// A node whose clock differs from that of the node in the middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Its name.
    pub node: String,
    /// By how much at least.
    pub by: Duration,
    /// Whether its clock is ahead, rather than behind.
    pub is_ahead: bool,
    /// The name of the node in the middle.
    pub middle: String,
}

/// The nodes whose clocks differ by more than a second from that of the node in the middle.
#[must_use]
pub fn apart(clocks: impl IntoIterator<Item = NodeClock>) -> Vec<Apart> {
    let mut known: Vec<NodeClock> = clocks.into_iter().collect();
    known.sort_by_key(|clock| clock.least + clock.most);
    let Some(middle) = known.get(known.len().saturating_sub(1) / 2) else { return Vec::new() };
    let differs = |clock: &NodeClock| {
        let (ahead, behind) = (clock.beyond(middle), middle.beyond(clock));
        let by_ms = ahead.max(behind);
        (by_ms > MOST_MS).then(|| Apart {
            node: clock.node.clone(),
            by: Duration::from_millis(u64::try_from(by_ms).unwrap_or(u64::MAX)),
            is_ahead: ahead > behind,
            middle: middle.node.clone(),
        })
    };
    known.iter().filter_map(differs).collect()
}

/// By how much the clocks of these differ, in words, if there are any.
#[must_use]
pub fn words(apart: &[Apart]) -> Option<String> {
    let each = |it: &Apart| {
        let way = if it.is_ahead { "ahead of" } else { "behind" };
        format!(
            "the clock of {} is at least {} {way} that of {}",
            it.node,
            length(it.by),
            it.middle
        )
    };
    let all: Vec<String> = apart.iter().map(each).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The same, with what to do about it.
#[must_use]
pub fn advice(apart: &[Apart]) -> Option<String> {
    words(apart).map(|words| format!("{words}: {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::super::samples::status;
    use super::*;

    /// A node whose clock shows this when it is asked at 1,000,000 ms and the answer takes this long.
    fn node(name: &str, clock: u64, takes: u64) -> Option<NodeClock> {
        let asked_ms = Some((1_000_000, 1_000_000 + takes));
        NodeClock::of(&Status { clock_ms: Some(clock), asked_ms, ..status(name, None) })
    }

    #[test]
    fn nodes_whose_clocks_differ_by_more_than_a_second_are_named() {
        let of = |clocks: &[(&str, u64, u64)]| {
            let clocks =
                clocks.iter().filter_map(|(name, clock, takes)| node(name, *clock, *takes));
            words(&apart(clocks))
        };
        let same = [("a", 1_000_002, 4), ("b", 1_000_900, 4), ("c", 999_200, 4)];
        assert_eq!(of(&same), None);
        let ahead = [("a", 1_000_002, 4), ("b", 1_015_206, 6), ("c", 1_000_003, 4)];
        let words = "the clock of b is at least 15.2 s ahead of that of c";
        assert_eq!(of(&ahead).as_deref(), Some(words));
        let behind = [("a", 1_000_002, 4), ("b", 990_000, 0)];
        let words = "the clock of a is at least 10 s ahead of that of b";
        assert_eq!(of(&behind).as_deref(), Some(words));
        let two = [("a", 1_000_000, 0), ("b", 998_000, 0), ("c", 1_003_000, 0)];
        let words = "the clock of b is at least 2 s behind that of a; the clock of c is at least 3 s \
                     ahead of that of a";
        assert_eq!(of(&two).as_deref(), Some(words));
    }

    #[test]
    fn a_slow_answer_is_no_proof_that_a_clock_is_wrong() {
        let slow = |takes| {
            apart([node("a", 1_000_000, 0), node("b", 1_003_000, takes)].into_iter().flatten())
        };
        assert!(!slow(1999).is_empty() && slow(2000).is_empty(), "{:?}", slow(2000));
    }

    #[test]
    fn a_node_that_does_not_say_what_its_clock_shows_is_left_out() {
        assert_eq!(apart([]), []);
        assert!(NodeClock::of(&status("b", None)).is_none());
    }
}

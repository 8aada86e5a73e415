//! Nodes whose clocks differ: then the times of one say nothing about those of another.
//!
//! Each answer bounds the clock of its node: it was read after the question left, and before the answer came.

use std::time::Duration;

use electd_record::trace::length;

use super::asked::{Asked, answers};
use super::status::Status;

/// From which difference on clocks are named.
const MOST_MS: i128 = 1000;

/// How far the clock of a node is ahead of that of this process: at least and at most so many milliseconds.
#[derive(Clone, Copy)]
struct Ahead {
    least: i128,
    most: i128,
}

impl Ahead {
    fn of(status: &Status) -> Option<Ahead> {
        let (clock, (asked, answered)) = (i128::from(status.clock_ms?), status.asked_ms?);
        Some(Ahead { least: clock - i128::from(answered), most: clock - i128::from(asked) })
    }

    /// By how much this is certainly more than the other; below zero if it may be less.
    fn beyond(self, other: Ahead) -> i128 {
        self.least - other.most
    }
}

/// The nodes whose clocks differ by more than a second from that of the node in the middle, if any do.
#[must_use]
pub fn apart(asked: &[Asked]) -> Option<String> {
    let mut known: Vec<(&str, Ahead)> = answers(asked)
        .filter_map(|status| Some((status.node.name.as_str(), Ahead::of(status)?)))
        .collect();
    known.sort_by_key(|(_, ahead)| ahead.least + ahead.most);
    let (middle, of_middle) = *known.get(known.len().saturating_sub(1) / 2)?;
    let differs = |(name, ahead): &(&str, Ahead)| {
        let (before, behind) = (ahead.beyond(of_middle), of_middle.beyond(*ahead));
        let (time, way) = if before > behind { (before, "ahead of") } else { (behind, "behind") };
        let time = Duration::from_millis(u64::try_from(time.max(0)).unwrap_or(u64::MAX));
        let words =
            || format!("the clock of {name} is at least {} {way} that of {middle}", length(time));
        (before.max(behind) > MOST_MS).then(words)
    };
    let all: Vec<String> = known.iter().filter_map(differs).collect();
    let remedy =
        "set them by NTP or PTP, and read the times of each node for themselves until then";
    (!all.is_empty()).then(|| format!("clocks differ: {}: {remedy}", all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::super::asked::Silence;
    use super::super::samples::status;
    use super::*;

    /// A node whose clock shows this when it is asked at 1,000,000 ms and the answer takes this long.
    fn node(name: &str, clock: u64, takes: u64) -> Status {
        let asked_ms = Some((1_000_000, 1_000_000 + takes));
        Status { clock_ms: Some(clock), asked_ms, ..status(name, None) }
    }

    fn apart(statuses: &[Status]) -> Option<String> {
        let asked = |own| Asked { name: "", answer: Ok::<_, Silence>(own) };
        super::apart(&statuses.iter().map(asked).collect::<Vec<_>>())
    }

    #[test]
    fn nodes_whose_clocks_differ_by_more_than_a_second_are_named() {
        let of = |clocks: &[(&str, u64, u64)]| {
            let all: Vec<Status> =
                clocks.iter().map(|(name, clock, takes)| node(name, *clock, *takes)).collect();
            apart(&all).map(|words| words.split(": set").next().unwrap_or_default().to_owned())
        };
        let same = [("a", 1_000_002, 4), ("b", 1_000_900, 4), ("c", 999_200, 4)];
        assert_eq!(of(&same), None);
        let ahead = [("a", 1_000_002, 4), ("b", 1_015_206, 6), ("c", 1_000_003, 4)];
        let words = "clocks differ: the clock of b is at least 15.2 s ahead of that of c";
        assert_eq!(of(&ahead).as_deref(), Some(words));
        let behind = [("a", 1_000_002, 4), ("b", 990_000, 0)];
        let words = "clocks differ: the clock of a is at least 10 s ahead of that of b";
        assert_eq!(of(&behind).as_deref(), Some(words));
        let two = [("a", 1_000_000, 0), ("b", 998_000, 0), ("c", 1_003_000, 0)];
        let words = "clocks differ: the clock of b is at least 2 s behind that of a; the clock of c is at least 3 s \
                     ahead of that of a";
        assert_eq!(of(&two).as_deref(), Some(words));
    }

    #[test]
    fn a_slow_answer_is_no_proof_that_a_clock_is_wrong() {
        let slow = |takes| apart(&[node("a", 1_000_000, 0), node("b", 1_003_000, takes)]);
        assert!(slow(1999).is_some() && slow(2000).is_none(), "{:?}", slow(2000));
    }

    #[test]
    fn a_node_that_does_not_say_what_its_clock_shows_is_left_out() {
        assert_eq!(apart(&[]), None);
        assert_eq!(apart(&[node("a", 1_000_000, 0), status("b", None)]), None);
    }
}

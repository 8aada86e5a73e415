//! The watched nodes whose clocks differ from those of the others.

use std::collections::BTreeMap;

use electd_facts::clocks::{NodeClock, apart};

use super::tracker::TrackerNews;
use super::transition::Line;

/// What is known of the clocks.
#[derive(Debug, Default)]
pub struct Clocks {
    /// By the places of their nodes.
    known: BTreeMap<usize, NodeClock>,
    /// The nodes whose clock differed at the last look.
    apart: Vec<String>,
}

impl Clocks {
    /// A line if the clock of the node at this place differs from those of the others and no line says so yet.
    pub fn look(&mut self, place: usize, news: &TrackerNews) -> Option<Line> {
        let TrackerNews::Status(status) = news else { return None };
        self.known.insert(place, NodeClock::of(status)?);
        let apart = apart(self.known.values().cloned());
        let nodes: Vec<String> = apart.iter().map(|it| it.node.clone()).collect();
        let is_news = nodes.iter().any(|node| !self.apart.contains(node));
        self.apart = nodes;
        is_news.then(|| Line::clocks_differ(&apart)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::status;
    use crate::cli::transition::Kind;

    #[test]
    fn nodes_whose_clocks_differ_are_named_once_until_they_agree_again() {
        let mut clocks = Clocks::default();
        let mut look = |place, name: &str, clock_ms| {
            let mut status = status(name, None);
            (status.clock_ms, status.asked_ms) = (Some(clock_ms), Some((10_000, 10_004)));
            let line = clocks.look(place, &TrackerNews::Status(Box::new(status)));
            line.map(|line| (line.kind, line.reason))
        };
        assert_eq!(look(0, "a", 10_002), None);
        let (kind, reason) = look(1, "b", 25_206).unwrap();
        let words = "the clock of b is at least 15.2 s ahead of that of a: set them by NTP or PTP";
        assert_eq!(kind, Kind::ClocksDiffer);
        assert!(reason.starts_with(words), "{reason}");
        assert_eq!(look(1, "b", 25_210), None, "it was named");
        assert_eq!(look(1, "b", 10_003), None, "it agrees");
        assert!(look(1, "b", 25_206).is_some());
    }
}

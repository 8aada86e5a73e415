//! For how long nobody led before a leadership, as all watched nodes tell it together: for `electd watch`.

use std::collections::BTreeMap;

use electd_facts::entry::HistoryEntry;
use electd_facts::led::{Led, SeenLeadership};

use super::transition::Line;

/// How many leaderships are remembered: the nodes tell of one at about the same time.
const KEPT: usize = 16;

/// What each node told of the latest leaderships, by epoch and leader.
#[derive(Debug, Default)]
pub struct Gaps(BTreeMap<(u64, String), Vec<(String, HistoryEntry)>>);

impl Gaps {
    /// Takes what this line tells of a leadership that begins.
    pub fn note(&mut self, line: &Line) {
        let Some((node, entry)) = line.node.as_ref().zip(line.leadership.as_ref()) else { return };
        let told = self.0.entry((entry.epoch, entry.leader.clone())).or_default();
        told.retain(|(known, _)| known != node);
        told.push((node.clone(), entry.clone()));
        while self.0.len() > KEPT {
            self.0.pop_first();
        }
    }

    /// The line with the figure that `electd status` shows, if a leadership begins with it.
    pub fn settle(&self, line: Line) -> Line {
        let of_line = line.epoch.zip(line.leader.clone()).filter(|_| line.begins_leadership());
        let Some(told) = of_line.and_then(|key| self.0.get(&key)) else { return line };
        let seen: Vec<SeenLeadership<'_>> =
            told.iter().map(|(node, entry)| SeenLeadership::by(node, entry)).collect();
        let found = Led::of(&seen, None).leaderless_ms;
        // Of a cluster that starts, no node knows a leader before: but this watch saw for how long nobody led.
        let leaderless_ms = found.or(line.leaderless_ms.filter(|_| line.leadership.is_none()));
        Line { leaderless_ms, ..line }
    }
}

#[cfg(test)]
mod tests {
    use electd_facts::samples::entry;

    use super::*;
    use crate::cli::transition::Kind;

    /// That this node knows the leader b in epoch 2 after c, and noticed no leader for so long before.
    fn line(node: &str, gap_ms: u64, cause: &str) -> Line {
        let entry = HistoryEntry { leaderless_ms: gap_ms, ..entry("b", 2, 2300, None, cause) };
        Line {
            node: Some(node.to_owned()),
            leader: Some("b".to_owned()),
            epoch: Some(2),
            leaderless_ms: entry.gap_ms(),
            leadership: Some(entry),
            ..Line::of_all(Kind::Change, 2300)
        }
    }

    #[test]
    fn every_line_of_a_leadership_has_the_figure_of_the_nodes_that_saw_how_the_one_before_ended() {
        let lines = [
            line("a", 0, "announced"),
            line("b", 12, "leader_dead"),
            line("d", 10, "leader_certified"),
            line("e", 9000, "start"),
        ];
        let mut gaps = Gaps::default();
        lines.iter().for_each(|line| gaps.note(line));
        for line in lines {
            assert_eq!(gaps.settle(line).leaderless_ms, Some(10));
        }
        let known = Line::leader_known(2301, ("b".to_owned(), 2), 13, "a");
        assert_eq!(gaps.settle(known).leaderless_ms, Some(10));
        let other = Line::leader_known(2301, ("b".to_owned(), 3), 13, "a");
        assert_eq!(gaps.settle(other).leaderless_ms, Some(13), "no node told of this one yet");
        let up = Line {
            kind: Kind::MemberUp,
            leaderless_ms: None,
            leadership: None,
            ..line("a", 0, "announced")
        };
        assert_eq!(gaps.settle(up).leaderless_ms, None, "nothing ends by that");
    }

    #[test]
    fn a_node_that_missed_the_end_alone_has_no_figure() {
        let alone = line("a", 0, "announced");
        let mut gaps = Gaps::default();
        gaps.note(&alone);
        assert_eq!(gaps.settle(alone).leaderless_ms, None);
    }

    #[test]
    fn the_latest_leaderships_are_remembered() {
        let mut gaps = Gaps::default();
        for epoch in 1..=100 {
            let led = Line { leadership: Some(HistoryEntry::of_a(epoch)), ..line("a", 0, "start") };
            gaps.note(&led);
        }
        assert_eq!(gaps.0.keys().map(|(epoch, _)| *epoch).min(), Some(85));
    }
}

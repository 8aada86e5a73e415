//! That nobody leads, as all watched nodes together tell it: for `electd watch`.

use std::collections::BTreeMap;

use electd_facts::words::some_of;

use crate::node::status::LeaderlessStatus;

use super::transition::{Knows, Line};

/// What each node that answers knows of a leader.
#[derive(Debug, Default)]
pub struct Nobody {
    known: BTreeMap<String, Knows>,
    /// The causes that were reported, while nobody leads.
    reported: Option<Vec<String>>,
    /// The latest that is known of that time.
    last: Option<(u64, LeaderlessStatus)>,
}

impl Nobody {
    /// Takes the next line in order of time. `is_complete` says that something is known of every node. Returns a line
    /// when nobody leads from now on or for another cause than before, and when that is over and no other line says so.
    pub fn observe(&mut self, line: &Line, is_complete: bool) -> Option<Line> {
        if let Some((node, knows)) = line.knows() {
            self.known.insert(node.to_owned(), knows);
        }
        let answers = || self.known.values().filter(|knows| **knows != Knows::Nothing);
        let leader = answers().find_map(|knows| match knows {
            Knows::Leader(name, epoch) => Some((name.clone(), *epoch)),
            _ => None,
        });
        if let Some(leader) = leader {
            self.reported.take()?;
            let (at_ms, since) = self.last.take()?;
            let lasted = since.lasts_ms + line.at_ms().saturating_sub(at_ms);
            let by = line.knows().map(|(node, _)| node).unwrap_or_default();
            return (!line.leads()).then(|| Line::leader_known(line.at_ms(), leader, lasted, by));
        }
        let (mut causes, since, reason) = self.leaderless()?;
        self.last = Some((line.at_ms(), since.clone()));
        causes.sort();
        causes.dedup();
        if !is_complete || self.reported.as_ref() == Some(&causes) {
            return None;
        }
        self.reported = Some(causes);
        Some(Line::nobody_leads(line.at_ms(), since, reason))
    }

    /// Why no node knows a leader: the causes, the shortest time without one, as each node heard the last leader last at
    /// its end or earlier, and the words of all.
    fn leaderless(&self) -> Option<(Vec<String>, LeaderlessStatus, String)> {
        let leaderless = self.known.iter().filter_map(|(node, knows)| match knows {
            Knows::None(since) => Some((node, since)),
            _ => None,
        });
        let leaderless: Vec<(&String, &LeaderlessStatus)> = leaderless.collect();
        let causes = leaderless.iter().map(|(_, since)| since.cause.clone()).collect();
        let shortest =
            leaderless.iter().map(|(_, since)| *since).min_by_key(|since| since.lasts_ms)?;
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for (node, since) in &leaderless {
            match reasons.iter_mut().find(|(reason, _)| *reason == since.reason) {
                Some((_, nodes)) => nodes.push((*node).clone()),
                None => reasons.push((&since.reason, vec![(*node).clone()])),
            }
        }
        let each = reasons.iter().map(|(reason, nodes)| format!("{}: {reason}", some_of(nodes)));
        Some((causes, shortest.clone(), each.collect::<Vec<_>>().join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::client::ClientError;
    use crate::cli::ask::tests::status;
    use crate::cli::tracker::{Tracker, TrackerNews};
    use crate::cli::transition::Kind;

    /// What this node tells: a leader, or since when and why it knows none.
    fn line(name: &str, leader: Option<(&str, u64)>, why: (u64, &str)) -> Line {
        let mut status = status(name, leader);
        status.leaderless = leader.is_none().then(|| LeaderlessStatus {
            since: "then".to_owned(),
            lasts_ms: why.0,
            cause: why.1.to_owned(),
            reason: format!("words of {}", why.1),
        });
        Tracker::new(name, true).observe(&TrackerNews::Status(Box::new(status))).remove(0)
    }

    fn json(line: Option<Line>) -> String {
        line.map(|line| line.json()).unwrap_or_default()
    }

    #[test]
    fn it_is_told_once_for_each_cause_when_all_that_answer_know_no_leader() {
        let mut nobody = Nobody::default();
        let mut see = |line: &Line| json(nobody.observe(line, true));
        let why = (50, "leader_dead");
        assert_eq!(see(&line("c", Some(("c", 7)), why)), "");
        assert_eq!(see(&line("a", None, why)), "", "c leads, as far as it says");
        let silent = Tracker::new("c", true).observe(&TrackerNews::Silent(ClientError::NotServed));
        let text = see(&silent[0]);
        assert!(
            text.contains("\"kind\":\"nobody_leads\"") && text.contains("words of leader_dead"),
            "{text}"
        );
        assert!(text.contains("\"lasts_ms\":50"), "{text}");
        assert_eq!(see(&line("a", None, (70, "leader_dead"))), "", "it is known");
        let text = see(&line("a", None, (900, "isolated")));
        assert!(text.contains("a: words of isolated"), "{text}");
        assert_eq!(see(&line("b", None, (800, "isolated"))), "", "another node, the same cause");
        let text = see(&line("b", None, (800, "refused")));
        assert!(text.contains("a: words of isolated; b: words of refused"), "{text}");
        assert!(text.contains("\"lasts_ms\":800"), "the shortest: {text}");
        assert_eq!(see(&line("b", Some(("b", 8)), why)), "", "the line of the leader says so");
    }

    #[test]
    fn the_end_is_told_if_the_leader_itself_tells_nothing() {
        let mut nobody = Nobody::default();
        let why = (800, "isolated");
        let at = |at_ms, line| Line { at_ms, ..line };
        let nobody_yet = |at_ms| at(at_ms, line("a", None, why));
        assert_eq!(json(nobody.observe(&nobody_yet(1000), false)), "", "b is not known yet");
        assert_ne!(json(nobody.observe(&nobody_yet(2000), true)), "");
        let known = at(2500, line("a", Some(("b", 8)), why));
        let text = json(nobody.observe(&known, true));
        assert!(text.contains("\"kind\":\"leader_known\"") && text.contains("a says so"), "{text}");
        assert!(text.contains("\"leaderless_ms\":1300"), "800 ms, and 500 more: {text}");
    }

    /// Each reason once, with the nodes that give it, and the time of the node that heard the last leader last.
    #[test]
    fn the_nodes_that_give_one_reason_are_told_together() {
        let mut nobody = Nobody::default();
        for (node, lasts_ms, cause) in
            [("a", 900, "isolated"), ("b", 700, "refused"), ("c", 800, "isolated")]
        {
            assert_eq!(
                nobody.observe(&line(node, None, (lasts_ms, cause)), false),
                None,
                "not all are known yet"
            );
        }
        let told = nobody.observe(&line("c", None, (800, "isolated")), true).unwrap();
        let since = LeaderlessStatus {
            since: "then".to_owned(),
            lasts_ms: 700,
            cause: "refused".to_owned(),
            reason: "words of refused".to_owned(),
        };
        let reason = "a, c: words of isolated; b: words of refused".to_owned();
        assert_eq!(
            told,
            Line { time: told.time.clone(), ..Line::nobody_leads(told.at_ms, since, reason) }
        );
        for (node, cause, is_new) in [
            ("a", "refused", false),
            ("b", "isolated", false), // the causes are the same, of other nodes
            ("a", "isolated", true),
        ] {
            let told = nobody.observe(&line(node, None, (10, cause)), true);
            assert_eq!(told.is_some(), is_new, "{node} {cause}");
        }
    }

    #[test]
    fn that_nobody_leads_is_told_anew_after_a_leader() {
        let mut nobody = Nobody::default();
        let why = (50, "isolated");
        let silent =
            Tracker::new("a", true).observe(&TrackerNews::Silent(ClientError::NotServed)).remove(0);
        assert_eq!(nobody.observe(&silent, true), None, "nobody answers, so nobody says that");
        let mut kinds =
            |leader| nobody.observe(&line("a", leader, why), true).map(|line| line.kind);
        assert_eq!(kinds(None), Some(Kind::NobodyLeads));
        assert_eq!(kinds(Some(("b", 8))), Some(Kind::LeaderKnown));
        assert_eq!(kinds(Some(("b", 8))), None, "once");
        assert_eq!(kinds(None), Some(Kind::NobodyLeads));
    }
}

//! The story of a demo: a line for each change of the leader, with how long nobody led.

use std::time::{Duration, Instant};

use crate::cli::ask::{Asked, leads, newest_leader};
use crate::cli::judge::judge;
use crate::node::status::Status;
use crate::trace::length;

/// How long nobody leads before that is worth a line: most failovers take less.
const LONG: Duration = Duration::from_secs(1);

/// The last leader that was told of.
#[derive(Default)]
pub struct Story {
    leader: Option<(String, u64)>,
    /// Since when no node names a leader, and whether that was told.
    leaderless: Option<(Instant, bool)>,
}

impl Story {
    /// What there is to say now that these are the answers of the nodes.
    pub fn observe(&mut self, asked: &[Asked], now: Instant) -> Option<String> {
        let statuses = || asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
        let newest = statuses().filter(|status| leads(status)).max_by_key(|status| status.epoch);
        if let Some(leader) = newest {
            self.leaderless = None;
            let found = (leader.node.name.clone(), leader.epoch);
            // A leader that does not know yet that it was replaced has a smaller epoch.
            let is_new = self.leader.as_ref().is_none_or(|(_, epoch)| *epoch < found.1);
            return is_new.then(|| {
                self.leader = Some(found);
                beginning(leader, statuses())
            });
        }
        if self.leader.is_none() || newest_leader(asked).is_some() {
            self.leaderless = None;
            return None;
        }
        let (since, is_said) = self.leaderless.get_or_insert((now, false));
        if *is_said || now.duration_since(*since) < LONG {
            return None;
        }
        *is_said = true;
        let reasons = judge(asked).reasons;
        let why =
            if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        Some(format!("nobody leads{why}"))
    }
}

/// That this node leads now, and what a node that saw the end of the leadership before tells of that.
fn beginning<'s>(leader: &Status, all: impl Iterator<Item = &'s Status>) -> String {
    let (name, epoch) = (&leader.node.name, leader.epoch);
    let known = all.filter_map(|status| Some((status, status.last_leadership.as_ref()?)));
    let of_it = known.filter(|(_, led)| (led.epoch, &led.leader) == (epoch, name));
    // A node that started meanwhile did not see it; the new leader itself knows best.
    let best = of_it.max_by_key(|(status, led)| (led.cause != "start", leads(status)));
    match best.filter(|(_, led)| led.cause != "start" && led.before.is_some()) {
        Some((_, led)) => format!(
            "{name} leads in epoch {epoch}; nobody led for {}; {}",
            length(Duration::from_millis(led.leaderless_ms)),
            led.reason
        ),
        None => format!("{name} leads in epoch {epoch}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent, status};
    use crate::node::history::Entry;

    /// This node leads in this epoch, and tells how the leadership of c before it ended.
    fn leading(name: &str, epoch: u64, cause: &str) -> Asked {
        let mut status = status(name, Some((name, epoch)));
        status.state = "leading".to_owned();
        status.last_leadership = Some(Entry {
            leader: name.to_owned(),
            epoch,
            before: (cause != "start").then(|| "c".to_owned()),
            cause: cause.to_owned(),
            reason: "lost the connection to leader c".to_owned(),
            leaderless_ms: 355,
            ..serde_json::from_str(ENTRY).unwrap()
        });
        Asked { answer: Ok(status), ..silent(name) }
    }

    const ENTRY: &str = r#"{"leader": "", "epoch": 0, "since_ms": 1, "until_ms": null, "lasts": true, "before": null,
        "cause": "", "reason": "", "leaderless_ms": 0}"#;

    #[test]
    fn each_leader_is_told_once_with_how_long_nobody_led() {
        let (mut story, now) = (Story::default(), Instant::now());
        let first =
            [following("a", None), following("b", Some(("c", 1))), leading("c", 1, "start")];
        assert_eq!(story.observe(&first, now).unwrap(), "c leads in epoch 1");
        assert_eq!(story.observe(&first, now), None);
        let next = [following("a", Some(("b", 2))), leading("b", 2, "leader_dead"), silent("c")];
        let words = "b leads in epoch 2; nobody led for 355 ms; lost the connection to leader c";
        assert_eq!(story.observe(&next, now).unwrap(), words);
        let old = [following("a", Some(("b", 2))), silent("b"), leading("c", 1, "start")];
        assert_eq!(story.observe(&old, now), None, "c does not know yet that b replaced it");
    }

    #[test]
    fn that_nobody_leads_is_told_when_it_lasts() {
        let (mut story, now) = (Story::default(), Instant::now());
        let nobody = [following("a", None), silent("b")];
        assert_eq!(story.observe(&nobody, now + LONG), None, "nobody has led yet");
        story.observe(&[leading("b", 1, "start")], now);
        assert_eq!(story.observe(&nobody, now), None);
        assert_eq!(story.observe(&nobody, now + LONG).unwrap(), "nobody leads");
        assert_eq!(story.observe(&nobody, now + LONG * 2), None);
    }

    #[test]
    fn a_node_that_started_meanwhile_tells_nothing_of_the_time_before() {
        let (mut story, now) = (Story::default(), Instant::now());
        let of_a = |name: &str, cause: &str| {
            let mut asked = leading("a", 3, cause);
            let status = asked.answer.as_mut().unwrap();
            if name != "a" {
                (status.node.name, status.state) = (name.to_owned(), "following".to_owned());
            }
            asked
        };
        let asked = [of_a("a", "start"), of_a("b", "leader_dead"), of_a("d", "start")];
        let words = "a leads in epoch 3; nobody led for 355 ms; lost the connection to leader c";
        assert_eq!(story.observe(&asked, now).unwrap(), words);
    }
}

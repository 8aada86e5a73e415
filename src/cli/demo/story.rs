//! The story of a demo: a line for each change of the leader, with how long nobody led.

use std::time::{Duration, Instant};

use electd_facts::hint::ClusterFlags;
use electd_facts::led::Led;

use crate::cli::ask::{AskedNode, answers, judged, newest_leader};
use crate::node::status::Status;
use crate::trace::length;

/// How long nobody leads before that is worth a line: most failovers take less.
const LONG: Duration = Duration::from_secs(1);

/// For how long the line of a new leader waits for what the others know of it.
const OTHERS: Duration = Duration::from_millis(500);

/// The last leader that was told of.
#[derive(Default)]
pub struct Story {
    leader: Option<(String, u64)>,
    /// Since when that one has been known, as long as there is no line for it yet.
    untold: Option<Instant>,
    /// Since when no node names a leader, and whether that was told.
    leaderless: Option<(Instant, bool)>,
}

impl Story {
    /// What there is to say now that these are the answers of the nodes.
    pub fn observe(&mut self, asked: &[AskedNode], now: Instant) -> Option<String> {
        let statuses = || answers(asked);
        let newest = statuses().filter(|status| status.leads()).max_by_key(|status| status.epoch);
        if let Some(leader) = newest {
            self.leaderless = None;
            let found = (leader.node.name.clone(), leader.epoch);
            // A leader that does not know yet that it was replaced has a smaller epoch.
            if self.leader.as_ref().is_none_or(|(_, epoch)| *epoch < found.1) {
                let missed = self.begun(&statuses);
                (self.leader, self.untold) = (Some(found), Some(now));
                if missed.is_some() {
                    return missed;
                }
            }
        }
        if let (Some((_, epoch)), Some(since)) = (&self.leader, self.untold) {
            let is_late = |status: &Status| {
                status.last_leadership.as_ref().is_some_and(|led| led.epoch < *epoch)
            };
            let is_complete = !statuses().any(is_late) || now.duration_since(since) >= OTHERS;
            return if is_complete { self.begun(&statuses) } else { None };
        }
        if newest.is_some() {
            return None;
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
        let reasons = judged(asked, &ClusterFlags::default()).reasons;
        let why =
            if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        Some(format!("nobody leads{why}"))
    }

    /// The line for the leader that there is none for yet.
    fn begun<'s, I: Iterator<Item = &'s Status>>(
        &mut self,
        all: &impl Fn() -> I,
    ) -> Option<String> {
        self.untold.take()?;
        self.leader.as_ref().map(|(name, epoch)| beginning(name, *epoch, all()))
    }
}

/// That this node leads now, and what all nodes together know of the time before, as `electd status` says it.
fn beginning<'s>(name: &str, epoch: u64, all: impl Iterator<Item = &'s Status>) -> String {
    let line = format!("{name} leads in epoch {epoch}");
    match Led::known(all, name, epoch) {
        Some(Led { leaderless_ms: Some(gap), reason, .. }) => {
            format!("{line}; nobody led for {}; {reason}", length(Duration::from_millis(gap)))
        }
        Some(Led { before: Some(_), reason, .. }) => format!("{line}; {reason}"),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent, status};
    use crate::node::history::HistoryEntry;
    use crate::node::status::LeaderlessStatus;

    /// This node leads in this epoch, and tells how the leadership of c before it ended.
    fn leading(name: &str, epoch: u64, cause: &str) -> AskedNode {
        let mut status = status(name, Some((name, epoch)));
        status.state = "leading".to_owned();
        status.last_leadership = Some(HistoryEntry {
            leader: name.to_owned(),
            epoch,
            before: (cause != "start").then(|| "c".to_owned()),
            cause: cause.to_owned(),
            reason: "lost the connection to leader c".to_owned(),
            leaderless_ms: 355,
            ..serde_json::from_str(ENTRY).unwrap()
        });
        AskedNode { answer: Ok(status), ..silent(name) }
    }

    /// This node follows that leader, and missed how the leadership of c before it ended.
    fn announced(name: &str, leader: &str, epoch: u64) -> AskedNode {
        let mut asked = leading(leader, epoch, "announced");
        let status = asked.answer.as_mut().unwrap();
        (status.node.name, status.state) = (name.to_owned(), "following".to_owned());
        status.last_leadership.as_mut().unwrap().leaderless_ms = 0;
        asked
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
        let next = [announced("a", "b", 2), leading("b", 2, "leader_dead"), silent("c")];
        let words = "b leads in epoch 2; nobody led for 355 ms; lost the connection to leader c";
        assert_eq!(story.observe(&next, now).unwrap(), words);
        let old = [following("a", Some(("b", 2))), silent("b"), leading("c", 1, "start")];
        assert_eq!(story.observe(&old, now), None, "c does not know yet that b replaced it");
        let both = [leading("b", 2, "start"), leading("a", 3, "start"), leading("c", 1, "start")];
        assert_eq!(story.observe(&both, now), None, "the others have not heard of it");
        assert_eq!(story.observe(&both, now + OTHERS).unwrap(), "a leads in epoch 3");
        // What others tell of another leadership is not about this one.
        let mut other = leading("b", 4, "leader_dead");
        other.answer.as_mut().unwrap().state = "following".to_owned();
        let asked = [leading("a", 4, "start"), other];
        assert_eq!(story.observe(&asked, now).unwrap(), "a leads in epoch 4");
        let mut first = leading("a", 5, "leader_dead");
        first.answer.as_mut().unwrap().last_leadership.as_mut().unwrap().before = None;
        assert_eq!(story.observe(&[first], now).unwrap(), "a leads in epoch 5");
    }

    #[test]
    fn the_line_of_a_leader_waits_until_the_others_know_it() {
        let (mut story, now) = (Story::default(), Instant::now());
        let late = [leading("b", 2, "leader_dead"), announced("a", "c", 1)];
        assert_eq!(story.observe(&late, now), None, "a may have seen a shorter time");
        let known = [leading("b", 2, "leader_dead"), announced("a", "b", 2)];
        let told = story.observe(&known, now).unwrap();
        assert!(told.starts_with("b leads in epoch 2; nobody led for 355 ms"), "{told}");
        // The next one leads before all have heard of this one: both have a line.
        let missed = [leading("b", 3, "leader_dead"), announced("a", "b", 2)];
        assert_eq!(story.observe(&missed, now), None);
        let next = [silent("b"), leading("a", 4, "leader_dead")];
        assert_eq!(story.observe(&next, now).unwrap(), "b leads in epoch 3");
        let told = story.observe(&next, now).unwrap();
        assert!(told.starts_with("a leads in epoch 4; nobody led for 355 ms"), "{told}");
    }

    /// It missed the end, and no other node answers.
    #[test]
    fn a_leader_that_missed_the_end_tells_no_time_without_a_leader() {
        let mut alone = leading("b", 2, "announced");
        let led = alone.answer.as_mut().unwrap().last_leadership.as_mut().unwrap();
        led.leaderless_ms = 0;
        let told = Story::default().observe(&[alone], Instant::now());
        assert_eq!(told.as_deref(), Some("b leads in epoch 2; lost the connection to leader c"));
    }

    /// The figure is that of `electd status`, whichever node answers first.
    #[test]
    fn nobody_led_for_the_time_that_the_node_saw_which_knew_the_leader_longest() {
        let pair = || {
            let mut cut_off = leading("b", 2, "leader_suspected");
            let led = cut_off.answer.as_mut().unwrap().last_leadership.as_mut().unwrap();
            led.leaderless_ms = 6147;
            let mut follower = leading("b", 2, "leader_certified");
            let status = follower.answer.as_mut().unwrap();
            (status.node.name, status.state) = ("a".to_owned(), "following".to_owned());
            [cut_off, follower]
        };
        let words = "b leads in epoch 2; nobody led for 355 ms; lost the connection to leader c";
        let [one, other] = pair();
        for asked in [pair(), [other, one]] {
            let told = Story::default().observe(&asked, Instant::now());
            assert_eq!(told.as_deref(), Some(words));
        }
    }

    #[test]
    fn that_nobody_leads_is_told_when_it_lasts() {
        let (mut story, now) = (Story::default(), Instant::now());
        let nobody = [following("a", None), silent("b")];
        assert_eq!(story.observe(&nobody, now + LONG), None, "nobody has led yet");
        story.observe(&[leading("b", 1, "start")], now);
        assert_eq!(story.observe(&nobody, now), None);
        let second = Duration::from_secs(1);
        assert_eq!(story.observe(&nobody, now + second - Duration::from_nanos(1)), None);
        assert_eq!(story.observe(&nobody, now + second).unwrap(), "nobody leads");
        assert_eq!(story.observe(&nobody, now + second * 2), None);
        let mut why = [following("a", None), following("d", None)];
        for (asked, reason) in why.iter_mut().zip(["c is silent", "it has not met c"]) {
            let reason = reason.to_owned();
            let leaderless = LeaderlessStatus { reason, ..LeaderlessStatus::default() };
            asked.answer.as_mut().unwrap().leaderless = Some(leaderless);
        }
        // Somebody follows a leader, or one leads again: then the time begins anew.
        for known in [following("a", Some(("b", 1))), leading("b", 1, "start")] {
            assert_eq!(story.observe(&[known], now + second * 3), None);
            assert_eq!(story.observe(&why, now + second * 4), None, "it begins now");
            let words = "nobody leads: a: c is silent; d: it has not met c";
            assert_eq!(story.observe(&why, now + second * 5).unwrap(), words);
        }
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
        // Of all that saw it, the leader itself knows best.
        let mut asked = ["b", "a", "d"].map(|name| of_a(name, "leader_dead"));
        for asked in &mut asked {
            let status = asked.answer.as_mut().unwrap();
            let led = status.last_leadership.as_mut().unwrap();
            (status.epoch, led.epoch) = (4, 4);
            led.reason = format!("{} saw it", status.node.name);
        }
        let words = "a leads in epoch 4; nobody led for 355 ms; a saw it";
        assert_eq!(story.observe(&asked, now).unwrap(), words);
    }
}

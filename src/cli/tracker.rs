//! From the news of a node to the lines of `electd watch`.

use crate::admin::client::ClientError;
use crate::node::events::{Event, EventKind};
use crate::node::moment;
use crate::node::status::Status;

use super::transition::{Kind, Line, now};

/// News of one node.
pub enum TrackerNews {
    /// Its status, before its events.
    Status(Box<Status>),
    /// Something happened there.
    Event(Box<Event>),
    /// It does not answer.
    Silent(ClientError),
}

/// The last news of one node.
pub struct Tracker {
    name: String,
    /// Whether it can be asked.
    asked: bool,
    /// The incarnation of the last news.
    start: Option<u64>,
    silent: bool,
}

impl Tracker {
    /// A tracker of a node without news yet.
    pub fn new(name: &str, asked: bool) -> Tracker {
        Tracker { name: name.to_owned(), asked, start: None, silent: false }
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the node has answered, or it is known that it does not.
    pub fn is_known(&self) -> bool {
        self.start.is_some() || self.silent
    }

    /// The line before any answer.
    pub fn introduce(&mut self) -> Option<Line> {
        (!self.asked).then(|| self.silence(&ClientError::NotServed))
    }

    /// The lines for the news, if they deserve any.
    pub fn observe(&mut self, news: &TrackerNews) -> Vec<Line> {
        match news {
            TrackerNews::Status(status) => self.status(status),
            TrackerNews::Event(event) => vec![self.event(event)],
            TrackerNews::Silent(_) if self.silent => Vec::new(),
            TrackerNews::Silent(error) => vec![self.silence(error)],
        }
    }

    fn silence(&mut self, error: &ClientError) -> Line {
        self.silent = true;
        let node = Some(self.name.clone());
        Line { node, reason: error.to_string(), ..Line::of_all(Kind::Silent, now()) }
    }

    /// A node gets a line when it answers for the first time, and when it answers again; and another if it is to take over.
    fn status(&mut self, status: &Status) -> Vec<Line> {
        let before = self.start.replace(status.incarnation);
        self.name.clone_from(&status.node.name);
        let was_silent = std::mem::take(&mut self.silent);
        let line = |kind| self.state(kind, status);
        let back = |reason: &str| Line { reason: reason.to_owned(), ..line(Kind::Back) };
        let first = match before {
            None => line(Kind::Now),
            Some(start) if start != status.incarnation => back("restarted"),
            Some(_) if was_silent => back("answers again"),
            Some(_) => return Vec::new(),
        };
        let takeover = status.takeover.as_ref().map(|takeover| Line {
            member: Some(takeover.from.clone()),
            reason: takeover.words(),
            ..line(Kind::Takeover)
        });
        [first].into_iter().chain(takeover).collect()
    }

    /// The state that the node is in, and the reason of its last change.
    fn state(&self, kind: Kind, status: &Status) -> Line {
        Line {
            node: Some(self.name.clone()),
            to: Some(status.state.clone()),
            halting: status.halting.as_ref().map(|halting| halting.status.clone()),
            leader: status.named_leader().map(|leader| leader.name.clone()),
            epoch: Some(status.epoch),
            leaderless: status.leaderless.clone(),
            reason: status.changes.last().map(|change| change.reason.clone()).unwrap_or_default(),
            ..Line::of_all(kind, now())
        }
    }

    fn event(&self, event: &Event) -> Line {
        let kind = match event.event {
            EventKind::MemberUp => Kind::MemberUp,
            EventKind::MemberDown => Kind::MemberDown,
            EventKind::Problem => Kind::Problem,
            EventKind::ProblemOver => Kind::ProblemOver,
            EventKind::Takeover => Kind::Takeover,
            _ => Kind::Change,
        };
        Line {
            kind,
            at_ms: event.at_ms,
            time: moment(event.at_ms),
            node: Some(self.name.clone()),
            from: event.from.clone(),
            to: Some(event.state.clone()),
            halting: event.halting.clone(),
            leader: event.leader.clone(),
            epoch: Some(event.epoch),
            member: event.member.clone(),
            leaderless: event.leaderless.clone(),
            leaderless_ms: event.leaderless_ms,
            leadership: event.leadership.clone(),
            reason: event.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::status;
    use crate::node::history::HistoryEntry;
    use crate::node::status::{HaltingStatus, LeaderlessStatus, TakeoverStatus};

    fn answered(start: u64) -> TrackerNews {
        let mut status = status("node-1", Some(("node-5", 7)));
        status.incarnation = start;
        TrackerNews::Status(Box::new(status))
    }

    fn happened(event: EventKind, from: Option<&str>) -> TrackerNews {
        let document = serde_json::json!({
            "id": "1-4", "at_ms": 1_700_000_000_123_u64, "event": event, "node": "node-1", "from": from,
            "state": "electing", "halting": null, "leader": null, "epoch": 7, "member": null,
            "reason": "why",
        });
        TrackerNews::Event(Box::new(serde_json::from_value(document).unwrap()))
    }

    fn reasons(lines: Vec<Line>) -> Vec<(Kind, String)> {
        lines.into_iter().map(|line| (line.kind, line.reason)).collect()
    }

    #[test]
    fn an_event_has_its_line() {
        let mut tracker = Tracker::new("node-1", true);
        let change = tracker.observe(&happened(EventKind::NoLeader, Some("following"))).remove(0);
        assert_eq!(change.at_ms, 1_700_000_000_123, "it is put in order by when it happened");
        assert_eq!(
            change.text(6),
            "2023-11-14T22:13:20.123Z  node-1  following -> electing   leader -       epoch 7     why"
        );
        let problem = tracker.observe(&happened(EventKind::Problem, None)).remove(0);
        assert!(
            problem.text(6).contains("  problem                 leader -  "),
            "{}",
            problem.text(6)
        );
        for (event, word) in [
            (EventKind::MemberUp, "member up"),
            (EventKind::MemberDown, "member down"),
            (EventKind::ProblemOver, "problem over"),
            (EventKind::Leading, "electing"),
        ] {
            let line = tracker.observe(&happened(event, None)).remove(0).text(6);
            assert!(line.contains(&format!("  node-1  {word}  ")), "{line}");
        }
    }

    #[test]
    fn silence_is_told_once_and_so_is_its_end() {
        let mut tracker = Tracker::new("node-1", true);
        assert_eq!(tracker.observe(&answered(1))[0].kind, Kind::Now);
        assert_eq!(tracker.observe(&answered(1)), []);
        let silence = || TrackerNews::Silent(ClientError::NotServed);
        assert_eq!(tracker.observe(&silence())[0].kind, Kind::Silent);
        assert_eq!(tracker.observe(&silence()), []);
        let back = |why: &str| vec![(Kind::Back, why.to_owned())];
        assert_eq!(reasons(tracker.observe(&answered(1))), back("answers again"));
        assert_eq!(tracker.observe(&answered(1)), [], "it was told");
        assert_eq!(tracker.observe(&silence())[0].kind, Kind::Silent, "it is silent again");
        assert_eq!(reasons(tracker.observe(&answered(2))), back("restarted"));
    }

    #[test]
    fn a_takeover_to_come_is_shown_with_the_state_and_when_it_begins() {
        let mut status = status("node-1", Some(("node-5", 7)));
        let (from, why) = ("node-5".to_owned(), "preempt after 1h".to_owned());
        status.takeover = Some(TakeoverStatus { from, at: Some("then".to_owned()), why });
        let change = |reason: &str| {
            let change = serde_json::json!({
                "number": 1, "at_ms": 1, "from": "electing", "to": "following", "epoch": 7, "reason": reason,
            });
            serde_json::from_value(change).unwrap()
        };
        status.changes = vec![change("an earlier reason"), change("the last reason")];
        let mut tracker = Tracker::new("node-1", true);
        let lines = tracker.observe(&TrackerNews::Status(Box::new(status)));
        assert_eq!((lines[0].kind, lines[0].reason.as_str()), (Kind::Now, "the last reason"));
        let words = "is to take over from node-5 at then: preempt after 1h";
        assert_eq!((lines[1].kind, lines[1].reason.as_str()), (Kind::Takeover, words));
        let line = &tracker.observe(&happened(EventKind::Takeover, None))[0];
        assert!(line.is_about_leadership() && line.text(6).contains("  takeover to come  "));
    }

    #[test]
    fn only_lines_of_a_leader_are_about_leadership() {
        let line = |kind: Kind, to: &str, from: Option<&str>| {
            let mut line = Tracker::new("node-1", true).silence(&ClientError::NotServed);
            (line.from, line.to) = (from.map(str::to_owned), Some(to.to_owned()));
            line.kind = kind;
            line.is_about_leadership()
        };
        let change = |to: &str, from: &str| line(Kind::Change, to, Some(from));
        assert!(change("leading", "electing") && change("starting", "leading"));
        assert!(!change("following", "electing") && !change("electing", "following"));
        for found in [Kind::Now, Kind::Back] {
            assert!(line(found, "leading", None) && !line(found, "following", None), "{found:?}");
        }
    }

    #[test]
    fn a_line_for_programs_is_one_document() {
        let mut tracker = Tracker::new("node-1", false);
        let line = tracker.introduce().unwrap();
        let document: serde_json::Value = serde_json::from_str(&line.json()).unwrap();
        assert_eq!(document["kind"], "silent");
        assert!(!line.json().contains('\n'));
    }

    #[test]
    fn a_node_is_known_once_it_answers_or_is_silent() {
        let mut answering = Tracker::new("node-1", true);
        assert!(!answering.is_known());
        answering.observe(&answered(1));
        assert!(answering.is_known());
        let mut silent = Tracker::new("node-1", true);
        silent.observe(&TrackerNews::Silent(ClientError::NotServed));
        assert!(silent.is_known());
    }

    /// A line without its time, which is now.
    fn timeless(line: Line) -> Line {
        Line { at_ms: 0, time: String::new(), ..line }
    }

    #[test]
    fn a_status_and_an_event_are_told_with_all_that_they_say() {
        let [text, leader] = ["text", "node-5"].map(|text| Some(text.to_owned()));
        let since = LeaderlessStatus {
            lasts_ms: 5,
            reason: "isolated".to_owned(),
            ..LeaderlessStatus::default()
        };
        let mut found = status("node-1", Some(("node-5", 7)));
        let halting = HaltingStatus { status: "normal".to_owned(), halter: None, task_bytes: 0 };
        (found.halting, found.leaderless) = (Some(halting), Some(since.clone()));
        let mut tracker = Tracker::new("127.0.0.1:1", true);
        let told = tracker.observe(&TrackerNews::Status(Box::new(found.clone()))).remove(0);
        let expected = Line {
            node: Some("node-1".to_owned()),
            to: Some("following".to_owned()),
            halting: Some("normal".to_owned()),
            leader: leader.clone(),
            epoch: Some(7),
            leaderless: Some(since.clone()),
            ..timeless(Line::of_all(Kind::Now, 0))
        };
        assert_eq!(timeless(told.clone()), expected);
        assert!(
            told.at_ms.abs_diff(now()) < 600_000 && told.time == moment(told.at_ms),
            "{told:?}"
        );
        assert_eq!(tracker.name(), "node-1", "as it calls itself");
        found.stalled = true;
        let stalled =
            Tracker::new("a", true).observe(&TrackerNews::Status(Box::new(found))).remove(0);
        assert_eq!(stalled.leader, None, "it may have been replaced");

        let TrackerNews::Event(mut event) = happened(EventKind::MemberDown, Some("starting"))
        else {
            panic!("it is one")
        };
        (event.leader, event.halting) = (leader.clone(), text.clone());
        (event.member, event.leaderless, event.leaderless_ms) =
            (Some("node-3".to_owned()), Some(since.clone()), Some(12));
        event.leadership = Some(HistoryEntry::of_a(7));
        let expected = Line {
            kind: Kind::MemberDown,
            at_ms: 1_700_000_000_123,
            time: "2023-11-14T22:13:20.123Z".to_owned(),
            node: Some("node-1".to_owned()),
            from: Some("starting".to_owned()),
            to: Some("electing".to_owned()),
            halting: text,
            leader,
            epoch: Some(7),
            member: Some("node-3".to_owned()),
            leaderless: Some(since),
            leaderless_ms: Some(12),
            leadership: Some(HistoryEntry::of_a(7)),
            reason: "why".to_owned(),
        };
        assert_eq!(tracker.observe(&TrackerNews::Event(event)), [expected]);
        for kind in [
            EventKind::Leading,
            EventKind::Following,
            EventKind::NoLeader,
            EventKind::Removed,
            EventKind::Stopping,
        ] {
            assert_eq!(tracker.observe(&happened(kind, None))[0].kind, Kind::Change, "{kind:?}");
        }
    }

    #[test]
    fn a_takeover_is_told_of_the_member_that_is_taken_over_from_and_silence_with_its_reason() {
        let mut found = status("node-1", Some(("node-5", 7)));
        let (from, why) = ("node-5".to_owned(), "so".to_owned());
        found.takeover = Some(TakeoverStatus { from, at: None, why });
        let lines = Tracker::new("node-1", true).observe(&TrackerNews::Status(Box::new(found)));
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (lines[1].member.as_deref(), lines[1].to.as_deref()),
            (Some("node-5"), Some("following"))
        );
        let mut unasked = Tracker::new("node-2", false);
        let silent = unasked.introduce().unwrap();
        assert_eq!(
            (silent.node.as_deref(), silent.reason),
            (Some("node-2"), ClientError::NotServed.to_string())
        );
        assert!(unasked.is_known() && Tracker::new("node-1", true).introduce().is_none());
    }
}

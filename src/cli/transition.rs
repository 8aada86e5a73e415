//! The lines of `electd watch`: from the news of a node to lines for people and programs.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::admin::client::ClientError;
use crate::node::events::{Event, EventKind};
use crate::node::moment;
use crate::node::status::Status;

use super::ask::leader_of;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The state that a node was found in.
    Now,
    /// A change of state.
    Change,
    /// A node does not answer.
    Silent,
    /// A node answers again.
    Back,
    /// A member answers.
    MemberUp,
    /// A member does not answer any more.
    MemberDown,
    /// A problem began.
    Problem,
    /// A problem is over.
    ProblemOver,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    kind: Kind,
    /// For the order of lines; readers get `time`.
    #[serde(skip)]
    at_ms: u64,
    time: String,
    node: String,
    from: Option<String>,
    to: Option<String>,
    /// The word of the halting algorithm for `to`.
    halting: Option<String>,
    leader: Option<String>,
    epoch: Option<u64>,
    /// The member that it is about, if that is another one.
    member: Option<String>,
    reason: String,
}

impl Line {
    /// For people, with names of this width.
    pub fn text(&self, width: usize) -> String {
        let Line { time, node, reason, .. } = self;
        let mut states = match (self.kind, &self.from, &self.to) {
            (Kind::MemberUp, ..) => "member up".to_owned(),
            (Kind::MemberDown, ..) => "member down".to_owned(),
            (Kind::Problem, ..) => "problem".to_owned(),
            (Kind::ProblemOver, ..) => "problem over".to_owned(),
            (_, Some(from), Some(to)) => format!("{from} -> {to}"),
            (_, None, Some(to)) => to.clone(),
            _ => "silent".to_owned(),
        };
        if let (Some(word), Kind::Now | Kind::Back | Kind::Change) = (&self.halting, self.kind) {
            states = format!("{states}, {word}");
        }
        let leader = self.leader.as_deref().unwrap_or("-");
        let epoch = self.epoch.map_or("-".to_owned(), |epoch| epoch.to_string());
        let line = format!(
            "{time}  {node:width$}  {states:<22}  leader {leader:width$}  epoch {epoch:<4}  {reason}"
        );
        line.trim_end().to_owned()
    }

    /// When it happened, in milliseconds since the Unix epoch.
    pub fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// Whether it says that the node leads, or does not any more.
    pub fn is_about_leadership(&self) -> bool {
        let leads = |state: &Option<String>| state.as_deref() == Some("leading");
        match self.kind {
            Kind::Now | Kind::Back => leads(&self.to),
            Kind::Change => leads(&self.from) || leads(&self.to),
            _ => false,
        }
    }

    /// For programs.
    pub fn json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// News of one node.
pub enum News {
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

    /// The line before any answer.
    pub fn introduce(&mut self) -> Option<Line> {
        (!self.asked).then(|| self.silence(&ClientError::NotServed))
    }

    /// The line for the news, if it deserves one.
    pub fn observe(&mut self, news: &News) -> Option<Line> {
        match news {
            News::Status(status) => self.status(status),
            News::Event(event) => Some(self.event(event)),
            News::Silent(_) if self.silent => None,
            News::Silent(error) => Some(self.silence(error)),
        }
    }

    fn silence(&mut self, error: &ClientError) -> Line {
        self.silent = true;
        Line {
            kind: Kind::Silent,
            at_ms: now(),
            time: moment(now()),
            node: self.name.clone(),
            from: None,
            to: None,
            halting: None,
            leader: None,
            epoch: None,
            member: None,
            reason: error.to_string(),
        }
    }

    /// A node gets a line when it answers for the first time, and when it answers again.
    fn status(&mut self, status: &Status) -> Option<Line> {
        let before = self.start.replace(status.incarnation);
        self.name.clone_from(&status.node.name);
        let was_silent = std::mem::take(&mut self.silent);
        let line = |kind| self.state(kind, status);
        match before {
            None => Some(line(Kind::Now)),
            Some(start) if start != status.incarnation => {
                Some(Line { reason: "restarted".to_owned(), ..line(Kind::Back) })
            }
            Some(_) if was_silent => {
                Some(Line { reason: "answers again".to_owned(), ..line(Kind::Back) })
            }
            Some(_) => None,
        }
    }

    /// The state that the node is in, and the reason of its last change.
    fn state(&self, kind: Kind, status: &Status) -> Line {
        Line {
            kind,
            at_ms: now(),
            time: moment(now()),
            node: self.name.clone(),
            from: None,
            to: Some(status.state.clone()),
            halting: status.halting.as_ref().map(|halting| halting.status.clone()),
            leader: leader_of(status).map(|leader| leader.name.clone()),
            epoch: Some(status.epoch),
            member: None,
            reason: status.changes.last().map(|change| change.reason.clone()).unwrap_or_default(),
        }
    }

    fn event(&self, event: &Event) -> Line {
        let kind = match event.event {
            EventKind::MemberUp => Kind::MemberUp,
            EventKind::MemberDown => Kind::MemberDown,
            EventKind::Problem => Kind::Problem,
            EventKind::ProblemOver => Kind::ProblemOver,
            _ => Kind::Change,
        };
        Line {
            kind,
            at_ms: event.at_ms,
            time: moment(event.at_ms),
            node: self.name.clone(),
            from: event.from.clone(),
            to: Some(event.state.clone()),
            halting: event.halting.clone(),
            leader: event.leader.clone(),
            epoch: Some(event.epoch),
            member: event.member.clone(),
            reason: event.reason.clone(),
        }
    }
}

/// Now, in milliseconds since the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::status;

    fn answered(start: u64) -> News {
        let mut status = status("node-1", Some(("node-5", 7)));
        status.incarnation = start;
        News::Status(Box::new(status))
    }

    fn happened(event: EventKind, from: Option<&str>) -> News {
        let document = serde_json::json!({
            "id": "1-4", "at_ms": 1_700_000_000_123_u64, "event": event, "node": "node-1", "from": from,
            "state": "electing", "halting": null, "leader": null, "epoch": 7, "member": null,
            "reason": "why",
        });
        News::Event(Box::new(serde_json::from_value(document).unwrap()))
    }

    fn told(line: Option<Line>) -> Option<(Kind, String)> {
        line.map(|line| (line.kind, line.reason))
    }

    #[test]
    fn an_event_has_its_line() {
        let mut tracker = Tracker::new("node-1", true);
        let change = tracker.observe(&happened(EventKind::NoLeader, Some("following"))).unwrap();
        assert_eq!(
            change.text(6),
            "2023-11-14T22:13:20.123Z  node-1  following -> electing   leader -       epoch 7     why"
        );
        let problem = tracker.observe(&happened(EventKind::Problem, None)).unwrap();
        assert!(
            problem.text(6).contains("  problem                 leader -  "),
            "{}",
            problem.text(6)
        );
    }

    #[test]
    fn silence_is_told_once_and_so_is_its_end() {
        let mut tracker = Tracker::new("node-1", true);
        assert_eq!(tracker.observe(&answered(1)).unwrap().kind, Kind::Now);
        assert_eq!(tracker.observe(&answered(1)), None);
        let silence = || News::Silent(ClientError::NotServed);
        assert_eq!(tracker.observe(&silence()).unwrap().kind, Kind::Silent);
        assert_eq!(tracker.observe(&silence()), None);
        let back = |why: &str| Some((Kind::Back, why.to_owned()));
        assert_eq!(told(tracker.observe(&answered(1))), back("answers again"));
        assert_eq!(told(tracker.observe(&answered(2))), back("restarted"));
    }

    #[test]
    fn only_lines_of_a_leader_are_about_leadership() {
        let line = |to: &str, from: Option<&str>| {
            let mut line = Tracker::new("node-1", true).silence(&ClientError::NotServed);
            (line.from, line.to) = (from.map(str::to_owned), Some(to.to_owned()));
            line.kind = Kind::Change;
            line.is_about_leadership()
        };
        assert!(line("leading", Some("electing")) && line("starting", Some("leading")));
        assert!(!line("following", Some("electing")) && !line("electing", Some("following")));
    }

    #[test]
    fn a_line_for_programs_is_one_document() {
        let mut tracker = Tracker::new("node-1", false);
        let line = tracker.introduce().unwrap();
        let document: serde_json::Value = serde_json::from_str(&line.json()).unwrap();
        assert_eq!(document["kind"], "silent");
        assert!(!line.json().contains('\n'));
    }
}

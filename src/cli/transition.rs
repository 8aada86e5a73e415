//! The lines of `electd watch`: from what a node answers, poll after poll, to what is new in it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::admin::client::ClientError;
use crate::node::status::{ChangeStatus, Status};

use super::ask::{leader_of, moment};

/// What a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The state that a node was found in.
    Now,
    /// A change of state.
    Change,
    /// A node does not answer.
    Silent,
    /// A node answers again.
    Back,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    kind: Kind,
    time: String,
    node: String,
    from: Option<String>,
    to: Option<String>,
    /// The word of the halting algorithm for `to`.
    halting: Option<String>,
    leader: Option<String>,
    epoch: Option<u64>,
    reason: String,
}

impl Line {
    /// For people, with names of this width.
    pub fn text(&self, width: usize) -> String {
        let Line { time, node, reason, .. } = self;
        let mut states = match (&self.from, &self.to) {
            (Some(from), Some(to)) => format!("{from} -> {to}"),
            (None, Some(to)) => to.clone(),
            _ => "silent".to_owned(),
        };
        if let Some(word) = &self.halting {
            states = format!("{states}, {word}");
        }
        let leader = self.leader.as_deref().unwrap_or("-");
        let epoch = self.epoch.map_or("-".to_owned(), |epoch| epoch.to_string());
        let line = format!(
            "{time}  {node:width$}  {states:<22}  leader {leader:width$}  epoch {epoch:<4}  {reason}"
        );
        line.trim_end().to_owned()
    }

    /// For programs.
    pub fn json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// What has been told of one node.
pub struct Tracker {
    name: String,
    /// Whether it can be asked.
    asked: bool,
    /// The start and the number of the last change told.
    told: Option<(u64, u64)>,
    silent: bool,
}

impl Tracker {
    /// A tracker of a node that nothing has been told of.
    pub fn new(name: &str, asked: bool) -> Tracker {
        Tracker { name: name.to_owned(), asked, told: None, silent: false }
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is to be told before any answer.
    pub fn introduce(&mut self) -> Option<Line> {
        (!self.asked).then(|| self.silence(&ClientError::NotServed))
    }

    /// What is new in an answer.
    pub fn observe(&mut self, answer: Result<Status, ClientError>) -> Vec<Line> {
        match answer {
            Ok(status) => self.news(&status),
            Err(_) if self.silent => Vec::new(),
            Err(error) => vec![self.silence(&error)],
        }
    }

    fn silence(&mut self, error: &ClientError) -> Line {
        self.silent = true;
        Line {
            kind: Kind::Silent,
            time: now(),
            node: self.name.clone(),
            from: None,
            to: None,
            halting: None,
            leader: None,
            epoch: None,
            reason: error.to_string(),
        }
    }

    fn news(&mut self, status: &Status) -> Vec<Line> {
        let told = self.told;
        let newest = status.changes.last().map_or(0, |change| change.number);
        self.told = Some((status.incarnation, newest));
        self.name.clone_from(&status.node.name);
        let was_silent = std::mem::take(&mut self.silent);
        let Some((incarnation, number)) = told else {
            return vec![self.state(Kind::Now, status)];
        };
        // A restarted node counts its changes from 1 again, and all of them are new.
        let (restarted, number) = match incarnation == status.incarnation {
            true => (false, number),
            false => (true, 0),
        };
        let mut lines = Vec::new();
        if was_silent || restarted {
            let how = if restarted { "restarted" } else { "answers again" };
            lines.push(Line { reason: how.to_owned(), ..self.state(Kind::Back, status) });
        }
        let new = status.changes.iter().filter(|change| change.number > number);
        lines.extend(new.map(|change| self.change(change)));
        lines
    }

    /// The state that the node is in, and the reason of its last change.
    fn state(&self, kind: Kind, status: &Status) -> Line {
        Line {
            kind,
            time: now(),
            node: self.name.clone(),
            from: None,
            to: Some(status.state.clone()),
            halting: status.halting.as_ref().map(|halting| halting.status.clone()),
            leader: leader_of(status).map(|leader| leader.name.clone()),
            epoch: Some(status.epoch),
            reason: status.changes.last().map(|change| change.reason.clone()).unwrap_or_default(),
        }
    }

    fn change(&self, change: &ChangeStatus) -> Line {
        Line {
            kind: Kind::Change,
            time: moment(change.at_ms),
            node: self.name.clone(),
            from: Some(change.from.clone()),
            to: Some(change.to.clone()),
            halting: change.halting.clone(),
            leader: change.leader.clone(),
            epoch: Some(change.epoch),
            reason: change.reason.clone(),
        }
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::status;

    /// A status of this start whose changes have these numbers.
    fn at(incarnation: u64, numbers: std::ops::RangeInclusive<u64>) -> Result<Status, ClientError> {
        let change = |number| ChangeStatus {
            number,
            at_ms: 1_700_000_000_123,
            from: "following".to_owned(),
            to: "electing".to_owned(),
            halting: None,
            leader: None,
            epoch: 7,
            reason: format!("reason {number}"),
        };
        let mut status = status("node-1", Some(("node-5", 7)));
        status.incarnation = incarnation;
        status.changes = numbers.map(change).collect();
        Ok(status)
    }

    fn told(lines: &[Line]) -> Vec<(Kind, &str)> {
        lines.iter().map(|line| (line.kind, line.reason.as_str())).collect()
    }

    #[test]
    fn each_change_is_told_once() {
        let mut tracker = Tracker::new("node-1", true);
        assert_eq!(told(&tracker.observe(at(1, 1..=3))), [(Kind::Now, "reason 3")]);
        assert!(tracker.observe(at(1, 1..=3)).is_empty());
        let lines = tracker.observe(at(1, 2..=5));
        assert_eq!(told(&lines), [(Kind::Change, "reason 4"), (Kind::Change, "reason 5")]);
        assert_eq!(
            lines[0].text(6),
            "2023-11-14T22:13:20.123Z  node-1  following -> electing   leader -       epoch 7     reason 4"
        );
    }

    #[test]
    fn silence_is_told_once_and_so_is_its_end() {
        let mut tracker = Tracker::new("node-1", true);
        tracker.observe(at(1, 1..=1));
        let silence = || Err(ClientError::NotServed);
        assert_eq!(tracker.observe(silence()).len(), 1);
        assert!(tracker.observe(silence()).is_empty());
        let lines = tracker.observe(at(1, 1..=2));
        assert_eq!(told(&lines), [(Kind::Back, "answers again"), (Kind::Change, "reason 2")]);
    }

    #[test]
    fn a_restart_counts_anew() {
        let mut tracker = Tracker::new("node-1", true);
        tracker.observe(at(1, 1..=9));
        let lines = tracker.observe(at(2, 1..=2));
        let expected =
            [(Kind::Back, "restarted"), (Kind::Change, "reason 1"), (Kind::Change, "reason 2")];
        assert_eq!(told(&lines), expected);
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

//! The lines of `electd watch`, for people and programs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use electd_facts::clocks::{self, Apart};
use electd_facts::entry::HistoryEntry;
use serde::Serialize;

use crate::node::moment;
use crate::node::status::LeaderlessStatus;
use crate::trace::length;

use super::screen;

/// A space at which no line is broken.
const UNBROKEN: &str = "\u{a0}";

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
    /// A node is to take over from the leader.
    Takeover,
    /// No node that answers knows a leader.
    NobodyLeads,
    /// The clocks of nodes differ.
    ClocksDiffer,
    /// A node knows a leader again, which itself has told nothing yet.
    LeaderKnown,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub(super) kind: Kind,
    /// For the order of lines; readers get `time`.
    #[serde(skip)]
    pub(super) at_ms: u64,
    pub(super) time: String,
    /// None of what the nodes tell together.
    pub(super) node: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// The word of the halting algorithm for `to`.
    pub(super) halting: Option<String>,
    pub(super) leader: Option<String>,
    pub(super) epoch: Option<u64>,
    /// The member that it is about, if that is another one.
    pub(super) member: Option<String>,
    /// Since when the node knows no leader, and why; null if it knows one.
    pub(super) leaderless: Option<LeaderlessStatus>,
    /// For how long nobody had led, if that is over by this.
    pub(super) leaderless_ms: Option<u64>,
    /// The leadership that begins by this, as the node saw it.
    #[serde(skip)]
    pub(super) leadership: Option<HistoryEntry>,
    pub(super) reason: String,
}

impl Line {
    /// For people, with names of this width, on one line.
    pub fn text(&self, width: usize) -> String {
        let Line { time, .. } = self;
        let node = self.node.as_deref().unwrap_or("-");
        let (leader, epoch) = self.leader_and_epoch();
        let (states, reason) = (self.states(), self.because());
        let line = format!(
            "{time}  {node:width$}  {states:<22}  leader {leader:width$}  epoch {epoch:<4}  {reason}"
        );
        line.trim_end().to_owned()
    }

    /// The same as lines that fit a terminal of this width. If one is not enough, the reason begins below the node.
    pub fn within(&self, columns: Option<u16>, width: usize) -> String {
        let one = self.text(width);
        let Some(columns) = columns.filter(|columns| one.chars().count() > (*columns).into())
        else {
            return one + "\n";
        };
        let Line { time, .. } = self;
        let node = self.node.as_deref().unwrap_or("-");
        let (leader, epoch) = self.leader_and_epoch();
        // No line breaks within these.
        let states = self.states().replace(' ', UNBROKEN);
        let head = format!(
            "{time}  {node:width$}  {states}  leader{UNBROKEN}{leader}  epoch{UNBROKEN}{epoch}"
        );
        let indent = time.len() + 1;
        let below = " ".repeat(indent + 1);
        let lines = format!("{head}\n{below}{}\n", self.because());
        screen::fitted(&lines, Some(columns), indent).replace(UNBROKEN, " ")
    }

    /// What happened: the states before and after, or a word for it.
    fn states(&self) -> String {
        let states = match (self.kind, &self.from, &self.to) {
            (Kind::MemberUp, ..) => "member up".to_owned(),
            (Kind::MemberDown, ..) => "member down".to_owned(),
            (Kind::Problem, ..) => "problem".to_owned(),
            (Kind::ProblemOver, ..) => "problem over".to_owned(),
            (Kind::Takeover, ..) => "takeover to come".to_owned(),
            (Kind::NobodyLeads, ..) => "nobody leads".to_owned(),
            (Kind::LeaderKnown, ..) => "leader known".to_owned(),
            (Kind::ClocksDiffer, ..) => "clocks differ".to_owned(),
            (_, Some(from), Some(to)) => format!("{from} -> {to}"),
            (_, None, Some(to)) => to.clone(),
            _ => "silent".to_owned(),
        };
        match (&self.halting, self.kind) {
            (Some(word), Kind::Now | Kind::Back | Kind::Change) => format!("{states}, {word}"),
            _ => states,
        }
    }

    fn leader_and_epoch(&self) -> (&str, String) {
        let epoch = self.epoch.map_or("-".to_owned(), |epoch| epoch.to_string());
        (self.leader.as_deref().unwrap_or("-"), epoch)
    }

    /// The reason, and for how long nobody had led, if this ends that.
    fn because(&self) -> String {
        let ends_gap = self.leads() || self.kind == Kind::LeaderKnown;
        let gap = self
            .leaderless_ms
            .filter(|_| ends_gap)
            .map(|ms| format!("; nobody led for {}", length(Duration::from_millis(ms))));
        format!("{}{}", self.reason, gap.unwrap_or_default())
    }

    /// When it happened, in milliseconds since the Unix epoch.
    pub fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// Whether it says that a node leads, does not any more, or is to; or that nobody does.
    pub fn is_about_leadership(&self) -> bool {
        let leads = |state: &Option<String>| state.as_deref() == Some("leading");
        match self.kind {
            Kind::Now | Kind::Back => leads(&self.to),
            Kind::Change => leads(&self.from) || leads(&self.to),
            Kind::Takeover | Kind::NobodyLeads | Kind::LeaderKnown => true,
            _ => false,
        }
    }

    /// Whether it says that its node leads.
    pub fn leads(&self) -> bool {
        self.leader.is_some() && self.leader == self.node
    }

    /// Whether a leadership begins by it, as its node or all nodes together know.
    pub fn begins_leadership(&self) -> bool {
        self.leadership.is_some() || self.kind == Kind::LeaderKnown
    }

    /// What its node knows of a leader: nothing if it does not answer.
    pub fn knows(&self) -> Option<(&str, Knows)> {
        let node = self.node.as_deref()?;
        let knows = match (self.kind, &self.leader) {
            (Kind::Silent, _) => Knows::Nothing,
            (_, Some(leader)) => Knows::Leader(leader.clone(), self.epoch.unwrap_or_default()),
            (_, None) => Knows::None(self.leaderless.clone().unwrap_or_else(|| LeaderlessStatus {
                reason: self.reason.clone(),
                ..LeaderlessStatus::default()
            })),
        };
        Some((node, knows))
    }

    /// That no node knows a leader from this moment on, in milliseconds since the Unix epoch.
    pub fn nobody_leads(at_ms: u64, since: LeaderlessStatus, reason: String) -> Line {
        let leaderless = Some(since);
        Line { leaderless, reason, ..Line::of_all(Kind::NobodyLeads, at_ms) }
    }

    /// That this leader is known again; nobody had led for so long.
    pub fn leader_known(
        at_ms: u64,
        (leader, epoch): (String, u64),
        lasted_ms: u64,
        by: &str,
    ) -> Line {
        Line {
            leader: Some(leader),
            epoch: Some(epoch),
            leaderless_ms: Some(lasted_ms),
            reason: format!("{by} says so"),
            ..Line::of_all(Kind::LeaderKnown, at_ms)
        }
    }

    /// That the clocks of these nodes differ, if there are any.
    pub fn clocks_differ(apart: &[Apart]) -> Option<Line> {
        let reason = clocks::advice(apart)?;
        Some(Line { reason, ..Line::of_all(Kind::ClocksDiffer, now()) })
    }

    /// A line of this kind that says nothing yet.
    pub fn of_all(kind: Kind, at_ms: u64) -> Line {
        Line {
            kind,
            at_ms,
            time: moment(at_ms),
            node: None,
            from: None,
            to: None,
            halting: None,
            leader: None,
            epoch: None,
            member: None,
            leaderless: None,
            leaderless_ms: None,
            leadership: None,
            reason: String::new(),
        }
    }

    /// For programs.
    pub fn json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// What a node knows of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Knows {
    /// It does not answer.
    Nothing,
    /// This one leads, in this epoch.
    Leader(String, u64),
    /// Nobody leads, since when, and why.
    None(LeaderlessStatus),
}

/// Now, in milliseconds since the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leads_again_is_told_with_how_long_nobody_led() {
        let known = Line::leader_known(0, ("b".to_owned(), 8), 1300, "a").text(1);
        let line = "1970-01-01T00:00:00.000Z  -  leader known            leader b  epoch 8     a says so; nobody led for 1.3 s";
        assert_eq!(known, line);
        let change = |node: &str| Line {
            node: Some(node.to_owned()),
            leader: Some("b".to_owned()),
            leaderless_ms: Some(1300),
            ..Line::of_all(Kind::Change, 0)
        };
        assert!(change("b").text(1).ends_with("nobody led for 1.3 s"));
        assert!(!change("a").text(1).contains("nobody led"), "the line of the leader says so");
    }

    #[test]
    fn on_a_narrow_terminal_the_reason_stands_below_and_nothing_is_torn_apart() {
        let line = Line {
            time: "2026-11-22T10:58:33.123Z".to_owned(),
            node: Some("node-1".to_owned()),
            from: Some("organizing".to_owned()),
            to: Some("reorganizing".to_owned()),
            leader: Some("node-3".to_owned()),
            epoch: Some(1234),
            reason: "lost the connection to leader node-3, which had led for long".to_owned(),
            ..Line::of_all(Kind::Change, 0)
        };
        let wide = line.within(Some(300), 6);
        assert_eq!(wide, format!("{}\n", line.text(6)));
        assert_eq!(line.within(None, 6), wide);
        let narrow = "\
2026-11-22T10:58:33.123Z  node-1  organizing -> reorganizing  leader node-3
                          epoch 1234
                          lost the connection to leader node-3, which had led
                          for long
";
        let shown = line.within(Some(80), 6);
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines, narrow.lines().collect::<Vec<_>>(), "{shown}");
    }

    #[test]
    fn what_happened_has_a_word_for_each_kind() {
        let states = |kind: Kind, from: Option<&str>, to: Option<&str>| {
            let (from, to) = (from.map(str::to_owned), to.map(str::to_owned));
            let line = Line { from, to, halting: Some("down".to_owned()), ..Line::of_all(kind, 0) };
            line.states()
        };
        let [from, to] = [Some("following"), Some("electing")];
        for (kind, words) in [
            (Kind::MemberUp, "member up"),
            (Kind::MemberDown, "member down"),
            (Kind::Problem, "problem"),
            (Kind::ProblemOver, "problem over"),
            (Kind::Takeover, "takeover to come"),
            (Kind::NobodyLeads, "nobody leads"),
            (Kind::LeaderKnown, "leader known"),
            (Kind::Change, "following -> electing, down"),
        ] {
            assert_eq!(states(kind, from, to), words);
        }
        assert_eq!(states(Kind::Now, None, to), "electing, down");
        assert_eq!(states(Kind::Back, None, to), "electing, down");
        assert_eq!(states(Kind::Silent, None, None), "silent");
        let line = Line { reason: "refused".to_owned(), ..Line::of_all(Kind::Silent, 0) };
        let shown =
            "1970-01-01T00:00:00.000Z  -   silent                  leader -   epoch -     refused";
        assert_eq!(line.text(2), shown);
        let narrow = line.within(Some(60), 2);
        let narrow: Vec<&str> = narrow.lines().map(str::trim_end).collect();
        let head = "1970-01-01T00:00:00.000Z  -   silent  leader -  epoch -";
        assert_eq!(narrow, [head.to_owned(), format!("{}refused", " ".repeat(26))]);
    }

    #[test]
    fn a_line_tells_what_its_node_knows_of_a_leader() {
        let line = |kind, leader: Option<&str>| Line {
            node: Some("a".to_owned()),
            leader: leader.map(str::to_owned),
            epoch: Some(7),
            reason: "so".to_owned(),
            ..Line::of_all(kind, 0)
        };
        let leader = || Knows::Leader("b".to_owned(), 7);
        assert_eq!(line(Kind::Change, Some("b")).knows(), Some(("a", leader())));
        assert_eq!(line(Kind::Silent, Some("b")).knows(), Some(("a", Knows::Nothing)));
        let unsaid = LeaderlessStatus { reason: "so".to_owned(), ..LeaderlessStatus::default() };
        assert_eq!(line(Kind::Now, None).knows(), Some(("a", Knows::None(unsaid))));
        let since = LeaderlessStatus { lasts_ms: 5, ..LeaderlessStatus::default() };
        let said = Line { leaderless: Some(since.clone()), ..line(Kind::Now, None) };
        assert_eq!(said.knows(), Some(("a", Knows::None(since))));
        assert_eq!(Line::of_all(Kind::NobodyLeads, 0).knows(), None, "it is of no node");
        assert!(line(Kind::Change, Some("a")).leads() && !line(Kind::Change, Some("b")).leads());
        assert!(!Line::of_all(Kind::NobodyLeads, 0).leads());
    }

    /// The keys of a line are part of the interface.
    #[test]
    fn a_program_gets_all_of_a_line_as_one_document() {
        let since = LeaderlessStatus {
            since: "then".to_owned(),
            lasts_ms: 50,
            cause: "isolated".to_owned(),
            reason: "nobody answers".to_owned(),
        };
        let nobody = Line::nobody_leads(1_700_000_000_123, since, "a: nobody answers".to_owned());
        let told: serde_json::Value = serde_json::from_str(&nobody.json()).unwrap();
        let expected = serde_json::json!({
            "kind": "nobody_leads", "time": "2023-11-14T22:13:20.123Z", "node": null, "from": null, "to": null, "halting": null,
            "leader": null, "epoch": null, "member": null, "leaderless_ms": null, "reason": "a: nobody answers",
            "leaderless": {"since": "then", "lasts_ms": 50, "cause": "isolated", "reason": "nobody answers"},
        });
        assert_eq!((told, nobody.at_ms()), (expected, 1_700_000_000_123));
        let known = Line::leader_known(1_700_000_000_123, ("b".to_owned(), 8), 1300, "a");
        let told: serde_json::Value = serde_json::from_str(&known.json()).unwrap();
        let expected = serde_json::json!({
            "kind": "leader_known", "time": "2023-11-14T22:13:20.123Z", "node": null, "from": null, "to": null, "halting": null,
            "leader": "b", "epoch": 8, "member": null, "leaderless_ms": 1300, "reason": "a says so", "leaderless": null,
        });
        assert_eq!((told, known.at_ms()), (expected, 1_700_000_000_123));
        for (kind, is_about) in [
            (Kind::NobodyLeads, true),
            (Kind::LeaderKnown, true),
            (Kind::Takeover, true),
            (Kind::MemberUp, false),
            (Kind::MemberDown, false),
            (Kind::Problem, false),
            (Kind::ProblemOver, false),
            (Kind::Silent, false),
        ] {
            let leads = Some("leading".to_owned());
            let line = Line { from: leads.clone(), to: leads, ..Line::of_all(kind, 0) };
            assert_eq!(line.is_about_leadership(), is_about, "{kind:?}");
        }
    }
}

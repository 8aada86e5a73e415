//! What a node logs besides its changes of state: its first line, a summary of each of its leaderships,
//! and what an operator must know about the other members and of this node's disk. The thread "watch"
//! logs all but the first.

use std::collections::BTreeMap;
use std::time::Duration;

use log::{info, warn};

use super::history::{Entry, Tells};
use super::problems::{Found, ProblemKind, voters};
use super::status::Status;
use crate::config::{Config, MemberConfig};
use crate::core::protocol::VERSION;
use crate::core::types::Incarnation;
use crate::trace::length;

/// Logs the first line of a node: what an operator wants to know of it at any later line.
pub fn introduce(config: &Config, own: &MemberConfig, start: Incarnation) {
    let members: Vec<&str> = config.members.iter().map(|member| member.name.as_str()).collect();
    let (members, quorum) = (members.join(" "), config.quorum.name());
    let (file, data_dir) = (config.file.display(), config.data_dir.display());
    let admin = own.admin.as_deref().unwrap_or("none");
    let served = own.admin_listen.as_ref().filter(|bound| own.admin.as_ref() != Some(*bound));
    let served = served.map_or_else(String::new, |bound| format!(" by way of {bound}"));
    info!(
        event = "start", version = VERSION, file:% = file, cluster = config.cluster, quorum = quorum,
        members = members, address = own.address, listen = own.listen, admin = admin,
        data_dir:% = data_dir, start = start.0, pid = std::process::id();
        "electd {VERSION} starts {} of cluster \"{}\", quorum {quorum}, members {members}; file {file}, \
         address {}, listens on {}, admin {admin}{served}, data_dir {data_dir}, start {start}, process {}",
        own.name, config.cluster, own.address, own.listen, std::process::id()
    );
    for warning in &config.warnings {
        warn!(event = "config"; "{warning}");
    }
}

/// The last logged state of each lasting condition.
#[derive(Debug, Default)]
pub(super) struct Alerts {
    no_majority: bool,
    /// What was logged last of the dials to each member that is silent.
    dials: BTreeMap<String, String>,
}

impl Alerts {
    /// Logs problems that began, and those that are over. `is_settled` means that this node has run
    /// long enough to have met every member that runs.
    pub fn problems(&mut self, began: &[Found], over: &[Found], status: &Status, is_settled: bool) {
        let of = |found: &&Found, kind| found.kind == kind;
        for found in began.iter().filter(|found| of(found, ProblemKind::PeerDown)) {
            let (text, left) = (&found.text, left(status));
            let (role, name) = (role(status, &found.about), &found.about);
            warn!(event = "member_down", member = name; "{role} {text}; {left}");
        }
        for found in over.iter().filter(|found| of(found, ProblemKind::PeerDown)) {
            let (role, name) = (role(status, &found.about), &found.about);
            info!(event = "member_up", member = name; "{role} {name} is up; {}", left(status));
        }
        for found in began.iter().filter(|found| !is_told_elsewhere(found)) {
            warn!(event = "problem", kind = found.kind.name(); "{}: {}", found.kind.name(), found.text);
        }
        for found in over.iter().filter(|found| !is_end_told_elsewhere(found.kind)) {
            let kind = found.kind.name();
            let about = status.members.iter().find(|member| member.name == found.about);
            let with = about.map_or_else(String::new, |member| format!(" with {}", member.name));
            info!(event = "problem_over", kind = kind; "{kind}: no problem any more{with}");
        }
        self.dials(began, status, is_settled);
        self.majority(status, is_settled);
    }

    /// Why silent members cannot be dialed: the first dial ends later than the silence is noticed, and what is wrong may
    /// change.
    fn dials(&mut self, began: &[Found], status: &Status, is_settled: bool) {
        let silent =
            status.members.iter().filter(|member| is_settled && member.status == "suspected");
        let now: BTreeMap<String, String> = silent
            .filter_map(|member| Some((member.name.clone(), member.failed_dial.clone()?)))
            .collect();
        let is_said = |why: &str| began.iter().any(|found| found.text.contains(why));
        let news = now.iter().filter(|(name, why)| self.dials.get(*name) != Some(*why));
        for (name, why) in news.filter(|(_, why)| !is_said(why)) {
            warn!(event = "dial_failed", member = name; "the dial to {name} fails: {why}");
        }
        self.dials = now;
    }

    /// With a majority: whether enough voters are left.
    fn majority(&mut self, status: &Status, is_settled: bool) {
        let (all, alive, needed) = voters(&status.members);
        let is_lost = status.quorum == "majority" && alive < needed;
        if is_lost == self.no_majority || (is_lost && !is_settled) {
            return;
        }
        self.no_majority = is_lost;
        if is_lost {
            warn!(
                event = "majority_lost";
                "the majority is lost: {alive} of {all} voters left, {needed} are needed, so nobody can lead"
            );
        } else {
            info!(event = "majority_back"; "the majority is back: {}", left(status));
        }
    }
}

/// Whether other lines say that this problem began.
fn is_told_elsewhere(found: &Found) -> bool {
    use ProblemKind::{ConfigDiffers, Health, Job, PeerDown, QuorumMargin, Rejected};
    matches!(found.kind, ConfigDiffers | Health | Job | PeerDown | QuorumMargin | Rejected)
        && !found.is_of_file()
}

/// Whether other lines say that such a problem is over.
fn is_end_told_elsewhere(kind: ProblemKind) -> bool {
    use ProblemKind::{Health, PeerDown, QuorumMargin};
    matches!(kind, Health | PeerDown | QuorumMargin)
}

/// Logs that this node leads: the story of a failover in one line, in the words of the history. How the last leadership
/// ended is left out if this node does not know it.
pub(super) fn leads(entry: &Entry, node: &str) {
    let Entry { before, epoch, cause, reason, leaderless_ms, .. } = entry;
    let is_known = Tells::by(cause) > Tells::Little || cause == "leader_released";
    let why = if is_known { format!(" ({reason})") } else { String::new() };
    let how = match before.as_deref() {
        Some(before) if before == node => format!("it had led before{why}"),
        Some(before) => format!("took over from {before}{why}"),
        None => "no leader was known since its start".to_owned(),
    };
    info!(
        event = "leads", epoch = epoch, before = before.as_deref().unwrap_or("none"), cause = cause,
        leaderless_ms = leaderless_ms;
        "leads in epoch {epoch}: {how} after {} without a leader",
        length(Duration::from_millis(*leaderless_ms))
    );
}

/// The role of a member, for a sentence about it.
fn role(status: &Status, name: &str) -> &'static str {
    let member = status.members.iter().find(|member| member.name == name);
    match member.map(|member| member.role.as_str()) {
        Some("observer") => "observer",
        _ if status.quorum == "majority" => "voter",
        _ => "member",
    }
}

/// How many are left, and how many more may fail.
fn left(status: &Status) -> String {
    let (all, alive, needed) = voters(&status.members);
    if status.quorum != "majority" {
        return format!("{alive} of {all} members left");
    }
    let words = match alive.checked_sub(needed) {
        None => format!("{needed} are needed"),
        Some(0) => "no further failure tolerated".to_owned(),
        Some(1) => "1 more failure tolerated".to_owned(),
        Some(spare) => format!("{spare} more failures tolerated"),
    };
    format!("{alive} of {all} voters left, {words}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Builder;
    use crate::node::logged::logged;
    use crate::node::status::MemberStatus;

    /// The members a, b, c and so on in these states.
    fn status(quorum: &str, states: &[&str]) -> Status {
        let member = |(name, status): (char, &&str)| MemberStatus {
            name: name.to_string(),
            role: "member".to_owned(),
            status: (*status).to_owned(),
            ..MemberStatus::default()
        };
        let members = ('a'..).zip(states).map(member).collect();
        Status { quorum: quorum.to_owned(), members, ..Status::default() }
    }

    fn found(kind: ProblemKind, about: &str, text: &str) -> Found {
        Found { kind, about: about.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn who_goes_and_comes_is_told_with_its_role_and_with_how_many_are_left() {
        let (up, down) = ("alive", "dead");
        let of_two = [found(ProblemKind::PeerDown, "b", "b is down: silent")];
        let lines = |status: &Status| {
            let problems = |began: &[Found], over: &[Found]| {
                logged(|| Alerts::default().problems(began, over, status, false)).join("; ")
            };
            [problems(&of_two, &[]), problems(&[], &of_two)]
        };
        for (quorum, states, role, left) in [
            (
                "majority",
                &[up, down, up][..],
                "voter",
                "2 of 3 voters left, no further failure tolerated",
            ),
            ("majority", &[up, down, down], "voter", "1 of 3 voters left, 2 are needed"),
            (
                "majority",
                &[up, down, up, up, up],
                "voter",
                "4 of 5 voters left, 1 more failure tolerated",
            ),
            ("majority", &[up; 5], "voter", "5 of 5 voters left, 2 more failures tolerated"),
            ("none", &[up, down, up], "member", "2 of 3 members left"),
        ] {
            let told = lines(&status(quorum, states));
            let began = format!("WARN member_down: {role} b is down: silent; {left}");
            assert_eq!(told, [began, format!("INFO member_up: {role} b is up; {left}")]);
        }
        let mut observed = status("majority", &[up, down]);
        observed.members[1].role = "observer".to_owned();
        let began = "WARN member_down: observer b is down: silent; 1 of 1 voters left, no further failure tolerated";
        assert_eq!(lines(&observed)[0], began);
    }

    /// A problem that began in the status and not in the log would be found by nobody who reads that.
    #[test]
    fn each_problem_is_told_once_when_it_begins_and_once_when_it_is_over() {
        let status = status("majority", &["alive"; 3]);
        let mut lines = Vec::new();
        for kind in ProblemKind::ALL {
            let found = [found(*kind, "b", "why")];
            let began = logged(|| Alerts::default().problems(&found, &[], &status, true));
            let over = logged(|| Alerts::default().problems(&[], &found, &status, true));
            lines.push([began, over].concat().join(" | "));
        }
        let by_others = ["health", "job", "rejected", "quorum_margin", "config_differs"];
        for (kind, line) in ProblemKind::ALL.iter().zip(lines) {
            let name = kind.name();
            let began = format!("WARN problem: {name}: why | ");
            let over = format!("INFO problem_over: {name}: no problem any more with b");
            let expected = match name {
                "peer_down" => continue, // as above
                "health" | "quorum_margin" => String::new(),
                _ if by_others.contains(&name) => over,
                _ => began + &over,
            };
            assert_eq!(line, expected, "{name}");
        }
        let edited = found(ProblemKind::ConfigDiffers, "the file", "it was edited");
        let told = logged(|| Alerts::default().problems(&[edited], &[], &status, true));
        assert_eq!(told, ["WARN problem: config_differs: it was edited"]);
    }

    #[test]
    fn why_a_silent_member_cannot_be_dialed_is_told_once_until_it_changes() {
        let mut status = status("none", &["alive", "suspected"]);
        let mut alerts = Alerts::default();
        let mut told = |why: &str, began: &[Found], is_settled| {
            status.members[1].failed_dial = Some(why.to_owned());
            logged(|| alerts.problems(began, &[], &status, is_settled))
        };
        assert_eq!(told("no route", &[], false), [""; 0], "it has just started");
        assert_eq!(
            told("no route", &[], true),
            ["WARN dial_failed: the dial to b fails: no route"]
        );
        assert_eq!(told("no route", &[], true), [""; 0]);
        assert_eq!(told("refused", &[], true), ["WARN dial_failed: the dial to b fails: refused"]);
        let down =
            [found(ProblemKind::PeerDown, "b", "b is down: silent; the last dial: timed out")];
        assert_eq!(told("timed out", &down, true).len(), 1, "one line is enough");
    }

    #[test]
    fn a_majority_that_is_lost_is_told_once_and_not_where_nobody_needs_one() {
        let mut alerts = Alerts::default();
        let mut told = |quorum: &str, states: &[&str], is_settled| {
            logged(|| alerts.problems(&[], &[], &status(quorum, states), is_settled))
        };
        let (well, ill) = (["alive"; 3], ["alive", "dead", "dead"]);
        let lost = "WARN majority_lost: the majority is lost: 1 of 3 voters left, 2 are needed, so nobody can lead";
        let back = "INFO majority_back: the majority is back: 3 of 3 voters left, 1 more failure tolerated";
        assert_eq!(told("none", &ill, true), [""; 0]);
        assert_eq!(told("majority", &ill, false), [""; 0], "it has just started");
        assert_eq!(told("majority", &ill, true), [lost]);
        assert_eq!(told("majority", &ill, true), [""; 0]);
        assert_eq!(told("majority", &well, true), [back]);
        assert_eq!(told("majority", &well, true), [""; 0]);
    }

    #[test]
    fn a_leadership_of_this_node_is_told_with_the_one_before_and_how_that_ended() {
        let line = |before: Option<&str>, cause: &str| {
            let entry = Entry {
                leader: "a".to_owned(),
                epoch: 7,
                since_ms: 5000,
                until_ms: None,
                lasts: true,
                before: before.map(str::to_owned),
                before_epoch: None,
                cause: cause.to_owned(),
                reason: "why".to_owned(),
                leaderless_ms: 1500,
            };
            logged(|| leads(&entry, "a")).join("; ")
        };
        for (before, cause, how) in [
            (None, "start", "no leader was known since its start"),
            (Some("b"), "leader_dead", "took over from b (why)"),
            (Some("b"), "leader_released", "took over from b (why)"),
            (Some("b"), "joined", "took over from b"),
            (Some("a"), "lease_ended", "it had led before (why)"),
        ] {
            let told = format!("INFO leads: leads in epoch 7: {how} after 1.5 s without a leader");
            assert_eq!(line(before, cause), told);
        }
    }

    #[test]
    fn the_first_line_tells_where_http_is_served_and_then_come_the_warnings_of_the_file() {
        let member = |name: &str, id: &str, more: Value| {
            let mut member = json!({"name": name, "id": id, "address": "10.0.0.1:1"});
            member.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            member
        };
        let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
        let lines = |more: Value| {
            let config = Builder::new("c", "majority", "/nowhere").set("trust_refused", false);
            let config = config.member_with(member("a", ids[0], more));
            let config = config.member("b", ids[1], "10.0.0.2:1").build().unwrap();
            logged(|| introduce(&config, &config.members[0], Incarnation(4)))
        };
        let told = lines(json!({"admin": "10.0.0.1:2", "admin_listen": "0.0.0.0:3"}));
        for words in [
            "INFO start: electd ",
            " starts a of cluster \"c\", quorum majority, members a b; ",
            "address 10.0.0.1:1, ",
            "admin 10.0.0.1:2 by way of 0.0.0.0:3, data_dir /nowhere, start 4, process ",
        ] {
            assert!(told[0].contains(words), "{words} in {}", told[0]);
        }
        assert!(told[1].starts_with("WARN config: trust_refused has no effect"), "{told:?}");
        assert!(lines(json!({"admin": "10.0.0.1:2"}))[0].contains("admin 10.0.0.1:2, data_dir"));
        assert!(lines(json!({}))[0].contains("admin none, data_dir"));
    }
}

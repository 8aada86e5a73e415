//! What a node logs besides its changes of state: its first line, a summary of each of its leaderships,
//! and what an operator must know about the other members and of this node's disk. The thread "watch"
//! logs all but the first.

use std::collections::BTreeMap;
use std::time::Duration;

use log::{info, warn};

use super::history::{HistoryEntry, START, Tells};
use super::problems::{PresentProblem, ProblemKind};
use super::status::{MemberStatus, Status};
use crate::config::{Config, MemberConfig};
use crate::core::Cause;
use crate::core::message::Liveness;
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
    /// Members that were not there yet as the cluster began: logged if they are not there when it has.
    awaited: Vec<PresentProblem>,
    /// What was logged last of the dials to each member that is silent.
    dials: BTreeMap<String, String>,
}

impl Alerts {
    /// Logs problems that began, and those that are over. `is_settled` means that this node has run
    /// long enough to have met every member that runs.
    pub fn problems(
        &mut self,
        began: &[PresentProblem],
        over: &[PresentProblem],
        status: &Status,
        is_settled: bool,
    ) {
        let began = &self.hold_awaited(began, over, status);
        let of = |found: &&PresentProblem, kind| found.kind == kind;
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

    /// Before a cluster has begun, its members start one after another: that one is not there yet is no news. Returns what
    /// is to be logged of these problems.
    fn hold_awaited(
        &mut self,
        began: &[PresentProblem],
        over: &[PresentProblem],
        status: &Status,
    ) -> Vec<PresentProblem> {
        let is_over = |held: &PresentProblem| over.iter().any(|over| over.about == held.about);
        self.awaited.retain(|held| !is_over(held));
        let (down, others): (Vec<PresentProblem>, Vec<PresentProblem>) =
            began.iter().cloned().partition(|found| found.kind == ProblemKind::PeerDown);
        if is_first_start(status) {
            self.awaited.extend(down);
            return others;
        }
        std::mem::take(&mut self.awaited).into_iter().chain(down).chain(others).collect()
    }

    /// Why silent members cannot be dialed: the first dial ends later than the silence is noticed, and what is wrong may
    /// change.
    fn dials(&mut self, began: &[PresentProblem], status: &Status, is_settled: bool) {
        if is_first_start(status) {
            return;
        }
        let silent = status
            .members
            .iter()
            .filter(|member| is_settled && member.liveness() == Some(Liveness::Suspected));
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
        let (all, alive, needed) = status.voters();
        let is_lost = status.by_majority() && alive < needed;
        if is_lost == self.no_majority || (is_lost && (!is_settled || is_first_start(status))) {
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

/// Whether nobody has led this cluster yet, as far as this node knows: it waits for the other voters, and says so once.
fn is_first_start(status: &Status) -> bool {
    let is_awaited = status.leaderless.as_ref().is_some_and(|leaderless| {
        leaderless.cause == START
            || matches!(leaderless.known_cause(), Some(Cause::Uninformed | Cause::VotersUninformed))
    });
    status.last_leadership.is_none() && is_awaited
}

/// Whether other lines say that this problem began.
fn is_told_elsewhere(found: &PresentProblem) -> bool {
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
/// ended, and for how long nobody led, are left out if this node does not know it.
pub(super) fn leads(entry: &HistoryEntry, node: &str) {
    let HistoryEntry { before, epoch, cause, reason, .. } = entry;
    let is_known = Tells::by(cause) > Tells::Little || cause.parse() == Ok(Cause::LeaderReleased);
    let why = if is_known { format!(" ({reason})") } else { String::new() };
    let how = match before.as_deref() {
        Some(before) if before == node => format!("it had led before{why}"),
        Some(before) => format!("took over from {before}{why}"),
        None => "no leader was known since its start".to_owned(),
    };
    let before = before.as_deref().unwrap_or("none");
    match entry.gap_ms() {
        Some(gap) => info!(
            event = "leads", epoch = epoch, before = before, cause = cause, leaderless_ms = gap;
            "leads in epoch {epoch}: {how} after {} without a leader",
            length(Duration::from_millis(gap))
        ),
        None => info!(
            event = "leads", epoch = epoch, before = before, cause = cause;
            "leads in epoch {epoch}: {how}; this node missed the end of the leadership before"
        ),
    }
}

/// The role of a member, for a sentence about it.
fn role(status: &Status, name: &str) -> &'static str {
    let member = status.member(name);
    match member.map(MemberStatus::votes) {
        Some(false) => "observer",
        _ if status.by_majority() => "voter",
        _ => "member",
    }
}

/// How many are left, and how many more may fail.
fn left(status: &Status) -> String {
    let (all, alive, needed) = status.voters();
    if !status.by_majority() {
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
mod tests;

//! Problems of a node or its cluster that keep neither from working. The thread "watch" finds them by
//! checking the status regularly; the election thread never looks for them.

pub use electd_facts::problem::ProblemKind;
use jiff::Timestamp;

use crate::core::Phase;
use crate::core::message::Liveness;
use crate::store::DiskFault;

use super::clock::moment;
use super::history::UnplannedChanges;
use super::publish::LateRenewal;
use super::status::{FailureStatus, HealthStatus, MemberStatus, Problem, RejectionStatus, Status};

/// The input of a check besides the status.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Why the state cannot be written.
    pub storage: Option<DiskFault>,
    /// Why the others cannot dial this node, in words.
    pub address: Option<String>,
    /// The refusals of the last moments.
    pub rejected: Vec<RejectionStatus>,
    /// Members with other timings, each with the difference in words.
    pub timings: Vec<(String, String)>,
    /// Members whose file says something else of locks, as far as this one coordinates them.
    pub locks: Vec<String>,
    /// What is wrong with the certificates: the subject, and a sentence.
    pub certificate: Vec<(&'static str, String)>,
    /// Why no coroner would certify a crash of this node, in words.
    pub coroner: Option<String>,
    /// A sentence if the configuration file was edited and has not taken effect.
    pub edited: Option<String>,
    /// The last job that was ended, as no renewal came in time, if that was of late.
    pub late: Option<LateRenewal>,
    /// The changes of the leader of late that nobody ordered; none if they are few.
    pub changes: Option<UnplannedChanges>,
    /// Whether the host of a member that this node does not hear refused its last dial, so that the network is whole.
    pub refused: bool,
    /// Whether this node has run long enough to have met every member that runs.
    pub settled: bool,
    /// Whether the file only lags behind members that commands added or removed.
    pub file_lags: bool,
}

/// A problem that is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PresentProblem {
    pub kind: ProblemKind,
    /// Tells it from others of its kind: a member, or nothing.
    pub about: String,
    /// What is wrong, in words.
    pub text: String,
}

/// The subject of the problem of an edited file.
const EDITED: &str = "the file";

impl PresentProblem {
    /// Whether it is that the configuration file was edited.
    pub fn is_of_file(&self) -> bool {
        self.kind == ProblemKind::ConfigDiffers && self.about == EDITED
    }
}

/// The problems of the last look, each with the time of the first look that saw it.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<(PresentProblem, String)>);

impl Problems {
    /// Takes a new look. Gives the problems that began and those that are over.
    pub fn look(
        &mut self,
        status: &Status,
        sight: &Sight,
    ) -> (Vec<PresentProblem>, Vec<PresentProblem>) {
        let now = Timestamp::now();
        let old = std::mem::take(&mut self.0);
        let same = |a: &PresentProblem, b: &PresentProblem| a.kind == b.kind && a.about == b.about;
        let mut began = Vec::new();
        for found in find(status, sight) {
            let known = old.iter().find(|(known, _)| same(known, &found));
            let since = known.map_or_else(|| format!("{now:.3}"), |(_, since)| since.clone());
            if known.is_none() {
                began.push(found.clone());
            }
            self.0.push((found, since));
        }
        let is_over = |(known, _): &&(PresentProblem, String)| {
            !self.0.iter().any(|(now, _)| same(known, now))
        };
        let over = old.iter().filter(is_over).map(|(found, _)| found.clone()).collect();
        (began, over)
    }

    /// All of them, for the status.
    pub fn list(&self) -> Vec<Problem> {
        self.0.iter().map(|(found, since)| problem(found, since)).collect()
    }
}

fn problem(found: &PresentProblem, since: &str) -> Problem {
    let (kind, about, text) =
        (found.kind.name().to_owned(), found.about.clone(), found.text.clone());
    Problem { since: since.to_owned(), kind, about, text }
}

/// All problems that can be seen now, the worst kinds first.
fn find(status: &Status, sight: &Sight) -> Vec<PresentProblem> {
    let mut found = Vec::new();
    let mut add = |kind, about: &str, text: String| {
        found.push(PresentProblem { kind, about: about.to_owned(), text });
    };
    if let Some(why) = &sight.storage {
        add(ProblemKind::Storage, "", why.text.clone());
    }
    if status.stalled {
        let text = "the election thread missed its turn, so this node counts itself as failed";
        add(ProblemKind::Stalled, "", text.to_owned());
    }
    if let Some(changes) = &sight.changes {
        add(ProblemKind::LeaderChanges, "", changed_often(changes));
    }
    if let Some(why) = status.realtime.as_ref().and_then(|realtime| realtime.refused.clone()) {
        add(ProblemKind::Realtime, "", why);
    }
    if let Some(why) = &sight.address {
        add(ProblemKind::Address, "", why.clone());
    }
    if sight.settled {
        if hears_nobody(status, sight) {
            add(ProblemKind::CutOff, "", CUT_OFF.to_owned());
        }
        if let Some(text) = margin(status) {
            add(ProblemKind::QuorumMargin, "", text);
        }
        for member in status.members.iter().filter(|member| member.id != status.node.id) {
            if let Some(text) = down(member) {
                add(ProblemKind::PeerDown, &member.name, text);
            }
        }
    }
    for refusal in &sight.rejected {
        add(ProblemKind::Rejected, &refusal.peer, format!("{} {}", refusal.peer, refusal.reason));
    }
    if let Some(why) = status.why_no_rank() {
        add(ProblemKind::Rank, "", format!("no rank, so this node is not eligible: {why}"));
    }
    if let Some(text) = status.health.as_ref().and_then(|health| unhealthy(health, sight.settled)) {
        add(ProblemKind::Health, "", text);
    }
    if let Some(failure) = &status.failure {
        add(ProblemKind::Job, "", failed(failure));
    }
    if let Some(late) = &sight.late {
        add(ProblemKind::Renewal, &format!("epoch {}", late.epoch), renewed_late(late));
    }
    for (about, text) in &sight.certificate {
        add(ProblemKind::Certificate, about, text.clone());
    }
    // A node that ends has dismissed its coroner.
    if let Some(text) = sight.coroner.as_ref().filter(|_| status.phase() != Some(Phase::Stopping)) {
        add(ProblemKind::Coroner, "", text.clone());
    }
    for (about, text) in differing(status, sight) {
        add(ProblemKind::ConfigDiffers, &about, text);
    }
    found
}

/// In what configurations differ: of whom, and how.
fn differing(status: &Status, sight: &Sight) -> Vec<(String, String)> {
    let locks = sight.locks.iter().map(|name| {
        (name.clone(), format!("{name} has other `locks` in its configuration: the leader's count"))
    });
    let timings = sight.timings.iter().map(|(name, difference)| {
        (name.clone(), format!("{name} has other timings: {difference}"))
    });
    let file = status.differs_from_file.as_ref().filter(|_| !sight.file_lags);
    let file = file.map(|text| ("the members".to_owned(), text.clone()));
    let edited = sight.edited.iter().map(|text| (EDITED.to_owned(), text.clone()));
    locks.chain(timings).chain(file).chain(edited).collect()
}

/// That the leader changes again and again, and who lost the leadership.
fn changed_often(changes: &UnplannedChanges) -> String {
    let (UnplannedChanges { times, why, .. }, losers) = (changes, changes.losers());
    format!(
        "the leader changed {times} times within 10 min, and no operator ordered that (lost by {losers}); the last time: {why}"
    )
}

/// That this node is unhealthy. Right after its start the first check may need its time.
fn unhealthy(health: &HealthStatus, is_settled: bool) -> Option<String> {
    match &health.failure {
        _ if health.healthy => None,
        Some(why) => Some(format!("unhealthy, so this node is not eligible: {why}")),
        None => is_settled
            .then(|| "no health check has ended yet, so this node is not eligible".to_owned()),
    }
}

/// That the job of this node failed, and what follows from that.
fn failed(failure: &FailureStatus) -> String {
    let FailureStatus { until, count, reason, .. } = failure;
    let times = if *count == 1 { String::new() } else { format!(", {count} times in a row") };
    format!(
        "the job failed here{times} ({reason}): until {until} this node leads only if no other can"
    )
}

/// That a job was ended before its leadership was renewed.
fn renewed_late(late: &LateRenewal) -> String {
    let (epoch, at) = (late.epoch, moment(late.at_ms));
    format!(
        "the job of epoch {epoch} was ended at {at}, as no renewal of the leadership came in time: this host, its disk or \
         the network was slow"
    )
}

/// A problem if a member does not answer, or is unreachable.
fn down(member: &MemberStatus) -> Option<String> {
    let MemberStatus { name, passed_over, failed_dial, .. } = member;
    let dial =
        failed_dial.as_ref().map_or_else(String::new, |why| format!("; the last dial: {why}"));
    match (member.liveness(), passed_over) {
        (Some(Liveness::Alive), Some(why)) => {
            Some(format!("{name} is passed over in elections: {why}{dial}"))
        }
        (Some(Liveness::Alive), None) => None,
        (Some(Liveness::Dead), _) => Some(format!("{name} is down: process ended")),
        _ => Some(format!("{name} is down: silent{dial}")),
    }
}

/// What a node that hears nobody knows of itself.
const CUT_OFF: &str =
    "this node hears nobody: it is probably cut off; the others may have a leader";

/// Whether this node hears none of two or more others, and nothing shows that it is not its own network: no process is
/// proven to have ended, no host refused a dial, and no member refuses it.
fn hears_nobody(status: &Status, sight: &Sight) -> bool {
    let others = || status.members.iter().filter(|member| member.id != status.node.id);
    let is_silent = |member: &MemberStatus| member.liveness() == Some(Liveness::Suspected);
    others().count() >= 2
        && others().all(is_silent)
        && !sight.refused
        && !sight.rejected.iter().any(|it| status.member(&it.peer).is_some())
}

/// A problem if no further voter may fail, although the cluster could tolerate a failure.
fn margin(status: &Status) -> Option<String> {
    let (all, alive, needed) = status.voters();
    if !status.by_majority() || alive == all || alive > needed {
        return None;
    }
    let left = format!("{alive} of {all} voters left, {needed} are needed");
    let meaning =
        if alive < needed { "nobody can lead" } else { "no further failure is tolerated" };
    Some(format!("{left}: {meaning}"))
}

/// How many more members may fail, one after another, before nobody can lead.
pub(super) fn tolerated(status: &Status) -> u64 {
    let eligible = |member: &&MemberStatus| member.may_lead() && member.passed_over.is_none();
    let candidates = status.members.iter().filter(eligible).count();
    let (_, alive, needed) = status.voters();
    // A node that cannot write neither votes nor leads: of the others' disks this node knows nothing, and `judge` does.
    let unable = usize::from(status.problem(ProblemKind::Storage).is_some());
    let (alive, candidates) = (alive.saturating_sub(unable), candidates.saturating_sub(unable));
    if status.leader.is_none() { 0 } else { spare(status, alive, needed, candidates) }
}

/// How many it would be if all members were alive and eligible.
pub(super) fn tolerated_at_most(status: &Status) -> u64 {
    let candidates = status.members.iter().filter(|member| member.could_ever_lead()).count();
    let (all, _, needed) = status.voters();
    spare(status, all, needed, candidates)
}

/// How many of these voters and candidates may fail.
fn spare(status: &Status, voters: usize, needed: usize, candidates: usize) -> u64 {
    let candidates = candidates.saturating_sub(1);
    let voters = if status.by_majority() { voters.saturating_sub(needed) } else { candidates };
    voters.min(candidates) as u64
}

#[cfg(test)]
mod tests;

//! `electd status`: how one node sees the cluster, or all nodes in a table.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use crossbeam::channel::RecvTimeoutError;
use electd_facts::held;
use electd_facts::hint::ClusterFlags;
use electd_facts::judge::{Judgement, Verdict};
use electd_facts::orders;
use electd_facts::versions::version;
use electd_facts::words::failures;
use serde_json::{Value, json};

use crate::node::moment;
use crate::node::status::{self, LeaderlessStatus, MemberStatus, RankStatus};

use super::args::{OutputArgs, OutputFormat};
use super::ask::{AskedNode, NodeArgs, Targets, any_answer, judged};
use super::error::CliError;
use super::exit::Exit;
use super::follow;
use super::overview::{fraction, overview, partition, state};
use super::print;
use super::print::counted;
use super::screen::{self, Screen};
use crate::trace::length;

/// The interval of --watch.
const REDRAW: Duration = Duration::from_secs(1);

/// Show the state of one node, or of all.
///
/// Without --node and --admin all members are asked, and each answers in a row of the table. With one of them, that
/// node alone is asked, and shows all that it knows: the guarantee, the members as it sees them, its refusals and
/// their reasons, and the reason of its last change.
///
/// It begins with the verdict of `electd health`, who leads or why nobody does, and the problems, each once: a member
/// that is down, a disk that is full, a file that differs. Each row shows how long the node has been up, how long it
/// takes to acknowledge a heartbeat of the leader, and its version. Below the rows is since when the leader leads, and
/// why its predecessor stopped; then the versions, if they differ, and the orders of operators that are in force: a
/// pause, a switchover, members that are drained or have resigned, takeovers to come. On a terminal the states have
/// colours, unless NO_COLOR is set.
///
/// Exit codes: 0 all is well; 1 there is no leader, a node does not answer, there is a problem, or no further failure is
/// tolerated; 2 two or more nodes lead; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd status --config cluster.json                 all nodes, a row each
  electd status --config cluster.json --node node-1   all that node-1 knows
  electd status --config cluster.json --watch         redrawn every second
  electd status --config cluster.json --verbose       also what is guaranteed
  electd status --admin 127.0.0.1:7201 --output json  as GET /status there")]
pub struct StatusArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Also print the guarantee, in full.
    #[arg(long, short)]
    verbose: bool,

    /// Show it again every second, in place, until Ctrl-C. For changes line by line there is `electd watch`.
    #[arg(long, conflicts_with = "output")]
    watch: bool,
}

impl StatusArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        if self.watch {
            return self.redraw(&targets);
        }
        let asked = targets.ask(&targets.client(None));
        match (self.output.output, asked.as_slice()) {
            (_, [AskedNode { answer: Err(_), .. }]) if targets.one => Ok(()),
            (OutputFormat::Json, [AskedNode { answer: Ok(status), .. }]) if targets.one => {
                print::json(&json!(status))
            }
            (OutputFormat::Json, all) => print::json(&document(all)),
            (OutputFormat::Table, all) => {
                let column = if targets.one { COLUMN } else { 1 };
                let text = shown(all, targets.one, self.verbose, &self.nodes.flags());
                let text = screen::on_terminal(&text, column);
                print::painted(&text)
            }
        }?;
        any_answer(&asked)?;
        match judged(&asked, &self.nodes.flags()).verdict {
            Verdict::Well => Ok(()),
            Verdict::TwoLeaders => Err(CliError::silent(Exit::Outage)),
            _ => Err(CliError::silent(Exit::No)),
        }
    }

    /// Shows the state repeatedly, until Ctrl-C.
    fn redraw(&self, targets: &Targets) -> Result<(), CliError> {
        let (mut screen, ends) = (Screen::open()?, follow::ends()?);
        let client = targets.client(None);
        loop {
            let asked = targets.ask(&client);
            screen.draw(&shown(&asked, targets.one, self.verbose, &self.nodes.flags()))?;
            if ends.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
        }
    }
}

/// For people: all that one node shows; or of all nodes a row each, even if nobody answers, as the rows say why.
fn shown(asked: &[AskedNode], is_one: bool, verbose: bool, flags: &ClusterFlags) -> String {
    match asked {
        [AskedNode { answer: Ok(status), .. }] if is_one => {
            let judgement = judged(asked, flags);
            verdict(&judgement) + &details(status, verbose, &judgement.flags)
        }
        all => overview(all, verbose, flags),
    }
}

/// The verdict by what one node answers, if anything is wrong.
fn verdict(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::Well => String::new(),
        _ => format!("{:<12}{}\n", "verdict", judgement.headline()),
    }
}

/// All nodes, for programs.
fn document(asked: &[AskedNode]) -> Value {
    let node = |asked: &AskedNode| {
        json!({
            "name": asked.name(),
            "admin": asked.target.admin,
            "status": asked.answer.as_ref().ok(),
            "error": asked.answer.as_ref().err().map(ToString::to_string),
        })
    };
    json!({ "nodes": asked.iter().map(node).collect::<Vec<_>>() })
}

/// How far a fact is indented, less one: the space behind its name.
const COLUMN: usize = 11;

/// One node, with all that it knows.
fn details(status: &status::Status, verbose: bool, flags: &ClusterFlags) -> String {
    let mut text = String::new();
    for (key, value) in facts(status, verbose, flags) {
        let _ = writeln!(text, "{key:<12}{value}");
    }
    let header = ["MEMBER", "STATUS", "RTT", "VERSION", "ROLE", "RANK", "ADDRESS", "ID"];
    let _ = write!(text, "\n{}", print::table(&header, status.members.iter().map(member)));
    if !status.rejections.is_empty() {
        let rows = status
            .rejections
            .iter()
            .map(|refusal| vec![refusal.peer.clone(), refusal.reason.clone()]);
        let _ = write!(text, "\n{}", print::table(&["REFUSAL", "REASON"], rows));
    }
    text
}

fn facts(
    status: &status::Status,
    verbose: bool,
    flags: &ClusterFlags,
) -> Vec<(&'static str, String)> {
    let leader = status.named_leader().map_or_else(
        || no_leader(status),
        |leader| format!("{} at {}", leader.name, leader.address),
    );
    let mut facts = vec![
        ("node", own_name(status)),
        ("cluster", cluster(status)),
        ("state", state(status) + if status.stalled { ", stalled" } else { "" }),
        ("leader", leader),
        ("epoch", status.epoch.to_string()),
        ("rank", own_rank(status)),
        ("tolerates", failures(status.failures_tolerated)),
        (
            "failover",
            status.worst_failover_ms.map_or_else(
                || "none: nobody could take over".to_owned(),
                |ms| failovers(ms, status.crash_failover_ms, status.proven_failover_ms),
            ),
        ),
        ("age", length(Duration::from_millis(status.age_ms))),
    ];
    facts.splice(2..2, orders::of_node(status, flags));
    let problems = status.problems.iter().flat_map(|found| {
        let remedy = status.remedy(found, flags).map(|remedy| ("", format!("=> {remedy}")));
        [("problem", problem(found))].into_iter().chain(remedy)
    });
    facts.splice(0..0, problems);
    if verbose {
        facts.push(("guarantee", status.guarantee.clone()));
    }
    facts.extend(own_health(status).map(|health| ("health", health)));
    if let Some(left) = status.lease_remaining_ms {
        facts.push(("lease", format!("{} left", length(Duration::from_millis(left)))));
    }
    if let Some(time) = fraction(status.durable_write_ms) {
        facts.push(("disk", format!("a durable write takes up to {time}")));
    }
    if let Some(differs) = &status.differs_from_file {
        facts.push(("members", differs.clone()));
    }
    facts.extend(
        held::summary(&status.locks_held, status.locks_unheld).map(|locks| ("locks", locks)),
    );
    if let Some(halting) = &status.halting {
        let halter = halting.halter.iter().map(|name| ("halted by", name.clone()));
        facts.extend(halter.chain([("task", counted(halting.task_bytes, "byte"))]));
    }
    facts.extend(status.partition.iter().map(|met| ("partition", partition(met))));
    if let Some(led) = &status.last_leadership {
        let (since, reason) = (moment(led.since_ms), &led.reason);
        facts.push(("led since", format!("{since} by {}, as {reason}", led.leader)));
    }
    if let Some(change) = status.changes.last() {
        let when = moment(change.at_ms);
        facts.push(("last change", format!("{} -> {} at {when}", change.from, change.to)));
        facts.push(("because", change.reason.clone()));
    }
    for (queue, count) in status.dropped.iter().filter(|(_, count)| **count > 0) {
        facts.push(("dropped", format!("{}, {queue}", counted(*count, "message"))));
    }
    facts
}

/// The longest failovers: if the leader dies silently, if its process crashes, and if all its processes are killed.
fn failovers(silent: u64, crash: Option<u64>, killed: Option<u64>) -> String {
    let words = |ms| length(Duration::from_millis(ms));
    let crash = crash.map(|ms| format!("{} after a crash, ", words(ms)));
    let killed = killed.map(|ms| format!("{} if all its processes are killed, ", words(ms)));
    format!("{}{}{} at worst", crash.unwrap_or_default(), killed.unwrap_or_default(), words(silent))
}

fn own_name(status: &status::Status) -> String {
    let (name, version) = (&status.node.name, version(status));
    let uptime = length(Duration::from_millis(status.uptime_ms));
    format!("{name}, electd {version}, start {}, up {uptime}", status.incarnation)
}

fn cluster(status: &status::Status) -> String {
    let status::Status { cluster, members, algorithm, preempt, quorum, .. } = status;
    let members = counted(members.len(), "member");
    format!("{cluster}, {members}, algorithm {algorithm}, preempt {preempt}, quorum {quorum}")
}

/// That no leader is known, for how long, and why.
fn no_leader(status: &status::Status) -> String {
    match &status.leaderless {
        Some(LeaderlessStatus { lasts_ms, reason, .. }) => {
            format!("none known for {}: {reason}", length(Duration::from_millis(*lasts_ms)))
        }
        None => "none known".to_owned(),
    }
}

fn problem(problem: &status::Problem) -> String {
    format!("{}, since {}: {}", problem.kind, problem.since, problem.text)
}

/// The rank that this node is compared by, and its last sample. The two may differ: a rank is frozen for an election,
/// and a leader keeps the rank that it was elected with.
fn own_rank(status: &status::Status) -> String {
    let own = status.members.iter().find(|member| member.id == status.node.id);
    let rank = own.map(|own| rank(&own.rank)).unwrap_or_default();
    format!("{rank} ({})", status.rank_source)
}

/// The result of this node's health check.
fn own_health(status: &status::Status) -> Option<String> {
    let health = status.health.as_ref()?;
    let (word, since) = (if health.healthy { "healthy" } else { "unhealthy" }, &health.since);
    let failure = health.failure.as_ref().map(|why| format!("; {why}"));
    let output = Some(&health.output).filter(|output| !output.is_empty());
    let more = failure.or_else(|| output.map(|output| format!(": {output}"))).unwrap_or_default();
    Some(format!("{word} since {since}{more}"))
}

fn rank(rank: &RankStatus) -> String {
    match (rank.by.as_str(), &rank.value) {
        // The id is its own value, and has a column.
        ("id", _) => "id".to_owned(),
        (by, Value::Null) => format!("{by}, none"),
        (by, Value::String(value)) => format!("{by} {value}"),
        (by, value) => format!("{by} {value}"),
    }
}

fn member(member: &MemberStatus) -> Vec<String> {
    let role =
        if member.eligible { &member.role } else { &format!("{}, not eligible", member.role) };
    let status = match &member.passed_over {
        Some(why) => format!("{}, passed over: {why}", member.status),
        None => member.status.clone(),
    };
    vec![
        member.name.clone(),
        status,
        fraction(member.rtt_ms).unwrap_or_else(|| "-".to_owned()),
        member.version.clone().unwrap_or_else(|| "-".to_owned()),
        role.clone(),
        rank(&member.rank),
        member.address.clone(),
        member.id.clone(),
    ]
}

#[cfg(test)]
mod tests;

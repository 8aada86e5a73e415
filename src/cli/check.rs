//! `electd check`: validates a configuration and explains it.

mod summary;

use std::time::Duration;

use clap::Args;
use electd_facts::clocks::{self, NodeClock};
use serde_json::{Value, json};

use super::args::{ConfigArgs, OutputArgs, OutputFormat};
use super::ask::{Targets, answers};
use super::asker::AskingUser;
use super::engine::NamedEngine;
use super::error::CliError;
use super::exit::Exit;
use super::hosts::{Unresolved, hidden, unresolved};
use super::print::{self, millis};
use super::run::find_group;
use super::urgent::Urgent;
use super::{screen, token};
use crate::config::guarantee::Guarantee;
use crate::config::{Config, HealthConfig, MemberConfig, node_name};
use crate::core::bounds;
use crate::core::settings::{Quorum, Timing};
use crate::core::types::Role;
use crate::exec::deadlines::Deadlines;
use crate::exec::hooks::can_run;
use crate::node::certificates::{self, Judged};
use crate::node::members::{find_state, stored_against_file};
use crate::node::{StartError, checked, ranked};
use crate::rank::{Finding, Sample, SampleResult};
use crate::store::measure;
use crate::trace::length;

/// How long a member may take to connect, and to answer what its clock shows.
const PATIENCE: Duration = Duration::from_secs(1);

/// Validate a configuration; print what its timings guarantee.
///
/// With a node, it samples that node's rank and runs its health check once, on this host, commands included; with
/// --node it also reads the `admin_token_file`. If the members changed since the file was written, as far as this
/// node has stored, it says how. It checks the certificates of `tls`, of this node and of all members whose files are
/// on this host. State of this node under another name is an error, as it is for `run`. It makes a few durable writes
/// where the state of this node is or will be, to measure how long one takes, and leaves nothing behind. It looks up the
/// host names of the members, and warns if that of this node means loopback on its host. All of this it finds as the user
/// that runs it; it says so if the state belongs to another one, as whom the node runs. It asks the members that run now,
/// and names those whose clocks differ by more than a second.
///
/// Every problem of the file is reported in one go, one line each, with line, column, key, value and remedy; the exit
/// code is then 78. It is 1 if the member of --node could not lead, as it has no rank here or its health check is not there.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd check --config cluster.json
  electd check --config cluster.json --node node-1
      also node-1's rank, as this host has it
  sudo -u electd electd check --node a
      as the user of the package's units
  electd check --config cluster.json --output json | jq .worst_failover_ms")]
pub struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Check the lock of this URL instead, as for `exec`: whether its engine answers, and has what it needs.
    #[arg(long, value_name = "URL")]
    lock: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

impl CheckArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(lock) = &self.lock {
            return NamedEngine::new(lock, None)?.check(self.output.output);
        }
        let config = self.config.load()?;
        // The file is valid even if no member is on this host; but a node that was named must be in it.
        let named = self.config.node();
        let node = match node_name(&config, named.as_deref()) {
            Ok(name) => config.member(name),
            Err(error) if named.is_some() => return Err(error.into()),
            Err(_) => None,
        };
        // The node would not start otherwise.
        if let Some(node) = node.filter(|_| named.is_some()) {
            token::configured(&config)?;
            find_group(&config)?;
            find_state(&config, node).map_err(StartError::from)?;
        }
        let certificates = certificates::judge(&config, node.map(|node| node.name.as_str()));
        let unusable = certificates.iter().filter_map(|judged| judged.end.as_ref().err());
        let unusable = unusable.map(String::as_str).collect::<Vec<_>>();
        if !unusable.is_empty() {
            return Err(CliError::new(Exit::Config, unusable.join("\n")));
        }
        let found = node.map(|node| HostFindings {
            node,
            asker: AskingUser::of(&config, node),
            sample: ranked::sample(&config, node),
            health: checked::check(&config, node),
            unresolved: unresolved(&config, node),
            hidden: hidden(&config, node),
            urgent: Urgent::of(&config),
            disk: measure(&config.state_dir(&node.name)).map_err(|error| error.to_string()),
            clocks: clocks_apart(&config),
        });
        match self.output.output {
            OutputFormat::Table => {
                let text = text(&config, found.as_ref(), &certificates);
                print::result(&screen::on_terminal(&text, 3))
            }
            OutputFormat::Json => print::json(&object(&config, found.as_ref(), &certificates)),
        }?;
        match found.filter(|_| named.is_some()).and_then(|found| found.could_never_lead()) {
            Some(why) => Err(CliError::new(Exit::No, why)),
            None => Ok(()),
        }
    }
}

/// The findings about the node of this host.
struct HostFindings<'c> {
    node: &'c MemberConfig,
    /// As whom all of this was found.
    asker: AskingUser,
    sample: SampleResult,
    /// The result of its health check, if it has one.
    health: Option<Finding>,
    /// The other members that it cannot dial.
    unresolved: Vec<Unresolved<'c>>,
    /// Why the others cannot dial it, as far as this host knows.
    hidden: Option<String>,
    urgent: Urgent,
    /// How long a durable write takes where its state is, or why that cannot be measured.
    disk: Result<Duration, String>,
    /// How the clocks of the nodes that run now differ, with what to do, if they do.
    clocks: Option<String>,
}

/// Asks the members that run now what their clocks show.
fn clocks_apart(config: &Config) -> Option<String> {
    let targets = Targets::of(config.clone(), Some(PATIENCE)).ok()?;
    let asked = targets.ask(&targets.client(None));
    let answers = answers(&asked);
    clocks::advice(&clocks::apart(answers.filter_map(NodeClock::of)))
}

impl HostFindings<'_> {
    /// Why the member could not lead whatever happens, although its role lets it. A health check that can be run and fails may
    /// pass at another time.
    fn could_never_lead(&self) -> Option<String> {
        let HostFindings { node, sample, .. } = self;
        if node.role != Role::Member {
            return None;
        }
        let why = match (sample, &node.health) {
            (Err(why), _) => format!("it has no rank: {why}"),
            (_, Some(health)) if !can_run(&health.program) => {
                format!("its health check, {}, cannot be run here", health.program.display())
            }
            _ => return None,
        };
        Some(format!("{} could not lead: {why}", node.name))
    }

    /// Whether the disk is too slow for these timings.
    fn disk_is_slow(&self, config: &Config) -> Option<bool> {
        let limit = bounds::longest_write(&config.timing);
        let time = self.disk.as_ref().ok()?;
        (config.quorum == Quorum::Majority).then(|| *time >= limit)
    }

    /// How fast the disk is, and whether that is enough.
    fn disk_words(&self, config: &Config) -> String {
        let Timing { lease, heartbeat, message, .. } = config.timing;
        let time = match &self.disk {
            Ok(time) => format!("a durable write takes {} here", length(*time)),
            Err(why) => return format!("how long a durable write takes cannot be told: {why}"),
        };
        if self.disk_is_slow(config) != Some(true) {
            return time;
        }
        format!(
            "WARNING: {time}; lease {lease:?} * 9/11 is to be above heartbeat {heartbeat:?} + 2 * message \
             {message:?} + such a write, or elections take several tries: give a longer timing.failure, \
             or another data_dir"
        )
    }
}

/// For people.
fn text(config: &Config, found: Option<&HostFindings>, certificates: &[Judged]) -> String {
    let summary = summary::summary(config, found) + &tls(config, certificates);
    [summary, members(config), timings(config), guarantees(config)].join("\n")
}

/// Whether the members speak TLS, and which certificates need attention.
fn tls(config: &Config, certificates: &[Judged]) -> String {
    let first = certificates.iter().filter_map(|judged| Some((judged.end.as_ref().ok()?, judged)));
    let first = first.min_by_key(|(end, _)| **end);
    let words = match first {
        _ if config.members.iter().all(|member| member.tls.is_none()) => {
            "none: use it in a network that you trust, see docs/security.md".to_owned()
        }
        Some((end, judged)) => {
            let (found, member) = (certificates.len(), &judged.member);
            format!(
                "certificates of {found} members are here; that of {member} ends first, on {end}"
            )
        }
        None => "with certificates that are on other hosts".to_owned(),
    };
    let warnings = certificates.iter().flat_map(|judged| {
        judged
            .warnings()
            .into_iter()
            .map(|warning| format!("{:<11}WARNING: {}: {warning}\n", "", judged.member))
    });
    format!("{:<11}{words}\n", "tls") + &warnings.collect::<String>()
}

fn members(config: &Config) -> String {
    let row = |member: &MemberConfig| {
        vec![
            member.name.clone(),
            member.id.to_string(),
            member.address.clone(),
            member.listen.clone(),
            member.admin.clone().unwrap_or_else(|| "-".to_owned()),
            member.admin_listen.clone().unwrap_or_else(|| "-".to_owned()),
            member.role.name().to_owned(),
            member.rank.attribute.to_string(),
        ]
    };
    let header = ["MEMBER", "ID", "ADDRESS", "LISTEN", "ADMIN", "ADMIN LISTEN", "ROLE", "RANK"];
    print::table(&header, config.members.iter().map(row))
}

fn timings(config: &Config) -> String {
    let timing = &config.timing;
    let job = Deadlines::of(config);
    let row = |name: &str, value: Duration, meaning: &str| {
        let below = value.subsec_nanos() % 1000; // nobody needs nanoseconds
        let value = value - Duration::from_nanos(below.into());
        vec![name.to_owned(), format!("{value:?}"), meaning.to_owned()]
    };
    let rows = [
        row("heartbeat", timing.heartbeat, "between two heartbeats of the leader"),
        row("failure", timing.failure, "silence that makes a suspect"),
        row("message", timing.message, "longest time of one message, its processing included"),
        row("T1", timing.t1(), "wait for an ANSWER: 2 * message"),
        row("T2", timing.t2(), "wait for a COORDINATOR: 2 * T1 + 4 * message"),
        row(
            "stall",
            timing.stall(),
            "a leader this late counts itself as failed: failure - 2 * message",
        ),
        row("lease", timing.lease, "with a majority: for how long a voter promises its vote"),
        row(
            "job term",
            job.term,
            "run -- CMD: TERM comes so long before the leadership ends unrenewed",
        ),
        row("job kill", job.kill, "run -- CMD: KILL comes so long before it ends"),
    ];
    print::table(&["TIMING", "VALUE", "MEANING"], rows)
}

fn guarantees(config: &Config) -> String {
    let sentences = Guarantee::of_config(config, &config.timing).sentences;
    let lines: String = sentences.iter().map(|sentence| format!("  {sentence}\n")).collect();
    format!("GUARANTEE\n{lines}")
}

/// For programs.
fn object(config: &Config, found: Option<&HostFindings>, certificates: &[Judged]) -> Value {
    let node = found.map(|found| found.node);
    let write = found.and_then(|found| found.disk.as_ref().ok());
    let timing = &config.timing;
    let guarantee = Guarantee::of_config(config, &config.timing);
    let member = |member| member_object(member, config.rank.changes());
    json!({
        "cluster": config.cluster,
        "quorum": config.quorum.name(),
        "algorithm": config.algorithm.name(),
        "preempt": config.preempt.to_string(),
        "rank": config.rank.name(),
        "margin": config.margin.to_string(),
        "trust_refused": config.trust_refused,
        "warnings": summary::warnings(config, found, certificates),
        "data_dir": config.data_dir,
        "node": node.map(|node| &node.name),
        "asked_as": found.map(|found| found.asker.name()),
        "state_of": found.and_then(|found| found.asker.other()),
        "differs_from_file": node.and_then(|node| stored_against_file(config, node)),
        "durable_write_ms": write.map(|time| time.as_secs_f64() * 1000.0),
        "disk_is_slow": found.and_then(|found| found.disk_is_slow(config)),
        "realtime": config.realtime,
        "realtime_refused": found.map(|found| found.urgent.refused()),
        "node_rank": found.map(|found| match &found.sample {
            Ok(Sample { value, from }) => json!({ "value": value, "from": from }),
            Err(why) => json!({ "value": null, "from": format!("none: {why}") }),
        }),
        "node_health": found.and_then(|found| found.health.as_ref()).map(|health| json!({
            "passes": health.failure.is_none(),
            "output": health.output,
            "failure": health.failure,
        })),
        "unresolved": found.map(|found| found.unresolved.iter().map(Unresolved::object).collect::<Vec<_>>()),
        "hidden": found.and_then(|found| found.hidden.as_ref()),
        "tls": config.members.iter().any(|member| member.tls.is_some()),
        "certificates": certificates.iter().map(|judged| json!({
            "member": judged.member,
            "ends": judged.end.as_ref().ok().map(ToString::to_string),
            "warnings": judged.warnings(),
        })).collect::<Vec<_>>(),
        "members": config.members.iter().map(member).collect::<Vec<_>>(),
        "timing": {
            "heartbeat_ms": millis(timing.heartbeat),
            "failure_ms": millis(timing.failure),
            "message_ms": millis(timing.message),
            "t1_ms": millis(timing.t1()),
            "t2_ms": millis(timing.t2()),
            "stall_ms": millis(timing.stall()),
            "lease_ms": millis(timing.lease),
            "job_term_ms": millis(Deadlines::of(config).term),
            "job_kill_ms": millis(Deadlines::of(config).kill),
        },
        "guarantee": guarantee.text(),
        "worst_failover_ms": guarantee.worst_failover.map(millis),
        "crash_failover_ms": guarantee.crash_failover.map(millis),
        "proven_failover_ms": guarantee.proven_failover.map(millis),
        "unsteady_adds_ms": guarantee.unsteady.map(millis),
        "dual_leader_window_ms": guarantee.dual_leader_window.map(millis),
    })
}

fn member_object(member: &MemberConfig, changes: bool) -> Value {
    json!({
        "name": member.name,
        "id": member.id.to_string(),
        "address": member.address,
        "listen": member.listen,
        "admin": member.admin,
        "admin_listen": member.admin_listen,
        "role": member.role.name(),
        "rank": member.rank.attribute.to_string(),
        "health": member.health.as_ref().map(health_object),
        "rank_every_ms": changes.then(|| millis(member.rank.every)),
    })
}

fn health_object(health: &HealthConfig) -> Value {
    let mut command = vec![health.program.display().to_string()];
    command.extend(health.arguments.iter().cloned());
    json!({
        "command": command,
        "every_ms": millis(health.every),
        "timeout_ms": millis(health.timeout),
        "fall": health.fall,
        "rise": health.rise,
        "alone": health.alone.name(),
    })
}

#[cfg(test)]
mod tests;

//! `electd check`: validates a configuration and says what it means.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::args::{ConfigArgs, Output, OutputArgs};
use super::error::CliError;
use super::print::{self, millis};
use crate::config::guarantee::Guarantee;
use crate::config::{Config, MemberConfig, node_name};

/// Validate a configuration; print its timings and what they guarantee.
///
/// Every problem of the file is reported in one go, a line each, with line, column, key, value and
/// remedy; the exit code is then 78.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd check --config cluster.json
  electd check --config cluster.json --node node-1     also that node-1 is a member of it
  electd check --config cluster.json --output json | jq .worst_failover_ms")]
pub struct Check {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Check {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let config = self.config.load()?;
        // The file is valid without a node of this host in it; a node that was asked for must be
        // in it.
        let node = match node_name(&config, self.config.node.as_deref()) {
            Ok(name) => config.member(name),
            Err(error) if self.config.node.is_some() => return Err(error.into()),
            Err(_) => None,
        };
        match self.output.output {
            Output::Table => print::result(&text(&config, node)),
            Output::Json => print::json(&object(&config, node)),
        }
    }
}

fn guarantee(config: &Config) -> Guarantee {
    Guarantee::of(config.quorum, &config.timing, config.members.len(), config.trust_refused)
}

/// For people.
fn text(config: &Config, node: Option<&MemberConfig>) -> String {
    [summary(config, node), members(config), timings(config), guarantees(config)].join("\n")
}

fn summary(config: &Config, node: Option<&MemberConfig>) -> String {
    let mut lines = vec![
        ("cluster", config.cluster.clone()),
        ("quorum", config.quorum.name().to_owned()),
        ("algorithm", config.algorithm.name().to_owned()),
        ("preempt", config.preempt.to_string()),
        ("data_dir", config.data_dir.display().to_string()),
    ];
    if let Some(node) = node {
        let state = config.state_dir(&node.name);
        lines.push(("node", format!("{}, its state in {}", node.name, state.display())));
    }
    lines.iter().map(|(key, value)| format!("{key:<11}{value}\n")).collect()
}

fn members(config: &Config) -> String {
    let row = |member: &MemberConfig| {
        vec![
            member.name.clone(),
            member.id.to_string(),
            member.address.clone(),
            member.listen.clone(),
            member.admin.clone().unwrap_or_else(|| "-".to_owned()),
            member.role.name().to_owned(),
        ]
    };
    let header = ["MEMBER", "ID", "ADDRESS", "LISTEN", "ADMIN", "ROLE"];
    print::table(&header, config.members.iter().map(row))
}

fn timings(config: &Config) -> String {
    let timing = &config.timing;
    let row = |name: &str, value: Duration, meaning: &str| {
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
    ];
    print::table(&["TIMING", "VALUE", "MEANING"], rows)
}

fn guarantees(config: &Config) -> String {
    let sentences = guarantee(config).sentences;
    let lines: String = sentences.iter().map(|sentence| format!("  {sentence}\n")).collect();
    format!("GUARANTEE\n{lines}")
}

/// For programs.
fn object(config: &Config, node: Option<&MemberConfig>) -> Value {
    let timing = &config.timing;
    let guarantee = guarantee(config);
    json!({
        "cluster": config.cluster,
        "quorum": config.quorum.name(),
        "algorithm": config.algorithm.name(),
        "preempt": config.preempt.to_string(),
        "trust_refused": config.trust_refused,
        "data_dir": config.data_dir,
        "node": node.map(|node| &node.name),
        "members": config.members.iter().map(member_object).collect::<Vec<_>>(),
        "timing": {
            "heartbeat_ms": millis(timing.heartbeat),
            "failure_ms": millis(timing.failure),
            "message_ms": millis(timing.message),
            "t1_ms": millis(timing.t1()),
            "t2_ms": millis(timing.t2()),
            "stall_ms": millis(timing.stall()),
        },
        "guarantee": guarantee.text(),
        "worst_failover_ms": guarantee.worst_failover.map(millis),
        "proven_failover_ms": guarantee.proven_failover.map(millis),
        "dual_leader_window_ms": guarantee.dual_leader_window.map(millis),
    })
}

fn member_object(member: &MemberConfig) -> Value {
    json!({
        "name": member.name,
        "id": member.id.to_string(),
        "address": member.address,
        "listen": member.listen,
        "admin": member.admin,
        "role": member.role.name(),
    })
}

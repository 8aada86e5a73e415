//! `electd tune`: which `failure` the running cluster bears.

mod words;

use std::thread;
use std::time::Duration;

use clap::Args;
use electd_facts::forecast::least_round;
use electd_facts::tuning::{Tuning, scaled};
use electd_record::delays::MeasuredDelays;
use serde_json::{Value, json};

use super::args::{OutputArgs, OutputFormat};
use super::ask::{AskedNode, NodeArgs, Targets};
use super::error::CliError;
use super::exit::Exit;
use super::print::{self, millis};
use super::watch;
use crate::admin::client::Client;
use crate::config::Config;
use crate::config::guarantee::Guarantee;
use crate::core::settings::Timing;
use crate::realtime::probe::WakeUps;
use crate::trace::length;

/// Show which `failure` the running cluster bears.
///
/// Each node notes how late its election thread looks at its timers; the leader, how long members take to acknowledge its
/// heartbeats: the worst of each ten seconds of the last hour. By that this command says how often a leader that lives would be
/// replaced with a `failure`, and proposes the shortest with which that is expected less than once a month, and which bears twice
/// the worst that was seen. It forecasts by the law of maxima; so it is right if the hosts and the network stay as they were:
/// measure while they are busy. If the nodes have not measured for that long yet, it waits.
///
/// If the file does not have `realtime`, it also measures for 3 s on this host how late an ordinary thread wakes up, and how
/// late one in real time.
///
/// Exit codes: 0 done; 69 a node does not answer, or nobody leads.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd tune --config cluster.json           by the last 10 minutes
  electd tune --config cluster.json --for 1h  by the last hour")]
pub struct TuneArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// How long a time to judge by: 2m to 1h.
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = span)]
    span: Duration,
}

/// What is said of one `failure`.
struct FailureAdvice {
    timing: Timing,
    /// How long a silent host leads on at most, until it is replaced; none where nothing bounds that.
    failover: Option<Duration>,
    /// How many are expected a month.
    false_changes: f64,
}

/// All that is said.
struct Advice<'c> {
    tuning: Tuning,
    config: &'c Config,
    /// The shortest that holds; none if even the longest does not.
    proposed: Option<Duration>,
    /// From short to long: a quarter of what is proposed, half of it, itself, and what the file has.
    failures: Vec<FailureAdvice>,
    /// None if the file has `realtime`, or no member has its state on this host.
    realtime: Option<WakeUps>,
}

impl TuneArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let Some(config) = &targets.config else {
            let what = "name the cluster by --config: what a failure means depends on its timings";
            return Err(CliError::new(Exit::Usage, what));
        };
        let measured = measured(&targets, &targets.client(None), self.span)?;
        let tuning = Tuning::of(&measured, self.span)
            .map_err(|why| CliError::new(Exit::Unavailable, why.to_string()))?;
        let here = config.members.iter().any(|member| config.state_dir(&member.name).is_dir());
        let advice = Advice::of(tuning, config, (here && !config.realtime).then(WakeUps::measure));
        match self.output.output {
            OutputFormat::Table => print::result(&words::text(&advice)),
            OutputFormat::Json => print::json(&advice.object()),
        }
    }
}

/// A time that the nodes remember.
fn span(text: &str) -> Result<Duration, String> {
    let time = watch::time(text)?;
    let (least, most) = (Duration::from_secs(120), Duration::from_secs(3600));
    if (least..=most).contains(&time) { Ok(time) } else { Err("give 2m to 1h".to_owned()) }
}

/// Asks all nodes what they measured, until each has measured for so long.
fn measured(
    targets: &Targets,
    client: &Client,
    time: Duration,
) -> Result<Vec<MeasuredDelays>, CliError> {
    loop {
        let asked = targets.ask_for_any(client)?;
        let delays = |one: &AskedNode| one.further(|address| client.delays(address));
        let measured: Vec<_> = asked.iter().filter_map(delays).collect();
        let shortest = measured.iter().min_by_key(|one| one.time());
        let Some(shortest) = shortest.filter(|one| one.time() < time) else { return Ok(measured) };
        let (node, known) = (&shortest.node, shortest.time());
        let (has, wanted) = (length(known), length(time));
        print::message(&format!(
            "{node} has measured for {has}, and not for {wanted} yet: waiting"
        ));
        thread::sleep(time - known);
    }
}

impl<'c> Advice<'c> {
    fn of(tuning: Tuning, config: &'c Config, realtime: Option<WakeUps>) -> Advice<'c> {
        let at = |failure| scaled(&config.timing, failure);
        let proposed = least_round(|failure| tuning.holds(config.quorum, &at(failure)));
        let shorter = proposed.into_iter().flat_map(|it| [it / 4, it / 2, it]);
        let mut failures: Vec<_> = shorter.chain([config.timing.failure]).collect();
        failures.sort_unstable();
        failures.dedup();
        let one = |failure| {
            let timing = at(failure);
            let guarantee = Guarantee::of_config(config, &timing);
            let false_changes = tuning.false_changes(config.quorum, &timing);
            FailureAdvice { timing, failover: guarantee.worst_failover, false_changes }
        };
        let failures = failures.into_iter().map(one).collect();
        Advice { tuning, config, proposed, failures, realtime }
    }

    /// For programs.
    fn object(&self) -> Value {
        let hosts = self.tuning.hosts.iter().map(|host| {
            json!({
                "node": host.node, "late_ms": millis(host.late), "round_trip_ms": host.round_trip.map(millis)
            })
        });
        let failures = self.failures.iter().map(|it| {
            json!({
                "failure_ms": millis(it.timing.failure), "worst_failover_ms": it.failover.map(millis),
                "false_changes_a_month": it.false_changes
            })
        });
        json!({
            "measured_ms": millis(self.tuning.time()),
            "nodes": hosts.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
            "proposed_ms": self.proposed.map(millis),
            "present_ms": millis(self.config.timing.failure),
            "realtime": self.realtime.as_ref().map(words::object),
        })
    }
}

//! `electd simulate`: runs an election on a simulated network, or tells what would happen to a cluster.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::error::CliError;
use super::exit::Exit;
use super::what_if::{self, WhatIf};
use super::{print, screen, simulated};
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::sim::{Delays, FailedRun, FaultSet, Scenario, Schedule, SimError};
use crate::trace::html::Html;
use crate::trace::json::json;
use crate::trace::svg::{MOST_EVENTS, MOST_NODES as MOST_DRAWN, Svg};

/// The arguments for one election.
const ELECTION: [&str; 7] =
    ["nodes", "attributes", "initiators", "crash", "detected", "no_hierarchy", "delays"];

/// Simulate an election, and show every message of it.
///
/// Nodes are numbered 1 to N; the greater attribute ranks higher, then the greater number. Without --crash all are
/// alive and none leads. Only the initiators start, and the run ends when the election is over. Only the messages of
/// the election are counted, a COORDINATOR if its receiver lives. The same arguments always give the same run.
///
/// With --config it tells instead what would happen to the cluster of that file: who leads, after how long at most, and
/// what is left of the guarantee.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd simulate --nodes 5 --crash 5                 node 1 notices first
  electd simulate --nodes 5 --initiators 4 --crash 5  best case: N - 1 messages
  electd simulate --nodes 5 --initiators 1,2 --crash 5 --detected --output json
  electd simulate --nodes 3 --attributes 10,30,20     ranked by a number of each
  electd simulate --nodes 7 --delays random --seed 7  other delays
  electd simulate --nodes 5 --crash 5 --output svg    a drawing of it
  electd simulate --nodes 5 --crash 5 --output html   a page to step through it
  electd simulate --faults --seed 7                   with crashes and restarts
  electd simulate --faults all --seed 7               and partitions and losses
  electd simulate --config cluster.json --down a,b    who would lead then?
  electd simulate --config cluster.json --cut a,b/c   and if the network split?
  electd simulate --config cluster.json --add 2       and with two more members?")]
pub struct SimulateArgs {
    /// The election algorithm.
    #[arg(long, value_enum, default_value = "bully")]
    algorithm: AlgorithmArg,
    /// The number of nodes.
    #[arg(long, value_name = "N", default_value_t = 5)]
    nodes: usize,
    /// The attribute that ranks the nodes before their numbers do: a number for each, from node 1 on, such as
    /// 3,1,2,5,4. Without it: the numbers alone.
    #[arg(long, value_name = "VALUES", value_delimiter = ',', allow_hyphen_values = true)]
    attributes: Vec<i64>,
    /// The nodes that call the election, such as 1,2. Without it: the lowest live node.
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    initiators: Vec<usize>,
    /// The nodes that died just before the election, such as 5. The best of them led.
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    crash: Vec<usize>,
    /// The others know of the crash beforehand, and do not ask the dead.
    #[arg(long, requires = "crash")]
    detected: bool,
    /// Ring: initiators have no hierarchy, so that all their ballots compete.
    #[arg(long)]
    no_hierarchy: bool,
    /// Whether all messages take the same time, or one drawn from the seed.
    #[arg(long, value_enum, default_value = "lockstep")]
    delays: DelaysArg,
    /// Instead of one election: a random run of a cluster, with starts, crashes, restarts and commands drawn from the
    /// seed, and all invariants checked after every event. With `all`, messages may be late, lost or doubled,
    /// partitions come and go, connections break, processes pause, and clocks drift and step. With `storm` many of
    /// these happen at the same time. With `stay` links, dials, disks and files are broken for good, and some node
    /// must lead all the same.
    #[arg(
        long, value_name = "SET", value_enum, conflicts_with_all = ELECTION,
        num_args = 0..=1, default_missing_value = "model"
    )]
    faults: Option<FaultsArg>,
    /// What a leader needs. With a majority the voters are asked, too; their answers are not counted.
    #[arg(long, default_value = "none", value_parser = quorum())]
    quorum: Quorum,
    /// The seed of all random choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// How the run is printed: with a trace for people, its figures or events for programs, or as a drawing of at most
    /// 40 nodes and 5,000 events.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: SimulationForm,
    #[command(flatten)]
    what_if: WhatIf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AlgorithmArg {
    /// The highest that lives bullies its way to the top.
    Bully,
    /// The bully that halts the others and hands out a task before it leads.
    Halting,
    /// A ballot goes around a ring.
    Ring,
}

impl AlgorithmArg {
    fn kind(self) -> AlgorithmKind {
        match self {
            AlgorithmArg::Bully => AlgorithmKind::Bully,
            AlgorithmArg::Halting => AlgorithmKind::Halting,
            AlgorithmArg::Ring => AlgorithmKind::Ring,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DelaysArg {
    /// All messages take the same time.
    Lockstep,
    /// Drawn from the seed, below the longest that the timings allow.
    Random,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FaultsArg {
    /// The faults that the model of the algorithms allows.
    Model,
    /// All faults of a real cluster, which heal.
    All,
    /// The same, and many faults within one or two times `failure`.
    Storm,
    /// Faults that stay: there must be a leader without a heal.
    Stay,
    /// As `all`, and each member runs a job while it leads: no two jobs run at one instant.
    Jobs,
    /// As `jobs`, with drains that the leader judges, other addresses, and coroners that are replaced.
    Orders,
}

impl FaultsArg {
    fn set(self) -> FaultSet {
        match self {
            FaultsArg::Model => FaultSet::Model,
            FaultsArg::All => FaultSet::All,
            FaultsArg::Storm => FaultSet::Storm,
            FaultsArg::Stay => FaultSet::Stay,
            FaultsArg::Jobs => FaultSet::Jobs,
            FaultsArg::Orders => FaultSet::Orders,
        }
    }
}

fn quorum() -> impl TypedValueParser<Value = Quorum> {
    let names = PossibleValuesParser::new(Quorum::ALL.map(Quorum::name));
    names.try_map(|word| {
        Quorum::ALL
            .into_iter()
            .find(|quorum| quorum.name() == word)
            .ok_or("there is no such quorum")
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SimulationForm {
    /// The trace and a summary, for people.
    #[default]
    Text,
    /// The figures, for programs.
    Json,
    /// The events with their causes, as JSON: docs/trace.md describes them.
    Events,
    /// A sequence diagram of the election, for a page or a browser.
    Svg,
    /// The diagram in a file for a browser, to step through, play, and see what caused what.
    Html,
}

impl SimulationForm {
    /// The option, if the run is drawn.
    fn drawing(self) -> Option<&'static str> {
        match self {
            SimulationForm::Text | SimulationForm::Json | SimulationForm::Events => None,
            SimulationForm::Svg => Some("--output svg"),
            SimulationForm::Html => Some("--output html"),
        }
    }
}

impl SimulateArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.what_if.is_given() {
            return self.forecast();
        }
        match self.faults {
            Some(faults) => self.random_run(faults.set()),
            None => self.election(),
        }
    }

    /// Tells what would happen to the cluster of a file.
    fn forecast(self) -> Result<(), CliError> {
        let form = match self.output {
            SimulationForm::Text | SimulationForm::Json => self.output,
            _ => {
                let what = "what would happen to a cluster is told as --output text or json";
                return Err(CliError::new(Exit::Usage, what));
            }
        };
        let asked = self.what_if.read()?;
        match form {
            SimulationForm::Json => print::json(&what_if::object(&asked)),
            _ => print::result(&screen::on_terminal(&what_if::text(&asked), 2)),
        }
    }

    fn election(self) -> Result<(), CliError> {
        let algorithm = self.algorithm.kind();
        let delays = match self.delays {
            DelaysArg::Lockstep => Delays::Lockstep,
            DelaysArg::Random => Delays::Random,
        };
        let output = self.output;
        if let Some(form) = output.drawing()
            && self.nodes > MOST_DRAWN
        {
            let (nodes, most) = (self.nodes, MOST_DRAWN);
            let what = format!("{form}: {nodes} nodes do not fit a drawing; at most {most} do");
            return Err(CliError::new(Exit::Usage, what));
        }
        let scenario = Scenario {
            algorithm,
            quorum: self.quorum,
            nodes: self.nodes,
            attributes: self.attributes,
            hierarchy: !self.no_hierarchy,
            initiators: self.initiators,
            crashed: self.crash,
            detected: self.detected,
            delays,
            seed: self.seed,
            trace: output != SimulationForm::Json,
        };
        let outcome = scenario.run()?;
        let diagram = || simulated::diagram(&scenario, &outcome);
        match output {
            SimulationForm::Text => print::result(&screen::on_terminal(
                &simulated::election_text(&scenario, &outcome),
                simulated::INDENT,
            )),
            SimulationForm::Json => print::json(&simulated::election_object(&scenario, &outcome)),
            SimulationForm::Events => print::json(&json(&diagram())),
            SimulationForm::Svg => print::result(&Svg(&diagram()).to_string()),
            SimulationForm::Html => print::result(&Html(&diagram()).to_string()),
        }
    }

    fn random_run(self, faults: FaultSet) -> Result<(), CliError> {
        let (seed, output) = (self.seed, self.output);
        let (algorithm, quorum) = (self.algorithm.kind(), self.quorum);
        let schedule =
            Schedule { algorithm, quorum, faults, seed, trace: output != SimulationForm::Json };
        let run = schedule.run();
        if output == SimulationForm::Text {
            let trace = match &run {
                Ok(run) => &run.trace,
                Err(failure) => &failure.trace,
            };
            print::result(&screen::on_terminal(
                &simulated::lines(trace, Duration::MAX),
                simulated::INDENT,
            ))?;
        }
        let run = run.map_err(|failure: FailedRun| CliError::new(Exit::Internal, failure))?;
        refuse_large(output, run.events.len())?;
        let diagram = || simulated::life_diagram(schedule, &run);
        match output {
            SimulationForm::Text => print::result(&simulated::life_text(&run)),
            SimulationForm::Json => print::json(&simulated::life_object(seed, &run)),
            SimulationForm::Events => print::json(&json(&diagram())),
            SimulationForm::Svg => print::result(&Svg(&diagram()).to_string()),
            SimulationForm::Html => print::result(&Html(&diagram()).to_string()),
        }
    }
}

/// A random run of so many events is drawn only if it fits.
fn refuse_large(output: SimulationForm, count: usize) -> Result<(), CliError> {
    let Some(form) = output.drawing().filter(|_| count > MOST_EVENTS) else { return Ok(()) };
    let what = format!(
        "{form}: this run has {count} events, and a drawing at most {MOST_EVENTS}: try another --seed"
    );
    Err(CliError::new(Exit::Usage, what))
}

impl From<SimError> for CliError {
    fn from(error: SimError) -> CliError {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Internal };
        CliError::new(exit, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_more_events_than_a_drawing_has_room_for_is_told_and_not_drawn() {
        for output in [SimulationForm::Text, SimulationForm::Json, SimulationForm::Events] {
            assert_eq!(refuse_large(output, 5001), Ok(()), "{output:?}");
        }
        for (output, form) in [(SimulationForm::Svg, "svg"), (SimulationForm::Html, "html")] {
            assert_eq!(refuse_large(output, 5000), Ok(()));
            let words = format!(
                "--output {form}: this run has 5001 events, and a drawing at most 5000: try another --seed"
            );
            assert_eq!(refuse_large(output, 5001), Err(CliError::new(Exit::Usage, words)));
        }
    }

    #[test]
    fn what_is_wrong_with_the_arguments_is_no_defect_of_electd() {
        let scenario = Scenario { initiators: vec![6], ..Scenario::new(5) };
        let error = CliError::from(scenario.run().unwrap_err());
        let words = "--initiators 6: there is no such node; they are numbered 1 to 5";
        assert_eq!(error, CliError::new(Exit::Usage, words));
    }
}

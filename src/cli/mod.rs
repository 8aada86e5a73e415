//! The command line: one file for each command, and the parts that they share.
//!
//! Results go to stdout, messages to stderr. A command returns `Ok` if it did what was asked, or a [`CliError`] with
//! the exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use signal_hook::consts::SIGHUP;

pub mod args;
mod ask;
mod asker;
mod certificates;
mod check;
mod clocks;
mod completion;
mod crowded;
mod demo;
mod engine;
pub mod error;
mod exec;
pub mod exit;
mod files;
mod first;
mod follow;
mod gaps;
mod groups;
mod health;
mod history;
mod hosts;
mod init;
mod invite;
mod job;
mod join;
mod keeper;
mod keyboard;
mod lab;
mod leader;
mod lock;
mod log;
mod look;
mod manual;
mod meaning;
mod member;
mod nobody;
mod operator;
mod order;
mod overview;
mod period;
mod ports;
pub mod print;
mod record;
mod reload;
mod replay;
mod resign;
mod run;
mod screen;
mod simulate;
mod simulated;
mod status;
mod stop;
mod supervisor;
mod switchover;
mod target;
mod token;
mod trace;
mod tracker;
mod transition;
mod trust;
mod tune;
mod unit;
mod unknown;
mod urgent;
mod waits;
mod watch;
mod watch_lock;
mod what_if;
mod why;
mod why_lock;

use error::CliError;
use exit::Exit;

use crate::core::protocol::VERSION;
use crate::exec::signals;

/// Elects one leader among N processes and keeps it elected.
#[derive(Parser, Debug)]
#[command(name = "electd", version = VERSION, max_term_width = WIDTH, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

/// No line of a help is longer, on a terminal of any width.
const WIDTH: usize = 80;

pub(in crate::cli) const AFTER_HELP: &str = "\
Try it:
  electd demo                               kill one of five nodes: who leads?
  electd init --nodes 3 --out cluster.json  write a cluster of this machine
  electd check --config cluster.json        what it guarantees, and how fast

Exit codes: 0 done; 1 no; 2 usage; 65 state damaged or of a newer format;
66 a file of the node cannot be read; 69 no node answers; 70 internal;
71 cannot listen or have an --address or --cgroup;
73 data directory locked or not writable;
75 not now: leadership not gained in time, or try again; 76 leadership lost;
77 removed; 78 configuration. `run -- CMD` and `exec` pass CMD's own code on.";

#[derive(Subcommand, Debug)]
enum CliCommand {
    Run(run::RunArgs),
    Exec(exec::ExecArgs),
    Demo(demo::DemoArgs),
    Check(check::CheckArgs),
    Tune(tune::TuneArgs),
    Init(init::InitArgs),
    Invite(invite::Invite),
    Join(join::Join),
    Status(status::StatusArgs),
    Leader(leader::LeaderArgs),
    Health(health::HealthArgs),
    History(history::HistoryArgs),
    Trace(trace::TraceArgs),
    Record(record::RecordArgs),
    Replay(replay::ReplayArgs),
    Watch(watch::WatchArgs),
    Why(why::WhyArgs),
    #[command(flatten)]
    Operator(operator::Operator),
    Member(member::MemberArgs),
    Lock(lock::LockArgs),
    Simulate(simulate::SimulateArgs),
    Lab(lab::LabArgs),
    Completions(completion::CompletionsArgs),
    Man(manual::ManArgs),
}

impl CliCommand {
    fn run(self) -> Result<(), CliError> {
        match self {
            CliCommand::Run(run) => run.run(),
            CliCommand::Exec(exec) => exec.run(),
            CliCommand::Demo(demo) => demo.run(),
            CliCommand::Check(check) => check.run(),
            CliCommand::Init(init) => init.run(),
            CliCommand::Invite(invite) => invite.run(),
            CliCommand::Join(join) => join.run(),
            CliCommand::Status(status) => status.run(),
            CliCommand::Leader(leader) => leader.run(),
            CliCommand::Health(health) => health.run(),
            CliCommand::History(history) => history.run(),
            CliCommand::Trace(trace) => trace.run(),
            CliCommand::Record(record) => record.run(),
            CliCommand::Replay(replay) => replay.run(),
            CliCommand::Watch(watch) => watch.run(),
            CliCommand::Why(why) => why.run(),
            CliCommand::Operator(operator) => operator.run(),
            CliCommand::Member(members) => members.run(),
            CliCommand::Lock(lock) => lock.run(),
            CliCommand::Simulate(simulate) => simulate.run(),
            CliCommand::Tune(tune) => tune.run(),
            CliCommand::Lab(lab) => lab.run(),
            CliCommand::Completions(completions) => completions.run(),
            CliCommand::Man(man) => man.run(),
        }
    }
}

/// Runs the command that this process was started with.
#[must_use]
pub fn main() -> ExitCode {
    survive_signals();
    // A process that another one of this program started is called "exe" until now. Only for who lists processes.
    let _ = rustix::thread::set_name(c"electd");
    if let Some(code) = crate::exec::guard::if_asked() {
        return code; // this process is a part of a job
    }
    if let Some(code) = crate::coroner::if_asked() {
        return code;
    }
    if completion::answer() {
        return Exit::Done.into();
    }
    let outcome = engine::if_asked().unwrap_or_else(|| match parse(std::env::args_os()) {
        Ok(cli) => args::check_environment(usage_exit()).and_then(|()| cli.command.run()),
        Err(error) => usage(&error),
    });
    match outcome {
        Ok(()) => Exit::Done.into(),
        Err(CliError { exit, message }) => {
            if !message.is_empty() {
                print::message(&message);
            }
            exit.into()
        }
    }
}

/// Before all else: a signal that is no order to end must not end a process that is about to run a node or a job. A HUP
/// means to read the configuration again, which a node has yet to do.
fn survive_signals() {
    let more: &[i32] = match std::env::args_os().nth(1) {
        Some(command) if command == "run" => &[SIGHUP],
        Some(command) if command == "exec" => &[],
        _ => return,
    };
    if let Err(error) = signals::survive(more) {
        print::message(&format!("electd: signals such as USR1 end this process: {error}"));
    }
}

/// The definitions of all commands. A node keeps the memory that they take, so they are made once in a process.
fn command() -> clap::Command {
    let command = Cli::command();
    let template = groups::template(&command);
    command.help_template(template)
}

/// What a command line says.
fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> clap::error::Result<Cli> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Help and the version are results; all other output of clap is an error of usage.
fn usage(error: &clap::Error) -> Result<(), CliError> {
    if let Some(hint) = unknown::hint(error) {
        return Err(CliError::new(Exit::Usage, hint));
    }
    // If the reader closed the pipe, nobody reads this.
    let _ = error.print();
    if !error.use_stderr() {
        return Ok(());
    }
    Err(CliError::silent(usage_exit()))
}

/// The exit code of a wrong command line or environment. A monitoring system takes 2 for an outage, and this is none.
fn usage_exit() -> Exit {
    let is_health = std::env::args_os().nth(1).is_some_and(|command| command == "health");
    if is_health { Exit::Unknown } else { Exit::Usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        for command in command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("electd {}", command.get_name());
            assert!(help.contains(&example), "{}", command.get_name());
        }
    }

    /// The command lines in a text, without what stands behind them: a description, or another program.
    fn command_lines(text: &str) -> Vec<String> {
        let joined = text.replace("\\\n", "\\");
        let lines = joined
            .lines()
            .map(|line| line.split('\\').map(str::trim).collect::<Vec<_>>().join(" "));
        let commands = lines.filter(|line| line.starts_with("electd "));
        let cut = commands.map(|line| {
            let quote = line.find('\'').unwrap_or(line.len());
            let ends = ["  ", " #", " | ", " > ", " && "];
            let end = ends.into_iter().filter_map(|end| line[..quote].find(end)).min();
            line[..end.unwrap_or(line.len())].to_owned()
        });
        cut.collect()
    }

    /// The words of a line as a shell takes them, if it has no quotes but single ones.
    fn words(line: &str) -> Vec<&str> {
        let pieces = line.split('\'').enumerate();
        let words = pieces.flat_map(|(at, piece)| match at % 2 {
            0 => piece.split_whitespace().collect(),
            _ => vec![piece],
        });
        words.collect()
    }

    #[test]
    fn every_command_line_of_a_help_and_of_the_documentation_is_one_that_electd_takes() {
        let helps = all(command()).into_iter();
        let helps = helps.filter_map(|one| one.get_after_help().map(ToString::to_string));
        let docs = [
            include_str!("../../README.md"),
            include_str!("../../docs/algorithms.md"),
            include_str!("../../docs/engines.md"),
            include_str!("../../docs/exec.md"),
            include_str!("../../docs/guarantees.md"),
            include_str!("../../docs/locks.md"),
            include_str!("../../docs/membership.md"),
            include_str!("../../docs/operations.md"),
            include_str!("../../docs/security.md"),
            include_str!("../../docs/trace.md"),
        ];
        let code = |doc: &str| {
            let lines = doc.lines().filter(|line| line.starts_with("    "));
            lines.collect::<Vec<_>>().join("\n")
        };
        let lines = helps.chain(docs.map(code)).flat_map(|text| command_lines(&text));
        let is_abridged = |line: &str| line.contains("...") || line.contains('[');
        let lines: Vec<String> = lines.filter(|line| !is_abridged(line)).collect();
        assert!(lines.len() > 100, "{}", lines.len());
        for line in lines {
            let refused = parse(words(&line)).err();
            assert!(refused.is_none(), "{line}\n{}", refused.unwrap());
        }
    }

    /// All commands and those below them.
    fn all(command: clap::Command) -> Vec<clap::Command> {
        let below: Vec<_> = command.get_subcommands().cloned().flat_map(all).collect();
        [vec![command], below].concat()
    }

    #[test]
    fn the_help_of_every_command_fits_80_columns() {
        let mut command = command();
        command.build();
        let mut long = Vec::new();
        for mut command in all(command) {
            // clap breaks lines that are too long, which is no way to show an example.
            let written = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let rendered = [command.render_help(), command.render_long_help()];
            let shown = rendered.iter().map(ToString::to_string).collect::<String>();
            let lines = written.lines().chain(shown.lines());
            let found = lines.filter(|line| line.chars().count() > WIDTH);
            long.extend(found.map(|line| format!("{}: {line}", command.get_name())));
        }
        assert!(long.is_empty(), "{long:#?}");
    }
}

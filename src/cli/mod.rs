//! The command line. A stand-in for the room's own, with the commands that ask running nodes.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod args;
mod ask;
pub mod error;
pub mod exit;
mod leader;
pub mod print;
mod resign;
mod status;
mod transition;
mod watch;

use error::CliError;
use exit::Exit;

/// Elects one leader among N processes and keeps it elected.
#[derive(Parser, Debug)]
#[command(name = "electd", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Status(status::Status),
    Leader(leader::Leader),
    Watch(watch::Watch),
    Resign(resign::Resign),
}

impl Command {
    fn run(self) -> Result<(), CliError> {
        match self {
            Command::Status(status) => status.run(),
            Command::Leader(leader) => leader.run(),
            Command::Watch(watch) => watch.run(),
            Command::Resign(resign) => resign.run(),
        }
    }
}

/// Runs the command that this process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = match Cli::try_parse() {
        Ok(cli) => cli.command.run(),
        Err(error) => error.exit(),
    };
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

//! `electd completions`: shells ask this program how a command line may go on, so that they know the members of the
//! configuration file, too.

use clap::Args;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use super::error::CliError;
use super::exit::Exit;
use super::print;

/// A shell that asks sets this variable to its name.
const VARIABLE: &str = "ELECTD_COMPLETE";

/// Print the completions of a shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(electd completions bash)      for this shell
  electd completions bash > /usr/share/bash-completion/completions/electd
  electd completions zsh > /usr/share/zsh/site-functions/_electd")]
pub struct CompletionsArgs {
    /// The shell that is to read them.
    shell: Shell,
}

impl CompletionsArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let name = self.shell.to_string();
        let mut script = Vec::new();
        let shells = Shells::builtins();
        let shell = shells.completer(&name);
        let written = shell.map(|shell| {
            shell.write_registration(VARIABLE, "electd", "electd", "electd", &mut script)
        });
        match written {
            Some(Ok(())) => print::result(&String::from_utf8_lossy(&script)),
            _ => Err(CliError::new(Exit::Internal, format!("there are no completions for {name}"))),
        }
    }
}

/// Answers a shell that asks how a command line goes on. Tells whether one did.
pub fn answer() -> bool {
    let asked = CompleteEnv::with_factory(super::command).var(VARIABLE);
    asked.try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref()).unwrap_or(true)
}

//! `electd completions` and `electd man`: the files that a package installs besides the program, made from the
//! definitions of the commands.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Print the completions of a shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd completions bash > /usr/share/bash-completion/completions/electd
  electd completions zsh > /usr/share/zsh/site-functions/_electd")]
pub struct Completions {
    /// The shell that is to read them.
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "electd", &mut script);
        print::result(&String::from_utf8_lossy(&script))
    }
}

/// Print the manual page, or write the pages of all commands to a folder.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd man | man -l -
  electd man --out /usr/share/man/man1")]
pub struct Man {
    /// The folder for the pages: electd.1, electd-run.1 and so on. It is created if it is missing.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Some(folder) = self.out else {
            let mut page = Vec::new();
            // Writing to memory does not fail.
            let _ = clap_mangen::Man::new(super::command()).render(&mut page);
            return print::result(&String::from_utf8_lossy(&page));
        };
        let written = fs::create_dir_all(&folder)
            .and_then(|()| clap_mangen::generate_to(super::command(), &folder));
        written.map_err(|error| {
            let folder = folder.display();
            let what =
                format!("the manual cannot be written to {folder}: {error}; name another --out");
            CliError::new(Exit::Usage, what)
        })
    }
}

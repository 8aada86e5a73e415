//! `electd man`: the manual that a package installs besides the program, made from the definitions of the commands.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Print the manual page, or write those of all commands.
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

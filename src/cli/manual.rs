//! `electd man`: the manual that a package installs besides the program, made from the definitions of the commands and from
//! the reference.

mod file;
mod page;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Print the manual page, or write all pages.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd man | man -l -
  electd man --out pages")]
pub struct ManArgs {
    /// The folder for the pages: electd.1, electd-run.1 and so on, and electd.json.5. It is created if it is missing.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Some(folder) = self.out else {
            return print::result(&page::of(&super::command()));
        };
        write_all(&folder).map_err(|error| {
            let folder = folder.display();
            let what =
                format!("the manual cannot be written to {folder}: {error}; name another --out");
            CliError::new(Exit::Usage, what)
        })
    }
}

/// Writes the page of each command, and that of the file.
fn write_all(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in page::all() {
        fs::write(folder.join(format!("{name}.1")), text)?;
    }
    fs::write(folder.join("electd.json.5"), file::page())
}

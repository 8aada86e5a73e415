//! The token that commands from other hosts need, in a file of its own.

use std::path::Path;

use super::error::CliError;
use super::exit::Exit;
use crate::config::Config;

/// The token of the configuration, if it names a file for one.
///
/// # Errors
/// If that file cannot be read, or is empty.
pub fn configured(config: &Config) -> Result<Option<String>, CliError> {
    let read = |file| read("admin_token_file", file, Exit::Config);
    config.admin_token_file.as_deref().map(read).transpose()
}

/// The token in the file that this flag names.
///
/// # Errors
/// If that file cannot be read, or is empty.
pub fn named(flag: &str, file: &Path) -> Result<String, CliError> {
    read(flag, file, Exit::Usage)
}

fn read(what: &str, file: &Path, exit: Exit) -> Result<String, CliError> {
    let shown = file.display();
    match std::fs::read_to_string(file) {
        Ok(token) if token.trim().is_empty() => {
            Err(CliError::new(exit, format!("{what} {shown} is empty: write a token")))
        }
        Ok(token) => Ok(token.trim().to_owned()),
        Err(error) => Err(CliError::new(
            exit,
            format!("cannot read {what} {shown}: {error}; name a file that you may read"),
        )),
    }
}

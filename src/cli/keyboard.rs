//! The keyboard of a terminal, key by key.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::error::CliError;
use super::exit::Exit;

/// Without these a terminal gives each key at once and shows none, Ctrl-C included.
fn by_line() -> LocalModes {
    LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG
}

/// The terminal gives each key at once, until this is dropped.
pub struct Keyboard(());

impl Keyboard {
    /// Takes the keys of the terminal.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn take() -> Result<Keyboard, CliError> {
        let what = |error| format!("cannot read the keys of the terminal: {error}");
        change(|modes| modes.remove(by_line()))
            .map_err(|error| CliError::new(Exit::Internal, what(error)))?;
        Ok(Keyboard(()))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        cooked();
    }
}

/// The terminal gives whole lines again, if stdout is one that is still there.
pub fn cooked() {
    let _ = change(|modes| modes.insert(by_line()));
}

fn change(of: impl FnOnce(&mut LocalModes)) -> io::Result<()> {
    let terminal = io::stdout();
    let mut modes = tcgetattr(&terminal)?;
    of(&mut modes.local_modes);
    Ok(tcsetattr(&terminal, OptionalActions::Now, &modes)?)
}

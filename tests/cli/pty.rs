//! A terminal: what a command shows on it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal that shows colours.
pub struct Terminal {
    /// What a process has of it.
    side: Option<File>,
    shown: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// One with so many lines and columns.
    pub fn of(ws_row: u16, ws_col: u16) -> Terminal {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        tcsetwinsize(&near, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true);
        let side = options.custom_flags(OFlags::NOCTTY.bits().cast_signed()).open(name).unwrap();
        let (mut near, shown) = (File::from(near), Arc::<Mutex<String>>::default());
        let shows = shown.clone();
        // Ends when nobody has the other side any more.
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = near.read(&mut bytes) {
                shows.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Terminal { side: Some(side), shown, reader: Some(reader) }
    }

    /// For a stream of a process.
    pub fn stdio(&self) -> Stdio {
        self.side.as_ref().expect("it is in use").try_clone().unwrap().into()
    }

    /// What it shows now.
    pub fn shows(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// All that it shows in lines, once the processes that have it have ended.
    pub fn all(&mut self) -> String {
        drop(self.side.take());
        self.reader.take().map(JoinHandle::join).expect("it is in use").unwrap();
        self.shows().replace("\r\n", "\n")
    }
}

/// The command, for a terminal that shows colours, whatever that of the tester shows.
pub fn on_terminal(command: &mut Command) -> &mut Command {
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").stdin(Stdio::null())
}

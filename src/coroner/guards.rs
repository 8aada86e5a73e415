//! The guards of jobs: each registers before its job begins, and says at its end that nothing of the job is left.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{socket, still};
use crate::net::unix;

/// The socket in the state folder by which guards register.
const FILE: &str = "guards.sock";

/// What a guard says when nothing of its job is left.
const CLEAN: u8 = b'c';

/// What a guard hears.
const REGISTERED: u8 = b'r';
const REFUSED: u8 = b'n';

/// How many guards, and others, may be connected. A node has at most 65 guards.
const MOST: usize = 96;

/// The socket of the node whose state is in this folder.
#[must_use]
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Where a guard registers before its job begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The socket.
    pub socket: PathBuf,
    /// The incarnation of the node that the guard works for.
    pub incarnation: u64,
}

/// The guard's side of its connection.
#[derive(Debug)]
pub struct Registered(UnixStream);

impl Registered {
    /// Registers this process; nothing of its job may have begun. Returns none if the coroner is gone and has certified
    /// nothing, and thus never will; one that does not answer for half of `timeout` is killed, as a job waits for none.
    ///
    /// # Errors
    /// If the coroner does not answer and may not be killed, or refuses: the node has died. The job must not begin then.
    /// `timeout` must not be zero.
    pub fn new(at: &Register, timeout: Duration) -> io::Result<Option<Registered>> {
        let timeout = half(timeout);
        let Some(stream) = connect(at, timeout)? else { return Ok(None) };
        let mut registered = Registered(stream);
        match registered.ask(at.incarnation, timeout) {
            Ok(REGISTERED) => Ok(Some(registered)),
            Ok(_) => Err(io::Error::other("the node has died")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let ended = still::end(&registered.0, Duration::ZERO, timeout);
                registered.leave_clean(); // if it goes on nevertheless
                ended?;
                // It may have gone on, and certified the death, in the instant before it was killed.
                match connect(at, timeout)? {
                    None => Ok(None),
                    Some(_) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn ask(&mut self, incarnation: u64, timeout: Duration) -> io::Result<u8> {
        self.0.set_read_timeout(Some(timeout))?;
        self.0.set_write_timeout(Some(timeout))?;
        self.0.write_all(&incarnation.to_le_bytes())?;
        let mut answer = [0];
        self.0.read_exact(&mut answer)?;
        Ok(answer[0])
    }

    /// Nothing of the job is left. Without this word the death of the node is never certified.
    pub fn leave_clean(mut self) {
        let _ = self.0.write_all(&[CLEAN]); // a coroner that has ended needs no word
    }
}

/// Half of a time, which is not zero: the system would take that for no limit.
fn half(timeout: Duration) -> Duration {
    (timeout / 2).max(Duration::from_nanos(1))
}

/// Connects to the coroner; none if it is gone and has certified nothing.
///
/// A coroner that certifies a death removes the file before it closes the socket. So one whose file is still there was
/// killed, or ended in silence. The first refusal may have come between the two steps, the second one may not.
fn connect(at: &Register, timeout: Duration) -> io::Result<Option<UnixStream>> {
    let is_refused = |error: &io::Error| error.kind() == ErrorKind::ConnectionRefused;
    let again =
        |error| if is_refused(&error) { unix::connect(&at.socket, timeout) } else { Err(error) };
    match unix::connect(&at.socket, timeout).or_else(again) {
        Err(error) if is_refused(&error) => Ok(None),
        connected => connected.map(Some),
    }
}

/// The coroner's side of all connections.
pub(super) struct Guards {
    /// None once a death is certified.
    listener: Option<UnixListener>,
    incarnation: u64,
    /// The oldest first.
    lines: Vec<Line>,
    is_unclean: bool,
}

/// One connection.
struct Line {
    stream: UnixStream,
    /// Whether it is a guard's.
    is_registered: bool,
}

/// What a connection turned out to be.
enum Heard {
    /// Nothing new.
    Nothing,
    /// A guard that registered.
    Guard,
    /// It is not needed any more.
    Over,
    /// A guard that ended without a word.
    Unclean,
}

impl Guards {
    /// Listens in the folder that this process works in.
    pub fn listen(incarnation: u64, group: Option<u32>) -> io::Result<Guards> {
        let listener = socket::listen(Path::new(FILE), group)?;
        Ok(Guards { listener: Some(listener), incarnation, lines: Vec::new(), is_unclean: false })
    }

    /// The descriptors that tell news.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let lines = self.lines.iter().map(|line| line.stream.as_fd());
        self.listener.iter().map(AsFd::as_fd).chain(lines)
    }

    /// Hears all that they have said until now. A guard whose node has died is refused: its job must not begin.
    pub fn hear(&mut self, node_lives: bool) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) {
            self.take(stream);
        }
        let lines = std::mem::take(&mut self.lines);
        for mut line in lines {
            match line.hear(self.incarnation, node_lives) {
                Heard::Nothing => self.lines.push(line),
                Heard::Guard => self.lines.push(Line { is_registered: true, ..line }),
                Heard::Over => {}
                Heard::Unclean => self.is_unclean = true,
            }
        }
    }

    /// Takes a connection in; the oldest one goes that has not registered, if there are too many.
    fn take(&mut self, stream: UnixStream) {
        if self.lines.len() >= MOST {
            match self.lines.iter().position(|line| !line.is_registered) {
                Some(oldest) => _ = self.lines.remove(oldest),
                None => return,
            }
        }
        if stream.set_nonblocking(true).is_ok() {
            self.lines.push(Line { stream, is_registered: false });
        }
    }

    /// Whether a guard vanished without its last word: something of its job may be left.
    pub fn is_unclean(&self) -> bool {
        self.is_unclean
    }

    /// Whether nothing is left of any job.
    pub fn are_clean(&self) -> bool {
        !self.is_unclean && !self.lines.iter().any(|line| line.is_registered)
    }

    /// From now on no guard registers. The file goes first: a guard that finds it and is refused may begin. In a folder
    /// that cannot be written the socket stays open, and each guard is refused by a word.
    pub fn close(&mut self) {
        match std::fs::remove_file(FILE) {
            Err(error) if error.kind() != ErrorKind::NotFound => {}
            _ => self.listener = None,
        }
        self.lines.clear();
    }
}

impl Line {
    /// Reads what was said, and answers it.
    fn hear(&mut self, incarnation: u64, node_lives: bool) -> Heard {
        let mut word = [0; 16];
        let later = [ErrorKind::WouldBlock, ErrorKind::Interrupted];
        let said = match self.stream.read(&mut word) {
            Err(error) if later.contains(&error.kind()) => return Heard::Nothing,
            said => said.map_or(&[][..], |count| &word[..count]),
        };
        if self.is_registered {
            return if said == [CLEAN] { Heard::Over } else { Heard::Unclean };
        }
        let may = node_lives && said == incarnation.to_le_bytes();
        let answer = if may { REGISTERED } else { REFUSED };
        // A guard that does not hear the answer begins nothing.
        match self.stream.write_all(&[answer]) {
            Ok(()) if may => Heard::Guard,
            _ => Heard::Over,
        }
    }
}

#[cfg(test)]
mod tests;

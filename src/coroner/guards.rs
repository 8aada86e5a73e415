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

    /// From now on no guard registers. The file goes first: a guard that finds it and is refused may begin.
    pub fn close(&mut self) -> io::Result<()> {
        if self.listener.is_some() {
            std::fs::remove_file(FILE)?;
            self.listener = None;
            self.lines.clear();
        }
        Ok(())
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
mod tests {
    use std::thread;

    use super::*;

    const INCARNATION: u64 = 7;

    /// Registers in this folder.
    fn register(folder: &Path) -> io::Result<Option<Registered>> {
        let at = Register { socket: path(folder), incarnation: INCARNATION };
        Registered::new(&at, Duration::from_secs(100))
    }

    /// Registers with whoever answers this, and ends.
    fn answered(answer: &[u8]) -> io::Result<Option<Registered>> {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(path(folder.path())).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut said = [0; 8];
                stream.read_exact(&mut said).unwrap();
                assert_eq!(u64::from_le_bytes(said), INCARNATION);
                stream.write_all(answer).unwrap();
            });
            register(folder.path())
        })
    }

    /// A job whose guard nobody knows would still run when the death of its node has been certified.
    #[test]
    fn a_guard_begins_if_it_is_known_or_if_nobody_will_ever_certify() {
        assert!(answered(&[REGISTERED]).unwrap().is_some());
        for refusal in [&[REFUSED][..], b"?", b""] {
            assert!(answered(refusal).is_err(), "{refusal:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(register(folder.path()).is_err(), "it has certified: the file is gone");
        drop(UnixListener::bind(path(folder.path())).unwrap());
        assert!(register(folder.path()).unwrap().is_none(), "it was killed: the file is there");
    }

    #[test]
    fn a_guard_has_half_of_its_time_left_when_its_coroner_does_not_answer() {
        assert_eq!(half(Duration::from_secs(9)), Duration::from_millis(4500));
        assert_eq!(half(Duration::from_nanos(1)), Duration::from_nanos(1), "0 would be no limit");
    }

    /// The coroner's side, with nobody connected.
    fn guards() -> Guards {
        Guards { listener: None, incarnation: INCARNATION, lines: Vec::new(), is_unclean: false }
    }

    /// Somebody who connects and says this.
    fn says(guards: &mut Guards, said: &[u8], node_lives: bool) -> UnixStream {
        let (mut stream, far) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        stream.write_all(said).unwrap();
        guards.take(far);
        guards.hear(node_lives);
        stream
    }

    fn guard(guards: &mut Guards) -> UnixStream {
        says(guards, &INCARNATION.to_le_bytes(), true)
    }

    /// What somebody has heard; nothing if the connection has ended.
    fn heard(mut stream: &UnixStream) -> Option<u8> {
        let mut answer = [0];
        stream.read_exact(&mut answer).ok().map(|()| answer[0])
    }

    #[test]
    fn only_a_guard_of_this_life_of_a_node_that_lives_is_taken() {
        let (own, other) = (INCARNATION.to_le_bytes(), (INCARNATION - 1).to_le_bytes());
        for (said, node_lives, answer) in [
            (&own[..], true, REGISTERED),
            (&own[..], false, REFUSED),
            (&other[..], true, REFUSED),
            (&b"GET /"[..], true, REFUSED),
        ] {
            let mut guards = guards();
            let stream = says(&mut guards, said, node_lives);
            assert_eq!(heard(&stream), Some(answer), "{said:?}");
            assert_eq!(guards.are_clean(), answer == REFUSED, "{said:?}");
        }
    }

    #[test]
    fn all_is_clean_once_each_guard_has_said_so() {
        let mut guards = guards();
        let all = [(); 2].map(|()| guard(&mut guards));
        drop(says(&mut guards, b"", true));
        for guard in all {
            assert!(!guards.are_clean());
            Registered(guard).leave_clean();
            guards.hear(false);
        }
        assert!(guards.are_clean() && !guards.is_unclean());
    }

    /// What is left of its job, nobody knows.
    #[test]
    fn a_guard_that_ends_without_its_last_word_is_never_forgotten() {
        for last in [&b""[..], b"?", b"cc"] {
            let mut guards = guards();
            let (mut ends, clean) = (guard(&mut guards), guard(&mut guards));
            ends.write_all(last).unwrap();
            drop(ends);
            Registered(clean).leave_clean();
            guards.hear(true);
            guards.hear(true);
            assert!(guards.is_unclean() && !guards.are_clean(), "{last:?}");
        }
    }

    /// 64 of `exec` and the node's own, beside strangers who say nothing.
    #[test]
    fn all_guards_of_a_node_are_taken_however_many_strangers_connect() {
        let mut guards = guards();
        let strangers: Vec<_> = (0..MOST).map(|_| says(&mut guards, b"", true)).collect();
        let all: Vec<_> = (0..65).map(|_| guard(&mut guards)).collect();
        assert!(all.iter().all(|guard| heard(guard) == Some(REGISTERED)));
        let more: Vec<_> = (0..MOST).map(|_| says(&mut guards, b"", true)).collect();
        let registered = guards.lines.iter().filter(|line| line.is_registered).count();
        assert_eq!((registered, guards.lines.len()), (65, MOST));
        assert!(!guards.is_unclean());
        drop((strangers, more));
        guards.hear(true);
        let late: Vec<_> = (65..MOST).map(|_| guard(&mut guards)).collect();
        assert_eq!(heard(&guard(&mut guards)), None, "there is no room");
        drop(late);
    }
}

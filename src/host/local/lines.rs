//! Words by a stream: one line each. Descriptors come with the line that speaks of them.

use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::passing::{self, LONGEST, Received};

fn line(word: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes a word.
///
/// # Errors
/// If the other side has ended, or does not read in the time of the stream.
pub fn write(mut out: impl Write, word: &impl Serialize) -> io::Result<()> {
    out.write_all(&line(word)?)
}

/// Writes a word, and passes these descriptors on.
///
/// # Errors
/// As [`write()`].
pub fn pass(out: impl AsFd, word: &impl Serialize, given: &[BorrowedFd<'_>]) -> io::Result<()> {
    passing::send(out, &line(word)?, given)
}

/// Reads a word; none at the end of the stream.
///
/// # Errors
/// When the line is no such word.
pub fn read<T: DeserializeOwned>(lines: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if lines.take(LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

/// Descriptors that came with lines, or why they did not.
pub type GivenDescriptors = Arc<Mutex<io::Result<Vec<OwnedFd>>>>;

/// A stream that takes descriptors.
pub struct PassedLines {
    stream: UnixStream,
    given: GivenDescriptors,
}

impl PassedLines {
    /// By this stream; and where its descriptors are found, those of one word at a time.
    #[must_use]
    pub fn of(stream: UnixStream) -> (PassedLines, GivenDescriptors) {
        let given = Arc::new(Mutex::new(Ok(Vec::new())));
        (PassedLines { stream, given: given.clone() }, given)
    }
}

impl Read for PassedLines {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Received { count, given } = passing::receive_all(&self.stream, bytes)?;
        if !matches!(&given, Ok(given) if given.is_empty()) {
            *self.given.lock() = given;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_longer_line_is_refused() {
        let line = |length: usize| format!("\"{}\"\n", "x".repeat(length - 3));
        let (longest, longer) = (line(4097), line(4098)); // with its end, which may be missing
        assert!(read::<String>(&mut longest.as_bytes()).unwrap().is_some());
        assert!(read::<String>(&mut longer.as_bytes()).is_err(), "it would fill the memory");
        assert_eq!(read::<String>(&mut &b""[..]).unwrap(), None);
    }

    #[test]
    fn descriptors_come_with_the_line_that_speaks_of_them() {
        let (near, far) = UnixStream::pair().unwrap();
        let (passed, given) = PassedLines::of(far);
        let mut lines = BufReader::new(passed);
        pass(&near, &1, &[near.as_fd(); 2]).unwrap();
        assert_eq!(read(&mut lines).unwrap(), Some(1));
        assert_eq!(std::mem::replace(&mut *given.lock(), Ok(Vec::new())).unwrap().len(), 2);
        write(&near, &2).unwrap();
        assert_eq!(read(&mut lines).unwrap(), Some(2));
        assert!(given.lock().as_ref().is_ok_and(Vec::is_empty));
        drop(near);
        assert_eq!(read::<u8>(&mut lines).unwrap(), None);
    }
}

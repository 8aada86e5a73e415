//! The answers to dials after the death: each gets the certificate at once, whatever the dialer says.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// How many connections stay open until the dialer has read the answer and ends its own; the oldest goes for the next.
const MOST: usize = 32;

/// How many bytes of a dialer are read. If a socket with unread bytes is closed, the kernel discards what was written
/// to it.
const MOST_READ: usize = 64 * 1024;

/// The connections that were answered.
#[derive(Default)]
pub(super) struct AnsweredConnections(VecDeque<Answered>);

struct Answered {
    stream: TcpStream,
    read: usize,
}

impl AnsweredConnections {
    /// Answers all that wait to be accepted.
    ///
    /// # Errors
    /// If the system accepts none any more.
    pub fn give(&mut self, listener: &TcpListener, frame: &[u8]) -> io::Result<()> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => self.answer(stream, frame),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_of_dialer(&error) => {}
                // Perhaps for want of descriptors.
                Err(error) => self.0.pop_front().map(drop).ok_or(error)?,
            }
        }
    }

    fn answer(&mut self, mut stream: TcpStream, frame: &[u8]) {
        let given = stream
            .set_nonblocking(true)
            .and_then(|()| stream.write_all(frame)) // a new socket has room for it
            .and_then(|()| stream.shutdown(Shutdown::Write));
        if given.is_ok() {
            if self.0.len() >= MOST {
                self.0.pop_front();
            }
            self.0.push_back(Answered { stream, read: 0 });
        }
    }

    /// Reads what dialers said, and closes the connections that have ended or said too much.
    pub fn tend(&mut self) {
        self.0.retain_mut(Answered::read_on);
    }

    pub fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        self.0.iter().map(|answered| &answered.stream)
    }
}

impl Answered {
    /// Reads what has come. Returns whether more may.
    fn read_on(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(count) if count > 0 && self.read < MOST_READ => self.read += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                _ => return false,
            }
        }
    }
}

/// Whether it is the connection that failed, and not the socket.
fn is_of_dialer(error: &io::Error) -> bool {
    let kinds = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;
    use crate::testing::alone::alone;

    const FRAME: &[u8] = b"dead";

    /// The coroner's side, and where it is dialed.
    fn listens() -> (AnsweredConnections, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        (AnsweredConnections::default(), listener)
    }

    /// Dials, and is the last one that has got an answer.
    fn dial(answers: &mut AnsweredConnections, listener: &TcpListener) -> TcpStream {
        let dial = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = dial.local_addr().unwrap();
        while answers.streams().last().is_none_or(|last| last.peer_addr().ok() != Some(own)) {
            answers.give(listener, FRAME).unwrap();
        }
        dial
    }

    #[test]
    fn each_dial_is_answered_and_the_oldest_connection_goes_for_the_next() {
        let (mut answers, listener) = listens();
        let dials: Vec<_> = (0..34).map(|_| dial(&mut answers, &listener)).collect();
        assert_eq!(answers.streams().count(), 32);
        for mut dial in &dials {
            let mut told = Vec::new();
            dial.read_to_end(&mut told).unwrap();
            assert_eq!(told, FRAME);
        }
        let oldest_left = answers.streams().next().unwrap().peer_addr().unwrap();
        assert_eq!(oldest_left, dials[2].local_addr().unwrap());
    }

    /// Until then what it says is read: otherwise the kernel would take the answer away.
    #[test]
    fn a_connection_is_open_until_the_dialer_ends_it_or_says_too_much() {
        let (mut answers, listener) = listens();
        let [mut says, mut floods, ends] = [(); 3].map(|()| dial(&mut answers, &listener));
        says.write_all(&[0x16; 4000]).unwrap();
        answers.tend();
        assert_eq!(answers.streams().count(), 3);
        drop(ends);
        floods.set_nonblocking(true).unwrap();
        for _ in 0..10_000 {
            let _ = floods.write(&[0x16; 4096]);
            answers.tend();
        }
        let open = answers.streams().map(|open| open.peer_addr().unwrap());
        assert_eq!(open.collect::<Vec<_>>(), [says.local_addr().unwrap()]);
    }

    #[test]
    fn so_much_is_read_of_a_dialer_and_no_more() {
        let (mut answers, listener) = listens();
        let mut says = dial(&mut answers, &listener);
        let mut say = |count: usize, then: &[usize]| {
            says.write_all(&vec![0x16; count]).unwrap();
            let read = |answers: &AnsweredConnections| {
                answers.0.iter().map(|it| it.read).collect::<Vec<_>>()
            };
            let begun = Instant::now();
            while read(&answers) != then && begun.elapsed() < Duration::from_secs(20) {
                answers.tend(); // what was said may be on its way
            }
            assert_eq!(read(&answers), then);
        };
        let most = 64 * 1024;
        say(most - 1, &[most - 1]);
        say(1, &[most]);
        say(1, &[]);
    }

    /// It may be the connection of one dialer that has failed: the others are to be answered.
    #[test]
    fn a_dialer_that_is_gone_is_no_failure_of_the_socket() {
        for (kind, is_his) in [
            (ErrorKind::ConnectionAborted, true),
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::Interrupted, true),
            (ErrorKind::InvalidInput, false),
            (ErrorKind::OutOfMemory, false),
        ] {
            assert_eq!(is_of_dialer(&kind.into()), is_his, "{kind}");
        }
    }

    /// In a process of its own, as the limit of open files is for all of it.
    #[test]
    fn for_want_of_descriptors_the_oldest_connection_goes() {
        let this = "coroner::answers::tests::for_want_of_descriptors_the_oldest_connection_goes";
        if alone(this).is_some() {
            return;
        }
        let (mut answers, listener) = listens();
        let all = [(); 2].map(|()| dial(&mut answers, &listener));
        let mut late = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut more = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
        setrlimit(Resource::Nofile, limit).unwrap();
        let fill = || std::iter::from_fn(|| File::open("/proc/self/stat").ok()).collect::<Vec<_>>();
        let files = fill();
        answers.give(&listener, FRAME).unwrap();
        let left: Vec<_> = answers.streams().map(|open| open.peer_addr().unwrap()).collect();
        assert_eq!(left, [more.local_addr().unwrap()], "one goes for the look whether more wait");
        for dial in [&mut late, &mut more] {
            let mut told = [0; 4];
            dial.read_exact(&mut told).unwrap();
            assert_eq!(&told, FRAME);
        }
        let last = fill();
        let fails = AnsweredConnections::default().give(&listener, FRAME).unwrap_err();
        assert_eq!(fails.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
        drop((all, files, last));
    }
}

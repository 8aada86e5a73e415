//! Writes the log of a running node to stderr.
//!
//! A line that the kernel takes immediately is written directly. Any other is handed to a thread: a pipe that nobody
//! reads and a terminal that stands still hold up that thread, never the election. The queue is bounded: a line that
//! finds it full is dropped, and the log says how many were.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use rustix::io::{ReadWriteFlags, pwritev2};

/// How many lines may wait.
const QUEUE: usize = 1024;

/// The words about dropped lines.
fn loss(lost: u64) -> String {
    let are = if lost == 1 { "line is" } else { "lines are" };
    format!("{lost} {are} missing here: the log was read too slowly")
}

const STACK: usize = 256 * 1024;

/// How long the end of a process waits for the readers of its log.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Takes the log, line by line.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<JournalState>,
    jobs: Sender<JournalOrder>,
}

struct JournalState {
    out: File,
    /// How many lines were handed over and are not written yet.
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

enum JournalOrder {
    Line(Vec<u8>),
    /// Report when all earlier lines are written.
    Tell(Sender<()>),
}

impl Journal {
    /// Starts the thread "log", which ends with the process.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(out: OwnedFd) -> io::Result<Journal> {
        let (waiting, dropped) = (AtomicUsize::new(0), AtomicU64::new(0));
        let shared = Arc::new(JournalState { out: File::from(out), waiting, dropped });
        let (jobs, ordered) = bounded(QUEUE);
        let its_share = shared.clone();
        let builder = thread::Builder::new().name("log".to_owned()).stack_size(STACK);
        builder.spawn(move || its_share.work(&ordered))?;
        Ok(Journal { shared, jobs })
    }

    /// Has the log report what it counted, and waits until all lines are written, but not for ever: a reader may be
    /// stuck.
    pub fn finish(&self) {
        log::logger().flush();
        let (tell, done) = bounded(1);
        if self.jobs.send_timeout(JournalOrder::Tell(tell), TIMEOUT).is_ok() {
            let _ = done.recv_timeout(TIMEOUT); // the lines that are not read by then are lost
        }
    }

    /// Writes a line with its end, or has it written. Never waits.
    pub fn line(&self, line: &[u8]) {
        let JournalState { out, waiting, dropped } = &*self.shared;
        let in_turn = waiting.load(Ordering::Acquire) == 0;
        let written = if in_turn { write_at_once(out, line) } else { 0 };
        if written < line.len() {
            waiting.fetch_add(1, Ordering::AcqRel);
            if self.jobs.try_send(JournalOrder::Line(line[written..].to_vec())).is_err() {
                waiting.fetch_sub(1, Ordering::AcqRel);
                dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Writes as much as possible without waiting, and returns its length. Nothing if the system cannot tell whether it
/// would have to wait, as for a terminal.
fn write_at_once(out: &File, line: &[u8]) -> usize {
    const AT_ITS_END: u64 = u64::MAX;
    pwritev2(out, &[IoSlice::new(line)], AT_ITS_END, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

impl JournalState {
    /// The main loop of the thread. It could report a failure to write to nobody.
    fn work(&self, jobs: &Receiver<JournalOrder>) {
        let mut out = &self.out;
        for job in jobs {
            match job {
                JournalOrder::Line(line) => {
                    let _ = out.write_all(&line);
                    self.waiting.fetch_sub(1, Ordering::AcqRel);
                }
                JournalOrder::Tell(tell) => _ = tell.send(()),
            }
            let lost = self.dropped.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let _ = writeln!(out, "{}", loss(lost));
            }
        }
    }
}

/// The logger writes each line by one call.
impl Write for Journal {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // it would wait; see `Journal::finish`
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_that_logs_never_waits_and_what_is_lost_is_counted() {
        const LINES: usize = QUEUE + 1000; // more than the queue and the pipe hold
        let (mut reader, writer) = pipe().unwrap();
        let journal = Journal::start(writer.into()).unwrap();
        for number in 0..LINES {
            journal.line(format!("{number:0>99}\n").as_bytes());
        }
        let begun = Instant::now();
        journal.finish(); // nobody reads: it gives up
        assert!(begun.elapsed() >= TIMEOUT, "but not at once");

        let reading = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        // A call gives up on a reader that a busy machine does not run.
        let all_are_read = || {
            while journal.shared.waiting.load(Ordering::Acquire) > 0 {
                journal.finish();
            }
            journal.finish();
        };
        all_are_read();
        journal.line(b"the last\n");
        all_are_read();
        drop(journal); // the last reference to the pipe ends with the thread

        let text = reading.join().unwrap();
        let numbers = text.lines().filter_map(|line| line.parse::<usize>().ok());
        let numbers = numbers.collect::<Vec<_>>();
        assert!(numbers.is_sorted() && numbers[..QUEUE] == (0..QUEUE).collect::<Vec<_>>());
        let lost = text.lines().find(|line| line.contains("missing"));
        assert_eq!(lost.map(str::to_owned), Some(loss((LINES - numbers.len()) as u64)));
        assert_eq!(loss(2), "2 lines are missing here: the log was read too slowly");
        assert_eq!(loss(1), "1 line is missing here: the log was read too slowly");
        assert!(text.ends_with("the last\n"));
    }

    /// The kernel takes a part of it at once, and the thread writes the rest.
    #[test]
    fn a_line_that_is_longer_than_the_pipe_arrives_whole_and_before_the_next() {
        let (mut reader, writer) = pipe().unwrap();
        let journal = Journal::start(writer.into()).unwrap();
        let long: String = (0..50_000).map(|number| format!("{number} ")).collect();
        journal.line(long.as_bytes());
        journal.line(b"the next\n");
        let begun = Instant::now();
        journal.finish(); // nobody reads: it gives up
        assert!(begun.elapsed() >= TIMEOUT, "but not at once");
        drop(journal); // the last reference to the pipe ends with the thread
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert!(text == long + "the next\n", "{} bytes", text.len());
    }

    #[test]
    fn a_line_is_there_when_the_call_returns_if_somebody_can_take_it() {
        let (mut reader, writer) = pipe().unwrap();
        let journal = Journal::start(writer.into()).unwrap();
        journal.line(b"at once\n");
        assert_eq!(journal.shared.waiting.load(Ordering::Acquire), 0);
        let mut line = [0; 8];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"at once\n");
    }
}

//! The log of a running node: lines that a thread of their own writes to stderr.
//!
//! Whoever logs only hands a line over. A pipe that nobody reads and a terminal that stands still
//! hold up this thread, never the election. The queue is bounded: a line that finds it full is
//! dropped, and the log tells how many were.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};

/// How many lines may wait.
const QUEUE: usize = 1024;

/// How long the end of a process waits for those who read its log.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where lines are handed over: each call of `write` is one line.
#[derive(Clone)]
pub struct Journal {
    jobs: Sender<Job>,
    dropped: Arc<AtomicU64>,
}

enum Job {
    Line(Vec<u8>),
    /// Tell when all lines before are written.
    Tell(Sender<()>),
}

impl Journal {
    /// Starts the thread "log", which ends with the process.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Journal> {
        let (jobs, waiting) = bounded(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let gaps = dropped.clone();
        let builder = thread::Builder::new().name("log".to_owned()).stack_size(256 * 1024);
        builder.spawn(move || write_all(&waiting, &gaps, out))?;
        Ok(Journal { jobs, dropped })
    }

    /// Waits until all lines are written, but not for ever: a reader may be stuck.
    pub fn finish(&self) {
        let (tell, told) = bounded(1);
        if self.jobs.send_timeout(Job::Tell(tell), PATIENCE).is_ok() {
            let _ = told.recv_timeout(PATIENCE); // what is not read by then is lost
        }
    }
}

impl Write for Journal {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.jobs.try_send(Job::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // waits for nobody; see `finish`
    }
}

/// The life of the thread. There is nobody left to tell of a failure to write.
fn write_all(jobs: &Receiver<Job>, dropped: &AtomicU64, mut out: impl Write) {
    for job in jobs {
        match job {
            Job::Line(line) => _ = out.write_all(&line),
            Job::Tell(tell) => _ = tell.send(()),
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(out, "{lost} lines are missing from this log: it was read too slowly");
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Takes a line for each permit, and keeps it.
    #[derive(Clone)]
    struct Reader {
        permits: Receiver<()>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.permits.recv(); // once the other end is gone it takes all
            self.text.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_logs_never_waits_and_what_is_lost_is_counted() {
        let (permit, permits) = bounded(0);
        let reader = Reader { permits, text: Arc::default() };
        let mut journal = Journal::start(reader.clone()).unwrap();
        // One that the thread holds, as many as may wait, and more.
        writeln!(journal, "first").unwrap();
        while !journal.jobs.is_empty() {
            thread::yield_now();
        }
        for number in 0..QUEUE + 3 {
            journal.write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        journal.finish(); // nobody reads: it gives up

        drop(permit);
        journal.finish();
        let text = String::from_utf8(reader.text.lock().clone()).unwrap();
        let lines = text.lines().collect::<Vec<_>>();
        assert_eq!(lines[0], "first");
        assert_eq!(lines[1], "3 lines are missing from this log: it was read too slowly");
        assert_eq!(lines[2], "line 0");
        assert_eq!(lines.last(), Some(&format!("line {}", QUEUE - 1).as_str()));
        assert_eq!(lines.len(), QUEUE + 2);
    }
}

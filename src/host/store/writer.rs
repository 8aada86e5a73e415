//! The thread "store", which waits for the disk so that the election thread never does.
//!
//! It waits on new records, or while one could not be written on the next try; it ends when its
//! [`StoreWriter`] is stopped or dropped.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender, TrySendError};
use crossbeam::queue::ArrayQueue;

use super::{Store, StoreError, StoreRecord};
use crate::calls::{Named, THREAD};

/// How long a record that could not be written waits for the next try, unless a newer one comes.
const RETRY: Duration = Duration::from_millis(500);

/// A file that holds one record, which is replaced as a whole.
pub trait RecordFile: Send + 'static {
    type Record: Send + 'static;

    /// The name of the thread that waits for it.
    const THREAD: &'static str;

    /// Makes a record durable. Waits for the disk.
    ///
    /// # Errors
    /// When that fails. The record stored before is intact.
    fn save(&self, record: &Self::Record) -> Result<(), StoreError>;
}

impl RecordFile for Store {
    type Record = StoreRecord;

    const THREAD: &'static str = "store";

    fn save(&self, record: &StoreRecord) -> Result<(), StoreError> {
        Store::save(self, record)
    }
}

/// Records to be made durable, each under a number that grows.
type Slot<R> = ArrayQueue<(u64, R)>;

/// The handle of the thread that owns the [`Store`], or another such file.
///
/// Every record holds all state, so only the newest matters: one that still waits is replaced by
/// the next.
#[derive(Debug)]
pub struct StoreWriter<F: RecordFile = Store> {
    latest: Arc<Slot<F::Record>>,
    wake: Sender<()>,
    thread: JoinHandle<()>,
}

impl<F: RecordFile> StoreWriter<F> {
    /// Starts the thread. It calls `on_done` with the number of each record that became durable,
    /// and with it all smaller numbers are too; and with each failure, after which it tries again.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(
        store: F,
        on_done: impl Fn(Result<u64, StoreError>) + Send + 'static,
    ) -> io::Result<StoreWriter<F>> {
        let latest = Arc::new(Slot::new(1));
        let (wake, woken) = channel::bounded(1);
        let work =
            StoreThread { store, latest: Arc::clone(&latest), woken, complaint: None, on_done };
        let thread =
            thread::Builder::new().name(F::THREAD.to_owned()).spawn(|| work.run()).named(THREAD)?;
        Ok(StoreWriter { latest, wake, thread })
    }

    /// Hands over a record under a number greater than all before, and never waits. False if the
    /// thread is gone.
    pub fn submit(&self, number: u64, record: F::Record) -> bool {
        self.latest.force_push((number, record));
        // Full: the thread has yet to take an earlier call, and will find this record then.
        !matches!(self.wake.try_send(()), Err(TrySendError::Disconnected(())))
    }

    /// Writes what is pending, ends the thread and frees the data directory. Waits for the disk.
    pub fn stop(self) {
        drop(self.wake);
        if self.thread.join().is_err() {
            log::error!("the store thread panicked");
        }
    }
}

/// The thread's data.
struct StoreThread<S: RecordFile, F> {
    store: S,
    latest: Arc<Slot<S::Record>>,
    woken: Receiver<()>,
    /// The failure that was logged last, while it lasts.
    complaint: Option<String>,
    on_done: F,
}

impl<S: RecordFile, F: Fn(Result<u64, StoreError>)> StoreThread<S, F> {
    fn run(mut self) {
        let mut unsaved = None;
        loop {
            let open = self.wait(unsaved.is_some());
            let next = self.latest.pop().or(unsaved);
            unsaved = next.and_then(|(number, record)| self.save(number, record));
            if !open {
                return;
            }
        }
    }

    /// Waits for a call, or for the time of the next try. False when the writer was stopped.
    fn wait(&self, retry: bool) -> bool {
        if !retry {
            return self.woken.recv().is_ok();
        }
        self.woken.recv_timeout(RETRY) != Err(RecvTimeoutError::Disconnected)
    }

    /// Saves a record and reports how it went. Gives the record back if it is to be tried again.
    fn save(&mut self, number: u64, record: S::Record) -> Option<(u64, S::Record)> {
        let result = self.store.save(&record);
        self.log(&result);
        let unsaved = result.is_err().then_some((number, record));
        (self.on_done)(result.map(|()| number));
        unsaved
    }

    /// Logs a failure once, until it changes or ends.
    fn log(&mut self, result: &Result<(), StoreError>) {
        let complaint = result.as_ref().err().map(ToString::to_string);
        if complaint != self.complaint {
            match &complaint {
                Some(complaint) => log::error!(event = "storage"; "{complaint}"),
                None => log::info!(event = "storage"; "the state file can be written again"),
            }
            self.complaint = complaint;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::record::samples::{id, record};
    use super::*;

    /// Far longer than any disk here takes; only a failing test waits for it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    type Done = Receiver<Result<u64, StoreError>>;

    /// A writer whose every report waits until it is taken.
    fn start(dir: &TempDir) -> (StoreWriter, Done) {
        let (store, _) = Store::open(&dir.path().join("node-1"), id(1)).unwrap();
        let (report, done) = channel::bounded(0);
        let writer = StoreWriter::start(store, move |result| report.send(result).unwrap()).unwrap();
        (writer, done)
    }

    fn next(done: &Done) -> Result<u64, StoreError> {
        done.recv_timeout(TIMEOUT).expect("the store thread reports")
    }

    fn stored(dir: &TempDir) -> Option<StoreRecord> {
        Store::open(&dir.path().join("node-1"), id(1)).unwrap().1
    }

    #[test]
    fn a_record_is_durable_when_it_is_acknowledged() {
        let dir = TempDir::new().unwrap();
        let (writer, done) = start(&dir);
        for number in 1..=5 {
            assert!(writer.submit(number, record(number)));
            assert_eq!(next(&done).unwrap(), number);
            let bytes = fs::read(dir.path().join("node-1/state.json")).unwrap();
            assert_eq!(StoreRecord::from_json(&bytes), Ok(record(number)));
        }
        writer.stop();
    }

    #[test]
    fn of_those_that_wait_only_the_newest_is_written() {
        let dir = TempDir::new().unwrap();
        let (writer, done) = start(&dir);
        // The thread is held up by its first report until the others are submitted.
        writer.submit(1, record(1));
        while !writer.latest.is_empty() {
            thread::yield_now();
        }
        for number in 2..=100 {
            writer.submit(number, record(number));
        }
        assert_eq!(next(&done).unwrap(), 1);
        assert_eq!(next(&done).unwrap(), 100);
        writer.stop();
        assert!(done.recv().is_err(), "98 records must not be written one by one");
        assert_eq!(stored(&dir), Some(record(100)));
    }

    #[test]
    fn stopping_writes_what_is_pending_and_frees_the_folder() {
        let dir = TempDir::new().unwrap();
        let (store, _) = Store::open(&dir.path().join("node-1"), id(1)).unwrap();
        let (report, done) = channel::unbounded();
        let writer = StoreWriter::start(store, move |result| report.send(result).unwrap()).unwrap();
        for number in 1..=20 {
            writer.submit(number, record(number));
        }
        writer.stop();
        let acknowledged: Vec<u64> = done.iter().map(Result::unwrap).collect();
        assert!(acknowledged.is_sorted());
        assert_eq!(acknowledged.last(), Some(&20));
        assert_eq!(stored(&dir), Some(record(20)));
    }

    #[test]
    fn a_failure_is_reported_and_tried_again() {
        let dir = TempDir::new().unwrap();
        let (writer, done) = start(&dir);
        let (here, away) = (dir.path().join("node-1"), dir.path().join("away"));
        writer.submit(1, record(1));
        assert_eq!(next(&done).unwrap(), 1);

        fs::rename(&here, &away).unwrap();
        writer.submit(2, record(2));
        assert!(matches!(next(&done), Err(StoreError::Unwritable { .. })));
        // A newer record is tried immediately, and the same one again after a pause.
        writer.submit(3, record(3));
        assert!(next(&done).is_err());
        assert!(next(&done).is_err());

        fs::rename(&away, &here).unwrap();
        let acknowledged = std::iter::repeat_with(|| next(&done)).find_map(Result::ok);
        assert_eq!(acknowledged, Some(3));
        writer.stop();
        assert_eq!(stored(&dir), Some(record(3)));
    }

    /// Each try fails anew, and an operator would read nothing else.
    #[test]
    fn a_failure_is_new_until_it_changes_or_ends() {
        let dir = TempDir::new().unwrap();
        let (store, _) = Store::open(dir.path(), id(1)).unwrap();
        let (latest, woken) = (Arc::new(Slot::new(1)), channel::never());
        let mut work = StoreThread { store, latest, woken, complaint: None, on_done: |_| () };
        let fails = |why: &str| {
            let source = io::Error::other(why.to_owned());
            Err(StoreError::Folder { dir: "/data".into(), source })
        };
        for result in [Ok(()), fails("one"), fails("one"), fails("other"), Ok(()), fails("one")] {
            work.log(&result);
            assert_eq!(work.complaint, result.err().map(|error| error.to_string()));
        }
    }
}

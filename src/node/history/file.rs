//! The file of a node's history, and the thread that writes it: neither the election nor the look for problems
//! waits for this disk. The state of the election is in another file, which is not touched here.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use crossbeam::queue::ArrayQueue;
use log::{info, warn};
use serde::{Deserialize, Serialize};

use super::HistoryEntry;
use crate::calls::{Named, THREAD};
use crate::store::{file, spare};

const FILE: &str = "history.json";
const FORMAT: u64 = 1;

/// More than [`super::KEPT`] leaderships take.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Between two writes: where leaders change all the time, some changes are written together.
const PAUSE: Duration = Duration::from_secs(1);

const STACK: usize = 256 * 1024;

#[derive(Serialize)]
struct WrittenHistory<'a> {
    format: u64,
    leaderships: &'a [HistoryEntry],
}

#[derive(Deserialize)]
#[serde(expecting = "a history")]
struct StoredHistory {
    format: u64,
    leaderships: Vec<HistoryEntry>,
}

/// Reads the history in the folder of a node. A file that cannot be read is put aside, with a warning.
pub fn load(folder: &Path) -> Vec<HistoryEntry> {
    let path = folder.join(FILE);
    let why = match read(&path) {
        Ok(entries) => return entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => error,
    };
    let aside = folder.join(format!("{FILE}.damaged"));
    let shown = path.display();
    match fs::rename(&path, &aside) {
        Ok(()) => warn!(
            event = "history";
            "the history in {shown} cannot be read: {why}; it is now {}, and the history begins anew. The state of \
             this node is another file, and whole",
            aside.display()
        ),
        Err(error) => {
            warn!(event = "history"; "the history in {shown} cannot be read: {why}; nor moved: {error}")
        }
    }
    Vec::new()
}

fn read(path: &Path) -> io::Result<Vec<HistoryEntry>> {
    let mut text = String::new();
    file::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    let StoredHistory { format, leaderships } = serde_json::from_str(&text)?;
    if format != FORMAT {
        let what = format!("its format is {format}, and this version reads {FORMAT}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(leaderships)
}

/// The handle of the thread "history".
#[derive(Debug)]
pub struct HistoryKeeper {
    latest: Arc<ArrayQueue<Arc<Vec<HistoryEntry>>>>,
    wake: Sender<()>,
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl HistoryKeeper {
    /// Starts the thread, which writes to this folder.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(folder: &Path) -> io::Result<HistoryKeeper> {
        let latest = Arc::new(ArrayQueue::new(1));
        let ((wake, woken), (end, ended)) = (bounded(1), bounded(0));
        let writing = Writing { path: folder.join(FILE), latest: latest.clone(), fails: false };
        let builder = thread::Builder::new().name("history".to_owned()).stack_size(STACK);
        let thread = builder.spawn(move || writing.run(&woken, &ended)).named(THREAD)?;
        Ok(HistoryKeeper { latest, wake, end, thread })
    }

    /// Has this written instead of what was written before. Never waits.
    pub fn keep(&self, entries: Arc<Vec<HistoryEntry>>) {
        self.latest.force_push(entries);
        let _ = self.wake.try_send(()); // full: the thread will find this one
    }

    /// Writes what is pending and ends the thread. Waits for the disk.
    pub fn stop(self) {
        drop((self.wake, self.end));
        if self.thread.join().is_err() {
            log::error!("the history thread panicked; this is a defect");
        }
    }
}

/// The thread's data.
struct Writing {
    path: PathBuf,
    latest: Arc<ArrayQueue<Arc<Vec<HistoryEntry>>>>,
    /// Whether the last write failed.
    fails: bool,
}

impl Writing {
    fn run(mut self, woken: &Receiver<()>, ended: &Receiver<()>) {
        while woken.recv().is_ok() {
            self.write();
            if ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        self.write();
    }

    /// Writes the latest, if it is not written yet.
    fn write(&mut self) {
        let Some(entries) = self.latest.pop() else { return };
        let (shown, result) = (self.path.display(), self.replace(&entries));
        match &result {
            Err(error) if !self.fails => warn!(
                event = "history";
                "the history cannot be written to {shown}: {error}; the election goes on without"
            ),
            Ok(()) if self.fails => info!(event = "history"; "the history can be written again"),
            _ => {}
        }
        self.fails = result.is_err();
    }

    fn replace(&self, leaderships: &[HistoryEntry]) -> io::Result<()> {
        let written = WrittenHistory { format: FORMAT, leaderships };
        spare::replace(&self.path, &serde_json::to_vec(&written)?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::node::logged::logged;

    #[test]
    fn a_history_that_cannot_be_written_is_told_once_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let away = folder.path().join("away");
        let latest = Arc::new(ArrayQueue::new(1));
        let mut writing = Writing { path: away.join(FILE), latest: latest.clone(), fails: false };
        let mut write = || {
            latest.force_push(Arc::default());
            logged(|| writing.write()).join("\n")
        };
        let failed = write();
        let shown = folder.path().join("away/history.json");
        let begin = format!("WARN history: the history cannot be written to {}: ", shown.display());
        let end = "; the election goes on without";
        assert!(failed.starts_with(&begin) && failed.ends_with(end), "{failed}");
        assert_eq!(write(), "");
        fs::create_dir(&away).unwrap();
        assert_eq!(write(), "INFO history: the history can be written again");
        assert_eq!(write(), "");
        let mode = || fs::metadata(&shown).unwrap().permissions().mode() & 0o777;
        assert_eq!((fs::read_to_string(&shown).unwrap().as_str(), mode()), (EMPTY, 0o600));
        fs::set_permissions(&shown, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!((write(), mode()), (String::new(), 0o600));
    }

    /// A history without a leadership, in its file.
    const EMPTY: &str = "{\"format\":1,\"leaderships\":[]}";

    #[test]
    fn a_history_that_cannot_be_read_is_told_with_where_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let [file, aside] =
            ["history.json", "history.json.damaged"].map(|name| folder.path().join(name));
        let unread = format!(
            "WARN history: the history in {} cannot be read: its format is 2, and this version reads 1; ",
            file.display()
        );
        let text = EMPTY.replace('1', "2");
        fs::write(&file, &text).unwrap();
        let told = logged(|| assert_eq!(load(folder.path()), []));
        let moved = format!(
            "it is now {}, and the history begins anew. The state of this node is another file, and whole",
            aside.display()
        );
        assert_eq!(told, [unread.clone() + &moved]);
        fs::remove_file(&aside).unwrap();
        fs::create_dir(&aside).unwrap();
        fs::write(&file, &text).unwrap();
        let told = logged(|| assert_eq!(load(folder.path()), []));
        assert!(told.len() == 1 && told[0].starts_with(&(unread + "nor moved: ")), "{told:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "it stays where it is");
        fs::write(&file, "[]").unwrap();
        let why = ": invalid length 0, expected a history at line 1 column 2; nor ";
        let told = logged(|| assert_eq!(load(folder.path()), []));
        assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
        fs::write(&file, EMPTY).unwrap();
        assert_eq!(logged(|| assert_eq!(load(folder.path()), [])), [""; 0]);
        fs::remove_file(&file).unwrap();
        assert_eq!(logged(|| assert_eq!(load(folder.path()), [])), [""; 0], "a first start");
    }

    /// No history is so long: whatever else lies there is not read to its end.
    #[test]
    fn a_history_of_4_mib_is_read_and_a_longer_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        for (length, is_read) in [(4 << 20, true), ((4 << 20) + 1, false)] {
            fs::write(&file, " ".repeat(length - EMPTY.len()) + EMPTY).unwrap();
            load(folder.path());
            assert_eq!(file.exists(), is_read, "or it is put aside");
        }
    }

    /// It rests after each write, and writes again after that.
    #[test]
    fn a_history_is_written_again_and_again_and_once_more_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = HistoryKeeper::start(folder.path()).unwrap();
        let led = |epoch| Arc::new(vec![HistoryEntry::of_a(epoch)]);
        let written = || load(folder.path()).first().map(|entry| entry.epoch);
        let first = std::time::Instant::now();
        for epoch in 1..=3 {
            keeper.keep(led(epoch));
            let begin = std::time::Instant::now();
            while written() != Some(epoch) {
                assert!(begin.elapsed() < PAUSE * 30, "epoch {epoch} is never written");
                thread::sleep(Duration::from_millis(5));
            }
        }
        assert!(first.elapsed() >= Duration::from_secs(2), "it wrote more often than each second");
        keeper.keep(led(4));
        keeper.stop();
        assert_eq!(written(), Some(4));
    }
}

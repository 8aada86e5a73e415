//! The room on the disk of the state, for a thread that must not wait: a disk behind a network may not even answer how much
//! there is.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, Sender};
use electd_facts::status::DiskTrouble;

use super::DiskFault;
use super::pace::{HANGS, disk_trouble};
use crate::calls::{Named, THREAD};

/// How long a look waits for an answer: any disk that does not hang has one by then.
const PATIENCE: Duration = Duration::from_millis(50);

const STACK: usize = 128 * 1024;

/// Asks for the room by the thread "room", which ends once this is dropped; if the disk hangs then, when that answers.
#[derive(Debug)]
pub struct RoomKeeper {
    folder: PathBuf,
    /// None once it is dropped.
    ask: Option<Sender<()>>,
    answers: Receiver<Option<DiskFault>>,
    thread: Option<JoinHandle<()>>,
    /// When the question was asked that has no answer yet.
    asked: Option<Instant>,
    /// The last answer.
    last: Option<DiskFault>,
}

impl RoomKeeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(folder: &Path) -> io::Result<RoomKeeper> {
        let shared = folder.to_path_buf();
        RoomKeeper::asking(folder, move || disk_trouble(&shared))
    }

    fn asking(
        folder: &Path,
        question: impl Fn() -> Option<DiskFault> + Send + 'static,
    ) -> io::Result<RoomKeeper> {
        let ((ask, asked), (answer, answers)) = (channel::bounded(1), channel::bounded(1));
        let work = move || {
            for () in asked {
                if answer.send(question()).is_err() {
                    return;
                }
            }
        };
        let builder = thread::Builder::new().name("room".to_owned()).stack_size(STACK);
        let thread = Some(builder.spawn(work).named(THREAD)?);
        let (folder, ask) = (folder.to_path_buf(), Some(ask));
        Ok(RoomKeeper { folder, ask, answers, thread, asked: None, last: None })
    }

    /// What is wrong if there is so little room that the state may soon not fit, if the file system is read-only, or if it
    /// has not answered for a second; none if that is unknown. Writes nothing, and never waits for long.
    pub fn look(&mut self) -> Option<DiskFault> {
        let patience = if self.asked.is_none() { PATIENCE } else { Duration::ZERO };
        let asked = *self.asked.get_or_insert_with(|| {
            // There is room for one, and none is under way.
            self.ask.iter().for_each(|ask| _ = ask.try_send(()));
            Instant::now()
        });
        if let Ok(answer) = self.answers.recv_timeout(patience) {
            (self.last, self.asked) = (answer, None);
        } else if asked.elapsed() >= HANGS {
            return Some(self.silent(asked.elapsed()));
        }
        self.last.clone()
    }

    fn silent(&self, time: Duration) -> DiskFault {
        let text = format!(
            "the file system of {} has not said for {} s how much room it has; is the disk stuck?",
            self.folder.display(),
            time.as_secs()
        );
        DiskFault { kind: DiskTrouble::Stuck, text }
    }
}

impl Drop for RoomKeeper {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take_if(|_| self.asked.is_none()) {
            let _ = thread.join(); // it panicked, or it has ended
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_does_not_answer_is_a_trouble_until_it_does() {
        let (answer, answers) = channel::unbounded();
        let question = move || answers.recv().unwrap();
        let mut room = RoomKeeper::asking(Path::new("/data"), question).unwrap();
        let full = DiskFault { kind: DiskTrouble::Full, text: "so".to_owned() };
        answer.send(Some(full.clone())).unwrap();
        let answered = |room: &mut RoomKeeper, expected: &Option<DiskFault>| {
            while room.look() != *expected {
                thread::yield_now(); // this machine may be slower than any disk
            }
        };
        answered(&mut room, &Some(full.clone()));
        assert_eq!(room.look(), Some(full), "the last answer, until there is another");
        room.asked = Instant::now().checked_sub(HANGS);
        let told = room.look().unwrap();
        assert_eq!(told.kind, DiskTrouble::Stuck);
        let words = "the file system of /data has not said for 1 s how much room it has; is the disk stuck?";
        assert_eq!(told.text, words);
        answer.send(None).unwrap();
        answered(&mut room, &None);
    }
}

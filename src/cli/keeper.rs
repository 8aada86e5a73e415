//! The recordings that a node leaves by itself: when a thread panics, and when it gets USR1. A thread of its own writes
//! each, so that neither the election nor a signal waits for the disk.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, bounded};
use log::{info, warn};
use parking_lot::Mutex;

use crate::node::NodeHandle;
use crate::node::handle::Handle;
use crate::store::recordings;

/// How long a process that is about to end waits for its recording: the others miss it meanwhile.
const TIMEOUT: Duration = Duration::from_millis(250);

/// One is written at a time, and one more waits: it has all that happened until the last order.
const MOST: usize = 2;

/// Writes recordings of a node.
#[derive(Clone, Default)]
pub struct RecordingKeeper {
    node: Arc<OnceLock<(NodeHandle, PathBuf)>>,
    ordered: Arc<AtomicUsize>,
    turn: Arc<Mutex<()>>,
}

impl RecordingKeeper {
    /// From now on it has this node, whose state is in this folder.
    pub fn attend(&self, node: NodeHandle, state: PathBuf) {
        let _ = self.node.set((node, state)); // a process has one
    }

    /// Has a recording written that was made for this. The receiver ends when it is there, or cannot be.
    pub fn keep(&self, why: &'static str) -> Receiver<()> {
        let (done, ended) = bounded(0);
        if let Some((node, state)) = self.node.get().cloned()
            && self.orders()
        {
            let (ordered, turn) = (self.ordered.clone(), self.turn.clone());
            let write = move || {
                let _turn = turn.lock();
                tell(recordings::write(&state, why, &node.recording()));
                ordered.fetch_sub(1, Ordering::AcqRel);
                drop(done);
            };
            let started = thread::Builder::new().name("flight".to_owned()).spawn(write);
            if let Err(error) = started {
                tell(Err(error));
                self.ordered.fetch_sub(1, Ordering::AcqRel);
            }
        }
        ended
    }

    /// Counts one more, unless enough are ordered.
    fn orders(&self) -> bool {
        let more = |count| (count < MOST).then_some(count + 1);
        self.ordered.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// The same before this process ends.
    pub fn keep_last(&self, why: &'static str) {
        let _ = self.keep(why).recv_timeout(TIMEOUT); // it is too slow, or done
    }
}

fn tell(written: io::Result<PathBuf>) {
    match written {
        Ok(file) => info!(event = "flight"; "a recording is in {}", file.display()),
        Err(error) => warn!(event = "flight"; "a recording cannot be written: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use crossbeam::channel::TryRecvError;

    use super::*;
    use crate::flight::document::Recording;
    use crate::node::example;
    use crate::node::logged::logged;

    /// The keeper of a node, the node, and the folder of its state.
    fn attended() -> (RecordingKeeper, example::Example, tempfile::TempDir) {
        let (node, state) = (example::leader().unwrap(), tempfile::tempdir().unwrap());
        let keeper = RecordingKeeper::default();
        keeper.attend(node.handle(), state.path().to_owned());
        (keeper, node, state)
    }

    #[test]
    fn a_panic_leaves_a_recording_that_can_be_replayed() {
        let (node, state) = (example::leader().unwrap(), tempfile::tempdir().unwrap());
        let keeper = RecordingKeeper::default();
        keeper.keep_last("panic"); // of a process without a node
        keeper.attend(node.handle(), state.path().to_owned());
        let _ = keeper.keep("panic").recv(); // it ends without a word
        let mut files = fs::read_dir(state.path().join(recordings::FOLDER)).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(file.to_str().unwrap().ends_with("-panic.json") && files.next().is_none());
        let recording = Recording::read(&fs::read(&file).unwrap()).unwrap();
        assert!(recording.replay().unwrap().is_same());
        assert_eq!(recording.record.node, "a");
    }

    #[test]
    fn one_recording_is_written_at_a_time_and_one_waits() {
        let (keeper, _node, state) = attended();
        let turn = keeper.turn.lock(); // another one is written
        let ordered = [(); 2].map(|()| keeper.keep("signal"));
        assert!(keeper.keep("signal").recv().is_err(), "at once");
        let waits = ordered.each_ref().map(Receiver::try_recv);
        assert_eq!(waits, [Err(TryRecvError::Empty); 2]);
        assert!(!state.path().join(recordings::FOLDER).exists());
        drop(turn);
        for order in ordered {
            let _ = order.recv(); // it ends without a word
        }
        assert!(state.path().join(recordings::FOLDER).exists());
        assert!(keeper.orders(), "the next one");
    }

    #[test]
    fn a_process_that_ends_does_not_wait_for_a_recording_that_takes_long() {
        let (keeper, _node, _state) = attended();
        let turn = keeper.turn.lock(); // another one is written
        let begun = Instant::now();
        keeper.keep_last("panic");
        assert!(begun.elapsed() >= Duration::from_millis(250), "but not at once");
        drop(turn);
        let _ = keeper.keep("signal").recv(); // both are there
    }

    #[test]
    fn where_a_recording_is_or_why_it_is_not_there_is_told() {
        let told = logged(|| {
            tell(Ok(PathBuf::from("/data/a/flight/1-panic.json")));
            tell(Err(io::Error::other("no room")));
        });
        let lines = [
            "INFO flight: a recording is in /data/a/flight/1-panic.json",
            "WARN flight: a recording cannot be written: no room",
        ];
        assert_eq!(told, lines);
    }
}

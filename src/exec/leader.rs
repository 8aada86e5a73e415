//! The node that a job runs for, in this process or in another, as the job needs it.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam::channel::Receiver;
use log::warn;

use super::equipment::Equipment;
use super::lock;
use crate::node::NodeHandle;
use crate::node::attendance::{Attendance, JobRecord};
use crate::node::handle::{Command, Handle};
use crate::node::leadership::{Change, Hold, Leadership};

/// A node that may lead.
pub trait Leader {
    /// A hold delays the release of its leadership until it is dropped.
    type Hold;

    /// All changes of its leadership from now on.
    fn changes(&self) -> impl Deref<Target = Receiver<Change>>;

    /// Its leadership, if it leads now.
    fn leadership(&self) -> Option<Leadership>;

    /// Delays the release of its leadership, at most this long once the release is wanted. None if that is not
    /// possible now.
    fn hold(&self, most: Duration) -> Option<Self::Hold>;

    /// What the guard of a job needs that begins under this hold, asked for once. Nothing of the job has begun.
    ///
    /// # Errors
    /// With the reason why no job can begin.
    fn equip(&self, hold: &mut Self::Hold) -> io::Result<Equipment>;
    /// Ends a hold, as the job has ended. `is_clean` says whether nothing of the job is left for certain.
    fn release(&self, hold: Self::Hold, is_clean: bool) {
        let _ = is_clean;
        drop(hold);
    }

    /// Has it hand over, if another can lead.
    fn hand_over(&self);

    /// Has it lead only if no other can, for a time, as its job failed in this way.
    fn stand_back(&self, reason: &str);

    /// Has it count that its job of this epoch was ended, as no renewal came in time.
    fn note_late_renewal(&self, epoch: u64) {
        let _ = epoch;
    }

    /// The run of this period ended with this code, for which it held a lock.
    fn end_run(&self, code: u8) {
        let _ = code;
    }

    /// Whether it has ended, so that it never leads again.
    fn is_gone(&self) -> bool;
}

/// The node of this process, as its job needs it.
pub struct OwnNode {
    node: NodeHandle,
    attendance: Attendance,
    /// The file that is locked while anything of a job runs.
    lock: PathBuf,
}

impl OwnNode {
    /// The node that is attended like this, and whose state is in this folder.
    pub(crate) fn new(node: NodeHandle, attendance: Attendance, state: &Path) -> OwnNode {
        OwnNode { node, attendance, lock: lock::path(state) }
    }
}

impl Leader for OwnNode {
    type Hold = (Hold, JobRecord);

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        self.node.leadership_changes()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.node.leadership()
    }

    fn hold(&self, most: Duration) -> Option<Self::Hold> {
        let record = self.attendance.begins(true)?;
        match self.node.hold_for(most) {
            Ok(hold) => Some((hold, record)),
            Err(_) => {
                record.ends_clean();
                None
            }
        }
    }

    fn equip(&self, _: &mut Self::Hold) -> io::Result<Equipment> {
        Equipment::new(&self.lock, &self.attendance)
    }

    fn release(&self, (hold, job): Self::Hold, is_clean: bool) {
        if is_clean {
            job.ends_clean();
        }
        drop(hold);
    }

    fn hand_over(&self) {
        let resigned = self.node.command(Command::Resign { to: None }, Duration::from_secs(1));
        if let Err(error) = resigned {
            warn!("this node leads on: {error}");
        }
    }

    fn stand_back(&self, reason: &str) {
        self.node.stand_back(reason);
    }

    fn note_late_renewal(&self, epoch: u64) {
        self.node.note_late_renewal(epoch);
    }

    fn is_gone(&self) -> bool {
        false // it lives as long as this process
    }
}

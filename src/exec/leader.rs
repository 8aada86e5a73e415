//! The node that a job runs for, in this process or in another, as the job needs it.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam::channel::Receiver;
use log::warn;

use super::equipment::Equipment;
use super::lock;
use crate::node::handle::{Command, Handle};
use crate::node::leadership::{Change, Hold, Leadership};
use crate::node::{Attendance, NodeHandle};

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

    /// Has it hand over, if another can lead.
    fn hand_over(&self);

    /// Has it lead only if no other can, for a time, as its job failed in this way.
    fn stand_back(&self, reason: &str);

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
    /// The node whose state is in this folder.
    pub(crate) fn new(node: NodeHandle, attendance: Attendance, state: &Path) -> OwnNode {
        OwnNode { node, attendance, lock: lock::path(state) }
    }
}

impl Leader for OwnNode {
    type Hold = Hold;

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        self.node.leadership_changes()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.node.leadership()
    }

    fn hold(&self, most: Duration) -> Option<Hold> {
        self.node.hold_for(most).ok()
    }

    fn equip(&self, _: &mut Hold) -> io::Result<Equipment> {
        Equipment::new(&self.lock, &self.attendance)
    }

    fn hand_over(&self) {
        let order = Command::Resign { to: None };
        if let Err(error) = self.node.command(order, Duration::from_secs(1)) {
            warn!("this node leads on: {error}");
        }
    }

    fn stand_back(&self, reason: &str) {
        self.node.stand_back(reason);
    }

    fn is_gone(&self) -> bool {
        false // it lives as long as this process
    }
}

//! The node that a job runs for, in this process or in another, as the job needs it.

use std::ops::Deref;
use std::time::Duration;

use crossbeam::channel::Receiver;
use log::warn;

use crate::node::NodeHandle;
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

    /// Has it hand over, if another can lead.
    fn hand_over(&self);

    /// Has it lead only if no other can, for a time, as its job failed in this way.
    fn stand_back(&self, reason: &str);

    /// Whether it has ended, so that it never leads again.
    fn is_gone(&self) -> bool;
}

impl Leader for NodeHandle {
    type Hold = Hold;

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        self.leadership_changes()
    }

    fn leadership(&self) -> Option<Leadership> {
        self.leadership()
    }

    fn hold(&self, most: Duration) -> Option<Hold> {
        self.hold_for(most).ok()
    }

    fn hand_over(&self) {
        if let Err(error) = self.command(Command::Resign { to: None }, Duration::from_secs(1)) {
            warn!("this node leads on: {error}");
        }
    }

    fn stand_back(&self, reason: &str) {
        self.stand_back(reason);
    }

    fn is_gone(&self) -> bool {
        false // it lives as long as this process
    }
}

//! The numbers in a message that its receiver keeps.

use std::time::Duration;

use super::types::{Epoch, Pause, Version};

/// The greatest number of each kind in a message.
#[derive(Default)]
pub struct Told {
    pub epoch: Epoch,
    /// Of a member list.
    pub list: u64,
    /// Of a task.
    pub task: u64,
    /// Of a pause.
    pub pause: u64,
    pub lease: Duration,
}

impl Told {
    pub fn epoch(epoch: Epoch) -> Told {
        Told { epoch, ..Told::default() }
    }

    pub fn list(Version { epoch, counter }: Version) -> Told {
        Told { epoch, list: counter, ..Told::default() }
    }

    pub fn task(Version { epoch, counter }: Version) -> Told {
        Told { epoch, task: counter, ..Told::default() }
    }

    /// The same, in this epoch.
    pub fn and(self, epoch: Epoch) -> Told {
        Told { epoch: self.epoch.max(epoch), ..self }
    }

    /// The same, with a pause.
    pub fn and_pause(self, pause: Option<&Pause>) -> Told {
        let Some(Version { epoch, counter }) = pause.map(|pause| pause.version) else {
            return self;
        };
        Told { pause: counter, ..self }.and(epoch)
    }
}

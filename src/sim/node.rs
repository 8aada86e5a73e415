//! A simulated host with its disk and the one process that may run on it.

use std::collections::VecDeque;

use crate::core::random::Random;
use crate::core::settings::{Restored, Settings};
use crate::core::tenure::{Durable, Tenure};
use crate::core::types::{Epoch, Incarnation, Time};
use crate::core::{Core, Phase};

/// A host and its process.
#[derive(Debug)]
pub(super) struct Node {
    pub settings: Settings,
    /// The running process; none while it is down.
    pub core: Option<Core>,
    /// Counts the starts, so that what is meant for an earlier process does not reach a later.
    pub life: u64,
    /// Whether the host answers: a dial is refused where it does and no process runs.
    pub host: bool,
    pub disk: Disk,
    /// The earliest tick on the agenda.
    pub tick: Option<Time>,
    /// How many more outputs the process carries out before it dies, and how.
    pub fuse: Option<(u64, Death)>,
}

/// How a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process ends and its host lives: connections end, and dials are refused.
    Killed,
    /// The host is gone: nothing is seen, and what is sent to it vanishes.
    Vanished,
}

/// What survives a crash.
#[derive(Debug)]
pub(super) struct Disk {
    incarnation: Incarnation,
    durable: Durable,
    writing: VecDeque<(u64, Durable)>,
    /// When the last write will be done.
    pub busy_until: Time,
}

impl Node {
    pub fn new(settings: Settings) -> Node {
        let disk = Disk {
            incarnation: Incarnation(0),
            durable: Durable { epoch: Epoch(0), reserved: Epoch(0), leader: None },
            writing: VecDeque::new(),
            busy_until: Time(0),
        };
        Node { settings, core: None, life: 0, host: true, disk, tick: None, fuse: None }
    }

    /// The process of this life, if it runs.
    pub fn alive(&self, life: u64) -> Option<&Core> {
        self.core.as_ref().filter(|_| self.life == life)
    }

    /// Starts a process with what the disk holds. The incarnation is durable before it runs.
    pub fn start(&mut self, now: Time, random: &mut Random) -> Restored {
        let restored = self.disk.open();
        self.settings.instance = random.next();
        self.core = Some(Core::new(now, self.settings.clone(), restored, random.next()));
        self.life += 1;
        self.host = true;
        self.tick = None;
        self.fuse = None;
        self.disk.busy_until = now;
        restored
    }

    /// Whether the process runs and says that it leads.
    pub fn leads(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.phase() == Phase::Leading)
    }
}

impl Disk {
    fn open(&mut self) -> Restored {
        let Durable { epoch, reserved: floor, .. } = self.durable;
        self.incarnation = Incarnation(self.incarnation.0 + 1);
        let reserved = Tenure::first_reserve(epoch.max(floor));
        self.durable.reserved = reserved;
        Restored { incarnation: self.incarnation, epoch, floor, reserved }
    }

    /// Up to this epoch nothing is forgotten by a crash.
    pub fn kept(&self) -> Epoch {
        self.durable.epoch.max(self.durable.reserved)
    }

    pub fn write(&mut self, number: u64, record: Durable) {
        self.writing.push_back((number, record));
    }

    /// All writes up to this one are done.
    pub fn done(&mut self, number: u64) {
        while let Some((_, record)) = self.writing.pop_front_if(|(written, _)| *written <= number) {
            self.durable = record;
        }
    }

    /// The process is gone; some of what it handed over may have reached the disk all the same.
    pub fn crash(&mut self, random: &mut Random) {
        let kept = random.below(self.writing.len() as u64 + 1);
        for _ in 0..kept {
            if let Some((_, record)) = self.writing.pop_front() {
                self.durable = record;
            }
        }
        self.writing.clear();
    }
}

//! A simulated host with its disk and the one process that may run on it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::agenda::SimulatedEvent;
use super::assured::Assured;
use super::clock::Clock;
use super::coroners::SimulatedCoroners;
use super::drive::Drive;
use crate::core::durable::Durable;
use crate::core::membership::MemberList;
use crate::core::protocol::Protocols;
use crate::core::random::Random;
use crate::core::restart::{KeptState, Restored, restart, whose_members};
use crate::core::settings::Settings;
use crate::core::types::{Epoch, Incarnation, NodeId, Task, Time};
use crate::core::{Core, Input, Output, Phase};

/// A pause of a process.
#[derive(Debug)]
pub(super) struct ProcessPause {
    /// Its name, to be ended by.
    pub id: u32,
    pub since: Time,
    /// The outputs of the turn in the middle of which the pause began, if any: none of them was shown
    /// or sent.
    pub turn: Option<Vec<Output>>,
    /// The inputs that wait for the process, in the order of their arrival.
    pub pile: Vec<SimulatedEvent>,
}

/// A host and its process.
#[derive(Debug)]
pub(super) struct Node {
    /// The content of its file.
    pub settings: Settings,
    /// The task that its operator gives at its first start.
    task: Task,
    /// Its operator starts it with `--bootstrap` every time.
    pub keeps_bootstrap: bool,
    /// The list by which its process dials.
    pub peers: Arc<MemberList>,
    /// From which of its processes on this host runs the present version of electd.
    pub upgraded: u64,
    /// The running process; none while it is down.
    pub core: Option<Core>,
    /// Counts the starts, so that what is meant for an earlier process does not reach a later.
    pub incarnation: u64,
    /// Whether the host answers: a dial is refused where it does and no process runs.
    pub host: bool,
    pub disk: Disk,
    pub drive: Drive,
    /// What its operators were told.
    pub assured: Assured,
    /// Whether its health check passes, where it has one.
    pub healthy: bool,
    pub clock: Clock,
    /// When its process turned last, by its clock.
    pub turned: Time,
    /// The process does nothing.
    pub pause: Option<ProcessPause>,
    /// The process is to be paused amid its next turn, by this name.
    pub halts: Option<u32>,
    /// For how long its process did not turn, which it has not noticed yet.
    pub stalled: Option<Duration>,
    /// The earliest tick on the agenda.
    pub tick: Option<Time>,
    /// How many more outputs the process carries out before it dies, and how.
    pub fuse: Option<(u64, Death)>,
    /// After its last tick the process wanted to be called again immediately.
    pub busy: bool,
    /// The process was removed from the cluster, and is about to end.
    pub leaves: bool,
    /// The numbers of the process's calls ARE-YOU-NORMAL.
    pub checks: BTreeSet<u64>,
}

/// How a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process ends and its host lives: connections end, and dials are refused.
    Killed,
    /// The host is gone: nothing is seen, and what is sent to it vanishes.
    Vanished,
}

/// The state that survives a crash.
#[derive(Debug)]
pub(super) struct Disk {
    incarnation: Incarnation,
    durable: Durable,
    /// The record that is being written.
    writing: Option<(u64, Durable)>,
    /// The latest that waits: those between are skipped.
    waiting: Option<(u64, Durable)>,
    /// The records that the last starts found on it.
    older: VecDeque<(Incarnation, Durable)>,
}

/// The protocol versions of a process of an earlier electd.
const OLD: Protocols = Protocols { lowest: 5, highest: 5 };

/// The records that this many starts found on a disk are kept, so that the disk can go back to one.
const OLDER: usize = 3;

impl Node {
    pub fn new(settings: Settings, clock: Clock) -> Node {
        Node {
            keeps_bootstrap: false,
            peers: settings.members.clone(),
            task: Task::new(settings.members.name(settings.id).as_bytes()),
            settings,
            upgraded: 0,
            core: None,
            incarnation: 0,
            host: true,
            disk: Disk::empty(),
            drive: Drive::default(),
            assured: Assured::default(),
            healthy: true,
            clock,
            turned: Time(0),
            pause: None,
            halts: None,
            stalled: None,
            tick: None,
            fuse: None,
            busy: false,
            leaves: false,
            checks: BTreeSet::new(),
        }
    }

    /// The reading of its clock at this true time.
    pub fn local(&self, now: Time) -> Time {
        self.clock.local(now)
    }

    /// The process of this incarnation, if it runs.
    pub fn alive(&self, incarnation: u64) -> Option<&Core> {
        self.core.as_ref().filter(|_| self.incarnation == incarnation)
    }

    /// Starts a process with what the disk holds, and perhaps a coroner of it. The incarnation is durable before it runs.
    /// None does where the member was removed.
    pub fn start(
        &mut self,
        now: Time,
        random: &mut Random,
        coroners: Option<(usize, &mut SimulatedCoroners)>,
    ) -> Option<Restored> {
        // Asked for until it has taken, and never again: a store that was lost must not vote. A member that keeps
        // it is refused where the store knows its cluster, and starts once without.
        let knows = self.disk.last().is_some_and(Durable::knows_its_cluster);
        self.settings.bootstrap &= self.keeps_bootstrap || !knows;
        let bootstrap = self.settings.bootstrap && !knows;
        let file = Settings { bootstrap, ..self.settings.clone() };
        let restored = self.disk.open(&file, &self.task)?;
        self.settings.instance = random.draw();
        self.settings.protocols =
            if self.incarnation < self.upgraded { OLD } else { Protocols::OURS };
        let (death, buried) = coroners.map_or((None, None), |(node, coroners)| {
            let life = (self.settings.id, restored.incarnation);
            let knows = self.settings.protocols == Protocols::OURS;
            coroners.begin(node, life, &self.settings.cluster, knows, now)
        });
        let now = self.local(now);
        self.peers = restored.record.members.clone();
        let Settings { instance, protocols, .. } = self.settings;
        let settings = Settings { instance, protocols, death, buried, ..file };
        self.core = Some(Core::new(now, settings, restored.clone(), random.draw()));
        self.incarnation += 1;
        self.pause = None;
        self.halts = None;
        self.stalled = None;
        self.host = true;
        self.tick = None;
        self.fuse = None;
        self.busy = false;
        self.leaves = false;
        self.checks.clear();
        Some(restored)
    }

    /// Hands the process an input whose outputs are carried out already: what it would store is durable, or its disk
    /// would seem to stand still.
    pub fn learn(&mut self, now: Time, input: Input) {
        let now = self.local(now);
        let Some(core) = &mut self.core else { return };
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            core.handle(now, input, &mut out);
            for output in out {
                if let Output::Persist { number, record } = output {
                    self.disk.durable = record;
                    inputs.push(Input::Persisted { number });
                }
            }
        }
    }

    /// The list that counts at a start.
    pub fn list(&self) -> &Arc<MemberList> {
        whose_members(self.disk.last(), &self.settings.members, self.settings.quorum)
    }

    /// The list of its process, or that of its disk.
    pub fn present_list(&self) -> &Arc<MemberList> {
        self.core.as_ref().map_or_else(|| self.list(), Core::members)
    }

    /// Whether it was removed, so that no process starts.
    pub fn is_removed(&self) -> bool {
        let left = self.disk.last().is_some_and(|last| last.removed);
        left || self.list().get(self.settings.id).is_none()
    }

    /// Whether the process runs and says that it leads.
    pub fn leads(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.phase() == Phase::Leading)
    }
}

impl Disk {
    fn empty() -> Disk {
        Disk {
            incarnation: Incarnation(0),
            durable: Durable::default(),
            writing: None,
            waiting: None,
            older: VecDeque::new(),
        }
    }

    /// The number of the last start.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Whether its member has taken part in a vote, so that its list counts and not that of the file.
    pub fn has_voted(&self) -> bool {
        self.durable.vote.is_some_and(|vote| vote.has_voted())
    }

    /// Forgets everything. Tells whether there was anything.
    pub fn wipe(&mut self) -> bool {
        let used = self.incarnation > Incarnation(0);
        *self = Disk::empty();
        used
    }

    /// Goes back to what an earlier start but the last found on it, if there was one.
    pub fn roll_back(&mut self) -> bool {
        if self.older.len() < 2 {
            return false; // what the last start found would pass for a restart
        }
        let Some((incarnation, durable)) = self.older.pop_front() else { return false };
        self.older.clear();
        (self.incarnation, self.durable) = (incarnation, durable);
        true
    }

    /// The state that a process starts with, by its file. The task applies to its first start only.
    /// None if the member was removed.
    fn open(&mut self, file: &Settings, task: &Task) -> Option<Restored> {
        let first = self.last().is_none();
        let kept = KeptState { incarnation: self.incarnation, durable: self.durable.clone() };
        let given = first.then(|| task.clone());
        self.older.push_back((self.incarnation, self.durable.clone()));
        if self.older.len() > OLDER {
            self.older.pop_front();
        }
        let restored = restart((!first).then_some(&kept), file, given).ok()?;
        self.incarnation = restored.incarnation;
        self.durable = restored.record.clone();
        Some(restored)
    }

    /// Its latest record; none before the first start.
    fn last(&self) -> Option<&Durable> {
        (self.incarnation > Incarnation(0)).then_some(&self.durable)
    }

    /// Whether a process that starts now is drained.
    pub fn holds_drain(&self) -> bool {
        self.durable.drain.is_some()
    }

    /// The epoch that a process starts with.
    pub fn epoch(&self) -> Epoch {
        self.durable.epoch
    }

    /// Up to this epoch nothing is forgotten by a crash.
    pub fn kept(&self) -> Epoch {
        self.durable.epoch.max(self.durable.reserved)
    }

    /// The last pause, or the end of one, that a crash does not forget.
    pub fn pause(&self) -> crate::core::types::Pause {
        self.durable.pause
    }

    /// The member list that a crash does not forget.
    pub fn members(&self) -> &Arc<MemberList> {
        &self.durable.members
    }

    /// A voter's last vote, as far as a crash does not erase it.
    pub fn voted(&self) -> Option<(Epoch, NodeId)> {
        self.durable.vote?.voted.map(|vote| (vote.epoch, vote.candidate))
    }

    /// Up to this epoch its voter may vote before this disk has the vote.
    pub fn covers(&self) -> Epoch {
        let behind = self.durable.vote.is_some_and(|vote| vote.behind && vote.informed);
        if behind { self.durable.reserved } else { Epoch(0) }
    }

    /// The round that its voter was told when it learned of its cluster, if a crash does not forget that.
    pub fn told(&self) -> Option<Epoch> {
        self.durable.vote.filter(|vote| vote.informed).map(|vote| vote.floor)
    }

    /// The greatest epoch that a crash does not forget, as far as it was reserved.
    pub fn reserved(&self) -> Epoch {
        self.durable.reserved
    }

    /// How long a promise may be that a crash does not forget.
    pub fn promised(&self) -> Duration {
        self.durable.vote.map_or(Duration::ZERO, |vote| vote.promised)
    }

    /// Whether nothing is being written, and its voter knows the state of the cluster.
    pub fn is_idle_and_informed(&self) -> bool {
        self.writing.is_none() && self.durable.vote.is_some_and(|vote| vote.informed)
    }

    /// Takes a record. Tells whether the disk is free and starts to write it.
    pub fn write(&mut self, number: u64, record: Durable) -> bool {
        let free = self.writing.is_none();
        let place = if free { &mut self.writing } else { &mut self.waiting };
        *place = Some((number, record));
        free
    }

    /// The write is done. Tells its number, and whether the next one starts.
    pub fn done(&mut self) -> Option<(u64, bool)> {
        let (number, record) = self.writing.take()?;
        self.durable = record;
        self.writing = self.waiting.take();
        Some((number, self.writing.is_some()))
    }

    /// The process is gone; what it was writing may have reached the disk all the same. Tells
    /// how many writes are undone.
    pub fn crash(&mut self, random: &mut Random) -> u64 {
        let undone = |waits: &Option<_>| u64::from(waits.is_some());
        if let Some((_, record)) = self.writing.take_if(|_| random.below(2) == 0) {
            self.durable = record;
        }
        let lost = undone(&self.writing) + undone(&self.waiting);
        self.writing = None;
        self.waiting = None;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: u64) -> Durable {
        Durable { epoch: Epoch(epoch), ..Durable::default() }
    }

    #[test]
    fn a_crash_undoes_no_write_that_was_told_and_perhaps_the_one_under_way() {
        let mut kept = [0; 4];
        for seed in 0..20 {
            let mut disk = Disk::empty();
            assert!(disk.write(1, record(1)));
            assert_eq!(disk.done(), Some((1, false)));
            assert!(disk.write(2, record(2)));
            assert!(!disk.write(3, record(3)), "the disk is busy");
            let undone = disk.crash(&mut Random::new(seed));
            assert_eq!(undone, 2 - u64::from(disk.kept() == Epoch(2)));
            kept[disk.kept().0 as usize] += 1;
            assert_eq!(disk.done(), None);
        }
        assert!(kept[0] == 0 && kept[1] > 0 && kept[2] > 0 && kept[3] == 0, "{kept:?}");
    }
}

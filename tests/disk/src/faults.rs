//! What is wrong with a disk, and what a call of a process comes to on it.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::io::Errno;

use electd_election::core::random::Random;

use crate::files::{Files, Owner};
use crate::share::Share;

/// What a process wants of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// To read something.
    Look,
    /// To write, or to make something with a name.
    Write,
    /// To rename or to remove, which needs no room.
    Rename,
    /// That all is on the disk.
    Sync,
}

/// Why a disk refuses to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// EIO: it neither writes nor renames nor syncs.
    Broken,
    /// ENOSPC: it writes nothing more, and renames, removes and syncs what is there.
    Full,
}

/// What waits for a disk that hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// What changes something: all else is in the cache of the system, as with a disk in this host.
    Writes,
    /// Everything, the question for its room included, as with a disk behind a network.
    All,
}

/// A call that hangs for longer fails: whoever mounted the disk may wait for it, and could never end that.
const LONGEST_HANG: Duration = Duration::from_secs(300);

/// The disk with its faults.
#[derive(Debug)]
pub struct State {
    pub files: Files,
    pub refuses: Option<Refusal>,
    /// The syncs that come: how many succeed before each that fails.
    failing: VecDeque<u64>,
    hangs: Option<Hang>,
    /// How long each sync takes.
    slow: Duration,
    /// How many more calls that change something it carries out before its power fails.
    left: Option<u64>,
    /// Calls of another life are those of processes that the failure of the power ended.
    life: u64,
    /// Calls that changed something.
    changes: u64,
}

/// The disk, for the thread that serves it and for tests.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

impl Shared {
    pub fn new(owner: Owner) -> Shared {
        let state = State {
            files: Files::new(owner),
            refuses: None,
            failing: VecDeque::new(),
            hangs: None,
            slow: Duration::ZERO,
            left: None,
            life: 0,
            changes: 0,
        };
        Shared { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// Waits until the disk takes this call, or says why it does not.
    pub fn enter(&self, call: Call) -> Result<MutexGuard<'_, State>, Errno> {
        let mut state = self.state.lock();
        let life = state.life;
        if call != Call::Look {
            state.count();
        }
        if call == Call::Sync && !state.slow.is_zero() {
            let slow = state.slow;
            self.moved.wait_for(&mut state, slow);
        }
        while state.holds(call) && state.life == life {
            if self.moved.wait_for(&mut state, LONGEST_HANG).timed_out() {
                return Err(Errno::IO);
            }
        }
        let refused = match state.refuses {
            _ if state.life != life => true,
            Some(Refusal::Broken) => call != Call::Look,
            Some(Refusal::Full) if call == Call::Write => return Err(Errno::NOSPC),
            _ => false,
        };
        if refused { Err(Errno::IO) } else { Ok(state) }
    }

    /// Changes what is wrong with it.
    pub fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.moved.notify_all();
    }

    /// Asks something.
    pub fn ask<T>(&self, question: impl FnOnce(&State) -> T) -> T {
        question(&self.state.lock())
    }
}

impl State {
    /// One more call that changes something: its power may fail just before.
    fn count(&mut self) {
        self.changes += 1;
        match &mut self.left {
            Some(0) => self.hangs = Some(Hang::Writes),
            Some(left) => *left -= 1,
            None => {}
        }
    }

    /// How many calls changed something.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Makes a file or a folder durable, or fails to.
    pub fn sync(&mut self, number: u64) -> Result<(), Errno> {
        // One that has nothing to write cannot fail.
        if self.files.is_clean(number) {
            return Ok(());
        }
        match self.failing.front_mut() {
            Some(0) => {
                self.failing.pop_front();
                self.files.fail_sync(number)?;
                return Err(Errno::IO);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.files.sync(number)
    }

    /// After so many more syncs that write something, one fails.
    pub fn fail_sync_after(&mut self, good: u64) {
        self.failing.push_back(good);
    }

    pub fn fails_to_sync(&self) -> bool {
        !self.failing.is_empty()
    }

    pub fn hang(&mut self, hangs: Option<Hang>) {
        self.hangs = hangs;
    }

    /// Whether this call has to wait.
    fn holds(&self, call: Call) -> bool {
        match self.hangs {
            None => false,
            Some(Hang::Writes) => call != Call::Look,
            Some(Hang::All) => true,
        }
    }

    pub fn slow(&mut self, slow: Duration) {
        self.slow = slow;
    }

    /// After so many more calls that change something the power fails.
    pub fn stop_after(&mut self, calls: u64) {
        self.left = Some(calls);
    }

    pub fn has_stopped(&self) -> bool {
        self.left == Some(0) && self.hangs.is_some()
    }

    /// The power fails, or failed where the disk stopped, and comes back.
    pub fn lose_power(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let (names, content) = (Share::drawn(&mut random), Share::drawn(&mut random));
        self.lose_shares(&mut random, names, content);
    }

    pub fn lose_shares(&mut self, random: &mut Random, names: Share, content: Share) {
        self.files.lose_power(random, names, content);
        (self.hangs, self.left) = (None, None);
        self.life += 1;
    }
}

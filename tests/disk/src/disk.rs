//! A disk that is mounted for as long as a test needs it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{getgid, getuid};

use electd_election::core::random::Random;

use crate::faults::{Hang, Refusal, Shared};
use crate::files::Owner;
use crate::served::Served;
use crate::share::Share;

/// The name of each such disk begins so; the process that mounted it follows.
const PREFIX: &str = "electd-test-disk-";

/// More calls than a node has under way at one time: each that waits for a disk that hangs holds one thread up.
const THREADS: usize = 8;

/// A disk. Dropped, it is gone, with all that is on it; a process that still has a file open there gets errors.
#[derive(Debug)]
pub struct Disk {
    shared: Arc<Shared>,
    folder: PathBuf,
    session: Option<BackgroundSession>,
}

impl Disk {
    /// Mounts an empty one at a folder.
    ///
    /// # Errors
    /// Where this process may not mount: it needs `/dev/fuse` and the right to mount, as root has it.
    pub fn mount(folder: &Path) -> io::Result<Disk> {
        clear_away();
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        let shared = Arc::new(Shared::new(Owner { user, group, mode: 0o700 }));
        let mut config = Config::default();
        let name = format!("{PREFIX}{}", process::id());
        config.mount_options = vec![MountOption::FSName(name), MountOption::NoAtime];
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        let folder = folder.canonicalize()?;
        // The library asks a helper of its own where the file is missing, and its error names that.
        fs::File::options().read(true).write(true).open("/dev/fuse")?;
        let session = fuser::spawn_mount(Served::new(shared.clone()), &folder, &config)?;
        Ok(Disk { shared, folder, session: Some(session) })
    }

    /// The power fails and comes back: of what was not synced, the seed says what survives. End the processes of its host
    /// before, or send them KILL at least: what they wait for fails.
    pub fn power_failure(&self, seed: u64) {
        self.shared.set(|state| state.lose_power(seed));
    }

    /// The same, where nothing survives that was not synced.
    pub fn lose_all_unsynced(&self) {
        let mut random = Random::new(0);
        self.shared.set(|state| state.lose_shares(&mut random, Share::NONE, Share::NONE));
    }

    /// After so many more calls that change something the disk stops, as where the power fails just then: each that
    /// comes then waits until [`Disk::power_failure`].
    pub fn stop_after(&self, calls: u64) {
        self.shared.set(|state| state.stop_after(calls));
    }

    /// Whether it has stopped.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.shared.ask(|state| state.has_stopped())
    }

    /// The next sync that has something to write fails, and takes that with it: the one after that succeeds.
    pub fn fail_next_sync(&self) {
        self.fail_sync_after(0);
    }

    /// So does the one that comes after so many others.
    pub fn fail_sync_after(&self, good: u64) {
        self.shared.set(|state| state.fail_sync_after(good));
    }

    /// Whether a sync is still to fail.
    #[must_use]
    pub fn fails_to_sync(&self) -> bool {
        self.shared.ask(|state| state.fails_to_sync())
    }

    /// Refuses to write, or writes again.
    pub fn refuse(&self, refuses: Option<Refusal>) {
        self.shared.set(|state| state.refuses = refuses);
    }

    /// Hangs, or goes on with all that waits.
    pub fn hang(&self, hangs: Option<Hang>) {
        self.shared.set(|state| state.hang(hangs));
    }

    /// Takes this long for each sync.
    pub fn slow(&self, sync: Duration) {
        self.shared.set(|state| state.slow(sync));
    }

    /// How many calls changed something so far.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.shared.ask(|state| state.changes())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.hang(None); // or whoever waits would wait for ever
        let _ = unmount(&self.folder, UnmountFlags::DETACH); // somebody else may have done so
        // Its thread ends when nobody has a file open there any more, and need not be awaited.
        drop(self.session.take());
    }
}

/// Unmounts what tests left that could not end cleanly.
fn clear_away() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (Some(name), Some(folder)) = (words.next(), words.next()) else { continue };
        let Some(owner) = name.strip_prefix(PREFIX) else { continue };
        if !Path::new("/proc").join(owner).exists() {
            let _ = unmount(folder, UnmountFlags::DETACH); // another test may have done so
        }
    }
}

#[cfg(test)]
mod tests;

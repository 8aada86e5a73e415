//! What a crash left: cgroups of jobs that nobody has locked any more.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::place::CgroupPlace;
use super::{Cgroup, PREFIX};

/// Ends the jobs that crashes left in the own cgroup of this process, for at most this time. Returns the folders of
/// those of which something is left then.
#[must_use]
pub fn end(timeout: Duration) -> Vec<PathBuf> {
    let begin = Instant::now();
    let own = CgroupPlace::find().map(|place| place.own_folder());
    let entries = own.and_then(fs::read_dir).into_iter().flatten().flatten();
    let jobs = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    let is_left = |folder: &PathBuf| {
        let Ok(cgroup) = Cgroup::open(folder) else { return false }; // gone, or another user's
        // Whoever has it locked ends it.
        flock(&cgroup.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && !cgroup.end(timeout.saturating_sub(begin.elapsed())).unwrap_or(false)
    };
    jobs.map(|entry| entry.path()).filter(is_left).collect()
}

//! Cgroups of version 2, where this process may make them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::wait::{breathe, ensure};

/// How long the kernel may take to end what is left in a cgroup.
const END: Duration = Duration::from_secs(20);

/// A cgroup below that of this process, which ends with all in it when this is dropped. Its name is none of a job.
pub struct TestCgroup {
    /// Its folder.
    pub folder: PathBuf,
    /// Its path from the root of the hierarchy.
    pub path: String,
}

impl TestCgroup {
    /// None, with a line that says so, where this process may make none.
    pub fn make() -> Option<TestCgroup> {
        let told = |error| println!("skipped: a cgroup needs root and version 2: {error}");
        TestCgroup::try_make().map_err(told).ok()
    }

    fn try_make() -> Result<TestCgroup, String> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("electd-test-of-{}-{number}", process::id());
        let own = path_of("self")?;
        let path = format!("{}/{name}", own.trim_end_matches('/'));
        let folder = folder_of(&path)?;
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let made = TestCgroup { folder, path };
        ensure(made.folder.join("cgroup.kill").exists(), || "Linux 5.14 or later".to_owned())?;
        Ok(made)
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        end(&self.folder);
    }
}

/// Kills all in this cgroup and below it, and removes it, for as long as that may take.
pub fn end(folder: &Path) {
    let begin = Instant::now();
    while folder.exists() && begin.elapsed() < END {
        let _ = fs::write(folder.join("cgroup.kill"), "1"); // before Linux 5.14 there is none
        remove(folder);
        breathe();
    }
}

fn remove(folder: &Path) {
    let below = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    below.filter(|path| path.is_dir()).for_each(|path| remove(&path));
    let _ = fs::remove_dir(folder); // something is in it
}

/// The cgroup of a process, or why it has none.
pub fn path_of(process: &str) -> Result<String, String> {
    let file = format!("/proc/{process}/cgroup");
    let groups = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(str::to_owned).ok_or(format!("{file} has no line 0::"))
}

/// The folder of the cgroup of this path.
pub fn folder_of(path: &str) -> Result<PathBuf, String> {
    Ok(mount()?.join(path.trim_start_matches('/')))
}

/// Where cgroups of version 2 are mounted as a whole.
pub fn mount() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|words| words.get(2) == Some(&"cgroup2")).ok_or("none is mounted")?;
    Ok(Path::new(found[1]).to_owned())
}

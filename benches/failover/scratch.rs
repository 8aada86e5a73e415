//! A folder beside the build, so on its disk, that is removed at the end; on Ctrl-C too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lossy::Disk;

/// The folder that holds all that is written here, and what is mounted there.
pub struct Scratch(PathBuf, Option<Disk>);

impl Scratch {
    /// Each sync in it takes this long, if that is not zero: on a disk for tests, as root.
    pub fn new(sync: Duration) -> Scratch {
        let name = format!("failover-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a scratch folder can be made");
        let doomed = path.clone();
        ctrlc::set_handler(move || {
            remove(&doomed);
            std::process::exit(130); // the kernel ends the children with this process
        })
        .expect("Ctrl-C can be handled");
        let disk =
            (!sync.is_zero()).then(|| Disk::mount(&path).expect("a disk for tests can be mounted"));
        disk.iter().for_each(|disk| disk.slow(sync));
        Scratch(path, disk)
    }

    /// A new folder in it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).expect("a scratch folder can be made");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.1.take());
        remove(&self.0);
    }
}

/// Tries more than once: a node that is about to end may write its state meanwhile.
fn remove(path: &Path) {
    for _ in 0..10 {
        if fs::remove_dir_all(path).is_ok() {
            return;
        }
    }
    eprintln!("left behind: {}", path.display());
}

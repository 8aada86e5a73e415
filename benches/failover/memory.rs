//! The kernel kills a process for want of memory: its control group may have no more.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::network;
use crate::process;

/// Where groups of either version are made, and the name of the limit.
const ROOTS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// Far longer than the kernel takes.
const TIMEOUT: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(1);

/// What a process in the group may have beside what it has already, in bytes: less than a thread needs.
const MOST: &str = "8192";

/// A control group with a low limit.
struct Group {
    folder: PathBuf,
    limit: &'static str,
}

impl Group {
    fn make() -> Group {
        let is_there = |(root, file): &(&str, &str)| {
            let root = Path::new(root);
            root.join(file).exists() || root.join("cgroup.subtree_control").exists()
        };
        let (root, limit) = ROOTS.into_iter().find(is_there).expect("control groups are mounted");
        let folder = Path::new(root).join(format!("electd-bench-{}", std::process::id()));
        fs::create_dir(&folder).expect("a control group can be made, as root");
        Group { folder, limit }
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).expect("a control group can be written");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let begin = Instant::now();
        while fs::remove_dir(&self.folder).is_err() && begin.elapsed() < TIMEOUT {
            thread::sleep(PAUSE);
        }
    }
}

/// Has the kernel kill a process that listens there: each connection needs memory. Gives the time just before the first.
pub fn exhaust(process: &Child, listens: SocketAddr, home: Option<&str>) -> Instant {
    let group = Group::make();
    group.write(group.limit, MOST);
    group.write("cgroup.procs", &process.id().to_string());
    let begin = Instant::now();
    let dial = || {
        let mut open = Vec::new();
        while !process::has_ended(process) {
            assert!(begin.elapsed() < TIMEOUT, "the kernel does not kill it");
            open.extend(TcpStream::connect_timeout(&listens, PAUSE).ok());
            thread::sleep(PAUSE);
        }
    };
    match home {
        Some(home) => network::inside(home, dial),
        None => dial(),
    }
    begin
}

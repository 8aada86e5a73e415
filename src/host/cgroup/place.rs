//! Where this process is among the cgroups of version 2, and where their files are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::calls::Named;

/// What to do where the file system of cgroups is missing.
const MOUNT: &str = "mount it: mount -t cgroup2 none /sys/fs/cgroup";

/// The same where version 1 has that place: a mount over it would hide that.
const MOUNT_BESIDE: &str =
    "mount it beside version 1: mkdir -p /run/cgroup2 && mount -t cgroup2 none /run/cgroup2";

/// The own cgroup of this process, and the mount by which it is found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CgroupPlace {
    /// The own cgroup, from the root of the hierarchy as this process sees it.
    own: String,
    mount: PathBuf,
    /// The cgroup that is mounted there.
    root: String,
}

impl CgroupPlace {
    /// Of this process.
    ///
    /// # Errors
    /// Where there is none of version 2, with what to do.
    pub fn find() -> io::Result<CgroupPlace> {
        let read = |file| fs::read_to_string(file).named_for("open", file);
        CgroupPlace::of(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
    }

    /// As these files of a process tell it.
    fn of(groups: &str, mounts: &str) -> io::Result<CgroupPlace> {
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
        let none = "/proc/self/cgroup has no line 0::, so this kernel has no cgroups of version 2";
        let own = own.ok_or_else(|| io::Error::other(none))?.to_owned();
        let mut mounted = mounts.lines().filter_map(mount);
        let place = mounted.find(|(root, _)| is_below(&own, root));
        let (root, mount) = place.ok_or_else(|| {
            let has_first = mounts.lines().any(|line| kind_of(line) == Some("cgroup"));
            let remedy = if has_first { MOUNT_BESIDE } else { MOUNT };
            let what = format!("/proc/self/mountinfo has no cgroup2 in which {own} is; {remedy}");
            io::Error::other(what)
        })?;
        Ok(CgroupPlace { own, mount, root })
    }

    /// The path of a new cgroup of this name, which is below the own one.
    pub fn below(&self, name: &str) -> String {
        format!("{}/{name}", self.own.trim_end_matches('/'))
    }

    /// The folder of the own cgroup.
    pub fn own_folder(&self) -> PathBuf {
        self.folder(&self.own)
    }

    /// The folder of the cgroup of this path.
    pub fn folder(&self, path: &str) -> PathBuf {
        let below = path.strip_prefix(self.root.trim_end_matches('/')).unwrap_or(path);
        self.mount.join(below.trim_start_matches('/'))
    }
}

/// Whether a cgroup is this one or below it. That above the root of a cgroup namespace is none.
fn is_below(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    let is_outside = Path::new(path).iter().any(|part| part == "..");
    !is_outside
        && path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The root and the folder of a mount of cgroups of version 2; none of another.
fn mount(line: &str) -> Option<(String, PathBuf)> {
    let mut words = line.split(' ').skip(3);
    let (root, folder) = (words.next()?, words.next()?);
    let is_ours = kind_of(line) == Some("cgroup2");
    is_ours.then(|| (unescaped(root), PathBuf::from(unescaped(folder))))
}

/// The kind of file system of a mount.
fn kind_of(line: &str) -> Option<&str> {
    line.split_once(" - ")?.1.split(' ').next()
}

/// A path of mountinfo, which writes blanks and backslashes as \040 and \134.
fn unescaped(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    /// The folder of a new cgroup, or why there is none.
    fn folder(groups: &str, mounts: &str) -> Result<String, String> {
        let place = CgroupPlace::of(groups, mounts).map_err(|error| error.to_string())?;
        Ok(place.folder(&place.below("new")).display().to_string())
    }

    #[test]
    fn the_own_cgroup_is_found_wherever_the_hierarchy_is_mounted() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let part = "41 31 0:38 /docker/7 /my\\040groups rw,relatime - cgroup2 cgroup2 rw";
        for (groups, mounts, expected) in [
            ("0::/", UNIFIED, "/sys/fs/cgroup/new"),
            ("0::/system.slice/a.service", UNIFIED, "/sys/fs/cgroup/system.slice/a.service/new"),
            ("4:cpu:/x\n0::/y", hybrid, "/sys/fs/cgroup/unified/y/new"),
            ("0::/docker/7", part, "/my groups/new"),
            ("0::/docker/7/a", part, "/my groups/a/new"),
        ] {
            assert_eq!(folder(groups, mounts).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn where_there_is_none_the_file_that_says_so_is_named() {
        let part = "41 31 0:38 /docker/7 /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw";
        let old = folder("4:cpu:/x", UNIFIED).unwrap_err();
        assert!(old.starts_with("/proc/self/cgroup has no line 0::"), "{old}");
        for (groups, mounts) in [("0::/", ""), ("0::/docker/77", part), ("0::/../a", UNIFIED)] {
            let told = folder(groups, mounts).unwrap_err();
            assert!(told.starts_with("/proc/self/mountinfo has no cgroup2 in which /"), "{told}");
            assert!(told.ends_with(MOUNT), "{told}");
        }
        for first in [
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            "32 31 0:29 / /sys/fs/cgroup rw - cgroup none rw,name=systemd",
        ] {
            let told = folder("4:cpu:/x\n0::/y", first).unwrap_err();
            assert!(told.ends_with(MOUNT_BESIDE), "{told}");
        }
    }
}

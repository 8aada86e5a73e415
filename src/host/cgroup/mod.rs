//! The cgroup of a job: a command and all that it starts are in it, wherever these processes went since, and whatever
//! another program, such as a container engine, starts there.
//!
//! One write to its `cgroup.kill` ends them all, those included that they start meanwhile. Only a cgroup without a
//! process can be removed, and nothing enters one that was: that a job has ended is the kernel's own word then, and
//! true for ever.
//!
//! Whoever may have to end it keeps it open, and locked with the others: electd, the guard, and the coroner by
//! descriptors of the guard. One that nobody has locked was left by a crash ([`left`]). A process enters it before it
//! becomes the command: that takes the kernel some milliseconds, so a follower has it done early.

pub mod left;
mod place;

use std::error::Error;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{
    Access, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, accessat, flock, openat, unlinkat,
};
use rustix::io::{Errno, pread};
use rustix::process::Pid;
use rustix::time::Timespec;
use uuid::Uuid;

use crate::calls::{self, Named};
use place::CgroupPlace;

/// The environment variable by which a command learns the path of its cgroup: as `--cgroup-parent` of a container
/// engine takes it, from the root of the hierarchy.
pub const VARIABLE: &str = "ELECTD_CGROUP";

/// How the names of these cgroups begin; what is drawn follows.
const PREFIX: &str = "electd-job-";

/// How often a new one is tried.
const TRIES: usize = 10;

/// How long the processes of one that is no longer needed may take to be gone.
const GONE: Duration = Duration::from_secs(1);

/// Between two looks at processes that KILL has not ended: another program may have started one there meanwhile.
pub const ROUND: Duration = Duration::from_millis(10);

/// What to do where this process may make none.
const MAY_NOT: &str = "run electd as root, or give its unit Delegate=yes";

/// What to do where nobody may.
const READ_ONLY: &str = "have cgroups mounted for writing: ProtectControlGroups=no in the unit";

/// What to do where there are as many as may be.
const TOO_MANY: &str = "raise cgroup.max.descendants and cgroup.max.depth of the cgroups above it";

/// What to do where it is gone before its job is.
const REMOVED: &str = "find the program that removes cgroups of electd, and have it spare them";

/// What to do where it takes no process.
const CHANGED: &str =
    "find the program that writes to cgroup.subtree_control or cgroup.type of cgroups of electd";

/// A cgroup of a job, for as long as this is kept.
#[derive(Debug)]
pub struct Cgroup {
    /// Its folder; locked, together with other processes.
    folder: OwnedFd,
    kill: OwnedFd,
    events: OwnedFd,
}

impl Cgroup {
    /// The one of this path.
    ///
    /// # Errors
    /// Where it is not there, or not for this process.
    pub fn at(path: &str) -> io::Result<Cgroup> {
        Cgroup::open(&CgroupPlace::find()?.folder(path))?.locked()
    }

    /// Locks it. Whoever took it for left by a crash may have removed it meanwhile.
    fn locked(self) -> io::Result<Cgroup> {
        flock(&self.folder, FlockOperation::NonBlockingLockShared).named("flock")?;
        let there = if self.is_gone() { Err(Errno::NOENT) } else { Ok(()) };
        there.named_for("open", shown(&self.folder, "cgroup.procs")).map(|()| self)
    }

    /// One whose folder this is; not locked yet.
    fn open(folder: &Path) -> io::Result<Cgroup> {
        Cgroup::of(File::open(folder).named_for("open", folder.display())?.into())
    }

    /// One whose folder another process has passed here.
    ///
    /// # Errors
    /// If it is gone, or not for this process.
    pub fn of(folder: OwnedFd) -> io::Result<Cgroup> {
        let open = |name, how| {
            openat(&folder, name, how | OFlags::CLOEXEC, Mode::empty())
                .or_else(|error| Err(error).named_for("open", shown(&folder, name)))
        };
        let events = open("cgroup.events", OFlags::RDONLY)?;
        let kill = open("cgroup.kill", OFlags::WRONLY).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::other(format!("{error}; use Linux 5.14 or later"))
            }
            _ => error,
        })?;
        Ok(Cgroup { folder, kill, events })
    }

    /// Its folder, for another process that may have to end it.
    #[must_use]
    pub fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// The file that ends its processes, when a 1 is written to it.
    #[must_use]
    pub fn killing_file(&self) -> BorrowedFd<'_> {
        self.kill.as_fd()
    }

    /// Puts a process in. What that starts from now on is in it, too.
    ///
    /// # Errors
    /// The error of the system.
    pub fn enter(&self, process: Pid) -> io::Result<()> {
        let file =
            openat(&self.folder, "cgroup.procs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let shown = || shown(&self.folder, "cgroup.procs");
        let mut file = File::from(file.or_else(|error| Err(error).named_for("open", shown()))?);
        let number = process.as_raw_nonzero().to_string();
        file.write_all(number.as_bytes()).or_else(|error| Err(error).named_for("write", shown()))
    }

    /// Kills all that is in it and below it, by one call that needs no look at anything.
    pub fn kill(&self) {
        let _ = rustix::io::write(&self.kill, b"1"); // it may be gone
    }

    /// Kills all that is in it, and removes it if nothing is. Returns whether it is gone.
    ///
    /// # Errors
    /// If it cannot be removed, though nothing may be in it.
    pub fn end_now(&self) -> io::Result<bool> {
        self.kill();
        // From this look on the events tell of the last process that ends.
        let _ = pread(&self.events, &mut [0; 64], 0);
        self.remove()
    }

    /// The same, until it is gone or this time is over.
    ///
    /// # Errors
    /// If it cannot be removed, though nothing may be in it.
    pub fn end(&self, timeout: Duration) -> io::Result<bool> {
        let begin = Instant::now();
        while !self.end_now()? {
            let Some(left) = timeout.checked_sub(begin.elapsed()) else { return Ok(false) };
            let round = Timespec::try_from(left.min(ROUND)).ok();
            let _ = poll(
                &mut [PollFd::from_borrowed_fd(self.events(), PollFlags::PRI)],
                round.as_ref(),
            );
        }
        Ok(true)
    }

    /// Tells by [`PollFlags::PRI`] that the last process has ended, or that one has come.
    #[must_use]
    pub fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Removes it. Returns whether it is gone.
    fn remove(&self) -> io::Result<bool> {
        if self.is_gone() {
            return Ok(true);
        }
        let above = openat(&self.folder, "..", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let path = self.path()?;
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        if !removed(&above, name)? {
            empty(&self.folder)?; // the cgroups below it
            removed(&above, name)?;
        }
        Ok(self.is_gone())
    }

    /// Where its folder is. Its name is always the last part.
    fn path(&self) -> io::Result<PathBuf> {
        path_of(&self.folder)
    }

    /// Whether it was removed: its files are gone, and no process can ever enter it.
    fn is_gone(&self) -> bool {
        let file = accessat(&self.folder, "cgroup.procs", Access::EXISTS, AtFlags::empty());
        matches!(file, Err(Errno::NOENT | Errno::NODEV))
    }

    /// The processes in it and below it that have a number here.
    #[must_use]
    pub fn processes(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        let mut open: Vec<PathBuf> = self.path().into_iter().collect();
        while let Some(folder) = open.pop() {
            let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            found.extend(listed.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)));
            let below = fs::read_dir(folder).into_iter().flatten().flatten();
            open.extend(below.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
        found
    }
}

fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The path of a file of this folder, for whoever reads why something failed.
fn shown(folder: &OwnedFd, file: &str) -> String {
    path_of(folder).unwrap_or_default().join(file).display().to_string()
}

/// Removes a cgroup below this folder. Returns false if something is in it, or below it.
fn removed(folder: impl AsFd, name: impl rustix::path::Arg) -> io::Result<bool> {
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::BUSY) => Ok(false),
        Err(error) => Err(error).named("rmdir"),
    }
}

/// Removes all cgroups below this folder in which nothing is.
fn empty(folder: &OwnedFd) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type() != FileType::Directory || [c".", c".."].contains(&name) {
            continue;
        }
        match openat(folder, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(below) => empty(&below)?,
            Err(Errno::NOENT) => {} // the engine that made it removed it
            Err(error) => return Err(error.into()),
        }
        removed(folder, name)?;
    }
    Ok(())
}

/// A cgroup that this process has made for a job. It is ended when this is dropped.
#[derive(Debug)]
pub struct MadeCgroup {
    /// The cgroup itself.
    pub cgroup: Cgroup,
    /// Its path from the root of the hierarchy.
    pub path: String,
}

impl MadeCgroup {
    /// Makes one below the own cgroup of this process. Nothing is in it.
    ///
    /// # Errors
    /// Where this process can make none: it is refused.
    pub fn make() -> io::Result<MadeCgroup> {
        let place = CgroupPlace::find().map_err(refused)?;
        // Another that looks for what a crash left may take a new one for that.
        let is_lost = |error: &io::Error| {
            [io::ErrorKind::NotFound, io::ErrorKind::WouldBlock].contains(&error.kind())
        };
        for _ in 1..TRIES {
            match MadeCgroup::make_one(&place) {
                Err(error) if is_lost(&error) => {}
                made => return made.map_err(refused),
            }
        }
        MadeCgroup::make_one(&place).map_err(refused)
    }

    fn make_one(place: &CgroupPlace) -> io::Result<MadeCgroup> {
        let path = place.below(&format!("{PREFIX}{}", Uuid::new_v4().simple()));
        let folder = place.folder(&path);
        fs::create_dir(&folder).named_for("mkdir", folder.display())?;
        match Cgroup::open(&folder).and_then(Cgroup::locked) {
            Ok(cgroup) => Ok(MadeCgroup { cgroup, path }),
            Err(error) => {
                let _ = fs::remove_dir(&folder); // nothing is in it
                Err(error)
            }
        }
    }
}

impl Drop for MadeCgroup {
    fn drop(&mut self) {
        let _ = self.cgroup.end(GONE); // what is left then, nobody may rely on
    }
}

/// That the host gives a command no cgroup, and why.
#[derive(Debug)]
struct RefusedCgroup {
    error: io::Error,
    remedy: Option<&'static str>,
}

impl Display for RefusedCgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this host gives the command no cgroup of its own: {}", self.error)?;
        self.remedy.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl Error for RefusedCgroup {}

/// That the host gives a command no cgroup, as this failed, with what to do about it.
#[must_use]
pub fn refused(error: io::Error) -> io::Error {
    let remedy = match calls::errno(&error).map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => Some(MAY_NOT),
        Some(Errno::ROFS) => Some(READ_ONLY),
        Some(Errno::AGAIN) => Some(TOO_MANY),
        Some(Errno::NOENT | Errno::NODEV) => Some(REMOVED),
        Some(Errno::BUSY | Errno::OPNOTSUPP) => Some(CHANGED),
        _ => None,
    };
    io::Error::new(error.kind(), RefusedCgroup { error, remedy })
}

/// Whether an error is that the host gives a command no cgroup.
#[must_use]
pub fn is_refused(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<RefusedCgroup>())
}

#[cfg(test)]
mod tests;

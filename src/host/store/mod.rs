//! Durable state: one small file per member, replaced as a whole, locked against a second process.
//!
//! electd reads either the last saved state or an error: never half a file, and never silently nothing.
//! [`Store`] reads and writes it, and waits for the disk; [`StoreWriter`] does so on a thread of its own, so
//! that no other thread has to.

mod error;
mod fault;
pub mod file;
pub mod folder;
pub mod locks;
mod pace;
mod place;
mod record;
pub mod recordings;
mod room;
pub mod spare;
mod writer;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub use error::{StoreError, StoreTrouble};
pub use fault::DiskFault;
pub use pace::{Pace, disk_trouble, measure};
#[cfg(any(test, feature = "fuzzing"))]
pub use record::fuzz;
pub use record::{FORMAT, StoreRecord};
pub use room::RoomKeeper;
pub use writer::{RecordFile, StoreWriter};

use crate::core::types::NodeId;
use record::Unfit;

const STATE: &str = "state.json";
const LOCKS: &str = "locks.json";
const LOCK: &str = "lock";

/// The most bytes that a lock file may hold; the id of a process has fewer.
const LOCK_LENGTH: usize = 32;

/// Longer than [`Store::held`] holds a lock that nobody else has.
const ASKED: Duration = Duration::from_millis(10);

/// A member's data directory, locked for as long as this lives. (C6)
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    lock: File,
    pace: Arc<Pace>,
}

impl Store {
    /// Locks the folder of this member, creating it if it is missing, and reads its state; none on
    /// the first start.
    ///
    /// # Errors
    /// When the folder cannot be used or another process holds it, and when there is state that
    /// cannot be trusted: unreadable, damaged, of a newer format, or another member's. A state
    /// file is never changed here.
    pub fn open(dir: &Path, id: NodeId) -> Result<(Store, Option<StoreRecord>), StoreError> {
        let unusable = |source| StoreError::Folder { dir: dir.to_path_buf(), source };
        create_folder(dir).map_err(unusable)?;
        let store = Store { path: dir.join(STATE), lock: lock(dir)?, pace: Arc::default() };
        let record = read(&store.path, id)?;
        // Only now: what lies beside a state that cannot be trusted may help to repair it.
        remove_leftovers(dir).map_err(unusable)?;
        Ok((store, record))
    }

    /// That another process holds the folder of this member; none if none does, or nothing can be
    /// said. Leaves no trace.
    #[must_use]
    pub fn held(dir: &Path) -> Option<StoreError> {
        let file = file::open(&dir.join(LOCK)).ok()?;
        matches!(file.try_lock(), Err(TryLockError::WouldBlock)).then(|| in_use(dir, &file))
    }

    /// The last stored state of a member, as far as it can be read, for commands that only look: the
    /// member's process may be running.
    #[must_use]
    pub fn peek(dir: &Path, id: NodeId) -> Option<StoreRecord> {
        read(&dir.join(STATE), id).ok().flatten()
    }

    /// Makes a record durable: when this returns, it survives a power cut. Waits for the disk.
    ///
    /// # Errors
    /// When the disk is full, read-only or broken. The record stored before is intact.
    pub fn save(&self, record: &StoreRecord) -> Result<(), StoreError> {
        let start = Instant::now();
        self.pace.begin();
        if let Err(source) = self.replace(record) {
            let error = StoreError::Unwritable { path: self.path.clone(), source };
            self.pace.fail(DiskFault::of(&error));
            return Err(error);
        }
        self.pace.add(start.elapsed());
        Ok(())
    }

    /// How long the latest writes took, also when this store has gone to another thread.
    #[must_use]
    pub fn pace(&self) -> Arc<Pace> {
        self.pace.clone()
    }

    fn replace(&self, record: &StoreRecord) -> io::Result<()> {
        file::replace(&self.path, &record.to_json()?)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Closing the file would do, but for a child process that was forked just now and still
        // has it open. A lock that cannot be freed ends with this process.
        let _ = self.lock.unlock();
    }
}

/// Creates a folder and those above it, for this user only. A new folder's name lives in the one
/// above, so that one is synced; else a power cut could take the folder with all that was synced
/// in it.
fn create_folder(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = match dir.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    create_folder(above)?;
    match DirBuilder::new().mode(0o700).create(dir) {
        // Another node of this host was faster.
        Err(_) if dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(above)?.sync_all(),
    }
}

/// Takes the lock of a folder and leaves this process's id in it. The system frees the lock when
/// the process ends, however it ends; the file stays, since removing it would race with the next.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let unusable = |source| StoreError::Folder { dir: dir.to_path_buf(), source };
    let mut file = file::open_or_create(&dir.join(LOCK)).map_err(unusable)?;
    let mut locked = file.try_lock();
    if matches!(locked, Err(TryLockError::WouldBlock)) {
        thread::sleep(ASKED); // by one that only asks whether it is held
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(dir, &file)),
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    sign(&mut file).map_err(unusable)?;
    Ok(file)
}

/// Leaves this process's id in a lock file, unless there is something in it that electd never wrote. That id needs no sync:
/// after a power failure zeros may be in its place, as the length of a file may survive its content.
fn sign(lock: &mut File) -> io::Result<()> {
    let content = file::read(lock)?;
    let may_be_ours = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace() || *byte == 0;
    let written = |bytes: &[u8]| bytes.iter().all(may_be_ours);
    if !content.is_some_and(|bytes| bytes.len() <= LOCK_LENGTH && written(&bytes)) {
        let what = format!("its file \"{LOCK}\" holds something else than the id of a process");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// That another process holds the lock of a folder.
fn in_use(dir: &Path, lock: &File) -> StoreError {
    StoreError::Locked { dir: dir.to_path_buf(), holder: holder(lock) }
}

/// The process that wrote a lock file, in words.
fn holder(lock: &File) -> String {
    let content = file::read(lock).ok().flatten().unwrap_or_default();
    let pid = std::str::from_utf8(&content).ok().and_then(|text| text.trim().parse::<u32>().ok());
    pid.map_or_else(|| "another process".to_string(), |pid| format!("process {pid}"))
}

/// Reads the state of this member; none if there is no such file.
fn read(path: &Path, id: NodeId) -> Result<Option<StoreRecord>, StoreError> {
    let parse = |bytes: &[u8]| StoreRecord::from_json(bytes).map(|record| (record.id, record));
    read_as(path, id, FORMAT, parse)
}

/// Reads a file of this member, whose newest format is `known`; none if there is no such file. What is in it, `parse` says,
/// with whose it is.
fn read_as<T>(
    path: &Path,
    id: NodeId,
    known: u64,
    parse: impl FnOnce(&[u8]) -> Result<(NodeId, T), Unfit>,
) -> Result<Option<T>, StoreError> {
    let path = path.to_path_buf();
    let bytes = match file::open(&path).and_then(|file| file::read(&file)) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            let reason = format!("it has more than {} bytes", file::LARGEST);
            return Err(StoreError::Damaged { path, reason });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::Unreadable { path, source }),
    };
    match parse(&bytes) {
        Ok((found, record)) if found == id => Ok(Some(record)),
        Ok((found, _)) => Err(StoreError::Foreign { path, found, expected: id }),
        Err(Unfit::Newer(found)) => Err(StoreError::Newer { path, found, known }),
        Err(Unfit::Damaged(reason)) => Err(StoreError::Damaged { path, reason }),
    }
}

/// Removes new files that a crash kept from being renamed. We hold the lock, so no other process writes
/// them. electd wrote only regular files, so all others stay.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    let prefixes = [STATE, LOCKS].map(|file| format!(".{file}."));
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let named = prefixes.iter().any(|prefix| name.starts_with(prefix));
        if named && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Durable state: one small file per member, replaced as a whole, locked against a second process.
//!
//! What electd finds is either what was last saved or an error: never half a file, and never
//! silently nothing. [`Store`] reads and writes it, and waits for the disk; [`Writer`] does so on
//! a thread of its own, so that nobody else has to.

mod error;
mod record;
mod writer;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;

pub use error::{StoreError, Trouble};
pub use record::{FORMAT, Record};
pub use writer::Writer;

use crate::core::types::NodeId;
use record::Unfit;

const STATE: &str = "state.json";
const LOCK: &str = "lock";

/// Longer than [`Store::held`] holds a lock that nobody has.
const ASKED: Duration = Duration::from_millis(10);

/// A member's data directory, locked for as long as this lives.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    lock: File,
}

impl Store {
    /// Locks the folder of this member, creating it if it is missing, and reads its state; none on
    /// the first start.
    ///
    /// # Errors
    /// When the folder cannot be used or another process holds it, and when there is state that
    /// cannot be trusted: unreadable, damaged, of a newer format, or another member's. A state
    /// file is never changed here.
    pub fn open(dir: &Path, id: NodeId) -> Result<(Store, Option<Record>), StoreError> {
        let unusable = |source| StoreError::Folder { dir: dir.to_path_buf(), source };
        create_folder(dir).map_err(unusable)?;
        let store = Store { path: dir.join(STATE), lock: lock(dir)? };
        let record = read(&store.path, id)?;
        // Only now: what lies beside a state that cannot be trusted may help to repair it.
        remove_leftovers(dir).map_err(unusable)?;
        Ok((store, record))
    }

    /// That another process holds the folder of this member; none if none does, or nothing can be
    /// said. Leaves no trace.
    #[must_use]
    pub fn held(dir: &Path) -> Option<StoreError> {
        let mut file = File::open(dir.join(LOCK)).ok()?;
        matches!(file.try_lock(), Err(TryLockError::WouldBlock)).then(|| in_use(dir, &mut file))
    }

    /// What a member stored last, as far as it can be read, for those who only look: its process
    /// may be running.
    #[must_use]
    pub fn peek(dir: &Path, id: NodeId) -> Option<Record> {
        read(&dir.join(STATE), id).ok().flatten()
    }

    /// Makes a record durable: when this returns, it survives a power cut. Waits for the disk.
    ///
    /// # Errors
    /// When the disk is full, read-only or broken. What was stored before is intact.
    pub fn save(&self, record: &Record) -> Result<(), StoreError> {
        self.replace(record)
            .map_err(|source| StoreError::Unwritable { path: self.path.clone(), source })
    }

    /// Writes a new file, syncs it, renames it over the old one and syncs the folder.
    fn replace(&self, record: &Record) -> io::Result<()> {
        let mut file =
            AtomicWriteFile::options().preserve_mode(false).mode(0o600).open(&self.path)?;
        file.write_all(&record.to_json()?)?;
        file.commit()
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
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join(LOCK))
        .map_err(unusable)?;
    let mut locked = file.try_lock();
    if matches!(locked, Err(TryLockError::WouldBlock)) {
        thread::sleep(ASKED); // by one that only asks whether it is held
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(dir, &mut file)),
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    file.set_len(0)
        .and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()))
        .map_err(unusable)?;
    Ok(file)
}

/// That another process holds the lock of a folder.
fn in_use(dir: &Path, lock: &mut File) -> StoreError {
    StoreError::Locked { dir: dir.to_path_buf(), holder: holder(lock) }
}

/// Who wrote a lock file, in words.
fn holder(file: &mut File) -> String {
    let mut content = String::new();
    let pid = match file.take(32).read_to_string(&mut content) {
        Ok(_) => content.trim().parse::<u32>().ok(),
        Err(_) => None,
    };
    pid.map_or_else(|| "another process".to_string(), |pid| format!("process {pid}"))
}

/// Reads the state of this member; none if there is no such file.
fn read(path: &Path, id: NodeId) -> Result<Option<Record>, StoreError> {
    let path = path.to_path_buf();
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        // A link that leads nowhere is state on a disk that is not mounted, not a first start.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        Err(source) => return Err(StoreError::Unreadable { path, source }),
    };
    match Record::from_json(&bytes) {
        Ok(record) if record.id == id => Ok(Some(record)),
        Ok(record) => Err(StoreError::Foreign { path, found: record.id, expected: id }),
        Err(Unfit::Newer(found)) => Err(StoreError::Newer { path, found }),
        Err(Unfit::Damaged(reason)) => Err(StoreError::Damaged { path, reason }),
    }
}

/// Removes new files that a crash kept from being renamed. The lock is held, so nobody writes them.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    let prefix = format!(".{STATE}.");
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

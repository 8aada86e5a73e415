//! The programs that the hosts run, copied at the start: a build meanwhile changes nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// A new folder, in memory where that is possible: this is not about disks.
pub fn folder() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Copies them into this folder.
pub fn copy(folder: &Path) -> std::io::Result<()> {
    let built = env::var_os("JEPSEN_ELECTD").map(PathBuf::from);
    fs::copy(built.unwrap_or_else(|| env!("CARGO_BIN_EXE_electd").into()), folder.join("electd"))?;
    fs::copy(env::current_exe()?, folder.join("jepsen"))?;
    let _ = FOLDER.set(folder.to_owned()); // it is copied once
    Ok(())
}

/// The build under test.
pub fn electd() -> PathBuf {
    FOLDER.get().expect("they were copied").join("electd")
}

/// This program, as a job.
pub fn own() -> PathBuf {
    FOLDER.get().expect("they were copied").join("jepsen")
}

//! Files in a folder that other users may have prepared: opens only regular files, follows no link, and
//! reads no more than a state may have.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most bytes that a file in the folder of a member may have. The largest state has a third.
pub(super) const LARGEST: u64 = 1 << 20;

/// Opens a regular file to read it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY)
}

/// Opens a regular file to read and write it, creating it for this user only if it is missing.
pub(super) fn open_or_create(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDWR | OFlags::CREATE)
}

/// Checks the type before it opens the file, since opening alone may start a device, and again
/// afterwards, since another file may have taken its place meanwhile. Without `NONBLOCK`, which changes
/// nothing for a regular file, opening a named pipe would hang.
fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) => ensure_regular(found.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    ensure_regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn ensure_regular(found: FileType) -> io::Result<()> {
    let what = match found {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a link",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

/// Reads a file; none if it is larger than [`LARGEST`].
pub(super) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= LARGEST))
}

//! The room that is left for the state: no election goes on where it cannot be written, while all else that a node writes
//! beside it helps only those who look.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{StatVfs, fstatvfs, statvfs};

use super::file;

/// So many bytes stay free for the state of this member, and of others on the same file system.
pub const SPARE: u64 = 512 * 1024;

/// So many files.
const SPARE_FILES: u64 = 16;

/// How many more bytes may be written to the file system of this folder; none if that is unknown.
///
/// # Errors
/// When the file system has no room for one more file.
pub fn room(folder: impl AsFd) -> io::Result<Option<u64>> {
    fstatvfs(folder).map_or(Ok(None), |system| room_of(&system))
}

fn room_of(system: &StatVfs) -> io::Result<Option<u64>> {
    // Some file systems count no files, or no blocks, and say 0 of 0.
    if system.f_files > 0 && system.f_favail < SPARE_FILES {
        let what =
            "the file system has room for few more files, which is left for the state: remove some";
        return Err(io::Error::new(ErrorKind::StorageFull, what));
    }
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    Ok((system.f_blocks > 0).then(|| free.saturating_sub(SPARE)))
}

/// That so many bytes would take the room of the state.
#[must_use]
pub fn too_large(bytes: u64, room: u64) -> io::Error {
    let what = format!(
        "it takes {bytes} bytes, and the file system has room for {room} bytes besides the {SPARE} that are left for the \
         state: free some"
    );
    io::Error::new(ErrorKind::StorageFull, what)
}

/// Replaces a file beside the state as a whole, for this user alone. Waits for the disk.
///
/// # Errors
/// When there is no room for it besides the state, or it cannot be written. What it held before is kept.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let system = statvfs(folder).ok(); // to write there tells why not
    let room = system.map_or(Ok(None), |system| room_of(&system))?;
    match room.filter(|room| *room < bytes.len() as u64) {
        Some(room) => Err(too_large(bytes.len() as u64, room)),
        None => file::replace(path, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_state_leaves_room_for_it() {
        let system = |f_bavail, f_favail| StatVfs {
            f_bsize: 4096,
            f_frsize: 4096,
            f_blocks: 1000,
            f_bfree: 1000,
            f_bavail,
            f_files: 1000,
            f_ffree: 1000,
            f_favail,
            f_fsid: 0,
            f_flag: rustix::fs::StatVfsMountFlags::empty(),
            f_namemax: 255,
        };
        let room = |system| room_of(&system).unwrap();
        assert_eq!(room(system(128, 16)), Some(0));
        assert_eq!(room(system(127, 16)), Some(0));
        assert_eq!(room(system(172, 16)), Some(44 * 4096));
        assert_eq!(room(StatVfs { f_blocks: 0, ..system(0, 16) }), None, "it is not counted");
        assert_eq!(room_of(&system(172, 15)).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(room(StatVfs { f_files: 0, ..system(172, 0) }), Some(44 * 4096));
        let words = "it takes 5 bytes, and the file system has room for 3 bytes besides the 524288 that are left for the \
                     state: free some";
        assert_eq!(too_large(5, 3).to_string(), words);
    }
}

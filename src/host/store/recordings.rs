//! The recordings that a node writes by itself, at a panic and when it is told to: the folder `flight` of its state.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::Mode;

use super::folder::Folder;
use super::spare;

/// The folder below that of the state.
pub const FOLDER: &str = "flight";

/// How many recordings are kept: the last ones.
pub const KEPT: usize = 8;

/// How many bytes they have together at most.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// What a recording is called until it is whole.
const PART: &str = ".part";
const WHOLE: &str = ".json";

/// The node's user writes it, and the group reads it.
const MODE: Mode = Mode::from_raw_mode(0o640);

/// Writes a recording, named by the time and by what it was made for, and removes the oldest ones. Returns its path. It
/// does not wait until the disk has it: after a crash of the host it may be gone.
///
/// ```
/// let state = tempfile::tempdir()?;
/// let file = electd_host::store::recordings::write(state.path(), "signal", "{}")?;
/// assert!(file.starts_with(state.path().join("flight")));
/// assert_eq!(std::fs::read_to_string(file)?, "{}");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If there is no room for it besides the state of the node, or it cannot be written: then nothing of it is left.
pub fn write(state: &Path, why: &str, recording: &str) -> io::Result<PathBuf> {
    let folder = Folder::open(state)?.below(FOLDER)?;
    let now = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%6fZ");
    let name = format!("{now}-{why}{WHOLE}");
    let part = format!("{now}-{why}{PART}");
    make_room(&folder, recording.len() as u64)?;
    let written = folder
        .create(&part, MODE)
        .and_then(|mut file| file.write_all(recording.as_bytes()))
        .and_then(|()| folder.rename(&part, &name));
    if written.is_err() {
        let _ = folder.remove(&part); // it would take the room of the state
    }
    written.map(|()| state.join(FOLDER).join(name))
}

/// Removes what was never whole, and as many of the oldest recordings as have to go for one of so many bytes. Names are in
/// the order of time.
fn make_room(folder: &Folder, bytes: u64) -> io::Result<()> {
    let files = folder.files()?;
    for (part, _) in files.iter().filter(|(name, _)| name.ends_with(PART)) {
        folder.remove(part)?;
    }
    let room = spare::room(folder)?;
    let mut kept: Vec<_> = files.iter().filter(|(name, _)| name.ends_with(WHOLE)).collect();
    let mut gone = Vec::new();
    let mut freed = 0;
    loop {
        let is_many = kept.len() >= KEPT;
        let is_much = kept.iter().map(|(_, length)| length).sum::<u64>() + bytes > MOST_BYTES;
        let lacks = room.filter(|room| room + freed < bytes);
        if !is_many && !is_much && lacks.is_none() {
            break;
        }
        if kept.is_empty() {
            return Err(spare::too_large(bytes, lacks.map_or(MOST_BYTES, |room| room + freed)));
        }
        let (name, length) = kept.remove(0);
        gone.push(name);
        freed += length;
    }
    gone.into_iter().try_for_each(|name| folder.remove(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_last_recordings_are_kept_and_nothing_else_is_touched() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("0.part"), "half of it").unwrap();
        fs::write(folder.join("notes"), "of an operator").unwrap();
        let files: Vec<_> = (0..10)
            .map(|number| write(state.path(), "signal", &number.to_string()).unwrap())
            .collect();
        assert!(files.is_sorted());
        let kept: Vec<_> = files.iter().filter(|file| file.exists()).collect();
        assert_eq!(kept, files[2..].iter().collect::<Vec<_>>());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 9, "and the notes");
        let mode = fs::metadata(&files[2]).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640, "for the node's user, and its group reads it");
        for (number, file) in (2..).zip(&files[2..]) {
            assert_eq!(fs::read_to_string(file).unwrap(), number.to_string());
        }
    }

    #[test]
    fn a_recording_is_named_by_its_moment_and_by_what_it_was_made_for() {
        let state = tempfile::tempdir().unwrap();
        let (before, file) = (Timestamp::now(), write(state.path(), "panic", "x").unwrap());
        assert_eq!(file.parent(), Some(&*state.path().join("flight")));
        let told = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(told.len(), "2026-11-22T10-58-33.123456Z-panic.json".len());
        let (day, rest) = told.split_at("2026-11-22".len());
        let moment: Timestamp = format!("{day}{}", rest.replacen('-', ":", 2))
            .trim_end_matches("-panic.json")
            .parse()
            .unwrap();
        let micro = jiff::SignedDuration::from_micros(1);
        assert!((before - micro..=Timestamp::now()).contains(&moment), "{told}");
    }

    #[test]
    fn a_state_that_is_no_folder_is_an_error() {
        let state = tempfile::NamedTempFile::new().unwrap();
        let error = write(state.path(), "signal", "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    /// The owner of the state folder may be another user than the node's, which may be root.
    #[test]
    fn a_folder_that_is_a_link_is_refused_and_nothing_in_it_is_touched() {
        let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        (0..9)
            .for_each(|number| fs::write(other.path().join(format!("{number}.json")), "").unwrap());
        fs::write(other.path().join("0.part"), "").unwrap();
        symlink(other.path(), state.path().join(FOLDER)).unwrap();
        assert!(write(state.path(), "signal", "x").is_err());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 10);
    }

    /// The oldest go by their bytes, too: a large cluster has large recordings.
    #[test]
    fn as_many_are_kept_as_have_32_mib() {
        let state = tempfile::tempdir().unwrap();
        let large = "x".repeat(9 * 1024 * 1024);
        let files: Vec<_> =
            (0..5).map(|_| write(state.path(), "signal", &large).unwrap()).collect();
        let kept = files.iter().map(|file| file.exists());
        assert_eq!(kept.collect::<Vec<_>>(), [false, false, true, true, true]);
        let more_than_all = "x".repeat(33 * 1024 * 1024);
        let error = write(state.path(), "signal", &more_than_all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(state.path().join(FOLDER)).unwrap().count(), 3, "none is lost");
    }
}

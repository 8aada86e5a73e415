//! The recordings that a node writes by itself, at a panic and when it is told to: the folder `flight` of its state.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// The folder below that of the state.
pub const FOLDER: &str = "flight";

/// How many recordings are kept: the last ones.
pub const KEPT: usize = 8;

/// What a recording is called until it is whole.
const PART: &str = "part";

/// Writes a recording, named by the time and by what it was made for, and removes the oldest ones. Returns its path. It
/// does not wait until the disk has it: after a crash of the host it may be gone.
///
/// ```
/// let state = tempfile::tempdir()?;
/// let file = electd::flight::folder::write(state.path(), "signal", "{}")?;
/// assert!(file.starts_with(state.path().join("flight")));
/// assert_eq!(std::fs::read_to_string(file)?, "{}");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn write(state: &Path, why: &str, recording: &str) -> io::Result<PathBuf> {
    let folder = state.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let now = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%6fZ");
    let file = folder.join(format!("{now}-{why}.json"));
    let part = file.with_extension(PART);
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(&part)?
        .write_all(recording.as_bytes())?;
    fs::rename(&part, &file)?;
    make_room(&folder)?;
    Ok(file)
}

/// Removes the oldest recordings, and what was never whole. Names are in the order of time.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is = |extension: &str| path.extension().is_some_and(|other| other == extension);
        if is(PART) {
            fs::remove_file(&path)?;
        } else if is("json") {
            names.push(path);
        }
    }
    names.sort();
    names.truncate(names.len().saturating_sub(KEPT));
    names.iter().try_for_each(fs::remove_file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let like = folder.join("like");
        OpenOptions::new().write(true).create_new(true).mode(0o640).open(&like).unwrap();
        assert_eq!(mode(&files[2]), mode(&like), "for the node's user, and its group reads it");
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
}

//! The free space of a file system, and the number of files in a folder.

use std::fs;
use std::path::Path;

use super::{Sample, SampleResult, measured};

/// More files than this are not told apart: counting them would take too long.
const MOST: usize = 1_000_000;

/// The bytes that this user may still write on the file system of this path.
pub fn free_bytes(path: &Path) -> SampleResult {
    let shown = path.display();
    let system = rustix::fs::statvfs(path)
        .map_err(|error| format!("the free space of {shown} cannot be read: {error}"))?;
    let bytes = system.f_bavail.saturating_mul(system.f_frsize);
    let value = measured(bytes);
    Ok(Sample { value, from: format!("{value} bytes are free on the file system of {shown}") })
}

/// The regular files in this folder: not its folders, nor what is in them, nor links.
pub fn count_files(folder: &Path) -> SampleResult {
    count(folder, MOST)
}

fn count(folder: &Path, most: usize) -> SampleResult {
    let shown = folder.display();
    let unreadable = |error| format!("the files in {shown} cannot be counted: {error}");
    let mut files = 0;
    for (looked_at, entry) in fs::read_dir(folder).map_err(unreadable)?.enumerate() {
        if looked_at == most {
            let from = format!("the first {most} entries of {shown}; more are not looked at");
            return Ok(Sample { value: files, from });
        }
        // A file that was removed meanwhile does not count.
        let kind = entry.map_err(unreadable)?.file_type();
        files += i64::from(kind.is_ok_and(|kind| kind.is_file()));
    }
    let noun = if files == 1 { "file" } else { "files" };
    Ok(Sample { value: files, from: format!("{files} {noun} in {shown}") })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_counted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(count_files(path).unwrap().value, 0);
        fs::write(path.join("a"), "").unwrap();
        fs::create_dir(path.join("deeper")).unwrap();
        fs::write(path.join("deeper/b"), "").unwrap();
        symlink(path.join("a"), path.join("link")).unwrap();
        let sample = count_files(path).unwrap();
        assert_eq!((sample.value, sample.from), (1, format!("1 file in {}", path.display())));
        fs::write(path.join(".hidden"), "").unwrap();
        assert_eq!(count_files(path).unwrap().value, 2);
    }

    #[test]
    fn counting_ends_somewhere_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let shown = folder.path().display();
        let two = format!("the first 2 entries of {shown}; more are not looked at");
        assert_eq!(count(folder.path(), 2), Ok(Sample { value: 2, from: two }));
        let three = format!("3 files in {shown}");
        assert_eq!(count(folder.path(), 3), Ok(Sample { value: 3, from: three }));
        assert_eq!(MOST, 1_000_000, "a folder of so many is counted whole");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("jobs");
        let (shown, why) = (missing.display(), "No such file or directory (os error 2)");
        let told = format!("the files in {shown} cannot be counted: {why}");
        assert_eq!(count_files(&missing), Err(told));
        let told = format!("the free space of {shown} cannot be read: {why}");
        assert_eq!(free_bytes(&missing), Err(told));
    }

    #[test]
    fn the_free_space_shrinks_with_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let sample = free_bytes(folder.path()).unwrap();
        let shown = folder.path().display();
        let from = format!("{} bytes are free on the file system of {shown}", sample.value);
        assert!(sample.value > 0 && sample.from == from, "{sample:?}");
        let mut df = std::process::Command::new("df");
        let told =
            df.args(["--block-size=1", "--output=avail"]).arg(folder.path()).output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let bytes: i64 = told.lines().nth(1).unwrap().trim().parse().unwrap();
        assert!(sample.value.abs_diff(bytes) < bytes.unsigned_abs() / 4, "{sample:?}, df {bytes}");
    }
}

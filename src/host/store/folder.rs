//! A folder that belongs to another user, perhaps, who may put anything into it at any time: each file is reached through
//! the descriptor of the folder, no link in it is followed, and what is made has its mode whatever the umask is.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, open, openat, renameat};
use rustix::fs::{Dir, statat, unlinkat};
use rustix::io::Errno;

/// The mode of a folder below the state: its group reads what is for it.
const BELOW: Mode = Mode::from_raw_mode(0o750);

/// How each folder is opened.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder that the configuration names: its path may lead over links.
    ///
    /// # Errors
    /// When it is no folder that can be read.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder(open(path, FLAGS, Mode::empty())?))
    }

    /// Opens the folder of this name in this one, and makes it if it is missing.
    ///
    /// # Errors
    /// When something else is there, a link included.
    pub fn below(&self, name: &str) -> io::Result<Folder> {
        let is_new = match mkdirat(&self.0, name, Mode::RWXU) {
            Err(Errno::EXIST) => false,
            made => made.map(|()| true)?,
        };
        let below = openat(&self.0, name, FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
        if is_new {
            fchmod(&below, BELOW)?;
        }
        Ok(Folder(below))
    }

    /// Makes a file that is not there yet.
    ///
    /// # Errors
    /// When it is, or cannot be made.
    pub fn create(&self, name: &str, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags | OFlags::NOFOLLOW, mode)?;
        fchmod(&file, mode)?;
        Ok(file.into())
    }

    /// Gives a file another name, which it takes from the file that had it.
    ///
    /// # Errors
    /// As the system does.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a file, or a link.
    ///
    /// # Errors
    /// As the system does.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// The regular files in it with their lengths, by name.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // It may have gone since it was listed.
            let Ok(found) = statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
                files.push((name, u64::try_from(found.st_size).unwrap_or_default()));
            }
        }
        files.sort();
        Ok(files)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn no_link_in_it_is_followed() {
        let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = other.path().join("file");
        fs::write(&file, "theirs").unwrap();
        symlink(other.path(), state.path().join("below")).unwrap();
        symlink(&file, state.path().join("link")).unwrap();
        symlink(other.path().join("new"), state.path().join("dangling")).unwrap();
        let folder = Folder::open(state.path()).unwrap();
        let kind = folder.below("below").unwrap_err().raw_os_error();
        assert!([Errno::LOOP, Errno::NOTDIR].map(|it| Some(it.raw_os_error())).contains(&kind));
        for name in ["link", "dangling"] {
            assert!(folder.create(name, Mode::RUSR).is_err());
            folder.remove(name).unwrap();
        }
        assert_eq!(folder.files().unwrap(), [], "nor listed");
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(file).unwrap(), "theirs");
    }

    #[test]
    fn what_is_made_has_its_mode_whatever_the_umask_is() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::open(state.path()).unwrap().below("b").unwrap();
        folder.create("file", Mode::from_raw_mode(0o666)).unwrap();
        folder.rename("file", "other").unwrap();
        assert_eq!(folder.files().unwrap(), [("other".to_owned(), 0)]);
        let mode = |name| fs::metadata(state.path().join(name)).unwrap().permissions().mode();
        // The umask of a test takes away more than nothing, as a rule.
        assert_eq!((mode("b") & 0o777, mode("b/other") & 0o777), (0o750, 0o666));
        assert!(Folder::open(&state.path().join("b/other")).is_err());
    }
}

//! The files of `tls`, and what is wrong with one of them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where the certificates of a member are, and its key: `tls` in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificates of the authorities that are trusted: one, or several while one replaces another.
    pub ca: PathBuf,
    /// The certificate of the member, and those between it and the authority, if any.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// The properties that distinguish files from later versions: the inode, the length, and the time of
/// the last change of each.
pub type TlsFilesStamp = [Option<(u64, u64, (i64, i64))>; 3];

/// What is wrong with a file, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} {}: {what}", file.display())]
pub struct BadFile {
    /// The key in the configuration, such as `tls.ca`.
    pub key: &'static str,
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, and what to do.
    pub what: String,
    /// Whether it could not be read at all: its file system may be there later.
    pub is_unread: bool,
}

impl BadFile {
    pub(super) fn new(key: &'static str, file: &Path, what: impl Into<String>) -> BadFile {
        BadFile { key, file: file.to_owned(), what: what.into(), is_unread: false }
    }
}

impl Files {
    /// The files as they are now. Only their entries in the folder are looked at.
    #[must_use]
    pub fn stamp(&self) -> TlsFilesStamp {
        [&self.ca, &self.cert, &self.key].map(|file| {
            let found = fs::metadata(file).ok()?;
            Some((found.ino(), found.len(), (found.mtime(), found.mtime_nsec())))
        })
    }

    /// A sentence if users who are neither its owner nor in its group may read the key.
    #[must_use]
    pub fn exposed(&self) -> Option<String> {
        let mode = fs::metadata(&self.key).ok()?.permissions().mode();
        let key = self.key.display();
        (mode & 0o007 != 0).then(|| {
            format!(
                "tls.key {key} may be used by any user of this host (mode {:o}): chmod 600 {key}",
                mode & 0o777
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions};

    use super::*;

    /// A node takes new files by that while it runs.
    #[test]
    fn files_that_change_have_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let files = Files { ca: path("ca"), cert: path("cert"), key: path("key") };
        let mut seen = vec![files.stamp()];
        assert_eq!(seen[0], [None; 3]);
        for file in [&files.ca, &files.cert, &files.key] {
            fs::write(file, "one").unwrap();
            seen.push(files.stamp());
        }
        fs::write(&files.key, "longer").unwrap();
        seen.push(files.stamp());
        let other = path("other");
        fs::write(&other, "longer").unwrap();
        let changed = fs::metadata(&files.key).unwrap().modified().unwrap();
        File::open(&other).unwrap().set_modified(changed).unwrap();
        fs::rename(&other, &files.key).unwrap();
        seen.push(files.stamp());
        let touched = changed + std::time::Duration::from_nanos(1);
        File::open(&files.key).unwrap().set_modified(touched).unwrap();
        seen.push(files.stamp());
        for (at, stamp) in seen.iter().enumerate() {
            assert!(!seen[..at].contains(stamp), "{at}: {seen:?}");
        }
        assert_eq!(seen.last(), Some(&files.stamp()), "nothing has changed");
    }

    #[test]
    fn a_key_is_exposed_to_all_users_and_not_to_a_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let files = Files { ca: path("ca"), cert: path("cert"), key: path("key") };
        assert_eq!(files.exposed(), None, "there is none");
        for (mode, is_exposed) in
            [(0o600, false), (0o640, false), (0o604, true), (0o602, true), (0o601, true)]
        {
            fs::write(&files.key, "").unwrap();
            fs::set_permissions(&files.key, Permissions::from_mode(mode)).unwrap();
            let key = files.key.display();
            let words = format!(
                "tls.key {key} may be used by any user of this host (mode {mode:o}): chmod 600 {key}"
            );
            assert_eq!(files.exposed(), is_exposed.then_some(words));
        }
    }
}

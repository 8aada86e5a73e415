//! The files of a host that joins: its key first, in a folder beside the place of the others, and then all at once.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::super::certificates::{FOLDER, OWN};
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::files::{OPEN_FOLDER, make_folder, write_open};
use crate::tls::Files;

/// What is on the disk so far. Unless it is committed, all of it goes again.
pub struct Staged {
    file: PathBuf,
    /// The folder of this host's certificate, and the one that is to take its place.
    own: PathBuf,
    next: PathBuf,
    made: Vec<PathBuf>,
    /// A lock of the folder above, so that no other attempt touches the one for this certificate.
    turn: Option<File>,
}

impl Staged {
    /// Makes a place for the key, and so finds out whether the others can be written.
    ///
    /// # Errors
    /// 2, if this host has such files, or they cannot be written.
    pub fn begin(file: &Path) -> Result<Staged, CliError> {
        let tls = file.with_file_name(FOLDER);
        let own = tls.join(OWN);
        let there = |path: &Path| path.symlink_metadata().is_ok(); // a link that leads nowhere is in the way, too
        if there(file) || there(&own) {
            let (shown, own) = (file.display(), own.display());
            let what = if there(file) {
                format!("{shown} exists and is not overwritten: this host is in a cluster")
            } else {
                format!(
                    "{own} is there without {shown}: remove it, if no other file in that folder names it"
                )
            };
            let what =
                format!("{what}; for another cluster, name a file in another folder with --config");
            return Err(CliError::new(Exit::Usage, what));
        }
        // Dropped before its end, it takes away what it made.
        let (file, next, made) = (file.to_owned(), tls.join("own.new"), Vec::new());
        let mut staged = Staged { file, own, next, made, turn: None };
        let missing: Vec<&Path> = tls.ancestors().take_while(|it| !it.exists()).collect();
        for folder in missing.into_iter().rev() {
            staged.make(folder, OPEN_FOLDER)?;
        }
        let turn = File::open(&tls).map_err(|error| refused(&tls, &error))?;
        turn.try_lock().map_err(|error| match error {
            TryLockError::Error(error) => refused(&tls, &error),
            TryLockError::WouldBlock => {
                let what = format!("another `electd join` writes to {}: let it end", tls.display());
                CliError::new(Exit::Usage, what)
            }
        })?;
        staged.turn = Some(turn);
        let _ = fs::remove_dir_all(&staged.next); // of an attempt that was cut short
        staged.make(&staged.next.clone(), 0o700)?;
        Ok(staged)
    }

    fn make(&mut self, folder: &Path, mode: u32) -> Result<(), CliError> {
        make_folder(folder, mode).map_err(|error| refused(folder, &error))?;
        self.made.push(folder.to_owned());
        Ok(())
    }

    /// Where the certificates are until then.
    pub fn files(&self) -> Files {
        let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| self.next.join(name));
        Files { ca, cert, key }
    }

    /// Puts all of it in its place, each as a whole, and the file last, as it names the others.
    ///
    /// # Errors
    /// 2, if that fails; then nothing is left.
    pub fn commit(mut self, text: &str) -> Result<(), CliError> {
        let whole = "cluster.json";
        write_open(&self.next.join(whole), text).map_err(|error| refused(&self.file, &error))?;
        fs::rename(&self.next, &self.own).map_err(|error| refused(&self.own, &error))?;
        // A link replaces nothing.
        fs::hard_link(self.own.join(whole), &self.file).map_err(|error| {
            let _ = fs::rename(&self.own, &self.next);
            refused(&self.file, &error)
        })?;
        let _ = fs::remove_file(self.own.join(whole));
        // The power may fail before the node runs.
        for folder in [Some(&*self.own), self.file.parent()].into_iter().flatten() {
            let _ = File::open(folder).and_then(|it| it.sync_all());
        }
        let _ = self.turn.as_ref().map(File::sync_all);
        self.made.clear();
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        undo(&self.made);
    }
}

/// Removes the folders that were made, the last one first: only that one has files.
fn undo(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        let _ = if folder.ends_with("own.new") {
            fs::remove_dir_all(folder)
        } else {
            fs::remove_dir(folder)
        };
    }
}

/// Why a file of this host cannot be written.
pub fn refused(path: &Path, error: &io::Error) -> CliError {
    let what = format!(
        "{} cannot be made: {error}: join as root, or name a file in another folder with --config",
        path.display()
    );
    CliError::new(Exit::Usage, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two joins at once on one host: the second one would take the key of the first away.
    #[test]
    fn of_two_attempts_at_once_the_second_is_refused_and_harms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("etc/cluster.json");
        let first = Staged::begin(&file).unwrap();
        fs::write(first.files().key, "key").unwrap();
        let second = Staged::begin(&file).err().map(|error| (error.exit, error.message));
        let tls = file.with_file_name(FOLDER);
        let words = format!("another `electd join` writes to {}: let it end", tls.display());
        assert_eq!(second, Some((Exit::Usage, words)));
        let own = tls.join(OWN);
        first.commit("{}").unwrap();
        assert_eq!(fs::read_to_string(own.join("key.pem")).unwrap(), "key");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    }

    #[test]
    fn what_an_attempt_left_that_was_cut_short_goes_and_one_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("etc/cluster.json");
        let left = file.with_file_name(FOLDER).join("own.new");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("key.pem"), "of before").unwrap();
        let staged = Staged::begin(&file).unwrap();
        assert!(!staged.files().key.exists());
        drop(staged);
        assert!(!left.exists());
        fs::remove_dir_all(folder.path().join("etc")).unwrap();
        drop(Staged::begin(&file).unwrap());
        assert!(folder.path().read_dir().unwrap().next().is_none());
    }
}

//! The files of a host that joins: its key first, in a folder beside the place of the others, and then all at once.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::super::certificates::{FOLDER, OWN};
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::init::write_new;
use crate::tls::Files;

/// What is on the disk so far. Unless it is committed, all of it goes again.
pub struct Staged {
    file: PathBuf,
    /// The folder of this host's certificate, and the one that is to take its place.
    own: PathBuf,
    next: PathBuf,
    made: Vec<PathBuf>,
}

impl Staged {
    /// Makes a place for the key, and so finds out whether the others can be written.
    ///
    /// # Errors
    /// 2, if this host has such files, or they cannot be written.
    pub fn begin(file: &Path) -> Result<Staged, CliError> {
        let tls = file.with_file_name(FOLDER);
        let own = tls.join(OWN);
        if let Some(there) = [file, &own].into_iter().find(|path| path.exists()) {
            let what = format!(
                "{} exists and is not overwritten: this host is in a cluster; for another one, name another file with \
                 --config",
                there.display()
            );
            return Err(CliError::new(Exit::Usage, what));
        }
        let (file, next, mut made) = (file.to_owned(), tls.join("own.new"), Vec::new());
        let _ = fs::remove_dir_all(&next); // of an attempt that was cut short
        let folders: Vec<&Path> = tls.ancestors().take_while(|it| !it.exists()).collect();
        let modes = folders.into_iter().rev().map(|folder| (folder, 0o755));
        for (folder, mode) in modes.chain([(next.as_path(), 0o700)]) {
            match DirBuilder::new().mode(mode).create(folder) {
                Ok(()) => made.push(folder.to_owned()),
                Err(error) => {
                    undo(&made);
                    return Err(refused(folder, &error));
                }
            }
        }
        Ok(Staged { file, own, next, made })
    }

    /// Where the certificates are until then.
    pub fn files(&self) -> Files {
        let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| self.next.join(name));
        Files { ca, cert, key }
    }

    /// Puts all of it in its place: the file last, as it names the others.
    ///
    /// # Errors
    /// 2, if that fails; then nothing is left.
    pub fn commit(mut self, text: &str) -> Result<(), CliError> {
        fs::rename(&self.next, &self.own).map_err(|error| refused(&self.own, &error))?;
        write_new(&self.file, text).map_err(|error| {
            let _ = fs::rename(&self.own, &self.next);
            refused(&self.file, &error)
        })?;
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

//! The files of a host that joins: its key first, in a folder beside the place of the others, and then all at once.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::certificates::{FOLDER, OWN};
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::init::write_new;
use crate::tls::Files;

/// The mode of a folder with files of a cluster: the user of the unit passes through it.
pub const OPEN_FOLDER: u32 = 0o755;

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
        let (file, next, mut made) = (file.to_owned(), tls.join("own.new"), Vec::new());
        let _ = fs::remove_dir_all(&next); // of an attempt that was cut short
        let folders: Vec<&Path> = tls.ancestors().take_while(|it| !it.exists()).collect();
        let modes = folders.into_iter().rev().map(|folder| (folder, OPEN_FOLDER));
        for (folder, mode) in modes.chain([(next.as_path(), 0o700)]) {
            if let Err(error) = make_folder(folder, mode) {
                undo(&made);
                return Err(refused(folder, &error));
            }
            made.push(folder.to_owned());
        }
        Ok(Staged { file, own, next, made })
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
        for folder in
            [Some(&*self.own), self.own.parent(), self.file.parent()].into_iter().flatten()
        {
            let _ = File::open(folder).and_then(|it| it.sync_all()); // the power may fail before the node runs
        }
        self.made.clear();
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        undo(&self.made);
    }
}

/// Makes a folder of this mode, whatever the umask is.
pub fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// Writes a new file that the user of the unit can read, whatever the umask is.
pub fn write_open(file: &Path, text: &str) -> io::Result<()> {
    write_new(file, text)?;
    fs::set_permissions(file, Permissions::from_mode(0o644))
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

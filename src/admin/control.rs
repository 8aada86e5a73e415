//! The control socket of a node, `control.sock` in its state folder, by which it takes commands on its own host.
//! Every process that can open the socket may act for the node, so it is for the node's user alone, and for a group
//! if the configuration names one.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::Socket;

use super::group;
use crate::net::unix;
pub use crate::net::unix::connect as dial;

/// The name of the socket in the state folder.
const FILE: &str = "control.sock";

/// The beginning of an address that is the path of a control socket.
const SCHEME: &str = "unix:";

/// The remedy for a user who may not open the socket.
pub const WHO_MAY: &str = "run this as the node's user, or as root, or as a user of control_group";

/// How many clients may wait to be accepted.
const BACKLOG: i32 = 128;

/// The control socket of the node whose state is in this folder.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// The control socket of the node whose state is in this folder, written as an address.
#[must_use]
pub fn address(state: &Path) -> String {
    format!("{SCHEME}{}", path(state).display())
}

/// The path in an address, if it is that of a control socket.
#[must_use]
pub fn of_address(address: &str) -> Option<&Path> {
    address.strip_prefix(SCHEME).map(Path::new)
}

/// A listening control socket. Dropping it removes its file.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    file: PathBuf,
    /// The device and the number of the file: a later node may have replaced it.
    identity: (u64, u64),
}

impl Control {
    /// Listens in this state folder, for the user of this process and for this group, if one is named: the group may
    /// then also pass this folder and the one above, `data_dir`, or the log warns. It replaces a socket that an earlier
    /// process left there, so the caller must hold the lock of the folder.
    ///
    /// # Errors
    /// If the socket cannot be made or given to the group, or another kind of file has the socket's name.
    pub fn listen(state: &Path, group: Option<u32>) -> io::Result<Control> {
        let file = path(state);
        if let Some(group) = group {
            group::let_in(state, group);
        }
        match fs::symlink_metadata(&file) {
            Ok(left) if left.file_type().is_socket() => fs::remove_file(&file)?,
            Ok(_) => return Err(io::Error::other("a file that is no socket is there: remove it")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let socket = unix::bind(&file, group)?;
        let made = fs::symlink_metadata(&file)?;
        socket.listen(BACKLOG)?;
        Ok(Control { socket, file, identity: (made.dev(), made.ino()) })
    }

    /// A copy of the socket, to accept from.
    pub(super) fn socket(&self) -> io::Result<Socket> {
        self.socket.try_clone()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let present = fs::symlink_metadata(&self.file).map(|file| (file.dev(), file.ino()));
        if present.is_ok_and(|present| present == self.identity) {
            let _ = fs::remove_file(&self.file); // the next node replaces it
        }
    }
}

/// Whether this process can reach a node by its control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A process listens there, and this one may connect.
    Open,
    /// The socket belongs to another user.
    Forbidden,
    /// Nobody listens there.
    Absent,
}

/// Looks whether this process can reach a node by the control socket in this state folder.
#[must_use]
pub fn reach(state: &Path) -> Reach {
    match dial(&path(state), Duration::ZERO).map_err(|error| error.kind()) {
        Ok(_) | Err(ErrorKind::WouldBlock) => Reach::Open,
        Err(ErrorKind::PermissionDenied) => Reach::Forbidden,
        Err(_) => Reach::Absent,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

    use super::*;

    #[test]
    fn it_is_the_owners_alone_and_replaces_what_a_dead_process_left() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        assert_eq!(reach(state), Reach::Absent);
        let dead = Control::listen(state, None).unwrap();
        let mode = fs::metadata(path(state)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let later = Control::listen(state, None).unwrap();
        drop(dead);
        assert_eq!(reach(state), Reach::Open, "who ends leaves the later one's file alone");
        drop(later);
        assert!(!path(state).exists());
    }

    #[test]
    fn a_group_may_be_let_in() {
        let above = tempfile::tempdir().unwrap();
        let (data, state) = (above.path().join("data"), above.path().join("data/node"));
        let mut as_the_store = DirBuilder::new();
        as_the_store.recursive(true).mode(0o700).create(&state).unwrap();
        fs::set_permissions(above.path(), Permissions::from_mode(0o700)).unwrap();
        let own = fs::metadata(&data).unwrap().gid();
        let _control = Control::listen(&state, Some(own)).unwrap();
        let above = above.path().to_owned(); // is not the node's
        for (what, mode) in
            [(&path(&state), 0o660), (&state, 0o710), (&data, 0o710), (&above, 0o700)]
        {
            let made = fs::metadata(what).unwrap();
            assert_eq!((made.gid(), made.permissions().mode() & 0o777), (own, mode), "{what:?}");
        }
    }

    #[test]
    fn a_long_path_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("x".repeat(200));
        fs::create_dir(&state).unwrap();
        let control = Control::listen(&state, None).unwrap();
        assert_eq!(reach(&state), Reach::Open);
        drop(control);
        assert_eq!(reach(&state), Reach::Absent);
    }

    #[test]
    fn another_file_of_its_name_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path(folder.path()), "mine").unwrap();
        let refused = Control::listen(folder.path(), None).unwrap_err();
        assert_eq!(refused.to_string(), "a file that is no socket is there: remove it");
        assert_eq!(fs::read_to_string(path(folder.path())).unwrap(), "mine");
        let no_folder = Control::listen(&path(folder.path()), None).unwrap_err();
        assert_eq!(no_folder.kind(), ErrorKind::NotADirectory);
    }

    #[test]
    fn an_address_is_a_scheme_and_the_path_of_the_socket_in_the_folder() {
        let state = Path::new("/var/lib/electd/a");
        assert_eq!(path(state), Path::new("/var/lib/electd/a/control.sock"));
        assert_eq!(address(state), "unix:/var/lib/electd/a/control.sock");
        assert_eq!(of_address("unix:/var/lib"), Some(Path::new("/var/lib")));
        assert_eq!((of_address("h:7201"), of_address("http://unix:1")), (None, None));
    }

    /// A later one may have the number that the file had.
    #[test]
    fn what_has_taken_the_place_of_its_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::listen(folder.path(), None).unwrap();
        let (device, number) = control.identity;
        for identity in [(device + 1, number), (device, number + 1)] {
            let file = path(folder.path());
            drop(Control { socket: control.socket().unwrap(), file, identity });
            assert!(path(folder.path()).exists(), "{identity:?}");
        }
    }

    #[test]
    fn a_full_backlog_is_told_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let _control = Control::listen(folder.path(), None).unwrap();
        let mut waiting = Vec::new();
        let refused = loop {
            match dial(&path(folder.path()), Duration::ZERO) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!((refused.kind(), waiting.len()), (ErrorKind::WouldBlock, 128 + 1));
        assert_eq!(reach(folder.path()), Reach::Open, "a node is there");
    }
}

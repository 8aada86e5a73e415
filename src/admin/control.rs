//! The control socket of a node, `control.sock` in its state folder, by which it takes commands on its own host.
//! Every process that can open the socket may act for the node, so it is for the node's user alone, and for a group
//! if the configuration names one.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::{SockAddr, Socket};

use super::group;
use crate::calls::Named;
use crate::local::unix;
pub use crate::local::unix::connect as dial;

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

/// How often a node looks whether its control socket is still there.
const LOOK: Duration = Duration::from_secs(1);

/// A listening control socket. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    state: PathBuf,
    group: Option<u32>,
    present: Mutex<PresentSocket>,
}

/// The socket and its file, which somebody may remove while the node runs.
#[derive(Debug)]
struct PresentSocket {
    socket: Arc<Socket>,
    /// The device and the number of the file: a later node may have replaced it.
    identity: (u64, u64),
    /// Whether the log says already that it is gone and cannot be made anew.
    is_lost: bool,
}

impl ControlSocket {
    /// Listens in this state folder, for the user of this process and for this group, if one is named: the group may
    /// then also pass this folder and the one above, `data_dir`, or the log warns. It replaces a socket that an earlier
    /// process left there, so the caller must hold the lock of the folder.
    ///
    /// # Errors
    /// If the socket cannot be made or given to the group, or another kind of file has the socket's name.
    pub fn listen(state: &Path, group: Option<u32>) -> io::Result<ControlSocket> {
        if let Some(group) = group {
            group::let_in(state, group);
        }
        let (socket, identity) = bind(state, group)?;
        let present = PresentSocket { socket: socket.into(), identity, is_lost: false };
        Ok(ControlSocket { state: state.to_owned(), group, present: Mutex::new(present) })
    }

    /// Waits for the next client, for a second at most. If the file was removed meanwhile, as cleaners of folders do, it
    /// is made anew.
    pub(super) fn accept(&self) -> io::Result<(Socket, SockAddr)> {
        let socket = self.present.lock().socket.clone();
        let accepted = socket.accept();
        self.look_after();
        accepted
    }

    /// Wakes whoever waits for a client.
    pub(super) fn close(&self) {
        let _ = self.present.lock().socket.shutdown(Shutdown::Both);
    }

    fn look_after(&self) {
        let mut present = self.present.lock();
        let (file, state) = (path(&self.state), &self.state);
        if identity(&file).is_ok_and(|found| found == present.identity) {
            return;
        }
        match bind(state, self.group) {
            Ok((socket, identity)) => {
                log::warn!("the control socket {} was removed; it is there again", file.display());
                *present = PresentSocket { socket: socket.into(), identity, is_lost: false };
            }
            Err(error) => {
                if !std::mem::replace(&mut present.is_lost, true) {
                    log::warn!(
                        "the control socket {} was removed and cannot be made anew, so no command reaches this node by it: \
                         {error}",
                        file.display()
                    );
                }
            }
        }
    }
}

/// A listening socket in this folder, with the device and the number of its file.
fn bind(state: &Path, group: Option<u32>) -> io::Result<(Socket, (u64, u64))> {
    let file = path(state);
    match fs::symlink_metadata(&file) {
        Ok(left) if left.file_type().is_socket() => fs::remove_file(&file)?,
        Ok(_) => return Err(io::Error::other("a file that is no socket is there: remove it")),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let socket = unix::bind(&file, group)?;
    let made = identity(&file)?;
    socket.listen(BACKLOG).named_for("listen", file.display())?;
    socket.set_read_timeout(Some(LOOK))?; // of an accept; what is accepted has none
    Ok((socket, made))
}

fn identity(file: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(file).map(|file| (file.dev(), file.ino()))
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let file = path(&self.state);
        if identity(&file).is_ok_and(|found| found == self.present.get_mut().identity) {
            let _ = fs::remove_file(&file); // the next node replaces it
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
    use crate::node::logged::logged;

    #[test]
    fn it_is_the_owners_alone_and_replaces_what_a_dead_process_left() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        assert_eq!(reach(state), Reach::Absent);
        let dead = ControlSocket::listen(state, None).unwrap();
        let mode = fs::metadata(path(state)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let later = ControlSocket::listen(state, None).unwrap();
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
        let _control = ControlSocket::listen(&state, Some(own)).unwrap();
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
        let control = ControlSocket::listen(&state, None).unwrap();
        assert_eq!(reach(&state), Reach::Open);
        drop(control);
        assert_eq!(reach(&state), Reach::Absent);
    }

    #[test]
    fn another_file_of_its_name_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path(folder.path()), "mine").unwrap();
        let refused = ControlSocket::listen(folder.path(), None).unwrap_err();
        assert_eq!(refused.to_string(), "a file that is no socket is there: remove it");
        assert_eq!(fs::read_to_string(path(folder.path())).unwrap(), "mine");
        let no_folder = ControlSocket::listen(&path(folder.path()), None).unwrap_err();
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
        let mut control = ControlSocket::listen(folder.path(), None).unwrap();
        let (device, number) = control.present.get_mut().identity;
        for identity in [(device + 1, number), (device, number + 1)] {
            let socket = control.present.get_mut().socket.clone();
            let present = Mutex::new(PresentSocket { socket, identity, is_lost: false });
            drop(ControlSocket { state: folder.path().to_owned(), group: None, present });
            assert!(path(folder.path()).exists(), "{identity:?}");
        }
    }

    #[test]
    fn a_file_that_is_removed_is_made_anew_and_another_that_has_its_name_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = path(folder.path());
        let control = ControlSocket::listen(folder.path(), None).unwrap();
        let late = || loop {
            // Another test may have ended a process just now.
            match control.accept().map(drop).unwrap_err().kind() {
                ErrorKind::Interrupted => {}
                kind => return kind,
            }
        };
        fs::remove_file(&file).unwrap();
        let removed = format!("WARN : the control socket {} was removed", file.display());
        let lines = logged(|| assert_eq!(late(), ErrorKind::WouldBlock));
        assert_eq!(lines, [format!("{removed}; it is there again")]);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let client = dial(&file, Duration::ZERO).unwrap();
        assert!(logged(|| drop(control.accept().unwrap())).is_empty());
        drop(client);
        fs::remove_file(&file).unwrap();
        fs::write(&file, "mine").unwrap();
        let lines = logged(|| assert_eq!([late(), late()], [ErrorKind::WouldBlock; 2]));
        let lost = "and cannot be made anew, so no command reaches this node by it: a file that is no socket is there";
        assert_eq!(lines, [format!("{removed} {lost}: remove it")]);
        fs::remove_file(&file).unwrap();
        assert_eq!(logged(|| _ = late()).len(), 1);
        assert_eq!(reach(folder.path()), Reach::Open);
    }

    #[test]
    fn a_full_backlog_is_told_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let _control = ControlSocket::listen(folder.path(), None).unwrap();
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

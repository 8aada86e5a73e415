//! The listening sockets of a coroner, which are files in the folder that it works in.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::net::unix;

/// How many may wait to be accepted.
const BACKLOG: i32 = 128;

/// Listens in the folder that this process works in. It replaces the socket of an earlier coroner in one step: whoever is
/// refused there was refused by that one.
pub fn listen(file: &Path, group: Option<u32>) -> io::Result<UnixListener> {
    let new = file.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = unix::bind(&new, group)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)?;
    fs::rename(&new, file)?;
    Ok(OwnedFd::from(socket).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_socket_takes_the_place_of_an_earlier_one_for_its_user_or_a_group() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("a.sock"), folder.path().join("a.new"));
        let own = fs::metadata(folder.path()).unwrap().gid();
        fs::write(&new, "left by one that was killed").unwrap();
        for (group, mode) in [(None, 0o600), (Some(own), 0o660)] {
            let listener = listen(&file, group).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode);
            assert!(!new.exists());
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
            let _dial = unix::connect(&file, Duration::ZERO).unwrap();
            listener.accept().unwrap();
        }
        fs::create_dir(&new).unwrap();
        assert_eq!(listen(&file, None).unwrap_err().kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn as_many_may_wait_as_come_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.sock");
        let _listener = listen(&file, None).unwrap();
        let connect = || unix::connect(&file, Duration::ZERO);
        let waiting = std::iter::from_fn(|| connect().ok()).take(1000).collect::<Vec<_>>();
        assert_eq!(waiting.len(), 128 + 1);
    }
}

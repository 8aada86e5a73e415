//! The listening socket of a coroner, which is a file in the folder that it works in.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::calls::Named;
use crate::local::unix;

/// How many may wait to be accepted.
const BACKLOG: i32 = 128;

/// Listens in the folder that this process works in. It replaces the socket of an earlier coroner in one step: whoever is
/// refused there was refused by that one.
pub fn listen(file: &Path) -> io::Result<UnixListener> {
    let new = file.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).named_for("unlink", new.display());
        }
        _ => {}
    }
    let socket = unix::bind(&new, None)?;
    socket.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
    socket.listen(BACKLOG).named_for("listen", file.display())?;
    fs::rename(&new, file).named_for("rename to", file.display())?;
    Ok(OwnedFd::from(socket).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_socket_takes_the_place_of_an_earlier_one_for_its_user() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("a.sock"), folder.path().join("a.new"));
        fs::write(&new, "left by one that was killed").unwrap();
        for _ in 0..2 {
            let listener = listen(&file).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(!new.exists());
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
            let _dial = unix::connect(&file, Duration::ZERO).unwrap();
            listener.accept().unwrap();
        }
        fs::create_dir(&new).unwrap();
        assert_eq!(listen(&file).unwrap_err().kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn as_many_may_wait_as_come_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.sock");
        let _listener = listen(&file).unwrap();
        let connect = || unix::connect(&file, Duration::ZERO);
        let waiting = std::iter::from_fn(|| connect().ok()).take(1000).collect::<Vec<_>>();
        assert_eq!(waiting.len(), 128 + 1);
    }
}

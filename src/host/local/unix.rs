//! Unix sockets of a node, which are files in its state folder.
//!
//! The path of a Unix socket has at most 107 bytes. A longer one is reached through the descriptor of its folder.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, chownat, fchmod, fstat, open};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::calls::Named;

/// The longest path that fits into the address of a Unix socket.
const LONGEST: usize = 107;

/// The pause between two tries to connect to a socket whose backlog is full.
const PAUSE: Duration = Duration::from_millis(10);

/// Makes a socket at this path, for the user of this process and for this group, if one is named. Nobody can connect
/// before the caller listens.
///
/// # Errors
/// If the socket cannot be made or given to the group, or a file is there.
pub fn bind(path: &Path, group: Option<u32>) -> io::Result<Socket> {
    let shown = path.display();
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).named("socket")?;
    let owner = Mode::RUSR | Mode::WUSR;
    fchmod(&socket, owner).named_for("fchmod", &shown)?; // the file gets this mode, but for what the umask takes away
    through_short_path(path, |short| socket.bind(&SockAddr::unix(short)?))
        .named_for("making the socket", &shown)?;
    // The folder may be another user's, who may have put a link there by now.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = open(path, flags, Mode::empty()).named_for("open", &shown)?;
    let found = fstat(&made).named_for("fstat", &shown)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
        let what = format!("{shown} is not the socket any more that was made there");
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    let mode = match group {
        None => owner, // without chown: a unit for systemd may forbid the call
        Some(group) => {
            chownat(&made, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)
                .named_for("chown", &shown)?;
            owner | Mode::RGRP | Mode::WGRP
        }
    };
    if Mode::from_raw_mode(found.st_mode) != mode {
        let link = Path::new("/proc/self/fd").join(made.as_raw_fd().to_string());
        fs::set_permissions(link, Permissions::from_mode(mode.as_raw_mode()))
            .named_for("chmod", &shown)?;
    }
    Ok(socket)
}

/// Connects to the socket at this path. If too many clients wait to be accepted, it tries for this long.
///
/// # Errors
/// [`ErrorKind::WouldBlock`] if the other side did not accept in time, and what the system says.
pub fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let begin = Instant::now();
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).named("socket")?;
        socket.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
        let connected = through_short_path(path, |short| socket.connect(&SockAddr::unix(short)?));
        match connected {
            Err(error) if error.kind() == ErrorKind::WouldBlock && begin.elapsed() < timeout => {
                thread::sleep(PAUSE);
            }
            connected => {
                connected.named_for("connect", path.display())?;
                socket.set_nonblocking(false).named("fcntl(O_NONBLOCK)")?;
                return Ok(UnixStream::from(OwnedFd::from(socket)));
            }
        }
    }
}

/// Calls this with a path to the same file that fits into the address of a socket.
fn through_short_path<T>(path: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() <= LONGEST {
        return call(path);
    }
    // The users of control_group may pass the folder and not read it.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(path.parent().unwrap_or(Path::new(".")), flags, Mode::empty())?;
    let name = path.file_name().unwrap_or_default();
    call(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    use rustix::fs::fcntl_getfl;

    use super::*;

    /// Far longer than anything takes here.
    const TIMEOUT: Duration = Duration::from_secs(600);

    #[test]
    fn a_socket_has_a_path_of_any_length_and_is_for_its_user_and_at_most_one_group() {
        let folder = tempfile::tempdir().unwrap();
        // Only root may give a file to any group.
        let is_root = rustix::process::geteuid().is_root();
        let own = if is_root { 54_321 } else { rustix::process::getgid().as_raw() };
        let own = Some(own);
        for (length, group) in [(107, None), (108, own), (200, None)] {
            let between = length - folder.path().as_os_str().len() - "//s".len();
            let path = folder.path().join("d".repeat(between)).join("s");
            fs::create_dir(path.parent().unwrap()).unwrap();
            let socket = bind(&path, group).unwrap();
            socket.listen(1).unwrap();
            assert_eq!(path.as_os_str().len(), length);
            let found = fs::metadata(&path).unwrap();
            let mode = found.permissions().mode() & 0o777;
            assert_eq!(mode, if group.is_some() { 0o660 } else { 0o600 });
            assert!(group.is_none_or(|group| found.gid() == group), "{}", found.gid());
            let stream = connect(&path, TIMEOUT).unwrap();
            assert!(!fcntl_getfl(&stream).unwrap().contains(OFlags::NONBLOCK), "reads wait");
            assert_eq!(bind(&path, None).unwrap_err().kind(), ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn who_finds_the_backlog_full_waits_for_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = bind(&path, None).unwrap();
        assert!(connect(&path, TIMEOUT).is_err(), "nobody listens yet");
        socket.listen(0).unwrap();
        let listener = UnixListener::from(OwnedFd::from(socket));
        let first = connect(&path, TIMEOUT).unwrap();
        assert_eq!(connect(&path, PAUSE).unwrap_err().kind(), ErrorKind::WouldBlock);
        let accepts = thread::spawn(move || [(); 2].map(|()| listener.accept().unwrap()));
        let second = connect(&path, TIMEOUT).unwrap();
        drop((first, second, accepts.join().unwrap()));
    }
}

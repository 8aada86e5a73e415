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

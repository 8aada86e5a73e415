//! Messages between processes of one host, and parts of a stream, that may carry descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::calls::Named;
use crate::limits::MORE_FILES;

/// The most descriptors that a message carries.
pub const MOST: usize = 8;

/// The longest message.
pub const LONGEST: usize = 4096;

/// Sends a message, which must not be empty, and copies of these descriptors.
///
/// # Errors
/// The error of the system: the other side has ended, or reads nothing.
pub fn send(to: impl AsFd, bytes: &[u8], given: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(to, bytes, given, SendFlags::empty())
}

pub(super) fn send_with(
    to: impl AsFd,
    bytes: &[u8],
    given: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !given.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(&given[..given.len().min(MOST)]));
    }
    let flags = flags | SendFlags::NOSIGNAL;
    let sent = retry_on_intr(|| sendmsg(&to, &[IoSlice::new(bytes)], &mut beside, flags));
    let sent = sent.named("sendmsg")?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives a message, and the descriptors that came with it. Its length is 0 if the other side has ended.
///
/// # Errors
/// The error of the system, and one if a descriptor was lost on the way.
pub fn receive(from: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let Received { count, given } = receive_all(from, bytes)?;
    Ok((count, given?))
}

/// A message, or a part of a stream.
pub struct Received {
    /// Its length; 0 if the other side has ended.
    pub count: usize,
    /// The descriptors that came with it, unless any was lost on the way.
    pub given: io::Result<Vec<OwnedFd>>,
}

/// Receives a message, or a part of a stream, although descriptors that came with it may be lost.
///
/// # Errors
/// The error of the system.
pub fn receive_all(from: impl AsFd, bytes: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = retry_on_intr(|| {
        let into = &mut [IoSliceMut::new(bytes)];
        recvmsg(&from, into, &mut beside, RecvFlags::CMSG_CLOEXEC)
    });
    let received = received.named("recvmsg")?;
    let given = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(given) => Some(given),
        _ => None,
    });
    let given: Vec<OwnedFd> = given.flatten().collect();
    let is_cut = received.flags.contains(ReturnFlags::CTRUNC);
    let lost =
        || io::Error::other(format!("a descriptor that was passed here got lost: {MORE_FILES}"));
    let given = if is_cut { Err(lost()) } else { Ok(given) };
    Ok(Received { count: received.bytes, given })
}

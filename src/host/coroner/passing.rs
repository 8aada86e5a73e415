//! Messages between processes of one host that may carry descriptors.

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
const MOST: usize = crate::net::MOST_SOCKETS;

/// Sends a message, which must not be empty, and copies of these descriptors.
///
/// # Errors
/// The error of the system: the other side has ended, or reads nothing.
pub fn send(to: impl AsFd, bytes: &[u8], given: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !given.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(&given[..given.len().min(MOST)]));
    }
    let sent =
        retry_on_intr(|| sendmsg(&to, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL));
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use rustix::io::{FdFlags, fcntl_getfd};
    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn a_message_comes_whole_with_its_descriptors_which_no_other_program_inherits() {
        let (near, far) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&near, b"with some", &[writer.as_fd(); MOST]).unwrap();
        send(&near, b"without", &[]).unwrap();
        drop(writer);
        let mut bytes = [0; 100];
        let (count, given) = receive(&far, &mut bytes).unwrap();
        assert_eq!(given.len(), MOST);
        let given = given.into_iter().next_back().expect("they came");
        assert_eq!(&bytes[..count], b"with some");
        assert!(fcntl_getfd(&given).unwrap().contains(FdFlags::CLOEXEC));
        File::from(given).write_all(b"a").unwrap();
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "a");
        let (count, given) = receive(&far, &mut bytes).unwrap();
        assert!(&bytes[..count] == b"without" && given.is_empty());
        drop(near);
        assert!(matches!(receive(&far, &mut bytes), Ok((0, _))), "the other side has ended");
        assert_eq!(send(&far, b"a", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}

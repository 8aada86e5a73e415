//! Words by a socket pair: each message is one word, with the descriptors that it speaks of.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::passing::{self, LONGEST};
use super::tells;
use crate::calls::Named;

/// Both ends of a new pair. No other program inherits them.
///
/// # Errors
/// If this process may have no more descriptors.
pub fn new() -> io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .named("socketpair")
}

/// Says a word, and passes these descriptors on. Never waits.
///
/// # Errors
/// [`ErrorKind::WouldBlock`] if the other side stands still and has not heard so many that it gets no more, and others
/// if it has ended.
pub fn say(to: impl AsFd, word: &impl Serialize, given: &[BorrowedFd<'_>]) -> io::Result<()> {
    passing::send_with(to, &serde_json::to_vec(word)?, given, SendFlags::DONTWAIT)
}

/// The next word within this time, or whenever it comes without one; and the descriptors that came with it. None if the
/// other side has ended.
///
/// # Errors
/// [`ErrorKind::WouldBlock`] if the other side says nothing in time, and others for what is no such word.
pub fn hear<T: DeserializeOwned>(
    from: impl AsFd,
    limit: Option<Duration>,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    if !tells(&from, PollFlags::IN, limit) {
        return Err(ErrorKind::WouldBlock.into());
    }
    let mut bytes = [0; LONGEST];
    let (count, given) = match passing::receive(&from, &mut bytes) {
        // The other side has ended with words unheard. The system says so once, before what that side had said itself.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {
            passing::receive(&from, &mut bytes)?
        }
        received => received?,
    };
    if count == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes[..count])?, given)))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use rustix::io::{FdFlags, fcntl_getfd};

    use super::super::has_ended;
    use super::*;

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(20);

    fn heard(line: &OwnedFd) -> io::Result<Option<u64>> {
        hear(line, Some(Duration::ZERO)).map(|heard| heard.map(|(word, _)| word))
    }

    #[test]
    fn a_word_comes_whole_with_its_descriptors_which_no_other_program_inherits() {
        let (near, far) = new().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        assert_eq!(heard(&far).unwrap_err().kind(), ErrorKind::WouldBlock, "nothing was said");
        say(&near, &Some("a"), &[writer.as_fd(); passing::MOST]).unwrap();
        say(&near, &7, &[]).unwrap();
        drop(writer);
        let (word, given) = hear::<Option<String>>(&far, None).unwrap().unwrap();
        assert_eq!((word.as_deref(), given.len()), (Some("a"), passing::MOST));
        let is_kept = |fd: &OwnedFd| fcntl_getfd(fd).unwrap().contains(FdFlags::CLOEXEC);
        assert!(given.iter().chain([&near, &far]).all(is_kept));
        File::from(given.into_iter().next_back().unwrap()).write_all(b"b").unwrap();
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "b");
        assert_eq!(heard(&far).unwrap(), Some(7));
        say(&near, &"no number", &[]).unwrap();
        assert_eq!(heard(&far).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    /// A guard answers each order; if it ends before it has heard one, its last word counts all the same.
    #[test]
    fn the_last_words_of_one_that_has_ended_are_heard_though_it_has_not_heard_all() {
        let (near, far) = new().unwrap();
        say(&near, &1, &[]).unwrap();
        say(&far, &2, &[]).unwrap();
        say(&far, &3, &[]).unwrap();
        assert!(!has_ended(&near, Duration::ZERO), "it has said something");
        drop(far);
        assert!(has_ended(&near, LONG)); // a process that another test just forks has a copy, until its exec
        assert_eq!([(); 3].map(|()| heard(&near).unwrap()), [Some(2), Some(3), None]);
        assert_eq!(say(&near, &4, &[]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn who_says_a_word_waits_for_nobody() {
        let (near, _far) = new().unwrap();
        let error = (0..10_000).find_map(|word| say(&near, &word, &[]).err()).expect("it is full");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

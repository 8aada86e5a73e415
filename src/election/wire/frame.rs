//! Frames: four bytes of length, most significant first, then that many bytes.

use std::io::{self, Read};
use std::sync::Arc;

use thiserror::Error;

/// The longest payload. A longer announcement ends the connection before anything is allocated. (X1)
pub const MAX_FRAME: usize = 256 * 1024;

/// An encoded frame, length prefix included. Cheap to clone for several receivers.
pub type Frame = Arc<[u8]>;

/// Why a frame could not be read.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The connection ended between two frames.
    #[error("connection closed")]
    Closed,
    /// The length is beyond `MAX_FRAME`, so no electd sent it.
    #[error("a frame of {0} bytes was announced; the most is {MAX_FRAME}")]
    TooLong(u32),
    /// The connection failed, or ended within a frame.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Prefixes a payload with its length.
pub(super) fn frame(payload: &[u8]) -> Frame {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], payload].concat().into()
}

/// Reads one frame into `payload`, which is reused from frame to frame.
///
/// # Errors
/// If the connection ended or failed, or the frame is too long.
pub fn read_frame(from: &mut impl Read, payload: &mut Vec<u8>) -> Result<(), FrameError> {
    let mut prefix = [0; 4];
    match from.read(&mut prefix)? {
        0 => return Err(FrameError::Closed),
        n => from.read_exact(&mut prefix[n..])?,
    }
    let length = u32::from_be_bytes(prefix);
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    if wanted > MAX_FRAME {
        return Err(FrameError::TooLong(length));
    }
    payload.resize(wanted, 0);
    from.read_exact(payload)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_one_by_one_and_the_end_is_told_from_a_cut() {
        let stream = [&frame(b"one")[..], &frame(b"")[..], &frame(b"three")[..5]].concat();
        let mut from = &stream[..];
        let mut payload = Vec::new();
        read_frame(&mut from, &mut payload).unwrap();
        assert_eq!(payload, b"one");
        read_frame(&mut from, &mut payload).unwrap();
        assert_eq!(payload, b"");
        let cut = read_frame(&mut from, &mut payload).unwrap_err();
        assert!(matches!(cut, FrameError::Io(_)), "{cut}");
        assert_eq!(cut.to_string(), "failed to fill whole buffer");
        let closed = read_frame(&mut &b""[..], &mut payload).unwrap_err();
        assert!(matches!(closed, FrameError::Closed));
        assert_eq!(closed.to_string(), "connection closed");
    }

    /// Rule X1.
    #[test]
    fn the_longest_frame_is_read_and_a_longer_one_is_not() {
        let (mut payload, longest) = (Vec::new(), vec![7; MAX_FRAME]);
        read_frame(&mut &frame(&longest)[..], &mut payload).unwrap();
        assert!(payload == longest);
        let error = read_frame(&mut &frame(&[7; MAX_FRAME + 1])[..], &mut payload).unwrap_err();
        let told = "a frame of 262145 bytes was announced; the most is 262144";
        assert_eq!(error.to_string(), told);
    }

    /// Rule X1.
    #[test]
    fn a_prefix_of_four_gigabytes_allocates_nothing() {
        let mut payload = Vec::new();
        let error = read_frame(&mut &[0xff; 8][..], &mut payload).unwrap_err();
        assert!(matches!(error, FrameError::TooLong(u32::MAX)));
        assert_eq!(payload.capacity(), 0);
    }
}

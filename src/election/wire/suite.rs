//! One suite of tests for every transport: frames arrive whole and in order, however they are cut, and anything else
//! ends in an error, with nothing allocated for it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use uuid::Uuid;

use super::frame::frame;
use super::{
    Frame, FrameError, Opening, Reply, decode_message, decode_opening, decode_reply,
    encode_message, encode_rejection, read_frame,
};
use crate::core::message::{Envelope, Message, Rejection, View};
use crate::core::protocol::Protocols;
use crate::core::types::{Epoch, Incarnation, NodeId, Rank};

/// Carries bytes from one end to the other.
trait Transport {
    /// Writes these segments one by one and ends the connection; returns the other end.
    fn carry(segments: Vec<Vec<u8>>) -> impl Read;
}

/// Each segment is the result of one read.
struct Memory(VecDeque<Vec<u8>>);

impl Transport for Memory {
    fn carry(segments: Vec<Vec<u8>>) -> impl Read {
        Memory(segments.into())
    }
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(segment) = self.0.front_mut() else { return Ok(0) };
        let length = segment.len().min(buffer.len());
        buffer[..length].copy_from_slice(&segment[..length]);
        segment.drain(..length);
        if segment.is_empty() {
            self.0.pop_front();
        }
        Ok(length)
    }
}

/// A loopback connection; each segment is sent immediately.
struct Tcp;

impl Transport for Tcp {
    fn carry(segments: Vec<Vec<u8>>) -> impl Read {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        writer.set_nodelay(true).unwrap();
        thread::spawn(move || {
            for segment in segments {
                if writer.write_all(&segment).is_err() {
                    return; // the reader has seen enough
                }
            }
        });
        listener.accept().unwrap().0
    }
}

fn messages() -> Vec<Envelope> {
    let rank = Rank { value: 0, id: NodeId(Uuid::from_u128(4)) };
    let message = |n| match n % 3 {
        0 => Message::Election { round: Epoch(n), rank, eligible: true },
        1 => Message::Coordinator { epoch: Epoch(n), rank },
        _ => Message::View(View { epoch: Epoch(n), leader: None }),
    };
    let envelope =
        |n| Envelope { epoch: Epoch(n), incarnation: Incarnation(1), message: message(n) };
    (0..50).map(envelope).collect()
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    frames.concat()
}

/// All payloads until the end, and the error at the end.
fn read_all(from: &mut impl Read) -> (Vec<Vec<u8>>, FrameError) {
    let (mut payloads, mut payload) = (Vec::new(), Vec::new());
    loop {
        match read_frame(from, &mut payload) {
            Ok(()) => payloads.push(payload.clone()),
            Err(error) => return (payloads, error),
        }
    }
}

/// Frames come whole and in order: one byte at a time, many in one segment, cut anywhere.
fn frames_arrive_whole_and_in_order<T: Transport>() {
    let expected = messages();
    let frames: Vec<Frame> = expected.iter().map(encode_message).collect();
    for size in [1, 2, 3, 5, 64, 1000, usize::MAX] {
        let segments = bytes(&frames).chunks(size).map(<[u8]>::to_vec).collect();
        let (payloads, end) = read_all(&mut T::carry(segments));
        let arrived: Vec<Envelope> =
            payloads.iter().map(|payload| decode_message(payload).unwrap()).collect();
        assert_eq!(arrived, expected, "segments of {size}");
        assert!(matches!(end, FrameError::Closed), "segments of {size}: {end}");
    }
}

/// A frame that is cut at any byte is no frame, and the frames before it remain.
fn a_cut_frame_is_told_from_the_end<T: Transport>() {
    let first = frame(b"first");
    let second = frame(b"second");
    for cut in 1..second.len() {
        let segment = [&first[..], &second[..cut]].concat();
        let (payloads, end) = read_all(&mut T::carry(vec![segment]));
        assert_eq!(payloads, [b"first"], "cut at {cut}");
        let FrameError::Io(error) = end else { panic!("cut at {cut}: {end}") };
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}

/// A length beyond the cap ends the connection before anything is allocated for it.
fn a_length_beyond_the_cap_allocates_nothing<T: Transport>() {
    for length in [super::frame::MAX_FRAME as u32 + 1, u32::MAX] {
        let segment = [&length.to_be_bytes()[..], b"{}"].concat();
        let mut payload = Vec::new();
        let error = read_frame(&mut T::carry(vec![segment]), &mut payload).unwrap_err();
        assert!(matches!(error, FrameError::TooLong(found) if found == length), "{error}");
        assert_eq!(payload.capacity(), 0);
    }
}

/// Random bytes end in an error, sooner or later, and never in a message.
fn junk_is_no_message<T: Transport>() {
    let mut random = crate::core::random::Random::new(7);
    for _ in 0..50 {
        let mut junk: Vec<u8> = (0..300).map(|_| random.draw() as u8).collect();
        junk[..3].fill(0); // otherwise hardly any would be short enough to be read
        let (payloads, _) = read_all(&mut T::carry(vec![junk]));
        for payload in payloads {
            assert!(decode_message(&payload).is_err());
            assert!(decode_opening(&payload).is_err());
            assert!(decode_reply(&payload).is_err());
        }
    }
}

/// JSON that is broken, or that is no message, is refused; the frames after it still arrive.
fn what_is_no_message_is_refused_and_the_next_frame_is_read<T: Transport>() {
    let good = messages().remove(0);
    let deep = "[".repeat(10_000);
    for odd in ["", "{", "null", "[]", "{\"message\": {\"answer\": 1}}", "\u{fffd}", &deep] {
        let segment = bytes(&[frame(odd.as_bytes()), encode_message(&good)]);
        let (payloads, _) = read_all(&mut T::carry(vec![segment]));
        assert!(decode_message(&payloads[0]).is_err(), "{odd:.20}");
        assert!(decode_opening(&payloads[0]).is_err(), "{odd:.20}");
        assert!(decode_reply(&payloads[0]).is_err(), "{odd:.20}");
        assert_eq!(decode_message(&payloads[1]).unwrap(), good);
    }
}

/// A dialer of another version is refused, and gets the reason.
fn another_version_is_refused_in_words<T: Transport>() {
    let hello = frame(br#"{"protocol": 99, "who": "knows"}"#).to_vec();
    let (payloads, _) = read_all(&mut T::carry(vec![hello]));
    let Ok(Opening::Reject(reason)) = decode_opening(&payloads[0]) else { panic!("{payloads:?}") };
    let answer = encode_rejection(&reason).to_vec();
    let (payloads, _) = read_all(&mut T::carry(vec![answer]));
    let expected = Rejection::Protocol { ours: Protocols::OURS.highest, theirs: 99 };
    assert_eq!(decode_reply(&payloads[0]).unwrap(), Reply::Reject(expected));
}

/// The suite, for one transport.
macro_rules! suite {
    ($name:ident, $transport:ty, [$($case:ident),* $(,)?]) => {
        mod $name {
            $(#[test] fn $case() { super::$case::<$transport>(); })*
        }
    };
    ($name:ident, $transport:ty) => {
        suite!($name, $transport, [
            frames_arrive_whole_and_in_order,
            a_cut_frame_is_told_from_the_end,
            a_length_beyond_the_cap_allocates_nothing,
            junk_is_no_message,
            what_is_no_message_is_refused_and_the_next_frame_is_read,
            another_version_is_refused_in_words,
        ]);
    };
}

suite!(memory, super::Memory);
suite!(tcp, super::Tcp);

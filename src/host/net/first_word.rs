//! What a dialer that speaks TLS hears first, in case that it is no TLS.
//!
//! A coroner answers every dial with one frame, before it reads anything. A frame begins with 0, a TLS record never does.

use std::io::{self, Cursor, Read, Write};

use crate::wire::{Reply, decode_reply, read_frame};

/// A stream that keeps a copy of the first bytes that are read from it.
pub struct FirstWord<T> {
    io: T,
    heard: Vec<u8>,
}

impl<T: Read> FirstWord<T> {
    pub fn new(io: T) -> FirstWord<T> {
        FirstWord { io, heard: Vec::new() }
    }

    /// What the other side said, if it was an answer in plain words. The rest of it may still have to come.
    pub fn reply(self) -> Option<Reply> {
        if self.heard.first() != Some(&0) {
            return None;
        }
        let mut payload = Vec::new();
        let mut all = Cursor::new(self.heard).chain(self.io);
        read_frame(&mut all, &mut payload).ok()?;
        decode_reply(&payload).ok()
    }
}

impl<T: Read> Read for FirstWord<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.io.read(buffer)?;
        if self.heard.is_empty() {
            self.heard.extend_from_slice(&buffer[..count]);
        }
        Ok(count)
    }
}

impl<T: Write> Write for FirstWord<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.io.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::death::{DeathCertificate, Secret};
    use crate::core::types::{Incarnation, NodeId};
    use crate::wire::encode_dead;

    fn certificate() -> DeathCertificate {
        let (member, incarnation) = (NodeId::default(), Incarnation(3));
        DeathCertificate { member, incarnation, secret: Secret([0x5c; 32]) }
    }

    #[test]
    fn a_certificate_is_read_whatever_part_of_it_was_taken_for_tls() {
        let frame = encode_dead(&certificate());
        for taken in 1..=frame.len() {
            let mut first = FirstWord::new(&frame[..]);
            first.read_exact(&mut vec![0; taken]).unwrap();
            assert_eq!(first.reply(), Some(Reply::Dead(certificate())), "{taken}");
        }
    }

    #[test]
    fn what_begins_as_tls_is_no_answer_in_plain_words() {
        let mut first = FirstWord::new(&[0x15, 3, 3, 0, 2, 2, 40][..]);
        first.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(first.reply(), None);
        assert_eq!(FirstWord::new(&[][..]).reply(), None);
    }
}

//! The file of a recording: JSON that begins with a checksum of all that follows, so that it is whole or refused. It has
//! all that `GET /trace` shows, so that `electd trace --file` reads it, too.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::replay::{Replayed, Unreadable, replay};
use crate::limits::plain_json;
use crate::trace::record::Record;

/// The layout of a flight. It grows with each change of what the core takes, puts out or knows.
pub const FORMAT: u32 = 7;

/// More than any recording takes.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// The version of this electd.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How the file begins: then come eight digits, and then what they are the checksum of.
const HEAD: &str = "{\"crc32\":\"";
const DIGITS: usize = 8;

/// A recording of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    format: u32,
    /// The version of electd that made it.
    pub version: String,
    /// What `GET /trace` shows.
    #[serde(flatten)]
    pub record: Record,
    /// The segments of the flight, as base64.
    flight: Vec<String>,
}

/// A file is no recording that this version can replay.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoRecording {
    /// Anything else.
    #[error("is no recording of a node, as `electd record` writes it")]
    Other,
    /// What `GET /trace` shows.
    #[error("has the events of a node and no flight: `electd trace --file` shows it")]
    EventsAlone,
    /// It is not what was written.
    #[error("is damaged: it was cut short or changed since it was recorded")]
    Damaged,
    /// Another version of electd wrote it.
    #[error(
        "was recorded by electd {version}, in format {format}, and this electd {VERSION} replays format {FORMAT}: \
         replay it with that version"
    )]
    Format {
        /// The version that did.
        version: String,
        /// Its format.
        format: u32,
    },
    /// The checksum is right, and the flight cannot be read all the same.
    #[error("was recorded by electd {version}, and this electd {VERSION} cannot read it: {why}")]
    Unreadable {
        /// The version that recorded it.
        version: String,
        /// What is wrong.
        why: String,
    },
}

impl Recording {
    /// Of what `GET /trace` shows and of these segments.
    ///
    /// ```
    /// use electd_record::flight::document::Recording;
    /// use electd_record::trace::record::Record;
    ///
    /// let record = Record { node: "a".to_owned(), ..Record::default() };
    /// let file = Recording::new::<Vec<u8>>(record.clone(), &[]).written();
    /// let read = Recording::read(file.as_bytes())?;
    /// assert_eq!(read.record, record);
    /// assert_eq!(serde_json::from_str::<Record>(&file).unwrap(), record, "it is one of events, too");
    /// # Ok::<(), electd_record::flight::document::NoRecording>(())
    /// ```
    #[must_use]
    pub fn new<T: AsRef<Vec<u8>>>(record: Record, segments: &[T]) -> Recording {
        let flight =
            segments.iter().map(|segment| BASE64_STANDARD.encode(segment.as_ref())).collect();
        Recording { format: FORMAT, version: VERSION.to_owned(), record, flight }
    }

    /// The file.
    #[must_use]
    pub fn written(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default(); // strings and numbers: it cannot fail
        let rest = format!("\",{}", text.trim_start_matches('{'));
        format!("{HEAD}{:08x}{rest}\n", crc32fast::hash(rest.as_bytes()))
    }

    /// Reads a file. The bytes that are handed in may be anything.
    ///
    /// # Errors
    /// If it is not what this version writes, or not all of it.
    pub fn read(text: &[u8]) -> Result<Recording, NoRecording> {
        check_whole(text)?;
        let text = std::str::from_utf8(text).map_err(|_| NoRecording::Other)?;
        let text = plain_json(text);
        #[derive(Deserialize)]
        struct Made {
            format: u32,
            version: String,
        }
        let Made { format, version } =
            serde_json::from_str(&text).map_err(|_| NoRecording::Other)?;
        if format != FORMAT {
            return Err(NoRecording::Format { version, format });
        }
        let unreadable = |why: serde_json::Error| NoRecording::Unreadable {
            version: version.clone(),
            why: why.to_string(),
        };
        serde_json::from_str(&text).map_err(unreadable)
    }

    /// Runs the flight through the core of this binary.
    ///
    /// # Errors
    /// If it is not what this version writes, although its checksum is right: another version of the same format.
    pub fn replay(&self) -> Result<Replayed, NoRecording> {
        replay(&self.segments()?).map_err(|error: Unreadable| self.unreadable(&error))
    }

    /// The segments of the flight.
    ///
    /// # Errors
    /// If they are not what this version writes.
    pub fn segments(&self) -> Result<Vec<Vec<u8>>, NoRecording> {
        let segments = self.flight.iter().map(|segment| BASE64_STANDARD.decode(segment));
        segments.collect::<Result<Vec<_>, _>>().map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, why: &impl ToString) -> NoRecording {
        NoRecording::Unreadable { version: self.version.clone(), why: why.to_string() }
    }
}

/// Checks the checksum of a recording.
///
/// ```
/// use electd_record::flight::document::{NoRecording, check_whole};
///
/// assert_eq!(check_whole(br#"{"crc32":"00000000","node":"a"}"#), Err(NoRecording::Damaged));
/// assert_eq!(check_whole(br#"{"node":"a"}"#), Err(NoRecording::EventsAlone));
/// ```
///
/// # Errors
/// If it has none, or that of another text.
pub fn check_whole(text: &[u8]) -> Result<(), NoRecording> {
    let text = text.trim_ascii_end();
    let Some(content) = text.strip_prefix(HEAD.as_bytes()) else {
        let record = serde_json::from_slice::<Record>(text);
        let is_record = record.is_ok_and(|record| !record.node.is_empty());
        return Err(if is_record { NoRecording::EventsAlone } else { NoRecording::Other });
    };
    let (digits, rest) = content.split_at_checked(DIGITS).ok_or(NoRecording::Damaged)?;
    let sum = format!("{:08x}", crc32fast::hash(rest));
    if digits == sum.as_bytes() { Ok(()) } else { Err(NoRecording::Damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> String {
        let record = Record { node: "a".into(), algorithm: "bully".into(), ..Record::default() };
        Recording::new::<Vec<u8>>(record, &[]).written()
    }

    /// The text with this checksum set right.
    fn sealed(text: &str) -> String {
        let rest = &text.trim_end()[HEAD.len() + DIGITS..];
        format!("{HEAD}{:08x}{rest}\n", crc32fast::hash(rest.as_bytes()))
    }

    /// Whatever the first digits of its sum are.
    #[test]
    fn what_was_written_is_whole() {
        for number in 0..200 {
            let record = Record { node: format!("node-{number}"), ..Record::default() };
            let file = Recording::new::<Vec<u8>>(record, &[]).written();
            assert_eq!(check_whole(file.as_bytes()), Ok(()), "{file}");
        }
    }

    #[test]
    fn no_byte_can_be_changed_and_none_be_missing() {
        let file = file();
        assert!(Recording::read(file.as_bytes()).is_ok());
        for place in 0..file.trim_end().len() {
            let mut changed = file.clone().into_bytes();
            changed[place] ^= 1;
            assert!(Recording::read(&changed).is_err(), "byte {place}");
            assert!(Recording::read(&file.as_bytes()[..place]).is_err(), "the first {place}");
        }
    }

    #[test]
    fn what_is_no_recording_is_told_by_its_kind() {
        let read = |text: &str| Recording::read(text.as_bytes()).unwrap_err();
        let format = |format: u32| format!("\"format\":{format}");
        let newer = sealed(&file().replace(&format(FORMAT), &format(FORMAT + 1)));
        let unreadable = sealed(&file().replace("\"flight\":[]", "\"flight\":[\"AAAA\"]"));
        let version = VERSION.to_owned();
        for text in ["", "{}", "null", "\u{0}", "[1]", r#"{"leaderships": []}"#] {
            assert_eq!(read(text), NoRecording::Other, "{text}");
        }
        assert_eq!(read(r#"{"node": "a", "entries": []}"#), NoRecording::EventsAlone);
        assert_eq!(read(&newer), NoRecording::Format { version, format: FORMAT + 1 });
        let other = sealed(&unreadable.replace(&format!("\"{VERSION}\""), "\"0.0.9\""));
        let recording = Recording::read(other.as_bytes()).unwrap();
        let Err(NoRecording::Unreadable { version, why }) = recording.replay() else { panic!() };
        assert_eq!(version, "0.0.9", "the one that wrote it can read it");
        let expected =
            "segment 1 of the flight cannot be read: Hit the end of buffer, expected more data";
        assert_eq!(why, expected);
        let no_text = sealed(&file().replace("\"flight\":[]", "\"flight\":[\"!\"]"));
        let Err(error) = Recording::read(no_text.as_bytes()).unwrap().replay() else { panic!() };
        let why = "Invalid symbol 33, offset 0.";
        let told = format!(
            "was recorded by electd {VERSION}, and this electd {VERSION} cannot read it: {why}"
        );
        assert_eq!(error.to_string(), told);
        let other = sealed(&file().replace("\"flight\":[]", "\"flight\":7"));
        let NoRecording::Unreadable { version, why } = read(&other) else { panic!() };
        assert_eq!(
            (version.as_str(), why.starts_with("invalid type: integer `7`")),
            (VERSION, true)
        );
        let nameless = r#"{"entries": [], "cluster": "c"}"#;
        assert_eq!(read(nameless), NoRecording::Other, "it is of no node");
    }

    /// An operator reads what to do with a file.
    #[test]
    fn what_is_wrong_with_a_file_is_told_in_words() {
        let format = NoRecording::Format { version: "9.9".to_owned(), format: 7 };
        let told = [NoRecording::Other, NoRecording::EventsAlone, NoRecording::Damaged, format];
        let expected = [
            "is no recording of a node, as `electd record` writes it".to_owned(),
            "has the events of a node and no flight: `electd trace --file` shows it".to_owned(),
            "is damaged: it was cut short or changed since it was recorded".to_owned(),
            format!(
                "was recorded by electd 9.9, in format 7, and this electd {VERSION} replays format {FORMAT}: replay it with \
                 that version"
            ),
        ];
        assert_eq!(told.map(|error| error.to_string()), expected);
    }

    /// Other programs may cut the last line feed off.
    #[test]
    fn a_file_is_one_line_that_has_the_version_and_the_record() {
        let record = Record { node: "a".into(), ..Record::default() };
        let written = Recording::new(record.clone(), &[vec![0_u8, 0, 0]]).written();
        assert!(written.ends_with("\"flight\":[\"AAAA\"]}\n") && written.lines().count() == 1);
        for text in [written.trim_end(), &format!("{written}\n \n")] {
            let read = Recording::read(text.as_bytes()).unwrap();
            assert_eq!(
                (read.format, read.version.as_str(), &read.record),
                (FORMAT, VERSION, &record)
            );
            assert_eq!(read.flight, ["AAAA"]);
        }
    }
}

//! The token that commands from other hosts need, in a file of its own: for the commands, which send it, and for the
//! node, which compares it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::CliError;
use super::exit::Exit;
use crate::config::Config;

/// The most bytes of a token, which is sent in a header.
const LONGEST: usize = 4096;

/// The token of the configuration, if it names a file for one.
///
/// # Errors
/// If that file cannot be read, or has no token that a header can hold.
pub fn configured(config: &Config) -> Result<Option<String>, CliError> {
    let read = |file| read("admin_token_file", file, (Exit::Config, Exit::Config));
    config.admin_token_file.as_deref().map(read).transpose()
}

/// The same, for a node that starts: a file that cannot be read may be there later.
///
/// # Errors
/// If that file cannot be read, or has no token that a header can hold.
pub fn of_node(config: &Config) -> Result<Option<String>, CliError> {
    let read = |file| read("admin_token_file", file, (Exit::Unread, Exit::Config));
    config.admin_token_file.as_deref().map(read).transpose()
}

/// The token in the file that this flag names.
///
/// # Errors
/// If that file cannot be read, or has no token that a header can hold.
pub fn named(flag: &str, file: &Path) -> Result<String, CliError> {
    read(flag, file, (Exit::Usage, Exit::Usage))
}

/// The exit codes are for a file that cannot be read, and for what is no token.
fn read(what: &str, file: &Path, (unread, wrong): (Exit, Exit)) -> Result<String, CliError> {
    let shown = file.display();
    let mut bytes = Vec::new();
    // With room for what may surround a token; the file may be a device.
    let most = LONGEST as u64 + 3;
    let read = File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| {
        let why = format!("cannot read {what} {shown}: {error}; name a file that you may read");
        CliError::new(unread, why)
    })?;
    judge(&bytes).map_err(|why| CliError::new(wrong, format!("{what} {shown}{why}")))
}

/// The token in the content of a file, without the end of its line.
///
/// # Errors
/// What is wrong with it, after the name of the file.
fn judge(bytes: &[u8]) -> Result<String, String> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Err(" is empty: write a token".to_owned());
    }
    let remedy = format!("write one line of at most {LONGEST} printable ASCII characters");
    if let Some(at) = line.iter().position(|byte| !byte.is_ascii_graphic()) {
        return Err(format!(": byte {} is {}; {remedy}", at + 1, kind(line[at])));
    }
    if line.len() > LONGEST {
        return Err(format!(": it has more than {LONGEST} bytes; {remedy}"));
    }
    Ok(line.iter().copied().map(char::from).collect())
}

/// What a byte is that a token cannot have.
fn kind(byte: u8) -> &'static str {
    match byte {
        b'\n' | b'\r' => "a line break",
        b' ' | b'\t' => "a blank",
        0..=127 => "a control character",
        _ => "no ASCII character",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_that_a_header_can_hold() {
        for text in ["abc", "abc\n", "abc\r\n"] {
            assert_eq!(judge(text.as_bytes()).as_deref(), Ok("abc"), "{text:?}");
        }
        assert_eq!(judge(&[b'x'; LONGEST]).map(|token| token.len()), Ok(LONGEST));
        let remedy = "write one line of at most 4096 printable ASCII characters";
        for (bytes, why) in [
            (&b""[..], " is empty: write a token".to_owned()),
            (b" \n", " is empty: write a token".to_owned()),
            (b"abc\ndef\n", format!(": byte 4 is a line break; {remedy}")),
            (b"abc\rdef\n", format!(": byte 4 is a line break; {remedy}")),
            (b"abc def", format!(": byte 4 is a blank; {remedy}")),
            (b"abc\tdef", format!(": byte 4 is a blank; {remedy}")),
            (b"abc\0", format!(": byte 4 is a control character; {remedy}")),
            (b"abc\x7f", format!(": byte 4 is a control character; {remedy}")),
            ("ab\u{e9}".as_bytes(), format!(": byte 3 is no ASCII character; {remedy}")),
            (&[b'x'; LONGEST + 1], format!(": it has more than 4096 bytes; {remedy}")),
        ] {
            assert_eq!(judge(bytes), Err(why));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        for (length, is_taken) in [(LONGEST, true), (LONGEST + 1, false)] {
            std::fs::write(file.path(), format!("{}\r\n", "x".repeat(length))).unwrap();
            assert_eq!(named("--token-file", file.path()).is_ok(), is_taken, "{length}");
        }
    }

    /// A node may start before the file is there, and asks for it again.
    #[test]
    fn what_is_wrong_with_a_file_ends_each_command_by_its_own_code() {
        let text = include_str!("../../conf/cluster.json");
        let mut config = crate::config::parse(text, Path::new("c.json")).unwrap();
        assert_eq!((configured(&config).unwrap(), of_node(&config).unwrap()), (None, None));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        config.admin_token_file = Some(file.clone());
        let all = |config: &Config| {
            let told =
                [configured(config), of_node(config), named("--token-file", &file).map(Some)];
            told.map(|told| told.map_err(|CliError { exit, message }| (exit, message)))
        };
        let shown = file.display();
        let why = |what: &str| {
            format!(
                "cannot read {what} {shown}: No such file or directory (os error 2); name a file that you may read"
            )
        };
        let missing = [
            Err((Exit::Config, why("admin_token_file"))),
            Err((Exit::Unread, why("admin_token_file"))),
            Err((Exit::Usage, why("--token-file"))),
        ];
        assert_eq!(all(&config), missing);
        std::fs::write(&file, "\n").unwrap();
        let empty = |what: &str| format!("{what} {shown} is empty: write a token");
        let wrong = [
            Err((Exit::Config, empty("admin_token_file"))),
            Err((Exit::Config, empty("admin_token_file"))),
            Err((Exit::Usage, empty("--token-file"))),
        ];
        assert_eq!(all(&config), wrong);
        std::fs::write(&file, "abc\n").unwrap();
        assert_eq!(all(&config), [(); 3].map(|()| Ok(Some("abc".to_owned()))));
    }
}

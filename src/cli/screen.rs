//! The abilities of a terminal that a file does not have: a width, colours, and drawing in place.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;

use super::error::CliError;
use super::exit::Exit;
use crate::limits::printable;

/// Words of a status, and the colours that they get.
const COLOURS: [(&str, AnsiColor); 7] = [
    ("leading", AnsiColor::Green),
    ("following", AnsiColor::Cyan),
    ("electing", AnsiColor::Yellow),
    ("waiting", AnsiColor::Yellow),
    ("starting", AnsiColor::Yellow),
    ("stalled", AnsiColor::Red),
    ("problem", AnsiColor::Red),
];

/// How wide stdout is, if it is a terminal.
pub fn width() -> Option<u16> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// How many lines stdout shows, if it is a terminal.
pub fn height() -> u16 {
    tcgetwinsize(io::stdout()).map_or(24, |size| size.ws_row)
}

/// The text, fit for a terminal; with colours, if stdout is one that shows them, and NO_COLOR does not forbid it.
pub fn painted(text: &str) -> String {
    let text = printable(text);
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => text.into_owned(),
        _ => paint(&text),
    }
}

/// Paints the first word of each line that has a colour; the header has none.
fn paint(text: &str) -> String {
    let mut painted = String::new();
    for line in text.split_inclusive('\n') {
        let found =
            COLOURS.iter().filter_map(|(word, colour)| Some((line.find(word)?, *word, *colour)));
        let Some((at, word, colour)) = found.min_by_key(|(at, ..)| *at) else {
            painted.push_str(line);
            continue;
        };
        let style = Style::new().fg_color(Some(colour.into())).bold();
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let _ = write!(painted, "{before}{style}{word}{style:#}{after}");
    }
    painted
}

/// A terminal that is drawn in place.
pub struct Screen(());

impl Screen {
    /// Clears the terminal.
    ///
    /// # Errors
    /// 2, if stdout is no terminal.
    pub fn open() -> Result<Screen, CliError> {
        if width().is_none() {
            let what = "--watch draws on a terminal, and stdout is none: use `electd watch`, which prints a line a change";
            return Err(CliError::new(Exit::Usage, what));
        }
        write(b"\x1b[2J")?;
        Ok(Screen(()))
    }

    /// Draws this in place of the last text, as much as fits.
    ///
    /// # Errors
    /// If stdout is closed.
    pub fn draw(&mut self, text: &str) -> Result<(), CliError> {
        write(frame(&painted(text), height().into()).as_bytes())
    }
}

/// From the top left: each line and nothing behind it, then nothing below.
fn frame(text: &str, rows: usize) -> String {
    let lines = text.lines().take(rows.saturating_sub(1));
    let lines: String = lines.map(|line| format!("{line}\x1b[K\r\n")).collect();
    format!("\x1b[H{lines}\x1b[J")
}

/// Writes to stdout.
///
/// # Errors
/// If stdout is closed.
pub fn write(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| CliError::stdout(&error))
}

/// The text as lines that fit the terminal, if stdout is one. The rest of a line is indented by this, and a space.
pub fn on_terminal(text: &str, indent: usize) -> String {
    fitted(text, width(), indent)
}

/// The text as lines that fit this width, if there is one.
pub fn fitted(text: &str, width: Option<u16>, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines = text.lines().flat_map(|line| wrapped(line, width.into(), indent));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The line as lines that fit, indented by this and a space after the first, broken between words where there are any;
/// without characters that would move the cursor.
pub fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let mut rest: Vec<char> = line.chars().map(shown).collect();
    let mut lines = Vec::new();
    while rest.len() > width.max(2 * indent) {
        let room = &rest[..=width.max(2 * indent)];
        let word = room.iter().rposition(|c| *c == ' ').filter(|at| *at > indent);
        let next = rest.split_off(word.unwrap_or(room.len() - 1));
        lines.push(rest.into_iter().collect());
        rest = [vec![' '; indent], next].concat();
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_below_its_text() {
        let line = "  5.391 s  node-4 leads in epoch 4; nobody led for 390 ms; lost the connection to leader node-5";
        let expected = [
            "  5.391 s  node-4 leads in epoch 4; nobody led for 390 ms; lost the connection",
            "           to leader node-5",
        ];
        assert_eq!(wrapped(line, 80, 10), expected);
        assert_eq!(wrapped(&"x".repeat(100), 80, 10).concat().replace(' ', ""), "x".repeat(100));
    }

    #[test]
    fn what_a_job_prints_moves_no_cursor() {
        assert_eq!(wrapped("a\u{1b}[2Jb\tc", 80, 10), ["a [2Jb c"]);
    }

    #[test]
    fn the_first_word_with_a_colour_has_it_and_the_rest_stays() {
        let text = "NODE  STATE\na     leading  it follows nobody, stalled\nb     -\n";
        let green = "\u{1b}[1m\u{1b}[32mleading\u{1b}[0m";
        assert_eq!(paint(text), text.replacen("leading", green, 1));
        assert_eq!(
            paint("electing -> leading\n"),
            "\u{1b}[1m\u{1b}[33melecting\u{1b}[0m -> leading\n"
        );
        assert_eq!(painted(text), text, "a test's stdout shows no colours");
    }

    #[test]
    fn a_frame_erases_what_was_there_and_is_no_higher_than_the_terminal() {
        assert_eq!(frame("a\nb\nc\n", 3), "\u{1b}[Ha\u{1b}[K\r\nb\u{1b}[K\r\n\u{1b}[J");
    }

    #[test]
    fn a_terminal_gets_lines_that_fit_and_a_pipe_gets_them_whole() {
        let text = "state       leading\nproblem     one that takes many words to tell\n";
        assert_eq!(fitted(text, None, 11), text);
        let narrow = "state       leading\nproblem     one that takes\n            many words to\n            tell\n";
        assert_eq!(fitted(text, Some(27), 11), narrow);
    }

    #[test]
    fn each_word_of_a_state_has_its_colour() {
        for (word, code) in [
            ("leading", 32),
            ("following", 36),
            ("electing", 33),
            ("waiting", 33),
            ("starting", 33),
            ("stalled", 31),
            ("problem", 31),
        ] {
            assert_eq!(
                paint(&format!("a {word} b")),
                format!("a \u{1b}[1m\u{1b}[{code}m{word}\u{1b}[0m b")
            );
        }
    }

    #[test]
    fn a_line_that_just_fits_is_whole() {
        assert_eq!(wrapped("one two", 7, 2), ["one two"]);
        assert_eq!(wrapped("one two", 6, 2), ["one", "   two"]);
        assert_eq!(wrapped("one two six", 7, 2), ["one two", "   six"]);
        assert_eq!(wrapped("abcdefgh", 7, 2), ["abcdefg", "  h"]);
        assert_eq!(wrapped("ab cdefgh", 7, 2), ["ab cdef", "  gh"]);
        assert_eq!(
            wrapped("a bcdefgh ij", 7, 2),
            ["a bcdef", "  gh ij"],
            "no break before the text"
        );
        assert_eq!(
            wrapped("abcdef", 1, 2),
            ["abcd", "  ef"],
            "a terminal is not too narrow for some text"
        );
    }
}

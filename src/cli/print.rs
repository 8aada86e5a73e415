//! Results to stdout, messages to stderr; neither panics when nobody reads them.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};
pub use electd_facts::words::counted;
use serde_json::{Number, Value};

use super::error::CliError;
use super::screen;
use crate::limits::printable;

/// Writes results to stdout. What others wrote in them moves no cursor and turns no text.
///
/// # Errors
/// If stdout is closed ([`CliError::stdout`]): end the command.
pub fn result(text: &str) -> Result<(), CliError> {
    screen::write(printable(text).as_bytes())
}

/// Writes results to stdout, with colours if that is a terminal.
///
/// # Errors
/// As [`result`].
pub fn painted(text: &str) -> Result<(), CliError> {
    screen::write(screen::painted(text).as_bytes())
}

/// Writes results to stdout as JSON.
///
/// # Errors
/// If stdout is closed ([`CliError::stdout`]): end the command.
pub fn json(value: &Value) -> Result<(), CliError> {
    result(&format!("{value:#}\n"))
}

/// Writes a message to stderr, as [`result`] does: problems of a file start with its name, as editors and terminals expect.
pub fn message(text: &str) {
    // Without stderr nobody would read an error.
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// A table in plain columns, which `awk` reads as well. If a terminal is too narrow, the words of a column are
/// wrapped.
#[must_use]
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(screen::width(), header, rows)
}

/// The same, with each row on a line, however long that is.
#[must_use]
pub fn long_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(None, header, rows)
}

fn table_within(
    width: Option<u16>,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied()).add_rows(rows);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// A duration in milliseconds for JSON, as an integer if possible.
#[must_use]
pub fn millis(duration: Duration) -> Value {
    if duration.subsec_nanos().is_multiple_of(1_000_000)
        && let Ok(whole) = u64::try_from(duration.as_millis())
    {
        return Value::from(whole);
    }
    Number::from_f64(duration.as_secs_f64() * 1000.0).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_whole_where_they_are() {
        let text = |micros| millis(Duration::from_micros(micros)).to_string();
        assert_eq!([250, 1500, 400_000, 2_000_000].map(text), ["0.25", "1.5", "400", "2000"]);
    }

    /// So that `awk` reads it, and a terminal shows nothing but words.
    #[test]
    fn a_table_has_two_blanks_between_its_columns_and_none_at_the_end_of_a_line() {
        let rows = || {
            [["a", "leading", ""], ["node-2", "-", "so it is"]]
                .map(|row| row.map(str::to_owned).to_vec())
        };
        let expected = "NODE    STATE    NOTE\na       leading\nnode-2  -        so it is\n";
        let header = ["NODE", "STATE", "NOTE"];
        assert_eq!(table_within(None, &header, rows()), expected);
        assert_eq!(long_table(&header, rows()), expected);
        assert_eq!(table(&header, rows()), expected, "a test has no terminal");
    }

    #[test]
    fn a_table_fits_a_terminal_of_80_columns() {
        let header = ["NODE", "STATE", "LEADER", "EPOCH", "UP", "RTT", "NOTE"];
        let row = ["node-1", "reorganizing", "node-5", "1234", "23h 59m 59s", "0.4 ms"];
        let note = "problem: one that takes many more words to tell than there is room for";
        let row = || row.into_iter().chain([note]).map(str::to_owned).collect();
        let table = table_within(Some(80), &header, (0..5).map(|_| row()));
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(table.lines().count() > 6, "{table}");
    }
}

//! For tests: a line of the log.

use log::Record;
use log::kv::Key;

/// The line of this record, with its level and its event.
pub fn line(record: &Record<'_>) -> String {
    let event = record.key_values().get(Key::from_str("event"));
    let event = event.map_or_else(String::new, |event| event.to_string());
    format!("{} {event}: {}", record.level(), record.args())
}

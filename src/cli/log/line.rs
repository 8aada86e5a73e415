//! A line of the log: as text for people, as JSON for programs, and with a priority for the journal of systemd.

use std::collections::BTreeMap;

use clap::ValueEnum;
use jiff::Timestamp;
use log::kv::{self, Key, VisitSource};
use log::{Level, Record};
use serde::Serialize;
use serde_json::Value;

/// How the lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Time, level, node and words.
    #[default]
    Text,
    /// One JSON document a line: time, level, node, event, message and the fields of the event.
    Json,
}

/// The settings of all lines.
#[derive(Clone, Debug)]
pub struct Style {
    /// How the lines look.
    pub format: LogFormat,
    /// Whether they begin with their priority, as systemd's journal reads it.
    pub with_priority: bool,
    /// The name of the node.
    pub node: String,
}

/// The fields of a record.
#[derive(Debug, Default)]
pub struct Fields {
    /// The event, as one word; "log" if the record has none.
    pub event: Option<String>,
    /// The text by which the record equals an earlier one; by default its words.
    pub same: Option<String>,
    /// All others.
    pub others: BTreeMap<String, Value>,
}

impl Fields {
    /// Those of this record that count for a line of this format. A line of text shows none, and to read them all would
    /// delay a failover.
    pub fn of(record: &Record<'_>, format: LogFormat) -> Fields {
        let mut reader = Reader { fields: Fields::default(), format };
        let _ = record.key_values().visit(&mut reader); // it never fails
        reader.fields
    }
}

/// Reads the fields that lines of this format need.
struct Reader {
    fields: Fields,
    format: LogFormat,
}

impl<'kvs> VisitSource<'kvs> for Reader {
    fn visit_pair(&mut self, key: Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        match (key.as_str(), self.format) {
            ("same", _) => self.fields.same = Some(value.to_string()),
            (_, LogFormat::Text) => {}
            ("event", LogFormat::Json) => self.fields.event = Some(value.to_string()),
            (name, LogFormat::Json) => {
                let value = value.to_u64().map_or_else(|| value.to_string().into(), Value::from);
                self.fields.others.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Document<'a> {
    time: String,
    level: &'a str,
    node: &'a str,
    event: &'a str,
    message: &'a str,
    #[serde(flatten)]
    fields: &'a BTreeMap<String, Value>,
}

impl Style {
    /// The line, with its end.
    pub fn line(&self, time: Timestamp, level: Level, fields: &Fields, text: &str) -> String {
        let Style { format, with_priority, node } = self;
        let line = match format {
            LogFormat::Text => format!("{time:.3} {level:<5} {node}: {text}"),
            LogFormat::Json => {
                let document = Document {
                    time: format!("{time:.3}"),
                    level: level.as_str(),
                    node,
                    event: fields.event.as_deref().unwrap_or("log"),
                    message: text,
                    fields: &fields.others,
                };
                // Maps with names for keys can be written.
                serde_json::to_string(&document).unwrap_or_default()
            }
        };
        let priority = if *with_priority { priority(level) } else { "" };
        // The journal takes each line of a longer text as its own entry.
        let line = line.replace('\n', &format!("\n{priority}"));
        format!("{priority}{line}\n")
    }
}

/// As syslog numbers them: err, warning, info, debug.
fn priority(level: Level) -> &'static str {
    match level {
        Level::Error => "<3>",
        Level::Warn => "<4>",
        Level::Info => "<6>",
        Level::Debug | Level::Trace => "<7>",
    }
}

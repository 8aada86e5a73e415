//! A line of the log: as text for people, as JSON for programs, and with a priority for the journal of systemd.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::ValueEnum;
use env_logger::fmt::Formatter;
use jiff::Timestamp;
use log::kv::{self, Key, VisitSource};
use log::{Level, Record};
use serde::Serialize;
use serde_json::Value;

use crate::limits::printable;

/// How the lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Time, level, node and words. Without time and level if systemd's journal has them already.
    #[default]
    Text,
    /// One JSON document a line: time, level, cluster, node, event, message and the fields of the event.
    Json,
}

/// The settings of all lines.
#[derive(Clone, Debug)]
pub struct Style {
    /// How the lines look.
    pub format: LogFormat,
    /// Whether they go to systemd's journal, which reads a priority before each line.
    pub for_journal: bool,
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the node.
    pub node: String,
}

#[derive(Serialize)]
struct Document<'a> {
    time: String,
    level: &'a str,
    cluster: &'a str,
    node: &'a str,
    event: String,
    message: String,
    #[serde(flatten)]
    fields: BTreeMap<String, Value>,
}

impl Style {
    /// Writes the line of a record, with its end.
    pub fn write(
        &self,
        out: &mut Formatter,
        time: Timestamp,
        record: &Record<'_>,
    ) -> io::Result<()> {
        let level = record.level();
        let priority = if self.for_journal { priority(level) } else { "" };
        let text = match self.format {
            LogFormat::Text => format!("{}: {}", self.node, record.args()),
            LogFormat::Json => self.document(time, record),
        };
        write!(out, "{priority}")?;
        if self.format == LogFormat::Text && !self.for_journal {
            let style = out.default_level_style(level);
            write!(out, "{time:.3} {style}{level:<5}{style:#} ")?;
        }
        // The journal takes each line of a longer text as its own entry.
        writeln!(out, "{}", printable(&text).replace('\n', &format!("\n{priority}")))
    }

    fn document(&self, time: Timestamp, record: &Record<'_>) -> String {
        let mut fields = LogRecordFields::default();
        let _ = record.key_values().visit(&mut fields); // it never fails
        let document = Document {
            time: format!("{time:.3}"),
            level: record.level().as_str(),
            cluster: &self.cluster,
            node: &self.node,
            event: fields.event.unwrap_or_else(|| "log".to_owned()),
            message: record.args().to_string(),
            fields: fields.others,
        };
        // A map with names for keys can be written.
        serde_json::to_string(&document).unwrap_or_default()
    }
}

/// The fields of a record.
#[derive(Default)]
struct LogRecordFields {
    event: Option<String>,
    others: BTreeMap<String, Value>,
}

impl<'kvs> VisitSource<'kvs> for LogRecordFields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        match key.as_str() {
            "event" => self.event = Some(value.to_string()),
            "same" | "every" => {}   // only for those who count lines
            "cluster" | "node" => {} // every line has them
            name => {
                let value = value.to_u64().map_or_else(|| value.to_string().into(), Value::from);
                self.others.insert(name.to_owned(), value);
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priorities_are_those_of_syslog() {
        let all = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
        assert_eq!(all.map(priority), ["<3>", "<4>", "<6>", "<7>", "<7>"]);
    }
}

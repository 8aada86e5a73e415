//! What the tests of this room and of those above it see of the log: the lines of their own thread.

use std::cell::RefCell;

use log::kv::{Error, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static FIELDS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps each line for the thread that logs it.
struct OfThreads;

impl Log for OfThreads {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let event = record.key_values().get(Key::from_str("event"));
        let event = event.map_or_else(String::new, |event| event.to_string());
        let line = format!("{} {event}: {}", record.level(), record.args());
        LINES.with_borrow_mut(|lines| lines.push(line));
        let mut fields = Fields(Vec::new());
        record.key_values().visit(&mut fields).unwrap();
        FIELDS.with_borrow_mut(|lines| lines.push(fields.0.join(" ")));
    }

    fn flush(&self) {}
}

/// The fields of one line.
struct Fields(Vec<String>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        self.0.push(format!("{key}={value}"));
        Ok(())
    }
}

/// The fields of the lines that this logs, as programs read them.
pub fn fields(act: impl FnOnce()) -> Vec<String> {
    FIELDS.take();
    logged(act);
    FIELDS.take()
}

/// The lines that this logs, each with its level and its event.
pub fn logged(act: impl FnOnce()) -> Vec<String> {
    let _ = log::set_logger(&OfThreads); // the first test does
    log::set_max_level(LevelFilter::Info);
    LINES.take();
    act();
    LINES.take()
}

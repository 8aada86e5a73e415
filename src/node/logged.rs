//! What the tests of this room and of those above it see of the log: the lines of their own thread.

use std::cell::RefCell;

use log::kv::{Error, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};

use crate::testing::line::line;

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
        LINES.with_borrow_mut(|lines| lines.push(line(record)));
        let mut fields = LoggedFields::default();
        let _ = record.key_values().visit(&mut fields); // it gives no error
        FIELDS.with_borrow_mut(|all| all.push(fields.0.join(" ")));
    }

    fn flush(&self) {}
}

/// The fields of a line, as a program that reads the log gets them.
#[derive(Default)]
struct LoggedFields(Vec<String>);

impl<'v> VisitSource<'v> for LoggedFields {
    fn visit_pair(&mut self, key: Key<'v>, value: Value<'v>) -> Result<(), Error> {
        self.0.push(format!("{key}={value}"));
        Ok(())
    }
}

/// The lines that this logs, each with its level and its event.
pub fn logged(act: impl FnOnce()) -> Vec<String> {
    let _ = log::set_logger(&OfThreads); // the first test does
    log::set_max_level(LevelFilter::Info);
    LINES.take();
    act();
    LINES.take()
}

/// The lines that this logs, as [`logged`] and [`fields`] have them.
pub fn whole(act: impl FnOnce()) -> Vec<[String; 2]> {
    FIELDS.take();
    let lines = logged(act);
    lines.into_iter().zip(FIELDS.take()).map(|(line, fields)| [line, fields]).collect()
}

/// The fields of the lines that this logs, each as `key=value`, with a space between them.
pub fn fields(act: impl FnOnce()) -> Vec<String> {
    whole(act).into_iter().map(|[_, fields]| fields).collect()
}

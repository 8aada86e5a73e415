//! The log of a running node: which lines it has, how they look, and where they go.

mod journal;
mod limiter;
mod line;

use std::io::{self, Stderr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use env_filter::Filter;
use jiff::Timestamp;
use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;
use rustix::fs::fstat;

use super::args::variable;
use super::error::CliError;
use super::exit::Exit;
use limiter::{Limiter, Line};
use line::{Fields, Style};

pub use journal::Journal;
pub use line::LogFormat;

/// The arguments for the log.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// How the log on stderr looks: for people or for programs.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, env = "ELECTD_LOG_FORMAT")]
    log_format: LogFormat,
}

impl LogArgs {
    /// Starts the log of the node of this name, on stderr.
    ///
    /// # Errors
    /// If RUST_LOG is wrong, stderr cannot be used, or the system has no thread left.
    pub fn start(self, node: &str) -> Result<Journal, CliError> {
        let filter = filter(variable("RUST_LOG"))?;
        self.write(node, filter).map_err(|error| {
            CliError::new(Exit::Internal, format!("cannot start the log: {error}"))
        })
    }

    fn write(self, node: &str, filter: Filter) -> io::Result<Journal> {
        let stderr = io::stderr();
        let with_priority = is_journal(&stderr);
        let style = Style { format: self.log_format, with_priority, node: node.to_owned() };
        let limiter = Arc::new(Mutex::new(Limiter::default()));
        let (digests, its_style) = (limiter.clone(), style.clone());
        let digest = move || digest(&digests, &its_style);
        let journal = Journal::start(stderr.as_fd().try_clone_to_owned()?, digest)?;
        log::set_max_level(filter.filter());
        let limiter = Some(limiter).filter(|_| filter.filter() < LevelFilter::Debug);
        let out = Mutex::new(journal.clone());
        let log = NodeLog { filter, style, limiter, started: Instant::now(), out };
        log::set_boxed_logger(Box::new(log)).map_err(io::Error::other)?;
        Ok(journal)
    }
}

/// The filter of RUST_LOG, such as debug or electd::net=trace. A word that is no level would be taken for a module,
/// and switch off the log of all others.
fn filter(wanted: Option<String>) -> Result<Filter, CliError> {
    let mut filter = env_filter::Builder::new();
    let Some(wanted) = wanted else {
        return Ok(filter.filter_level(LevelFilter::Info).build());
    };
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let directives = wanted.split('/').next().unwrap_or_default().split(',').map(str::trim);
    let is_strange = |part: &&str| match part.split_once('=') {
        Some((_, level)) => !is_level(level),
        None => !part.is_empty() && !is_level(part) && !part.starts_with("electd"),
    };
    let strange = directives.clone().find(is_strange);
    if strange.is_none() && filter.try_parse(&wanted).is_ok() {
        return Ok(filter.build());
    }
    let what = format!(
        "RUST_LOG={wanted:?}: {:?} is no level: use error, warn, info, debug, trace or off, or a module and a level \
         such as electd::net=debug",
        strange.unwrap_or(&wanted)
    );
    Err(CliError::new(Exit::Usage, what))
}

/// The digest of the counted lines, as a line of the log.
fn digest(limiter: &Mutex<Limiter>, style: &Style) -> Option<String> {
    let text = limiter.lock().digest()?;
    let fields = Fields { event: Some("repeated".to_owned()), ..Fields::default() };
    Some(style.line(Timestamp::now(), Level::Info, &fields, &text))
}

/// Whether stderr leads to systemd's journal, which says so with the device and the inode of the socket.
fn is_journal(stderr: &Stderr) -> bool {
    let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    fstat(stderr).is_ok_and(|file| told == format!("{}:{}", file.st_dev, file.st_ino))
}

/// Takes all records of this process.
struct NodeLog {
    filter: Filter,
    style: Style,
    /// None if everything is to be logged, as for debugging.
    limiter: Option<Arc<Mutex<Limiter>>>,
    started: Instant,
    /// Makes lines take turns.
    out: Mutex<Journal>,
}

impl Log for NodeLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.filter.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.filter.matches(record) {
            return;
        }
        let (text, fields) = (record.args().to_string(), Fields::of(record, self.style.format));
        if let Some(limiter) = &self.limiter {
            let site = (record.file().unwrap_or_default(), record.line().unwrap_or_default());
            let same = fields.same.as_deref().unwrap_or(&text);
            let line = Line { site, same, text: &text };
            if !limiter.lock().admit(&line, self.started.elapsed()) {
                return;
            }
        }
        let line = self.style.line(Timestamp::now(), record.level(), &fields, &text);
        self.out.lock().write(line.as_bytes());
    }

    fn flush(&self) {
        // It never waits; see `Journal::finish`.
    }
}

#[cfg(test)]
mod tests;

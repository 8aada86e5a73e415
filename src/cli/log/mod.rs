//! The log of a running node: which lines it has, how they look, and where they go. The log itself is made by
//! [`env_logger`].

mod journal;
mod line;
mod repeats;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IsTerminal, Stderr, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use clap::Args;
use env_logger::{Builder, Logger, Target, WriteStyle};
use jiff::Timestamp;
use log::{LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;
use rustix::fs::fstat;

use super::args::variable;
use super::error::CliError;
use super::exit::Exit;
use crate::limits::printable;
use line::Style;
use repeats::{Repeated, Repeats, without_numbers};

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
    ///
    /// If `RUST_LOG` is wrong, stderr cannot be used, or the system has no thread left.
    pub fn start(self, cluster: &str, node: &str) -> Result<Journal, CliError> {
        let directives = directives(variable("RUST_LOG"))?;
        let stderr = io::stderr();
        let style = Style {
            format: self.log_format,
            for_journal: is_journal(&stderr, &variable("JOURNAL_STREAM").unwrap_or_default()),
            cluster: cluster.to_owned(),
            node: node.to_owned(),
        };
        write_to(&stderr, &directives, style).map_err(|error| {
            CliError::new(Exit::Internal, format!("cannot start the log: {error}"))
        })
    }
}

fn write_to(stderr: &Stderr, directives: &str, style: Style) -> io::Result<Journal> {
    let journal = Journal::start(stderr.as_fd().try_clone_to_owned()?)?;
    let colour = stderr.is_terminal()
        && anstream::AutoStream::choice(stderr) != anstream::ColorChoice::Never;
    let logger = Builder::new()
        .parse_filters(directives)
        .target(Target::Pipe(Box::new(journal.clone())))
        .write_style(if colour { WriteStyle::Always } else { WriteStyle::Never })
        .format(move |out, record| style.write(out, Timestamp::now(), record))
        .build();
    let most = logger.filter();
    log::set_boxed_logger(Box::new(NodeLog::new(logger))).map_err(io::Error::other)?;
    log::set_max_level(most);
    Ok(journal)
}

/// Starts the log of a command, on the stderr that it shares with its children: warnings, or what `RUST_LOG` asks for.
///
/// # Errors
///
/// If `RUST_LOG` is wrong.
pub fn messages() -> Result<(), CliError> {
    let directives = directives(variable("RUST_LOG").or(Some("warn".to_owned())))?;
    let logger = Builder::new()
        .parse_filters(&directives)
        .format(|out, record| writeln!(out, "electd: {}", printable(&record.args().to_string())))
        .try_init();
    logger.map_err(|error| CliError::new(Exit::Internal, error))
}

/// The directives of `RUST_LOG`, such as debug or `electd_host::net=trace`; info without it. A word that is no level would be
/// taken for a module, and switch off the log of all others.
fn directives(wanted: Option<String>) -> Result<String, CliError> {
    let Some(wanted) = wanted else {
        return Ok("info".to_owned());
    };
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let mut parts = wanted.split('/');
    let is_strange = |part: &&str| match part.split_once('=') {
        Some((module, level)) => module.is_empty() || !is_level(level),
        None => !part.is_empty() && !is_level(part) && !part.starts_with("electd"),
    };
    let strange = parts.next().unwrap_or_default().split(',').map(str::trim).find(is_strange);
    let strange = strange.or_else(|| parts.nth(1)); // behind a slash stands a text, in which is no other slash
    match strange {
        None => Ok(wanted),
        Some(strange) => {
            let what = format!(
                "RUST_LOG={wanted:?}: {strange:?} is no level: use error, warn, info, debug, trace or off, or a module \
                 and a level such as electd_host::net=debug"
            );
            Err(CliError::new(Exit::Usage, what))
        }
    }
}

/// Whether stderr leads to systemd's journal, which has said so with the device and the inode of the socket.
fn is_journal(stderr: impl AsFd, said: &str) -> bool {
    fstat(stderr).is_ok_and(|file| said == format!("{}:{}", file.st_dev, file.st_ino))
}

/// Takes all records of this process.
struct NodeLog {
    logger: Logger,
    /// None if everything is to be logged, as for debugging.
    repeats: Option<Mutex<Repeats>>,
    started: Instant,
}

impl NodeLog {
    fn new(logger: Logger) -> NodeLog {
        let repeats = (logger.filter() < LevelFilter::Debug).then(Mutex::default);
        NodeLog { logger, repeats, started: Instant::now() }
    }

    /// Whether to write this record. Reports earlier ones that were not written.
    fn admits(&self, record: &Record<'_>) -> bool {
        let Some(repeats) = &self.repeats else { return true };
        if record.key_values().get("every".into()).is_some() {
            return true; // each of these lines counts for itself
        }
        let (now, text) = (self.started.elapsed(), record.args().to_string());
        let key = repeat_key(record, &text);
        let mut repeats = repeats.lock();
        self.report(repeats.due(now));
        repeats.admit(key, record.level(), &text, now)
    }

    fn report(&self, repeated: Vec<Repeated>) {
        for Repeated { level, text } in repeated {
            let event = [("event", "repeated")];
            let mut record = Record::builder();
            record.level(level).target(module_path!()).key_values(&event);
            self.logger.log(&record.args(format_args!("{text}")).build());
        }
    }
}

impl Log for NodeLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.logger.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if self.logger.matches(record) && self.admits(record) {
            self.logger.log(record);
        }
    }

    fn flush(&self) {
        // A panic may have left it locked.
        if let Some(mut repeats) = self.repeats.as_ref().and_then(Mutex::try_lock) {
            let rest = repeats.rest(self.started.elapsed());
            self.report(rest);
        }
    }
}

/// What a record has in common with those that it repeats: its place, and all words but the numbers; or what it says
/// itself (`same`).
fn repeat_key(record: &Record<'_>, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.file(), record.line()).hash(&mut hasher);
    let same = record.key_values().get("same".into());
    match same.as_ref().and_then(|same| same.to_borrowed_str()) {
        Some(same) => same.hash(&mut hasher),
        None => without_numbers(text).for_each(|word| word.hash(&mut hasher)),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;

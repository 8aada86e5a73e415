//! Locks that an engine decides on which is there already: a PostgreSQL or an etcd.
//!
//! An engine grants a lock for a time, and gives it a token that only grows. It ends no job: that does who uses this. The
//! time counts from before the request was sent, by the clock of who sent it; the engine goes by its own clock alone.
//!
//! All calls block, each for the patience that it was given. Nothing here has a thread.

use std::time::Duration;

use electd_host::{net, tls};
use thiserror::Error;

#[cfg_attr(not(feature = "etcd"), path = "absent.rs")]
#[allow(clippy::duplicate_mod)] // a build may be without both
mod etcd;
#[allow(dead_code)] // as above, and so are the next ones
mod failure;
#[allow(dead_code)]
mod line;
mod pace;
#[cfg_attr(not(feature = "postgres"), path = "absent.rs")]
mod postgres;
#[allow(dead_code)]
mod secret;
mod url;

pub use pace::{EnginePace, holder, host};
pub use url::EngineUrl;

/// Why an engine does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The URL is wrong.
    #[error("{0}")]
    Usage(String),
    /// It refuses, until somebody changes what is named.
    #[error("{0}")]
    Refused(String),
    /// It does not answer now, or not so that the answer can be used.
    #[error("{0}")]
    Unreachable(String),
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineHolder {
    /// What it calls itself.
    pub name: String,
    /// Its token.
    pub token: u64,
    /// For how long that lasts if it does not renew it, by the engine's clock, where the engine tells.
    pub left: Option<Duration>,
}

/// What came of asking for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockAnswer {
    /// It is held, with this token: for the whole time, counted from before the call.
    Held(u64),
    /// Another has it.
    Other(EngineHolder),
}

/// One lock of an engine, as one process sees it.
pub trait Engine: Send {
    /// Asks for the lock, in this name, which is that of no other process and of no earlier wish. May be called again
    /// and again with the same name, also if an answer did not come.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer. The lock may be held all the same.
    fn take(&mut self, holder: &str) -> Result<LockAnswer, EngineError>;

    /// Holds the lock that was taken in this name for the whole time again, counted from before the call. Tells whether it
    /// was still held.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer.
    fn renew(&mut self, holder: &str) -> Result<bool, EngineError>;

    /// Gives up what was taken in this name, whether or not that is known here, and the wish for it.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer. Its time ends all the same.
    fn release(&mut self, holder: &str) -> Result<(), EngineError>;

    /// Gives up the lock that was taken with this token, by a process that has ended: nothing if it is not held so.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer. Its time ends all the same.
    fn give_back(&mut self, token: u64) -> Result<(), EngineError>;

    /// Who holds the lock now.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer.
    fn watch(&mut self) -> Result<Option<EngineHolder>, EngineError>;

    /// What the engine is, and what it has of this, in sentences.
    ///
    /// # Errors
    /// If the engine refuses, or does not answer.
    fn describe(&mut self) -> Result<Vec<String>, EngineError>;
}

/// The lock of this URL, which is taken for `ttl`. Each call has so much patience with the engine. Nothing is asked yet.
///
/// # Errors
/// If the URL names a file that cannot be used, or an engine that this build does not have.
pub fn open(
    url: &EngineUrl,
    ttl: Duration,
    patience: Duration,
) -> Result<Box<dyn Engine>, EngineError> {
    match url.kind {
        url::EngineKind::Postgres => postgres::open(url, ttl, patience),
        url::EngineKind::Etcd => etcd::open(url, ttl, patience),
    }
}

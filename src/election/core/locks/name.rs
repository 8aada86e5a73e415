//! The name of a lock.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The name of a lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName(Arc<str>);

/// Why a text is not the name of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadLockName {
    #[error("use 1 to 63 of the characters a-z 0-9 . _ -, the first of them a letter or a digit")]
    Characters,
    #[error("that is the name of a setting of all locks")]
    Setting,
}

impl LockName {
    /// The longest name, in bytes.
    pub const LONGEST: usize = 63;

    /// The keys that stand beside the names in the configuration.
    const SETTINGS: [&str; 3] = ["names", "most", "spread"];

    /// # Errors
    /// Why it is no name.
    pub fn new(text: &str) -> Result<LockName, BadLockName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins = text.bytes().next().is_some_and(plain);
        let allowed = text.bytes().all(|byte| plain(byte) || b"._-".contains(&byte));
        if !begins || !allowed || text.len() > LockName::LONGEST {
            return Err(BadLockName::Characters);
        }
        if LockName::SETTINGS.contains(&text) {
            return Err(BadLockName::Setting);
        }
        Ok(LockName(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

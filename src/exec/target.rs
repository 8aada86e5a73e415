//! What the command of an `electd exec` waits for, as its `--lock` says.

use std::str::FromStr;

use crate::core::locks::table::{BadLockName, LockName};

/// The lock that `--lock` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// One of this cluster's.
    Name(LockName),
    /// One of somebody else's, by the URL of that.
    Engine(String),
}

impl FromStr for LockTarget {
    type Err = BadLockName;

    fn from_str(text: &str) -> Result<LockTarget, BadLockName> {
        if text.contains("://") {
            return Ok(LockTarget::Engine(text.to_owned()));
        }
        LockName::new(text).map(LockTarget::Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_a_name_of_this_cluster_or_the_url_of_an_engine() {
        let name = LockName::new("vip-7").unwrap();
        assert_eq!("vip-7".parse(), Ok(LockTarget::Name(name)));
        let url = "postgres://h/db?lock=a";
        assert_eq!(url.parse(), Ok(LockTarget::Engine(url.to_owned())));
        let long = "a".repeat(10_000);
        for text in ["", "A", "-a", "../a", "a/b", "a b", "a\n", "\u{1b}[2J", "a:7", long.as_str()]
        {
            assert_eq!(text.parse::<LockTarget>(), Err(BadLockName::Characters), "{text}");
        }
        assert_eq!("most".parse::<LockTarget>(), Err(BadLockName::Setting));
    }
}

//! The URL of a lock: which engine, where it is, and what the lock is called.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use electd_election::core::locks::table::LockName;

use super::EngineError;

/// No URL is longer.
const LONGEST: usize = 4096;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    Postgres,
    Etcd,
}

impl EngineKind {
    /// That of the feature, too.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Postgres => "postgres",
            EngineKind::Etcd => "etcd",
        }
    }

    fn port(self) -> u16 {
        match self {
            EngineKind::Postgres => 5432,
            EngineKind::Etcd => 2379,
        }
    }

    fn form(self) -> &'static str {
        match self {
            EngineKind::Postgres => "postgres://[USER@]HOST[:PORT][,...]/DATABASE?lock=NAME",
            EngineKind::Etcd => "etcd://[USER@]HOST[:PORT][,...]/NAME",
        }
    }

    /// Where a password may stand.
    fn secrets(self) -> &'static str {
        match self {
            EngineKind::Postgres => "PGPASSWORD, a line in ~/.pgpass, or ?passfile=FILE",
            EngineKind::Etcd => "ETCDCTL_PASSWORD, or ?passfile=FILE",
        }
    }
}

/// What protects the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    #[default]
    None,
    /// TLS with whoever answers.
    Encrypted,
    /// TLS with the host that the URL names.
    Verified,
}

/// A place of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnginePlace {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl fmt::Display for EnginePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brackets = if self.host.contains(':') { ["[", "]"] } else { ["", ""] };
        write!(f, "{}{}{}:{}", brackets[0], self.host, brackets[1], self.port)
    }
}

/// The URL of a lock, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineUrl {
    pub(crate) kind: EngineKind,
    pub(crate) user: Option<String>,
    pub(crate) places: Vec<EnginePlace>,
    /// The database of PostgreSQL.
    pub(crate) database: String,
    pub(crate) name: LockName,
    pub(crate) protection: Protection,
    /// The authorities that may sign the certificate of the engine.
    pub(crate) roots: Option<PathBuf>,
    pub(crate) passfile: Option<PathBuf>,
}

impl EngineUrl {
    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The name of the engine.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.kind.name()
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, self.kind) {
            ("lock", EngineKind::Postgres) => {} // it has been read
            ("sslmode", _) => {
                self.protection = match value {
                    "disable" => Protection::None,
                    "require" => Protection::Encrypted,
                    "verify-full" => Protection::Verified,
                    _ => return Err("sslmode is disable, require or verify-full".to_owned()),
                }
            }
            ("sslrootcert", _) => self.roots = Some(Path::new(value).into()),
            ("passfile", _) => self.passfile = Some(Path::new(value).into()),
            ("password", _) => return Err(self.kind.no_password()),
            _ => {
                let lock = if self.kind == EngineKind::Postgres { "lock, " } else { "" };
                return Err(format!(
                    "it knows no parameter {key:?}: use {lock}sslmode, sslrootcert or passfile"
                ));
            }
        }
        Ok(())
    }
}

impl EngineKind {
    fn no_password(self) -> String {
        format!(
            "every user of this host sees a password on a command line: give it by {}",
            self.secrets()
        )
    }
}

impl FromStr for EngineUrl {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<EngineUrl, EngineError> {
        parse(text).map_err(EngineError::Usage)
    }
}

fn parse(text: &str) -> Result<EngineUrl, String> {
    if text.len() > LONGEST {
        return Err(format!("the URL of a lock has at most {LONGEST} bytes"));
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let kind = match scheme {
        "postgres" | "postgresql" => EngineKind::Postgres,
        "etcd" => EngineKind::Etcd,
        _ => return Err("no such engine: use postgres://... or etcd://...".to_owned()),
    };
    let malformed = || format!("give it as {}", kind.form());
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').ok_or_else(malformed)?;
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => return Err(kind.no_password()),
        Some((user, hosts)) => (Some(decoded(user)?).filter(|user| !user.is_empty()), hosts),
        None => (None, authority),
    };
    let places = hosts.split(',').map(|host| place(host, kind.port()));
    let places = places.collect::<Option<Vec<_>>>().ok_or_else(malformed)?;
    let path = decoded(path)?;
    let parameters = parameters_of(parameters)?;
    let (database, lock) = match kind {
        EngineKind::Etcd => (String::new(), path),
        EngineKind::Postgres => {
            let lock = parameters.iter().find(|(key, _)| *key == "lock").ok_or_else(malformed)?;
            (path, lock.1.clone())
        }
    };
    let lock = LockName::new(&lock).map_err(|bad| format!("the name of the lock: {bad}"))?;
    let mut url = EngineUrl {
        kind,
        user,
        places,
        database,
        name: lock,
        protection: Protection::None,
        roots: None,
        passfile: None,
    };
    parameters.iter().try_for_each(|(key, value)| url.take(key, value))?;
    Ok(url)
}

fn parameters_of(text: &str) -> Result<Vec<(&str, String)>, String> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if found.iter().any(|(other, _)| *other == key) {
            return Err(format!("{key} is given twice"));
        }
        found.push((key, decoded(value)?));
    }
    Ok(found)
}

fn place(text: &str, default: u16) -> Option<EnginePlace> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let port = if port.is_empty() { default } else { port.parse().ok()? };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
    let is_one = !host.is_empty() && host.len() <= 255 && host.chars().all(is_host);
    is_one.then(|| EnginePlace { host: host.to_owned(), port })
}

/// Without the escapes of a URL.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => {
                let two = digit(rest.next()).zip(digit(rest.next()));
                let two = two.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                two.ok_or("after % come two hexadecimal digits")?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    if text.chars().any(char::is_control) {
        return Err("it has a control character".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match text.parse::<EngineUrl>() {
            Err(EngineError::Usage(why)) => why,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_url_names_the_engine_its_places_and_the_lock() {
        let url: EngineUrl =
            "postgresql://me%40x@h1,[::1]:6432/d%2Fb?lock=backup&sslmode=verify-full&sslrootcert=/a%20b"
                .parse()
                .unwrap();
        let places: Vec<String> = url.places.iter().map(ToString::to_string).collect();
        assert_eq!(places, ["h1:5432", "[::1]:6432"]);
        assert_eq!(
            (url.user.as_deref(), &*url.database, url.name()),
            (Some("me@x"), "d/b", "backup")
        );
        assert_eq!((url.protection, url.roots), (Protection::Verified, Some("/a b".into())));
        let url: EngineUrl = "etcd://a,b:1/vip-7".parse().unwrap();
        let places: Vec<String> = url.places.iter().map(ToString::to_string).collect();
        assert_eq!(
            (places, url.name(), url.engine()),
            (vec!["a:2379".to_owned(), "b:1".to_owned()], "vip-7", "etcd")
        );
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told() {
        let long = format!("etcd://h/{}", "a".repeat(10_000));
        for (text, why) in [
            ("mysql://h/d?lock=a", "no such engine"),
            ("etcd://h", "give it as etcd://"),
            ("etcd://h/a/b", "the name of the lock: use 1 to 63"),
            ("etcd://h/", "the name of the lock"),
            ("etcd:///a", "give it as"),
            ("etcd://h:x/a", "give it as"),
            ("etcd://h:70000/a", "give it as"),
            ("etcd://h/a?lock=b", "it knows no parameter"),
            ("postgres://h/d", "give it as postgres://"),
            ("postgres://h/d?sslmode=disable", "give it as postgres://"),
            ("postgres://h/d?lock=a/b", "the name of the lock"),
            ("postgres://h/d?lock=a%0", "after % come two"),
            ("postgres://h/%00?lock=a", "it has a control character"),
            ("postgres://h/d?lock=a&lock=b", "lock is given twice"),
            ("postgres://h/d?lock=a&sslmode=prefer", "sslmode is disable, require or verify-full"),
            ("postgres://me:secret@h/d?lock=a", "every user of this host sees a password"),
            (
                "postgres://h/d?lock=a&password=x",
                "PGPASSWORD, a line in ~/.pgpass, or ?passfile=FILE",
            ),
            ("etcd://me:secret@h/a", "ETCDCTL_PASSWORD, or ?passfile=FILE"),
            (&long, "at most 4096 bytes"),
        ] {
            let told = refused(text);
            assert!(told.contains(why), "{text}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }
}

//! The types of this room in a build without TLS: none of their values exist.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::path::Path;

use jiff::Timestamp;

use super::fault::TlsFault;
use super::files::{BadFile, Files};

/// Whether this build has TLS.
pub const AVAILABLE: bool = false;

const ABSENT: &str = "cannot be used: this electd was built without the feature `tls`";

/// The certificate that a node shows, and the authorities that it trusts.
#[derive(Debug)]
pub struct Credentials(Infallible);

impl Credentials {
    /// Refuses: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn load(files: &Files, _cluster: &str, _name: &str) -> Result<Credentials, BadFile> {
        Err(BadFile::new("tls.ca", &files.ca, ABSENT))
    }

    /// Refuses: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn load_early(files: &Files, cluster: &str, name: &str) -> Result<Credentials, BadFile> {
        Credentials::load(files, cluster, name)
    }

    /// A sentence if they are not valid yet.
    #[must_use]
    pub fn not_begun(&self) -> Option<String> {
        match self.0 {}
    }

    /// Which certificate it is.
    #[must_use]
    pub fn summary(&self) -> &str {
        match self.0 {}
    }

    /// When the first of them ends.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        match self.0 {}
    }
}

/// The TLS session of one connection.
#[derive(Debug)]
pub struct Session(Infallible);

impl Session {
    pub fn accept(
        credentials: &Credentials,
        _io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        match credentials.0 {}
    }

    pub fn dial(
        credentials: &Credentials,
        _name: &str,
        _io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        match credentials.0 {}
    }

    pub fn ask(trust: &Trust, _io: &mut (impl Read + Write)) -> Result<Session, Option<TlsFault>> {
        match trust.0 {}
    }

    pub fn visit(
        trust: &ServerTrust,
        _name: &str,
        _io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        match trust.0 {}
    }

    pub fn serve(
        credentials: &Credentials,
        _io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        match credentials.0 {}
    }

    pub fn farewell(&mut self) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub fn shown(&self) -> String {
        match self.0 {}
    }

    pub fn prove(&self, _name: &str) -> Result<(), TlsFault> {
        match self.0 {}
    }

    pub fn read(&mut self, _io: &mut impl Read, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn seal(&mut self, _bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub fn fault(_error: &io::Error) -> Option<TlsFault> {
        None
    }
}

/// Whether a certificate can name this member.
#[must_use]
pub fn can_name(_name: &str) -> bool {
    true
}

/// The certificate that a command shows, and the authorities that it trusts.
#[derive(Clone, Debug)]
pub struct Trust(Infallible);

impl Trust {
    /// Refuses: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn load(
        ca: &Path,
        _shown: Option<(&Path, &Path)>,
        _cluster: &str,
    ) -> Result<Trust, BadFile> {
        Err(BadFile::new("tls.ca", ca, ABSENT))
    }

    pub fn in_member(credentials: &Credentials, _name: &str) -> Option<Trust> {
        match credentials.0 {}
    }

    /// Refuses: this build has no TLS.
    ///
    /// # Errors
    /// Always.
    pub fn of_server(roots: Option<&Path>) -> Result<Trust, BadFile> {
        Err(BadFile::new("tls.ca", roots.unwrap_or(Path::new("")), ABSENT))
    }
}

/// The servers that are trusted, of which there are none.
pub use Trust as ServerTrust;

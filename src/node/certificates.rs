//! The certificates of a node, from their files to the network: at the start, at a reload, and whenever the
//! files change.
//!
//! The node checks new files as a whole before new connections use them; files that it cannot use
//! change nothing. Established connections stay as they are, so no leadership ends because of new
//! files.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use log::{info, warn};
use parking_lot::Mutex;

use crate::config::{Config, MemberConfig};
use crate::tls::{BadFile, Credentials, Files, Security, TlsFilesStamp};

/// A certificate that ends within this time is a problem.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// The certificates of a node, kept up to date with its files. Cheap to clone.
#[derive(Clone, Default)]
pub struct Certificates(Option<Arc<KeptCertificates>>);

struct KeptCertificates {
    cluster: String,
    name: String,
    security: Security,
    files: Mutex<CertificateFiles>,
}

struct CertificateFiles {
    files: Files,
    /// The files as they were when they were read last, whether they could be used or not.
    read: TlsFilesStamp,
    /// The files as they were at the last look: they are read once they rest, as there are three of them.
    seen: TlsFilesStamp,
    /// Why the newest files are not used.
    failure: Option<String>,
}

/// Certificates that were judged, and are not used yet.
pub struct Prepared(Option<(Files, TlsFilesStamp, Credentials)>);

impl Certificates {
    /// Of this member, judged before anything is written or bound.
    ///
    /// # Errors
    /// With what is wrong with a file.
    pub(super) fn load(config: &Config, own: &MemberConfig) -> Result<Certificates, BadFile> {
        let Some(files) = own.tls.clone() else { return Ok(Certificates::default()) };
        let (cluster, name) = (config.cluster.clone(), own.name.clone());
        let stamp = files.stamp();
        let credentials = Credentials::load_early(&files, &cluster, &name)?;
        let security = Security::new(Some(credentials));
        let files = Mutex::new(CertificateFiles { files, read: stamp, seen: stamp, failure: None });
        Ok(Certificates(Some(Arc::new(KeptCertificates { cluster, name, security, files }))))
    }

    /// Logs what this node shows: after its first line, which says who it is.
    pub(super) fn introduce(&self) {
        let Some(kept) = &self.0 else { return };
        if let Some(credentials) = kept.security.now() {
            info!(event = "certificate"; "members connect over TLS: this one shows certificate {}", credentials.summary());
        }
        if let Some(exposed) = kept.files.lock().files.exposed() {
            warn!(event = "certificate"; "{exposed}");
        }
    }

    /// The credentials that new connections use.
    pub(crate) fn security(&self) -> Security {
        self.0.as_ref().map_or_else(Security::default, |kept| kept.security.clone())
    }

    /// Reads and checks the files of this member again, without using them yet. Whether a node speaks
    /// TLS at all stays as it is.
    ///
    /// # Errors Says in words what is wrong with a file.
    pub fn prepare(&self, own: &MemberConfig) -> Result<Prepared, String> {
        let (Some(kept), Some(files)) = (&self.0, &own.tls) else { return Ok(Prepared(None)) };
        let stamp = files.stamp();
        let watched = kept.files.lock();
        if (&watched.files, &watched.read, &watched.failure) == (files, &stamp, &None) {
            return Ok(Prepared(None));
        }
        drop(watched);
        let credentials = Credentials::load(files, &kept.cluster, &kept.name);
        let credentials = credentials.map_err(|error| error.to_string())?;
        Ok(Prepared(Some((files.clone(), stamp, credentials))))
    }

    /// New connections use these from now on. Tells whether they are others than before.
    pub fn take(&self, prepared: Prepared) -> bool {
        let (Some(kept), Some((files, stamp, credentials))) = (&self.0, prepared.0) else {
            return false;
        };
        kept.take(credentials);
        *kept.files.lock() = CertificateFiles { files, read: stamp, seen: stamp, failure: None };
        true
    }

    /// Looks whether the files changed, and takes them if so. Gives what is wrong with them, and what it is about.
    pub(super) fn look(&self) -> Vec<(&'static str, String)> {
        let Some(kept) = &self.0 else { return Vec::new() };
        let mut watched = kept.files.lock();
        let now = watched.files.stamp();
        let rests = std::mem::replace(&mut watched.seen, now) == now;
        if rests && now != watched.read {
            watched.read = now;
            watched.failure = kept.read(&watched.files).err();
        }
        let failure = watched.failure.clone().map(|why| ("its files", why));
        let shown = kept.security.now();
        let begin = shown.as_deref().and_then(too_early).map(|why| ("its begin", why));
        let end = shown.and_then(|credentials| ending(credentials.end()));
        failure.into_iter().chain(begin).chain(end.map(|end| ("its end", end))).collect()
    }
}

impl KeptCertificates {
    /// Reads files that changed.
    fn read(&self, files: &Files) -> Result<(), String> {
        match Credentials::load(files, &self.cluster, &self.name) {
            Ok(credentials) => {
                self.take(credentials);
                Ok(())
            }
            Err(error) => Err(format!("{error}; the node goes on with those that it read before")),
        }
    }

    fn take(&self, credentials: Credentials) {
        info!(event = "certificate"; "new connections use certificate {}", credentials.summary());
        self.security.replace(credentials);
    }
}

/// A sentence if certificates are not valid yet.
fn too_early(credentials: &Credentials) -> Option<String> {
    let why = credentials.not_begun()?;
    Some(format!("no connection works yet, as the certificate {why}"))
}

/// A sentence if certificates end soon.
#[must_use]
pub fn ending(end: Timestamp) -> Option<String> {
    let left = Timestamp::now().duration_until(end);
    if left.is_negative() {
        return Some(format!(
            "the certificate ended on {end}, so no new connection works: renew it"
        ));
    }
    let left = left.unsigned_abs();
    (left < SOON).then(|| {
        format!("the certificate ends on {end}, in {} days: renew it", left.as_secs() / (24 * 3600))
    })
}

/// The findings about the files of a member that are on this host.
pub struct Judged {
    /// The name of the member.
    pub member: String,
    /// When the first of its certificates ends, or what is wrong with its files.
    pub end: Result<Timestamp, String>,
    /// A sentence if other users may read its key.
    pub exposed: Option<String>,
}

impl Judged {
    /// Warnings about these files, for the operator.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let ending = self.end.as_ref().ok().and_then(|end| ending(*end));
        ending.into_iter().chain(self.exposed.clone()).collect()
    }
}

/// Judges the files of all members that are on this host; those of the member of this name in any case.
#[must_use]
pub fn judge(config: &Config, own: Option<&str>) -> Vec<Judged> {
    let files = |member: &MemberConfig| {
        let files = member.tls.clone()?;
        let is_own = own == Some(&member.name);
        // One path for all members names a different file on each host.
        let is_alone = !config.members.iter().any(|other| {
            other.name != member.name
                && other.tls.as_ref().is_some_and(|other| other.cert == files.cert)
        });
        (is_own || (is_alone && files.cert.exists())).then_some(files)
    };
    let judge = |member: &MemberConfig| {
        let files = files(member)?;
        let credentials = Credentials::load(&files, &config.cluster, &member.name);
        Some(Judged {
            member: member.name.clone(),
            end: credentials.map(|found| found.end()).map_err(|error| error.to_string()),
            exposed: files.exposed(),
        })
    };
    config.members.iter().filter_map(judge).collect()
}

#[cfg(test)]
pub(super) mod tests;

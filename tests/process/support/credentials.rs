//! Certificates for the members of a cluster under test.
//!
//! With ELECTD_TEST_TLS=1 every cluster has them, so that the tests of this folder show that a cluster does
//! over TLS what it does without.

use std::fs;
use std::path::{Path, PathBuf};

use electd::tls::make::{Authority, CertificateAndKey};
use serde_json::{Value, json};

use super::Cluster;

/// Has every member of a config speak TLS, with files of its own.
pub fn secure(config: &mut Value) {
    for member in config["members"].as_array_mut().unwrap() {
        let name = member["name"].as_str().unwrap();
        let path = |file: &str| format!("tls/{name}/{file}.pem");
        member["tls"] = json!({"ca": path("ca"), "cert": path("cert"), "key": path("key")});
    }
}

/// Whether all clusters are to have certificates.
pub fn wanted() -> bool {
    std::env::var_os("ELECTD_TEST_TLS").is_some()
}

/// The authority of a cluster, and the place of its members' files.
pub struct Certificates {
    folder: PathBuf,
    pub authority: Authority,
}

impl Certificates {
    /// Writes the files of as many members, those that are to be added included.
    pub fn of(folder: &Path, config: &Value, members: usize) -> Certificates {
        let authority = Authority::new(config["cluster"].as_str().unwrap()).unwrap();
        let certificates = Certificates { folder: folder.join("tls"), authority };
        (1..=members).for_each(|number| certificates.issue(&format!("node-{number}")));
        certificates
    }

    /// Writes files for the member of this name.
    pub fn issue(&self, member: &str) {
        let pair = self.authority.sign(member).unwrap();
        self.put(member, &[self.authority.certificate()], &pair);
    }

    /// Writes these files for a member: the authorities that it trusts, and what it shows.
    pub fn put(&self, member: &str, trusted: &[&str], pair: &CertificateAndKey) {
        fs::create_dir_all(self.folder.join(member)).unwrap();
        self.replace(member, "ca", &trusted.concat());
        self.replace(member, "cert", &pair.cert);
        self.replace(member, "key", &pair.key);
    }

    /// Writes one file of a member.
    pub fn replace(&self, member: &str, file: &str, text: &str) {
        fs::write(self.file(member, file), text).unwrap();
    }

    /// Where a file of a member is: ca, cert or key.
    pub fn file(&self, member: &str, file: &str) -> PathBuf {
        self.folder.join(member).join(format!("{file}.pem"))
    }
}

impl Cluster {
    /// Gives the members of a changed config certificates for their names, where this cluster has any.
    pub fn certify(&self, config: &mut Value) {
        let Some(certificates) = &self.certificates else { return };
        secure(config);
        let members = config["members"].as_array().unwrap().iter();
        members.for_each(|member| certificates.issue(member["name"].as_str().unwrap()));
    }
}

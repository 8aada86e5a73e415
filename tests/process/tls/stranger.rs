//! Strangers: certificates that no member should take, and `openssl s_client` that shows them.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use electd::tls::make::CertificateAndKey;
use electd::tls::uri;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use tempfile::TempDir;

use crate::support::Node;

/// An authority that signs whatever it is asked for.
pub struct Forge {
    issuer: Issuer<'static, KeyPair>,
    pub certificate: String,
}

impl Forge {
    pub fn new(name: &str) -> Forge {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Forge { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate for a member as it should be, but for what is changed.
    pub fn sign(
        &self,
        cluster: &str,
        member: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> CertificateAndKey {
        let mut params = CertificateParams::new([member.to_owned()]).unwrap();
        let uri = uri(cluster, member);
        params.subject_alt_names.push(SanType::URI(uri.try_into().unwrap()));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap().pem();
        CertificateAndKey { cert, key: key.serialize_pem() }
    }
}

/// Somebody with openssl.
pub struct Stranger {
    folder: TempDir,
}

impl Stranger {
    pub fn new() -> Stranger {
        Stranger { folder: tempfile::tempdir().unwrap() }
    }

    /// Dials a node with this certificate, if any, says these bytes, and gives all that openssl tells until the node
    /// ends the connection.
    pub fn dial(
        &self,
        node: &Node,
        pair: Option<&CertificateAndKey>,
        options: &[&str],
        says: &[u8],
    ) -> String {
        let mut openssl = Command::new("openssl");
        openssl.args(["s_client", "-quiet", "-connect", &node.address.to_string()]).args(options);
        if let Some(pair) = pair {
            openssl.arg("-cert").arg(self.write("cert.pem", &pair.cert));
            openssl.arg("-key").arg(self.write("key.pem", &pair.key));
        }
        openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = openssl.spawn().expect("openssl is installed");
        let _ = child.stdin.take().unwrap().write_all(says); // it may have been refused before
        let told = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    }
}

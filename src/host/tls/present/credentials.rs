//! The certificate that a node shows and the authorities that it trusts, checked as a whole before use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use webpki::{EndEntityCert, KeyUsage};

use super::identity::{judge_member, timestamp, validity};
use super::read::read;
use super::verifier::Verifier;
use crate::tls::files::{BadFile, Files};

pub(super) const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];

/// The certificate that a node shows, and the authorities that it trusts.
#[derive(Debug)]
pub struct Credentials {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// For HTTP: a client may come without a certificate.
    pub(super) admin: Arc<ServerConfig>,
    pub(super) cluster: String,
    begin: Timestamp,
    end: Timestamp,
    summary: String,
}

impl Credentials {
    /// Reads and judges the files of a member, which have to be valid now.
    ///
    /// # Errors
    /// With what is wrong with the first file that cannot be used.
    pub fn load(files: &Files, cluster: &str, name: &str) -> Result<Credentials, BadFile> {
        let found = Credentials::load_early(files, cluster, name)?;
        match found.not_begun() {
            Some(why) => Err(BadFile::new("tls.cert", &files.cert, why)),
            None => Ok(found),
        }
    }

    /// The same, for a start: a host may have no time yet, so that the certificate may begin in what is its future. It
    /// is judged as of then.
    ///
    /// # Errors
    /// With what is wrong with the first file that cannot be used.
    pub fn load_early(files: &Files, cluster: &str, name: &str) -> Result<Credentials, BadFile> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (authorities, roots) = authorities(&files.ca)?;
        let chain = certificates("tls.cert", &files.cert)?;
        let bad_cert = |what: String| BadFile::new("tls.cert", &files.cert, what);
        judge_member(&chain[0], cluster, name).map_err(|fault| bad_cert(fault.why))?;
        let (begin, end) =
            judge_chain(&provider, &roots, &authorities, &chain).map_err(bad_cert)?;
        let key = private_key(&files.key)?;
        let bad_key = |what: String| BadFile::new("tls.key", &files.key, what);
        let signer = provider.key_provider.load_private_key(key.clone_key());
        let signer =
            signer.map_err(|error| bad_key(format!("holds a key that cannot be used: {error}")))?;
        if CertifiedKey::new(chain.clone(), signer).keys_match().is_err() {
            let cert = files.cert.display();
            return Err(bad_key(format!(
                "is not the key of the certificate in {cert}: give the two that were made together"
            )));
        }
        let trusted = match authorities.len() {
            1 => "1 authority".to_owned(),
            number => format!("{number} authorities"),
        };
        let (client, server, admin) = configs(provider, roots, cluster, chain.clone(), key)
            .map_err(|error| bad_cert(format!("cannot be used: {error}")))?;
        let summary = format!("{}, which ends on {end}; trusted: {trusted}", serial(&chain[0]));
        Ok(Credentials { client, server, admin, cluster: cluster.to_owned(), begin, end, summary })
    }

    /// Which certificate it is, by its serial number, and how many authorities are trusted.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// A sentence if they are not valid yet by the clock of this host.
    #[must_use]
    pub fn not_begun(&self) -> Option<String> {
        let begin = self.begin;
        (begin > Timestamp::now()).then(|| {
            format!("begins on {begin}: correct the clock of this host, or the certificate")
        })
    }

    /// When the first of them ends: the certificate, one between it and the authority, or the authority's own.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.end
    }
}

/// The serial number of a certificate, as `openssl x509 -serial` writes it.
fn serial(certificate: &CertificateDer) -> String {
    let serial = EndEntityCert::try_from(certificate).map(|read| read.serial().to_vec());
    let bytes = serial.unwrap_or_default();
    bytes.iter().skip_while(|byte| **byte == 0).map(|byte| format!("{byte:02X}")).collect()
}

type Authorities = (Vec<CertificateDer<'static>>, RootCertStore);

/// The authorities in a file.
pub(super) fn authorities(file: &Path) -> Result<Authorities, BadFile> {
    let authorities = certificates("tls.ca", file)?;
    let mut roots = RootCertStore::empty();
    for (at, authority) in authorities.iter().enumerate() {
        roots.add(authority.clone()).map_err(|error| {
            let what =
                format!("holds a certificate that cannot be used, number {}: {error}", at + 1);
            BadFile::new("tls.ca", file, what)
        })?;
    }
    Ok((authorities, roots))
}

/// The certificates of a file, at least one.
pub(super) fn certificates(
    key: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, BadFile> {
    let bytes = read(key, file)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| {
        BadFile::new(key, file, format!("is damaged: {error:?}; give certificates in PEM"))
    })?;
    if found.is_empty() {
        return Err(BadFile::new(
            key,
            file,
            "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)",
        ));
    }
    Ok(found)
}

pub(super) fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, BadFile> {
    let bytes = read("tls.key", file)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        let what = match error {
            pem::Error::NoItemsFound => "holds no private key in PEM without a password".to_owned(),
            error => format!("is damaged: {error:?}; give a private key in PEM"),
        };
        BadFile::new("tls.key", file, what)
    })
}

/// Whether other members would take this certificate, now or once it begins. Gives when it does, and when the first of
/// all that they look at ends.
fn judge_chain(
    provider: &CryptoProvider,
    roots: &RootCertStore,
    authorities: &[CertificateDer],
    chain: &[CertificateDer],
) -> Result<(Timestamp, Timestamp), String> {
    let leaf =
        EndEntityCert::try_from(&chain[0]).map_err(|error| format!("cannot be read: {error}"))?;
    let algorithms = provider.signature_verification_algorithms.all;
    let begins = chain.iter().filter_map(|certificate| Some(validity(certificate)?.0));
    let begin = begins.max().unwrap_or(Timestamp::UNIX_EPOCH);
    let judged = Duration::from_secs(u64::try_from(begin.as_second()).unwrap_or(0));
    let judged =
        UnixTime::since_unix_epoch(judged.max(Duration::from_secs(UnixTime::now().as_secs())));
    let mut anchor = None;
    for (usage, purpose) in
        [(KeyUsage::client_auth(), "clientAuth"), (KeyUsage::server_auth(), "serverAuth")]
    {
        let (anchors, more) = (&roots.roots, &chain[1..]);
        let path = leaf.verify_for_usage(algorithms, anchors, more, judged, usage, None, None);
        anchor = Some(path.map_err(|error| refusal(&error, purpose))?.anchor().subject.to_vec());
    }
    let signed = authorities.iter().filter(|authority| {
        let read = EndEntityCert::try_from(*authority).ok();
        read.map(|read| read.subject().to_vec()) == anchor
    });
    // Of two authorities of one name, the one that lasts longer counts.
    let authority = signed.filter_map(|authority| Some(validity(authority)?.1)).max();
    let ends =
        chain.iter().filter_map(|certificate| Some(validity(certificate)?.1)).chain(authority);
    let end = ends.min().ok_or_else(|| "does not tell when it ends".to_owned())?;
    Ok((begin, end))
}

/// Why the other members would not take it.
fn refusal(error: &webpki::Error, purpose: &str) -> String {
    match error {
        webpki::Error::CertExpired { not_after, .. } => {
            format!("ended on {}: renew it", timestamp(*not_after))
        }
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            "is signed by no authority in tls.ca: give the one that signed it".to_owned()
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            format!(
                "lacks the extended key usage {purpose}: a member needs clientAuth and serverAuth"
            )
        }
        error => format!("cannot be used: {error}"),
    }
}

type Configs = (Arc<ClientConfig>, Arc<ServerConfig>, Arc<ServerConfig>);

/// There are no tickets and no resumption: a connection goes one way, and its accepter says nothing
/// after the welcome.
fn configs(
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    cluster: &str,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Configs, rustls::Error> {
    let verifier = Verifier::new(roots, &provider, cluster);
    let verifier = verifier.map_err(|error| rustls::Error::General(error.to_string()))?;
    let (lenient, verifier) = (Arc::new(verifier.lenient()), Arc::new(verifier));
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(VERSIONS)?
        .dangerous() // the verifier judges all that the library's own does, and more
        .with_custom_certificate_verifier(verifier.clone())
        .with_client_auth_cert(chain.clone(), key.clone_key())?;
    client.resumption = Resumption::disabled();
    client.enable_sni = false; // the network path need not learn the name of the member
    let server = |verifier| {
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let mut server = builder
            .with_protocol_versions(VERSIONS)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())?;
        server.send_tls13_tickets = 0;
        Ok::<_, rustls::Error>(Arc::new(server))
    };
    Ok((Arc::new(client), server(verifier)?, server(lenient)?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose as Usage, IsCa, Issuer,
        KeyPair, SanType, SerialNumber, date_time_ymd,
    };

    use super::super::identity::uri;
    use super::*;

    type Change = fn(&mut CertificateParams);

    /// What a member shows whose certificate differs by this from a good one.
    fn load(change: Change) -> Result<Credentials, BadFile> {
        load_by(change, Credentials::load)
    }

    type Load = fn(&Files, &str, &str) -> Result<Credentials, BadFile>;

    fn load_by(change: Change, load: Load) -> Result<Credentials, BadFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let files = Files { ca: path("ca"), cert: path("cert"), key: path("key") };
        let (mut ca, ca_key) = (CertificateParams::default(), KeyPair::generate().unwrap());
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let trusted = ca.self_signed(&ca_key).unwrap().pem();
        let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::URI(uri("hc", "a").try_into().unwrap()));
        params.extended_key_usages = vec![Usage::ServerAuth, Usage::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap().pem();
        fs::write(&files.ca, &trusted).unwrap();
        fs::write(&files.cert, cert).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        load(&files, "hc", "a")
    }

    /// A host may have no time yet when its node starts.
    #[test]
    fn a_start_takes_a_certificate_that_begins_later_and_tells_so() {
        let begins: Change = |cert| cert.not_before = date_time_ymd(2999, 1, 1);
        let told =
            "begins on 2999-01-01T00:00:00Z: correct the clock of this host, or the certificate";
        let found = load_by(begins, Credentials::load_early).unwrap();
        assert_eq!(found.not_begun().as_deref(), Some(told));
        assert_eq!(load_by(|_| (), Credentials::load_early).unwrap().not_begun(), None);
    }

    #[test]
    fn a_certificate_that_no_member_would_take_is_refused_with_the_remedy() {
        let table: [(Change, &str); 4] = [
            (
                |cert| cert.not_after = date_time_ymd(2020, 2, 29),
                "ended on 2020-02-29T00:00:00Z: renew it",
            ),
            (
                |cert| cert.not_before = date_time_ymd(2999, 1, 1),
                "begins on 2999-01-01T00:00:00Z: correct the clock of this host, or the certificate",
            ),
            (
                |cert| cert.extended_key_usages = vec![Usage::ServerAuth],
                "lacks the extended key usage clientAuth: a member needs clientAuth and serverAuth",
            ),
            (
                |cert| cert.extended_key_usages = vec![Usage::ClientAuth],
                "lacks the extended key usage serverAuth: a member needs clientAuth and serverAuth",
            ),
        ];
        for (change, words) in table {
            let refused = load(change).unwrap_err();
            assert_eq!((refused.key, &*refused.what), ("tls.cert", words));
        }
    }

    #[test]
    fn credentials_are_named_by_the_serial_number_in_the_words_of_openssl() {
        let numbered = |cert: &mut CertificateParams| {
            cert.serial_number = Some(SerialNumber::from(vec![0, 0x8a, 0x0b]));
            cert.not_after = date_time_ymd(2999, 1, 1);
        };
        let words = "8A0B, which ends on 2999-01-01T00:00:00Z; trusted: 1 authority";
        assert_eq!(load(numbered).unwrap().summary(), words);
    }
}

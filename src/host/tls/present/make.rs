//! An authority for one cluster, and the certificates that it signs.

pub mod pinned;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData,
    SanType, date_time_ymd,
};

use super::identity::uri;

/// For how long all certificates are valid.
const DAYS: i32 = 2 * 365;

/// Signs the certificates of one cluster. Its key is best kept off the members' hosts.
///
/// ```
/// use electd_host::tls::make::Authority;
///
/// let authority = Authority::new("hc")?;
/// let pair = authority.sign("db1")?;
/// assert!(pair.cert.starts_with("-----BEGIN CERTIFICATE-----"));
/// assert!(pair.key.starts_with("-----BEGIN PRIVATE KEY-----"));
/// assert_ne!(authority.certificate(), pair.cert);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Authority {
    cluster: String,
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, both in PEM.
pub struct CertificateAndKey {
    /// The certificate.
    pub cert: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// A new one, with a key of its own.
    ///
    /// # Errors
    /// When the library cannot make it.
    pub fn new(cluster: &str) -> Result<Authority, Error> {
        let key = KeyPair::generate()?;
        // Two authorities of one cluster differ in their names.
        let name = format!("electd CA {:.0}", Timestamp::now());
        let mut params = params(&name, cluster);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Authority { cluster: cluster.to_owned(), issuer: Issuer::new(params, key), certificate })
    }

    /// The authority of this certificate and this key, both in PEM, to sign more certificates.
    ///
    /// # Errors
    ///
    /// If one of them is none, or the key does not belong to the certificate.
    pub fn load(cluster: &str, certificate: &str, key: &str) -> Result<Authority, Error> {
        let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
        let (cluster, certificate) = (cluster.to_owned(), certificate.to_owned());
        Ok(Authority { cluster, issuer, certificate })
    }

    /// Its certificate, in PEM, which all members trust.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its private key, in PEM.
    #[must_use]
    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for the member of this name, with a new key.
    ///
    /// # Errors
    /// When no certificate can have the name.
    pub fn sign(&self, member: &str) -> Result<CertificateAndKey, Error> {
        let key = KeyPair::generate()?;
        Ok(CertificateAndKey { cert: self.certify(member, &key)?, key: key.serialize_pem() })
    }

    /// A certificate for the member of this name, with the key that signed this request, in PEM. Nothing else in the
    /// request counts.
    ///
    /// # Errors
    /// If it is no request that its key signed, or no certificate can have the name.
    pub fn answer(&self, member: &str, request: &str) -> Result<String, Error> {
        let request = CertificateSigningRequestParams::from_pem(request)?;
        self.certify(member, &request.public_key)
    }

    fn certify(&self, member: &str, key: &impl PublicKeyData) -> Result<String, Error> {
        let mut params = params(member, &self.cluster);
        params.subject_alt_names = vec![
            SanType::DnsName(member.try_into()?),
            SanType::URI(uri(&self.cluster, member).try_into()?),
        ];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }
}

/// A new key and a request that it signed, both in PEM.
///
/// # Errors
/// When the library cannot make them.
pub fn request() -> Result<(String, String), Error> {
    let key = KeyPair::generate()?;
    let request = CertificateParams::default().serialize_request(&key)?;
    Ok((key.serialize_pem(), request.pem()?))
}

/// Valid from yesterday on, as clocks differ.
fn params(name: &str, cluster: &str) -> CertificateParams {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, cluster);
    subject.push(DnType::CommonName, name);
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    for (days, limit) in [(-1, &mut params.not_before), (DAYS, &mut params.not_after)] {
        let date = today.saturating_add(days.days());
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        *limit = date_time_ymd(date.year().into(), part(date.month()), part(date.day()));
    }
    params
}

//! The member that a certificate names, and its period of validity.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use crate::limits::quote;
use crate::tls::fault::{TlsCause, TlsFault};

const SCHEME: &str = "electd://";

/// The name of a member that no other cluster has: `electd://CLUSTER/NAME`. Of the cluster's name all but letters,
/// digits and `-._~` is written as in any URI.
///
/// ```
/// assert_eq!(electd_host::tls::uri("two sites", "db1"), "electd://two%20sites/db1");
/// ```
#[must_use]
pub fn uri(cluster: &str, member: &str) -> String {
    let mut uri = prefix(cluster);
    uri.push_str(member);
    uri
}

/// The beginning of the URIs of all members of a cluster.
fn prefix(cluster: &str) -> String {
    let mut uri = SCHEME.to_owned();
    for byte in cluster.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push('/');
    uri
}

/// Whether a certificate can name this member: its name is a DNS name too.
#[must_use]
pub fn can_name(name: &str) -> bool {
    !name.ends_with('.') && matches!(ServerName::try_from(name), Ok(ServerName::DnsName(_)))
}

/// Whether a certificate names a member of this cluster.
pub fn judge_cluster(certificate: &CertificateDer, cluster: &str) -> Result<(), TlsFault> {
    let prefix = prefix(cluster);
    let names = names(certificate)?;
    if names.iter().any(|name| name.starts_with(&prefix)) {
        return Ok(());
    }
    let cause = if names.is_empty() { TlsCause::OtherMember } else { TlsCause::OtherCluster };
    let why = format!(
        "its certificate is {}, and the cluster is {prefix}: give it a certificate of this cluster",
        list(&names)
    );
    Err(TlsFault::of_peer(cause, why))
}

/// Whether a certificate names this member of this cluster, by URI and by DNS name.
pub fn judge_member(
    certificate: &CertificateDer,
    cluster: &str,
    member: &str,
) -> Result<(), TlsFault> {
    judge_cluster(certificate, cluster)?;
    let (names, expected) = (names(certificate)?, uri(cluster, member));
    if !names.contains(&expected.as_str()) {
        let names = list(&names);
        let why = format!(
            "its certificate is {names}, and not {expected}: give every member its own certificate"
        );
        return Err(TlsFault::of_peer(TlsCause::OtherMember, why));
    }
    let parsed = parse(certificate)?;
    if parsed.valid_dns_names().any(|name| name.eq_ignore_ascii_case(member)) {
        return Ok(());
    }
    let why = format!("its certificate is for {expected}, and lacks the DNS name {member}");
    Err(TlsFault::of_peer(TlsCause::OtherMember, why))
}

/// The members that a certificate names, in words.
pub fn describe(certificate: &CertificateDer) -> String {
    names(certificate).map_or_else(|fault| fault.why, |names| list(&names))
}

/// The URIs of members that a certificate names.
fn names<'a>(certificate: &'a CertificateDer) -> Result<Vec<&'a str>, TlsFault> {
    let uris = parse(certificate)?.valid_uri_names().collect::<Vec<_>>();
    Ok(uris.into_iter().filter(|uri| uri.starts_with(SCHEME)).collect())
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "for no member (a URI electd://CLUSTER/NAME)".to_owned(),
        names => format!("for {}", quote(&names.join(", "))),
    }
}

fn parse<'a>(certificate: &'a CertificateDer) -> Result<EndEntityCert<'a>, TlsFault> {
    EndEntityCert::try_from(certificate).map_err(|error| {
        TlsFault::of_peer(TlsCause::Broken, format!("its certificate cannot be read: {error}"))
    })
}

/// When a certificate becomes valid and when it expires; none if that is unknown. The library reports
/// these only in its refusals, so we ask it about the first and the last moment.
pub fn validity(certificate: &CertificateDer) -> Option<(Timestamp, Timestamp)> {
    let parsed = EndEntityCert::try_from(certificate).ok()?;
    let refusal = |seconds| {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        parsed.verify_for_usage(&[], &[], &[], time, KeyUsage::client_auth(), None, None).err()
    };
    let begin = match refusal(0)? {
        webpki::Error::CertNotValidYet { not_before, .. } => timestamp(not_before),
        _ => Timestamp::UNIX_EPOCH,
    };
    match refusal(u64::MAX)? {
        webpki::Error::CertExpired { not_after, .. } => Some((begin, timestamp(not_after))),
        _ => None,
    }
}

/// A moment of a certificate. One that never ends says so by the last second of the year 9999, which is beyond what a
/// timestamp can say.
pub fn timestamp(time: UnixTime) -> Timestamp {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType, date_time_ymd};

    use super::*;

    fn made(params: &CertificateParams) -> CertificateDer<'static> {
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    /// A certificate with these names: members' URIs, and a DNS name.
    fn certificate(uris: &[String], name: &str) -> CertificateDer<'static> {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        let uris = uris.iter().map(|uri| SanType::URI(uri.as_str().try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        made(&params)
    }

    #[test]
    fn a_certificate_names_its_member_by_uri_and_by_dns_name() {
        let judge = |uris: &[String], name| judge_member(&certificate(uris, name), "hc", "db1");
        let good = uri("hc", "db1");
        let other = |found| {
            format!(
                "its certificate is for {found}, and not electd://hc/db1: give every member its own certificate"
            )
        };
        judge(std::slice::from_ref(&good), "DB1").unwrap();
        judge(&[uri("hc", "db2"), good.clone()], "db1").unwrap();
        for (uris, name, words) in [
            (
                &[good.clone()][..],
                "db2",
                "its certificate is for electd://hc/db1, and lacks the DNS name db1",
            ),
            (&[uri("hc", "db2")], "db1", &other("electd://hc/db2")),
            (&[format!("{good}1")], "db1", &other("electd://hc/db11")),
            (
                &["https://hc/db1".to_owned()],
                "db1",
                "its certificate is for no member (a URI electd://CLUSTER/NAME), and the cluster is electd://hc/: give \
                 it a certificate of this cluster",
            ),
        ] {
            let fault = judge(uris, name).unwrap_err();
            assert_eq!(fault, TlsFault::of_peer(TlsCause::OtherMember, words));
        }
        let why = "its certificate is for electd://hd/db1, and the cluster is electd://hc/: give it a certificate of this \
                   cluster";
        let fault = judge(&[uri("hd", "db1")], "db1").unwrap_err();
        assert_eq!(fault, TlsFault::of_peer(TlsCause::OtherCluster, why));
        let junk = judge_member(&CertificateDer::from(vec![0x30, 0]), "hc", "db1").unwrap_err();
        assert_eq!(junk.cause, TlsCause::Broken);
    }

    #[test]
    fn of_the_name_of_a_cluster_all_but_plain_characters_is_escaped() {
        assert_eq!(uri("aZ09-._~ /%\u{fc}", "b"), "electd://aZ09-._~%20%2F%25%C3%BC/b");
    }

    /// For the log, and for the member that is refused.
    #[test]
    fn what_a_certificate_names_is_told_in_words() {
        let of = |uris: &[String]| describe(&certificate(uris, "db1"));
        assert_eq!(of(&[]), "for no member (a URI electd://CLUSTER/NAME)");
        let two = [uri("hc", "db1"), "https://hc/db1".to_owned(), uri("two sites", "db2")];
        assert_eq!(of(&two), "for electd://hc/db1, electd://two%20sites/db2");
        let junk = describe(&CertificateDer::from(vec![0x30, 0]));
        assert!(junk.starts_with("its certificate cannot be read: "), "{junk}");
    }

    #[test]
    fn a_member_is_named_by_a_dns_name() {
        assert!(["db1", "db-1.example", "my_host"].into_iter().all(can_name));
        assert!(!["db1.", "-db", "db..1", "10.0.0.1"].into_iter().any(can_name));
    }

    #[test]
    fn a_certificate_that_never_ends_has_a_begin_and_the_last_of_all_ends() {
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(9999, 12, 31);
        let begin = "2020-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(validity(&made(&params)), Some((begin, Timestamp::MAX)));
        params.not_before = date_time_ymd(1970, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        assert_eq!(validity(&made(&params)), Some((Timestamp::UNIX_EPOCH, begin)));
        assert_eq!(validity(&CertificateDer::from(vec![0x30, 0])), None);
    }
}

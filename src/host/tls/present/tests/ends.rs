//! From when on a certificate counts, and when it ends.

use std::fs;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use super::{Folder, meet};
use crate::tls::Credentials;
use crate::tls::make::Authority;

/// The year, the month and the day in so many hours.
fn day_in(hours: i64) -> (i32, u8, u8) {
    let date = (Timestamp::now() + hours.hours()).to_zoned(TimeZone::UTC).date();
    let [month, day] = [date.month(), date.day()].map(|part| u8::try_from(part).unwrap());
    (date.year().into(), month, day)
}

/// Has a certificate end at the begin of the next day.
fn end_tomorrow(params: &mut CertificateParams) {
    let (year, month, day) = day_in(24);
    params.not_after = date_time_ymd(year, month, day);
}

/// The authority signs another one, which signs the certificates of members and ends before them.
#[test]
fn a_certificate_may_come_by_way_of_another_and_ends_with_it() {
    let folder = Folder::new();
    let (mut params, keys) = (CertificateParams::default(), [(); 2].map(|()| KeyPair::generate()));
    let [root_key, key] = keys.map(Result::unwrap);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "root");
    let root = params.self_signed(&root_key).unwrap().pem();
    let issuer = Issuer::new(params.clone(), &root_key);
    params.distinguished_name.push(DnType::CommonName, "between");
    params.not_after = date_time_ymd(2999, 1, 1);
    let latest = params.signed_by(&key, &issuer).unwrap().pem();
    end_tomorrow(&mut params);
    let between = params.signed_by(&key, &issuer).unwrap().pem();
    let root = Authority::load("hc", &root, &root_key.serialize_pem()).unwrap();
    let signer = Authority::load("hc", &latest, &key.serialize_pem()).unwrap();
    let files = folder.files("a", &signer, &[&root]);
    let refused = Credentials::load(&files, "hc", "a").unwrap_err();
    assert!(refused.what.contains("is signed by no authority"), "{refused}");
    let own = fs::read_to_string(&files.cert).unwrap();
    let by_way_of = |between: &str| {
        fs::write(&files.cert, [&own, between].concat()).unwrap();
        Credentials::load(&files, "hc", "a").unwrap()
    };
    let lasting = by_way_of(&latest).end();
    // It counts from when all of it is valid, and is judged as of then.
    let (year, month, day) = day_in(30 * 24);
    params.not_after = date_time_ymd(2999, 1, 1);
    params.not_before = date_time_ymd(year, month, day);
    let early = params.signed_by(&key, &issuer).unwrap().pem();
    fs::write(&files.cert, [&*own, &*early].concat()).unwrap();
    let begins = Credentials::load_early(&files, "hc", "a").unwrap().not_begun().unwrap();
    assert!(
        begins.starts_with(&format!("begins on {year}-{month:02}-{day:02}T00:00:00Z")),
        "{begins}"
    );
    let a = by_way_of(&between);
    assert!(a.end() < lasting, "{} is before {lasting}", a.end());
    let b = folder.member("b", "hc", &root);
    for (dialed, accepted) in [meet(&a, "b", &b), meet(&b, "a", &a)] {
        assert!(dialed.is_ok() && accepted.is_ok(), "{dialed:?}, {accepted:?}");
    }
}

/// Otherwise nobody would be told to renew an authority before all members refuse each other.
#[test]
fn a_certificate_ends_with_its_authority() {
    let (folder, key) = (Folder::new(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(2099, 1, 1);
    let last = params.self_signed(&key).unwrap().pem();
    let authority = Authority::load("hc", &last, &key.serialize_pem()).unwrap();
    let longest = folder.member("a", "hc", &authority).end();
    // The same name and key, for a shorter time: the certificates that it signs do not say so.
    end_tomorrow(&mut params);
    let first = params.self_signed(&key).unwrap().pem();
    let authority = Authority::load("hc", &first, &key.serialize_pem()).unwrap();
    let end = folder.member("a", "hc", &authority).end();
    let tomorrow = Timestamp::now() + 24.hours();
    assert!(end <= tomorrow && tomorrow < longest, "{end}, {longest}");
    // While one replaces the other, the one that lasts longer counts.
    let last = Authority::load("hc", &last, &key.serialize_pem()).unwrap();
    for trusted in [[&last, &authority], [&authority, &last]] {
        let files = folder.files("a", &authority, &trusted);
        assert_eq!(Credentials::load(&files, "hc", "a").unwrap().end(), longest);
    }
}

//! Certificates from the files of a test to what a node shows and tells.
#[cfg(feature = "tls")]
use std::os::unix::fs::PermissionsExt as _;

use jiff::SignedDuration;

use super::*;

#[test]
fn an_end_is_a_problem_from_thirty_days_before_it_on() {
    let after = |hours| ending(Timestamp::now() + SignedDuration::from_hours(hours));
    assert_eq!(after(24 * 30 + 1), None);
    for (hours, days) in [(24 * 30 - 1, 29), (25, 1), (23, 0), (1, 0)] {
        let end = Timestamp::now() + SignedDuration::from_hours(hours);
        let words = format!("the certificate ends on {end}, in {days} days: renew it");
        assert_eq!(ending(end), Some(words));
    }
    let past = Timestamp::now() - SignedDuration::from_hours(1);
    let words = format!("the certificate ended on {past}, so no new connection works: renew it");
    assert_eq!(ending(past), Some(words));
}

/// An authority whose own certificate ends in less than ten days, and with it all that it signs.
#[cfg(feature = "tls")]
fn ending_soon() -> crate::tls::make::Authority {
    use jiff::{ToSpan, tz::TimeZone};
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    let date = Timestamp::now().to_zoned(TimeZone::UTC).date().saturating_add(10.days());
    let [month, day] = [date.month(), date.day()].map(|part| u8::try_from(part).unwrap());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(date.year().into(), month, day);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    crate::tls::make::Authority::load("hc", &certificate, &key.serialize_pem()).unwrap()
}

#[cfg(feature = "tls")]
#[test]
fn files_that_change_are_taken_once_they_rest_and_what_is_wrong_is_told_until_it_is_mended() {
    use crate::node::logged::logged;
    use crate::tls::make::Authority;

    let folder = tempfile::tempdir().unwrap();
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| folder.path().join(name));
    let files = Files { ca, cert, key };
    let replace = |file: &std::path::Path, text: &str| {
        let fresh = folder.path().join("fresh");
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, file).unwrap();
    };
    let put = |authority: &Authority| {
        let pair = authority.sign("a").unwrap();
        replace(&files.ca, authority.certificate());
        replace(&files.cert, &pair.cert);
        replace(&files.key, &pair.key);
    };
    put(&Authority::new("hc").unwrap());
    let security = Security::new(Some(Credentials::load(&files, "hc", "a").unwrap()));
    let stamp = files.stamp();
    let watched =
        CertificateFiles { files: files.clone(), read: stamp, seen: stamp, failure: None };
    let (cluster, name, files_now) = ("hc".to_owned(), "a".to_owned(), Mutex::new(watched));
    let kept = KeptCertificates { cluster, name, security: security.clone(), files: files_now };
    let certificates = Certificates(Some(Arc::new(kept)));
    let shown = || security.now().unwrap().summary().to_owned();
    let look = || -> Vec<_> {
        let all = certificates.look().into_iter();
        all.map(|(about, text)| format!("{about}: {text}")).collect()
    };

    let first = shown();
    assert_eq!(look(), [""; 0]);
    let told =
        format!("INFO certificate: members connect over TLS: this one shows certificate {first}");
    let exposed = format!("WARN certificate: {}", files.exposed().expect("all may read it"));
    assert_eq!(logged(|| certificates.introduce()), [told.clone(), exposed]);
    std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(look(), [""; 0], "nobody wrote to it");
    assert_eq!(logged(|| certificates.introduce()), [told]);
    put(&ending_soon());
    assert_eq!((look(), shown()), (Vec::new(), first.clone()), "it may write the others yet");
    let mut soon = Vec::new();
    let taken = logged(|| soon = look());
    let second = shown();
    assert_eq!(taken, [format!("INFO certificate: new connections use certificate {second}")]);
    let end = ending(security.now().unwrap().end()).expect("it ends in ten days");
    assert!(end.ends_with(", in 9 days: renew it"), "{end}");
    assert_eq!(soon, [format!("its end: {end}")]);
    assert_ne!(second, first);
    assert_eq!(logged(|| _ = look()), [""; 0], "they were read");

    replace(&files.key, "no key");
    look();
    let why = Credentials::load(&files, "hc", "a").map(|_| ()).unwrap_err();
    let told = [
        format!("its files: {why}; the node goes on with those that it read before"),
        soon.remove(0),
    ];
    assert_eq!((look(), look()), (told.to_vec(), told.to_vec()));
    assert_eq!(shown(), second);

    put(&Authority::new("hc").unwrap());
    look();
    assert_eq!(look(), [""; 0]);
    assert_ne!(shown(), second);
}

/// The files of the member a in this folder, signed by a fresh authority.
#[cfg(feature = "tls")]
pub fn signed(folder: &std::path::Path) -> Files {
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| folder.join(name));
    let authority = crate::tls::make::Authority::new("example").unwrap();
    let pair = authority.sign("a").unwrap();
    std::fs::create_dir_all(folder).unwrap();
    for (file, text) in [(&ca, authority.certificate()), (&cert, &pair.cert), (&key, &pair.key)] {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    Files { ca, cert, key }
}

#[cfg(feature = "tls")]
#[test]
fn a_reload_takes_certificates_that_changed_and_none_that_are_wrong() {
    use crate::node::logged::{fields, logged};

    let (mut config, _folder) = crate::node::example::cluster().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plain =
        Certificates::load(&config, &config.members[0]).unwrap_or_else(|why| panic!("{why}"));
    assert!(plain.security().now().is_none());
    assert_eq!((plain.look(), logged(|| plain.introduce())), (Vec::new(), Vec::new()));
    config.members[0].tls = Some(signed(&folder.path().join("one")));
    let own = config.members[0].clone();
    assert!(!plain.take(plain.prepare(&own).unwrap()), "it would have to be restarted");

    let certificates = Certificates::load(&config, &own).unwrap_or_else(|why| panic!("{why}"));
    let shown = || certificates.security().now().unwrap().summary().to_owned();
    let first = shown();
    let without = MemberConfig { tls: None, ..own.clone() };
    for same in [&own, &without] {
        assert!(!certificates.take(certificates.prepare(same).unwrap()));
    }
    let elsewhere = folder.path().join("other");
    let other = MemberConfig { tls: Some(signed(&elsewhere)), ..own.clone() };
    let prepared = certificates.prepare(&other).unwrap();
    assert_eq!(shown(), first, "they are only prepared");
    let mut is_other = false;
    let told = fields(|| is_other = certificates.take(prepared));
    assert_eq!((is_other, told), (true, vec!["event=certificate".to_owned()]));
    let second = shown();
    assert_ne!(second, first);
    assert!(!certificates.take(certificates.prepare(&other).unwrap()), "they are the same now");
    assert_eq!(logged(|| assert_eq!(certificates.look(), [])), [""; 0], "and were read");

    std::fs::write(elsewhere.join("key"), "no key").unwrap();
    let why = Credentials::load(other.tls.as_ref().unwrap(), "example", "a").map(|_| ());
    let why = why.unwrap_err().to_string();
    assert_eq!(certificates.prepare(&other).map(|_| ()), Err(why.clone()));
    certificates.look();
    let failure = format!("{why}; the node goes on with those that it read before");
    assert_eq!(certificates.look(), [("its files", failure)]);
    assert_eq!(certificates.prepare(&other).map(|_| ()), Err(why.clone()), "it asks again");
    assert_eq!(shown(), second);
    signed(&elsewhere);
    let prepared = certificates.prepare(&other).unwrap();
    assert!(certificates.take(prepared), "they are good again");
    assert_eq!(logged(|| assert_eq!(certificates.look(), [])), [""; 0], "and nothing is wrong");
    assert_ne!(shown(), second);

    config.members[0].tls = other.tls.clone();
    std::fs::remove_file(elsewhere.join("ca")).unwrap();
    let refused = Certificates::load(&config, &config.members[0]).map(|_| ());
    assert!(refused.unwrap_err().to_string().starts_with("tls.ca "));
}

/// What is not on this host is judged on the host of its member.
#[cfg(feature = "tls")]
#[test]
fn the_files_of_all_members_that_are_on_this_host_are_judged() {
    let (mut config, _folder) = crate::node::example::cluster().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = signed(folder.path());
    let member = |name: &str, tls: Option<&Files>| MemberConfig {
        name: name.to_owned(),
        tls: tls.cloned(),
        ..config.members[0].clone()
    };
    let gone = Files { cert: folder.path().join("gone"), ..files.clone() };
    let far = Files { cert: folder.path().join("far"), ..files.clone() };
    let members = [
        member("a", Some(&files)),
        member("b", Some(&gone)),
        member("c", Some(&gone)),
        member("d", None),
        member("e", Some(&far)),
    ];
    config.members = members.to_vec();
    let judged = |own: Option<&str>| -> Vec<(String, Result<Timestamp, String>, Option<String>)> {
        let all = judge(&config, own).into_iter();
        all.map(|one| (one.member, one.end, one.exposed)).collect()
    };
    let credentials = Credentials::load(&files, "example", "a").unwrap();
    let of_a = || ("a".to_owned(), Ok(credentials.end()), None);
    let error = |files: &Files, name: &str| {
        Credentials::load(files, "example", name)
            .map(|found| found.end())
            .map_err(|why| why.to_string())
    };
    assert_eq!(judged(None), [of_a()]);
    assert_eq!(judged(Some("d")), [of_a()]);
    assert_eq!(judged(Some("b")), [of_a(), ("b".to_owned(), error(&gone, "b"), None)]);
    assert_eq!(judged(Some("e")), [of_a(), ("e".to_owned(), error(&far, "e"), None)]);
    std::fs::copy(&files.cert, &gone.cert).unwrap();
    std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o604)).unwrap();
    let exposed = files.exposed();
    assert!(exposed.is_some());
    let of_a = ("a".to_owned(), Ok(credentials.end()), exposed.clone());
    assert_eq!(judged(None), std::slice::from_ref(&of_a), "one path names a file of each host");
    let of_b = ("b".to_owned(), error(&gone, "b"), exposed.clone());
    assert!(of_b.1.is_err(), "it is the certificate of another");
    assert_eq!(judged(Some("b")), [of_a, of_b]);

    let warnings = |end| {
        let (member, exposed) = ("a".to_owned(), Some("exposed".to_owned()));
        Judged { member, end, exposed }.warnings()
    };
    let soon = Timestamp::now() + SignedDuration::from_hours(30);
    assert_eq!(warnings(Ok(soon)), [ending(soon).unwrap(), "exposed".to_owned()]);
    assert_eq!(warnings(Err("no file".to_owned())), ["exposed"], "that is an error, not a warning");
}

/// A host may have no time yet when its node starts.
#[cfg(feature = "tls")]
#[test]
fn a_certificate_that_is_not_valid_yet_is_shown_and_told_at_each_look() {
    use rcgen::{CertificateParams, ExtendedKeyUsagePurpose as Usage, Issuer, KeyPair, SanType};

    let (mut config, _folder) = crate::node::example::cluster().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = signed(folder.path());
    let authority = crate::tls::make::Authority::new("example").unwrap();
    let issuer_key = KeyPair::from_pem(&authority.key()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(authority.certificate(), issuer_key).unwrap();
    let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::URI("electd://example/a".try_into().unwrap()));
    params.extended_key_usages = vec![Usage::ServerAuth, Usage::ClientAuth];
    params.not_before = rcgen::date_time_ymd(2999, 1, 1);
    let key = KeyPair::generate().unwrap();
    let cert = params.signed_by(&key, &issuer).unwrap().pem();
    let key = key.serialize_pem();
    for (file, text) in
        [(&files.ca, authority.certificate()), (&files.cert, &cert), (&files.key, &key)]
    {
        std::fs::write(file, text).unwrap();
    }
    config.members[0].tls = Some(files);
    let certificates =
        Certificates::load(&config, &config.members[0]).unwrap_or_else(|why| panic!("{why}"));
    assert!(certificates.security().now().is_some());
    let words = "no connection works yet, as the certificate begins on 2999-01-01T00:00:00Z: correct the clock of this \
                 host, or the certificate";
    assert_eq!(certificates.look(), [("its begin", words.to_owned())]);
}

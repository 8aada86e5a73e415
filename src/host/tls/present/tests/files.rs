//! Files of a member that cannot be used.

use std::path::Path;

use super::*;
use crate::tls::BadFile;

const UNREAD: &str = "cannot be read: No such file or directory (os error 2); name a file that the user of the node may read";

const NONE: &str = "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)";

#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let files = folder.files("a", &authority, &[&authority]);
    let other = folder.files("b", &Authority::new("hc").unwrap(), &[&authority]);
    Credentials::load(&files, "hc", "a").unwrap();
    let damaged = folder.path("damaged.pem");
    fs::write(&damaged, "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap();
    let junk = |what: &str, before: &str| {
        let path = folder.path(&format!("junk-{}.pem", before.len()));
        let text = format!("{before}-----BEGIN {what}-----\nAAAA\n-----END {what}-----\n");
        fs::write(&path, text).unwrap();
        path
    };
    let no_authority = junk("CERTIFICATE", &fs::read_to_string(&files.ca).unwrap());
    let (no_certificate, no_key) = (junk("CERTIFICATE", ""), junk("PRIVATE KEY", "\n"));
    let cut = folder.path("cut.pem");
    fs::write(&cut, "-----BEGIN PRIVATE KEY-----\nAAAA\n").unwrap();
    let (missing, huge) = (PathBuf::from("/nowhere/x.pem"), folder.path("huge.pem"));
    fs::File::create(&huge).unwrap().set_len((1 << 20) + 1).unwrap();
    let refused = |files: Files, name: &str| Credentials::load(&files, "hc", name).unwrap_err();
    let with = |key: &str, file: &Path| {
        let mut files = files.clone();
        *match key {
            "ca" => &mut files.ca,
            "cert" => &mut files.cert,
            _ => &mut files.key,
        } = file.to_owned();
        files
    };
    let of_another = format!(
        "is not the key of the certificate in {}: give the two that were made together",
        files.cert.display()
    );
    for (changed, key, what) in [
        (with("ca", &missing), "tls.ca", UNREAD),
        (with("key", &missing), "tls.key", UNREAD),
        (with("ca", &files.key), "tls.ca", NONE),
        (
            with("ca", &no_authority),
            "tls.ca",
            "holds a certificate that cannot be used, number 2: *",
        ),
        (with("cert", &damaged), "tls.cert", "is damaged: *; give certificates in PEM"),
        (with("cert", &no_certificate), "tls.cert", "its certificate cannot be read: *"),
        (with("key", &cut), "tls.key", "is damaged: *; give a private key in PEM"),
        (with("key", &no_key), "tls.key", "holds a key that cannot be used: *"),
        (with("cert", &huge), "tls.cert", "is larger than 1 MiB: name a file in PEM"),
        (with("key", &files.cert), "tls.key", "holds no private key in PEM without a password"),
        (with("key", &other.key), "tls.key", &of_another),
        (
            with("cert", &other.cert),
            "tls.cert",
            "its certificate is for electd://hc/b, and not electd://hc/a: give every member its own certificate",
        ),
        (
            with("cert", &files.ca),
            "tls.cert",
            "its certificate is for no member (a URI electd://CLUSTER/NAME), and the cluster is electd://hc/: give it a \
             certificate of this cluster",
        ),
        (
            with("ca", &folder.files("c", &authority, &[&Authority::new("hc").unwrap()]).ca),
            "tls.cert",
            "is signed by no authority in tls.ca: give the one that signed it",
        ),
    ] {
        is_told(&refused(changed.clone(), "a"), &changed, key, what);
    }
    assert!(refused(files.clone(), "b").what.contains("and not electd://hc/b"));
}

/// Whether this is the error of the file of this key; the library's words stand at the star.
#[track_caller]
fn is_told(error: &BadFile, files: &Files, key: &str, what: &str) {
    let Files { ca, cert, key: of_key } = files;
    let named = [("tls.ca", ca), ("tls.cert", cert), ("tls.key", of_key)];
    assert!(named.contains(&(error.key, &error.file)) && error.key == key, "{error}");
    match what.split_once('*') {
        None => assert_eq!(error.what, what),
        Some((begin, end)) => {
            assert!(error.what.starts_with(begin) && error.what.ends_with(end), "{error}");
        }
    }
    assert_eq!(error.is_unread, what.starts_with("cannot be read"), "{error}");
}

//! Files of a member that cannot be used.

use std::path::Path;

use super::*;

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
    for (changed, key, what) in [
        (with("ca", &missing), "tls.ca", "cannot be read"),
        (with("key", &missing), "tls.key", "cannot be read"),
        (with("ca", &files.key), "tls.ca", "holds no certificate"),
        (
            with("ca", &no_authority),
            "tls.ca",
            "holds a certificate that cannot be used, number 2: ",
        ),
        (with("cert", &damaged), "tls.cert", "is damaged"),
        (with("cert", &no_certificate), "tls.cert", "its certificate cannot be read: "),
        (with("key", &cut), "tls.key", "is damaged"),
        (with("key", &no_key), "tls.key", "holds a key that cannot be used: "),
        (with("cert", &huge), "tls.cert", "is larger than 1 MiB"),
        (with("key", &files.cert), "tls.key", "holds no private key"),
        (with("key", &other.key), "tls.key", "is not the key of the certificate"),
        (with("cert", &other.cert), "tls.cert", "for electd://hc/b, and not electd://hc/a"),
        (with("cert", &files.ca), "tls.cert", "for no member"),
        (
            with("ca", &folder.files("c", &authority, &[&Authority::new("hc").unwrap()]).ca),
            "tls.cert",
            "is signed by no authority",
        ),
    ] {
        let error = refused(changed, "a");
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(error.is_unread, what == "cannot be read", "{error}");
    }
    assert!(refused(files.clone(), "b").what.contains("and not electd://hc/b"));
}

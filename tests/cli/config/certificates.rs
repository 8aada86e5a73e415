//! `init --tls` makes certificates, and `check` judges them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::files::*;
use crate::admin::pace::{TIMEOUT, run_within};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, SanType, date_time_ymd};
use tempfile::TempDir;

/// A folder in which `init --tls` made a cluster of two and a witness.
fn made() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let output = electd(&[
        "init",
        "--cluster",
        "two sites",
        "--tls",
        "--out",
        &file,
        "--member",
        "a=10.0.0.1",
        "b=10.0.0.2",
        "--witness",
        "w=10.0.0.3",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let tls = folder.path().join("tls").display().to_string();
    let said = format!(
        "wrote {tls}: copy {tls}/NAME to the host of each member, beside the file, and move {tls}/ca-key.pem to a safe \
         place\nwrote {file}; next: electd check --config {file}\n"
    );
    assert_eq!(stderr(&output), said);
    folder
}

fn file(folder: &TempDir) -> String {
    folder.path().join("cluster.json").to_str().unwrap().to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn each_member_gets_a_folder_whose_files_check_passes_and_nothing_is_overwritten() {
    let folder = made();
    for member in ["a", "b", "w"] {
        let own = folder.path().join("tls").join(member);
        assert_eq!((mode(&own), mode(&own.join("key.pem"))), (0o700, 0o600));
        for name in ["ca.pem", "cert.pem"] {
            // As far as the umask lets others read it.
            assert_eq!(mode(&own.join(name)) & !0o044, 0o600, "{name}");
        }
    }
    assert_eq!(mode(&folder.path().join("tls/ca.pem")) & !0o044, 0o600);
    assert_eq!(mode(&folder.path().join("tls/ca-key.pem")), 0o600);
    assert_eq!(mode(&folder.path().join("tls")), 0o700);
    let file = file(&folder);
    let output = electd(&["check", "--config", &file, "--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = json["certificates"].as_array().unwrap();
    assert_eq!(found.len(), 3, "{json}");
    assert!(
        found.iter().all(|judged| judged["warnings"].as_array().unwrap().is_empty()),
        "{found:?}"
    );

    let key = fs::read(folder.path().join("tls/a/key.pem")).unwrap();
    fs::remove_file(&file).unwrap();
    let again = ["init", "--tls", "--out", &file, "--member", "a=10.0.0.1", "b=10.0.0.2"];
    let output = electd(&again);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(&output).contains("exists and is not overwritten"), "{output:?}");
    assert_eq!(fs::read(folder.path().join("tls/a/key.pem")).unwrap(), key);
    assert!(!Path::new(&file).exists(), "no file that names what is not its own");
}

/// As on a disk that is full: half a file would block the next attempt.
#[test]
fn a_file_that_cannot_be_written_whole_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut init = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" init --nodes 1 --quorum none --out \"$1\"";
    init.args(["-c", script, env!("CARGO_BIN_EXE_electd"), &file(&folder)]);
    let output = run_within(TIMEOUT, init);
    let words = format!(
        "{} cannot be written: File too large (os error 27): name another file with --out\n",
        file(&folder)
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(2), words));
    assert!(!Path::new(&file(&folder)).exists());
}

#[test]
fn check_names_the_file_that_cannot_be_used() {
    let folder = made();
    let of = |path: &str| folder.path().join("tls").join(path);
    fs::copy(of("a/cert.pem"), of("b/cert.pem")).unwrap();
    for args in [&["check", "--config"][..], &["check", "--node", "b", "--config"]] {
        let output = electd(&[args, &[&file(&folder)]].concat());
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let words = "tls/b/cert.pem: its certificate is for electd://two%20sites/a, and not electd://two%20sites/b";
        assert!(stderr(&output).contains(words), "{output:?}");
    }
    fs::copy(of("a/cert.pem"), of("w/cert.pem")).unwrap();
    let output = electd(&["check", "--config", &file(&folder)]);
    let said = stderr(&output);
    let files: Vec<_> = said.lines().map(|line| line.split(": ").next().unwrap()).collect();
    let expected = ["b/cert.pem", "w/cert.pem"].map(|it| of(it).display().to_string());
    assert!(files.iter().zip(&expected).all(|(line, file)| line.ends_with(file)), "{said}");
    assert_eq!(files.len(), 2, "{said}");
    fs::remove_dir_all(of("w")).unwrap();
    fs::remove_dir_all(of("b")).unwrap();
    assert_eq!(
        electd(&["check", "--config", &file(&folder)]).status.code(),
        Some(0),
        "on another host"
    );
    let output = electd(&["check", "--node", "b", "--config", &file(&folder)]);
    assert!(
        output.status.code() == Some(78) && stderr(&output).contains("cannot be read"),
        "{output:?}"
    );
}

#[test]
fn check_warns_before_a_certificate_ends_and_of_a_key_that_others_may_read() {
    let folder = made();
    let of = |path: &str| folder.path().join("tls").join(path);
    fs::set_permissions(of("w/key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::URI("electd://two%20sites/a".try_into().unwrap()));
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * 20);
    let soon = soon.to_zoned(jiff::tz::TimeZone::UTC).date();
    params.not_after = date_time_ymd(soon.year().into(), soon.month() as u8, soon.day() as u8);
    // An authority of its own, whose end is far.
    let (mut ca, ca_key) = (CertificateParams::default(), KeyPair::generate().unwrap());
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    fs::write(of("a/ca.pem"), ca.self_signed(&ca_key).unwrap().pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let cert = params.signed_by(&key, &rcgen::Issuer::new(ca, ca_key)).unwrap();
    fs::write(of("a/cert.pem"), cert.pem()).unwrap();
    fs::write(of("a/key.pem"), key.serialize_pem()).unwrap();
    let text = stdout(&electd(&["check", "--config", &file(&folder)]));
    for words in [
        "certificates of 3 members are here; that of a ends first, on ",
        "WARNING: a: the certificate ends on",
        "in 19 days: renew it",
        "WARNING: w: tls.key",
        "chmod 600",
    ] {
        assert!(text.contains(words), "{words} is missing from\n{text}");
    }
}

#[test]
fn a_certificate_is_renewed_by_the_authority_of_the_file_and_by_no_other() {
    let folder = made();
    let (file, of) = (file(&folder), |path: &str| folder.path().join("tls").join(path));
    let read = || ["ca", "cert", "key"].map(|it| fs::read(of(&format!("a/{it}.pem"))).unwrap());
    let renew = |member| electd(&["init", "--tls", "--renew", member, "--out", &file]);
    let [ca, cert, key] = read();
    let output = renew("a");
    let said = format!(
        "wrote {}: copy it to the host of a, beside the file; the node takes it within a second\n",
        of("a").display()
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), said));
    let renewed = read();
    assert!(!of("a.new").exists());
    assert!(renewed[0] == ca && renewed[1] != cert && renewed[2] != key);
    assert_eq!(mode(&of("a/key.pem")), 0o600);
    fs::remove_dir_all(of("b")).unwrap(); // as of a member that was added later
    fs::create_dir(of("b.new")).unwrap(); // and of an attempt that was cut short
    fs::write(of("b.new/key.pem"), "half a k").unwrap();
    assert_eq!(renew("b").status.code(), Some(0));
    assert!(of("b/key.pem").exists() && !of("b.new").exists());
    let output = electd(&["check", "--config", &file, "--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = json["certificates"].as_array().unwrap();
    assert!(found.iter().all(|it| it["warnings"].as_array().unwrap().is_empty()), "{json}");

    let refused = |member, begin: &str| {
        let output = renew(member);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).starts_with(begin), "{begin} is missing from {output:?}");
        assert_eq!(read(), renewed, "nothing changed");
        stderr(&output)
    };
    let unknown = format!("nobody is no member of {file}: add it to the file first\n");
    assert_eq!(refused("nobody", ""), unknown);
    fs::copy(made().path().join("tls/ca-key.pem"), of("ca-key.pem")).unwrap();
    refused("a", "a gets no new certificate: ");
    fs::remove_file(of("ca-key.pem")).unwrap();
    let words = format!(
        "a gets no new certificate: {}: No such file or directory (os error 2): put ca.pem and ca-key.pem of the cluster's \
         authority into {}\n",
        of("ca-key.pem").display(),
        folder.path().join("tls").display()
    );
    assert_eq!(refused("a", ""), words);
}

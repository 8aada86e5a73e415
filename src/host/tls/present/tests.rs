//! Handshakes between two ends of a pair of sockets, and files that cannot be used.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tempfile::TempDir;

use super::identity::{judge_cluster, validity};
use super::make::Authority;
use super::{Credentials, Session};
use crate::tls::{Files, Security, TlsCause, TlsFault};

mod ends;
mod files;
mod https;

/// A folder with the files of members.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The files of a member that this authority signs for, and that trusts these.
    fn files(&self, member: &str, signer: &Authority, trusted: &[&Authority]) -> Files {
        let path = |what| self.path(&format!("{member}-{what}.pem"));
        let files = Files { ca: path("ca"), cert: path("cert"), key: path("key") };
        let pair = signer.sign(member).unwrap();
        let trusted = trusted.iter().map(|authority| authority.certificate()).collect::<String>();
        fs::write(&files.ca, trusted).unwrap();
        fs::write(&files.cert, pair.cert).unwrap();
        fs::write(&files.key, pair.key).unwrap();
        files
    }

    fn member(&self, member: &str, cluster: &str, authority: &Authority) -> Credentials {
        Credentials::load(&self.files(member, authority, &[authority]), cluster, member).unwrap()
    }
}

/// Both ends of a connection.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    for end in [&near, &far] {
        end.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    (near, far)
}

/// One side dials a member by this name, the other accepts. The dialer reads a byte, as only that tells what
/// the accepter thinks of it.
fn meet(
    dialer: &Credentials,
    name: &str,
    accepter: &Credentials,
) -> (Result<Session, Option<TlsFault>>, Result<Session, Option<TlsFault>>) {
    let (mut near, mut far) = connection();
    thread::scope(|scope| {
        let accepted = scope.spawn(move || {
            let session = Session::accept(accepter, &mut far);
            far.shutdown(Shutdown::Write).unwrap();
            session
        });
        let dialed = Session::dial(dialer, name, &mut near).and_then(|mut session| {
            match session.read(&mut near, &mut [0; 1]) {
                Ok(_) => Ok(session),
                Err(error) => Err(Session::fault(&error)),
            }
        });
        drop(near);
        (dialed, accepted.join().unwrap())
    })
}

/// A handshake of two members: the dialer's session, and that of the other, which is called b.
fn shake(
    a: &Credentials,
    b: &Credentials,
    near: &mut TcpStream,
    far: &mut TcpStream,
) -> (Session, Session) {
    thread::scope(|scope| {
        let accepted = scope.spawn(|| Session::accept(b, far).unwrap());
        (Session::dial(a, "b", near).unwrap(), accepted.join().unwrap())
    })
}

/// Those of a member of a cluster that nobody else is in.
pub(crate) fn credentials() -> Credentials {
    Folder::new().member("a", "hc", &Authority::new("hc").unwrap())
}

/// The TLS session between two members, for tests of what goes over it.
pub(crate) fn sessions(near: &mut TcpStream, far: &mut TcpStream) -> Option<(Session, Session)> {
    let [a, b] = members();
    Some(shake(&a, &b, near, far))
}

/// Two members of a cluster, which are called a and b.
pub(crate) fn members() -> [Credentials; 2] {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    ["a", "b"].map(|name| folder.member(name, "hc", &authority))
}

/// The same, but b does not trust the authority of a.
pub(crate) fn members_at_odds() -> [Credentials; 2] {
    let (folder, [ours, theirs]) = (Folder::new(), [(); 2].map(|()| Authority::new("hc").unwrap()));
    let files = folder.files("a", &ours, &[&ours, &theirs]);
    [Credentials::load(&files, "hc", "a").unwrap(), folder.member("b", "hc", &theirs)]
}

fn cause(result: Result<Session, Option<TlsFault>>) -> (TlsCause, bool) {
    let fault = result.expect_err("it was taken").expect("it says why");
    (fault.cause, fault.by_peer)
}

#[test]
fn two_members_take_each_other_and_each_proves_its_own_name() {
    let (folder, authority) = (Folder::new(), Authority::new("two sites").unwrap());
    let (a, b) =
        (folder.member("a", "two sites", &authority), folder.member("b", "two sites", &authority));
    let (dialed, accepted) = meet(&a, "b", &b);
    let (dialed, accepted) = (dialed.unwrap(), accepted.unwrap());
    dialed.prove("b").unwrap();
    accepted.prove("a").unwrap();
    let shown = [dialed.shown(), accepted.shown()];
    assert_eq!(shown, ["b", "a"].map(|name| format!("for electd://two%20sites/{name}")));
    let unnamed = Session::dial(&a, "b..c", &mut connection().0).unwrap_err().unwrap();
    let why = "no certificate can name it: \"b..c\" is no DNS name";
    assert_eq!(unnamed, TlsFault::of_peer(TlsCause::OtherMember, why));
    let fault = accepted.prove("b").unwrap_err();
    assert_eq!(fault.cause, TlsCause::OtherMember);
    assert!(
        fault.why.contains("electd://two%20sites/a, and not electd://two%20sites/b"),
        "{fault}"
    );
}

#[test]
fn each_side_refuses_what_it_does_not_trust_and_both_know_why() {
    let (folder, ours, theirs) =
        (Folder::new(), Authority::new("hc").unwrap(), Authority::new("hc").unwrap());
    let a = folder.member("a", "hc", &ours);
    let (b, c) = (folder.member("b", "hc", &ours), folder.member("c", "hc", &ours));
    let stranger = folder.member("s", "hc", &theirs);
    let (dialed, accepted) = meet(&a, "b", &c);
    assert_eq!(cause(dialed), (TlsCause::OtherMember, false), "c answers at the address of b");
    assert_eq!(cause(accepted), (TlsCause::OtherMember, true));
    let (dialed, accepted) = meet(&a, "s", &stranger);
    assert_eq!(
        (cause(dialed), cause(accepted)),
        ((TlsCause::UnknownCa, false), (TlsCause::UnknownCa, true))
    );
    // A side that trusts both takes the stranger's certificate; the stranger does not take its own.
    let files = folder.files("d", &ours, &[&ours, &theirs]);
    let both = Credentials::load(&files, "hc", "d").unwrap();
    assert!(both.summary().ends_with("; trusted: 2 authorities"), "{}", both.summary());
    let (dialed, accepted) = meet(&both, "s", &stranger);
    assert_eq!(
        (cause(dialed), cause(accepted)),
        ((TlsCause::UnknownCa, true), (TlsCause::UnknownCa, false))
    );
    let (dialed, accepted) = meet(&b, "a", &a);
    assert!(dialed.is_ok() && accepted.is_ok());
}

/// Everybody may have the certificate of a member, which it shows to all; only the member has the key.
#[test]
fn a_certificate_without_its_key_is_of_no_use_on_either_side() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let [a, mut thief] = ["a", "b"].map(|name| folder.member(name, "hc", &authority));
    let shown = CertificateDer::from_pem_file(folder.path("b-cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.path("a-key.pem")).unwrap();
    let signer = aws_lc_rs::default_provider().key_provider.load_private_key(key).unwrap();
    let stolen = Arc::new(SingleCertAndKey::from(CertifiedKey::new(vec![shown], signer)));
    Arc::make_mut(&mut thief.client).client_auth_cert_resolver = stolen.clone();
    Arc::make_mut(&mut thief.server).cert_resolver = stolen;
    let (dialed, accepted) = meet(&thief, "a", &a);
    assert_eq!((cause(dialed).1, cause(accepted).1), (true, false), "the accepter refuses it");
    let (dialed, accepted) = meet(&a, "b", &thief);
    assert_eq!((cause(dialed).1, cause(accepted).1), (false, true), "the dialer refuses it");
}

#[test]
fn the_same_authority_does_not_make_one_cluster_of_two() {
    let folder = Folder::new();
    let (one, other) = (Authority::new("one").unwrap(), Authority::new("other").unwrap());
    let trusting = |member: &str, cluster: &str, signer: &Authority| {
        Credentials::load(&folder.files(member, signer, &[&one, &other]), cluster, member).unwrap()
    };
    let (a, b) = (trusting("a", "one", &one), trusting("b", "other", &other));
    let (dialed, accepted) = meet(&a, "b", &b);
    assert_eq!(cause(dialed), (TlsCause::OtherCluster, false));
    assert_eq!(cause(accepted), (TlsCause::OtherMember, true));
}

#[test]
fn what_one_side_seals_the_other_reads_across_new_keys_and_a_cut_shows() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let (a, b) = (folder.member("a", "hc", &authority), folder.member("b", "hc", &authority));
    let (mut near, mut far) = connection();
    let (mut dialed, mut accepted) = shake(&a, &b, &mut near, &mut far);
    near.set_nonblocking(true).unwrap();
    let heard = near.peek(&mut [0; 1]).unwrap_err();
    assert_eq!(heard.kind(), ErrorKind::WouldBlock, "a word of the accepter would be its farewell");
    near.set_nonblocking(false).unwrap();
    let long = vec![7; 100_000];
    for words in [&b"one"[..], &long, b"three"] {
        let sealed = dialed.seal(words).unwrap();
        let sending = near.try_clone().unwrap();
        thread::spawn(move || (&sending).write_all(&sealed).unwrap());
        let mut read = vec![0; words.len()];
        let mut filled = 0;
        while filled < read.len() {
            filled += accepted.read(&mut far, &mut read[filled..]).unwrap();
        }
        assert_eq!(read, words);
        dialed.renew_keys(); // as after millions of frames
    }
    let sealed = dialed.seal(b"four").unwrap();
    near.write_all(&sealed[..sealed.len() - 1]).unwrap();
    near.shutdown(Shutdown::Both).unwrap();
    assert_eq!(
        accepted.read(&mut far, &mut [0; 9]).unwrap(),
        0,
        "nothing of a record that was cut"
    );
    assert!(!accepted.wants_to_write(), "an accepter says nothing after its welcome");
}

/// From the day before on, as the clocks of two hosts differ.
#[test]
fn a_new_certificate_is_valid_at_once_and_for_two_years() {
    let today = || Timestamp::now().to_zoned(TimeZone::UTC).date();
    let made = || {
        let (before, pair) = (today(), Authority::new("hc").unwrap().sign("a").unwrap());
        (before == today()).then_some((before, pair)) // else a day ended meanwhile
    };
    let (today, pair) = std::iter::repeat_with(made).find_map(|it| it).unwrap();
    let certificate = CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap();
    let of = |days: i32| {
        let day = today.saturating_add(days.days());
        day.to_zoned(TimeZone::UTC).unwrap().timestamp()
    };
    assert_eq!(validity(&certificate), Some((of(-1), of(730))));
}

#[test]
fn a_cluster_whose_name_begins_with_that_of_another_is_another() {
    let pair = Authority::new("hc").unwrap().sign("b").unwrap();
    let certificate = CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap();
    judge_cluster(&certificate, "hc").unwrap();
    for other in ["h", "hc2"] {
        let fault = judge_cluster(&certificate, other).unwrap_err();
        assert_eq!(fault.cause, TlsCause::OtherCluster, "{other}: {fault}");
    }
}

/// As where large packets are lost on the way: the begin comes, and the rest never does.
#[test]
fn a_handshake_that_stops_amid_a_message_gives_no_session() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let member = folder.member("a", "hc", &authority);
    for is_dialer in [true, false] {
        let (mut near, mut far) = connection();
        far.write_all(&[22, 3, 3, 0, 100, 2]).unwrap();
        near.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let begun = if is_dialer {
            Session::dial(&member, "b", &mut near)
        } else {
            Session::accept(&member, &mut near)
        };
        assert_eq!(begun.map(drop), Err(None));
    }
}

/// Whoever sees the connections of a cluster learns no name of a member from them.
#[test]
fn a_dial_names_the_member_to_nobody_on_the_way() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let dialer = folder.member("dialer", "hc", &authority);
    let (mut near, mut far) = connection();
    let hello = thread::scope(|scope| {
        scope.spawn(|| Session::dial(&dialer, "accepter.example", &mut near).unwrap_err());
        let mut hello = vec![0; 5];
        far.read_exact(&mut hello).unwrap();
        hello.resize(5 + usize::from(u16::from_be_bytes([hello[3], hello[4]])), 0);
        far.read_exact(&mut hello[5..]).unwrap();
        far.shutdown(Shutdown::Both).unwrap();
        hello
    });
    assert_eq!(hello[0], 22, "a record of a handshake");
    for name in ["accepter", "dialer"] {
        assert!(!hello.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
}

/// The key of a member signs no member, and the key of the authority proves no member.
#[test]
fn an_authority_signs_members_alone_and_a_member_signs_nobody() {
    let authority = Authority::new("test").unwrap();
    let member = authority.sign("node-1").unwrap().cert;
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let has = |pem: &str, part: &[u8]| der(pem).windows(part.len()).any(|at| at == part);
    // Basic constraints: an authority, with none below it. Key usages: to sign certificates and lists, or to sign.
    let (is_last, signs_members, signs) =
        ([0x30, 6, 1, 1, 0xff, 2, 1, 0], [3, 2, 1, 6], [3, 2, 7, 0x80]);
    assert!(has(authority.certificate(), &is_last) && !has(&member, &is_last[..5]));
    assert!(has(authority.certificate(), &signs_members) && !has(&member, &signs_members));
    assert!(has(&member, &signs));
    assert!(has(&member, &[6, 3, 0x55, 0x1d, 0x23]), "it says which authority signed it");
    assert!(has(authority.certificate(), b"electd CA 20"), "two of them differ in their names");
    // Extended key usages, without which a certificate would serve for mail or code as well.
    let [for_servers, for_clients] = [1, 2].map(|usage| [6, 8, 0x2b, 6, 1, 5, 5, 7, 3, usage]);
    assert!(has(&member, &for_servers) && has(&member, &for_clients));
    // Whoever looks at a certificate sees whose it is: the common name, and the organization.
    for (kind, text) in [(3, "node-1"), (10, "test")] {
        let named = |at: &[u8]| at[..3] == [0x55, 4, kind] && &at[5..] == text.as_bytes();
        assert!(der(&member).windows(5 + text.len()).any(named), "{text}");
    }
}

#[test]
fn new_credentials_are_used_by_all_and_a_plain_node_stays_plain() {
    let security = Security::new(Some(credentials()));
    let (other, next) = (security.clone(), credentials());
    let (before, summary) = (other.now().unwrap(), next.summary().to_owned());
    assert_ne!(before.summary(), summary);
    security.replace(next);
    assert_eq!(other.now().unwrap().summary(), summary);
    let plain = Security::new(None);
    plain.replace(credentials());
    assert!(plain.now().is_none());
}

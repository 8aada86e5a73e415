//! HTTPS: what a command or a member asks of a member.

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::{Folder, cause, connection};
use crate::tls::make::Authority;
use crate::tls::{Credentials, Session, TlsCause, TlsFault, Trust};

/// A command or a node asks by HTTPS, and another member answers.
fn asks(trust: &Trust, answers: &Credentials) -> [Result<Session, Option<TlsFault>>; 2] {
    let (mut near, mut far) = connection();
    thread::scope(|scope| {
        let served = scope.spawn(move || {
            let session = Session::serve(answers, &mut far);
            far.shutdown(Shutdown::Write).unwrap();
            session
        });
        let asked = Session::ask(trust, &mut near);
        let asked = asked.and_then(|mut session| match session.read(&mut near, &mut [0; 1]) {
            Ok(_) => Ok(session),
            Err(error) => Err(Session::fault(&error)),
        });
        drop(near);
        [asked, served.join().unwrap()]
    })
}

#[test]
fn by_https_a_member_asks_one_member_and_a_command_asks_any_of_its_cluster() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let [a, b] = ["a", "b"].map(|name| folder.member(name, "hc", &authority));
    let [asked, served] = asks(&Trust::in_member(&a, "b").unwrap(), &b);
    assert!(asked.is_ok() && served.unwrap().prove("a").is_ok());
    let [asked, served] = asks(&Trust::in_member(&a, "c").unwrap(), &b);
    assert_eq!(
        (cause(asked), cause(served)),
        ((TlsCause::OtherMember, false), (TlsCause::OtherMember, true))
    );
    assert!(Trust::in_member(&a, "b..c").is_none(), "no certificate can name it");
    let path = |name| folder.path(name);
    let (ca, cert, key) = (path("a-ca.pem"), path("a-cert.pem"), path("a-key.pem"));
    for shown in [None, Some((&*cert, &*key))] {
        let [asked, served] = asks(&Trust::load(&ca, shown, "hc").unwrap(), &b);
        let served = served.unwrap();
        assert!(asked.is_ok());
        let nothing = "it shows no certificate: every member needs one of its own";
        let (proved, words) = match shown {
            None => (Err(TlsFault::of_peer(TlsCause::NoCertificate, nothing)), ""),
            Some(_) => (Ok(()), "for electd://hc/a"),
        };
        assert_eq!((served.prove("a"), &*served.shown()), (proved, words));
    }
    let [asked, served] = asks(&Trust::load(&ca, None, "another").unwrap(), &b);
    assert_eq!(
        (cause(asked), cause(served)),
        ((TlsCause::OtherCluster, false), (TlsCause::OtherMember, true))
    );
}

/// By HTTP whoever has no certificate may look, and among members nobody may speak without one.
#[test]
fn a_member_takes_no_connection_without_a_certificate() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let b = folder.member("b", "hc", &authority);
    let stranger = Trust::load(&folder.path("b-ca.pem"), None, "hc").unwrap();
    let (mut near, mut far) = connection();
    thread::scope(|scope| {
        scope.spawn(|| Session::ask(&stranger, &mut near).map(drop));
        assert_eq!(cause(Session::accept(&b, &mut far)), (TlsCause::NoCertificate, false));
    });
}

/// The server judges it as well: whoever asks need not.
#[test]
fn a_server_refuses_the_certificate_of_another_cluster() {
    let (folder, one, other) =
        (Folder::new(), Authority::new("one").unwrap(), Authority::new("other").unwrap());
    let b = Credentials::load(&folder.files("b", &one, &[&one, &other]), "one", "b").unwrap();
    let stranger = folder.files("s", &other, &[&one]);
    let shown = Some((&*stranger.cert, &*stranger.key));
    let [asked, served] = asks(&Trust::load(&stranger.ca, shown, "one").unwrap(), &b);
    assert_eq!(
        (cause(asked), cause(served)),
        ((TlsCause::OtherMember, true), (TlsCause::OtherCluster, false))
    );
}

#[test]
fn files_that_a_command_cannot_use_are_named() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let a = folder.files("a", &authority, &[&authority]);
    let b = folder.files("b", &authority, &[&authority]);
    let (missing, none) = (Path::new("/nowhere/x.pem"), folder.path("none.pem"));
    fs::write(&none, "no certificate").unwrap();
    for (ca, cert, key, named, what) in [
        (missing, &*a.cert, &*a.key, "tls.ca", "cannot be read"),
        (&*none, &*a.cert, &*a.key, "tls.ca", "holds no certificate"),
        (&*a.ca, missing, &*a.key, "tls.cert", "cannot be read"),
        (&*a.ca, &*none, &*a.key, "tls.cert", "holds no certificate"),
        (&*a.ca, &*a.cert, missing, "tls.key", "cannot be read"),
        (&*a.ca, &*a.cert, &*none, "tls.key", "holds no private key"),
        (&*a.ca, &*a.cert, &*b.key, "tls.cert", "cannot be used: "),
    ] {
        let error = Trust::load(ca, Some((cert, key)), "hc").unwrap_err();
        assert_eq!(error.key, named, "{error}");
        assert!(error.what.starts_with(what), "{error}");
    }
}

/// A member that was removed, or whose certificate has ended, must not go on by what it proved before. A member offers no
/// such thing; a stranger that answers in its place may.
#[test]
fn each_connection_proves_anew_who_is_there() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let [a, mut b] = ["a", "b"].map(|name| folder.member(name, "hc", &authority));
    Arc::make_mut(&mut b.admin).send_tls13_tickets = 2;
    let command = Trust::load(&folder.path("a-ca.pem"), None, "hc").unwrap();
    for trust in [command, Trust::in_member(&a, "b").unwrap()] {
        for _ in 0..2 {
            let [asked, served] = asks(&trust, &b).map(Result::unwrap);
            assert!(!asked.is_resumed() && !served.is_resumed());
        }
    }
}

/// The connection may stay open, as the other side has to close it.
#[test]
fn after_its_farewell_a_side_says_nothing() {
    let (folder, authority) = (Folder::new(), Authority::new("hc").unwrap());
    let [a, b] = ["a", "b"].map(|name| folder.member(name, "hc", &authority));
    let (mut near, mut far) = connection();
    let (mut asks, mut serves) = super::shake(&a, &b, &mut near, &mut far);
    near.write_all(&[asks.seal(b"the last").unwrap(), asks.farewell().unwrap()].concat()).unwrap();
    let mut heard = [0; 20];
    assert_eq!(serves.read(&mut far, &mut heard).unwrap(), 8);
    assert_eq!(&heard[..8], b"the last");
    assert_eq!(serves.read(&mut far, &mut heard).unwrap(), 0);
}

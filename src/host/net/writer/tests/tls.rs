//! A writer whose peer speaks TLS, or ought to.

use parking_lot::Mutex;

use super::*;
use crate::tls::tests::{members, members_at_odds};
use crate::tls::{Credentials, TlsCause};

/// A dial, and what is told of whom it refuses.
type Dialed = (Scene, Option<Arc<Channel>>, Vec<(Who, TlsFault)>);

/// A dial over TLS. The peer is to have this name, and does this. Each step has its time, and the machine may stand
/// still.
fn dialed(
    members: fn() -> [Credentials; 2],
    name: &str,
    does: impl Fn(TcpStream, &Credentials) + Sync,
) -> Dialed {
    let is_late = |told: &String| told.contains("is not answered");
    let mut dials = (0..20).map(|_| dial_once(members(), name, &does));
    dials.find(|(scene, ..)| !scene.failed().as_ref().is_some_and(is_late)).expect("one is in time")
}

fn dial_once(
    [own, other]: [Credentials; 2],
    name: &str,
    does: &(impl Fn(TcpStream, &Credentials) + Sync),
) -> Dialed {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let (tell, told) = unbounded();
    let counters = scene.writer.surroundings.counters.clone();
    scene.writer.surroundings.security = Security::new(Some(own));
    scene.writer.surroundings.refusals =
        Refusals::new(counters, move |who, fault| tell.send((who, fault)).unwrap());
    scene.writer.peer.name = name.to_owned();
    scene.orders.send(WriterOrder::Hello(1, frame(b"hello"))).unwrap();
    let opened = thread::scope(|scope| {
        scope.spawn(|| {
            let stream = peer.accept().unwrap().0;
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            does(stream, &other);
        });
        scene.writer.open().ok()
    });
    (scene, opened, told.try_iter().collect())
}

#[test]
fn over_tls_a_peer_hears_the_hello_and_the_messages_sealed() {
    let kept = Mutex::new(None);
    let (scene, channel, told) = dialed(members, "b", |mut stream, own| {
        let Ok(mut session) = Session::accept(own, &mut stream) else { return };
        let mut hello = Vec::new();
        let mut secured = Secured::new(&mut stream, Some(&mut session));
        if wire::read_frame(&mut secured, &mut hello).is_ok() {
            assert_eq!(hello, b"hello");
            let _ = secured.write_all(&streams()[1]);
        }
        *kept.lock() = Some((stream, session));
    });
    assert!(channel.is_some() && told.is_empty());
    assert_eq!(scene.heard(), ["Dialed", "Welcomed"]);
    assert_eq!(scene.failed(), None);
    scene.line.send(&[Kind::Heartbeat], &frame(b"a heartbeat"));
    let (mut stream, mut session) = kept.lock().take().unwrap();
    let mut message = Vec::new();
    wire::read_frame(&mut Secured::new(&mut stream, Some(&mut session)), &mut message).unwrap();
    assert_eq!(message, b"a heartbeat");
}

/// It has no certificate of the peer to show, so it answers in plain words.
#[test]
fn a_coroner_is_believed_by_who_dials_in_tls() {
    let (scene, channel, told) = dialed(members, "b", |mut stream, _| {
        let _ = stream.write_all(&streams()[2]);
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    assert!(channel.is_none() && told.is_empty());
    assert_eq!(scene.heard(), ["Dead"]);
    assert_eq!(scene.failed().as_deref(), Some("its host certifies its death"));
}

/// The peer judges the certificate of this node only after the hello.
#[test]
fn who_is_refused_over_tls_is_told_by_which_side_and_why() {
    let accepts = |mut stream: TcpStream, own: &Credentials| {
        let _ = Session::accept(own, &mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = io::copy(&mut stream, &mut io::sink()); // else the alert would be lost
    };
    let other_name = dialed(members, "c", accepts);
    let at_odds = dialed(members_at_odds, "b", accepts);
    for ((scene, channel, told), cause, by_peer, heard) in [
        (other_name, TlsCause::OtherMember, false, &["Untrusted"][..]),
        (at_odds, TlsCause::UnknownCa, true, &["Dialed", "Untrusted"]),
    ] {
        assert!(channel.is_none());
        assert_eq!(scene.heard(), heard);
        let [(who, fault)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((*who, fault.cause, fault.by_peer), (Who::Member(PEER), cause, by_peer));
        assert_eq!(scene.failed().as_deref(), Some(&*fault.why));
        let refused = scene.writer.surroundings.counters.refusals().find(|(_, count)| *count > 0);
        assert_eq!(refused, Some((cause.name(), 1)));
    }
}

#[test]
fn a_handshake_that_is_not_answered_is_told_as_such() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let [own, _] = members();
    scene.writer.surroundings.security = Security::new(Some(own));
    let (done, ended) = bounded(1);
    thread::spawn(move || {
        let is_over = matches!(scene.writer.open(), Err(WriterEnd::Connection));
        let _ = done.send((is_over, scene.heard(), scene.failed()));
    });
    let ended = ended.recv_timeout(Duration::from_secs(20)).expect("it is given up");
    let told = "it takes connections, and the TLS handshake is not answered: look whether its process hangs, and \
                whether large packets pass (the MTU)";
    assert_eq!(ended, (true, Vec::new(), Some(told.to_owned())));
}

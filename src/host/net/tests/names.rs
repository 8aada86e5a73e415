//! What a command looks up and dials, without a node.

use std::net::TcpListener;

use super::*;
#[cfg(feature = "tls")]
use crate::tls::tests::credentials;

#[test]
fn of_several_names_each_is_told_that_does_not_resolve() {
    let names = ["localhost:1", "localhost", "127.0.0.1:2", "[fe80::1%none]:3"];
    let found = look_up(&names, TIMEOUT);
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true]);
    assert!(look_up(&[], TIMEOUT).is_empty());
}

/// By the list that this node has now: the list of the dialer may be an older one, or a lie.
#[cfg(feature = "tls")]
#[test]
fn who_is_refused_before_its_hello_counts_is_called_as_this_node_knows_it() {
    let (tell, told) = unbounded();
    let security = Security::new(Some(credentials()));
    let mut scene = Scene::with(security, move |_, fault| tell.send(fault.why).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let says = |scene: &Scene| {
        let mut stream = TcpStream::connect(scene.at).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(&streams()[0]).unwrap();
        assert!(read(&mut stream).contains("\"key\":\"tls\""));
        let why = told.recv_timeout(TIMEOUT).unwrap();
        why.split(':').next().unwrap().to_owned()
    };
    assert_eq!(says(&scene), "it speaks no TLS (it says that it is node-1)");
    scene.net.set_peers(vec![scene.peer(&listener)]);
    assert_eq!(says(&scene), "it speaks no TLS (it says that it is b)");
    scene.ends();
}

#[test]
fn a_dial_reaches_who_listens_there_or_says_why_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let stream = dial(&at.to_string(), TIMEOUT, TIMEOUT).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), at);
    drop(stream);
    drop(listener);
    let refused = dial("localhost", TIMEOUT, TIMEOUT).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "it lacks a port");
}

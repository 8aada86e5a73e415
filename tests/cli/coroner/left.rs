//! What a coroner leaves, to whom, and what it says of guards while its node lives.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net;

use super::*;

/// As in a folder that was tidied up.
#[test]
fn a_death_is_certified_where_the_socket_is_gone() {
    let (mut coroner, address) = Coroner::start(LONG, NONE);
    let folder = coroner.folder.path();
    fs::write(folder.join("state.json"), "").unwrap();
    fs::remove_file(folder.join("coroner.sock")).unwrap();
    coroner.orphan();
    assert_eq!(told(&dial(address)), FRAME);
    coroner.signal(Signal::KILL);
}

/// A node of another member, which does not know the folder. It is answered once nothing of the dead one is left.
#[test]
fn whoever_needs_the_address_is_left_the_socket_and_the_certificate() {
    let (mut coroner, address) = Coroner::start(LONG, NONE);
    let name = net::SocketAddr::from_abstract_name(format!("electd-coroner-{address}")).unwrap();
    let mut guard = coroner.guard();
    assert!(UnixStream::connect_addr(&name).is_err(), "its node lives");
    coroner.orphan();
    let begun = Instant::now();
    let asks = loop {
        match UnixStream::connect_addr(&name) {
            Ok(asks) => break asks,
            Err(_) => assert!(begun.elapsed() < TIMEOUT, "nobody can ask"),
        }
    };
    drop(UnixStream::connect_addr(&name).unwrap()); // who does not wait gets nothing
    asks.set_nonblocking(true).unwrap();
    coroner.until_it_sleeps();
    assert_eq!((&asks).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "a job runs");
    asks.set_nonblocking(false).unwrap();
    asks.set_read_timeout(Some(TIMEOUT)).unwrap();
    guard.write_all(b"c").unwrap();
    let (left, given) = receive(&asks);
    assert_eq!(left, [&[1], FRAME].concat());
    assert_eq!(TcpListener::from(given.unwrap()).local_addr().unwrap(), address);
    assert_eq!((&asks).read(&mut [0]).unwrap(), 0, "the address is free then");
    assert!(coroner.end().success());
}

/// The node asks that once it does not know what became of a job.
#[test]
fn a_coroner_attests_that_all_guards_have_left_nothing() {
    let (coroner, _) = Coroner::start(LONG, NONE);
    let attested = || String::from_utf8(receive(coroner.node.as_ref().unwrap()).0).unwrap();
    coroner.order(&json!({"Attest": 1}), None);
    assert_eq!(attested(), "1");
    let mut guard = coroner.guard();
    coroner.order(&json!({"Attest": 2}), None);
    coroner.until_it_sleeps();
    guard.write_all(b"c").unwrap();
    assert_eq!(attested(), "2");
}

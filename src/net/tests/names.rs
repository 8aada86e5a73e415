//! What a command looks up and dials, without a node.

use std::net::TcpListener;

use super::TIMEOUT;
use crate::net::*;

#[cfg(feature = "cli")]
#[test]
fn of_several_names_each_is_told_that_does_not_resolve() {
    let names = ["localhost:1", "localhost", "127.0.0.1:2", "[fe80::1%none]:3"];
    let found = look_up(&names, TIMEOUT);
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true]);
    assert!(look_up(&[], TIMEOUT).is_empty());
}

#[cfg(feature = "http")]
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

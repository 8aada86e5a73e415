//! What is said to servers, and by some that are none.

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::*;

/// What comes of a session with a server that does this.
fn with(server: impl FnOnce(TcpStream) + Send) -> Failure {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::scope(|scope| {
        scope.spawn(|| server(listener.accept().unwrap().0));
        let place = EnginePlace { host: "127.0.0.1".to_owned(), port };
        let until = Instant::now() + Duration::from_secs(1);
        let opened = PgSession::open(&place, None, (("d", "u"), Some("p")), until);
        let asked = opened.and_then(|mut session| session.ask("SELECT 1", until));
        asked.expect_err("it is no server")
    })
}

/// A server that says this, whatever it is asked, and then nothing.
fn says(bytes: &'static [u8]) -> String {
    let failure = with(move |mut stream| {
        let _ = stream.write_all(bytes);
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    });
    match failure {
        Failure::Error { code, words } => format!("{code} {words}"),
        Failure::Refused(why) | Failure::Silent(why) => why,
    }
}

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

#[test]
fn a_server_that_is_none_is_told_from_one_that_refuses() {
    let odd = "its answer cannot be used: ";
    assert!(says(b"HTTP/1.1 400 Bad Request\r\n\r\n").starts_with(odd));
    assert_eq!(
        says(b"R\xff\xff\xff\xff"),
        format!("{odd}invalid message length: header length < 4")
    );
    assert_eq!(says(b"D\x7f\0\0\0"), format!("{odd}a message that is too long"));
    assert_eq!(says(b"E\0\0\0\x14C28P01\0Mno\x1b[2J\0\0"), "28P01 no\\u{1b}[2J");
    assert_eq!(
        says(b"R\0\0\0\x08\0\0\0\x07"),
        "it wants a kind of login that electd does not have"
    );
    assert_eq!(says(b""), "it does not answer in time");
    assert_eq!(says(LOGGED_IN), "it does not answer in time");
    assert_eq!(
        says(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IG\0\0\0\x07\0\0\0"),
        format!("{odd}what is no answer to a statement")
    );
}

#[test]
fn no_more_of_an_answer_is_read_than_a_row_can_have() {
    let failure = with(|mut stream| {
        stream.write_all(LOGGED_IN).unwrap();
        let notice = [&b"N\0\0\x04\x00"[..], &[b'M'; 1020]].concat();
        while stream.write_all(&notice).is_ok() {}
    });
    let Failure::Silent(why) = failure else { panic!("{failure:?}") };
    assert_eq!(why, "its answer cannot be used: too long an answer");
}

#[test]
fn a_server_that_ends_the_connection_is_silent() {
    assert!(matches!(with(drop), Failure::Silent(_)));
}

#[test]
fn another_session_may_be_better_only_where_this_one_is_at_fault() {
    let of = |code: &str| Failure::Error { code: code.to_owned(), words: String::new() };
    for (code, is_of_place) in [
        ("57P01", true),
        ("57P03", true),
        ("08P01", true),
        ("25006", true),
        ("53300", true),
        ("42P01", false),
        ("28P01", false),
    ] {
        assert_eq!(of(code).is_of_place(), is_of_place, "{code}");
    }
}

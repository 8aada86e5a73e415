//! What a client asks, to the last byte, and what it makes of a node that does not answer.

use super::*;

#[test]
fn why_a_process_cannot_attach_itself_is_told_by_its_kind() {
    let of = |kind: ErrorKind| {
        Refused::of(Path::new("/s"), Duration::from_secs(5), &io::Error::new(kind, "odd"))
    };
    let nobody = "no node runs on this host: nobody listens on /s";
    let frozen = "no answer on /s within 5s: the node may be frozen";
    for (kind, words) in [
        (ErrorKind::NotFound, nobody),
        (ErrorKind::ConnectionRefused, nobody),
        (ErrorKind::TimedOut, frozen),
        (ErrorKind::WouldBlock, frozen),
        (ErrorKind::Other, "/s: odd"),
    ] {
        assert_eq!(of(kind), Refused::NoAnswer(words.to_owned()), "{kind:?}");
    }
    let forbidden = format!("this user may not open /s: {}", control::WHO_MAY);
    assert_eq!(of(ErrorKind::PermissionDenied), Refused::Forbidden(forbidden));
    let with = |code| Refused::with(code, r#"{"error": "why"}"#);
    assert_eq!(with(409), Refused::Mismatch("why".to_owned()));
    assert_eq!(with(503), Refused::NoAnswer("why".to_owned()));
    let odd = "the node answered HTTP status 404".to_owned();
    assert_eq!(Refused::with(404, "<html>"), Refused::NoAnswer(odd));
}

#[test]
fn the_token_is_shown_over_tcp_alone() {
    let client = Client::new(Some("s3cret".to_owned()));
    let shown = client.authorization("h:1");
    assert_eq!(shown, Ok("Authorization: Bearer s3cret\r\n".to_owned()));
    assert_eq!(client.authorization("unix:/s"), Ok(String::new()), "it asks for none");
    assert_eq!(Client::new(None).authorization("h:1"), Ok(String::new()));
    assert!(Client::new(Some("a\nb".to_owned())).authorization("h:1").is_err());
}

/// A node carries a command out in 2 s, and waits 5 min for the end of a leadership: a client waits longer.
#[test]
fn a_client_waits_for_longer_than_the_node_that_it_asks() {
    use crate::admin::limits;

    assert!(answer_timeout(false).0 > limits::COMMAND && SILENCE > limits::BEAT);
    assert!(answer_timeout(true).0 > Duration::from_secs(5 * 60) + limits::COMMAND);
    assert!(limits::MEMBER * 2 <= limits::WAIT, "one that waits for an election gets it");
}

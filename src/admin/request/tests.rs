//! What is read of a request, and how each that could be read in two ways is refused.

use super::*;

fn parse(text: &str) -> Request {
    let (request, used) = Request::parse(text.as_bytes()).unwrap().unwrap();
    assert_eq!(used, text.len());
    request
}

#[test]
fn a_request_is_incomplete_up_to_its_last_byte() {
    let text = b"POST /resign HTTP/1.1\r\nHost: n\r\nContent-Length: 2\r\n\r\n{}";
    let head = text.len() - 2;
    for length in 0..head {
        assert_eq!(Request::parse(&text[..length]), Ok(None), "{length} bytes");
    }
    let (request, used) = Request::parse(text).unwrap().unwrap();
    assert_eq!((request.body_length, used), (2, head));
}

#[test]
fn whatever_bytes_come_parsing_does_not_panic() {
    let good = b"GET /status HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n";
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            let _ = Request::parse(&bytes);
        }
    }
}

#[test]
fn closing_goes_by_version_and_word() {
    for (head, close) in [
        ("GET / HTTP/1.1\r\nHost: n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n", true),
        ("GET / HTTP/1.1\r\nHost: n\r\nConnection: closed\r\n", false),
        ("GET / HTTP/1.0\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n", true),
    ] {
        assert_eq!(parse(&format!("{head}\r\n")).wants_close(), close, "{head}");
    }
}

#[test]
fn a_header_that_is_there_twice_has_no_value() {
    let request = parse("GET / HTTP/1.1\r\nHost: n\r\nX: 1\r\nx: 2\r\nY:  3 \r\n\r\n");
    assert_eq!((request.header("x"), request.has("x")), (None, true));
    assert_eq!((request.header("y"), request.header("z")), (Some("3"), None));
}

#[test]
fn each_refusal_says_what_is_wrong_and_what_to_do() {
    let head = "POST /resign HTTP/1.1\r\n";
    let malformed =
        |what: &str| format!("not a request that can be read: {what}; try GET /status HTTP/1.1");
    let twice = malformed("the length of the body is given twice");
    let too_long = "the body is longer than 65536 bytes; no command takes more".to_owned();
    for (lines, code, expected) in [
        ("", 400, malformed("HTTP/1.1 needs a Host header")),
        ("Host: n\r\nHost: n\r\n", 400, malformed("more than one Host header")),
        ("Host: n\r\nContent-Length: 2\r\nContent-Length: 2\r\n", 400, twice.clone()),
        ("Host: n\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n", 400, twice),
        (
            "Host: n\r\nContent-Length: +2\r\n",
            400,
            malformed("Content-Length \"+2\" is not a number"),
        ),
        ("Host: n\r\nContent-Length: 65537\r\n", 413, too_long),
        (
            "Host: n\r\nTransfer-Encoding: chunked\r\n",
            501,
            "Transfer-Encoding is not taken here; send the body with a Content-Length".to_owned(),
        ),
        (
            "Host: n\r\nExpect: a-miracle\r\n",
            417,
            "of all expectations only 100-continue is met; leave it out".to_owned(),
        ),
    ] {
        let refused = Request::parse(format!("{head}{lines}\r\n").as_bytes());
        assert_eq!(refused, Err(Response::error(code, expected)), "{lines}");
    }
    let longest = parse(&format!("{head}Host: n\r\nContent-Length: 65536\r\n\r\n"));
    assert_eq!(longest.body_length, limits::BODY_BYTES);
    let other = Request::parse(b"GET / HTTP/2.0\r\n\r\n");
    let sentence = "this address speaks HTTP/1.0 and HTTP/1.1; ask with one of them";
    assert_eq!(other, Err(Response::error(505, sentence)));
}

#[test]
fn a_head_is_read_up_to_its_limits() {
    let sentence = format!(
        "the header is larger than {} bytes or {} fields; send less",
        limits::HEAD_BYTES,
        limits::HEADERS
    );
    let too_large = Err(Response::error(431, sentence));
    let part = |length: usize| format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(length - 19));
    assert_eq!(Request::parse(part(limits::HEAD_BYTES - 1).as_bytes()), Ok(None));
    assert_eq!(Request::parse(part(limits::HEAD_BYTES).as_bytes()), too_large);
    let fields =
        |count: usize| format!("GET / HTTP/1.1\r\nHost: n\r\n{}\r\n", "A: b\r\n".repeat(count - 1));
    assert!(parse(&fields(limits::HEADERS)).has("a"));
    assert_eq!(Request::parse(fields(limits::HEADERS + 1).as_bytes()), too_large);
}

#[test]
fn a_target_has_a_path_and_a_query() {
    for (target, path, query) in [
        ("/status", "/status", ""),
        ("/status?x=1&y", "/status", "x=1&y"),
        ("/status#there?x", "/status", ""),
        ("/run?x=1#there", "/run", "x=1"),
        ("http://host/status?x", "/status", "x"),
        ("http://host", "/", ""),
        ("*", "*", ""),
    ] {
        assert_eq!((path_of(target), query_of(target)), (path, query), "{target}");
    }
}

#[test]
fn one_that_waits_to_be_asked_for_its_body_says_so() {
    let waits = |version: &str, lines: &str| {
        let head = format!("POST / HTTP/{version}\r\nHost: n\r\n{lines}\r\n");
        parse(&head).awaits_continue()
    };
    let (expects, length) = ("Expect: 100-Continue\r\n", "Content-Length: 1\r\n");
    assert!(waits("1.1", &format!("{expects}{length}")));
    assert!(!waits("1.1", length));
    assert!(!waits("1.1", &format!("{expects}Content-Length: 0\r\n")), "there is none");
    assert!(!waits("1.0", &format!("{expects}{length}")), "HTTP/1.0 knows no such thing");
}

#[test]
fn a_client_accepts_what_it_names() {
    for (lines, accepts) in [
        ("Accept: text/html\r\n", true),
        ("Accept: application/json, TEXT/html;q=0.8\r\n", true),
        ("Accept: application/json\r\nAccept: text/html\r\n", true),
        ("Accept: */*\r\n", false),
        ("Accept: text/htmlx\r\n", false),
        ("Accept: application/json;text/html\r\n", false),
        ("X-Accept: text/html\r\n", false),
        ("", false),
    ] {
        let request = parse(&format!("GET / HTTP/1.1\r\nHost: n\r\n{lines}\r\n"));
        assert_eq!(request.accepts("text/html"), accepts, "{lines}");
    }
}

#[test]
fn each_part_of_a_request_is_kept() {
    let request = parse("PUT http://n/a?b=c#d HTTP/1.0\r\nA-B:  c ÿ\r\nContent-Length: 7\r\n\r\n");
    let expected = Request {
        method: "PUT".to_owned(),
        path: "/a".to_owned(),
        query: "b=c".to_owned(),
        old: true,
        body_length: 7,
        came_by_tls: false,
        headers: [("a-b", "c ÿ"), ("content-length", "7")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    };
    assert_eq!(request, expected);
    let malformed = Request::parse(b"GET / HTTP/1.1\r\nA b: c\r\n\r\n");
    let sentence = "not a request that can be read: invalid header name; try GET /status HTTP/1.1";
    assert_eq!(malformed, Err(Response::error(400, sentence)));
    for (length, code) in
        [("", 400), ("0x2", 400), ("2 2", 400), ("00", 0), ("99999999999999999999999", 413)]
    {
        let text = format!("POST / HTTP/1.1\r\nHost: n\r\nContent-Length: {length}\r\n\r\n");
        let refused = Request::parse(text.as_bytes()).err().map_or(0, |refused| refused.code);
        assert_eq!(refused, code, "{length}");
    }
}

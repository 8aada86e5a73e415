//! What etcd's keys say.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

#[test]
fn a_key_says_who_put_it_and_when() {
    let key = |value: &str| json!({"key": BASE64.encode("a/7f"), "value": BASE64.encode(value), "create_revision": "12"});
    let holder = |name: &str| EngineHolder { name: name.to_owned(), token: 12, left: None };
    assert_eq!(key_holder(&key("h pid 7 x")), Ok(Some(holder("h pid 7 x"))));
    assert_eq!(key_holder(&key("")), Ok(Some(holder("a/7f"))), "of etcdctl");
    assert_eq!(key_holder(&Value::Null), Ok(None));
    assert!(key_holder(&json!({"create_revision": "many"})).is_err());
}

/// What comes of wanting a lock for 10 s where the first answer is this one, and no question after it gets one.
fn wanted(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{answer}");
            drop(listener); // so that the next question is refused at once
        });
        let url = format!("etcd://{place}/a").parse().unwrap();
        let mut engine = open(&url, Duration::from_secs(10), Duration::from_secs(5)).unwrap();
        engine.take("me").unwrap_err().to_string()
    })
}

#[test]
fn a_lease_that_is_none_or_too_short_holds_nothing() {
    let none = "etcd answers what is no lease for this time";
    for answer in ["{}", r#"{"ID":"0","TTL":"10"}"#, r#"{"ID":"7"}"#, r#"{"ID":"7","TTL":"9"}"#] {
        assert_eq!(wanted(answer), none, "{answer}");
    }
    assert_eq!(wanted(r#"{"ID":"-7","TTL":"10"}"#), "etcd answers what is no number");
    let longer = wanted(r#"{"ID":"7","TTL":"11"}"#);
    assert!(longer.contains("refused") || longer.contains("reset"), "it is used: {longer}");
}

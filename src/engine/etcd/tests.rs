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

/// What comes of a renewal where the lease is kept in one term, and the key is read in another one, or the same.
fn renewed(kept: u64, read: u64) -> Result<bool, EngineError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let header = |term: u64| json!({"raft_term": term.to_string()});
    let answers = [
        json!({"result": {"header": header(kept), "ID": "7", "TTL": "10"}}),
        json!({"header": header(read), "kvs": [{"create_revision": "3", "value": BASE64.encode("me")}]}),
    ];
    thread::scope(|scope| {
        scope.spawn(|| {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{answer}");
            }
        });
        let url: EngineUrl = format!("etcd://{place}/a").parse().unwrap();
        let gateway = Gateway::new(&url, Duration::from_secs(5)).unwrap();
        let kept = Instant::now();
        let wish = Some(Wish { holder: "me".to_owned(), lease: 7, made: Some(3), kept });
        Etcd { gateway, name: "a".to_owned(), ttl: Duration::from_secs(10), wish }.renew("me")
    })
}

#[test]
fn a_renewal_by_a_leader_of_etcd_that_was_replaced_does_not_count() {
    assert_eq!(renewed(4, 4), Ok(true));
    let other = EngineError::Unreachable("etcd has another leader".to_owned());
    assert_eq!(renewed(4, 5), Err(other), "the old leader kept it, and a new one was asked");
}

//! Answers of gateways.

use super::*;

fn told(text: &str) -> Result<Value, String> {
    answer(text.as_bytes()).map_err(|failure| match failure {
        Failure::Error { code, words } => format!("{code} {words}"),
        Failure::Refused(why) | Failure::Silent(why) => why,
    })
}

#[test]
fn an_answer_is_the_first_object_of_a_body() {
    let ok = "HTTP/1.0 200 OK\r\nA: b\r\n\r\n";
    assert_eq!(
        told(&format!("{ok}{{\"result\":{{\"TTL\":\"5\"}}}}\n{{}}")).unwrap()["result"]["TTL"],
        "5"
    );
    let bad = "HTTP/1.0 404 Not Found\r\n\r\n";
    let error = "{\"error\":\"no lease\",\"message\":\"no lease\",\"code\":5}";
    assert_eq!(told(&format!("{bad}{error}")), Err("5 no lease".to_owned()));
    let streamed = "{\"error\":{\"grpc_code\":14,\"message\":\"no leader\"}}";
    assert_eq!(told(&format!("{ok}{streamed}")), Err("14 no leader".to_owned()));
}

#[test]
fn what_is_no_answer_of_etcd_is_told() {
    for (text, why) in [
        ("", "it ended the connection"),
        ("HTTP/1.0 200", "it ended the connection"),
        ("SSH-2.0-OpenSSH\r\n", "its answer cannot be used: invalid HTTP version"),
        (
            "HTTP/1.0 200 OK\r\n\r\n<html>",
            "its answer cannot be used: HTTP status 200, and no JSON",
        ),
        ("HTTP/1.0 500 No\r\n\r\n{}", "its answer cannot be used: HTTP status 500"),
        ("HTTP/1.0 200 OK\r\n\r\n[1]", "its answer cannot be used: HTTP status 200, and no JSON"),
    ] {
        assert_eq!(told(text), Err(why.to_owned()), "{text}");
    }
}

//! `GET /`: a page for browsers. That it follows a cluster is seen in a browser; here are its limits.

use std::fs;
use std::net::SocketAddr;

use electd::node::events::EventKind;
use electd::node::problems::ProblemKind;

use super::fake::FakeNode;
use super::peer::{Answer, ask, get};

/// What a browser asks for.
fn browse(address: SocketAddr) -> Answer {
    let accept = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
    ask(address, &format!("GET / HTTP/1.1\r\nHost: n\r\n{accept}\r\n\r\n"))
}

fn nonce(page: &Answer) -> String {
    let policy = page.header("content-security-policy").expect("there is a policy");
    let nonce = policy.split("script-src 'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
    nonce.expect("it names a nonce").to_owned()
}

#[test]
fn a_browser_gets_a_page_that_may_ask_its_own_node_and_nobody_else() {
    let node = FakeNode::new();
    let server = node.serve();
    let page = browse(server.local_addr());
    assert_eq!((page.code, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let nonce = nonce(&page);
    assert_eq!(
        page.header("content-security-policy").unwrap(),
        format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
             frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    );
    for element in ["<script", "<style"] {
        let with_nonce = format!("{element} nonce=\"{nonce}\">");
        assert_eq!(page.body.matches(&with_nonce).count(), 1, "{element}");
        assert_eq!(page.body.matches(element).count(), 1, "{element}");
    }
    assert_ne!(nonce, self::nonce(&browse(server.local_addr())), "a nonce is used once");
    for request in ["http:", "https:", " src=", "@import", "url(", " style=", " onclick="] {
        assert!(!page.body.contains(request), "{request}");
    }
    for way in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("] {
        assert!(!page.body.contains(way), "what nodes say would be markup: {way}");
    }
    assert!(!page.body.contains("{{"), "every place is filled");
}

#[test]
fn other_clients_get_the_list_of_paths() {
    let node = FakeNode::new();
    let server = node.serve();
    let list = get(server.local_addr(), "/");
    assert_eq!((list.code, list.header("content-security-policy")), (404, None));
    let paths = list.json()["paths"].to_string();
    assert!(paths.contains("\"GET /\"") && paths.contains("GET /peers/NAME/status"), "{paths}");
    let curl = ask(server.local_addr(), "GET / HTTP/1.1\r\nHost: n\r\nAccept: */*\r\n\r\n");
    assert_eq!(curl.code, 404);
}

#[test]
fn the_page_shows_the_verdict_of_its_node_and_listens_to_each_event() {
    let script = format!("{}/src/admin/page/page.js", env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(script).expect("the script is there");
    assert!(script.contains("get(\"verdict\")"), "it judges nothing itself");
    for kind in ProblemKind::ALL {
        assert!(!script.contains(&format!("{}: \"", kind.name())), "{}", kind.name());
    }
    let all = [
        EventKind::Leading,
        EventKind::Following,
        EventKind::NoLeader,
        EventKind::MemberUp,
        EventKind::MemberDown,
        EventKind::Problem,
        EventKind::ProblemOver,
        EventKind::Takeover,
        EventKind::Removed,
        EventKind::Stopping,
    ];
    for kind in all {
        assert!(script.contains(&format!("\"{}\"", kind.name())), "{}", kind.name());
    }
}

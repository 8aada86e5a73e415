//! `GET /`: a page for people. It is one document that asks this node alone, by paths relative to its own, and nothing
//! that it gets is ever inserted as HTML. The drawing of an election is a document of its own, in a frame.

use serde_json::json;
use uuid::Uuid;

use super::request::Request;
use super::response::Response;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    include_str!("page/page.js"),
    "\n",
    include_str!("page/locks.js"),
    "\n",
    include_str!("page/election.js")
);

/// The page, for a browser; for other clients a list of these paths, as at any path that is none.
pub fn answer(request: &Request, paths: &[String]) -> Response {
    if !request.accepts("text/html") {
        let sentence =
            "there is nothing at / but a page for browsers; ask for one of the paths listed";
        return Response::json(404, &json!({ "error": sentence, "paths": paths }));
    }
    // Only what has it runs: markup that somebody managed to slip in does not.
    let nonce = Uuid::new_v4().simple().to_string();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let scheme = if request.came_by_tls { "https" } else { "http" };
    let page = PAGE.replace("{{nonce}}", &nonce).replacen("{{scheme}}", scheme, 1);
    let page = page.replacen("{{style}}", STYLE, 1).replacen("{{script}}", SCRIPT, 1);
    Response::page(page, policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &str) -> Response {
        let text = format!("GET / HTTP/1.1\r\nHost: n\r\nAccept: {accept}\r\n\r\n");
        let request = Request::parse(text.as_bytes()).unwrap().unwrap().0;
        answer(&request, &["GET /a".to_owned(), "POST /b".to_owned()])
    }

    #[test]
    fn a_browser_gets_the_page_with_its_style_and_its_scripts_in_their_places() {
        let page = asked("text/html");
        let policy = page.policy.clone().unwrap();
        let nonce = policy.split('\'').nth(3).and_then(|word| word.strip_prefix("nonce-")).unwrap();
        assert!(nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()), "{nonce}");
        let page = String::from_utf8(page.body).unwrap();
        let between = |begin: &str, end: &str| {
            let begin = begin.replace("NONCE", nonce);
            let rest = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}")).1;
            rest.split_once(end).unwrap().0.to_owned()
        };
        assert_eq!(between("<style nonce=\"NONCE\">\n", "</style>"), include_str!("page/page.css"));
        assert_eq!(between("<script nonce=\"NONCE\">\n", "</script>"), SCRIPT);
    }

    /// A proxy may speak TLS before nodes that do not.
    #[test]
    fn a_page_leads_to_other_members_by_what_this_node_speaks() {
        let text =
            "GET / HTTP/1.1\r\nHost: n\r\nAccept: text/html\r\nX-Forwarded-Proto: https\r\n\r\n";
        let mut request = Request::parse(text.as_bytes()).unwrap().unwrap().0;
        let mut shows = |came_by_tls, scheme: &str| {
            request.came_by_tls = came_by_tls;
            let page = String::from_utf8(answer(&request, &[]).body).unwrap();
            page.contains(&format!("<html lang=\"en\" data-scheme=\"{scheme}\">"))
        };
        assert!(shows(false, "http") && shows(true, "https"));
        assert!(!SCRIPT.contains("location.protocol"), "that is what a proxy speaks");
    }

    #[test]
    fn other_clients_get_the_paths() {
        let sentence =
            "there is nothing at / but a page for browsers; ask for one of the paths listed";
        let expected =
            Response::json(404, &json!({"error": sentence, "paths": ["GET /a", "POST /b"]}));
        assert_eq!(asked("*/*"), expected);
    }
}

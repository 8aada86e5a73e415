//! `GET /`: a page for people. It is one document that asks this node alone, by paths relative to its own, and nothing
//! that it gets is ever inserted as HTML. The drawing of an election is a document of its own, in a frame.

use serde_json::json;
use uuid::Uuid;

use super::request::Request;
use super::response::Response;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(include_str!("page/page.js"), "\n", include_str!("page/election.js"));

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
    let page = PAGE.replace("{{nonce}}", &nonce);
    let page = page.replacen("{{style}}", STYLE, 1).replacen("{{script}}", SCRIPT, 1);
    Response::page(page, policy)
}

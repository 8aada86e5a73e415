//! `GET /`: the page. It asks this server alone, and nothing that it gets is ever inserted as HTML.

use uuid::Uuid;

use crate::admin::Response;
use crate::trace::html::{DRAWN_SCRIPT, DRAWN_STYLE};
use crate::trace::svg;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The page.
pub fn answer() -> Response {
    // Only what has it runs: markup that somebody managed to slip in does not.
    let nonce = Uuid::new_v4().simple().to_string();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("{{nonce}}", &nonce);
    let style = [svg::STYLE, DRAWN_STYLE, STYLE].concat();
    let script = [DRAWN_SCRIPT, SCRIPT].concat();
    let page = page.replacen("{{style}}", &style, 1).replacen("{{script}}", &script, 1);
    Response::page(page, policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_runs_only_its_own_script() {
        let response = answer();
        let page = String::from_utf8(response.body).unwrap();
        assert!(!page.contains("{{") && !page.contains("}}"), "{page}");
        let policy = response.policy.unwrap();
        let nonce = policy.split('\'').find_map(|part| part.strip_prefix("nonce-")).unwrap();
        assert_eq!((response.code, nonce.len()), (200, 32));
        let expected = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri \
             'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(policy, expected);
        for tag in ["script", "style"] {
            assert_eq!(page.matches(&format!("<{tag} nonce=\"{nonce}\">")).count(), 1, "{tag}");
        }
        let (style, rest) = page.split_once("</style>").unwrap();
        assert!(style.ends_with(&[svg::STYLE, DRAWN_STYLE, STYLE].concat()));
        assert!(rest.contains(&[DRAWN_SCRIPT, SCRIPT].concat()));
        assert_ne!(Some(policy), answer().policy, "a nonce serves once");
        for markup in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", " style="]
        {
            assert!(!page.contains(markup), "{markup}");
        }
    }
}

//! Who may command: this host's own programs, and whoever knows the token.
//!
//! A browser on this host runs other people's pages, and those may not: a page of another site
//! (`Origin`, `Sec-Fetch-Site`), or one whose name was made to resolve to this host (DNS
//! rebinding: then `Origin` and `Host` agree, but on a name; no name can be taken for an address
//! or for `localhost`).

use std::net::{IpAddr, SocketAddr};

use super::request::Request;
use super::response::Response;

/// Lets a command pass, or says why not.
///
/// # Errors
/// The answer 403, with words.
pub fn admit(
    request: &Request,
    ends: Option<(SocketAddr, SocketAddr)>,
    token: Option<&str>,
) -> Result<(), Response> {
    if token.is_some_and(|token| bears(request, token)) {
        return Ok(());
    }
    if !ends.is_some_and(|(peer, local)| is_local(peer.ip(), local.ip())) {
        return Err(Response::error(403, from_afar(token.is_some())));
    }
    if is_foreign_page(request) {
        return Err(Response::error(
            403,
            "commands are not taken from the page of another site; use the command line on this host",
        ));
    }
    Ok(())
}

fn from_afar(has_token: bool) -> &'static str {
    if has_token {
        "commands are taken from this host, or with the header \"Authorization: Bearer TOKEN\"; \
         send the token of admin_token_file"
    } else {
        "commands are taken from this host only; run them there, or set admin_token_file in the \
         config and send its token"
    }
}

/// Whether the client runs on this host: it came over loopback, or from the very address that it
/// dialled. IPv4 may come dressed as IPv6.
fn is_local(peer: IpAddr, local: IpAddr) -> bool {
    let (peer, local) = (peer.to_canonical(), local.to_canonical());
    peer.is_loopback() || peer == local
}

fn bears(request: &Request, token: &str) -> bool {
    let given = request.header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    given.is_some_and(|given| same(given.as_bytes(), token.as_bytes()))
}

/// Compares in a time that depends on the lengths alone.
fn same(left: &[u8], right: &[u8]) -> bool {
    let difference =
        left.iter().zip(right).fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
    left.len() == right.len() && difference == 0
}

fn is_foreign_page(request: &Request) -> bool {
    let cross_site = request.has("sec-fetch-site")
        && !matches!(request.header("sec-fetch-site"), Some("same-origin" | "none"));
    cross_site || (request.has("origin") && !is_own_origin(request))
}

fn is_own_origin(request: &Request) -> bool {
    let origin = request.header("origin").and_then(|origin| origin.split_once("://"));
    match (origin, request.header("host")) {
        (Some((_, origin)), Some(host)) => origin.eq_ignore_ascii_case(host) && is_fixed(host),
        _ => false,
    }
}

/// Whether no name service decides where this host is.
fn is_fixed(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a plain POST passes from this peer to this local address.
    fn passes(peer: &str, local: &str, headers: &str, token: Option<&str>) -> bool {
        let text = format!("POST /resign HTTP/1.1\r\nHost: n\r\n{headers}\r\n");
        let (request, _) = Request::parse(text.as_bytes()).unwrap().unwrap();
        let end = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 7201);
        admit(&request, Some((end(peer), end(local))), token).is_ok()
    }

    #[test]
    fn this_hosts_own_addresses_may_command() {
        for (peer, local) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.2", "127.0.0.1"),
            ("::1", "::1"),
            ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("fe80::1", "fe80::1"),
        ] {
            assert!(passes(peer, local, "", None), "{peer} to {local}");
        }
    }

    #[test]
    fn other_hosts_need_the_token() {
        let bearer = "Authorization: Bearer s3cret\r\n";
        for (peer, local) in
            [("10.0.0.2", "10.0.0.1"), ("::ffff:10.0.0.2", "10.0.0.1"), ("fe80::2", "::1")]
        {
            assert!(!passes(peer, local, "", None), "{peer} to {local}");
            assert!(!passes(peer, local, bearer, None), "{peer} to {local}");
            assert!(!passes(peer, local, bearer, Some("other")), "{peer} to {local}");
            assert!(passes(peer, local, bearer, Some("s3cret")), "{peer} to {local}");
        }
        let twice = format!("{bearer}{bearer}");
        assert!(!passes("10.0.0.2", "10.0.0.1", &twice, Some("s3cret")));
    }

    #[test]
    fn a_client_that_is_gone_is_nobody() {
        let (request, _) = Request::parse(b"POST /resign HTTP/1.0\r\n\r\n").unwrap().unwrap();
        assert!(admit(&request, None, None).is_err());
    }

    #[test]
    fn comparison_sees_each_byte_and_the_length() {
        assert!(same(b"s3cret", b"s3cret"));
        for other in [b"s3creT".as_slice(), b"S3cret", b"s3cre", b"s3crett", b""] {
            assert!(!same(b"s3cret", other));
        }
    }
}

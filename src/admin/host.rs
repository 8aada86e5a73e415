//! The name that a browser was given for a server (its Host header), and the page that a request comes from. A page of a
//! stranger may have its name lead to a server of this network (DNS rebinding), and may send it requests of its own; the
//! headers that its browser adds say so.

use std::net::IpAddr;

use super::request::Request;
use super::response::Response;
use crate::limits::quote;
use crate::node::status::Status;

/// The host that a request is for.
#[derive(Debug, PartialEq, Eq)]
enum RequestHost {
    Address(IpAddr),
    /// In lower case, without the dot of the root at its end.
    Name(String),
}

impl RequestHost {
    /// The host of `HOST` or `HOST:PORT`.
    fn of(text: &str) -> RequestHost {
        let host = match text.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => text,
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let inner = inner.map_or(host, |v6| v6.split('%').next().unwrap_or(v6)); // without its zone
        match inner.parse() {
            Ok(address) => RequestHost::Address(address),
            Err(_) => {
                RequestHost::Name(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase())
            }
        }
    }
}

/// Whether a request is for a server of this host alone. One without a host is not.
pub fn is_for_loopback(request: &Request) -> bool {
    match request.header("host").map(RequestHost::of) {
        Some(RequestHost::Address(address)) => address.is_loopback(),
        Some(RequestHost::Name(name)) => name == "localhost",
        None => false,
    }
}

/// The names by which a node is asked, beside those in the member list.
#[derive(Debug, Default)]
pub struct Names(Vec<RequestHost>);

impl Names {
    /// These, each as `HOST` or `HOST:PORT`, and the name of this host.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let system = rustix::system::uname();
        let own = RequestHost::of(&system.nodename().to_string_lossy());
        Names(names.into_iter().map(RequestHost::of).chain([own]).collect())
    }

    /// Lets a request pass that is for this node, as its Host says: for an address, for a name of a node of its cluster, or
    /// for one of these. A name without a dot belongs to nobody outside of this network, so it passes too, as does a
    /// request of HTTP/1.0 without a host, which no browser sends.
    ///
    /// # Errors
    /// The answer 403, with words.
    pub fn admit(&self, request: &Request, own: impl FnOnce() -> Status) -> Result<(), Response> {
        let Some(text) = request.header("host") else { return Ok(()) };
        let host = RequestHost::of(text);
        let RequestHost::Name(name) = &host else { return Ok(()) };
        if !name.contains('.') || self.0.contains(&host) || is_of_a_member(&host, &own()) {
            return Ok(());
        }
        let sentence = format!(
            "this node is not known by the name \"{}\": ask for it by its IP address, by the name of its host or by a \
             name in the member list; or list the name in \"admin_names\" of the configuration",
            quote(name)
        );
        Err(Response::error(403, sentence))
    }
}

/// Whether a member is called so, or has it in one of its addresses.
fn is_of_a_member(host: &RequestHost, own: &Status) -> bool {
    own.members.iter().any(|member| {
        let texts = [Some(&member.name), Some(&member.address), member.admin.as_ref()];
        texts.into_iter().flatten().any(|text| RequestHost::of(text) == *host)
    })
}

/// Lets a command pass unless a browser sent it for a page of somebody else. A browser says where a page is from, and
/// shows the certificate that its user installed whatever page asks.
///
/// # Errors
/// The answer 403, with words.
pub fn refuse_foreign_page(request: &Request) -> Result<(), Response> {
    let site = request.header("sec-fetch-site");
    let is_own_site =
        !request.has("sec-fetch-site") || matches!(site, Some("same-origin" | "none"));
    if is_own_site && (!request.has("origin") || is_own_origin(request)) {
        return Ok(());
    }
    let sentence = "a page of another site gives no commands here: the headers Origin and Sec-Fetch-Site say that a \
                    browser sent this for one; use the command line, or curl";
    Err(Response::error(403, sentence))
}

/// Whether the Origin is a page of the host and the port that were asked.
fn is_own_origin(request: &Request) -> bool {
    let origin = request.header("origin").and_then(|origin| origin.split_once("://"));
    let host = request.header("host");
    origin.zip(host).is_some_and(|((_, origin), host)| origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::status::MemberStatus;

    fn request(headers: &str) -> Request {
        let text = format!("POST /drain HTTP/1.1\r\n{headers}\r\n\r\n");
        Request::parse(text.as_bytes()).unwrap().unwrap().0
    }

    fn admitted(host: &str) -> bool {
        let member = |name: &str, address: &str, admin: Option<&str>| MemberStatus {
            name: name.to_owned(),
            address: address.to_owned(),
            admin: admin.map(str::to_owned),
            ..MemberStatus::default()
        };
        let members = vec![
            member("a.b", "db1.example.com:7101", None),
            member("c", "10.0.0.3:7101", Some("Admin.Example.com.:7201")),
        ];
        let own = || Status { members, ..Status::default() };
        let names = Names::new(["electd.example.org", "moved.example.com:7201"]);
        names.admit(&request(&format!("Host: {host}")), own).is_ok()
    }

    #[test]
    fn a_node_answers_for_addresses_its_own_names_and_those_of_its_cluster() {
        for host in [
            "10.0.0.3:7201",
            "192.0.2.9",
            "[2001:db8::1]:7201",
            "[fe80::1%25eth0]:7201",
            "localhost:7201",
            "LOCALHOST.",
            "electd-1:7201",
            "n",
            "",
            "a.b:7201",
            "db1.example.com",
            "DB1.Example.com.:99",
            "admin.example.com:7201",
            "electd.example.org",
            "electd.example.org:443",
            "moved.example.com",
        ] {
            assert!(admitted(host), "{host}");
        }
        let own = rustix::system::uname();
        assert!(admitted(&own.nodename().to_string_lossy()));
    }

    #[test]
    fn a_node_does_not_answer_for_the_name_of_a_stranger() {
        for host in [
            "evil.example",
            "evil.example:7201",
            "localhost.evil.example",
            "10.0.0.3.evil.example:7201",
            "a.b.evil.example",
            "db1.example.com.evil.example",
            "xdb1.example.com",
            "example.com",
            "evil.example@db1.example.com",
            "[evil.example]:7201",
        ] {
            assert!(!admitted(host), "{host}");
        }
        let nobody = Names::default().admit(&request("Host: Evil.example."), Status::default);
        let sentence = "this node is not known by the name \"evil.example\": ask for it by its IP address, by the name of \
                        its host or by a name in the member list; or list the name in \"admin_names\" of the configuration";
        assert_eq!(nobody, Err(Response::error(403, sentence)));
        let old = Request::parse(b"GET /leader HTTP/1.0\r\n\r\n").unwrap().unwrap().0;
        assert_eq!(
            Names::default().admit(&old, Status::default),
            Ok(()),
            "a probe of a load balancer"
        );
    }

    #[test]
    fn a_command_that_a_browser_sends_for_a_page_of_somebody_else_is_refused() {
        let passes = |headers: &str| {
            refuse_foreign_page(&request(&format!("Host: a.b:7201\r\n{headers}"))).is_ok()
        };
        for own in [
            "",
            "Origin: https://a.b:7201",
            "Origin: https://A.B:7201\r\nSec-Fetch-Site: same-origin",
            "Sec-Fetch-Site: same-origin",
            "Sec-Fetch-Site: none",
            "Referer: https://a.b:7201/",
        ] {
            assert!(passes(own), "{own}");
        }
        for foreign in [
            "Origin: https://evil.example",
            "Origin: https://a.b",
            "Origin: https://a.b:7202",
            "Origin: null",
            "Origin: ",
            "Origin: a.b:7201",
            "Origin: https://a.b:7201\r\nOrigin: https://a.b:7201",
            "Origin: https://a.b:7201\r\nSec-Fetch-Site: cross-site",
            "Origin: https://evil.example\r\nSec-Fetch-Site: same-origin",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
        ] {
            assert!(!passes(foreign), "{foreign}");
        }
    }
}

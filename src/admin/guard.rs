//! Access to commands: any client that can open the control socket may give commands, and over TCP any client that
//! knows the token or, with TLS, shows the certificate of a member. An address proves nothing: any user of this host
//! has it, and a browser there runs other people's pages.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use parking_lot::RwLock;

use super::host::{self, Names};
use super::request::Request;
use super::response::Response;
use crate::node::status::Status;
use crate::tls::Security;

/// The header with the name of the cluster that a command is for.
pub const CLUSTER: &str = "electd-cluster";
/// The header with the id of the member that a command is for.
pub const NODE: &str = "electd-node";

/// The token that commands over TCP need; it can be replaced while the server runs.
#[derive(Clone, Default)]
pub struct Token(Arc<RwLock<Option<String>>>);

impl Token {
    /// This token. An empty one counts as none: it would let everybody in.
    #[must_use]
    pub fn new(token: Option<String>) -> Token {
        let shared = Token::default();
        shared.replace(token);
        shared
    }

    /// Takes another token, or none. Returns whether it differs.
    pub fn replace(&self, token: Option<String>) -> bool {
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        let before = std::mem::replace(&mut *self.0.write(), token.clone());
        before != token
    }

    /// The present token.
    fn present(&self) -> Option<String> {
        self.0.read().clone()
    }
}

impl From<Option<String>> for Token {
    fn from(token: Option<String>) -> Token {
        Token::new(token)
    }
}

/// Takes over a connection that is to carry something else than HTTP; it must not wait.
pub type Attach = Box<dyn Fn(UnixStream) + Send + Sync>;

/// The way by which the clients of a server come.
pub enum Access {
    /// Over TCP, with TLS or without: a client may give commands with this token, or with the certificate of a
    /// member. It asks by one of these names.
    Admin { token: Token, security: Security, names: Names },
    /// By the control socket: any client that can open it may give commands, and attach a process to the node.
    Control(Attach),
}

impl Access {
    /// The credentials for TLS, if there is TLS.
    pub fn security(&self) -> Security {
        match self {
            Access::Admin { security, .. } => security.clone(),
            Access::Control(_) => Security::default(),
        }
    }
}

/// Lets a command pass that came by this way, or says why not. A proof that the client is the member of a name
/// counts as long as that member belongs to the cluster.
///
/// # Errors
/// The answer 403, with words.
pub fn admit(
    request: &Request,
    access: &Access,
    own: &Status,
    proves: impl Fn(&str) -> bool,
) -> Result<(), Response> {
    let Access::Admin { token, security, .. } = access else { return Ok(()) };
    let token = token.present();
    if token.as_deref().is_some_and(|token| bears(request, token)) {
        return Ok(());
    }
    if own.members.iter().any(|member| proves(&member.name)) {
        return host::refuse_foreign_page(request); // a browser has the token for no page, and its certificate for all
    }
    Err(Response::error(403, refusal(token.is_some(), security.now().is_some())))
}

fn refusal(has_token: bool, has_tls: bool) -> &'static str {
    if has_tls {
        "commands over TCP need the certificate of a member, or the header \"Authorization: Bearer TOKEN\" with the \
         token of admin_token_file; on the node's own host electd needs neither, run as the node's user"
    } else if has_token {
        "commands over TCP need the header \"Authorization: Bearer TOKEN\": send the token of admin_token_file; \
         on the node's own host electd needs none, run as the node's user"
    } else {
        "commands over TCP need a token, and this node has none: run electd on the node's own host as the node's \
         user, or set admin_token_file in the config and send its token"
    }
}

/// Lets a command pass that is for this node, or does not say which node it is for.
///
/// # Errors
/// The answer 409, with words.
pub fn recognise(request: &Request, own: &Status) -> Result<(), Response> {
    let differs =
        |header: &str, own: &str| request.has(header) && request.header(header) != Some(own);
    if !differs(CLUSTER, &own.cluster) && !differs(NODE, &own.node.id) {
        return Ok(());
    }
    let named = |header: &str| request.header(header).unwrap_or("?").to_owned();
    let sentence = format!(
        "this node is {} of cluster {} (id {}), and the command is for id {} of cluster {}: correct the configuration",
        own.node.name,
        own.cluster,
        own.node.id,
        named(NODE),
        named(CLUSTER),
    );
    Err(Response::error(409, sentence))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &str) -> Request {
        let text = format!("POST /resign HTTP/1.1\r\nHost: n\r\n{headers}\r\n");
        Request::parse(text.as_bytes()).unwrap().unwrap().0
    }

    fn over_tcp(token: Token) -> Access {
        Access::Admin { token, security: Security::default(), names: Names::default() }
    }

    /// Whether a POST with these headers passes over TCP.
    fn passes(headers: &str, token: Option<&str>) -> bool {
        let access = over_tcp(Token::new(token.map(str::to_owned)));
        admit(&request(headers), &access, &Status::default(), |_| false).is_ok()
    }

    #[test]
    fn over_tcp_it_takes_the_token_and_over_the_control_socket_nothing() {
        let bearer = "Authorization: Bearer s3cret\r\n";
        assert!(!passes("", None));
        assert!(!passes(bearer, None));
        assert!(!passes("", Some("s3cret")));
        assert!(!passes(bearer, Some("other")));
        assert!(passes(bearer, Some("s3cret")));
        assert!(passes("authorization: bearer s3cret\r\n", Some(" s3cret\n")), "as of a file");
        assert!(!passes(&bearer.repeat(2), Some("s3cret")));
        assert_eq!(Token::new(Some(" \n".to_owned())).present(), None, "it would let everybody in");
        for odd in [
            "Authorization: Bearer\r\n",
            "Authorization: Basic s3cret\r\n",
            "Authorization: s3cret\r\n",
        ] {
            assert!(!passes(odd, Some("s3cret")), "{odd}");
        }
        assert!(passes("Authorization: BEARER   s3cret \r\n", Some("s3cret")));
        let nobody = Status::default();
        let control = Access::Control(Box::new(drop));
        assert!(admit(&request(""), &control, &nobody, |_| false).is_ok());
        let access = over_tcp(Token::default());
        assert!(admit(&request(""), &access, &nobody, |_| true).is_err(), "it was removed");
    }

    #[test]
    fn a_command_for_another_node_is_refused() {
        let mut own = Status { cluster: "d\u{e9}mo".to_owned(), ..Status::default() };
        own.node.id = "7".to_owned();
        let passes = |headers: &str| recognise(&request(headers), &own).is_ok();
        assert!(passes("") && passes("Electd-Node: 7\r\nElectd-Cluster: d\u{e9}mo\r\n"));
        assert!(!passes("Electd-Node: 8\r\nElectd-Cluster: d\u{e9}mo\r\n"));
        assert!(!passes("Electd-Node: 7\r\nElectd-Cluster: demo\r\n"));
        assert!(!passes("Electd-Node: 7\r\nElectd-Node: 7\r\n"));
    }

    #[test]
    fn comparison_sees_each_byte_and_the_length() {
        assert!(same(b"s3cret", b"s3cret"));
        for other in [b"s3creT".as_slice(), b"S3cret", b"s3cre", b"s3crett", b""] {
            assert!(!same(b"s3cret", other));
        }
    }

    #[test]
    fn a_refusal_says_which_proofs_there_are() {
        let refused = |token: Option<&str>| {
            let access = over_tcp(Token::new(token.map(str::to_owned)));
            admit(&request(""), &access, &Status::default(), |_| false).unwrap_err()
        };
        assert_eq!(refused(Some("s3cret")), Response::error(403, refusal(true, false)));
        assert_eq!(refused(None), Response::error(403, refusal(false, false)));
        let by_certificate = "commands over TCP need the certificate of a member, or the header \"Authorization: Bearer \
                              TOKEN\" with the token of admin_token_file; on the node's own host electd needs neither, \
                              run as the node's user";
        let by_token = "commands over TCP need the header \"Authorization: Bearer TOKEN\": send the token of \
                        admin_token_file; on the node's own host electd needs none, run as the node's user";
        let by_neither = "commands over TCP need a token, and this node has none: run electd on the node's own host as \
                          the node's user, or set admin_token_file in the config and send its token";
        for (has_token, has_tls, words) in [
            (false, true, by_certificate),
            (true, true, by_certificate),
            (true, false, by_token),
            (false, false, by_neither),
        ] {
            assert_eq!(refusal(has_token, has_tls), words);
        }
    }

    #[test]
    fn the_certificate_of_a_member_lets_a_command_pass() {
        let access = over_tcp(Token::default());
        let member = |name: &str| crate::node::status::MemberStatus {
            name: name.to_owned(),
            ..Default::default()
        };
        let own = Status { members: vec![member("a"), member("b")], ..Status::default() };
        let passes = |shown: &str| admit(&request(""), &access, &own, |name| name == shown).is_ok();
        assert!(passes("a") && passes("b"));
        assert!(!passes("c"), "it is no member");
        let by_page = request("Origin: https://evil.example\r\n");
        assert!(admit(&by_page, &access, &own, |name| name == "a").is_err(), "its browser has it");
        let control = Access::Control(Box::new(drop));
        assert!(admit(&by_page, &control, &own, |_| false).is_ok(), "no browser opens that");
    }

    #[test]
    fn another_token_is_told_from_the_same() {
        let token = Token::new(Some("one".to_owned()));
        assert!(!token.replace(Some("one\n".to_owned())), "the same");
        assert!(token.replace(Some("two".to_owned())));
        assert_eq!(token.present().as_deref(), Some("two"));
        assert!(token.replace(None) && !token.replace(Some(" ".to_owned())), "none is none");
    }

    #[test]
    fn one_who_asks_the_wrong_node_learns_which_it_is() {
        let mut own = Status { cluster: "demo".to_owned(), ..Status::default() };
        (own.node.id, own.node.name) = ("7".to_owned(), "node-7".to_owned());
        for (headers, meant) in [
            ("Electd-Node: 8\r\n", "id 8 of cluster ?"),
            ("Electd-Cluster: other\r\n", "id ? of cluster other"),
            ("Electd-Node: 7\r\nElectd-Cluster: other\r\n", "id 7 of cluster other"),
            ("Electd-Node: 8\r\nElectd-Cluster: demo\r\n", "id 8 of cluster demo"),
            ("Electd-Node: 8\r\nElectd-Node: 7\r\n", "id ? of cluster ?"),
        ] {
            let sentence = format!(
                "this node is node-7 of cluster demo (id 7), and the command is for {meant}: correct the configuration"
            );
            let refused = recognise(&request(headers), &own);
            assert_eq!(refused, Err(Response::error(409, sentence)), "{headers}");
        }
    }
}

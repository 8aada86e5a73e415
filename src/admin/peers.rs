//! `GET /peers/NAME/status`: what another member shows, so that a browser needs the address of one node alone.

use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::limits::is_name;
use crate::node::handle::Handle;
use crate::node::status::MemberStatus;
use crate::tls::{Security, Trust};

use super::client::Client;
use super::response::Response;
use super::{limits, views};

/// The member whose status this path asks for.
pub fn asked(path: &str) -> Option<&str> {
    path.strip_prefix("/peers/")?.strip_suffix("/status").filter(|name| is_name(name))
}

/// The answer to one more question than may be under way.
pub fn too_many() -> Response {
    let most = limits::PEERS;
    let sentence =
        format!("{most} questions to other members are under way, which is the most: ask again");
    Response::error(503, sentence)
}

/// Asks the member of this name for its status, by HTTPS where this node serves that.
pub fn status<H: Handle>(name: &str, handle: &H, security: &Security) -> Response {
    let own = handle.status();
    if own.node.name == name {
        return views::status(handle);
    }
    let Some(member) = own.members.iter().find(|member| member.name == name) else {
        return Response::error(
            404,
            format!("there is no member {name} here; `members` of /status lists all"),
        );
    };
    let client = match client(member, security, None) {
        Ok(client) => client,
        Err((code, sentence)) => return Response::error(code, sentence),
    };
    let address = member.admin.as_deref().unwrap_or_default();
    match client.status(address) {
        Ok(status) if status.node.id == member.id && status.cluster == own.cluster => {
            Response::json(200, &status)
        }
        Ok(status) => {
            let (other, cluster) = (status.node.name, status.cluster);
            let sentence =
                format!("at {address} answers {other} of cluster {cluster}, and not {name}");
            Response::error(502, sentence)
        }
        Err(error) => Response::error(502, error.to_string()),
    }
}

/// Asks these members, some at a time, and first those that this node takes to be alive. Those that were not asked in time
/// have no answer.
pub(super) fn ask_all<T: Send>(
    mut members: Vec<&MemberStatus>,
    ask: impl Fn(&MemberStatus) -> T + Sync,
) -> Vec<T> {
    let until = Instant::now() + limits::GATHERING;
    let count = members.len();
    members.sort_by_key(|member| member.is_alive()); // the last comes first
    let (open, answers) = (Mutex::new(members), Mutex::new(Vec::new()));
    let next = || open.lock().pop().filter(|_| Instant::now() < until);
    let work = || {
        while let Some(member) = next() {
            let answer = ask(member);
            answers.lock().push(answer);
        }
    };
    thread::scope(|scope| {
        for _ in 0..limits::ASKED_AT_ONCE.min(count) {
            let builder =
                thread::Builder::new().name("admin-ask".to_owned()).stack_size(limits::STACK);
            if builder.spawn_scoped(scope, work).is_err() {
                break; // fewer do, and without any this node tells what it knows
            }
        }
    });
    answers.into_inner()
}

/// A client of this member, which waits for this long if not as usual; it speaks HTTPS where this node serves that.
///
/// # Errors
/// If the member cannot be asked: the code of the answer that says so, and why.
pub(super) fn client(
    member: &MemberStatus,
    security: &Security,
    timeout: Option<Duration>,
) -> Result<Client, (u16, String)> {
    let name = &member.name;
    if member.admin.is_none() {
        return Err((404, format!("{name} has no \"admin\" address, so it cannot be asked")));
    }
    let trust = match security.now().map(|credentials| Trust::in_member(&credentials, name)) {
        Some(None) => return Err((502, format!("no certificate can name {name}"))),
        trust => trust.flatten(),
    };
    Ok(Client::within(timeout, None).secured(trust))
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::*;
    use crate::admin::server::tests::members;

    #[test]
    fn a_member_is_asked_where_its_http_is_and_by_https_if_a_certificate_can_name_it() {
        let plain = Security::default();
        let secured = Security::new(members().into_iter().next());
        let told = |name: &str, admin: Option<&str>, security: &Security| {
            let (name, admin) = (name.to_owned(), admin.map(str::to_owned));
            let member = MemberStatus { name, admin, ..MemberStatus::default() };
            let time = Some(Duration::from_millis(1234));
            let shown = client(&member, security, time).map(|client| format!("{client:?}"));
            shown.map(|shown| {
                assert!(shown.contains("token: None, timeout: Some(1.234s)"), "{shown}");
                shown.contains("trust: Some")
            })
        };
        let hidden = "b has no \"admin\" address, so it cannot be asked".to_owned();
        assert_eq!(told("b", Some("h:1"), &plain), Ok(false));
        assert_eq!(told("b", Some("h:1"), &secured), Ok(true));
        assert_eq!(told("b", None, &secured), Err((404, hidden)));
        assert_eq!(told("a..b", Some("h:1"), &plain), Ok(false));
        let odd = "no certificate can name a..b".to_owned();
        assert_eq!(told("a..b", Some("h:1"), &secured), Err((502, odd)));
    }

    #[test]
    fn a_path_asks_for_the_status_of_one_member() {
        for (path, name) in [
            ("/peers/node-2/status", Some("node-2")),
            ("/peers//status", None),
            ("/peers/a/b/status", None),
            ("/peers/a/task", None),
            ("/peer/a/status", None),
        ] {
            assert_eq!(asked(path), name, "{path}");
        }
    }
}

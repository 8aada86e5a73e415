//! `GET /peers/NAME/status`: what another member shows, so that a browser needs the address of one node alone.

use std::time::Duration;

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

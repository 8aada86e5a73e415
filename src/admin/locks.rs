//! `/locks`: what the node shows of the locks of its cluster, and the orders that it takes there.

use electd_facts::locks::LocksView;
use serde::Deserialize;

use crate::limits::quote;
use crate::node::handle::{Command, Handle};
use crate::node::locks::{LockName, LockOrder};

use super::body::{nothing, parse};
use super::request::Request;
use super::response::Response;

/// The path of all locks, before the name of one.
pub const ALL: &str = "/locks";
/// The path where they are spread anew. It is that of the lock of this name as well.
pub const REBALANCE: &str = "/locks/rebalance";
/// The paths of one.
pub const ANY: &str = "/locks/NAME";
pub const LEADER: &str = "/locks/NAME/leader";
pub const RELEASE: &str = "/locks/NAME/release";
pub const MOVE: &str = "/locks/NAME/move";
pub const FORGET: &str = "/locks/NAME/forget";

/// The name in the path of a lock, and what follows it.
fn split(path: &str) -> Option<(&str, Option<&str>)> {
    let rest = path.strip_prefix(ALL)?.strip_prefix('/')?;
    Some(rest.split_once('/').map_or((rest, None), |(name, what)| (name, Some(what))))
}

/// The kind of this path, if it is one of a lock: whether the name is one, the answer says.
pub fn kind(path: &str) -> Option<&'static str> {
    match split(path)? {
        ("rebalance", None) => Some(REBALANCE),
        (_, None) => Some(ANY),
        (_, Some("leader")) => Some(LEADER),
        (_, Some("release")) => Some(RELEASE),
        (_, Some("move")) => Some(MOVE),
        (_, Some("forget")) => Some(FORGET),
        _ => None,
    }
}

/// The lock whose leader this path asks for, if it is a name.
pub fn of_leader(path: &str) -> Option<LockName> {
    let (name, what) = split(path)?;
    LockName::new(name).ok().filter(|_| what == Some("leader"))
}

/// The lock of this path.
fn named(request: &Request) -> Result<LockName, Response> {
    let name = split(&request.path).map_or("", |(name, _)| name);
    LockName::new(name).map_err(|why| {
        Response::error(400, format!("\"{}\" is no name of a lock: {why}", quote(name)))
    })
}

/// `GET /locks?after=NAME`: a page of all.
pub fn all<H: Handle>(node: &H, request: &Request) -> Response {
    let after = match request.query.strip_prefix("after=") {
        None if request.query.is_empty() => None,
        Some(name) if LockName::new(name).is_ok() => Some(name),
        _ => {
            let query = quote(&request.query);
            let sentence = format!("\"{query}\" is not known here; say after=NAME or nothing");
            return Response::error(400, sentence);
        }
    };
    Response::json(200, &node.locks().page(after))
}

/// `GET /locks/NAME`.
pub fn one<H: Handle>(node: &H, request: &Request) -> Response {
    judged(node, request, |_, _| true)
}

/// `GET /locks/NAME/leader`: whether this node holds the lock, and may act by it.
pub fn leader<H: Handle>(node: &H, request: &Request) -> Response {
    judged(node, request, |locks, own| {
        locks.locks.iter().any(|lock| lock.holder.as_deref() == Some(own) && lock.reason.is_none())
    })
}

/// What is known of the lock, with the code that says whether this holds at the node of this name. A node that has missed its
/// turn vouches for nothing.
fn judged<H: Handle>(node: &H, request: &Request, holds: fn(&LocksView, &str) -> bool) -> Response {
    let name = match named(request) {
        Ok(name) => name,
        Err(wrong) => return wrong,
    };
    let (locks, status) = (node.lock_view(&name), node.status());
    let code = if holds(&locks, &status.node.name) && !status.stalled { 200 } else { 503 };
    Response::json(code, &locks)
}

/// `POST /locks/NAME/release`.
pub fn release(request: &Request, body: &[u8]) -> Result<Command, Response> {
    let name = named(request)?;
    nothing(body, Command::Lock { name, order: LockOrder::Release })
}

/// `POST /locks/NAME/forget`.
pub fn forget(request: &Request, body: &[u8]) -> Result<Command, Response> {
    let name = named(request)?;
    nothing(body, Command::Lock { name, order: LockOrder::Forget })
}

/// `POST /locks/NAME/move`.
pub fn move_to(request: &Request, body: &[u8]) -> Result<Command, Response> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Moving {
        to: String,
    }
    let (name, example) = (named(request)?, r#"{"to": "NAME"}"#);
    match parse::<Moving>(body, example)?.to {
        to if to.is_empty() => {
            Err(Response::error(400, format!("the body names no member: send {example}")))
        }
        to => Ok(Command::Lock { name, order: LockOrder::Move { to } }),
    }
}

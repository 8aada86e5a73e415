//! From a request to its answer: what a node shows, and the commands that it takes.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::node::handle::{Command, Handle};
use crate::tls::Security;

use super::elections::{self, Elections};
use super::guard::{self, Access};
use super::peers;
use super::places::ClientPlaces;
use super::redirect::{self, Redirection};
use super::request::Request;
use super::response::Response;
use super::routes::Route;
use super::stream::{self, Stream};
use super::verdict::{self, Verdicts};

/// What all connections share.
pub struct ServerContext<H> {
    handle: H,
    access: Access,
    places: Arc<ClientPlaces>,
    elections: Elections,
    verdicts: Verdicts,
}

impl<H: Handle> ServerContext<H> {
    /// What the connections to this node share.
    pub fn new(handle: H, access: Access) -> ServerContext<H> {
        let places = Arc::<ClientPlaces>::default();
        let waiting = places.clone();
        handle.events().on_news(move || waiting.tell_news());
        let waiting = places.clone();
        handle.lock_events().on_news(move || waiting.tell_news());
        let (elections, verdicts) = (Elections::default(), Verdicts::default());
        ServerContext { handle, access, places, elections, verdicts }
    }

    /// The node.
    pub fn handle(&self) -> &H {
        &self.handle
    }

    /// The places of the connections.
    pub fn places(&self) -> &Arc<ClientPlaces> {
        &self.places
    }

    /// The elections that clients ask for.
    pub fn elections(&self) -> &Elections {
        &self.elections
    }

    /// The verdicts that clients ask for.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// Whether a request is for this node, as its Host says.
    fn admit_host(&self, request: &Request) -> Result<(), Response> {
        match &self.access {
            Access::Admin { names, .. } => names.admit(request, || self.handle.status()),
            Access::Control(_) => Ok(()), // no browser opens the socket
        }
    }

    /// The credentials for TLS, if the server has TLS.
    pub fn security(&self) -> Security {
        self.access.security()
    }

    /// Gives a connection away.
    pub fn attach(&self, stream: UnixStream) {
        if let Access::Control(attach) = &self.access {
            attach(stream);
        }
    }
}

/// The way to answer a request.
pub enum Answer {
    /// With this, immediately.
    Now(Response),
    /// With the outcome of a command, which takes a while.
    Command(Command),
    /// With events, for as long as the client wants.
    Stream(Stream),
    /// With what another member of this name shows, which takes a while.
    Peer(String),
    /// With an election, for which other members are asked.
    Election(elections::ElectionQuery),
    /// With the verdict on the cluster, for which other members are asked.
    Verdict,
    /// With the place of the leader's work, or of a lock's, for which another member may be asked.
    Redirect(Redirection),
    /// The connection is given away: a process attaches itself to the node.
    Attach,
}

/// The path where a process asks to be attached.
const ATTACH: &str = "/exec";

/// Whether a command may pass: the client may give commands, and means this node.
fn admit<H: Handle>(
    request: &Request,
    shared: &ServerContext<H>,
    proves: impl Fn(&str) -> bool,
) -> Result<(), Response> {
    let own = shared.handle.status();
    guard::admit(request, &shared.access, &own, proves)?;
    guard::recognise(request, &own)
}

/// The answer to a request of a client that proves to be the member of a name.
pub fn answer<H: Handle>(
    request: &Request,
    body: &[u8],
    shared: &ServerContext<H>,
    proves: impl Fn(&str) -> bool,
) -> Answer {
    if let Err(stranger) = shared.admit_host(request) {
        return Answer::Now(stranger);
    }
    match Route::<H>::commanded(request) {
        Some(takes) => admit(request, shared, proves)
            .and_then(|()| takes.command(request, body))
            .map_or_else(Answer::Now, Answer::Command),
        None if request.path == ATTACH && request.method == "GET" => {
            attach(request, shared).map_or_else(Answer::Now, |()| Answer::Attach)
        }
        None if request.path == "/events" && request.method == "GET" => {
            events(request, shared).map_or_else(Answer::Now, Answer::Stream)
        }
        None if request.path == verdict::PATH && request.method == "GET" => Answer::Verdict,
        None => {
            let peer = peers::asked(&request.path).filter(|_| request.method == "GET");
            let peer = peer.map(|name| Answer::Peer(name.to_owned()));
            let redirect = || redirect::asked(request).map(Answer::Redirect);
            let election = || elections::asked(request).map(Answer::Election);
            peer.or_else(redirect)
                .or_else(election)
                .unwrap_or_else(|| Answer::Now(view(request, shared)))
        }
    }
}

/// Whether a process may attach itself to the node.
fn attach<H: Handle>(request: &Request, shared: &ServerContext<H>) -> Result<(), Response> {
    guard::recognise(request, &shared.handle.status())?;
    match &shared.access {
        Access::Control(_) if request.has("upgrade") => Ok(()),
        Access::Control(_) => Err(Response::error(400, "ask for it with an Upgrade header")),
        Access::Admin { .. } => {
            Err(Response::error(403, "processes attach by the control socket alone"))
        }
    }
}

/// The events of the node, or of one lock, after the last one that the client read.
fn events<H: Handle>(request: &Request, shared: &ServerContext<H>) -> Result<Stream, Response> {
    let lock = stream::lock(request)?;
    let last = match &lock {
        Some(_) => stream::wanted(request, &shared.handle.lock_events())?,
        None => stream::wanted(request, &shared.handle.events())?,
    };
    Ok(Stream::new(lock, last, Instant::now()))
}

/// The answer to a request that gives no command.
fn view<H: Handle>(request: &Request, shared: &ServerContext<H>) -> Response {
    let method = request.method.as_str();
    if request.path == "*" && method == "OPTIONS" {
        return Response::json(200, &json!({ "paths": Route::<H>::lines() }))
            .allowing("GET, HEAD, POST, DELETE, OPTIONS");
    }
    let Some(route) = Route::<H>::of(&request.path) else {
        return unknown::<H>(&request.path);
    };
    let methods = route.methods();
    match (method, route.shows) {
        ("GET" | "HEAD", Some(show)) => show(&shared.handle, request),
        ("OPTIONS", Some(show)) => show(&shared.handle, request).allowing(methods),
        ("OPTIONS", None) => {
            Response::json(200, &json!({ "paths": Route::<H>::lines() })).allowing(methods)
        }
        _ => Response::error(
            405,
            format!("{} does not take {method}; it takes {methods}", request.path),
        )
        .allowing(methods),
    }
}

fn unknown<H: Handle>(path: &str) -> Response {
    let sentence = format!("there is no {path} here; ask for one of the paths listed");
    Response::json(404, &json!({ "error": sentence, "paths": Route::<H>::lines() }))
}

//! From a request to its answer: what a node shows, and the commands that it takes.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::config::entry;
use crate::core::limits::is_name;
use crate::node::handle::{Command, Handle};
use crate::node::history::History;
use crate::node::problems::ProblemKind;
use crate::node::status::Status;
use crate::tls::Buffered;

use super::bodies;
use super::guard::{self, Door};
use super::metrics;
use super::request::Request;
use super::response::Response;
use super::stream::{self, Places, Stream};

/// What all connections share.
pub struct Shared<H> {
    handle: H,
    door: Door,
    /// Set when the server stops: answers under way are the last on their connections.
    closing: Arc<AtomicBool>,
    /// For streams of events.
    places: Places,
}

impl<H: Handle> Shared<H> {
    /// What the connections to this node share.
    pub fn new(handle: H, door: Door, closing: Arc<AtomicBool>) -> Shared<H> {
        Shared { handle, door, closing, places: Places::default() }
    }

    /// The node.
    pub fn handle(&self) -> &H {
        &self.handle
    }

    /// What protects a new connection, if anything does.
    pub fn session(&self) -> Option<Buffered> {
        self.door.session()
    }

    /// Gives a connection away.
    pub fn attach(&self, stream: UnixStream) {
        if let Door::Control(attach) = &self.door {
            attach(stream);
        }
    }

    /// Whether the server stops.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }
}

/// What a request leads to.
pub enum Answer {
    /// This, at once.
    Now(Response),
    /// The outcome of a command, which takes a while.
    Command(Command),
    /// Events, for as long as the client wants.
    Stream(Stream),
    /// The connection is given away: a process attaches itself to the node.
    Attach,
}

/// What a path is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Status,
    Leader,
    Follower,
    Live,
    Ready,
    Events,
    History,
    Metrics,
    Elections,
    Drain,
    Undrain,
    Pause,
    Resume,
    Reload,
    Resign,
    Switchover,
    Task,
    Members,
    Member,
}

/// Where a process asks to be attached.
const ATTACH: &str = "/exec";

/// What precedes the name of a member in a path.
const MEMBER: &str = "/members/";

const ROUTES: [(&str, Route); 19] = [
    ("/status", Route::Status),
    ("/leader", Route::Leader),
    ("/follower", Route::Follower),
    ("/livez", Route::Live),
    ("/readyz", Route::Ready),
    ("/events", Route::Events),
    ("/history", Route::History),
    ("/metrics", Route::Metrics),
    ("/elections", Route::Elections),
    ("/drain", Route::Drain),
    ("/undrain", Route::Undrain),
    ("/pause", Route::Pause),
    ("/resume", Route::Resume),
    ("/reload", Route::Reload),
    ("/resign", Route::Resign),
    ("/switchover", Route::Switchover),
    ("/task", Route::Task),
    ("/members", Route::Members),
    ("/members/NAME", Route::Member),
];

impl Route {
    fn of(path: &str) -> Option<Route> {
        if path.strip_prefix(MEMBER).is_some_and(is_name) {
            return Some(Route::Member);
        }
        ROUTES.iter().find(|(known, _)| *known == path).map(|(_, route)| *route)
    }

    /// Whether it is there to be read.
    fn shows(self) -> bool {
        use Route::{Events, Follower, History, Leader, Live, Metrics, Ready, Status, Task};
        matches!(
            self,
            Status | Leader | Follower | Live | Ready | Events | History | Metrics | Task
        )
    }

    /// The method by which the node can be told something there.
    fn commands(self) -> Option<&'static str> {
        match self {
            Route::Member => Some("DELETE"),
            Route::Task => Some("POST"),
            _ if self.shows() => None,
            _ => Some("POST"),
        }
    }

    /// The route of a request that commands something.
    pub fn commanded(request: &Request) -> Option<Route> {
        Route::of(&request.path).filter(|route| route.commands() == Some(&request.method))
    }

    fn methods(self) -> &'static str {
        match (self.shows(), self.commands()) {
            (true, Some(_)) => "GET, HEAD, POST, OPTIONS",
            (true, None) => "GET, HEAD, OPTIONS",
            (false, Some("DELETE")) => "DELETE, OPTIONS",
            (false, _) => "POST, OPTIONS",
        }
    }
}

/// Whether a command may pass: the client may command, and means this node.
fn admit<H: Handle>(
    request: &Request,
    shared: &Shared<H>,
    proves: impl Fn(&str) -> bool,
) -> Result<(), Response> {
    let own = shared.handle.status();
    guard::admit(request, &shared.door, &own, proves)?;
    guard::recognise(request, &own)
}

/// The answer to a request, of a client that proves to be the member of a name.
pub fn answer<H: Handle>(
    request: &Request,
    body: &[u8],
    shared: &Shared<H>,
    proves: impl Fn(&str) -> bool,
) -> Answer {
    match Route::commanded(request) {
        Some(route) => admit(request, shared, proves)
            .and_then(|()| command(route, request, body))
            .map_or_else(Answer::Now, Answer::Command),
        None if request.path == ATTACH && request.method == "GET" => {
            attach(request, shared).map_or_else(Answer::Now, |()| Answer::Attach)
        }
        None if request.path == "/events" && request.method == "GET" => {
            events(request, shared).map_or_else(Answer::Now, Answer::Stream)
        }
        None => Answer::Now(view(request, shared)),
    }
}

/// Whether a process may attach itself to the node.
fn attach<H: Handle>(request: &Request, shared: &Shared<H>) -> Result<(), Response> {
    guard::recognise(request, &shared.handle.status())?;
    match &shared.door {
        Door::Control(_) if request.has("upgrade") => Ok(()),
        Door::Control(_) => Err(Response::error(400, "ask for it with an Upgrade header")),
        Door::Admin(..) => {
            Err(Response::error(403, "processes attach by the control socket alone"))
        }
    }
}

/// The events of the node, after the one that the client read last.
fn events<H: Handle>(request: &Request, shared: &Shared<H>) -> Result<Stream, Response> {
    let told = stream::wanted(request, &shared.handle.events())?;
    Ok(Stream::new(told, shared.places.take()?))
}

/// The answer to a request that commands nothing.
fn view<H: Handle>(request: &Request, shared: &Shared<H>) -> Response {
    let method = request.method.as_str();
    if request.path == "*" && method == "OPTIONS" {
        return Response::json(200, &json!({ "paths": paths() }))
            .allowing("GET, HEAD, POST, DELETE, OPTIONS");
    }
    let Some(route) = Route::of(&request.path) else {
        return unknown(&request.path);
    };
    match method {
        "GET" | "HEAD" if route.shows() => show(route, &shared.handle),
        "OPTIONS" if route.shows() => show(route, &shared.handle).allowing(route.methods()),
        "OPTIONS" => Response::json(200, &json!({ "paths": paths() })).allowing(route.methods()),
        _ => Response::error(
            405,
            format!("{} does not take {method}; it takes {}", request.path, route.methods()),
        )
        .allowing(route.methods()),
    }
}

fn paths() -> Vec<String> {
    let lines = |(path, route): &(&str, Route)| {
        let shown = route.shows().then(|| format!("GET {path}"));
        let told = route.commands().map(|method| format!("{method} {path}"));
        shown.into_iter().chain(told)
    };
    ROUTES.iter().flat_map(lines).collect()
}

fn unknown(path: &str) -> Response {
    let sentence = format!("there is no {path} here; ask for one of the paths listed");
    Response::json(404, &json!({ "error": sentence, "paths": paths() }))
}

/// A view of the node. The code is for load balancers and probes, the body for people.
fn show<H: Handle>(route: Route, handle: &H) -> Response {
    match route {
        Route::Live => return live(handle),
        Route::Task => return task(handle),
        Route::Metrics => return metrics::answer(handle),
        Route::History => return history(handle),
        Route::Events => return Response::of("text/event-stream", Vec::new()),
        _ => {}
    }
    let status = handle.status();
    let holds = match route {
        Route::Leader => leads(&status),
        Route::Follower => status.state == "following" && knows_leader(&status),
        Route::Ready => knows_leader(&status) && can_write(&status),
        _ => true,
    };
    Response::json(if holds { 200 } else { 503 }, &status)
}

fn leads(status: &Status) -> bool {
    status.state == "leading" && !status.stalled
}

/// A stalled node may have been replaced, or its leader, without knowing it.
fn knows_leader(status: &Status) -> bool {
    status.leader.is_some() && !status.stalled
}

/// Whether its state can be written: a node that cannot may vote for nobody and lead in no new epoch.
fn can_write(status: &Status) -> bool {
    !status.problems.iter().any(|problem| problem.kind == ProblemKind::Storage.name())
}

fn live<H: Handle>(handle: &H) -> Response {
    if handle.is_live() {
        return Response::json(200, &json!({ "live": true }));
    }
    let sentence = "the election thread has missed its turn; if this lasts, restart the node";
    Response::json(503, &json!({ "live": false, "error": sentence }))
}

/// Who led when.
fn history<H: Handle>(handle: &H) -> Response {
    let node = handle.status().node.name;
    Response::json(200, &History { node, leaderships: handle.history().to_vec() })
}

/// The task that the leader handed out last, as it was given.
fn task<H: Handle>(handle: &H) -> Response {
    let status = handle.status();
    match handle.task() {
        _ if status.halting.is_none() => {
            let algorithm = status.algorithm;
            let sentence = "only the algorithm \"halting\" hands out a task, and this cluster has";
            Response::error(404, format!("{sentence} \"{algorithm}\""))
        }
        Some(task) => Response::bytes(task),
        None => Response::error(
            404,
            "no task has been handed out; POST one at the leader, or start it with --task FILE",
        ),
    }
}

/// The command in a request.
pub fn command(route: Route, request: &Request, body: &[u8]) -> Result<Command, Response> {
    match route {
        Route::Members => {
            entry::parse(body).map(Command::Add).map_err(|sentence| Response::error(400, sentence))
        }
        Route::Member => removal(request),
        Route::Resign => bodies::resign(body),
        Route::Switchover => bodies::switchover(body),
        Route::Drain => bodies::drain(body),
        Route::Undrain => bodies::nothing(body).map(|()| Command::Undrain),
        Route::Pause => bodies::pause(body),
        Route::Resume => bodies::nothing(body).map(|()| Command::Resume),
        Route::Reload => bodies::nothing(body).map(|()| Command::Reload),
        Route::Task => Ok(Command::HandOut { task: body.to_vec() }),
        _ => bodies::nothing(body).map(|()| Command::Elect),
    }
}

/// `DELETE /members/NAME?force=true`.
fn removal(request: &Request) -> Result<Command, Response> {
    let force = match request.query.as_str() {
        "" | "force=false" => false,
        "force=true" => true,
        other => {
            let sentence = format!("\"{other}\" is not known here; say force=true or nothing");
            return Err(Response::error(400, sentence));
        }
    };
    let name = request.path.trim_start_matches(MEMBER).to_owned();
    Ok(Command::Remove { name, force })
}

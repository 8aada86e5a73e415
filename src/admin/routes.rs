//! The paths: what the node shows at each, which commands it takes there, and the bodies of those.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::config::entry;
use crate::core::membership::MOST_MEMBERS;
use crate::limits::{is_name, quote};
use crate::node::handle::{Command, Handle};

use super::body::{nothing, parse};
use super::order::how_long;
use super::request::Request;
use super::response::Response;
use super::{elections, locks, metrics, page, peers, verdict, views};

/// A path, and what a client can do there.
pub struct Route<H> {
    path: &'static str,
    /// What the node shows there.
    pub shows: Option<fn(&H, &Request) -> Response>,
    takes: Option<Takes>,
}

/// How a request becomes a command.
#[derive(Clone, Copy)]
pub enum Takes {
    /// `POST`: by its body.
    Post(fn(&[u8]) -> Result<Command, Response>),
    /// `POST`: by its path and its body.
    PostAt(fn(&Request, &[u8]) -> Result<Command, Response>),
    /// `DELETE`: by its path and its query.
    Delete(fn(&Request) -> Result<Command, Response>),
}

/// The path before the name of a member.
const MEMBER: &str = "/members/";
/// The path of another member's status.
const ANY_PEER: &str = "/peers/NAME/status";
/// The path of the election of an epoch.
const ANY_ELECTION: &str = "/elections/EPOCH";
/// The path of a member in a list of paths.
const ANY_MEMBER: &str = "/members/NAME";

impl<H: Handle> Route<H> {
    const ALL: &'static [Route<H>] = &[
        Route::shown("/", |_, request| page::answer(request, &Route::<H>::lines())),
        Route::shown("/status", |node, _| views::status(node)),
        Route::shown("/leader", |node, _| views::leader(node)),
        Route::shown("/follower", |node, _| views::follower(node)),
        Route::shown("/livez", |node, _| views::live(node)),
        Route::shown("/readyz", |node, _| views::ready(node)),
        Route::shown("/events", |_, _| Response::of("text/event-stream", Vec::new())),
        Route::shown("/history", |node, _| views::history(node)),
        Route::shown("/delays", |node, _| views::delays(node)),
        Route::shown(ANY_PEER, |_, _| Response::of("application/json", Vec::new())),
        Route::shown(verdict::PATH, |_, _| Response::of("application/json", Vec::new())),
        Route::shown("/trace", views::trace),
        Route::shown("/flight", |node, _| views::flight(node)),
        Route::shown("/metrics", metrics::answer),
        Route::shown("/elections/last", |_, _| Response::of("application/json", Vec::new())),
        Route::shown(ANY_ELECTION, |_, _| Response::of("application/json", Vec::new())),
        Route::shown(locks::ALL, locks::all),
        Route::shown(locks::ANY, locks::one),
        Route::shown(locks::LEADER, locks::leader),
        Route {
            shows: Some(locks::one),
            ..Route::taken(locks::REBALANCE, |body| nothing(body, Command::RebalanceLocks))
        },
        Route::taken("/elections", |body| nothing(body, Command::Elect)),
        Route::taken("/drain", drain),
        Route::taken("/undrain", |body| nothing(body, Command::Undrain)),
        Route::taken("/pause", pause),
        Route::taken("/resume", |body| nothing(body, Command::Resume)),
        Route::taken("/reload", |body| nothing(body, Command::Reload)),
        Route::taken("/resign", resign),
        Route::taken("/switchover", switchover),
        Route {
            shows: Some(|node, _| views::task(node)),
            ..Route::taken("/task", |task| Ok(Command::HandOut { task: task.to_vec() }))
        },
        Route::taken("/members", add),
        Route::taken("/entries", entries),
        Route { path: ANY_MEMBER, shows: None, takes: Some(Takes::Delete(remove)) },
        Route { path: locks::RELEASE, shows: None, takes: Some(Takes::PostAt(locks::release)) },
        Route { path: locks::MOVE, shows: None, takes: Some(Takes::PostAt(locks::move_to)) },
        Route { path: locks::FORGET, shows: None, takes: Some(Takes::PostAt(locks::forget)) },
    ];

    const fn shown(path: &'static str, show: fn(&H, &Request) -> Response) -> Route<H> {
        Route { path, shows: Some(show), takes: None }
    }

    const fn taken(path: &'static str, parse: fn(&[u8]) -> Result<Command, Response>) -> Route<H> {
        Route { path, shows: None, takes: Some(Takes::Post(parse)) }
    }

    /// The route of this path.
    pub fn of(path: &str) -> Option<&'static Route<H>> {
        let path = match path {
            _ if path.strip_prefix(MEMBER).is_some_and(is_name) => ANY_MEMBER,
            _ if peers::asked(path).is_some() => ANY_PEER,
            _ if elections::named(path).is_some() => ANY_ELECTION,
            path => locks::kind(path).unwrap_or(path),
        };
        Route::ALL.iter().find(|route| route.path == path)
    }

    /// The command of this request, if it gives one.
    pub fn commanded(request: &Request) -> Option<Takes> {
        let takes = Route::<H>::of(&request.path)?.takes;
        takes.filter(|takes| takes.method() == request.method)
    }

    /// The methods of this path.
    pub fn methods(&self) -> &'static str {
        match (self.shows, self.takes) {
            (Some(_), Some(_)) => "GET, HEAD, POST, OPTIONS",
            (Some(_), None) => "GET, HEAD, OPTIONS",
            (None, Some(Takes::Delete(_))) => "DELETE, OPTIONS",
            (None, _) => "POST, OPTIONS",
        }
    }

    /// All paths with their methods, for a client that asked for none of them.
    pub fn lines() -> Vec<String> {
        let lines = |Route { path, shows, takes }: &Route<H>| {
            let shown = shows.map(|_| format!("GET {path}"));
            let taken = takes.map(|takes| format!("{} {path}", takes.method()));
            shown.into_iter().chain(taken)
        };
        Route::ALL.iter().flat_map(lines).collect()
    }
}

impl Takes {
    fn method(self) -> &'static str {
        match self {
            Takes::Post(_) | Takes::PostAt(_) => "POST",
            Takes::Delete(_) => "DELETE",
        }
    }

    /// The command in a request.
    pub fn command(self, request: &Request, body: &[u8]) -> Result<Command, Response> {
        match self {
            Takes::Post(parse) => parse(body),
            Takes::PostAt(parse) => parse(request, body),
            Takes::Delete(parse) => parse(request),
        }
    }
}

/// `POST /drain`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draining {
    #[serde(default, rename = "for")]
    length: Option<String>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    force: bool,
}

fn drain(body: &[u8]) -> Result<Command, Response> {
    let Draining { length, reason, force } =
        parse::<Draining>(body, r#"{"for": "1h", "reason": "TEXT"}"#)?;
    let length = length.as_deref().map(time).transpose()?;
    Ok(Command::Drain { length, reason, force })
}

/// `POST /pause`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pausing {
    #[serde(default, rename = "for")]
    length: Option<String>,
}

fn pause(body: &[u8]) -> Result<Command, Response> {
    let Pausing { length } = parse(body, r#"{"for": "30m"}"#)?;
    let length = length.as_deref().map(time).transpose()?;
    Ok(Command::Pause { length })
}

/// `POST /resign`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resignation {
    #[serde(default)]
    to: Option<String>,
}

fn resign(body: &[u8]) -> Result<Command, Response> {
    let Resignation { to } = parse(body, r#"{"to": "NAME"}"#)?;
    Ok(Command::Resign { to })
}

/// `POST /switchover`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchingOver {
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    clear: bool,
}

fn switchover(body: &[u8]) -> Result<Command, Response> {
    let example = r#"{"to": "NAME"} or {"clear": true}"#;
    match parse::<SwitchingOver>(body, example)? {
        SwitchingOver { to: Some(to), clear: false } => Ok(Command::Switchover { to }),
        SwitchingOver { to: None, clear: true } => Ok(Command::EndSwitchover),
        _ => Err(Response::error(400, format!("the body names no member: send {example}"))),
    }
}

/// `POST /members`: an entry as in the configuration.
fn add(body: &[u8]) -> Result<Command, Response> {
    entry::parse(body).map(Command::Add).map_err(|sentence| Response::error(400, sentence))
}

/// `POST /entries`: those of members, whole, with other names and addresses.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntriesBody {
    members: Vec<Value>,
    #[serde(default)]
    force: bool,
}

fn entries(body: &[u8]) -> Result<Command, Response> {
    let EntriesBody { members, force } = parse(body, r#"{"members": [ENTRY, ...]}"#)?;
    let wrong = |sentence: String| Response::error(400, sentence);
    if members.is_empty() || members.len() > MOST_MEMBERS {
        let what = format!("\"members\" has {} entries: send 1 to {MOST_MEMBERS}", members.len());
        return Err(wrong(what));
    }
    let entry = |entry: &Value| {
        if entry["id"].is_null() {
            let what = format!(
                "an entry without \"id\": {}; it says whose entry that is",
                quote(&entry.to_string())
            );
            return Err(wrong(what));
        }
        entry::parse(entry.to_string().as_bytes()).map_err(wrong)
    };
    let members = members.iter().map(entry).collect::<Result<_, _>>()?;
    Ok(Command::Set { members, force })
}

/// `DELETE /members/NAME?force=true`.
fn remove(request: &Request) -> Result<Command, Response> {
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

/// For how long something is to last.
fn time(text: &str) -> Result<Duration, Response> {
    how_long(text).map_err(|why| Response::error(400, format!("\"for\": {why}")))
}

#[cfg(test)]
mod tests;

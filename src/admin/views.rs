//! The views of a node. The code is for load balancers and probes, the body for people.

use serde_json::json;

use crate::core::Phase;
use crate::node::handle::Handle;
use crate::node::history::History;
use crate::node::problems::ProblemKind;
use crate::node::status::Status;

use super::request::Request;
use super::response::Response;

/// The whole status.
pub fn status<H: Handle>(handle: &H) -> Response {
    judged(handle, |_| true)
}

/// Whether the node leads.
pub fn leader<H: Handle>(handle: &H) -> Response {
    judged(handle, Status::leads)
}

/// Whether the node follows a leader.
pub fn follower<H: Handle>(handle: &H) -> Response {
    judged(handle, |status| status.phase() == Some(Phase::Following) && knows_leader(status))
}

/// Whether the node knows the leader, and could vote or lead.
pub fn ready<H: Handle>(handle: &H) -> Response {
    judged(handle, |status| knows_leader(status) && can_write(status))
}

/// The status, with the code that says whether this holds.
fn judged<H: Handle>(handle: &H, holds: fn(&Status) -> bool) -> Response {
    let status = handle.status();
    Response::json(if holds(&status) { 200 } else { 503 }, &status)
}

/// A stalled node, or its leader, may have been replaced without the node knowing it.
fn knows_leader(status: &Status) -> bool {
    status.leader.is_some() && !status.stalled
}

/// Whether its state can be written: otherwise it votes for nobody and leads in no new epoch.
fn can_write(status: &Status) -> bool {
    !status.problems.iter().any(|problem| problem.kind == ProblemKind::Storage.name())
}

/// Whether the election thread runs.
pub fn live<H: Handle>(handle: &H) -> Response {
    if handle.is_live() {
        return Response::json(200, &json!({ "live": true }));
    }
    let sentence = "the election thread has missed its turn; if this lasts, restart the node";
    Response::json(503, &json!({ "live": false, "error": sentence }))
}

/// The leaderships that the node knows.
pub fn history<H: Handle>(handle: &H) -> Response {
    let node = handle.status().node.name;
    Response::json(200, &History { node, leaderships: handle.history().to_vec() })
}

/// How late the node was of late, and how long round trips took.
pub fn delays<H: Handle>(handle: &H) -> Response {
    Response::json(200, &handle.delays())
}

/// What the node took and did in elections: all that is kept, or the part of one epoch.
pub fn trace<H: Handle>(handle: &H, request: &Request) -> Response {
    let query = request.query.as_str();
    let epoch = match query.strip_prefix("epoch=").map(str::parse) {
        None if query.is_empty() => None,
        Some(Ok(epoch)) => Some(epoch),
        _ => {
            let sentence = format!("\"{query}\" is not known here; say epoch=NUMBER or nothing");
            return Response::error(400, sentence);
        }
    };
    let record = handle.record();
    Response::json(
        200,
        &match epoch {
            Some(epoch) => record.of_epoch(epoch),
            None => record,
        },
    )
}

/// The same as a file, with what its core took and put out of late.
pub fn flight<H: Handle>(handle: &H) -> Response {
    Response::of("application/json", handle.recording().into_bytes())
}

/// The last task that the leader handed out, byte for byte.
pub fn task<H: Handle>(handle: &H) -> Response {
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

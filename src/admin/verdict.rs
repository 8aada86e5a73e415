//! `GET /verdict`: how the cluster is, as this node and the other members answer it: the verdict that `electd status`
//! and `health` give, for the page and for programs.

use std::sync::Arc;
use std::time::Instant;

use electd_facts::asked::{Asked, Silence, rivals};
use electd_facts::judge::judge;
use serde_json::Value;

use crate::node::handle::Handle;
use crate::node::status::{MemberStatus, Status};
use crate::node::wall_clock_ms;
use crate::tls::Security;

use super::client::ClientError;
use super::latest::Latest;
use super::limits;
use super::peers;
use super::response::Response;

/// The path of the verdict.
pub const PATH: &str = "/verdict";

/// The answer to one more question than may wait, or to one that has waited for too long.
pub fn too_many() -> Response {
    Response::error(503, "too many ask for the verdict at present: ask again")
}

/// The verdict that was given last, and when the members began to be asked.
#[derive(Debug, Default)]
pub struct Verdicts(Latest<(Instant, Arc<Value>)>);

impl Verdicts {
    /// Asks the members for their status, by HTTPS where this node serves that.
    pub fn answer<H: Handle>(&self, node: &H, security: &Security) -> Response {
        let is_fresh = |(since, _): &(Instant, _), came| *since + limits::FRESH >= came;
        let found = self.0.get(is_fresh, || (Instant::now(), Arc::new(find(node, security))));
        found.map_or_else(too_many, |(_, verdict)| Response::json(200, &*verdict))
    }
}

fn find<H: Handle>(node: &H, security: &Security) -> Value {
    let own = node.status();
    let ask = |members: Vec<&MemberStatus>| {
        peers::ask_all(members, |member| (member.name.clone(), status_of(member, &own, security)))
    };
    let others = own.members.iter().filter(|member| member.id != own.node.id);
    let mut told = ask(others.collect());
    // One that led when it answered may have handed over to one that answered later.
    let answers: Vec<Option<&Status>> =
        told.iter().map(|(_, answer)| answer.as_ref().ok()).chain([Some(&own)]).collect();
    let rivals: Vec<&str> =
        rivals(&answers).into_iter().filter_map(|at| Some(&*told.get(at)?.0)).collect();
    let again = own.members.iter().filter(|member| rivals.contains(&member.name.as_str()));
    let again = ask(again.collect());
    let own = own_status(node);
    told.retain(|(name, _)| !again.iter().any(|(known, _)| known == name));
    told.extend(again);
    told.push((own.node.name.clone(), Ok(own)));
    told.sort_by(|a, b| a.0.cmp(&b.0)); // one order, whoever answers first
    let asked = told
        .iter()
        .map(|(name, answer)| Asked { name, answer: answer.as_ref().map_err(Clone::clone) });
    judge(&asked.collect::<Vec<_>>(), &node.flags()).page()
}

/// The status of this node, as if it had been asked: with when that was.
fn own_status<H: Handle>(node: &H) -> Status {
    let began = wall_clock_ms();
    let status = node.status();
    Status { asked_ms: Some((began, wall_clock_ms())), ..status }
}

/// What this member answers.
fn status_of(member: &MemberStatus, own: &Status, security: &Security) -> Result<Status, Silence> {
    let Some(address) = &member.admin else { return Err(Silence::NotServed) };
    let client = peers::client(member, security, Some(limits::MEMBER));
    let client = client.map_err(|(_, why)| Silence::None(why))?;
    let silence = |error: ClientError| Silence::None(error.to_string());
    let status = client.status(address).map_err(silence)?;
    if (&status.node.id, &status.cluster) == (&member.id, &own.cluster) {
        return Ok(status);
    }
    let (other, cluster) = (&status.node.name, &status.cluster);
    let name = &member.name;
    Err(Silence::Other(format!(
        "at {address} answers {other} of cluster {cluster}, and not {name}"
    )))
}

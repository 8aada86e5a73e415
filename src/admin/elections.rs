//! `GET /elections/last` and `/elections/EPOCH`: an election of the cluster, merged from what its members recorded, as
//! `electd trace` shows it: to a browser as the drawing, to others as JSON.
//!
//! One election is merged at a time, for all who ask meanwhile; and each member's share is bounded, so that a member that
//! lies costs no more than an honest one.

use std::sync::Arc;
use std::time::Instant;

use log::debug;

use crate::node::handle::Handle;
use crate::node::moment_of;
use crate::node::status::{MemberStatus, Status};
use crate::tls::Security;
use crate::trace::election::Election;
use crate::trace::html::{Html, policy};
use crate::trace::merge::{TimedRecord, Which, merge};

use super::latest::Latest;
use super::limits;
use super::peers;
use super::request::Request;
use super::response::Response;

/// A question for an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionQuery {
    which: Which,
    /// Whether a browser asks, which shows the drawing.
    draws: bool,
}

/// The election that this path names.
pub fn named(path: &str) -> Option<Which> {
    match path.strip_prefix("/elections/")? {
        "last" => Some(Which::Last),
        epoch if epoch.bytes().all(|byte| byte.is_ascii_digit()) => {
            epoch.parse().ok().map(Which::Epoch)
        }
        _ => None,
    }
}

/// The question in this request, if it asks for an election.
pub fn asked(request: &Request) -> Option<ElectionQuery> {
    let which = named(&request.path).filter(|_| request.method == "GET")?;
    Some(ElectionQuery { which, draws: request.accepts("text/html") })
}

/// The answer to one more question than may wait, or to one that has waited for too long.
pub fn too_many() -> Response {
    Response::error(503, "too many ask for elections at present: ask again")
}

/// The election that was merged last.
#[derive(Debug, Default)]
pub struct Elections(Latest<FoundElection>);

#[derive(Clone, Debug)]
struct FoundElection {
    which: Which,
    /// When the members began to be asked, and when all had answered.
    since: Instant,
    done: Instant,
    /// None if nobody recorded it.
    election: Option<Arc<Election>>,
}

impl Elections {
    /// Asks the members for what they recorded, by HTTPS where this node serves that.
    pub fn answer<H: Handle>(
        &self,
        asked: ElectionQuery,
        node: &H,
        security: &Security,
    ) -> Response {
        let Some(election) = self.find(asked, || ask(asked.which, node, security)) else {
            return too_many();
        };
        let Some(election) = election else { return nobody_knows(asked.which) };
        match election.unfit() {
            _ if !asked.draws => Response::json(200, &election.object()),
            Some(why) => Response::error(404, why),
            None => {
                // It needs no access to its own address, even if it is a frame of the page.
                let policy = format!(
                    "{}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts",
                    policy()
                );
                Response::page(Html(&election.diagram()).to_string(), policy)
            }
        }
    }

    /// This election, as found for somebody who asked just before, or meanwhile; none if that takes too long. A page asks
    /// as a program, and then for the drawing of the answer.
    fn find(
        &self,
        asked: ElectionQuery,
        ask: impl FnOnce() -> Option<Election>,
    ) -> Option<Option<Arc<Election>>> {
        let found = || {
            let since = Instant::now();
            let election = ask().map(Arc::new);
            FoundElection { which: asked.which, since, done: Instant::now(), election }
        };
        self.0.get(|known, came| known.answers(asked, came), found).map(|found| found.election)
    }
}

impl FoundElection {
    /// Whether this is what somebody is told who asks now.
    fn answers(&self, ElectionQuery { which, draws }: ElectionQuery, now: Instant) -> bool {
        let is_drawn = draws && self.done + limits::DRAWN >= now;
        self.which == which && (is_drawn || self.since + limits::FRESH >= now)
    }
}

fn ask<H: Handle>(which: Which, node: &H, security: &Security) -> Option<Election> {
    let own = node.status();
    let record = node.record().latest().ok();
    let mut records: Vec<TimedRecord> =
        record.map(|record| TimedRecord { record, ahead_ns: 0 }).into_iter().collect();
    records.extend(ask_others(&own, security));
    let merged = merge(&records, which)?;
    let began = moment_of(merged.began_ns);
    Some(Election::new(merged, &own.cluster, began))
}

/// Asks the other members.
fn ask_others(own: &Status, security: &Security) -> Vec<TimedRecord> {
    let others = own.members.iter().filter(|member| member.name != own.node.name).collect();
    let told = peers::ask_all(others, |member| match record_of(member, own, security) {
        Ok(record) => Some(record),
        Err(why) => {
            debug!("{} tells nothing of its elections: {why}", member.name);
            None
        }
    });
    let mut answers: Vec<TimedRecord> = told.into_iter().flatten().collect();
    answers.sort_by(|a: &TimedRecord, b| a.record.node.cmp(&b.record.node)); // one order, whoever answers first
    answers
}

/// What this member recorded lately.
fn record_of(
    member: &MemberStatus,
    own: &Status,
    security: &Security,
) -> Result<TimedRecord, String> {
    let client = peers::client(member, security, Some(limits::MEMBER)).map_err(|(_, why)| why)?;
    let address = member.admin.as_deref().unwrap_or_default();
    let TimedRecord { record, ahead_ns } =
        client.timed_record(address).map_err(|error| error.to_string())?;
    if (&record.node, &record.cluster) != (&member.name, &own.cluster) {
        return Err(format!("at {address} answers {} of cluster {}", record.node, record.cluster));
    }
    let record = record.latest().map_err(|what| format!("its record has {what}"))?;
    Ok(TimedRecord { record, ahead_ns })
}

fn nobody_knows(which: Which) -> Response {
    let sentence = match which {
        Which::Last | Which::All => {
            "no member that answers has recorded an election since its start".to_owned()
        }
        Which::Epoch(epoch) => format!(
            "no member that answers remembers the election of epoch {epoch}: a node forgets the earliest, and by a \
             restart all before it"
        ),
    };
    Response::error(404, sentence)
}

#[cfg(test)]
mod tests;

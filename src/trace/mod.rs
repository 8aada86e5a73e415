//! Events of the core as text, a line each: the input of a member, what it does and why. A [`Diagram`] of them has
//! other forms: JSON, a drawing, and a page for a browser.
//!
//! The log and the status of a node use its words for a change of phase ([`Reason::sentence`]), so that all say the
//! same.
//!
//! [`Reason::sentence`]: crate::core::Reason::sentence

mod bounded;
mod brief;
mod command;
mod diagram;
pub mod election;
mod escaped;
mod event;
pub mod html;
pub mod json;
mod latest;
mod length;
pub mod merge;
mod message;
mod reason;
pub mod record;
pub mod svg;

use std::fmt;

use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::core::{Input, Note, Output, Phase, Redial, Transition};

pub use brief::Brief;
pub use diagram::Diagram;
pub use event::{Event, Unseen, What, gap};
pub use length::length;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it happened.
    pub time: Time,
    /// The receivers, by name.
    pub node: String,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (millis, micros) = (self.time.0 / 1_000_000, self.time.0 / 1000 % 1000);
        write!(f, "{millis:>5}.{micros:03} ms  {:<7}  {}", self.node, self.what)
    }
}

/// Which events make a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The election: its messages, the changes of phase, the ends of connections.
    Election,
    /// All of it, heartbeats and hellos included.
    All,
}

/// Turns events into lines, with the members' names.
#[derive(Clone, Copy, Debug)]
pub struct Narrator<'a> {
    /// The names of the members.
    pub members: &'a MemberList,
    /// Which events make a line.
    pub detail: Detail,
}

impl Narrator<'_> {
    /// The input of a member as a line; none if it is not worth one.
    #[must_use]
    pub fn input(&self, input: &Input) -> Option<String> {
        let all = self.detail == Detail::All;
        match input {
            Input::Message { from, envelope, .. } if self.tells(&envelope.message) => {
                Some(format!("gets {} from {}", self.message(&envelope.message), self.name(*from)))
            }
            Input::Ended { peer, redial, .. } => {
                let redial = match redial {
                    Redial::Accepted => "accepted",
                    Redial::Refused => "refused",
                    Redial::Failed => "failed",
                };
                Some(format!("connection from {} ended, redial {redial}", self.name(*peer)))
            }
            Input::Hello { hello, .. } if all => Some(format!(
                "gets HELLO(incarnation {}, epoch {}, round {}) from {}",
                hello.incarnation,
                hello.view.epoch,
                hello.round,
                self.name(hello.id)
            )),
            Input::Lost { peer } if all => {
                Some(format!("connection to {} ended", self.name(*peer)))
            }
            Input::Refused { peer } if all => Some(format!("dial to {} refused", self.name(*peer))),
            Input::Rejected { peer, reason } if all => {
                Some(format!("rejected by {}: {reason:?}", self.name(*peer)))
            }
            Input::Dead(dead) => Some(format!(
                "gets the certificate of {}, incarnation {}, from a coroner",
                self.name(dead.member),
                dead.incarnation
            )),
            Input::Persisted { number } if all => Some(format!("record {number} is durable")),
            Input::Command { command, .. } => Some(self.command(command)),
            _ => None,
        }
    }

    /// An action of a member as a line; none if it is not worth one.
    #[must_use]
    pub fn output(&self, output: &Output) -> Option<String> {
        let all = self.detail == Detail::All;
        match output {
            Output::Send { to, envelope } if self.tells(&envelope.message) => {
                let to = to.iter().map(|id| self.name(*id)).collect::<Vec<_>>().join(" ");
                Some(format!("sends {} to {to}", self.message(&envelope.message)))
            }
            Output::Changed(transition) => Some(self.transition(transition)),
            Output::Answer { result: Err(refusal), .. } => Some(format!("refuses: {refusal:?}")),
            Output::Note(Note::Connected { peer }) if all => {
                Some(format!("connected to {}", self.name(*peer)))
            }
            Output::Disconnect { peer } if all => Some(format!("disconnects {}", self.name(*peer))),
            Output::Reject { reason, .. } if all => Some(format!("rejects: {reason:?}")),
            Output::Persist { number, record } if all => Some(format!(
                "persists record {number}: epoch {}, reserved {}",
                record.epoch, record.reserved
            )),
            _ => None,
        }
    }

    /// A change of phase, with the leader named afterwards and the reason.
    #[must_use]
    pub fn transition(&self, change: &Transition) -> String {
        let leader = change.leader.map_or_else(|| "none".to_owned(), |id| self.name(id));
        format!(
            "{} -> {}, epoch {}, leader {leader}: {}",
            change.from.name(),
            change.to.name(),
            change.epoch,
            change.reason.sentence(self.members)
        )
    }

    /// The phase after a change in few words, for a drawing.
    #[must_use]
    pub fn phase(&self, change: &Transition) -> String {
        match (change.to, change.leader) {
            (Phase::Leading, _) => format!("leads in epoch {}", change.epoch),
            (Phase::Following, Some(leader)) => format!("follows {}", self.name(leader)),
            (phase, _) => phase.name().to_owned(),
        }
    }

    fn name(&self, id: NodeId) -> String {
        self.members.name(id)
    }
}

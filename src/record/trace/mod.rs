//! Events of the core as text, a line each: the input of a member, what it does and why. A [`Diagram`] of them has
//! other forms: JSON, a drawing, and a page for a browser.
//!
//! The log and the status of a node use its words for a change of phase ([`reason::sentence`]), so that all say the
//! same.

mod bounded;
mod brief;
mod command;
mod diagram;
mod differing;
#[cfg(test)]
mod drawing;
pub mod election;
mod escaped;
mod event;
mod fans;
pub mod html;
pub mod json;
mod latest;
mod legend;
mod length;
mod listed;
pub mod merge;
mod message;
pub mod reason;
pub mod record;
pub mod svg;

use std::fmt;

use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::core::{Input, Note, Output, Phase, Redial, Transition};

pub use brief::Brief;
pub use diagram::Diagram;
pub use event::{Caption, DrawnEvent, DrawnWhat, Unseen, gap};
pub use length::length;
pub use listed::and;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// When it happened.
    pub time: Time,
    /// The receivers, by name.
    pub node: String,
    /// What happened.
    pub what: String,
}

impl fmt::Display for TraceLine {
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
            Input::Untrusted { peer } if all => {
                Some(format!("dial to {}: the two do not trust each other", self.name(*peer)))
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
            reason::sentence(&change.reason, self.members)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::death::{DeathCertificate, Secret};
    use crate::core::detector::ConnectionId;
    use crate::core::durable::Durable;
    use crate::core::membership::{ListVersion, Member, MembershipChange};
    use crate::core::message::{
        Agreement, Envelope, Forwarded, Hello, Message, Refusal, Rejection, View,
    };
    use crate::core::protocol::Protocols;
    use crate::core::settings::{AlgorithmKind, Quorum};
    use crate::core::types::{Drain, Epoch, Incarnation, Rank, Role, Task, Version};
    use crate::core::{CommandId, OperatorCommand, Reason};

    fn c() -> Member {
        let (name, address) = ("c".to_owned(), String::new());
        Member { id: NodeId::default(), name, address, admin: None, role: Role::Member }
    }

    /// What a narrator of all says, and one of the election alone.
    fn told(of: impl Fn(&Narrator) -> Option<String>) -> [Option<String>; 2] {
        let members = MemberList::new(ListVersion::default(), vec![c()]);
        [Detail::All, Detail::Election].map(|detail| of(&Narrator { members: &members, detail }))
    }

    fn envelope(message: Message) -> Envelope {
        Envelope { epoch: Epoch(7), incarnation: Incarnation(1), message }
    }

    /// The hello of c, with another number in each place.
    fn hello() -> Hello {
        let agreement = Agreement {
            cluster: String::new(),
            algorithm: AlgorithmKind::Bully,
            quorum: Quorum::None,
            preempt: String::new(),
            rank: String::new(),
        };
        Hello {
            protocols: Protocols::OURS,
            version: None,
            id: NodeId::default(),
            to: NodeId(uuid::Uuid::from_u128(9)),
            incarnation: Incarnation(3),
            instance: 4,
            agreement: agreement.into(),
            death: None,
            timing: [0; 4],
            rank: Rank { value: 5, id: NodeId::default() },
            eligible: true,
            view: View { epoch: Epoch(7), leader: None },
            round: Epoch(8),
            list: MemberList::new(ListVersion::default(), vec![c()]).into(),
            departures: Vec::new(),
        }
    }

    #[test]
    fn what_a_member_takes_is_told_and_the_lesser_things_in_a_trace_of_all() {
        let (peer, connection) = (NodeId::default(), ConnectionId(1));
        let ended = |redial| Input::Ended { connection, peer, redial };
        let message = |message| {
            let envelope = envelope(message);
            Input::Message { connection, from: peer, envelope }
        };
        let hello = Input::Hello { connection, address: String::new(), hello: hello() };
        let (incarnation, secret) = (Incarnation(3), Secret([0; 32]));
        let reason = Rejection::Cluster { ours: "x".to_owned(), theirs: "y".to_owned() };
        let (id, command) = (CommandId(1), OperatorCommand::Elect);
        for (input, words, is_of_election) in [
            (message(Message::Answer { round: Epoch(8) }), "gets ANSWER(round 8) from c", true),
            (message(Message::Probe { number: 1 }), "gets PROBE from c", false),
            (ended(Redial::Accepted), "connection from c ended, redial accepted", true),
            (ended(Redial::Refused), "connection from c ended, redial refused", true),
            (ended(Redial::Failed), "connection from c ended, redial failed", true),
            (hello, "gets HELLO(incarnation 3, epoch 7, round 8) from c", false),
            (Input::Lost { peer }, "connection to c ended", false),
            (Input::Refused { peer }, "dial to c refused", false),
            (Input::Untrusted { peer }, "dial to c: the two do not trust each other", false),
            (
                Input::Rejected { peer, reason },
                "rejected by c: Cluster { ours: \"x\", theirs: \"y\" }",
                false,
            ),
            (
                Input::Dead(DeathCertificate { member: peer, incarnation, secret }),
                "gets the certificate of c, incarnation 3, from a coroner",
                true,
            ),
            (Input::Persisted { number: 4 }, "record 4 is durable", false),
            (Input::Command { id, command }, "is asked for an election", true),
        ] {
            let [all, election] = told(|narrator| narrator.input(&input));
            assert_eq!(all.as_deref(), Some(words));
            assert_eq!(election.as_deref(), Some(words).filter(|_| is_of_election));
        }
        assert_eq!(told(|narrator| narrator.input(&Input::Tick)), [None, None]);
    }

    #[test]
    fn what_a_member_does_is_told_and_the_lesser_things_in_a_trace_of_all() {
        let (peer, connection) = (NodeId::default(), ConnectionId(1));
        let send = |to, message| Output::Send { to, envelope: envelope(message) };
        let change = Transition {
            from: Phase::Electing,
            to: Phase::Following,
            leader: Some(peer),
            epoch: Epoch(7),
            reason: Reason::Announced(peer),
        };
        let refused = Output::Answer { id: CommandId(1), result: Err(Refusal::NoLeader) };
        let reason = Rejection::Cluster { ours: "x".to_owned(), theirs: "y".to_owned() };
        let record = Durable { epoch: Epoch(7), reserved: Epoch(16), ..Durable::default() };
        for (output, words, is_of_election) in [
            (
                send(vec![peer, peer], Message::Answer { round: Epoch(8) }),
                "sends ANSWER(round 8) to c c",
                true,
            ),
            (send(vec![peer], Message::Probe { number: 1 }), "sends PROBE to c", false),
            (
                Output::Changed(change.clone()),
                "electing -> following, epoch 7, leader c: c leads",
                true,
            ),
            (
                Output::Changed(Transition { leader: None, ..change }),
                "electing -> following, epoch 7, leader none: c leads",
                true,
            ),
            (refused, "refuses: NoLeader", true),
            (Output::Note(Note::Connected { peer }), "connected to c", false),
            (Output::Disconnect { peer }, "disconnects c", false),
            (
                Output::Reject { connection, reason },
                "rejects: Cluster { ours: \"x\", theirs: \"y\" }",
                false,
            ),
            (
                Output::Persist { number: 4, record },
                "persists record 4: epoch 7, reserved 16",
                false,
            ),
        ] {
            let [all, election] = told(|narrator| narrator.output(&output));
            assert_eq!(all.as_deref(), Some(words));
            assert_eq!(election.as_deref(), Some(words).filter(|_| is_of_election));
        }
        let dial = Output::Dial { peer };
        assert_eq!(told(|narrator| narrator.output(&dial)), [None, None]);
    }

    #[test]
    fn each_command_is_told_in_words() {
        let id = NodeId::default();
        let task = Task { version: Version::default(), content: (*b"four").into() };
        let drain = Drain { since: 1, until: None, reason: String::new() };
        let version = Version::default();
        for (command, words) in [
            (OperatorCommand::Elect, "is asked for an election"),
            (OperatorCommand::HandOut { task }, "is given a task of 4 bytes"),
            (OperatorCommand::Drain(drain), "is drained"),
            (OperatorCommand::Undrain, "is asked to undrain"),
            (OperatorCommand::EndPause { version }, "is asked to resume the cluster"),
            (OperatorCommand::Stop, "is asked to stop"),
            (Forwarded::Resign { to: None }.into(), "is asked to resign"),
            (Forwarded::Resign { to: Some(id) }.into(), "is asked to resign to c"),
            (Forwarded::Switchover { to: id }.into(), "is asked to switch over to c"),
            (Forwarded::EndSwitchover.into(), "is asked to end the switchover"),
            (Forwarded::Change(MembershipChange::Add(c())).into(), "is asked to add c"),
            (
                Forwarded::Change(MembershipChange::Remove { id, force: true }).into(),
                "is asked to remove c",
            ),
            (Forwarded::Pause { since: 5, until: None }.into(), "is asked to pause the cluster"),
            (Forwarded::Resume.into(), "is asked to resume"),
        ] {
            let [all, _] = told(|narrator| Some(narrator.command(&command)));
            assert_eq!(all.as_deref(), Some(words));
        }
    }

    #[test]
    fn a_phase_is_told_with_whom_it_is_about() {
        let change = |to, leader| Transition {
            from: Phase::Starting,
            to,
            leader,
            epoch: Epoch(7),
            reason: Reason::Asked,
        };
        let c = Some(NodeId::default());
        for (change, words) in [
            (change(Phase::Leading, c), "leads in epoch 7"),
            (change(Phase::Following, c), "follows c"),
            (change(Phase::Following, None), "following"),
            (change(Phase::Electing, None), "electing"),
        ] {
            assert_eq!(told(|narrator| Some(narrator.phase(&change)))[0].as_deref(), Some(words));
        }
    }

    #[test]
    fn a_line_has_its_time_in_milliseconds() {
        let line =
            TraceLine { time: Time(12_034_567), node: "c".to_owned(), what: "leads".to_owned() };
        assert_eq!(line.to_string(), "   12.034 ms  c        leads");
    }
}

//! A message in few words: all that a drawing shows of it, and all that a node keeps of it. What a message carries
//! besides, which may be a secret, is in none of these.

use super::event::Caption;
use crate::core::membership::MemberList;
use crate::core::message::{Ballot, Heartbeat, Kind, Lap, Message, View};
use crate::core::types::{Epoch, NodeId};

/// What a message is about.
///
/// ```
/// use electd_election::core::membership::{ListVersion, MemberList};
/// use electd_election::core::message::Message;
/// use electd_election::core::types::Epoch;
/// use electd_record::trace::Brief;
///
/// let brief = Brief::of(&Message::Answer { round: Epoch(7) });
/// assert_eq!(brief.label(&MemberList::new(ListVersion::default(), Vec::new())), "ANSWER 7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its kind.
    pub kind: Kind,
    /// The round or epoch that it is about; none if it is about none.
    pub number: Option<Epoch>,
    /// The candidate or the leader that travels around a ring.
    pub about: Option<NodeId>,
    /// The yes or no of a reply.
    pub accepted: Option<bool>,
}

impl Brief {
    /// What this message is about.
    #[must_use]
    pub fn of(message: &Message) -> Brief {
        let (mut about, mut accepted) = (None, None);
        let number = match message {
            Message::Ballot(Ballot { run, candidate, .. }) => {
                about = Some(candidate.rank.id);
                Some(run.epoch)
            }
            Message::Lap(Lap { run, leader, .. }) => {
                about = Some(leader.rank.id);
                Some(run.epoch)
            }
            Message::Reply { accepted: yes, .. } => {
                accepted = Some(*yes);
                None
            }
            Message::AreYouThere { under, .. } => *under,
            Message::Election { round: number, .. }
            | Message::Answer { round: number }
            | Message::Lower { round: number }
            | Message::Halt { round: number, .. }
            | Message::Elected { round: number, .. }
            | Message::Ready { round: number, .. }
            | Message::Coordinator { epoch: number, .. }
            | Message::AreYouNormal { epoch: number, .. }
            | Message::PreVote { epoch: number, .. }
            | Message::VoteRequest { epoch: number, .. }
            | Message::Vote { epoch: number, .. }
            | Message::Heartbeat(Heartbeat { epoch: number, .. })
            | Message::Acknowledge { epoch: number, .. }
            | Message::Preempt { epoch: number, .. }
            | Message::Release { epoch: number, .. }
            | Message::Freed { epoch: number, .. }
            | Message::View(View { epoch: number, .. }) => Some(*number),
            _ => None,
        };
        Brief { kind: message.kind(), number, about, accepted }
    }

    /// It as a drawing shows it.
    #[must_use]
    pub fn caption(&self, members: &MemberList) -> Caption {
        let number = self.number.map(|number| number.0);
        Caption { kind: Some(self.kind), number, label: self.label(members) }
    }

    /// It in few words, such as "ELECTION 1".
    #[must_use]
    pub fn label(&self, members: &MemberList) -> String {
        use Kind::{
            Answer, Coordinator, Elected, Election, Halt, Lower, Preempt, Ready, Release, View,
        };
        let name = self.kind.title();
        let numbered = matches!(
            self.kind,
            Election
                | Answer
                | Lower
                | Halt
                | Elected
                | Ready
                | Coordinator
                | Preempt
                | Release
                | View
        );
        match (self.number.filter(|_| numbered), self.about, self.accepted) {
            (Some(number), Some(about), _) => format!("{name} {number}, {}", members.name(about)),
            (Some(number), None, _) => format!("{name} {number}"),
            (None, _, Some(true)) => format!("{name} yes"),
            (None, _, Some(false)) => format!("{name} no"),
            (None, _, None) => name,
        }
    }

    /// Whether it is a sign of life, which members send as long as they run.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        use Kind::{Acknowledge, Alive, Heartbeat, Probe};
        matches!(self.kind, Heartbeat | Acknowledge | Probe | Alive)
    }
}

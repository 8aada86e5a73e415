//! Messages in words.

use super::{Detail, Narrator};
use crate::core::message::{Kind, Message, View};

impl Narrator<'_> {
    /// Whether messages of this kind make a line.
    pub(super) fn tells(&self, message: &Message) -> bool {
        self.detail == Detail::All || !matches!(message.kind(), Kind::Heartbeat | Kind::Acknowledge)
    }

    /// A message with what it says.
    pub(super) fn message(&self, message: &Message) -> String {
        let name = message.kind().name().to_uppercase();
        let content = match message {
            Message::Election { round, .. } | Message::Answer { round } => format!("round {round}"),
            Message::Coordinator { epoch, .. } | Message::Preempt { epoch } => {
                format!("epoch {epoch}")
            }
            Message::Heartbeat { epoch, number, .. }
            | Message::Acknowledge { epoch, number, .. } => {
                format!("epoch {epoch}, number {number}")
            }
            Message::View(View { epoch, leader: None }) => format!("epoch {epoch}, no leader"),
            Message::View(View { epoch, leader: Some(leader) }) => {
                format!("epoch {epoch}, leader {}", self.members.name(leader.id))
            }
            Message::Release { epoch, successor: None, .. } => format!("epoch {epoch}"),
            Message::Release { epoch, successor: Some(next), .. } => {
                format!("epoch {epoch}, for {}", self.members.name(*next))
            }
            Message::Forward { command, .. } => format!("{command:?}"),
            Message::Outcome { result, .. } => format!("{result:?}"),
        };
        format!("{name}({content})")
    }
}

//! Commands of operators in words.

use super::Narrator;
use crate::core::OperatorCommand;
use crate::core::membership::MembershipChange;
use crate::core::message::Forwarded;

impl Narrator<'_> {
    /// The event in words, without the member's name.
    pub(super) fn command(&self, command: &OperatorCommand) -> String {
        match command {
            OperatorCommand::ForLeader(Forwarded::Drain(_)) => "is to be drained".to_owned(),
            OperatorCommand::ForLeader(command) => {
                format!("is asked to {}", self.forwarded(command))
            }
            OperatorCommand::Elect => "is asked for an election".to_owned(),
            OperatorCommand::HandOut { task } => {
                format!("is given a task of {} bytes", task.content.len())
            }
            OperatorCommand::Drain(_) => "is drained".to_owned(),
            OperatorCommand::EndPause { .. } => "is asked to resume the cluster".to_owned(),
            // The name says all.
            named => format!("is asked to {}", name(named)),
        }
    }

    fn forwarded(&self, command: &Forwarded) -> String {
        match command {
            Forwarded::Resign { to: None } => "resign".to_owned(),
            Forwarded::Resign { to: Some(id) } => format!("resign to {}", self.name(*id)),
            Forwarded::Switchover { to } => format!("switch over to {}", self.name(*to)),
            Forwarded::EndSwitchover => "end the switchover".to_owned(),
            Forwarded::Change(MembershipChange::Add(member)) => format!("add {}", member.name),
            Forwarded::Change(MembershipChange::Remove { id, .. }) => {
                format!("remove {}", self.name(*id))
            }
            Forwarded::Change(MembershipChange::Set(entries)) => {
                let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
                format!("change the entries of {}", names.join(", "))
            }
            Forwarded::Drain(_) => "agree to its drain".to_owned(),
            Forwarded::Pause { .. } => "pause the cluster".to_owned(),
            named => name(named),
        }
    }
}

/// The name of a variant, without what is in it.
fn name(named: &impl std::fmt::Debug) -> String {
    let text = format!("{named:?}").to_lowercase();
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

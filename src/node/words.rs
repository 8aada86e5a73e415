//! The core's refusals and notes, in words for operators.

use super::handle::{CommandError, Outcome};
use crate::core::membership::MemberList;
use crate::core::message::{Done, Refusal, Rejection};
use crate::core::split::Split;
use crate::core::types::Task;

/// A rejected hello, in words: what is wrong, which values, what to do.
pub fn rejection(reason: &Rejection, members: &MemberList) -> String {
    match reason {
        Rejection::Protocol { ours, theirs } => format!(
            "protocols differ: the side that refuses speaks {ours}, the other {theirs}: run the \
             same version of electd"
        ),
        Rejection::Cluster { ours, theirs } => format!(
            "clusters differ: the side that refuses belongs to \"{ours}\", the other to \
             \"{theirs}\": give both the same config, or other addresses"
        ),
        Rejection::UnknownId(id) => format!(
            "id {id} is not in the member list of the side that refuses: give both the same members"
        ),
        Rejection::OwnId(id) => {
            format!("id {id} is that of the side that refuses: give every member an id of its own")
        }
        Rejection::IdInUse { id, address } => format!(
            "id {} ({id}) in use by {address}: another process runs as this member; stop one",
            members.name(*id)
        ),
        Rejection::Disagreement { key, ours, theirs } => {
            format!(
                "{key} differs: the side that refuses has \"{ours}\", the other \"{theirs}\": \
                 give both the same config"
            )
        }
        Rejection::StateLost { id, known, told } => format!(
            "{} came back as its start number {told}, after {known} was met: its state was lost, \
             and with it what it promised: remove it, then add it under a new id",
            members.name(*id)
        ),
        Rejection::WrongAddress { expected, found } => format!(
            "{} answers at the address of {}: correct the addresses",
            members.name(*found),
            members.name(*expected)
        ),
    }
}

/// A meeting of two leaders.
pub fn split(split: &Split, members: &MemberList) -> String {
    let Split { other, theirs, own, lasted, .. } = *split;
    format!(
        "there were two leaders: {} in epoch {theirs} beside this node in epoch {own}, for at most \
         {} ms",
        members.name(other),
        lasted.as_millis()
    )
}

/// What a command achieved.
pub fn outcome(done: &Done, members: &MemberList) -> Outcome {
    match done {
        Done::Called => Outcome { sentence: "an election is under way".into(), successor: None },
        Done::Resigned { epoch, successor } => {
            let successor = successor.map(|id| members.name(id));
            let to = successor.as_deref().unwrap_or("nobody");
            let sentence = format!("the leader of epoch {epoch} handed over to {to}");
            Outcome { sentence, successor }
        }
        Done::TaskTaken => Outcome { sentence: "the task is handed out".into(), successor: None },
        Done::Stopped => Outcome { sentence: "stopping".into(), successor: None },
    }
}

/// Why a command was not carried out.
pub fn refusal(reason: &Refusal, members: &MemberList) -> CommandError {
    let name = |id| members.name(id);
    CommandError::Refused(match *reason {
        Refusal::NoLeader => "no leader is known here, so nobody can resign; try again".into(),
        Refusal::NotLeader => "the leader changed meanwhile; try again".into(),
        Refusal::NoSuccessor => {
            "no other live member may lead: resigning would be an outage".into()
        }
        Refusal::CannotLead(id) => format!("{} is not alive or stands back", name(id)),
        Refusal::Outranked { to, by } => format!(
            "{} ranks higher than {} and would win the election: name it, or stop it first",
            name(by),
            name(to)
        ),
        Refusal::TooMany => "too many commands wait for the leader; try again".into(),
        Refusal::NoReply => {
            return CommandError::Unanswered("the leader did not answer in time".into());
        }
        Refusal::NoTask => "only the algorithm \"halting\" hands out a task".into(),
        Refusal::NotCoordinator(Some(id)) => {
            format!("only the leader takes a task: ask {}", name(id))
        }
        Refusal::NotCoordinator(None) => "only the leader takes a task, and none is known".into(),
        Refusal::TaskTooLong(bytes) => {
            format!("the task has {bytes} bytes; the most is {}", Task::LONGEST)
        }
        Refusal::Stopping => "this node is stopping; ask another".into(),
    })
}

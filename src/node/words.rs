//! The core's refusals and notes, in words for operators.

use std::time::Duration;

use electd_facts::refused::RefusalCause;

use super::clock::moment;
use super::handle::CommandError;
use super::status::Status;
use crate::core::detector::Peer;
use crate::core::membership::{MOST_MEMBERS, MemberList, MembershipChange};
use crate::core::message::{Forwarded, Refusal, Rejection};
use crate::core::types::{Drain, Incarnation, NodeId, Task};
use crate::core::{Core, OperatorCommand, Split};
use crate::trace::{and, length};

/// A rejected hello, in words: what is wrong, and which values. What to do, its cause says.
pub fn rejection(reason: &Rejection, members: &MemberList) -> String {
    match reason {
        Rejection::Protocol { ours, theirs } => {
            format!("protocols differ: the side that refuses speaks {ours}, the other {theirs}")
        }
        Rejection::Cluster { ours, theirs } => format!(
            "clusters differ: the side that refuses belongs to \"{ours}\", the other to \"{theirs}\""
        ),
        Rejection::UnknownId(id) => {
            format!("id {id} is not in the member list of the side that refuses")
        }
        Rejection::Removed(id) => format!("{} was removed from the cluster", members.name(*id)),
        Rejection::OwnId(id) => format!("id {id} is that of the side that refuses"),
        Rejection::IdInUse { id, address } => format!(
            "id {} ({id}) in use by {address}: another process runs as this member",
            members.name(*id)
        ),
        Rejection::Beyond { key, most, told } => format!(
            "the {key} {told} cannot have come about: the side that refuses takes at most {most}; the other \
             runs on a state that is not its own, or is no member"
        ),
        Rejection::Disagreement { key, ours, theirs } => {
            format!("{key} differs: the side that refuses has \"{ours}\", the other \"{theirs}\"")
        }
        Rejection::StateLost { id, known, told } => {
            let came = match *known {
                Incarnation::LOST => "came back without what it had stored".to_owned(),
                known => format!("came back as start {told}, after start {known} was met"),
            };
            format!(
                "{name} {came}: its state was lost, an older copy of it was put back, or another process ran as \
                 {name}, so the votes that it gave are not known",
                name = members.name(*id)
            )
        }
        Rejection::WrongAddress { expected, found } => format!(
            "{} answers at the address of {}, or its host has a file of its own, with other ids",
            members.name(*found),
            members.name(*expected)
        ),
    }
}

/// The cause of a rejection, by which its reader finds what to do.
pub fn refusal_cause(reason: &Rejection) -> RefusalCause {
    match reason {
        Rejection::Protocol { .. } => RefusalCause::Protocol,
        Rejection::Cluster { .. } => RefusalCause::Cluster,
        Rejection::UnknownId(_) => RefusalCause::UnknownId,
        Rejection::Removed(_) => RefusalCause::Removed,
        Rejection::OwnId(_) => RefusalCause::OwnId,
        Rejection::IdInUse { .. } => RefusalCause::IdInUse,
        Rejection::Beyond { .. } => RefusalCause::Beyond,
        Rejection::Disagreement { .. } => RefusalCause::Disagreement,
        Rejection::StateLost { .. } => RefusalCause::StateLost,
        Rejection::WrongAddress { .. } => RefusalCause::WrongAddress,
    }
}

/// The reason to pass over a peer that went away twice in a short time.
pub const UNSTEADY: &str = "comes and goes";

/// Why elections pass over this peer although it is heard, if they do.
pub fn passed_over(core: &Core, peer: &Peer) -> Option<&'static str> {
    if !peer.alive() {
        None
    } else if peer.lines.is_unreachable() {
        Some("heard, but cannot be dialed")
    } else if peer.is_passed_over() {
        Some("was to lead and did not")
    } else if core.comes_and_goes(peer) {
        Some(UNSTEADY)
    } else {
        None
    }
}

/// A peer is heard, but nothing can be sent to it.
pub fn unreachable(peer: NodeId, members: &MemberList) -> String {
    let (name, address) = (members.name(peer), members.get(peer).map_or("", |m| &m.address));
    format!(
        "{name} connects to this node, and nothing could be told to it for the failure time: elections pass \
         it over until it can be dialed at {address}: check that address, and whether something closes it"
    )
}

/// This voter has not met these voters.
pub fn uninformed(voters: &[NodeId], members: &MemberList) -> String {
    let names: Vec<String> = voters.iter().map(|id| members.name(*id)).collect();
    format!(
        "waits for {}: the store of this voter is empty, so it votes for nobody until it has met every other \
         voter once, or a leader leads",
        and(&names)
    )
}

/// What holds after an order to drain a member that was drained already: what the order did not say stays.
pub fn drained_again(order: &OperatorCommand) -> Option<String> {
    let (OperatorCommand::Drain(drain) | OperatorCommand::ForLeader(Forwarded::Drain(drain))) =
        order
    else {
        return None;
    };
    let Drain { since, until, reason } = drain;
    let until = until.map_or_else(|| "it is undrained".to_owned(), moment);
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let since = moment(*since);
    Some(format!("; it was drained already, since {since}, and stays so until {until}{reason}"))
}

/// A meeting of two leaders.
pub fn split(split: &Split, members: &MemberList) -> String {
    let Split { other, theirs, own, lasted, .. } = *split;
    format!(
        "there were two leaders: {} in epoch {theirs} beside this node in epoch {own}, for at most \
         {}",
        members.name(other),
        length(lasted)
    )
}

/// The member that a switchover names leads already, and whether that lasts.
pub fn leads_already(name: &str, status: &Status) -> String {
    let Status { switchover, pause, .. } = status;
    if switchover.as_deref() == Some(name) {
        format!("{name} leads already, by a switchover; nothing changed")
    } else if status.never_preempts() || pause.is_some() {
        format!("{name} leads already; nothing changed")
    } else {
        format!(
            "{name} leads already; nothing changed, and a member that ranks higher may still preempt it (a pause \
             prevents that)"
        )
    }
}

/// What a change of names and addresses does.
const SETTING: &str = "changing it";

/// What a drain does to a leader.
const DRAINING: &str = "draining it";

/// What a command would do to a leader that nobody could succeed.
pub fn act(command: &OperatorCommand) -> &'static str {
    match command {
        OperatorCommand::Drain(_) | OperatorCommand::ForLeader(Forwarded::Drain(_)) => DRAINING,
        OperatorCommand::ForLeader(Forwarded::Change(MembershipChange::Set(_))) => SETTING,
        OperatorCommand::ForLeader(Forwarded::Change(_)) => "removing it",
        _ => "resigning",
    }
}

/// Why a command that does this was not carried out.
pub fn refusal(reason: &Refusal, act: &str, members: &MemberList) -> CommandError {
    let name = |id| members.name(id);
    let refused = if passes(reason) { CommandError::NotNow } else { CommandError::Refused };
    refused(match *reason {
        Refusal::NoLeader => "no leader is known here, so nobody can do it; try again".into(),
        Refusal::NotLeader => "the leader changed meanwhile; try again".into(),
        Refusal::NoSuccessor => format!(
            "no other live member may lead (see who is eligible in `status`): {act} would be an outage"
        ),
        Refusal::LastEligible | Refusal::Undecided => not_drained(reason).into(),
        Refusal::CannotLead(id) => format!("{} cannot lead", name(id)),
        Refusal::Outranked { to, by } => format!(
            "{} comes before {to} and would win the election: name it, or use a switchover to {to}",
            name(by),
            to = name(to)
        ),
        Refusal::Switching(id) | Refusal::NotTaken(id) => not_switched(reason, &name(id)),
        Refusal::OldLeader(leader) if act == DRAINING => {
            old_leader(&name(leader)) + ", or use --force"
        }
        Refusal::OldLeader(leader) => old_leader(&name(leader)),
        Refusal::TooMany => "too many commands wait for the leader; try again".into(),
        Refusal::NoReply => {
            return CommandError::Unanswered("the leader did not answer in time".into());
        }
        Refusal::NoTask => "only the algorithm \"halting\" hands out a task".into(),
        Refusal::NotCoordinator(leader) => not_coordinator(leader.map(name)),
        Refusal::TaskTooLong(bytes) => {
            format!("the task has {bytes} bytes; the most is {}", Task::LONGEST)
        }
        Refusal::Taken { .. }
        | Refusal::RoleStays(_)
        | Refusal::OldMember(_)
        | Refusal::WasRemoved(_)
        | Refusal::ListFull
        | Refusal::NotMember(_)
        | Refusal::ChangeUnderWay
        | Refusal::LosesQuorum { .. }
        | Refusal::LastCandidate
        | Refusal::LastMember
        | Refusal::ListNotConfirmed => not_changed(reason, act, members),
        Refusal::NotStoredYet => {
            return CommandError::Unanswered(
                "the change is made, but too few members have stored it yet; look at the members"
                    .into(),
            );
        }
        Refusal::ChangeUnsure => {
            return CommandError::Unanswered(
                "the leader lost its leadership meanwhile: look at the members to see whether the \
                 change was made"
                    .into(),
            );
        }
        Refusal::HandedOver => "the leader handed over; ask the next one".into(),
        Refusal::Stopping => "this node is stopping; ask another".into(),
    })
}

/// Why a member was not drained.
fn not_drained(reason: &Refusal) -> &'static str {
    match reason {
        Refusal::Undecided => {
            "no leader said in time whether another member that may lead is left: look at `status`, and try again, or use \
             --force"
        }
        _ => {
            "no other live member may lead (see who is eligible in `status`): draining it would be an outage; start or \
             undrain another first, or use --force"
        }
    }
}

/// Why the members were not changed.
fn not_changed(reason: &Refusal, act: &str, members: &MemberList) -> String {
    let name = |id| members.name(id);
    match *reason {
        Refusal::Taken { what, by } if act == SETTING => {
            format!("{} has this {}: no two members share one", name(by), what.name())
        }
        Refusal::RoleStays(id) => format!(
            "{} keeps its role for life: to change it, remove the member and add it under a fresh id",
            name(id)
        ),
        Refusal::OldMember(id) => format!(
            "{} runs an earlier version of electd that does not know that names and addresses change: upgrade it first",
            name(id)
        ),
        Refusal::Taken { what, by } => format!(
            "{} has this {} already: give the new member one of its own",
            name(by),
            what.name()
        ),
        Refusal::WasRemoved(id) => {
            format!("a member with the id {id} was removed before: give the new one a fresh id")
        }
        Refusal::ListFull => format!("{MOST_MEMBERS} members are the most: remove one first"),
        Refusal::NotMember(id) => format!("{} is no member", name(id)),
        Refusal::ChangeUnderWay => {
            "another change of the members is under way: one at a time; try again".into()
        }
        Refusal::LosesQuorum { live, needed } => format!(
            "the quorum would be lost: {live} of the voters would be alive, and {needed} are \
             needed; start the others first, or remove with --force"
        ),
        Refusal::LastCandidate => {
            "nobody would be left who may lead; add another member first".into()
        }
        Refusal::LastMember => {
            "no other member is connected that would learn of it; stop it instead".into()
        }
        Refusal::ListNotConfirmed => {
            "nothing was changed: too few voters confirmed the present members; try again".into()
        }
        _ => "nothing was changed; try again".into(),
    }
}

/// Whether a refusal is over by itself after a while, so that the same command may succeed then.
fn passes(reason: &Refusal) -> bool {
    matches!(
        reason,
        Refusal::NoLeader
            | Refusal::NotLeader
            | Refusal::Switching(_)
            | Refusal::NotTaken(_)
            | Refusal::TooMany
            | Refusal::NotCoordinator(None)
            | Refusal::ChangeUnderWay
            | Refusal::ListNotConfirmed
            | Refusal::HandedOver
            | Refusal::Stopping
            | Refusal::Undecided
    )
}

/// Which member takes a task.
fn not_coordinator(leader: Option<String>) -> String {
    match leader {
        Some(name) => format!("only the leader takes a task: ask {name}"),
        None => "only the leader takes a task, and none is known".into(),
    }
}

/// The leader's version does not know the command.
fn old_leader(name: &str) -> String {
    format!(
        "the leader, {name}, runs an earlier version of electd that does not know this: upgrade it first"
    )
}

/// Why a switchover to this member failed.
fn not_switched(reason: &Refusal, name: &str) -> String {
    match reason {
        Refusal::Switching(_) => format!("a switchover to {name} is under way; try again"),
        _ => format!(
            "{name} did not say in time that it takes over: the leader leads on; try again, or look whether {name} \
             runs an earlier version"
        ),
    }
}

/// Timings in words: heartbeat, failure, message and lease, in nanoseconds.
pub fn timing(nanos: [u64; 4]) -> String {
    let [heartbeat, failure, message, lease] = nanos.map(Duration::from_nanos);
    format!("heartbeat {heartbeat:?}, failure {failure:?}, message {message:?}, lease {lease:?}")
}

#[cfg(test)]
pub(super) mod tests;

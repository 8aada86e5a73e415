//! The commands of a node: each as a command of the core, and its outcome in words.

use std::borrow::Cow;
use std::time::Duration;

use thiserror::Error;

use super::clock::{after, wall_clock_ms};
use super::locks::LockOrder;
use crate::core;
use crate::core::locks::table::LockName;
use crate::core::membership::{Member, MemberList, MembershipChange};
use crate::core::message::{Done, Forwarded};
use crate::core::types::{Drain, NodeId, Task};
use crate::limits::is_reason;
use crate::net::NoAnswer;

/// A command to a node, from its HTTP interface or from a program that embeds it.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, Handle};
/// use std::time::Duration;
///
/// let (length, reason) = (Some(Duration::from_secs(3600)), "new disk".into());
/// let drain = Command::Drain { length, reason, force: false };
/// match node.handle().command(drain, Duration::from_secs(5)) {
///     Ok(outcome) => println!("{}", outcome.sentence),
///     Err(error) => println!("{error}"), // no other member could succeed it
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Call an election. A no-op while one is in progress.
    Elect,
    /// The leader hands over, to the named member if any. Any node passes it on to the leader, and answers when that
    /// leadership has ended: a hold may delay that.
    Resign {
        /// The name of the member that is to lead next.
        to: Option<String>,
    },
    /// The leader hands over to this member, whatever its rank, and nobody preempts that member until it stops
    /// leading, or until [`Command::EndSwitchover`]. Any node passes it on to the leader, and answers when that
    /// leadership has ended.
    Switchover {
        /// The name of the member that is to lead.
        to: String,
    },
    /// Members preempt the leader that a switchover chose like any other again. Any node passes it on to that leader.
    EndSwitchover,
    /// The leader adds this member. Any node passes it on to the leader.
    Add(Member),
    /// The leader gives these members other names and addresses: the ids say whose. Any node passes it on to the leader.
    Set {
        /// Their entries. The roles stay.
        members: Vec<Member>,
        /// Even if a live member does not answer at its new address.
        force: bool,
    },
    /// The leader removes a member; itself after it has handed over. Any node passes it on to the leader.
    Remove {
        /// The name of the member.
        name: String,
        /// Even if no majority is left, or no member that may lead.
        force: bool,
    },
    /// This node does not lead any more, restarts included. If it leads, it hands over first, and the answer waits
    /// for that. The leader is asked first: another member that may lead has to be left.
    Drain {
        /// For how long; without it until [`Command::Undrain`].
        length: Option<Duration>,
        /// The operator's words, at most 200 bytes.
        reason: String,
        /// Even if no other member may lead, or no leader is there to say so.
        force: bool,
    },
    /// This node may lead again, if it was drained or has resigned.
    Undrain,
    /// In the whole cluster no member preempts, and no leader hands over because of its health; a dead leader is
    /// replaced. Any node passes it on to the leader.
    Pause {
        /// For how long; without it until [`Command::Resume`].
        length: Option<Duration>,
    },
    /// The cluster is not paused any more. Any node passes it on to the leader.
    Resume,
    /// The cluster does something with the lock of this name. Any node passes it on.
    Lock {
        /// The name.
        name: LockName,
        /// What is to be done with it.
        order: LockOrder,
    },
    /// The cluster spreads its locks anew: each moves that were better held elsewhere, one after the other. Any node passes
    /// it on to the leader, and answers once that has begun.
    RebalanceLocks,
    /// This node reads its configuration again.
    Reload,
    /// The leader of the halting algorithm hands out this task, of at most 64 KiB.
    HandOut {
        /// Any bytes.
        task: Vec<u8>,
    },
}

impl Command {
    /// The command for the core, by the members and the leader that this node knows. None if the node carries it out
    /// without the core.
    pub(super) fn for_core(
        self,
        members: &MemberList,
        leader: Option<NodeId>,
        drained: Option<Drain>,
    ) -> Result<Option<core::OperatorCommand>, CommandError> {
        let id = |name: &str| named(name, members);
        let since = wall_clock_ms();
        let until = |length: Option<Duration>| length.map(|length| after(since, length));
        Ok(Some(match self {
            Command::Elect => core::OperatorCommand::Elect,
            Command::Resign { to } => {
                let to = to.as_deref().map(id).transpose()?;
                leads_not(to, leader, members)?;
                Forwarded::Resign { to }.into()
            }
            Command::Switchover { to } => Forwarded::Switchover { to: id(&to)? }.into(),
            Command::EndSwitchover => Forwarded::EndSwitchover.into(),
            Command::Add(member) => Forwarded::Change(MembershipChange::Add(member)).into(),
            Command::Set { members, .. } => {
                Forwarded::Change(MembershipChange::Set(members)).into()
            }
            Command::Remove { name, force } => {
                Forwarded::Change(MembershipChange::Remove { id: id(&name)?, force }).into()
            }
            Command::Drain { length, reason, force } => {
                check_shown(&reason)?;
                let drain = over(drained, Drain { since, until: until(length), reason });
                if force {
                    core::OperatorCommand::Drain(drain)
                } else {
                    Forwarded::Drain(drain).into()
                }
            }
            Command::Undrain => core::OperatorCommand::Undrain,
            Command::Pause { length } => Forwarded::Pause { since, until: until(length) }.into(),
            Command::Resume => Forwarded::Resume.into(),
            Command::Reload | Command::RebalanceLocks | Command::Lock { .. } => return Ok(None),
            Command::HandOut { task } => core::OperatorCommand::HandOut { task: Task::new(task) },
        }))
    }
}

/// The members with their names once the leader has carried out this order: a member that it adds is in no list yet.
pub(super) fn members_after<'a>(
    members: &'a MemberList,
    order: &core::OperatorCommand,
) -> Cow<'a, MemberList> {
    match order {
        core::OperatorCommand::ForLeader(Forwarded::Change(change @ MembershipChange::Add(_))) => {
            Cow::Owned(members.changed(members.version(), change))
        }
        _ => Cow::Borrowed(members),
    }
}

/// The drain of a member that may be drained already: what the new order does not say stays as it was.
fn over(known: Option<Drain>, new: Drain) -> Drain {
    let Some(known) = known else { return new };
    let reason = if new.reason.is_empty() { known.reason } else { new.reason };
    Drain { since: known.since, until: new.until.or(known.until), reason }
}

/// The member of this name.
fn named(name: &str, members: &MemberList) -> Result<NodeId, CommandError> {
    members.named(name).map(|member| member.id).ok_or_else(|| {
        let names = members.iter().map(|member| member.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        CommandError::Invalid(format!("no member is named \"{name}\"; there are {names}"))
    })
}

/// A leader cannot resign to itself.
fn leads_not(
    to: Option<NodeId>,
    leader: Option<NodeId>,
    members: &MemberList,
) -> Result<(), CommandError> {
    let Some(id) = to.filter(|to| leader == Some(*to)) else { return Ok(()) };
    let name = members.name(id);
    let what = format!("{name} leads already: name another that is to lead, or none");
    Err(CommandError::Refused(what))
}

/// The reason of a drain is stored in the record, and shown on screens.
fn check_shown(reason: &str) -> Result<(), CommandError> {
    let most = Drain::LONGEST;
    if is_reason(reason) {
        return Ok(());
    }
    let what = format!(
        "the reason has {} bytes: give it at most {most}, and no line breaks, other control characters or marks that turn the direction of text",
        reason.len()
    );
    Err(CommandError::Invalid(what))
}

/// The result of a command, in words and for programs.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, Handle, Outcome};
/// use std::time::Duration;
///
/// let Outcome { sentence, successor } = node.handle().command(Command::Undrain, Duration::from_secs(5))?;
/// println!("{sentence}; next is {}", successor.unwrap_or("nobody".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// One sentence.
    pub sentence: String,
    /// The name of the member that is to start the next election.
    pub successor: Option<String>,
}

impl Outcome {
    /// One sentence, without a successor.
    pub(super) fn plain(sentence: String) -> Outcome {
        Outcome { sentence, successor: None }
    }

    /// The result of a command to this node, with the names of these members.
    pub(super) fn of(done: &Done, own: NodeId, members: &MemberList) -> Outcome {
        let (name, own) = (|id: &NodeId| members.name(*id), members.name(own));
        let successor = match done {
            Done::Resigned { successor, .. } | Done::Drained { successor } => successor.as_ref(),
            _ => None,
        };
        let successor = successor.map(name);
        let sentence = match done {
            Done::Called => "an election is under way".to_owned(),
            Done::Resigned { epoch, .. } => {
                let to = successor.as_deref().unwrap_or("nobody");
                format!("the leader of epoch {epoch} handed over to {to}")
            }
            Done::Leads(id) => format!("{} leads already", name(id)),
            Done::SwitchoverEnded => {
                "no switchover keeps the leader from being preempted".to_owned()
            }
            Done::Set => "the members have these names and addresses now".to_owned(),
            Done::Added(id) => format!("{} belongs to the cluster now", name(id)),
            Done::Removed { id, stored, handed_over } => {
                let first = if *handed_over { " handed over first and" } else { "" };
                let unsure =
                    if *stored { "" } else { "; no majority of the others has stored so yet" };
                format!("{}{first} is removed from the cluster{unsure}", name(id))
            }
            Done::TaskTaken => "the task is handed out".to_owned(),
            Done::Drained { .. } => {
                let to = successor.as_ref().map(|name| format!(", and hands over to {name}"));
                format!("{own} does not lead from now on{}", to.unwrap_or_default())
            }
            Done::MayDrain => format!("{own} may be drained"),
            Done::Undrained => format!("{own} may lead again"),
            Done::Paused => "the cluster is paused".to_owned(),
            Done::Resumed => "the cluster is not paused any more".to_owned(),
            Done::Stopped => "stopping".to_owned(),
        };
        Outcome { sentence, successor }
    }
}

/// Why a command was not carried out.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// use electd::node::handle::{Command, CommandError, Handle};
/// use std::time::Duration;
///
/// let resign = Command::Resign { to: Some("nobody".into()) };
/// let error = node.handle().command(resign, Duration::from_secs(5)).unwrap_err();
/// assert!(matches!(error, CommandError::Invalid(_)), "there is no such member");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The request itself is wrong, such as the name of no member.
    #[error("{0}")]
    Invalid(String),
    /// The state of the cluster forbids it.
    #[error("{0}")]
    Refused(String),
    /// The same, but for a while: something else is under way, or no leader is known yet. The same command may succeed
    /// later.
    #[error("{0}")]
    NotNow(String),
    /// The node, or the leader it asked, did not answer in time.
    #[error("{0}")]
    Unanswered(String),
}

/// The election thread gives no answer.
pub(super) fn unanswered(why: NoAnswer) -> CommandError {
    let what = match why {
        NoAnswer::Late => "this node did not answer in time",
        NoAnswer::Never => "this node is stopping",
    };
    CommandError::Unanswered(what.to_owned())
}

#[cfg(test)]
mod tests;

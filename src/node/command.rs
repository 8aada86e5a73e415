//! The commands of a node: each as a command of the core, and its outcome in words.

use std::time::Duration;

use thiserror::Error;

use super::clock::{after, wall_clock_ms};
use crate::core;
use crate::core::membership::{Change, Member, MemberList};
use crate::core::message::{Done, Forwarded};
use crate::core::types::{Drain, NodeId, Task};
use crate::limits::is_reason;

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
    ) -> Result<Option<core::Command>, CommandError> {
        let id = |name: &str| named(name, members);
        let since = wall_clock_ms();
        let until = |length: Option<Duration>| length.map(|length| after(since, length));
        Ok(Some(match self {
            Command::Elect => core::Command::Elect,
            Command::Resign { to } => {
                let to = to.as_deref().map(id).transpose()?;
                leads_not(to, leader, members)?;
                Forwarded::Resign { to }.into()
            }
            Command::Switchover { to } => Forwarded::Switchover { to: id(&to)? }.into(),
            Command::EndSwitchover => Forwarded::EndSwitchover.into(),
            Command::Add(member) => Forwarded::Change(Change::Add(member)).into(),
            Command::Remove { name, force } => {
                Forwarded::Change(Change::Remove { id: id(&name)?, force }).into()
            }
            Command::Drain { length, reason, force } => {
                may_be_shown(&reason)?;
                let drain = over(drained, Drain { since, until: until(length), reason });
                if force { core::Command::Drain(drain) } else { Forwarded::Drain(drain).into() }
            }
            Command::Undrain => core::Command::Undrain,
            Command::Pause { length } => Forwarded::Pause { since, until: until(length) }.into(),
            Command::Resume => Forwarded::Resume.into(),
            Command::Reload => return Ok(None),
            Command::HandOut { task } => core::Command::HandOut { task: Task::new(task) },
        }))
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
fn may_be_shown(reason: &str) -> Result<(), CommandError> {
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
    /// The node, or the leader it asked, did not answer in time.
    #[error("{0}")]
    Unanswered(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Epoch;
    use crate::node::words::tests::{id, members};

    #[test]
    fn each_outcome_is_a_sentence_with_the_names_of_members() {
        let (own, successor) = (id(1), Some(id(2)));
        let removed = |stored, handed_over| Done::Removed { id: id(3), stored, handed_over };
        let outcomes = [
            Done::Called,
            Done::Resigned { epoch: Epoch(7), successor },
            Done::Resigned { epoch: Epoch(7), successor: None },
            Done::SwitchoverEnded,
            Done::Added(id(3)),
            removed(true, false),
            removed(true, true),
            removed(false, false),
            Done::TaskTaken,
            Done::Drained { successor },
            Done::Drained { successor: None },
            Done::MayDrain,
            Done::Undrained,
            Done::Paused,
            Done::Resumed,
            Done::Leads(id(2)),
            Done::Stopped,
        ];
        let told = outcomes.map(|done| {
            let Outcome { sentence, successor } = Outcome::of(&done, own, &members());
            format!("{sentence} (next: {})", successor.as_deref().unwrap_or("-"))
        });
        insta::assert_snapshot!("outcomes", told.join("\n"));
    }

    #[test]
    fn what_a_later_drain_does_not_say_stays_as_it_was() {
        let drain = |since, until, reason: &str| Drain { since, until, reason: reason.to_owned() };
        let known = || Some(drain(1, Some(5), "new disk"));
        for (known, new, counts) in [
            (None, drain(3, None, ""), drain(3, None, "")),
            (known(), drain(3, None, ""), drain(1, Some(5), "new disk")),
            (known(), drain(3, Some(9), "new host"), drain(1, Some(9), "new host")),
        ] {
            assert_eq!(over(known, new), counts);
        }
    }

    #[test]
    fn a_reason_that_could_spoil_a_screen_or_is_too_long_is_refused() {
        let ask = |reason: String| {
            let drain = Command::Drain { length: None, reason, force: false };
            drain.for_core(&members(), None, None).map(|order| order.is_some())
        };
        for fine in [String::new(), "new disk".to_owned(), "x".repeat(Drain::LONGEST)] {
            assert_eq!(ask(fine), Ok(true));
        }
        for odd in ["x".repeat(Drain::LONGEST + 1), "a\nb".to_owned(), "\u{202e}".to_owned()] {
            let words = format!(
                "the reason has {} bytes: give it at most 200, and no line breaks, other control characters or marks \
                 that turn the direction of text",
                odd.len()
            );
            assert_eq!(ask(odd), Err(CommandError::Invalid(words)));
        }
    }

    /// Each with the names of members as their ids, and its times by the clock of this host.
    #[test]
    fn each_command_is_one_of_the_core() {
        let core = |command: Command| command.for_core(&members(), Some(id(1)), None);
        let b = || "b".to_owned();
        let member = members().get(id(3)).unwrap().clone();
        let task = b"work".to_vec();
        for (command, expected) in [
            (Command::Elect, core::Command::Elect),
            (Command::Resign { to: None }, Forwarded::Resign { to: None }.into()),
            (Command::Resign { to: Some(b()) }, Forwarded::Resign { to: Some(id(2)) }.into()),
            (Command::Switchover { to: b() }, Forwarded::Switchover { to: id(2) }.into()),
            (Command::EndSwitchover, Forwarded::EndSwitchover.into()),
            (Command::Add(member.clone()), Forwarded::Change(Change::Add(member)).into()),
            (
                Command::Remove { name: b(), force: true },
                Forwarded::Change(Change::Remove { id: id(2), force: true }).into(),
            ),
            (
                Command::Remove { name: b(), force: false },
                Forwarded::Change(Change::Remove { id: id(2), force: false }).into(),
            ),
            (Command::Undrain, core::Command::Undrain),
            (Command::Resume, Forwarded::Resume.into()),
            (
                Command::HandOut { task: task.clone() },
                core::Command::HandOut { task: Task::new(task) },
            ),
        ] {
            assert_eq!(core(command), Ok(Some(expected)));
        }
        assert_eq!(core(Command::Reload), Ok(None), "the node reads its file");
        let begin = wall_clock_ms();
        for (length, lasts) in [(None, None), (Some(Duration::from_secs(60)), Some(60_000))] {
            let drain = |force| Command::Drain { length, reason: "new disk".to_owned(), force };
            let (forced, drain) = (core(drain(true)), core(drain(false)));
            assert!(matches!(forced, Ok(Some(core::Command::Drain(_)))), "{forced:?}");
            let pause = core(Command::Pause { length });
            let Ok(Some(core::Command::ForLeader(Forwarded::Drain(drain)))) = drain else {
                panic!("{drain:?}")
            };
            let Drain { since, until, reason } = drain;
            assert_eq!((until, reason.as_str()), (lasts.map(|lasts| since + lasts), "new disk"));
            let paused = pause.unwrap().unwrap();
            let core::Command::ForLeader(Forwarded::Pause { since: later, until }) = paused else {
                panic!("{paused:?}")
            };
            assert_eq!(until, lasts.map(|lasts| later + lasts));
            assert!(begin <= since && since <= later && later <= wall_clock_ms());
        }
        let known = Drain { since: 1, until: None, reason: "new host".to_owned() };
        let again = Command::Drain { length: None, reason: String::new(), force: true };
        let again = again.for_core(&members(), None, Some(known.clone()));
        assert_eq!(again, Ok(Some(core::Command::Drain(known))), "since when stays");
    }

    #[test]
    fn a_command_that_names_no_member_or_the_leader_itself_is_refused_in_words() {
        let core = |command: Command, leader| command.for_core(&members(), leader, None);
        let nobody = "no member is named \"x\"; there are a, b, c";
        let x = || "x".to_owned();
        for command in [
            Command::Resign { to: Some(x()) },
            Command::Switchover { to: x() },
            Command::Remove { name: x(), force: true },
        ] {
            assert_eq!(core(command, None), Err(CommandError::Invalid(nobody.to_owned())));
        }
        let to_b = || Command::Resign { to: Some("b".to_owned()) };
        let leads = "b leads already: name another that is to lead, or none";
        let refused = CommandError::Refused(leads.to_owned());
        assert_eq!(refused.to_string(), leads);
        assert_eq!(core(to_b(), Some(id(2))), Err(refused));
        let resign = core::Command::from(Forwarded::Resign { to: Some(id(2)) });
        assert_eq!(core(to_b(), None), Ok(Some(resign)));
        let none = core::Command::from(Forwarded::Resign { to: None });
        assert_eq!(core(Command::Resign { to: None }, Some(id(2))), Ok(Some(none)));
    }
}

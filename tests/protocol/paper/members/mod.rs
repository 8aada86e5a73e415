//! Changes of the member list, as one member sees them: the leader that makes them (`changes.rs`, `entries.rs`), also
//! by force (`forced.rs`), a member that hears of another list (`lists.rs`, `rivals.rs`), the members
//! that are admitted (`hello.rs`), the peers that are believed about the list (`strangers.rs`), and
//! when a removed member is told (`settled.rs`). This file has their messages.

mod changes;
mod entries;
mod forced;
mod hello;
mod lists;
mod rivals;
mod settled;
mod strangers;
mod undone;

use std::sync::Arc;

use electd_election::core::detector::ConnectionId;
use electd_election::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use electd_election::core::message::{
    Done, Envelope, Forwarded, Message, Opinion, Refusal, Rejection,
};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::{Epoch, Incarnation, Role};
use electd_election::core::{CommandId, Input, Output, Phase};

use crate::paper::process::{Process, Sent, id, settings};

fn member(number: u8) -> Member {
    Member {
        id: id(number),
        name: format!("P{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    }
}

fn add(number: u8) -> MembershipChange {
    MembershipChange::Add(member(number))
}

fn remove(number: u8, force: bool) -> MembershipChange {
    MembershipChange::Remove { id: id(number), force }
}

fn version(epoch: u64, counter: u64) -> ListVersion {
    ListVersion { epoch: Epoch(epoch), counter }
}

/// A list of these members.
fn list(version: ListVersion, numbers: &[u8]) -> Arc<MemberList> {
    let members = numbers.iter().map(|number| member(*number)).collect();
    Arc::new(MemberList::new(version, members))
}

/// The same, without one that was removed.
fn without(version: ListVersion, removed: u8) -> Arc<MemberList> {
    let members = (1..=5).filter(|number| *number != removed).map(member).collect();
    Arc::new(MemberList::new(version, members).with_removed(vec![id(removed)]))
}

fn tells(list: &Arc<MemberList>) -> Message {
    Message::List { list: list.clone() }
}

fn listed(epoch: u64, counter: u64) -> Message {
    Message::Listed { version: version(epoch, counter) }
}

/// The present list of a member, by numbers.
fn numbers(process: &Process) -> Vec<u8> {
    process.core.members().iter().map(|member| member.id.0.as_bytes()[15]).collect()
}

/// The messages of a process, and its answers to commands, while its disk writes nothing.
#[derive(Default)]
struct Reaction {
    sent: Sent,
    answers: Vec<Result<Done, Refusal>>,
    records: Vec<u64>,
}

fn tell(process: &mut Process, input: Input) -> Reaction {
    let mut reaction = Reaction::default();
    for output in process.outputs(input) {
        match output {
            Output::Send { to, envelope } => {
                let to = to.iter().map(|id| id.0.as_bytes()[15]).collect();
                reaction.sent.push((to, envelope.message));
            }
            Output::Answer { result, .. } => reaction.answers.push(result),
            Output::Persist { number, .. } => reaction.records.push(number),
            _ => {}
        }
    }
    reaction
}

fn ask(process: &mut Process, change: MembershipChange) -> Reaction {
    tell(process, Input::Command { id: CommandId(1), command: Forwarded::Change(change).into() })
}

/// All that was written so far is durable.
fn disk(process: &mut Process) -> Reaction {
    tell(process, Input::Persisted { number: 1000 })
}

fn hears(process: &mut Process, from: u8, message: Message) -> Reaction {
    hears_in(process, from, 0, message)
}

/// A member says this that is in this epoch.
fn hears_in(process: &mut Process, from: u8, epoch: u64, message: Message) -> Reaction {
    let envelope = Envelope { epoch: Epoch(epoch), incarnation: Incarnation(1), message };
    let connection = ConnectionId(u64::from(from));
    tell(process, Input::Message { connection, from: id(from), envelope })
}

fn lists(sent: &Sent) -> Vec<(Vec<u8>, ListVersion)> {
    let list = |(to, message): &(Vec<u8>, Message)| match message {
        Message::List { list } => Some((to.clone(), list.version())),
        _ => None,
    };
    sent.iter().filter_map(list).collect()
}

/// Another says hello, with this list. Why it is refused, if it is.
fn says_hello(process: &mut Process, other: u8, list: &Arc<MemberList>) -> Option<Rejection> {
    let hello = process.hello(other, list).remove(0);
    let answer = process.outputs(hello).into_iter().find_map(|output| match output {
        Output::Reject { reason, .. } => Some(Some(reason)),
        Output::Welcome { .. } => Some(None),
        _ => None,
    });
    answer.expect("a hello is answered")
}

/// A leader makes this change, as P1 and P2 have confirmed its list with it; no other member has stored
/// it.
fn makes(leader: &mut Process, change: MembershipChange) {
    ask(leader, change);
    disk(leader);
    for voter in [1, 2] {
        hears(leader, voter, listed(1, 1));
    }
}

/// P5 leads P1 to P5 in epoch 1.
fn leader(quorum: Quorum) -> Process {
    elected(Settings { quorum, ..settings(AlgorithmKind::Bully, 5) })
}

/// P5 leads in epoch 1, with a majority by the votes of P1, P2 and itself.
fn elected(settings: Settings) -> Process {
    let quorum = settings.quorum;
    let mut p5 = Process::with(settings).0;
    p5.calls();
    if quorum == Quorum::Majority {
        let agrees = Message::PreVoteReply { number: 1, opinion: Opinion::Yes, epoch: Epoch(0) };
        let votes_for = Message::Vote { incarnation: Incarnation(1), number: 2, epoch: Epoch(1) };
        for says in [agrees, votes_for] {
            for voter in [1, 2] {
                hears(&mut p5, voter, says.clone());
            }
            disk(&mut p5);
        }
    }
    assert_eq!(p5.core.phase(), Phase::Leading, "{quorum:?}");
    p5
}

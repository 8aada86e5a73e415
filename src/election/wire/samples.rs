//! One good frame of each kind, for the tests. The snapshot `frames` is made from them, and the test against a real
//! process (`tests/process/impostor`) alters them: add each new kind of message here, and accept the new snapshot.

use std::sync::Arc;
use std::time::Duration;

use crate::core::death::{DeathCertificate, DeathHash, Secret};
use crate::core::departures::Departure;
use crate::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use crate::core::message::{
    Agreement, Ballot, Candidate, Done, Envelope, Forwarded, Heartbeat, Hello, Lap, Liveness,
    MemberReport, Message, Opinion, Refusal, Rejection, Run, Taken, View,
};
use crate::core::protocol::Protocols;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{Drain, Epoch, Incarnation, NodeId, Pause, Rank, Role, Task, TaskVersion};

mod locks;

/// The id with this number.
pub fn id(number: u128) -> NodeId {
    NodeId(uuid::Builder::from_random_bytes(number.to_be_bytes()).into_uuid())
}

/// Every kind of message, and every kind of opinion and command in it.
pub fn every_message() -> Vec<Message> {
    let (epoch, round, number) = (Epoch(7), Epoch(8), 9);
    let rank = Rank { value: -3, id: id(4) };
    let lease = Duration::from_millis(400);
    let list = ListVersion { epoch, counter: 2 };
    let member = Member {
        id: id(6),
        name: "node-6".into(),
        address: "host:7101".into(),
        admin: Some("host:7201".into()),
        role: Role::Witness,
    };
    let leader =
        Member { id: id(4), name: "node-4".into(), address: "host:7104".into(), ..member.clone() };
    let leader = Member { admin: None, role: Role::Member, ..leader };
    let present = MemberList::new(list, vec![member.clone(), leader]).with_removed(vec![id(2)]);
    let run = Run { epoch: round, initiator: id(3) };
    let candidate = Candidate { eligible: true, rank, incarnation: Incarnation(5) };
    let version = TaskVersion { epoch, counter: 3 };
    let task = Task { version, content: (*b"any \xff\0 bytes").into() };
    let report = MemberReport {
        id: id(1),
        incarnation: Incarnation(2),
        status: Liveness::Suspected,
        eligible: false,
        value: -7,
    };
    let heartbeat = Message::Heartbeat(Heartbeat { members: [report].into(), ..heartbeat() });
    let incarnation = Incarnation(6);
    let acknowledge =
        Message::Acknowledge { incarnation, epoch, number, rank, eligible: true, pause: None };
    let yes_if = Opinion::YesIf { released: round, wait: lease };
    let mut messages = vec![
        Message::Election { round, rank, eligible: true },
        Message::Answer { round },
        Message::Coordinator { epoch, rank },
        heartbeat,
        Message::PreVote { number, epoch, list },
        Message::PreVoteReply { number, opinion: yes_if, epoch },
        Message::PreVoteReply { number, opinion: Opinion::Yes, epoch },
        Message::VoteRequest { number, epoch, lease, list },
        Message::Vote { incarnation: Incarnation(3), number, epoch },
        Message::Denial { number, opinion: Opinion::No { wait: lease }, epoch },
        Message::Denial { number, opinion: Opinion::Uninformed { wait: lease }, epoch },
        acknowledge,
        Message::View(View { epoch, leader: Some(rank) }),
        Message::Preempt { epoch, rank, votes: vec![id(3), id(4)] },
        Message::Lower { round },
        Message::AreYouThere { number, under: Some(epoch), rank, eligible: true },
        Message::AreYouNormal { number, epoch },
        Message::Halt { number, round, rank, incumbent: true },
        Message::Elected { number, round, task: task.version },
        Message::Task(task.clone()),
        Message::Ready { number, round, task },
        Message::Reply { number, accepted: false },
        Message::Ballot(Ballot { run, candidate, hops: 3 }),
        Message::Lap(Lap { run, leader: candidate, hops: 4 }),
        Message::Probe { number },
        Message::Alive { number },
        Message::Freed { leader: rank.id, epoch },
        Message::Dead(certificate()),
        Message::Timing { timing: [100, 500, 50, 400].map(|ms| ms * 1_000_000) },
        Message::Release { epoch, successor: None, eligible: false },
        Message::List { list: Arc::new(present) },
        Message::Listed { version: list },
    ];
    messages.extend([paused(), switched_over(), commands(member), vec![locks::words()]].concat());
    messages
}

/// A heartbeat without reports.
fn heartbeat() -> Heartbeat {
    Heartbeat {
        epoch: Epoch(7),
        number: 9,
        rank: Rank { value: -3, id: id(4) },
        lease: Duration::from_millis(400),
        settled: ListVersion { epoch: Epoch(7), counter: 2 },
        members: [].into(),
        pause: None,
        chosen: None,
        ending: false,
    }
}

/// The messages about a pause.
fn paused() -> Vec<Message> {
    let (epoch, number, rank) = (Epoch(7), 9, Rank { value: -3, id: id(4) });
    let version = ListVersion { epoch, counter: 2 };
    let pause = Some(Pause { version, paused: true, since: 5, until: Some(9) });
    let incarnation = Incarnation(6);
    vec![
        Message::Heartbeat(Heartbeat { pause, ..heartbeat() }),
        Message::Acknowledge { incarnation, epoch, number, rank, eligible: true, pause },
        Message::Forward { number, command: Forwarded::Pause { since: 5, until: Some(9) } },
        Message::Forward { number, command: Forwarded::Resume },
        Message::Outcome { number, result: Ok(Done::Paused) },
        Message::Outcome { number, result: Ok(Done::Resumed) },
    ]
}

/// The messages about a switchover.
fn switched_over() -> Vec<Message> {
    let (number, chosen) = (9, Some(id(3)));
    vec![
        Message::Heartbeat(Heartbeat { chosen, ending: true, ..heartbeat() }),
        Message::Forward { number, command: Forwarded::Switchover { to: id(3) } },
        Message::Forward { number, command: Forwarded::EndSwitchover },
        Message::Outcome { number, result: Ok(Done::Leads(id(3))) },
        Message::Outcome { number, result: Ok(Done::SwitchoverEnded) },
        Message::Outcome { number, result: Err(Refusal::Switching(id(3))) },
        Message::Outcome { number, result: Err(Refusal::NotTaken(id(3))) },
    ]
}

/// Forwarded commands, and their outcomes.
fn commands(member: Member) -> Vec<Message> {
    let (epoch, number) = (Epoch(7), 9);
    let removed = Done::Removed { id: id(2), stored: true, handed_over: false };
    let taken = Refusal::Taken { what: Taken::Admin, by: id(1) };
    let done = Done::Resigned { epoch, successor: Some(id(2)) };
    let set = MembershipChange::Set(vec![member.clone()]);
    let outranked = Refusal::Outranked { to: id(1), by: id(2) };
    let drain = Drain { since: 5, until: Some(9), reason: "new disk".to_owned() };
    vec![
        Message::Forward { number, command: Forwarded::Resign { to: Some(id(3)) } },
        Message::Forward { number, command: Forwarded::Change(MembershipChange::Add(member)) },
        Message::Forward {
            number,
            command: Forwarded::Change(MembershipChange::Remove { id: id(3), force: true }),
        },
        Message::Forward { number, command: Forwarded::Drain(drain) },
        Message::Outcome { number, result: Ok(Done::MayDrain) },
        Message::Outcome { number, result: Err(Refusal::LastEligible) },
        Message::Forward { number, command: Forwarded::Change(set) },
        Message::Outcome { number, result: Ok(Done::Set) },
        Message::Outcome { number, result: Err(Refusal::RoleStays(id(3))) },
        Message::Outcome { number, result: Err(Refusal::OldMember(id(3))) },
        Message::Outcome { number, result: Ok(Done::Added(id(3))) },
        Message::Outcome { number, result: Ok(removed) },
        Message::Outcome { number, result: Err(taken) },
        Message::Outcome { number, result: Ok(done) },
        Message::Outcome { number, result: Err(outranked) },
    ]
}

/// Everything that a command may come to.
pub fn every_outcome() -> Vec<Result<Done, Refusal>> {
    let done = [
        Done::Called,
        Done::Resigned { epoch: Epoch(7), successor: None },
        Done::Stopped,
        Done::Added(id(3)),
        Done::Removed { id: id(2), stored: true, handed_over: false },
        Done::Set,
        Done::Drained { successor: Some(id(2)) },
        Done::MayDrain,
        Done::Undrained,
        Done::Paused,
        Done::Resumed,
        Done::Leads(id(3)),
        Done::SwitchoverEnded,
        Done::TaskTaken,
    ];
    let taken = [Taken::Id, Taken::Name, Taken::Address, Taken::Admin];
    let refused = [
        Refusal::NoLeader,
        Refusal::NotLeader,
        Refusal::NoSuccessor,
        Refusal::LastEligible,
        Refusal::Undecided,
        Refusal::CannotLead(id(3)),
        Refusal::Outranked { to: id(1), by: id(2) },
        Refusal::Switching(id(3)),
        Refusal::NotTaken(id(3)),
        Refusal::OldLeader(id(3)),
        Refusal::TooMany,
        Refusal::NoReply,
        Refusal::Stopping,
        Refusal::NoTask,
        Refusal::NotCoordinator(Some(id(3))),
        Refusal::NotCoordinator(None),
        Refusal::TaskTooLong(65_537),
        Refusal::WasRemoved(id(3)),
        Refusal::ListFull,
        Refusal::NotMember(id(3)),
        Refusal::RoleStays(id(3)),
        Refusal::OldMember(id(3)),
        Refusal::ChangeUnderWay,
        Refusal::LosesQuorum { live: 1, needed: 2 },
        Refusal::LastCandidate,
        Refusal::LastMember,
        Refusal::ListNotConfirmed,
        Refusal::NotStoredYet,
        Refusal::ChangeUnsure,
        Refusal::HandedOver,
    ];
    let taken = taken.map(|what| Refusal::Taken { what, by: id(1) });
    let refused = refused.into_iter().chain(taken).map(Err);
    done.into_iter().map(Ok).chain(refused).collect()
}

/// A message in its envelope.
pub fn envelope(message: Message) -> Envelope {
    Envelope { epoch: Epoch(1), incarnation: Incarnation(2), message }
}

/// The proof of a death.
pub fn certificate() -> DeathCertificate {
    let (incarnation, secret) = (Incarnation(3), Secret([0x5c; 32]));
    DeathCertificate { member: id(4), incarnation, secret }
}

/// The hello of member 1 to member 2.
pub fn hello() -> Hello {
    let member = |number: u128| Member {
        id: id(number),
        name: format!("node-{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    };
    let agreement = Agreement {
        cluster: "test".into(),
        algorithm: AlgorithmKind::Bully,
        quorum: Quorum::Majority,
        preempt: "always".into(),
        rank: "id".into(),
    };
    let rank = Rank { value: -3, id: id(1) };
    let version = ListVersion { epoch: Epoch(3), counter: 2 };
    let list = MemberList::new(version, vec![member(1), member(2)]).with_removed(vec![id(9)]);
    Hello {
        protocols: Protocols::OURS,
        version: None,
        id: id(1),
        to: id(2),
        incarnation: Incarnation(4),
        instance: u64::MAX,
        agreement: Arc::new(agreement),
        death: Some(DeathHash([0xab; 32])),
        timing: [100, 500, 50, 400].map(|ms| ms * 1_000_000),
        rank,
        eligible: true,
        view: View { epoch: Epoch(7), leader: Some(rank) },
        round: Epoch(8),
        list: Arc::new(list),
        departures: vec![Departure {
            member: id(2),
            counts_for: Duration::from_millis(7),
            again: true,
        }],
    }
}

/// Every reason to refuse a hello.
pub fn every_rejection() -> Vec<Rejection> {
    let (ours, theirs) = ("one".to_owned(), "other".to_owned());
    vec![
        Rejection::Protocol { ours: 5, theirs: 6 },
        Rejection::Cluster { ours: ours.clone(), theirs: theirs.clone() },
        Rejection::UnknownId(id(1)),
        Rejection::OwnId(id(1)),
        Rejection::IdInUse { id: id(1), address: "[::1]:7101".into() },
        Rejection::Disagreement { key: "preempt".into(), ours, theirs },
        Rejection::WrongAddress { expected: id(1), found: id(2) },
        Rejection::StateLost { id: id(1), known: Incarnation(3), told: Incarnation(2) },
        Rejection::Removed(id(1)),
        Rejection::Beyond { key: "epoch".into(), most: 4_294_967_296, told: u64::MAX },
    ]
}

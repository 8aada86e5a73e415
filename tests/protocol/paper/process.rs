//! The process P of the papers: one member alone, which hears what others would say.

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::detector::ConnectionId;
use electd_election::core::durable::{Durable, VoterRecord};
use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::message::{
    Done, Envelope, Forwarded, Heartbeat, Hello, Message, Refusal, View,
};
use electd_election::core::restart::{KeptState, Restored, restart};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Quorum, Settings, Timing};
use electd_election::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Task, Time};
use electd_election::core::{CommandId, Core, Input, NodeStatus, OperatorCommand, Output, Redial};
use uuid::Uuid;

pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
    lease: Duration::from_millis(400),
};

/// The shortest time there is.
pub const MOMENT: Duration = Duration::from_nanos(1);

/// The number of the first command that the first run of a member passes on.
pub const FIRST_COMMAND: u64 = (1 << 20) + 1;

/// The members are P1 to P5.
const MEMBERS: u8 = 5;

pub fn id(number: u8) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 | u128::from(number)))
}

pub fn rank(number: u8) -> Rank {
    Rank { value: 0, id: id(number) }
}

pub fn election(round: u64, number: u8) -> Message {
    Message::Election { round: Epoch(round), rank: rank(number), eligible: true }
}

pub fn coordinator(epoch: u64, number: u8) -> Message {
    Message::Coordinator { epoch: Epoch(epoch), rank: rank(number) }
}

/// A process that waits until it is asked or drawn in, unless changed.
pub fn settings(algorithm: AlgorithmKind, number: u8) -> Settings {
    let member = |number| Member {
        id: id(number),
        name: format!("P{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    };
    let members = MemberList::new(ListVersion::default(), (1..=MEMBERS).map(member).collect());
    Settings {
        instance: u64::from(number),
        algorithm,
        quorum: Quorum::None,
        value: Some(0),
        trust_refused: true,
        power_on: PowerOn::Wait,
        ..Settings::new("paper", id(number), Arc::new(members), TIMING)
    }
}

/// The task that a member hands out, unless it was given another.
pub fn task(number: u8) -> Task {
    Task::new([number])
}

/// A heartbeat of this leader, without reports.
pub fn heartbeat_of(from: u8, epoch: u64, number: u64) -> Heartbeat {
    Heartbeat {
        epoch: Epoch(epoch),
        number,
        rank: rank(from),
        lease: TIMING.lease,
        settled: ListVersion::default(),
        members: [].into(),
        pause: None,
        chosen: None,
        ending: false,
    }
}

/// The messages of a peer that comes to lead in this epoch with this rank. (With halting, a peer that
/// led before: it halts those that rank higher, too.)
pub fn comes_to_lead(algorithm: AlgorithmKind, epoch: u64, rank: Rank) -> Vec<Message> {
    let (round, task) = (Epoch(epoch), task(rank.id.0.as_bytes()[15]));
    match algorithm {
        AlgorithmKind::Halting => vec![
            Message::Halt { number: 1, round, rank, incumbent: true },
            Message::Elected { number: 2, round, task: task.version },
            Message::Ready { number: 3, round, task },
        ],
        AlgorithmKind::Bully | AlgorithmKind::Ring => {
            vec![Message::Coordinator { epoch: round, rank }]
        }
    }
}

/// The sent messages: the receiver, by number, and the message.
pub type Sent = Vec<(Vec<u8>, Message)>;

/// The answer to a command, where there is one.
pub fn answer(outputs: &[Output]) -> Option<Result<Done, Refusal>> {
    outputs.iter().find_map(|output| match output {
        Output::Answer { result, .. } => Some(*result),
        _ => None,
    })
}

/// Whether a leader releases its epoch.
pub fn releases(sent: &Sent) -> bool {
    sent.iter().any(|(_, message)| matches!(message, Message::Release { .. }))
}

/// One member alone.
#[derive(Clone)]
pub struct Process {
    pub core: Core,
    pub now: Time,
    /// The content of its disk.
    disk: Durable,
    /// The record that it was asked to write since, and has not.
    asked: Vec<(u64, Durable)>,
}

impl Process {
    /// A member that is connected to all others.
    pub fn new(algorithm: AlgorithmKind, number: u8) -> Process {
        Process::with(settings(algorithm, number)).0
    }

    /// One with these settings, and what it sends until it is connected to all others.
    pub fn with(settings: Settings) -> (Process, Sent) {
        let mut process = Process::alone(settings);
        let own = process.core.id();
        let others = (1..=MEMBERS).filter(|other| id(*other) != own);
        let sent = others.flat_map(|other| process.meets(other)).collect();
        (process, sent)
    }

    /// A member that has met no other yet. As a voter it has a store that says that it promised
    /// nothing.
    pub fn alone(settings: Settings) -> Process {
        Process::found(settings, Some(VoterRecord::default()))
    }

    /// The same, with an empty store.
    pub fn empty(settings: Settings) -> Process {
        Process::found(settings, None)
    }

    fn found(settings: Settings, vote: Option<VoterRecord>) -> Process {
        let (incarnation, reserved) = (Incarnation(1), Epoch(64));
        let (members, task) = (settings.members.clone(), task(settings.id.0.as_bytes()[15]));
        let first = (settings.quorum == Quorum::Majority)
            .then(|| VoterRecord::first(vote, settings.timing.lease));
        let record = Durable { reserved, members, task, vote: first, ..Durable::default() };
        Process::born(Time(0), settings, Restored { incarnation, record, floor: Epoch(0), vote })
    }

    /// One that starts with what its disk gives back.
    fn born(now: Time, settings: Settings, restored: Restored) -> Process {
        let disk = restored.record.clone();
        Process { core: Core::new(now, settings, restored, 0), now, disk, asked: Vec::new() }
    }

    /// Its process ends and another one starts, with the content of its disk, which is whole; it has met no member yet.
    pub fn restarts(&self) -> Process {
        let whole = |vote| VoterRecord { behind: false, ..vote };
        self.starts_with(Durable { vote: self.disk.vote.map(whole), ..self.disk.clone() })
    }

    /// The same, but it crashes: its disk may not have all.
    pub fn crashes(&self) -> Process {
        self.starts_with(self.disk.clone())
    }

    fn starts_with(&self, durable: Durable) -> Process {
        let kept = KeptState { incarnation: self.core.incarnation(), durable };
        let before = self.core.settings();
        let file = Settings { instance: before.instance + 100, ..before.clone() };
        let restored = restart(Some(&kept), &file, None).expect("it is in its list");
        Process::born(self.now, file, restored)
    }

    /// The disk has taken all that it was asked to write.
    pub fn stores(&mut self) -> Sent {
        let Some((number, record)) = self.asked.pop() else { return Sent::new() };
        self.asked.clear();
        self.disk = record;
        self.take(Input::Persisted { number })
    }

    /// Whether it was asked to write something that is not on its disk yet.
    pub fn is_writing(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether the list on its disk names it.
    pub fn is_named_by_disk(&self) -> bool {
        self.disk.members.get(self.core.id()).is_some()
    }

    /// A peer connects to this member, which is connected to the peer.
    pub fn meets(&mut self, other: u8) -> Sent {
        let hello = hello_of(other, self.core.settings());
        let (connection, address) = (connection(other), String::new());
        let mut sent = self.take(Input::Hello { connection, address, hello });
        sent.extend(self.reaches(other));
        sent
    }

    /// A peer connects to this member, and says that it leads in this epoch.
    pub fn meets_leader(&mut self, other: u8, epoch: u64) -> Sent {
        let mut hello = hello_of(other, self.core.settings());
        hello.view = View { epoch: Epoch(epoch), leader: Some(rank(other)) };
        let (connection, address) = (connection(other), String::new());
        self.take(Input::Hello { connection, address, hello })
    }

    /// The inputs when a peer with such a list connects to this member, and is reached by it.
    pub fn hello(&self, other: u8, list: &Arc<MemberList>) -> Vec<Input> {
        let list = list.clone();
        let hello = Hello { list, ..hello_of(other, self.core.settings()) };
        let (connection, address) = (connection(other), String::new());
        let welcomed = Input::Welcomed { peer: id(other), welcome: hello.clone() };
        vec![Input::Hello { connection, address, hello }, welcomed]
    }

    /// The connection to another is up.
    pub fn reaches(&mut self, other: u8) -> Sent {
        let welcome = hello_of(other, self.core.settings());
        self.take(Input::Welcomed { peer: id(other), welcome })
    }

    /// Takes an input and tells all that is to be done.
    pub fn outputs(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        self.asked.extend(out.iter().filter_map(|output| match output {
            Output::Persist { number, record } => Some((*number, record.clone())),
            _ => None,
        }));
        out
    }

    /// Takes an input and tells what is sent.
    pub fn take(&mut self, input: Input) -> Sent {
        let out = self.outputs(input);
        let number = |id: &NodeId| id.0.as_bytes()[15];
        let sent = out.into_iter().filter_map(|output| match output {
            Output::Send { to, envelope } => {
                Some((to.iter().map(number).collect(), envelope.message))
            }
            _ => None,
        });
        sent.collect()
    }

    pub fn hears(&mut self, from: u8, message: Message) -> Sent {
        self.hears_of(from, 1, message)
    }

    /// Hears a message of this run of another.
    pub fn hears_of(&mut self, from: u8, incarnation: u64, message: Message) -> Sent {
        let envelope = Envelope { epoch: Epoch(0), incarnation: Incarnation(incarnation), message };
        self.take(Input::Message { connection: connection(from), from: id(from), envelope })
    }

    pub fn after(&mut self, time: Duration) -> Sent {
        self.now = self.now + time;
        self.take(Input::Tick)
    }

    pub fn calls(&mut self) -> Sent {
        self.take(Input::Command { id: CommandId(0), command: OperatorCommand::Elect })
    }

    /// It is asked that the leader resign.
    pub fn resigns(&mut self) -> Sent {
        self.take(Input::Command {
            id: CommandId(0),
            command: Forwarded::Resign { to: None }.into(),
        })
    }

    /// The process of another is gone, with proof.
    pub fn loses(&mut self, peer: u8) -> Sent {
        let connection = connection(peer);
        self.take(Input::Ended { connection, peer: id(peer), redial: Redial::Refused })
    }

    pub fn leader(&self) -> Option<NodeId> {
        self.core.leader().map(|leader| leader.id)
    }

    /// The status of the paper.
    pub fn status(&self) -> NodeStatus {
        self.core.phase().into()
    }
}

/// The connection on which another speaks.
pub fn connection(from: u8) -> ConnectionId {
    ConnectionId(u64::from(from))
}

/// The first message of a peer.
pub fn hello_of(number: u8, settings: &Settings) -> Hello {
    let mut out = Vec::new();
    let (id, instance) = (id(number), u64::from(number));
    let other = Settings { id, instance, value: Some(0), health: None, ..settings.clone() };
    let dialed = Input::Dialed { peer: settings.id, attempt: 1 };
    Process::alone(other).core.handle(Time(0), dialed, &mut out);
    let hello = out.into_iter().find_map(|output| match output {
        Output::Hello { hello, .. } => Some(hello),
        _ => None,
    });
    hello.expect("who dials says hello")
}

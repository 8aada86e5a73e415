//! One member alone, for tests that check what the sources say of it, sentence by sentence.

#![allow(dead_code)] // each test file uses its part

use std::sync::Arc;
use std::time::Duration;

use electd::core::detector::ConnectionId;
use electd::core::membership::{ListVersion, Member, MemberList};
use electd::core::message::{Envelope, Hello, Message};
use electd::core::settings::{
    AlgorithmKind, PowerOn, Preempt, Quorum, RankKind, Restored, Settings, Timing,
};
use electd::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Task, Time};
use electd::core::{Command, CommandId, Core, Input, Output, Redial};
use uuid::Uuid;

/// The timings of every process.
pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
};

pub fn id(number: u8) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 | u128::from(number)))
}

pub fn rank(number: u8) -> Rank {
    Rank { value: 0, id: id(number) }
}

/// A process among so many; a bully that waits until it is asked, unless changed.
pub fn settings(number: u8, members: u8) -> Settings {
    let member = |number| Member {
        id: id(number),
        name: format!("P{number}"),
        address: String::new(),
        role: Role::Member,
    };
    Settings {
        cluster: "paper".into(),
        id: id(number),
        instance: u64::from(number),
        members: Arc::new(MemberList::new(
            ListVersion::default(),
            (1..=members).map(member).collect(),
        )),
        algorithm: AlgorithmKind::Bully,
        quorum: Quorum::None,
        preempt: Preempt::Always,
        rank: RankKind::Id,
        value: Some(0),
        task: Task::default(),
        hierarchy: true,
        timing: TIMING,
        trust_refused: true,
        power_on: PowerOn::Wait,
    }
}

fn new_core(settings: Settings) -> Core {
    let restored =
        Restored { incarnation: Incarnation(1), reserved: Epoch(64), ..Restored::default() };
    Core::new(Time(0), settings, restored, 0)
}

/// The process P of the papers, one of P1 to P5, connected to all others.
pub struct Process {
    pub core: Core,
    pub now: Time,
}

/// What P sends: to whom, by number, and what.
pub type Sent = Vec<(Vec<u8>, Message)>;

impl Process {
    pub fn new(number: u8) -> Process {
        Process::with(settings(number, 5)).0
    }

    /// One with these settings, and what it sends until it is connected to all others.
    pub fn with(settings: Settings) -> (Process, Sent) {
        let core = new_core(settings.clone());
        let mut process = Process { core, now: Time(0) };
        let mut sent = Sent::new();
        let others = settings.members.iter().map(|member| number(&member.id));
        for other in others.filter(|other| id(*other) != settings.id) {
            let hello = hello_of(other, &settings);
            let welcome = hello.clone();
            let (connection, address) = (connection(other), String::new());
            sent.extend(process.take(Input::Hello { connection, address, hello }));
            sent.extend(process.take(Input::Welcomed { peer: id(other), welcome }));
        }
        (process, sent)
    }

    /// Takes an input and tells what is sent.
    pub fn take(&mut self, input: Input) -> Sent {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        let sent = out.into_iter().filter_map(|output| match output {
            Output::Send { to, envelope } => {
                Some((to.iter().map(number).collect(), envelope.message))
            }
            _ => None,
        });
        sent.collect()
    }

    pub fn hears(&mut self, from: u8, message: Message) -> Sent {
        let envelope = Envelope { epoch: Epoch(0), incarnation: Incarnation(1), message };
        self.take(Input::Message { connection: connection(from), from: id(from), envelope })
    }

    pub fn after(&mut self, time: Duration) -> Sent {
        self.now = self.now + time;
        self.take(Input::Tick)
    }

    pub fn calls(&mut self) -> Sent {
        self.take(Input::Command { id: CommandId(0), command: Command::Elect })
    }

    pub fn loses(&mut self, peer: u8) -> Sent {
        let connection = connection(peer);
        self.take(Input::Ended { connection, peer: id(peer), redial: Redial::Refused })
    }

    /// The connection to a peer is up again.
    pub fn reaches(&mut self, peer: u8) -> Sent {
        let welcome = hello_of(peer, self.core.settings());
        self.take(Input::Welcomed { peer: id(peer), welcome })
    }

    pub fn leader(&self) -> Option<NodeId> {
        self.core.leader().map(|leader| leader.id)
    }
}

fn connection(from: u8) -> ConnectionId {
    ConnectionId(u64::from(from))
}

fn number(id: &NodeId) -> u8 {
    id.0.as_bytes()[15]
}

fn hello_of(number: u8, settings: &Settings) -> Hello {
    let mut out = Vec::new();
    let (id, instance) = (id(number), u64::from(number));
    let mut core = new_core(Settings { id, instance, value: Some(0), ..settings.clone() });
    core.handle(Time(0), Input::Dialed { peer: settings.id, attempt: 1 }, &mut out);
    let hello = out.into_iter().find_map(|output| match output {
        Output::Hello { hello, .. } => Some(hello),
        _ => None,
    });
    hello.expect("who dials says hello")
}

//! Words that lie, told to one member: its two peers say what they like, and strangers speak as anybody. Mode
//! majority. Whatever is said and in which order, these hold: a refused hello changes nothing; no epoch has
//! two leaders; no number is kept that cannot have come about; no stranger's list counts, unless a leader tells the same; and a command has no
//! outcome that the leader which was asked did not tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use electd::core::detector::ConnectionId;
use electd::core::membership::{Change, ListVersion, Member, MemberList};
use electd::core::message::{Done, Envelope, Hello, Message, View};
use electd::core::random::Random;
use electd::core::restart::{Start, restart};
use electd::core::settings::{
    AlgorithmKind, Margin, PowerOn, Preempt, Quorum, RankKind, Settings, Timing,
};
use electd::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Task, Time};
use electd::core::{Command, CommandId, Core, Input, Output};
use uuid::Uuid;

/// So many of these are heard out in a test; `make mutants` hears out as many as it takes.
const SEEDS: u64 = 2000;

const WORDS: u32 = 60;

/// The members are 1 to 3, and this is the one that is told.
const OWN: u128 = 2;

/// Nobody knows of this one.
const GHOST: u128 = 9;

const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
    lease: Duration::from_millis(400),
};

/// What is far ahead of all that can have come about, and what a member never reaches here without it.
const FAR: u64 = 1 << 61;
const BELOW_FAR: u64 = 1 << 40;

fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 | number))
}

fn rank(number: u128) -> Rank {
    Rank { value: 0, id: id(number) }
}

fn list(version: ListVersion, numbers: &[u128]) -> Arc<MemberList> {
    let member = |number: &u128| Member {
        id: id(*number),
        name: format!("node-{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    };
    Arc::new(MemberList::new(version, numbers.iter().map(member).collect()))
}

fn settings(number: u128) -> Settings {
    Settings {
        cluster: "words".into(),
        id: id(number),
        instance: u64::try_from(number).unwrap(),
        members: list(ListVersion::default(), &[1, 2, 3]),
        algorithm: AlgorithmKind::Bully,
        quorum: Quorum::Majority,
        preempt: Preempt::Never,
        rank: RankKind::Id,
        margin: Margin::NONE,
        value: Some(0),
        health: None,
        task: Task::default(),
        hierarchy: true,
        timing: TIMING,
        trust_refused: false,
        bootstrap: true,
        power_on: PowerOn::Wait,
    }
}

fn first_run(settings: Settings) -> Core {
    let Start { restored, .. } = restart(None, &settings, None).unwrap();
    Core::new(Time(0), settings, restored, 1)
}

/// The hello of a member that has just started.
fn hello_of(number: u128) -> Hello {
    let mut out = Vec::new();
    first_run(settings(number)).handle(
        Time(0),
        Input::Dialed { peer: id(OWN), attempt: 1 },
        &mut out,
    );
    let hello = out.into_iter().find_map(|output| match output {
        Output::Hello { hello, .. } => Some(hello),
        _ => None,
    });
    hello.expect("who dials says hello")
}

/// The member that is told, and what it did.
struct Listener {
    core: Core,
    now: Time,
    random: Random,
    /// The leader that it named in each epoch.
    named: BTreeMap<Epoch, NodeId>,
    /// The connection on which each peer speaks.
    connections: BTreeMap<u128, ConnectionId>,
    last: u64,
    /// The numbers of the commands that it passed on, and to whom.
    passed_on: Vec<(u64, NodeId)>,
}

/// Tells a member lies that follow from the seed. Gives the first rule that does not hold.
pub fn hear_out(seed: u64) -> Result<(), String> {
    let (named, connections) = Default::default();
    let (core, random) = (first_run(settings(OWN)), Random::new(seed));
    let (now, last, passed_on) = (Time(0), 0, Vec::new());
    let mut listener = Listener { core, now, random, named, connections, last, passed_on };
    for number in [1, 3] {
        listener.hello(hello_of(number))?;
        listener.take(Input::Welcomed { peer: id(number), welcome: hello_of(number) })?;
    }
    (0..WORDS).try_for_each(|_| listener.word())
}

impl Listener {
    fn peer(&mut self) -> u128 {
        [1, 3][usize::from(self.random.below(2) == 0)]
    }

    /// Mostly a number that can be, now and then one that cannot.
    fn number(&mut self) -> u64 {
        if self.random.below(8) == 0 { FAR + self.random.below(9) } else { self.random.below(12) }
    }

    /// Takes an input, holds against the rules what it does, and has it stored.
    fn take(&mut self, input: Input) -> Result<Vec<Output>, String> {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        let told: Vec<Output> = out.clone();
        for output in out {
            match output {
                Output::Persist { number, record } => {
                    let greatest = record.reserved.max(record.epoch).0;
                    if greatest > BELOW_FAR {
                        return Err(format!("it keeps the epoch {greatest}"));
                    }
                    self.core.handle(self.now, Input::Persisted { number }, &mut Vec::new());
                }
                Output::Send { to, envelope } => {
                    if let Message::Forward { number, .. } = envelope.message {
                        self.passed_on.extend(to.into_iter().map(|to| (number, to)));
                    }
                }
                Output::Answer { result: Ok(done), .. } => {
                    return Err(format!("nobody carried it out, and its outcome is {done:?}"));
                }
                _ => {}
            }
        }
        self.judge()?;
        Ok(told)
    }

    fn judge(&mut self) -> Result<(), String> {
        if self.core.members().get(id(GHOST)).is_some() {
            return Err("a stranger is a member".into());
        }
        let Some(leader) = self.core.leader() else { return Ok(()) };
        let epoch = self.core.view().epoch;
        let first = *self.named.entry(epoch).or_insert(leader.id);
        if first == leader.id {
            return Ok(());
        }
        Err(format!("it names {} and {} in epoch {epoch}", first.0, leader.id.0))
    }

    /// Says hello on a new connection. One that is refused changes nothing.
    fn hello(&mut self, hello: Hello) -> Result<(), String> {
        self.take(Input::Tick)?;
        self.last += 1;
        let (connection, from) = (ConnectionId(self.last), hello.id);
        let before = self.core.clone();
        let known = self.core.members().get(from).is_some();
        let input = Input::Hello { connection, address: "host".into(), hello };
        let told = self.take(input)?;
        let refused = told.iter().any(|output| matches!(output, Output::Reject { .. }));
        if refused && known && self.core != before {
            return Err(format!("the hello of {} was refused, and changed something", from.0));
        }
        if let Some(number) = [1, 3].into_iter().find(|number| !refused && id(*number) == from) {
            self.connections.insert(number, connection);
        }
        Ok(())
    }

    fn says(&mut self, from: u128, message: Message) -> Result<(), String> {
        let Some(connection) = self.connections.get(&from).copied() else { return Ok(()) };
        let epoch = Epoch(self.number());
        let envelope = Envelope { epoch, incarnation: Incarnation(1), message };
        self.take(Input::Message { connection, from: id(from), envelope })?;
        Ok(())
    }

    /// One more word, or a little time.
    fn word(&mut self) -> Result<(), String> {
        let (peer, epoch) = (self.peer(), Epoch(self.number()));
        match self.random.below(8) {
            0 => {
                self.now = self.now + self.random.up_to(TIMING.heartbeat * 2);
                self.take(Input::Tick).map(drop)
            }
            1 | 2 => self.says(peer, Message::Coordinator { epoch, rank: rank(peer) }),
            3 => {
                let other = self.peer();
                let view = View { epoch, leader: Some(rank(other)) };
                self.says(peer, Message::View(view))
            }
            4 => self.lying_hello(),
            5 => {
                let version = ListVersion { epoch, counter: self.number() };
                self.says(peer, Message::List { list: list(version, &[1, 2, 3]) })
            }
            6 => {
                let change = Change::Remove { id: id(4 - peer), force: false };
                let command = Command::Change(change);
                self.take(Input::Command { id: CommandId(0), command }).map(drop)
            }
            _ => self.lying_outcome(),
        }
    }

    /// A hello of a member, or of a stranger, of which something is not as it should be.
    fn lying_hello(&mut self) -> Result<(), String> {
        let mut hello = hello_of(self.peer());
        match self.random.below(4) {
            0 => hello.id = id(GHOST),
            1 => hello.protocol += 1,
            2 => hello.to = id(GHOST),
            _ => hello.instance += 1,
        }
        hello.round = Epoch(self.number());
        hello.view.epoch = Epoch(self.number());
        if self.random.below(2) == 0 {
            let version = ListVersion { epoch: Epoch(self.number()), counter: self.number() };
            hello.list = list(version, &[OWN, GHOST]);
        }
        self.hello(hello)
    }

    /// Somebody who was not asked tells how a command ended.
    fn lying_outcome(&mut self) -> Result<(), String> {
        let Some((number, asked)) = self.passed_on.last().copied() else { return Ok(()) };
        let liar = if asked == id(1) { 3 } else { 1 };
        let gone = |number| Done::Removed { id: id(number), stored: true, handed_over: false };
        for removed in [1, 3] {
            self.says(liar, Message::Outcome { number, result: Ok(gone(removed)) })?;
        }
        Ok(())
    }
}

#[test]
fn no_word_breaks_a_rule() {
    for seed in 0..SEEDS {
        if let Err(broken) = hear_out(seed) {
            panic!("seed {seed}: {broken}");
        }
    }
}

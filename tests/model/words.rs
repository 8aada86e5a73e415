//! Lies sent to one member in mode majority: its two peers send anything, and strangers speak as any
//! member. Now and then the member restarts. For any messages in any order, these hold:
//!
//! - a refused hello changes nothing, and no other process takes the place of a peer that is heard;
//! - no epoch has two leaders, and no candidate gets a vote in an epoch in which the list was stamped;
//! - the member keeps no impossible number, and makes no promise longer than the file allows;
//! - no stranger's list counts, unless a leader sends the same, and no single peer can remove the
//!   member;
//! - a command has only an outcome that the asked leader sent to this incarnation of the member.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use electd_election::core::detector::ConnectionId;
use electd_election::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use electd_election::core::message::{Done, Envelope, Forwarded, Hello, Message, Rejection, View};
use electd_election::core::protocol::Protocols;
use electd_election::core::random::Random;
use electd_election::core::restart::{KeptState, restart};
use electd_election::core::settings::{LONGEST_PROMISE, PowerOn, Preempt, Settings, Timing};
use electd_election::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Time};
use electd_election::core::{CommandId, Core, Input, Output, Phase};
use uuid::Uuid;

use crate::member::voter;

/// So many of these are heard out in a test; `make mutants` hears out as many as it takes.
const SEEDS: u64 = crate::fewer(500, 2000);

const WORDS: u32 = 60;

/// The members are 1 to 3, and this member gets the lies.
const OWN: u128 = 2;

/// No member knows this id.
const GHOST: u128 = 9;

const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
    lease: Duration::from_millis(400),
};

/// A number far beyond all possible ones, which a member never reaches here without a lie.
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
    let (instance, members) =
        (u64::try_from(number).unwrap(), list(ListVersion::default(), &[1, 2, 3]));
    let voter = voter(id(number), instance, members, TIMING);
    Settings { preempt: Preempt::Never, bootstrap: true, power_on: PowerOn::Wait, ..voter }
}

fn first_run(settings: Settings) -> Core {
    let restored = restart(None, &settings, None).unwrap();
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

/// The member that gets the lies, and its actions.
struct Listener {
    core: Core,
    now: Time,
    random: Random,
    /// The leader that it named in each epoch.
    named: BTreeMap<Epoch, NodeId>,
    /// The content of its disk.
    kept: KeptState,
    /// The connection on which each peer speaks.
    connections: BTreeMap<u128, ConnectionId>,
    /// The process that speaks there, and when it was heard last.
    heard: BTreeMap<u128, (u64, Time)>,
    last: u64,
    /// The numbers of the commands that it passed on, and the members that it asked.
    passed_on: Vec<(u64, NodeId)>,
    /// The same, of its earlier runs.
    passed_on_before: Vec<(u64, NodeId)>,
}

/// Tells a member lies that follow from the seed. Gives the first rule that does not hold.
pub fn hear_out(seed: u64) -> Result<(), String> {
    let (named, connections, heard, passed_on, passed_on_before) = Default::default();
    let (core, random) = (first_run(settings(OWN)), Random::new(seed));
    let incarnation = core.incarnation();
    let mut listener = Listener {
        core,
        now: Time(0),
        random,
        named,
        kept: KeptState { incarnation, ..KeptState::default() },
        connections,
        heard,
        last: 0,
        passed_on,
        passed_on_before,
    };
    listener.meet_both()?;
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

    fn meet_both(&mut self) -> Result<(), String> {
        for number in [1, 3] {
            self.hello(hello_of(number))?;
            self.take(Input::Welcomed { peer: id(number), welcome: hello_of(number) })?;
        }
        Ok(())
    }

    /// The member restarts, with the content of its disk.
    fn start_anew(&mut self) -> Result<(), String> {
        let settings = Settings { bootstrap: false, ..settings(OWN) };
        let Ok(restored) = restart(Some(&self.kept), &settings, None) else { return Ok(()) };
        let (incarnation, durable) = (restored.incarnation, restored.record.clone());
        self.kept = KeptState { incarnation, durable };
        self.core = Core::new(self.now, settings, restored, self.random.draw());
        self.passed_on_before.append(&mut self.passed_on);
        self.connections.clear();
        self.meet_both()
    }

    /// Takes an input, holds against the rules what it does, and has it stored.
    fn take(&mut self, input: Input) -> Result<Vec<Output>, String> {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        let outputs: Vec<Output> = out.clone();
        for output in out {
            match output {
                Output::Persist { number, record } => {
                    let greatest = record.reserved.max(record.epoch).0;
                    if greatest > BELOW_FAR {
                        return Err(format!("it keeps the epoch {greatest}"));
                    }
                    let promised = record.vote.map(|vote| vote.promised).unwrap_or_default();
                    if promised > TIMING.lease * LONGEST_PROMISE {
                        return Err(format!("it promises its vote for {promised:?}"));
                    }
                    self.kept.durable = record;
                    let mut outputs = Vec::new();
                    self.core.handle(self.now, Input::Persisted { number }, &mut outputs);
                    self.judge_votes(&outputs)?;
                }
                Output::Send { to, envelope } => {
                    if let Message::Forward { number, .. } = envelope.message {
                        self.passed_on.extend(to.into_iter().map(|to| (number, to)));
                    }
                }
                Output::Close { connection } => {
                    self.connections.retain(|_, known| *known != connection);
                }
                Output::Disconnect { peer } => {
                    self.connections.retain(|other, _| id(*other) != peer)
                }
                Output::Answer { result: Ok(done), .. } => {
                    return Err(format!("nobody carried it out, and its outcome is {done:?}"));
                }
                _ => {}
            }
        }
        self.judge()?;
        Ok(outputs)
    }

    /// As in Raft, a candidate's epoch is above that in which the voter's list was stamped.
    fn judge_votes(&self, outputs: &[Output]) -> Result<(), String> {
        let stamped = self.core.members().version().epoch;
        let envelopes = outputs.iter().filter_map(|output| match output {
            Output::Send { envelope, .. } => Some(&envelope.message),
            _ => None,
        });
        for message in envelopes {
            if let Message::Vote { epoch, .. } = message
                && *epoch <= stamped
            {
                return Err(format!("it votes in epoch {epoch}, and its list is of {stamped}"));
            }
        }
        Ok(())
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
        let (connection, from, instance) = (ConnectionId(self.last), hello.id, hello.instance);
        let speaks = |number: &u128| id(*number) == from && self.connections.contains_key(number);
        let present = [1, 3].into_iter().find(speaks).and_then(|number| self.heard.get(&number));
        let another = present.is_some_and(|(present, heard)| {
            *present != instance && self.now.since(*heard) < TIMING.failure
        });
        let before = self.core.clone();
        let known = self.core.members().get(from).is_some();
        let input = Input::Hello { connection, address: "host".into(), hello };
        let outputs = self.take(input)?;
        let refused = outputs.iter().any(|output| matches!(output, Output::Reject { .. }));
        if refused && known && self.core != before {
            return Err(format!("the hello of {} was refused, and changed something", from.0));
        }
        if another && !refused {
            return Err(format!("another process takes the place of {}, which is heard", from.0));
        }
        if let Some(number) = [1, 3].into_iter().find(|number| !refused && id(*number) == from) {
            self.connections.insert(number, connection);
            self.heard.insert(number, (instance, self.now));
        }
        Ok(())
    }

    fn says(&mut self, from: u128, message: Message) -> Result<(), String> {
        let Some(connection) = self.connections.get(&from).copied() else { return Ok(()) };
        let epoch = Epoch(self.number());
        let envelope = Envelope { epoch, incarnation: Incarnation(1), message };
        self.take(Input::Message { connection, from: id(from), envelope })?;
        if let Some((_, heard)) = self.heard.get_mut(&from) {
            *heard = self.now;
        }
        Ok(())
    }

    /// One more message, or a little time.
    fn word(&mut self) -> Result<(), String> {
        let (peer, epoch) = (self.peer(), Epoch(self.number()));
        match self.random.below(12) {
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
                let change = MembershipChange::Remove { id: id(4 - peer), force: false };
                let command = Forwarded::Change(change).into();
                self.take(Input::Command { id: CommandId(0), command }).map(drop)
            }
            7 if self.random.below(4) == 0 => self.start_anew(),
            7 | 8 => self.long_promise(peer),
            9 => self.removal(),
            10 => self.late_outcome(),
            _ => self.lying_outcome(),
        }
    }

    /// Asks for a vote that is a promise for long.
    fn long_promise(&mut self, from: u128) -> Result<(), String> {
        let (number, epoch) = (self.number(), Epoch(self.number()));
        let lease = TIMING.lease * u32::try_from(1 + self.random.below(40)).unwrap();
        let list = self.core.members().version();
        self.says(from, Message::VoteRequest { number, epoch, lease, list })
    }

    /// One peer alone says that the member was removed. Its leader might say so.
    fn removal(&mut self) -> Result<(), String> {
        let peer = id(3);
        let reason = Rejection::Removed(id(OWN));
        if self.core.leader().is_none_or(|leader| leader.id != peer) {
            self.take(Input::Rejected { peer, reason })?;
        }
        if self.core.phase() == Phase::Stopping {
            return Err("the word of one peer removed it".into());
        }
        Ok(())
    }

    /// The leader that an earlier run asked tells how that command ended.
    fn late_outcome(&mut self) -> Result<(), String> {
        let Some((number, asked)) = self.passed_on_before.last().copied() else { return Ok(()) };
        let from = if asked == id(1) { 1 } else { 3 };
        let gone = Done::Removed { id: id(4 - from), stored: true, handed_over: false };
        self.says(from, Message::Outcome { number, result: Ok(gone) })
    }

    /// A hello of a member, or of a stranger, of which something is not as it should be.
    fn lying_hello(&mut self) -> Result<(), String> {
        let mut hello = hello_of(self.peer());
        match self.random.below(4) {
            0 => hello.id = id(GHOST),
            1 => hello.protocols = Protocols { lowest: 10, highest: 10 },
            2 => hello.to = id(GHOST),
            _ => {
                hello.instance += 1; // another process, which may have started later
                hello.incarnation.0 += self.random.below(2);
            }
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

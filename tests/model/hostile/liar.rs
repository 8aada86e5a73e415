//! A member that says anything: every message with any numbers, and the right answers at the wrong times.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use electd_election::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use electd_election::core::message::{
    Ballot, Candidate, Done, Envelope, Forwarded, Heartbeat, Hello, Lap, Liveness, MemberReport,
    Message, Opinion, Run, View,
};
use electd_election::core::random::Random;
use electd_election::core::settings::Settings;
use electd_election::core::types::{Epoch, Incarnation, NodeId, Pause, Rank, Role, Task, Time};
use electd_election::core::{Core, Input, Output};

use super::world::{Liar, TIMING, first_start};

/// How a liar lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    /// It says anything to anybody.
    Wild,
    /// It gives the right answers, to all others: votes for all, and sends nothing unasked.
    Obliging,
    /// Both.
    Sly,
    /// It tries to take voters from the leader that it hears: it says that the leader released them,
    /// and that it leads in the next epoch itself and hands that over.
    Aimed,
}

/// How many of the latest questions to it are kept to be answered late.
const KEPT: usize = 32;

pub struct Hostile {
    /// Says hello, and nothing else.
    core: Core,
    members: Arc<MemberList>,
    own: NodeId,
    /// Whether it tells member lists, and has the leader change its own.
    changes: bool,
    pub temper: Temper,
    random: Random,
    /// The greatest epoch, and the greatest number, that it heard or said.
    epoch: u64,
    number: u64,
    list: ListVersion,
    /// The leader that it heard last, and its epoch.
    led: (NodeId, Epoch),
    /// The questions that it got: the sender, its incarnation, and the message.
    asked: VecDeque<(usize, Incarnation, Message)>,
}

impl Liar for Hostile {
    fn hello(&mut self, to: usize) -> Hello {
        let peer = self.members_by_place()[to];
        let mut out = Vec::new();
        self.core.handle(Time(0), Input::Dialed { peer, attempt: 1 }, &mut out);
        let hello = out.into_iter().find_map(|output| match output {
            Output::Hello { hello, .. } => Some(hello),
            _ => None,
        });
        let mut hello = hello.expect("who dials says hello");
        if self.temper == Temper::Obliging {
            return hello;
        }
        hello.round = self.any_epoch();
        hello.view = self.view();
        hello.eligible = self.random.below(4) > 0;
        if self.changes && self.random.below(4) == 0 {
            hello.list = self.any_list();
        }
        hello
    }

    fn hears(&mut self, from: usize, envelope: &Envelope) {
        self.epoch = self.epoch.max(envelope.epoch.0);
        if let Message::Heartbeat(Heartbeat { epoch, .. }) = envelope.message {
            self.led = (self.members_by_place()[from], epoch);
        }
        match &envelope.message {
            Message::Heartbeat(Heartbeat { number, .. })
            | Message::PreVote { number, .. }
            | Message::VoteRequest { number, .. }
            | Message::Forward { number, .. } => self.number = self.number.max(*number),
            Message::List { list } => self.list = self.list.max(list.version()),
            _ => {}
        }
        if self.asked.len() == KEPT {
            self.asked.pop_front();
        }
        self.asked.push_back((from, envelope.incarnation, envelope.message.clone()));
    }
}

impl Hostile {
    pub fn new(settings: Settings, changes: bool, seed: u64) -> Hostile {
        let (members, own) = (settings.members.clone(), settings.id);
        let mut random = Random::new(seed);
        let tempers = [Temper::Wild, Temper::Obliging, Temper::Sly, Temper::Aimed];
        let temper = tempers[usize::try_from(random.below(4)).unwrap()];
        Hostile {
            core: first_start(settings, 1),
            members,
            own,
            changes,
            temper,
            random,
            epoch: 0,
            number: 0,
            list: ListVersion::default(),
            led: (own, Epoch(0)),
            asked: VecDeque::new(),
        }
    }

    /// In the order of their ids, as the places in the world are.
    fn members_by_place(&self) -> Vec<NodeId> {
        self.members.iter().map(|member| member.id).collect()
    }

    /// Its next message, to one of the others or to all.
    pub fn next(&mut self, others: usize) -> Option<(Option<usize>, Envelope)> {
        let own_words = match self.temper {
            Temper::Wild => 2,
            Temper::Obliging => 0,
            Temper::Sly => 16,
            Temper::Aimed => return Some(self.aimed()),
        };
        let (to, message) = if own_words > 0 && self.random.below(own_words) == 0 {
            let all = self.yes();
            ((!all).then(|| self.below(others)), self.message())
        } else {
            let (to, message) = self.answer()?;
            (Some(to), message)
        };
        let epoch = if self.temper == Temper::Wild { self.any_epoch() } else { Epoch(self.epoch) };
        Some((to, Envelope { epoch, incarnation: Incarnation(1), message }))
    }

    /// A message that takes a voter from its leader.
    fn aimed(&mut self) -> (Option<usize>, Envelope) {
        let (leader, epoch) = self.led;
        let (next, rank) = (epoch.next(), self.rank());
        let message = match self.random.below(4) {
            0 => Message::Coordinator { epoch: next, rank },
            1 => Message::Heartbeat(Heartbeat {
                epoch: next,
                number: self.any_number(),
                rank,
                lease: TIMING.lease,
                settled: ListVersion::default(),
                members: self.reports(),
                pause: None,
                chosen: None,
                ending: false,
            }),
            2 => Message::Release { epoch: next, successor: self.some_id(), eligible: true },
            _ => Message::Freed { leader, epoch },
        };
        (None, Envelope { epoch, incarnation: Incarnation(1), message })
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    fn yes(&mut self) -> bool {
        self.random.below(2) == 0
    }

    /// Most of the time a number near to those that are under way.
    fn any_epoch(&mut self) -> Epoch {
        let epoch = match self.random.below(40) {
            0 => self.epoch + self.random.below(1000),
            1 => self.random.below(self.epoch + 1),
            _ => (self.epoch + self.random.below(4)).saturating_sub(2),
        };
        self.epoch = self.epoch.max(epoch);
        Epoch(epoch)
    }

    fn any_number(&mut self) -> u64 {
        (self.number + self.random.below(4)).saturating_sub(2)
    }

    fn any_id(&mut self) -> NodeId {
        let ids = self.members_by_place();
        ids[self.below(ids.len())]
    }

    fn some_id(&mut self) -> Option<NodeId> {
        self.yes().then(|| self.any_id())
    }

    fn rank(&mut self) -> Rank {
        let value = self.random.below(3).cast_signed() - 1;
        Rank { value, id: if self.yes() { self.own } else { self.any_id() } }
    }

    fn view(&mut self) -> View {
        let leader = self.yes().then(|| self.rank());
        View { epoch: self.any_epoch(), leader }
    }

    fn opinion(&mut self) -> Opinion {
        let wait = self.random.up_to(TIMING.failure * 4);
        let drawn = if self.temper == Temper::Wild { self.random.below(6) } else { 6 };
        match drawn {
            0 => Opinion::No { wait },
            1 => Opinion::YesIf { released: self.any_epoch(), wait },
            2 => Opinion::Uninformed { wait },
            _ => Opinion::Yes,
        }
    }

    fn any_version(&mut self) -> ListVersion {
        if self.yes() {
            return self.list;
        }
        ListVersion { epoch: self.any_epoch(), counter: self.random.below(3) }
    }

    /// Some of the members, or all.
    fn any_list(&mut self) -> Arc<MemberList> {
        let version = self.any_version();
        let all = self.members.clone();
        let mut members: Vec<Member> = all.iter().cloned().collect();
        for _ in 0..self.below(members.len()) {
            members.remove(self.below(members.len()));
        }
        Arc::new(MemberList::new(version, members))
    }

    fn reports(&mut self) -> Arc<[MemberReport]> {
        let ids = self.members_by_place();
        let report = |id: &NodeId| {
            let status = [Liveness::Alive, Liveness::Suspected, Liveness::Dead][self.below(3)];
            let (eligible, value) = (self.yes(), 0);
            MemberReport { id: *id, incarnation: Incarnation(1), status, eligible, value }
        };
        ids.iter().map(report).collect()
    }

    fn pause(&mut self) -> Option<Pause> {
        let version = ListVersion { epoch: self.any_epoch(), counter: 1 };
        let rare = self.random.below(32) == 0;
        rare.then_some(Pause { version, paused: true, since: 5, until: Some(6) })
    }

    fn lease(&mut self) -> Duration {
        TIMING.lease * [1, 1, 2, 16, 17][self.below(5)]
    }

    fn candidate(&mut self) -> Candidate {
        let (eligible, rank) = (self.yes(), self.rank());
        Candidate { eligible, rank, incarnation: Incarnation(1) }
    }

    /// The right answer to something that it was asked, now or long ago. None where there is none.
    fn answer(&mut self) -> Option<(usize, Message)> {
        let at = match self.asked.len() {
            0 => return None,
            _ if self.temper == Temper::Obliging => 0,
            // Most of the time to what came last.
            len => len - 1 - self.below(len).min(self.below(len)),
        };
        let (from, incarnation, asked) = self.asked[at].clone();
        if self.temper == Temper::Obliging {
            self.asked.pop_front();
        }
        let accepted = self.random.below(4) > 0;
        let rank = self.rank();
        let answer = match asked {
            Message::VoteRequest { number, epoch, .. } => {
                Message::Vote { incarnation, number, epoch }
            }
            Message::PreVote { number, epoch, .. } => {
                Message::PreVoteReply { number, opinion: self.opinion(), epoch }
            }
            Message::Heartbeat(Heartbeat { epoch, number, .. }) => Message::Acknowledge {
                incarnation,
                epoch,
                number,
                rank,
                eligible: true,
                pause: None,
            },
            Message::Election { round, .. } if self.yes() => Message::Answer { round },
            Message::Election { round, .. } => Message::Lower { round },
            Message::Probe { number } => Message::Alive { number },
            Message::Preempt { epoch, .. } => {
                Message::Release { epoch, successor: self.some_id(), eligible: true }
            }
            Message::List { list } => Message::Listed { version: list.version() },
            Message::AreYouThere { number, .. }
            | Message::AreYouNormal { number, .. }
            | Message::Halt { number, .. }
            | Message::Elected { number, .. }
            | Message::Ready { number, .. } => Message::Reply { number, accepted },
            Message::Ballot(ballot) => Message::Ballot(Ballot { hops: ballot.hops + 1, ..ballot }),
            Message::Lap(lap) => Message::Lap(Lap { hops: lap.hops + 1, ..lap }),
            Message::Forward { number, .. } => Message::Outcome {
                number,
                result: Ok(Done::Removed { id: rank.id, stored: true, handed_over: false }),
            },
            _ => return None,
        };
        Some((from, answer))
    }

    /// Anything.
    fn message(&mut self) -> Message {
        let (epoch, number, rank) = (self.any_epoch(), self.any_number(), self.rank());
        let eligible = self.yes();
        let incarnation = Incarnation(1);
        match self.random.below(36) {
            0 => Message::Election { round: epoch, rank, eligible },
            1 => Message::Answer { round: epoch },
            2 => Message::Lower { round: epoch },
            3..=5 => Message::Coordinator { epoch, rank },
            6..=9 => Message::Heartbeat(Heartbeat {
                epoch,
                number,
                rank,
                lease: self.lease(),
                settled: self.any_version(),
                members: self.reports(),
                pause: self.pause(),
                chosen: self.some_id(),
                ending: false,
            }),
            10 => Message::Acknowledge {
                incarnation,
                epoch,
                number,
                rank,
                eligible,
                pause: self.pause(),
            },
            11 => Message::View(self.view()),
            12 => Message::Preempt { epoch, rank, votes: self.members_by_place() },
            13 => Message::PreVote { number, epoch, list: self.any_version() },
            14 => Message::PreVoteReply { number, opinion: self.opinion(), epoch },
            15 | 16 => Message::VoteRequest {
                number,
                epoch,
                lease: self.lease(),
                list: self.any_version(),
            },
            17 => Message::Vote { incarnation, number, epoch },
            18 => Message::Denial { number, opinion: self.opinion(), epoch },
            19 => Message::Probe { number },
            20 => Message::Alive { number },
            21 => Message::Freed { leader: self.any_id(), epoch },
            22 => Message::Timing { timing: [1, 500_000_000, 1 << 40, 400_000_000] },
            23 | 24 => Message::Release { epoch, successor: self.some_id(), eligible },
            25 if self.changes => Message::List { list: self.any_list() },
            26 => Message::Listed { version: self.any_version() },
            27 => Message::Forward { number, command: self.command() },
            28 => {
                Message::AreYouThere { number, under: self.yes().then_some(epoch), rank, eligible }
            }
            29 => Message::AreYouNormal { number, epoch },
            30 => Message::Halt { number, round: epoch, rank, incumbent: eligible },
            31 => Message::Elected { number, round: epoch, task: ListVersion::default() },
            32 => Message::Ready { number, round: epoch, task: Task::default() },
            33 => Message::Reply { number, accepted: eligible },
            34 => {
                let run = Run { epoch, initiator: self.any_id() };
                Message::Ballot(Ballot { run, candidate: self.candidate(), hops: 1 })
            }
            _ => {
                let run = Run { epoch, initiator: self.any_id() };
                Message::Lap(Lap { run, leader: self.candidate(), hops: 1 })
            }
        }
    }

    fn command(&mut self) -> Forwarded {
        let id = self.any_id();
        match self.random.below(4) {
            0 if self.changes => {
                Forwarded::Change(MembershipChange::Remove { id, force: self.yes() })
            }
            1 if self.changes => Forwarded::Change(MembershipChange::Add(Member {
                id: super::id(90),
                name: "ghost".into(),
                address: "ghost:7101".into(),
                admin: None,
                role: Role::Observer,
            })),
            2 => Forwarded::Pause { since: 5, until: Some(6) },
            3 => Forwarded::Switchover { to: id },
            4 => Forwarded::EndSwitchover,
            _ => Forwarded::Resign { to: self.some_id() },
        }
    }
}

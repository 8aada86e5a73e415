//! The member that has a strategy (`strategy.rs`): what it hears, and what it says by its rules.

use std::collections::BTreeMap;

use electd::core::message::{Ballot, Candidate, Envelope, Hello, Message, Opinion, Run, View};
use electd::core::settings::Settings;
use electd::core::types::{Epoch, Incarnation, NodeId, Rank, Task, TaskVersion, Time};
use electd::core::{Core, Input, Output};

use super::strategy::{Rule, When, Whom, Word};
use super::world::{Liar, first_start};

/// At most this many messages a second: their content is to disturb, not their number.
const WORDS: u32 = 150;

/// The member that has a strategy. It ranks best, and has the last place.
pub struct Spoiler {
    /// Says hello, and nothing else.
    core: Core,
    ids: Vec<NodeId>,
    pub rules: Vec<Rule>,
    /// The greatest round that it heard of, and the last ballot.
    round: Epoch,
    ballot: Option<Ballot>,
    /// The last number that it heard of each.
    numbers: BTreeMap<usize, u64>,
    starts: u64,
    /// The present second, and how many messages it sent in it.
    spoken: (u64, u32),
    /// The messages that it is about to send, with their receivers.
    pub queue: Vec<(usize, Envelope)>,
    /// It is about to start once more.
    pub restarts: bool,
}

impl Liar for Spoiler {
    fn hello(&mut self, to: usize) -> Hello {
        let mut out = Vec::new();
        let dialed = Input::Dialed { peer: self.ids[to], attempt: 1 };
        self.core.handle(Time(0), dialed, &mut out);
        let hello = out.into_iter().find_map(|output| match output {
            Output::Hello { hello, .. } => Some(hello),
            _ => None,
        });
        let hello = hello.expect("who dials says hello");
        Hello { incarnation: Incarnation(self.starts), ..hello }
    }

    fn hears(&mut self, from: usize, envelope: &Envelope) {
        let message = &envelope.message;
        self.round = self.round.max(envelope.epoch).max(round(message).unwrap_or_default());
        if let Message::Ballot(ballot) = message {
            self.ballot = Some(*ballot);
        }
        if let Some(number) = number(message) {
            self.numbers.insert(from, number);
        }
        let heard = When::Hears(message.kind());
        for rule in self.rules.clone().into_iter().filter(|rule| rule.when == heard) {
            self.follow(rule, from, round(message));
        }
    }
}

/// The round, or epoch, that a message is about.
fn round(message: &Message) -> Option<Epoch> {
    Some(match *message {
        Message::Election { round, .. }
        | Message::Answer { round }
        | Message::Lower { round }
        | Message::Halt { round, .. }
        | Message::Elected { round, .. }
        | Message::Ready { round, .. } => round,
        Message::Ballot(ballot) => ballot.run.epoch,
        Message::Lap(lap) => lap.run.epoch,
        Message::View(View { epoch, .. })
        | Message::Coordinator { epoch, .. }
        | Message::AreYouNormal { epoch, .. }
        | Message::PreVote { epoch, .. }
        | Message::PreVoteReply { epoch, .. }
        | Message::VoteRequest { epoch, .. }
        | Message::Vote { epoch, .. }
        | Message::Denial { epoch, .. }
        | Message::Release { epoch, .. }
        | Message::Heartbeat { epoch, .. } => epoch,
        _ => return None,
    })
}

/// The number that tells a question from others.
fn number(message: &Message) -> Option<u64> {
    Some(match *message {
        Message::AreYouThere { number, .. }
        | Message::AreYouNormal { number, .. }
        | Message::Halt { number, .. }
        | Message::Elected { number, .. }
        | Message::Ready { number, .. }
        | Message::Probe { number }
        | Message::PreVote { number, .. }
        | Message::VoteRequest { number, .. }
        | Message::Heartbeat { number, .. } => number,
        _ => return None,
    })
}

impl Spoiler {
    pub fn new(settings: Settings, rules: Vec<Rule>) -> Spoiler {
        Spoiler {
            ids: settings.members.iter().map(|member| member.id).collect(),
            core: first_start(settings, 1),
            rules,
            round: Epoch(0),
            ballot: None,
            numbers: BTreeMap::new(),
            starts: 1,
            spoken: (0, 0),
            queue: Vec::new(),
            restarts: false,
        }
    }

    /// It begins a second.
    pub fn begin(&mut self, second: u64) {
        if self.spoken.0 != second {
            self.spoken = (second, 0);
        }
    }

    /// Sends the message of a rule, after a message of this member about this round.
    pub fn follow(&mut self, rule: Rule, from: usize, heard: Option<Epoch>) {
        let others = self.ids.len() - 1;
        if rule.word == Word::Restart {
            (self.starts, self.restarts) = (self.starts + 1, true);
            return;
        }
        for to in 0..others {
            let meant = match rule.to {
                Whom::Sender => to == from,
                Whom::Other(other) => to == other,
                _ => true,
            };
            if meant && self.spoken.1 < WORDS {
                self.spoken.1 += 1;
                let message = self.message(rule.word, to, from, heard.unwrap_or(self.round));
                let (epoch, incarnation) = (self.round, Incarnation(self.starts));
                self.queue.push((to, Envelope { epoch, incarnation, message }));
            }
        }
    }

    fn rank(&self, high: bool) -> Rank {
        Rank { value: if high { 0 } else { -1 }, id: self.ids[self.ids.len() - 1] }
    }

    /// The id of the member that a message names; none to keep the member that was heard.
    fn named(&self, whom: Whom, from: usize) -> Option<NodeId> {
        match whom {
            Whom::Own => self.ids.last().copied(),
            Whom::Sender => Some(self.ids[from]),
            Whom::Other(other) => Some(self.ids[other]),
            Whom::All => None,
        }
    }

    fn message(&self, word: Word, to: usize, from: usize, round: Epoch) -> Message {
        let number = self.numbers.get(&to).copied().unwrap_or_default();
        let at = |later: u64| Epoch(round.0 + later);
        match word {
            Word::Ballot { .. } => self.cast(word, from, round),
            Word::Halt { later, high, incumbent } => {
                Message::Halt { number, round: at(later), rank: self.rank(high), incumbent }
            }
            Word::Reply { accepted } => Message::Reply { number, accepted },
            Word::Elected { later } => {
                Message::Elected { number, round: at(later), task: TaskVersion::default() }
            }
            Word::Ready { later } => {
                Message::Ready { number, round: at(later), task: Task::default() }
            }
            Word::AreYouThere { high, eligible, under } => {
                let (under, rank) = (under.then_some(round), self.rank(high));
                Message::AreYouThere { number, under, rank, eligible }
            }
            Word::AreYouNormal => Message::AreYouNormal { number, epoch: round },
            Word::Election { later, high, eligible } => {
                Message::Election { round: at(later), rank: self.rank(high), eligible }
            }
            Word::Answer { later } => Message::Answer { round: at(later) },
            Word::Lower { later } => Message::Lower { round: at(later) },
            Word::View { later, leader } => {
                let leader = leader.and_then(|whom| self.named(whom, from));
                let leader = leader.map(|id| Rank { value: 0, id });
                Message::View(View { epoch: later.map_or(Epoch(0), at), leader })
            }
            Word::Opinion { yes, wait, later } => {
                let opinion = if yes { Opinion::Yes } else { Opinion::No { wait } };
                Message::PreVoteReply { number, opinion, epoch: at(later) }
            }
            Word::Denial { wait, later } => {
                Message::Denial { number, opinion: Opinion::No { wait }, epoch: at(later) }
            }
            Word::Vote => Message::Vote { incarnation: Incarnation(1), number, epoch: round },
            Word::Acknowledge { high, eligible } => Message::Acknowledge {
                incarnation: Incarnation(1),
                epoch: round,
                number,
                rank: self.rank(high),
                eligible,
                pause: None,
            },
            Word::Probe => Message::Probe { number },
            Word::Alive | Word::Restart => Message::Alive { number },
        }
    }

    /// A ballot that is made of the last one.
    fn cast(&self, word: Word, from: usize, round: Epoch) -> Message {
        let Word::Ballot { candidate, eligible, later, initiator, hops } = word else {
            return Message::Alive { number: 0 };
        };
        let own =
            Candidate { eligible, rank: self.rank(true), incarnation: Incarnation(self.starts) };
        let mut ballot =
            self.ballot.unwrap_or(Ballot { run: Run::default(), candidate: own, hops: 0 });
        ballot.candidate = match self.named(candidate, from) {
            Some(id) if id == own.rank.id => own,
            Some(id) => {
                Candidate { rank: Rank { value: 0, id }, incarnation: Incarnation(1), ..own }
            }
            None => Candidate { eligible, ..ballot.candidate },
        };
        ballot.run.epoch = Epoch(round.0 + later);
        ballot.run.initiator = self.named(initiator, from).unwrap_or(ballot.run.initiator);
        ballot.hops = ballot.hops.saturating_add(hops);
        Message::Ballot(ballot)
    }
}

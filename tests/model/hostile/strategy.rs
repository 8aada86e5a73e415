//! A member that spoils elections by a strategy: it always has the same replies to each kind of
//! message, and now and then sends a message unasked.
//!
//! It does not do what is documented to stop the others: it never claims to lead, asks for no votes,
//! releases no voter, and gives no commands and no member lists.

use std::time::Duration;

use electd::core::message::Kind;
use electd::core::random::Random;
use electd::core::settings::AlgorithmKind;

use super::world::TIMING;

/// A wait that no member can mean.
const HOUR: Duration = Duration::from_secs(3600);

/// When it says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Hears(Kind),
    Every(Duration),
}

/// The receiver of a message, and the member that the message names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    Own,
    Sender,
    Other(usize),
    /// All others; as a name: the member named in what it heard.
    All,
}

/// A message about the round that it heard of, or about a later round (`later`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Ballot {
        candidate: Whom,
        eligible: bool,
        later: u64,
        initiator: Whom,
        hops: u32,
    },
    Halt {
        later: u64,
        high: bool,
        incumbent: bool,
    },
    Reply {
        accepted: bool,
    },
    Elected {
        later: u64,
    },
    Ready {
        later: u64,
    },
    AreYouThere {
        high: bool,
        eligible: bool,
        under: bool,
    },
    AreYouNormal,
    Election {
        later: u64,
        high: bool,
        eligible: bool,
    },
    Answer {
        later: u64,
    },
    Lower {
        later: u64,
    },
    View {
        later: Option<u64>,
        leader: Option<Whom>,
    },
    Opinion {
        yes: bool,
        wait: Duration,
        later: u64,
    },
    Denial {
        wait: Duration,
        later: u64,
    },
    Vote,
    Alive,
    Probe,
    Acknowledge {
        high: bool,
        eligible: bool,
    },
    /// It ends all connections, and says hello as a process that was started once more.
    Restart,
}

/// One rule of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub when: When,
    pub to: Whom,
    pub word: Word,
}

fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap()
}

fn yes(random: &mut Random) -> bool {
    random.below(2) == 0
}

/// One of the others, all of them, the sender or itself.
fn whom(random: &mut Random, others: usize) -> Whom {
    match random.below(4) {
        0 => Whom::Own,
        1 => Whom::Sender,
        2 => Whom::Other(below(random, others)),
        _ => Whom::All,
    }
}

/// The messages that it may hear in an election of this kind.
fn kinds(algorithm: AlgorithmKind) -> Vec<Kind> {
    let own: &[Kind] = match algorithm {
        AlgorithmKind::Ring => &[Kind::Election, Kind::Elected, Kind::Probe, Kind::Alive],
        AlgorithmKind::Bully => &[Kind::Election, Kind::Answer, Kind::Lower, Kind::Coordinator],
        AlgorithmKind::Halting => &[
            Kind::AreYouThere,
            Kind::AreYouNormal,
            Kind::Halt,
            Kind::Elected,
            Kind::Ready,
            Kind::Reply,
            Kind::Alive,
        ],
    };
    let all = [
        Kind::PreVote,
        Kind::VoteRequest,
        Kind::Heartbeat,
        Kind::View,
        Kind::PreVoteReply,
        Kind::Vote,
        Kind::Denial,
        Kind::Release,
    ];
    own.iter().copied().chain(all).collect()
}

/// The reply of an honest member, the best one.
fn honest(algorithm: AlgorithmKind, kind: Kind) -> Option<Word> {
    Some(match kind {
        Kind::Election if algorithm == AlgorithmKind::Ring => Word::Ballot {
            candidate: Whom::Own,
            eligible: true,
            later: 0,
            initiator: Whom::All,
            hops: 1,
        },
        Kind::Election => Word::Answer { later: 0 },
        Kind::PreVote => Word::Opinion { yes: true, wait: Duration::ZERO, later: 0 },
        Kind::VoteRequest => Word::Vote,
        Kind::Heartbeat => Word::Acknowledge { high: true, eligible: true },
        Kind::Probe => Word::Alive,
        Kind::AreYouThere | Kind::AreYouNormal | Kind::Halt | Kind::Elected | Kind::Ready => {
            Word::Reply { accepted: true }
        }
        _ => return None,
    })
}

/// A message of the algorithm.
fn word_of(algorithm: AlgorithmKind, random: &mut Random, others: usize) -> Word {
    let (later, high, eligible) = (random.below(3), random.below(3) > 0, random.below(4) > 0);
    let answers = random.below(2);
    match (algorithm, random.below(6)) {
        (AlgorithmKind::Ring, _) => Word::Ballot {
            candidate: whom(random, others),
            eligible,
            later,
            initiator: whom(random, others),
            hops: [0, 1, 100][below(random, 3)],
        },
        (AlgorithmKind::Bully, 0 | 1) => Word::Answer { later: answers },
        (AlgorithmKind::Bully, 2) => Word::Lower { later: answers },
        (AlgorithmKind::Bully, _) => Word::Election { later, high, eligible },
        (AlgorithmKind::Halting, 0 | 1) => Word::Halt { later, high, incumbent: yes(random) },
        (AlgorithmKind::Halting, 2) => Word::Elected { later: answers },
        (AlgorithmKind::Halting, 3) => Word::Ready { later: answers },
        (AlgorithmKind::Halting, 4) => Word::AreYouThere { high, eligible, under: yes(random) },
        (AlgorithmKind::Halting, _) => Word::Reply { accepted: yes(random) },
    }
}

/// Any message.
fn any_word(algorithm: AlgorithmKind, random: &mut Random, others: usize) -> Word {
    let wait = if yes(random) { HOUR } else { Duration::ZERO };
    let later = random.below(2);
    match random.below(20) {
        0 => {
            let leader = [None, Some(Whom::Sender), Some(Whom::Other(below(random, others)))];
            Word::View { later: yes(random).then_some(later), leader: leader[below(random, 3)] }
        }
        1 => Word::Opinion { yes: yes(random), wait, later },
        2 => Word::Denial { wait, later },
        3 => Word::Vote,
        4 => Word::Alive,
        5 => Word::Probe,
        6 => Word::Acknowledge { high: yes(random), eligible: yes(random) },
        7 if random.below(4) == 0 => Word::Restart,
        8 if algorithm == AlgorithmKind::Halting => Word::AreYouNormal,
        _ => word_of(algorithm, random, others),
    }
}

/// Draws a strategy.
pub fn strategy(algorithm: AlgorithmKind, random: &mut Random, others: usize) -> Vec<Rule> {
    let mut rules = Vec::new();
    // Some strategies send few messages, and otherwise behave like an honest member.
    let (rare, true_to) = (1 + random.below(4), random.below(4));
    for kind in kinds(algorithm) {
        let when = When::Hears(kind);
        if let Some(word) = honest(algorithm, kind).filter(|_| random.below(4) < true_to) {
            rules.push(Rule { when, to: Whom::Sender, word });
        }
        for _ in 0..2 {
            if random.below(2 + rare) == 0 {
                let to = [Whom::Sender, Whom::All, Whom::Other(below(random, others))];
                let (to, word) = (to[below(random, 3)], any_word(algorithm, random, others));
                rules.push(Rule { when, to, word });
            }
        }
    }
    for _ in 0..random.below(3) {
        // Short intervals are as likely as long ones.
        let longest = TIMING.failure * 2 / (1 << random.below(8));
        let when = When::Every(Duration::from_millis(1) + random.up_to(longest));
        let to = if yes(random) { Whom::All } else { Whom::Other(below(random, others)) };
        rules.push(Rule { when, to, word: any_word(algorithm, random, others) });
    }
    rules
}

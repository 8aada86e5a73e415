//! The cluster of one round, drawn from the seed.

use std::fmt;
use std::time::Duration;

use electd::core::random::Random;
use electd::core::settings::AlgorithmKind;
use serde_json::{Value, json};

use crate::names;

/// So many rounds together have each algorithm with each number of voters, with TLS and without.
const DECK: u64 = 24;

const VOTERS: std::ops::RangeInclusive<usize> = 3..=6;

/// How long a stop may take beyond `--stop-after`.
const STOP: Duration = Duration::from_secs(20);

pub struct Plan {
    pub seed: u64,
    pub round: u64,
    pub algorithm: AlgorithmKind,
    pub majority: bool,
    pub tls: bool,
    pub voters: usize,
    pub preempt: Value,
    pub failure: Duration,
    /// Whether each node runs a job itself, and how many `electd exec` are beside it.
    pub runs: bool,
    pub execs: usize,
    /// Whether each node holds an address while it leads.
    pub address: bool,
    /// Whether each `exec` lives in a mount namespace of its own, where the state folder has the control socket and
    /// nothing else, as in a container.
    pub apart: bool,
    /// Whether `exec` starts its command again; otherwise this program starts `exec` again.
    pub restarts: bool,
    pub stop_after: Duration,
    /// Whether the state of each node is on a disk that loses what was not synced, where such a one can be mounted.
    pub lossy: bool,
    /// How often faults and a heal follow each other.
    pub phases: u32,
}

impl Plan {
    pub fn draw(seed: u64, round: u64) -> Plan {
        let (algorithm, tls, voters) = dealt(seed, round);
        let mut random = Random::new(seed ^ (round + 1).wrapping_mul(0x9e37_79b9));
        let mut pick = |choices: u64| random.below(choices);
        let preempt = match pick(3) {
            0 => json!("always"),
            1 => json!("never"),
            _ => json!({"after": "3s"}),
        };
        let (runs, execs) = match pick(3) {
            0 => (true, 0),
            1 => (false, 1 + pick(3)),
            _ => (true, 1 + pick(2)),
        };
        Plan {
            seed,
            round,
            algorithm,
            majority: pick(6) > 0,
            tls,
            voters,
            preempt,
            failure: Duration::from_millis([500, 800, 1500][usize(pick(3))]),
            runs,
            execs: usize(execs),
            address: runs && pick(2) == 0,
            restarts: pick(2) == 0,
            stop_after: Duration::from_millis(100 + pick(900)),
            phases: 2,
            apart: execs > 0 && pick(3) == 0,
            lossy: pick(2) == 0,
        }
    }

    /// What the faults of this round are drawn from.
    pub fn random(&self) -> Random {
        Random::new(self.seed.rotate_left(32) ^ self.round)
    }

    /// How long a stop may take.
    pub fn stop_within(&self) -> Duration {
        self.stop_after + STOP
    }

    /// How many `electd exec --lock` each host has. Without a majority there are no locks.
    pub fn lock_execs(&self) -> usize {
        if self.majority { names::OF_EXECS } else { 0 }
    }

    /// The numbers of the jobs of the leadership on one host: 0 is that of `run`.
    pub fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        usize::from(!self.runs)..=self.execs
    }
}

/// The place of a round in a deck that is shuffled anew each time it has been dealt.
fn dealt(seed: u64, round: u64) -> (AlgorithmKind, bool, usize) {
    let mut random = Random::new(seed.wrapping_add(round / DECK));
    let mut deck: Vec<_> = AlgorithmKind::ALL
        .into_iter()
        .flat_map(|algorithm| [false, true].map(|tls| (algorithm, tls)))
        .flat_map(|(algorithm, tls)| VOTERS.map(move |voters| (algorithm, tls, voters)))
        .collect();
    for at in (1..deck.len()).rev() {
        deck.swap(at, usize(random.below(at as u64 + 1)));
    }
    deck[usize(round % DECK)]
}

pub fn usize(number: u64) -> usize {
    usize::try_from(number).expect("it is small")
}

impl fmt::Display for Plan {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quorum = if self.majority { "majority" } else { "none" };
        let tls = if self.tls { "TLS" } else { "plain" };
        let run = match (self.runs, self.address) {
            (true, true) => "run with an address + ",
            (true, false) => "run + ",
            (false, _) => "",
        };
        let execs = self.execs;
        let apart = if self.apart { " in other mount namespaces" } else { "" };
        let restarts = self.restarts && (execs > 0 || self.majority);
        let restart = if restarts { " --restart always" } else { "" };
        let locks = if self.majority { ", 30 locks" } else { "" };
        let disks = if self.lossy { ", disks that lose what was not synced" } else { "" };
        write!(
            to,
            "{}, {quorum}, {} voters, {tls}, preempt {}, failure {:?}, jobs by {run}{execs} exec{apart}{restart}{locks}{disks}",
            self.algorithm.name(),
            self.voters,
            self.preempt,
            self.failure
        )
    }
}

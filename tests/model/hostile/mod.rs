//! A cluster of real cores with one member that lies: it has the identity of a member, and sends any
//! message with any numbers at any time, in mode majority. docs/guarantees.md says what the others can
//! rely on then:
//!
//! - Every other voter keeps its rules (`word.rs`): it votes for one candidate in an epoch, and for no
//!   other while it is bound to a leader.
//! - A leader has the votes of all voters that a majority needs, except perhaps the liar's.
//! - If the liar is an observer, there is one leader at any instant, and one in an epoch.
//! - If the liar is a voter, two of the others may lead simultaneously, as the liar may vote for both.
//!   The test prints for how long they did.
//! - When the liar is gone, one member leads and all follow, and the leader can remove the liar.

mod liar;
mod word;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use electd_election::core::Input;
use electd_election::core::membership::{ListVersion, Member, MemberList, MembershipChange};
use electd_election::core::message::Forwarded;
use electd_election::core::random::Random;
use electd_election::core::settings::{AlgorithmKind, Settings};
use electd_election::core::types::{CommandId, Epoch, NodeId, Role, Time};
use uuid::Uuid;

use crate::member::voter;
use liar::{Hostile, Temper};
use word::Words;
use world::{TIMING, World};

/// For how long the liar speaks.
const LIES: Duration = Duration::from_secs(6);

/// How long the others may take afterwards: the longest promise that a voter makes, and an election.
const RECOVERY: Duration = Duration::from_secs(12);

pub fn id(number: usize) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 | number as u128))
}

/// One cluster.
#[derive(Clone, Copy, Debug)]
struct Case {
    algorithm: AlgorithmKind,
    members: usize,
    /// Whether the liar is one of the voters.
    votes: bool,
    /// Whether the liar tells member lists, and has the leader change its own.
    changes: bool,
    /// Whether links between the others are cut now and then.
    cuts: bool,
}

fn settings(case: Case, hostile: usize) -> Vec<Settings> {
    let role = |at| if at == hostile && !case.votes { Role::Observer } else { Role::Member };
    let member = |at| Member {
        id: id(at),
        name: format!("node-{at}"),
        address: format!("host-{at}:7101"),
        admin: None,
        role: role(at),
    };
    let list = MemberList::new(ListVersion::default(), (0..case.members).map(member).collect());
    let members = Arc::new(list);
    let settings = |at| Settings {
        algorithm: case.algorithm,
        bootstrap: true,
        ..voter(id(at), at as u64 + 1, members.clone(), TIMING)
    };
    (0..case.members).map(settings).collect()
}

/// The observations of the others.
struct Watch {
    case: Case,
    world: World<Hostile>,
    words: Words,
    /// The leaders of each epoch.
    led: BTreeMap<Epoch, BTreeSet<usize>>,
    /// Since when two lead.
    two_since: Option<Time>,
    /// The longest time that two led.
    longest: Duration,
}

impl Watch {
    fn new(case: Case, seed: u64) -> Watch {
        let mut random = Random::new(seed);
        let hostile = usize::try_from(random.below(case.members as u64)).unwrap();
        let settings = settings(case, hostile);
        let liar = Hostile::new(settings[hostile].clone(), case.changes, random.draw());
        let world = World::new(settings, hostile, liar, random);
        let (words, led) = Default::default();
        Watch { case, world, words, led, two_since: None, longest: Duration::ZERO }
    }

    /// Lets everything happen until then, and judges it. Gives the first rule that does not hold.
    fn run_until(&mut self, until: Time) -> Result<(), String> {
        while self.world.step(until) {
            for (at, message) in std::mem::take(&mut self.world.heard) {
                self.words.hears(at, &message);
            }
            for (at, output) in std::mem::take(&mut self.world.outputs) {
                self.words.tells(self.world.now, at, &output)?;
            }
            self.judge_leaders()?;
        }
        Ok(())
    }

    fn judge_leaders(&mut self) -> Result<(), String> {
        let leaders = self.world.leaders();
        for at in &leaders {
            let epoch = self.world.cores[at].view().epoch;
            if self.led.entry(epoch).or_default().insert(*at) {
                self.judge_election(*at, epoch)?;
            }
        }
        if leaders.len() < 2 {
            if let Some(since) = self.two_since.take() {
                self.longest = self.longest.max(self.world.now.since(since));
            }
            return Ok(());
        }
        if !self.case.votes {
            return Err(format!("{leaders:?} lead at once"));
        }
        let since = *self.two_since.get_or_insert(self.world.now);
        self.longest = self.longest.max(self.world.now.since(since));
        Ok(())
    }

    /// A new leader of an epoch has the votes of others.
    fn judge_election(&mut self, at: usize, epoch: Epoch) -> Result<(), String> {
        let own = self.world.id(at);
        let voters = self.case.members - usize::from(!self.case.votes);
        let needed = voters / 2 + 1 - usize::from(self.case.votes);
        let has = self.words.votes_for(own, epoch) + 1;
        if has < needed && !self.case.changes {
            return Err(format!("{at} leads in epoch {epoch} by {has} votes of {needed}"));
        }
        let rivals = &self.led[&epoch];
        if rivals.len() > 1 && !self.case.votes {
            return Err(format!("{rivals:?} lead in epoch {epoch}"));
        }
        Ok(())
    }

    /// The liar speaks for a while.
    fn lie(&mut self) -> Result<(), String> {
        let end = self.world.now + LIES;
        while self.world.now < end {
            let longest = if self.world.liar.temper == Temper::Wild { 40 } else { 4 };
            let pause = self.world.random.up_to(Duration::from_millis(longest));
            self.run_until(self.world.now + pause)?;
            if let Some((to, envelope)) = self.world.liar.next(self.case.members) {
                let hostile = self.world.hostile;
                let others = (0..self.case.members).filter(|at| *at != hostile);
                for at in others.filter(|at| to.is_none_or(|to| to == *at)).collect::<Vec<_>>() {
                    self.world.say(hostile, at, envelope.clone());
                }
            }
            if self.case.cuts {
                self.cut_or_mend();
            }
        }
        Ok(())
    }

    fn cut_or_mend(&mut self) {
        let members = self.case.members as u64;
        match self.world.random.below(24) {
            0 | 1 => {
                let (from, to) =
                    (self.world.random.below(members), self.world.random.below(members));
                self.world.cuts.insert((from as usize, to as usize));
            }
            2 => self.world.cuts.clear(),
            3 => {
                let alone = self.world.random.below(members) as usize;
                let others = 0..self.case.members;
                self.world.cuts.extend(others.flat_map(|at| [(at, alone), (alone, at)]));
            }
            _ => {}
        }
    }

    /// The liar is gone: one leads, the others follow, and it can be removed.
    fn recover(&mut self) -> Result<(), String> {
        self.world.cuts.clear();
        self.world.end_hostile();
        let end = self.world.now + RECOVERY;
        self.run_until(end)?;
        let leaders = self.world.leaders();
        let [leader] = leaders[..] else { return Err(format!("in the end {leaders:?} lead")) };
        let id = self.world.id(self.world.hostile);
        let command = Forwarded::Change(MembershipChange::Remove { id, force: false }).into();
        self.world.give(leader, Input::Command { id: CommandId(7), command });
        self.run_until(self.world.now + TIMING.failure * 10)?;
        for (at, core) in &self.world.cores {
            let named = core.leader().map(|leader| leader.id);
            if named.is_none() || core.members().get(id).is_some() {
                return Err(format!("{at} names {named:?}, and its list is {:?}", core.members()));
            }
        }
        Ok(())
    }
}

/// The results of some runs.
#[derive(Debug, Default)]
struct Seen {
    /// How many epochs had a leader among the others, and how many of them had two.
    led: usize,
    twice: usize,
    /// The longest time for which two led simultaneously.
    longest: Duration,
}

/// One run.
fn hear_out(case: Case, seed: u64) -> Result<Seen, String> {
    let mut watch = Watch::new(case, seed);
    watch.lie()?;
    if !case.changes {
        watch.recover()?;
    }
    let twice = watch.led.values().filter(|leaders| leaders.len() > 1).count();
    Ok(Seen { led: watch.led.len(), twice, longest: watch.longest })
}

fn all_hear_out(case: Case, seeds: u64) -> Seen {
    let mut all = Seen::default();
    for algorithm in AlgorithmKind::ALL {
        for members in [3, 5] {
            // An observer lies to three voters, or to five.
            let members = members + usize::from(!case.votes);
            let case = Case { algorithm, members, ..case };
            for seed in 0..seeds {
                match hear_out(case, seed) {
                    Ok(Seen { led, twice, longest }) => {
                        all.led += led;
                        all.twice += twice;
                        all.longest = all.longest.max(longest);
                    }
                    Err(broken) => panic!("seed {seed} of {case:?}: {broken}"),
                }
            }
        }
    }
    println!("{all:?}");
    all
}

const ANY: Case =
    Case { algorithm: AlgorithmKind::Bully, members: 0, votes: true, changes: false, cuts: false };

/// So many of each.
const SEEDS: u64 = super::fewer(6, 500);

/// Rule Q9.
/// Claim: liar.
#[test]
fn a_voter_that_lies_makes_no_other_break_its_word() {
    all_hear_out(ANY, SEEDS);
}

/// A case that no rule prevents: two candidates that do not hear each other, and a voter that votes for
/// both.
#[test]
fn a_voter_that_votes_for_all_elects_a_leader_on_each_side_of_a_partition() {
    let mut watch = Watch::new(Case { members: 3, cuts: true, ..ANY }, 1);
    watch.world.liar.temper = Temper::Obliging;
    let others: Vec<usize> = watch.world.cores.keys().copied().collect();
    let [one, other] = others[..] else { panic!("{others:?}") };
    watch.world.cuts.extend([(one, other), (other, one)]);
    watch.case.cuts = false; // this one stays
    watch.lie().unwrap();
    assert!(watch.longest > TIMING.lease, "two lead for {:?}", watch.longest);
}

/// Rule Q10.
/// Claim: liar.
#[test]
fn an_observer_that_lies_makes_no_second_leader() {
    all_hear_out(Case { votes: false, changes: true, cuts: true, ..ANY }, SEEDS);
}

#[test]
fn after_an_observer_that_lied_one_leads() {
    all_hear_out(Case { votes: false, cuts: true, ..ANY }, SEEDS);
}

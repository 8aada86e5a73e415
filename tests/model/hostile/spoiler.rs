//! Whether a member that spoils elections by a strategy (`strategist.rs`) keeps the others from having a leader.
//!
//! It ranks best, and all others are honest, alive and connected: they have a majority without it. So one of them has
//! to lead most of the time, once they had the time to find out that the best one never does.

use std::collections::BTreeMap;
use std::env;
use std::ops::Range;
use std::time::Duration;

use electd::core::random::Random;
use electd::core::settings::AlgorithmKind;
use electd::core::types::Time;

use super::strategist::Spoiler;
use super::strategy::{Rule, When, strategy};
use super::world::World;
use super::{ANY, Case, settings};

/// For how long it spoils elections, and for how long the run is judged at the end.
const LENGTH: Duration = Duration::from_secs(60);
const JUDGED: Duration = Duration::from_secs(30);

/// One of the others has to lead for this many hundredths of that time.
const LEAST: u128 = 60;

/// A run with more events than this is a flood, and not judged.
const MOST_EVENTS: u32 = 600_000;

/// Says what is due.
fn speak(world: &mut World<Spoiler>, due: &mut BTreeMap<usize, Time>) {
    let second = world.now.since(Time(0)).as_secs();
    world.liar.begin(second);
    for (at, next) in due.iter_mut().filter(|(_, next)| **next <= world.now) {
        let rule = world.liar.rules[*at];
        if let When::Every(interval) = rule.when {
            *next = world.now + interval;
            world.liar.follow(rule, 0, None);
        }
    }
}

/// Sends what it has to say.
fn send(world: &mut World<Spoiler>) {
    let hostile = world.hostile;
    for (to, envelope) in std::mem::take(&mut world.liar.queue) {
        world.say(hostile, to, envelope);
    }
    if std::mem::take(&mut world.liar.restarts) {
        for peer in 0..hostile {
            world.disconnect(hostile, peer);
        }
    }
    world.told.clear();
    world.heard.clear();
}

/// For how many hundredths of the time one of the others leads under this strategy; none for a flood.
fn led(case: Case, rules: &[Rule], seed: u64) -> Option<u128> {
    let (hostile, settings) = (case.members - 1, settings(case, case.members - 1));
    let spoiler = Spoiler::new(settings[hostile].clone(), rules.to_vec());
    let mut world = World::new(settings, hostile, spoiler, Random::new(seed));
    let own = rules.iter().enumerate().filter(|(_, rule)| matches!(rule.when, When::Every(_)));
    let mut due: BTreeMap<usize, Time> = own.map(|(at, _)| (at, Time(0))).collect();
    let (end, judged) = (Time(0) + LENGTH, Time(0) + (LENGTH - JUDGED));
    let (mut led, mut events) = (Duration::ZERO, 0);
    while world.now < end {
        speak(&mut world, &mut due);
        send(&mut world);
        let (before, leads) = (world.now, !world.leaders().is_empty());
        let until = due.values().copied().fold(end, Time::min);
        if !world.step(until) {
            world.now = until;
        }
        if leads && world.now > judged {
            led += world.now.since(before.max(judged));
        }
        send(&mut world);
        events += 1;
        if events > MOST_EVENTS {
            return None;
        }
    }
    Some(led.as_nanos() * 100 / JUDGED.as_nanos())
}

/// Whether no member leads for long enough under it.
fn spoils(case: Case, rules: &[Rule], seed: u64) -> bool {
    led(case, rules, seed).is_some_and(|share| share < LEAST)
}

/// Leaves out what is not needed to spoil.
fn minimal(case: Case, mut rules: Vec<Rule>, seed: u64) -> Vec<Rule> {
    let mut at = 0;
    while at < rules.len() {
        let rule = rules.remove(at);
        if spoils(case, &rules, seed) {
            at = 0;
        } else {
            rules.insert(at, rule);
            at += 1;
        }
    }
    rules
}

/// The results of the runs of one algorithm.
#[derive(Debug, Default)]
struct Seen {
    runs: u64,
    floods: u64,
    spoilt: u64,
    /// The hundredths of the time for which one led, by tens.
    shares: BTreeMap<u128, u64>,
    /// The least strategies that spoil: how many are of the same kinds, and the first.
    least: BTreeMap<String, (u64, String)>,
}

/// The common part of two strategies that differ only in numbers.
fn name(case: Case, rules: &[Rule]) -> String {
    let word = |rule: &Rule| {
        let text = format!("{:?}", rule.word);
        let when = match rule.when {
            When::Every(_) => "own accord".to_owned(),
            When::Hears(kind) => kind.title(),
        };
        format!("{when} -> {}", text.split(' ').next().unwrap_or_default())
    };
    let mut words: Vec<String> = rules.iter().map(word).collect();
    words.sort();
    format!("{:?}: {}", case.algorithm, words.join(", "))
}

/// Runs the strategies of these seeds.
fn spoil(algorithm: AlgorithmKind, seeds: Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let members = if seed % 3 == 2 { 5 } else { 3 };
        let case = Case { algorithm, members, ..ANY };
        let rules = strategy(algorithm, &mut Random::new(seed ^ 0x5011), members - 1);
        seen.runs += 1;
        let Some(share) = led(case, &rules, seed) else {
            seen.floods += 1;
            continue;
        };
        *seen.shares.entry(share / 10 * 10).or_default() += 1;
        if share < LEAST {
            seen.spoilt += 1;
            explain(&mut seen, case, rules, seed, share);
        }
    }
    seen
}

fn explain(seen: &mut Seen, case: Case, rules: Vec<Rule>, seed: u64, share: u128) {
    let rules = minimal(case, rules, seed);
    let again = (1000..1005).filter(|seed| spoils(case, &rules, *seed)).count();
    let told = format!(
        "seed {seed}, {} members, {share} %, minimal {:?} %, {again} of 5 other courses: {rules:?}",
        case.members,
        led(case, &rules, seed)
    );
    seen.least.entry(name(case, &rules)).or_insert((0, told)).0 += 1;
}

/// Tells what came of it.
fn tell(algorithm: AlgorithmKind, seen: &Seen) {
    let Seen { runs, floods, spoilt, shares, least } = seen;
    println!(
        "{}: {runs} strategies, {spoilt} spoil, {floods} floods; shares of the time: {shares:?}",
        algorithm.name()
    );
    let mut least: Vec<_> = least.iter().collect();
    least.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (name, (count, told)) in least {
        println!("  {count} x {name}\n      {told}");
    }
}

/// So many of each.
const SEEDS: u64 = super::super::fewer(6, 300);

/// Beyond these seeds a few in three thousand spoil: docs/guarantees.md says how many.
#[test]
fn whatever_strategy_one_member_has_the_others_elect() {
    for algorithm in AlgorithmKind::ALL {
        let seen = spoil(algorithm, 0..SEEDS);
        tell(algorithm, &seen);
        assert!(seen.floods <= 1, "{}", algorithm.name());
        assert_eq!(seen.spoilt, 0, "{}", algorithm.name());
    }
}

/// Takes seeds as FROM and TO, and the name of one ALGORITHM.
#[test]
#[ignore = "a tool: tells the least strategies that spoil elections"]
fn the_least_strategies_that_spoil() {
    let number = |name, or| env::var(name).map_or(or, |text| text.parse().expect(name));
    let wanted = env::var("ALGORITHM");
    for algorithm in AlgorithmKind::ALL {
        if wanted.as_ref().is_ok_and(|wanted| wanted != algorithm.name()) {
            continue;
        }
        tell(algorithm, &spoil(algorithm, number("FROM", 0)..number("TO", 3000)));
    }
}

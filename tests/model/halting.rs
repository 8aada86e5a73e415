//! The halting bully's message counts, exact, as Garcia-Molina's paper gives them, and its random
//! schedules.

use std::ops::RangeInclusive;

use electd_election::core::bounds;
use electd_election::core::message::Kind;
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::Time;
use electd_model::sim::{Delays, Scenario, ScenarioOutcome, Schedule, TIMING};

/// The cluster sizes whose counts are checked.
const SIZES: RangeInclusive<usize> = 2..=crate::fewer(8, 12) as usize;

/// How many random schedules a test runs; `make sim` runs more.
const SEEDS: u64 = crate::fewer(40, 2000);

/// Seeds of the delays; the first run of each is in lock-step.
const DELAYS: u64 = 4;

fn halting(nodes: usize, initiators: Vec<usize>, crashed: Vec<usize>) -> Scenario {
    let algorithm = AlgorithmKind::Halting;
    Scenario { algorithm, initiators, crashed, ..Scenario::new(nodes) }
}

/// Runs a scenario in lock-step and with random delays.
fn runs(scenario: &Scenario) -> impl Iterator<Item = ScenarioOutcome> {
    (0..DELAYS).map(|seed| {
        let delays = if seed == 0 { Delays::Lockstep } else { Delays::Random };
        let scenario = Scenario { delays, seed, ..scenario.clone() };
        scenario.run().unwrap_or_else(|error| panic!("{scenario:?}: {error}"))
    })
}

/// "The organizer makes h + D + 3L calls and gets 3L replies: h + D + 6L", for every organizer and
/// every set of dead lower members.
/// Claim: counts.
#[test]
fn an_organizer_takes_one_message_for_each_dead_and_six_for_each_live_lower_member() {
    for nodes in SIZES {
        for organizer in 1..nodes {
            for dead in 0..organizer {
                let lower = 1..=dead;
                let crashed: Vec<usize> = lower.chain(organizer + 1..=nodes).collect();
                let (h, d, l) = (nodes - organizer, dead, organizer - 1 - dead);
                let scenario = halting(nodes, vec![organizer], crashed);
                for outcome in runs(&scenario) {
                    let counts = outcome.messages;
                    assert_eq!(outcome.leader, organizer, "{scenario:?}");
                    assert_eq!(counts[Kind::AreYouThere], h as u64, "{scenario:?}");
                    assert_eq!(counts[Kind::Halt], (d + l) as u64, "{scenario:?}");
                    assert_eq!(counts[Kind::Reply], 3 * l as u64, "{scenario:?}");
                    assert_eq!(counts.total(), (h + d + 6 * l) as u64, "{scenario:?}");
                }
            }
        }
    }
}

/// "Coordinator n dead, organizer n-1: 6n - 11."
#[test]
fn the_second_highest_succeeds_the_highest_with_6n_less_11_messages() {
    for n in SIZES {
        for outcome in runs(&halting(n, vec![n - 1], vec![n])) {
            assert_eq!((outcome.leader, outcome.messages.total()), (n - 1, 6 * n as u64 - 11));
        }
    }
}

/// "All n-1 survivors time out at once: 9n - 16", where they do so at one instant.
#[test]
fn survivors_that_time_out_at_once_take_9n_less_16_messages() {
    for n in 3..=12 {
        let scenario = halting(n, (1..n).collect(), vec![n]);
        let most = 9 * n as u64 - 16;
        let lockstep = scenario.run().expect("it ends");
        assert_eq!((lockstep.leader, lockstep.messages.total()), (n - 1, most));
        assert!(runs(&scenario).all(|outcome| outcome.leader == n - 1));
    }
}

/// However many die with the leader, the others have the next one within the bound; its own last
/// replies come a message later.
#[test]
fn silent_deaths_are_over_within_the_bound() {
    for n in 3..=9 {
        let bound = bounds::worst_failover(AlgorithmKind::Halting, &TIMING, n);
        let anew = bounds::dialing_anew(AlgorithmKind::Halting, &TIMING, n);
        let bound = bound.expect("others are left") + anew + TIMING.message;
        for survivors in 1..n {
            let scenario = halting(n, (1..=survivors).collect(), (survivors + 1..=n).collect());
            for outcome in runs(&scenario) {
                let took = outcome.time.since(Time(0));
                assert!(took <= bound, "{took:?} of {bound:?} for {survivors} of {n}");
            }
        }
    }
}

/// Known deaths cost nothing: no member calls a dead one.
#[test]
fn who_is_known_to_be_dead_is_not_called() {
    for n in SIZES {
        let scenario = Scenario { detected: true, ..halting(n, vec![n - 1], vec![n]) };
        for outcome in runs(&scenario) {
            assert_eq!(outcome.messages.total(), 6 * (n as u64 - 2));
        }
    }
}

/// Any set of members may call an election: the highest live member leads.
#[test]
fn the_outcome_does_not_depend_on_who_called() {
    for n in 2..=6 {
        for set in 1..1u32 << n {
            let initiators = (0..n).filter(|at| set >> at & 1 == 1).map(|at| at + 1).collect();
            for outcome in runs(&halting(n, initiators, vec![])) {
                assert_eq!(outcome.leader, n);
            }
        }
    }
}

/// An initiator waits for the members that rank higher, and these notice the death by themselves.
#[test]
fn a_low_initiator_whose_leader_died_unnoticed_gets_another() {
    for n in SIZES.filter(|n| *n > 3) {
        for (initiator, dead) in [(1, vec![n]), (2, vec![n]), (1, vec![n - 1, n])] {
            let highest = n - dead.len();
            for outcome in runs(&halting(n, vec![initiator], dead.clone())) {
                assert_eq!(outcome.leader, highest, "{n} nodes, {dead:?} dead");
            }
        }
    }
}

#[test]
fn random_schedules_break_no_invariant_and_end_in_agreement() {
    for seed in 0..SEEDS {
        let algorithm = AlgorithmKind::Halting;
        if let Err(failure) = Schedule::new(algorithm, seed).run() {
            panic!("{failure}\nreplay it with: {}", failure.replay());
        }
    }
}
